"""Code and tests are written by a model or an agent that was told all there is to know."""

from __future__ import annotations

import asyncio
import json
import shlex
import sys
import textwrap
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from runtrue.checks import Framework, Language
from runtrue.code.generate import (
    AgentGenerator,
    Generated,
    GenerationTask,
    Generator,
    ModelGenerator,
    mentions,
    prompt_for_code,
    prompt_for_tests,
)
from runtrue.config import AgentConfig
from runtrue.loop import Workplace
from tests.fixers.support import make_workplace
from tests.models.openai_server import Call, OpenAIServer, Refuse, openai_server

__all__ = ["openai_server"]

MODEL = "openai:gpt-4o"
TASK = GenerationTask(
    requirement="Add `total(prices)`\nas described in @docs/spec.md.",
    path="shop/cart.py",
    code_type="new_function",
    language=Language.PYTHON,
    framework=Framework.PYTEST,
    command="python -m pytest -q",
    kinds=("happy_path", "edge_cases", "existing_tests_pass"),
)
CODE = {"path": "shop/cart.py", "content": "def total(prices):\n    return sum(prices)\n"}
TESTS = {"path": "tests/test_cart.py", "content": "def test_happy_path_sum(): ...\n"}


@pytest.fixture
def workplace(tmp_path: Path) -> Workplace:
    """A project that is a part of a larger repository."""
    whole = make_workplace(tmp_path)
    project = whole.root / "part"
    for file, text in {
        "docs/spec.md": "An empty cart costs 0.\n",
        "shop/__init__.py": "",
        "shop/prices.py": "the_neighbour = 1\n",
        "tests/test_prices.py": "import shop.prices\n",
        "pyproject.toml": '[project]\nname = "shop"\n',
    }.items():
        (project / file).parent.mkdir(parents=True, exist_ok=True)
        (project / file).write_text(text)
    return replace(whole, directory=project)


def written(*edits: dict[str, str]) -> Call:
    return Call({"description": "Wrote  it\ndown", "edits": list(edits)})


def generate(generator: Generator, what: str, workplace: Workplace, **changes: Any) -> Generated:
    task = replace(TASK, **changes)
    if what == "code":
        return asyncio.run(generator.generate_code(task, workplace, ("Sums overflowed here.",)))
    return asyncio.run(generator.generate_tests(task, workplace, ("Sums overflowed here.",)))


