"""What `runtrue fix` and `code` give models and agents, and what they say of the answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Done, Machine, MakeProject, write
from tests.models.openai_server import Call, OpenAIServer, Refuse, openai_server

__all__ = ["openai_server"]

#: One test fails; the other one tells a special case from a fix.
PROJECT = {
    "tax.py": """
        def with_tax(net):
            return net * 1.9
    """,
    "test_tax.py": """
        from tax import with_tax


        def test_with_tax():
            assert with_tax(100) == 119


        def test_nothing_costs_nothing():
            assert with_tax(0) == 0
    """,
}
RIGHT = {"edits": [{"path": "tax.py", "old": "net * 1.9", "new": "net * 1.19"}]}
HASTY = {"edits": [{"path": "tax.py", "old": "net * 1.9", "new": "119"}]}


@pytest.fixture
def project(make_project: MakeProject) -> Path:
    return make_project(PROJECT)


def fix(machine: Machine, project: Path, server: OpenAIServer, *options: str) -> Done:
    return machine.runtrue("fix", *options, cwd=project, env=server.environment)


class TestRegressions:
    def test_a_model_gets_what_it_broke_and_may_try_again(
        self, machine: Machine, project: Path, openai_server: OpenAIServer
    ) -> None:
        openai_server.script(Call(HASTY), Call(RIGHT))
        done = fix(machine, project, openai_server, "--apply")
        assert done.code == 0, done.said
        assert "net * 1.19" in (project / "tax.py").read_text()
        prompt = openai_server.requests[1].prompt
        assert "it broke what passed before: test_tax.py::test_nothing_costs_nothing" in prompt
        assert "-    return net * 1.9\n+    return 119\n" in prompt
        assert "### tax.py\n```text\ndef with_tax(net):\n    return net * 1.9\n" in prompt

    def test_an_agent_that_goes_on_breaking_things_ends_the_run_as_aborted(
        self, machine: Machine, project: Path, tmp_path: Path
    ) -> None:
        write(
            tmp_path,
            {
                "agent.sh": f"""
                    echo >> {tmp_path}/asked
                    n=$(wc -l < {tmp_path}/asked)
                    echo "def with_tax(net): return 118 + $n ** 0" > tax.py
                """
            },
        )
        agent = f"sh {tmp_path / 'agent.sh'}"
        done = machine.runtrue("fix", "--json", "--agent", agent, cwd=project)
        report = done.json
        assert (done.code, report["status"], report["why"]) == (1, "aborted", "regression")
        assert len(report["attempts"]) == 3
        assert report["regressions"] == ["test_tax.py::test_nothing_costs_nothing"]
        assert report["diff"] == ""


class TestTerminal:
    """What a fixer answered, and why it was refused, in one line."""

    def test_an_agent_that_changed_nothing(self, machine: Machine, project: Path) -> None:
        agent = "printf 'looking\\n\\033[31mno idea\\n'; echo 'quota: 0' >&2"
        done = machine.runtrue("fix", "--agent", agent, cwd=project)
        assert done.code == 1
        said = 'changed nothing: "no idea (stderr: quota: 0)"'
        assert f"fix by agent: {said}\n" in done.err
        assert f"agent: {said}\n" in done.out
        assert "\033" not in done.said
        assert f"fix by agent: {said}\n" in machine.runtrue("runs", "show").out

    def test_an_agent_that_edits_only_a_test(self, machine: Machine, project: Path) -> None:
        agent = "sed -i s/119/190/ test_tax.py"
        done = machine.runtrue("fix", "--agent", agent, cwd=project)
        line = "fix by agent: refused: edits test_tax.py, which judges the result\n"
        assert line in done.err

    def test_a_model_that_edits_a_test(
        self, machine: Machine, project: Path, openai_server: OpenAIServer
    ) -> None:
        edit = {"path": "test_tax.py", "old": "== 119", "new": "== 190"}
        openai_server.script(*[Call({"edits": [edit], "fix_strategy": "Adapt the test"})] * 4)
        done = fix(machine, project, openai_server)
        assert (
            "fix by model: refused: test_tax.py: this file judges the program and may not be "
            'changed: "Adapt the test"\n'
        ) in done.err


class TestTransport:
    @pytest.mark.parametrize("status", [401, 403])
    def test_a_refused_key_is_not_tried_again_and_named(
        self, machine: Machine, project: Path, openai_server: OpenAIServer, status: int
    ) -> None:
        openai_server.script(Refuse(status))
        done = fix(machine, project, openai_server)
        assert done.code == 1
        assert len(openai_server.requests) == 1
        assert "a fixer failed" in done.out
        assert "OPENAI_API_KEY" in done.out

    def test_a_missing_key_is_not_asked_with(self, machine: Machine, project: Path) -> None:
        env = {"RUNTRUE_MODEL": "anthropic:claude"}
        done = machine.runtrue("fix", cwd=project, env=env)
        assert done.code == 1
        assert done.err.count("fix by model: failed") == 1
        assert "model: anthropic:claude needs a key; set ANTHROPIC_API_KEY" in done.out

    def test_a_missing_agent_is_looked_for_once(self, machine: Machine, project: Path) -> None:
        done = machine.runtrue("fix", "--agent", "no-such-agent {prompt_file}", cwd=project)
        assert done.code == 1
        assert done.err.count("fix by agent: failed") == 1
        assert "no-such-agent" in done.out

    def test_a_limit_and_an_outage_are_waited_for_and_counted(
        self, machine: Machine, project: Path, openai_server: OpenAIServer
    ) -> None:
        openai_server.script(
            Refuse(429, headers={"Retry-After": "1"}),
            Refuse(503),
            Call(RIGHT),
        )
        done = fix(machine, project, openai_server, "--apply")
        assert done.code == 0, done.said
        assert "waiting 1 s: openai:gpt-4o at 127.0.0.1" in done.err
        assert "waiting 2 s: openai:gpt-4o at 127.0.0.1" in done.err
        report: dict[str, Any] = machine.runtrue("runs", "show", "--json").json
        assert report["budget"]["transport_retries"] == 0
        assert [one["reason"] for one in report["rejected"]] == ["fixer_failed", "fixer_failed"]

    def test_the_generator_of_code_waits_too(
        self, machine: Machine, project: Path, openai_server: OpenAIServer
    ) -> None:
        openai_server.script(Refuse(429, headers={"Retry-After": "1"}), Call(RIGHT))
        done = machine.runtrue(
            *("code", "The tax is 19 percent, see @tax.md", "--path", "tax.py"),
            cwd=project,
            env=openai_server.environment,
        )
        assert "waiting 1 s: openai:gpt-4o at 127.0.0.1" in done.err
        assert len(openai_server.requests) >= 2


def test_the_requirement_and_its_documents_are_in_the_prompt_of_a_fix(
    machine: Machine, make_project: MakeProject, openai_server: OpenAIServer
) -> None:
    project = make_project({**PROJECT, "tax.md": "The rate is 19 percent.\n"})
    openai_server.script(Call(HASTY | {"edits": [{**RIGHT["edits"][0], "new": "net * 1.2"}]}))
    openai_server.script(
        Call({"edits": [{"path": "tax.py", "old": "net * 1.2", "new": "net * 1.19"}]})
    )
    machine.runtrue(
        *("code", "Add the tax of @tax.md", "--path", "tax.py", "--type", "refactor"),
        cwd=project,
        env=openai_server.environment,
    )
    prompt = openai_server.requests[1].prompt
    assert "## What was asked for\n\n> Add the tax of @tax.md\n\n### tax.md\n" in prompt
    assert "The rate is 19 percent." in prompt
    assert '{"actual": "120.0", "expected": "119"}' in prompt
    assert "def test_with_tax():\n    assert with_tax(100) == 119" in prompt
