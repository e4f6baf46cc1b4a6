"""Inside an outer loop: iterations are recorded, learn from one another, tell their progress."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator, FormatChecker

from runtrue.code import schema
from tests.cli.conftest import Done, Machine, MakeProject, write
from tests.cli.test_gate import READY, SHOP, WRONG

SESSIONS = ".aiwg/ralph/debug-memory"

#: An agent that keeps every prompt it gets, and writes what it is told to write at that call.
AGENT = """
import pathlib, sys

prompts, *factors = sys.argv[1:]
number = len(list(pathlib.Path(prompts).iterdir()))
pathlib.Path(prompts, f"{number:02}.md").write_text(sys.stdin.read())
text = "def with_tax(net):\\n    return net * " + factors[number] + "\\n"
pathlib.Path("tax.py").write_text(text)
"""
#: Mended in the first iteration, never in the second, right from the start in the third.
FACTORS = ("1.8", "1.19", "1.7", "1.6", "1.19")
TAX = {
    "tax.py": "def with_tax(net):\n    return net * 1.9\n",
    "tests/test_tax.py": """
        from tax import with_tax


        def test_regression_of_a_hundred():
            assert with_tax(100) == 119


        def test_nothing_costs_nothing():
            assert with_tax(0) == 0
    """,
}


def _valid(report: dict[str, object]) -> dict[str, object]:
    record = report["record"]
    assert isinstance(record, dict)
    Draft202012Validator(schema(), format_checker=FormatChecker()).validate(record)
    ralph = record["ralph_integration"]
    assert isinstance(ralph, dict)
    return ralph


def test_three_iterations_share_a_memory_and_tell_their_progress(
    machine: Machine, make_project: MakeProject, tmp_path: Path
) -> None:
    project = make_project(TAX)
    prompts = tmp_path / "prompts"
    prompts.mkdir()
    agent = tmp_path / "agent.py"
    agent.write_text(AGENT)

    def iterate(*args: str, env: dict[str, str] | None = None) -> Done:
        return machine.runtrue(
            *("code", "tax of 19 %", "--path", "tax.py", "--type", "bug_fix", "--json"),
            *("--tests", "tests/test_tax.py", "--max-attempts", "2"),
            *("--agent", shlex.join([sys.executable, str(agent), str(prompts), *FACTORS])),
            *args,
            cwd=project,
            env=env,
        )

    first = iterate("--loop-id", "loop-a", "--iteration", "1")
    assert first.code == 0, first.said
    given = len(list(prompts.iterdir()))
    assert (first.json["lessons"], first.json["progress"]) == ([], 0.3)

    second = iterate(env={"RUNTRUE_LOOP_ID": "loop-a", "RUNTRUE_ITERATION": "2"})
    assert (second.code, second.json["status"]) == (3, "waiting")
    # One of two tests passes, by the weight of 0.3.
    assert second.json["progress"] == pytest.approx(0.15)
    prompt = sorted(prompts.iterdir())[given].read_text()
    # From the memory of this home, and from the session of the iteration before.
    for words in ("AssertionError in tests/test_tax.py", "AssertionError was fixed by changing"):
        lesson = next(one for one in second.json["lessons"] if one.startswith(words))
        assert lesson in prompt
        assert lesson not in (prompts / "00.md").read_text()

    third = iterate("--loop-id", "loop-a", "--iteration", "3")
    assert third.code == 0, third.said
    assert third.json["lessons"]

    for number, done in enumerate((first, second, third), start=1):
        ralph = _valid(done.json)
        assert (ralph["loop_id"], ralph["iteration"]) == ("loop-a", number)
        assert ralph["progress_metric"] == {
            "include_test_pass_rate": True,
            "weight": 0.3,
            "value": done.json["progress"],
        }
        session = f"{SESSIONS}/loop-a/iteration-{number:03d}.json"
        if done is not second:  # a run that waits has not come to its end
            assert done.json["record"]["debug_memory_ref"] == session
            assert json.loads((project / session).read_text())["iteration"] == number


def test_each_iteration_of_a_gate_has_a_session_of_its_own(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project(SHOP)
    states = (WRONG, WRONG, READY)
    values = []
    for number, files in enumerate(states, start=1):
        write(project, files)
        done = machine.runtrue(
            "gate", "--json", "--loop-id", "b", "--iteration", str(number), cwd=project
        )
        assert done.code == (2 if files is WRONG else 0), done.said
        assert _valid(done.json)["iteration"] == number
        values.append(done.json["progress"])
    assert values == pytest.approx([0.15, 0.15, 0.3])
    written = [
        json.loads((project / SESSIONS / "b" / f"iteration-{number:03d}.json").read_text())
        for number in (1, 2, 3)
    ]
    assert [(one["loop_id"], one["iteration"], one["status"]) for one in written] == [
        ("b", 1, "failed"),
        ("b", 2, "failed"),
        ("b", 3, "passed"),
    ]
    assert written[0]["failures"][0]["fingerprint"] == written[1]["failures"][0]["fingerprint"]


def test_a_loop_that_does_not_require_passing_tests_is_told_and_not_blocked(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project({**SHOP, "runtrue.toml": "[ralph]\nrequire_passing_tests = false\n"})
    write(project, WRONG)
    assert machine.runtrue("gate", cwd=project).code == 2  # there is no loop around this one
    done = machine.runtrue("gate", "--loop-id", "c", "--iteration", "1", "--json", cwd=project)
    assert done.code == 0
    assert done.err.startswith("runtrue gate: ready, with 1 finding")
    assert "test_discount" in done.err
    assert (done.json["ready"], done.json["status"]) == (True, "failed")
    assert _valid(done.json)["execution_gate"] == {
        "require_passing_tests": False,
        "allow_skip": False,
    }
    # That tests may fail does not mean that there need be none.
    write(project, {**READY, "tax.py": "def tax(net):\n    return net\n"})
    untested = machine.runtrue("gate", "--loop-id", "c", "--iteration", "2", cwd=project)
    assert untested.code == 2
    assert "no test covers tax.py" in untested.err


@pytest.mark.parametrize(
    ("given", "missing"),
    [(("--loop-id", "d"), "--iteration"), (("--iteration", "1"), "--loop-id")],
)
def test_a_place_in_a_loop_needs_both_its_parts(
    given: tuple[str, str], missing: str, machine: Machine, make_project: MakeProject
) -> None:
    project = make_project(SHOP)
    write(project, READY)
    done = machine.runtrue("gate", *given, cwd=project)
    assert done.code == 2
    assert f"add {missing}" in done.err


def test_what_a_loop_is_not_to_keep_or_count_is_not(
    machine: Machine, make_project: MakeProject
) -> None:
    settings = "[ralph]\npersist_per_iteration = false\ninclude_test_pass_rate = false\n"
    project = make_project({**SHOP, "runtrue.toml": settings})
    write(project, READY)
    done = machine.runtrue("gate", "--loop-id", "e", "--iteration", "1", "--json", cwd=project)
    assert done.json["progress"] is None
    assert not (project / SESSIONS / "e").exists()
    assert (project / done.json["record"]["debug_memory_ref"]).is_file()