class TestModel:
    @pytest.mark.parametrize(("what", "edit"), [("code", CODE), ("tests", TESTS)])
    def test_what_it_writes_is_put_into_the_project(
        self, openai_server: OpenAIServer, workplace: Workplace, what: str, edit: dict[str, str]
    ) -> None:
        openai_server.script(written(edit))
        generated = generate(ModelGenerator(MODEL, openai_server.environment), what, workplace)
        assert (generated.description, generated.failure) == ("Wrote it down", None)
        assert generated.usage is not None
        assert generated.usage.input_tokens == 10
        assert msgspec.convert(msgspec.to_builtins(generated), Generated) == generated
        assert (workplace.directory / edit["path"]).read_text() == edit["content"]

    @pytest.mark.parametrize(
        ("what", "edit", "reason"),
        [
            ("code", TESTS, "judges the code"),
            ("code", {"path": "pyproject.toml", "content": ""}, "judges the code"),
            ("code", {"path": "../outside.py", "content": ""}, "not a file path"),
            ("tests", CODE, "only new test files are allowed, such as tests/test_cart.py"),
            ("tests", {"path": "tests/conftest.py", "content": ""}, "only new test files"),
            ("tests", {"path": "tests/test_prices.py", "content": ""}, "only new test files"),
        ],
    )
    def test_it_writes_what_it_was_asked_for_and_nothing_else(
        self,
        openai_server: OpenAIServer,
        workplace: Workplace,
        what: str,
        edit: dict[str, str],
        reason: str,
    ) -> None:
        openai_server.script(written(edit), written(edit))
        generated = generate(ModelGenerator(MODEL, openai_server.environment), what, workplace)
        assert generated.failure is None
        assert reason in generated.description
        assert reason in openai_server.requests[1].prompt
        assert generated.usage is not None
        assert (generated.usage.requests, generated.usage.output_tokens) == (2, 10)
        assert not (workplace.directory / "shop/cart.py").exists()
        assert (workplace.directory / "tests/test_prices.py").read_text() == "import shop.prices\n"

    def test_tests_go_where_the_task_says(
        self, openai_server: OpenAIServer, workplace: Workplace
    ) -> None:
        edit = {"path": "verify/totals.py", "content": "x = 1\n"}
        openai_server.script(written(edit))
        generator = ModelGenerator(MODEL, openai_server.environment)
        named = ("verify/totals.py", "tests/test_prices.py")
        assert generate(generator, "tests", workplace, tests=named).failure is None
        assert (workplace.directory / "verify/totals.py").exists()
        prompt = openai_server.requests[0].prompt
        assert "Write new test files only:\n  - `verify/totals.py`\n- They" in prompt

    def test_it_sees_what_its_code_is_to_fit_into(
        self, openai_server: OpenAIServer, workplace: Workplace
    ) -> None:
        openai_server.script(written(CODE))
        generate(ModelGenerator(MODEL, openai_server.environment), "code", workplace)
        prompt = openai_server.requests[0].prompt
        assert "### shop/prices.py\n```text\nthe_neighbour = 1\n" in prompt
        assert "### pyproject.toml\n" in prompt
        openai_server.script(written(TESTS))
        generate(ModelGenerator(MODEL, openai_server.environment), "tests", workplace)
        assert f"### shop/cart.py\n```text\n{CODE['content']}" in openai_server.requests[1].prompt

    def test_a_model_that_gives_no_answer_is_a_failure(
        self, openai_server: OpenAIServer, workplace: Workplace
    ) -> None:
        openai_server.script(Refuse(429))
        generated = generate(ModelGenerator(MODEL, openai_server.environment), "code", workplace)
        assert generated.failure is not None
        assert MODEL in generated.failure


AGENT = """
    import json, os, pathlib, sys
    prompt = pathlib.Path(sys.argv[1]).read_text() if len(sys.argv) > 1 else sys.stdin.read()
    called = {"prompt": prompt, "directory": os.getcwd(), "key": os.environ.get("AGENT_KEY")}
    pathlib.Path(__file__).with_name("called.json").write_text(json.dumps(called))
    pathlib.Path("shop/cart.py").write_text("by_the_agent = 1\\n")
    print("done")
"""


class TestAgent:
    @pytest.mark.parametrize("arguments", ["", "{prompt_file}"])
    @pytest.mark.parametrize("what", ["code", "tests"])
    def test_it_is_run_in_the_project_with_the_prompt(
        self,
        workplace: Workplace,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        what: str,
        arguments: str,
    ) -> None:
        monkeypatch.setenv("AGENT_KEY", "its key")
        program = tmp_path / "agent.py"
        program.write_text(textwrap.dedent(AGENT))
        command = f"{shlex.join([sys.executable, '-S', str(program)])} {arguments}"
        generator = AgentGenerator(AgentConfig(command=command, env=("AGENT_KEY",)))
        assert generate(generator, what, workplace) == Generated(description="done")
        called = json.loads((tmp_path / "called.json").read_text())
        write = prompt_for_code if what == "code" else prompt_for_tests
        (workplace.directory / "shop/cart.py").unlink()
        expected = write(TASK, workplace, ("Sums overflowed here.",))
        assert expected in called["prompt"]
        assert called["directory"] == str(workplace.directory)
        assert called["key"] == "its key"

    def test_one_that_breaks_is_a_failure(self, workplace: Workplace) -> None:
        generator = AgentGenerator(AgentConfig(command="echo no; exit 3"))
        generated = generate(generator, "code", workplace)
        assert generated == Generated(description="no", failure="exited with code 3")

    def test_it_goes_by_the_name_of_its_program(self) -> None:
        agent = AgentConfig(command="/opt/bin/some-agent --go")
        assert AgentGenerator(agent).name == "some-agent"


class TestPrompts:
    @pytest.mark.parametrize("write", [prompt_for_code, prompt_for_tests])
    def test_both_tell_what_is_required_and_what_failed_before(
        self, workplace: Workplace, write: Any
    ) -> None:
        prompt = write(TASK, workplace, ("Sums overflowed here.", "None was added."))
        for words in (
            "> Add `total(prices)`\n> as described in @docs/spec.md.",
            "`shop/cart.py` (python)",
            "`python -m pytest -q` (pytest)",
            "### docs/spec.md\n```text\nAn empty cart costs 0.\n",
            "```text\n- Sums overflowed here.\n- None was added.\n```",
        ):
            assert words in prompt

    def test_kinds_of_tests_are_named_and_how_a_test_says_its_own(
        self, workplace: Workplace
    ) -> None:
        prompt = prompt_for_tests(TASK, workplace, ())
        assert "- `happy_path`\n- `edge_cases`\n\n" in prompt
        assert "`existing_tests_pass`" not in prompt, "no test can be written for that"
        assert "test_edge_case_empty_input" in prompt
        assert "asserts nothing does not count" in prompt
        assert "- `tests/test_cart.py`\n" in prompt
        assert "bug has been fixed" not in prompt

    def test_of_a_fixed_bug_the_test_must_fail_before_the_fix(self, workplace: Workplace) -> None:
        task = replace(TASK, code_type="bug_fix", original="def total(): old\n")
        prompt = prompt_for_tests(task, workplace, ())
        assert "must fail on the code as it was before the fix" in prompt
        assert "```text\ndef total(): old\n" in prompt

    @pytest.mark.parametrize(
        ("code_type", "words"),
        [
            ("new_function", "It is new"),
            ("bug_fix", "There is a bug"),
            ("refactor", "stays exactly the same"),
            ("api_endpoint", "It is an endpoint"),
            ("integration", "another system"),
        ],
    )
    def test_every_type_of_code_has_a_rule(
        self, workplace: Workplace, code_type: str, words: str
    ) -> None:
        assert words in prompt_for_code(replace(TASK, code_type=code_type), workplace, ())

    def test_tests_that_exist_are_named(self, workplace: Workplace) -> None:
        task = replace(TASK, path="shop/prices.py")
        assert "## Tests that exist\n\n- `tests/test_prices.py`\n" in prompt_for_code(
            task, workplace, ()
        )

    def test_documents_are_trimmed_and_none_from_outside_is_read(
        self, workplace: Workplace
    ) -> None:
        (workplace.root / "secret.md").write_text("planted\n")
        (workplace.directory / ".env").write_text("planted\n")
        (workplace.directory / "link.md").symlink_to(workplace.root / "secret.md")
        (workplace.directory / "docs/spec.md").write_text(f"head {'x' * 100_000} tail")
        text = "See @docs/spec.md @../secret.md @link.md @docs/../.env @docs/absent.md @docs/"
        prompt = prompt_for_code(replace(TASK, requirement=text), workplace, ())
        assert "planted" not in prompt
        assert "head xxx" in prompt
        assert "xxx tail" in prompt
        assert "### docs/absent.md" not in prompt
        assert len(prompt) < 20_000


@pytest.mark.parametrize(
    ("requirement", "paths"),
    [
        ("as in @docs/spec.md, and @docs/spec.md again.", ("docs/spec.md",)),
        (
            "(@README.md) or @./a/b.txt; @.aiwg/req/UC-1.md!",
            ("README.md", "./a/b.txt", ".aiwg/req/UC-1.md"),
        ),
        ("@src/shop", ("src/shop",)),
        ("write to me@example.com/x or a@b.md", ()),
        ("use @dataclass, @pytest.fixture and @app.route", ()),
        ("@models.py", ("models.py",)),
        ("", ()),
    ],
)
def test_mentions_are_paths_after_an_at_sign(requirement: str, paths: tuple[str, ...]) -> None:
    assert mentions(requirement) == paths
