"""`runtrue code` in a subprocess: generated or taken as it is, run, mended, handed over."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from runtrue.flow import Journal
from runtrue.loop import BackingOff
from tests.checks.runners import NODE_MODULES, environment, require
from tests.cli.conftest import Machine, MakeProject, content
from tests.code.support import (
    EMPTY,
    MENDED,
    PYTEST,
    RIGHT,
    TAX,
    TESTS,
    WRONG,
    Agent,
    plain,
    triggers,
    valid,
)
from tests.models.openai_server import Call, OpenAIServer, openai_server

__all__ = ["openai_server"]

TAKE_THE_BUG = ("code", "the rate is 19 %", "--path", "tax.py", "--type", "bug_fix", "--json")


# -- the two examples of the specification ------------------------------------------------------

#: In TypeScript where jest can read it here, else in JavaScript.
TYPED = (NODE_MODULES / "@babel" / "preset-typescript").is_dir()
ENDING = "ts" if TYPED else "js"
SOURCE, SUITE = f"src/utils/validate.{ENDING}", f"test/unit/utils/validate.test.{ENDING}"
CARELESS = f"""
    exports.validate = (input{": string | null" if TYPED else ""}) => {{
        if (input.length > 20) {{
            throw new RangeError("too long");
        }}
        return {{ valid: input.length > 0 }};
    }};
"""
CAREFUL = CARELESS.replace(
    "        if (input.length > 20)",
    "        if (input === null) {\n            return { valid: false };\n        }\n"
    "        if (input.length > 20)",
)
EIGHT = f"""
    const {{ validate }} = require("../../../src/utils/validate.{ENDING}");
    const valid = (input) => validate(input).valid;
    describe("happy path", () => {{
        test.each(["a", "ada", "grace", "a b"])("accepts %p", (name) => {{
            expect(valid(name)).toBe(true);
        }});
    }});
    test("edge case: empty", () => expect(valid("")).toBe(false));
    test("edge case: null is refused", () => expect(valid(null)).toBe(false));
    test("edge case: a missing name is refused", () => expect(valid(null)).toBe(false));
    test("error handling", () => expect(() => validate("x".repeat(21))).toThrow(RangeError));
    """


def test_the_first_example_a_new_function_that_passes_at_its_second_attempt(
    machine: Machine, make_project: MakeProject, tmp_path: Path
) -> None:
    require("jest")
    files = {
        "package.json": '{ "devDependencies": { "jest": "*" } }',
        ".gitignore": "node_modules\n",
        "docs/names.md": "A name has at most 20 letters.\n",
        "test/other.test.js": "test('one', () => expect(1).toBe(1));\n",
    }
    if TYPED:
        files["babel.config.js"] = "module.exports = { presets: ['@babel/preset-typescript'] };\n"
    project = make_project(files)
    (project / "node_modules").symlink_to(NODE_MODULES)
    agent = Agent(tmp_path / "agent", {SOURCE: CARELESS}, {SUITE: EIGHT}, {SOURCE: CAREFUL})
    done = machine.runtrue(
        *("code", "validate names, see @docs/names.md", "--path", SOURCE, "--json", "--apply"),
        *("--tests", SUITE, "--check", f"npx --no-install jest {SUITE}"),
        *("--timeout", "60", "--agent", agent.command),
        cwd=project,
        env=environment(),
    )
    assert done.code == 0, done.err
    record = valid(done.json["record"])
    artifact, state = record["code_artifact"], record["loop_state"]
    assert artifact["language"] == ("typescript" if TYPED else "javascript")
    assert (artifact["path"], artifact["test_files"]) == (SOURCE, [SUITE])
    assert (artifact["code_type"], artifact["requirements_ref"]) == (
        "new_function",
        ["@docs/names.md"],
    )
    assert record["agent"] | {"version": ""} == {
        "name": "scribe",
        "type": "software_implementer",
        "version": "",
    }
    assert record["execution_config"]["test_framework"] == "jest"
    assert record["execution_config"]["timeout_seconds"] == 60
    assert (state["phase"], state["attempt_number"], state["status"]) == ("complete", 2, "passed")
    first, second = state["attempts"]
    assert (first["phase"], second["phase"]) == ("execute_tests", "verify_fix")
    counts = ("total", "passed", "failed", "errors", "skipped")
    assert [first["test_results"][c] for c in counts] == [8, 6, 2, 0, 0]
    assert [second["test_results"][c] for c in counts] == [8, 8, 0, 0, 0]
    assert state["test_results"] == second["test_results"]
    assert 80 <= state["test_results"]["coverage_percent"] <= 100
    failure = first["failures"][0]
    assert failure["error_type"] == "TypeError"
    assert "length" in failure["error_message"]
    assert failure["test_file"] == SUITE
    assert "TypeError" in first["analysis"]["root_cause"]
    assert first["analysis"]["fix_strategy"] == f"change {SOURCE}"
    assert first["fix_applied"]["diff_summary"] == "+3/-0 lines"
    assert first["fix_applied"]["files_modified"] == [SOURCE]
    assert "failures" not in second
    assert first["code_hash"] != second["code_hash"] == artifact["content_hash"]
    assert (project / record["debug_memory_ref"]).is_file()
    assert "null" in (project / SOURCE).read_text()


def test_the_second_example_a_bug_fix_that_is_escalated_at_its_third_attempt(
    machine: Machine, make_project: MakeProject, tmp_path: Path
) -> None:
    project = make_project(TAX)
    before = content(project)
    wrong = [{"tax.py": f"def with_tax(net):\n    return net * 1.{n}\n"} for n in (8, 7, 6)]
    agent = Agent(tmp_path / "agent", *wrong)
    done = machine.runtrue(*TAKE_THE_BUG, "--agent", agent.command, cwd=project)
    assert done.code == 3
    report = done.json
    record = valid(report["record"])
    assert record["agent"]["type"] == "debugger"
    state = record["loop_state"]
    assert (state["phase"], state["attempt_number"], state["status"]) == (
        "escalated",
        3,
        "escalated",
    )
    assert [a["attempt_number"] for a in state["attempts"]] == [1, 2, 3]
    assert report["status"] == "waiting"
    assert [e["condition"] for e in report["escalations"]] == ["max_attempts_reached"]
    (notice,) = report["notices"]
    text, data = Path(notice["report"]), Path(notice["report"]).with_suffix(".json")
    assert "test_regression_of_the_rate" in text.read_text()
    assert f"runtrue runs resume {report['run_id']}" in text.read_text()
    assert data.is_file()
    assert str(text) in done.err
    after = {name: it for name, it in content(project).items() if not name.startswith(".aiwg")}
    assert after == before


# -- with a generator ---------------------------------------------------------------------------


def test_a_model_writes_code_and_tests_and_mends_what_fails(
    machine: Machine, make_project: MakeProject, openai_server: OpenAIServer
) -> None:
    def edits(files: dict[str, str], **said: Any) -> Call:
        return Call({**said, "edits": [{"path": p, "content": c} for p, c in plain(files).items()]})

    openai_server.script(
        edits(WRONG, description="wrote it"),
        edits(TESTS, description="wrote tests"),
        edits(RIGHT, root_cause="split leaves nothing", fix_strategy="split", confidence=0.9),
    )
    project = make_project(EMPTY)
    done = machine.runtrue(
        *("code", "initials of a name", "--path", "names.py", "--json", "--apply"),
        cwd=project,
        env=openai_server.environment,
    )
    assert done.code == 0, done.err
    record = valid(done.json["record"])
    assert record["agent"]["name"] == "openai:gpt-4o"
    analysis = record["loop_state"]["attempts"][0]["analysis"]
    assert (analysis["root_cause"], analysis["confidence"]) == ("split leaves nothing", 0.9)
    assert (project / "names.py").read_text() == plain(RIGHT)["names.py"]
    assert (project / "tests/test_names.py").is_file()


def test_a_generator_that_writes_nothing_stops_the_run_which_can_be_resumed(
    machine: Machine, make_project: MakeProject, tmp_path: Path
) -> None:
    project = make_project(EMPTY)
    agent = Agent(tmp_path / "agent", "true", "exit 4", "exit 4", "exit 4", RIGHT, TESTS)
    asked = ("code", "initials", "--path", "names.py", "--agent", agent.command)
    nothing = machine.runtrue(*asked, "--json", cwd=project)
    assert nothing.code == 1
    assert "scribe was to write code" in nothing.json["error"]
    assert valid(nothing.json["record"])["loop_state"] == {
        "phase": "generate_code",
        "attempt_number": 1,
        "status": "failed",
        "attempts": [],
    }
    broken = machine.runtrue("runs", "resume", nothing.json["run_id"])
    assert broken.code == 1
    assert "exited with code 4" in broken.said
    again = machine.runtrue("runs", "resume", nothing.json["run_id"], "--json")
    assert again.code == 0, again.err
    assert again.json["record"]["loop_state"]["status"] == "passed"


def test_tests_that_are_there_are_not_touched_by_who_writes_the_code(
    machine: Machine, make_project: MakeProject, tmp_path: Path
) -> None:
    project = make_project(TAX)
    softened = TAX["tests/test_tax.py"].replace("119", "190")
    agent = Agent(tmp_path / "agent", {"tests/test_tax.py": softened, **MENDED})
    done = machine.runtrue(*TAKE_THE_BUG, "--agent", agent.command, cwd=project)
    assert done.code == 0, done.err
    assert done.json["written"][0]["restored"] == ["tests/test_tax.py"]
    assert "test_tax.py" not in done.json["diff"]
    assert len(agent.prompts) == 1  # there are tests, so none were asked for


# -- with nobody to write -----------------------------------------------------------------------


def test_without_a_model_or_agent_a_bug_is_taken_as_it_is_and_mended_by_a_tool(
    machine: Machine, make_project: MakeProject
) -> None:
    config = f'{PYTEST}fix = "sed -i s/1.9/1.19/ tax.py"\n'
    project = make_project({**TAX, "runtrue.toml": config})
    done = machine.runtrue(*TAKE_THE_BUG, "--apply", cwd=project)
    assert done.code == 0, done.err
    record = valid(done.json["record"])
    assert record["loop_state"]["attempt_number"] == 2
    assert record["loop_state"]["attempts"][0]["fix_applied"]["description"].startswith("tool: ")
    assert record["agent"]["name"] == "runtrue"
    assert "1.19" in (project / "tax.py").read_text()


def test_without_a_model_or_agent_a_refactoring_is_taken_as_it_is(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project({**TAX, **MENDED})
    done = machine.runtrue(
        *("code", "shorter", "--path", "tax.py", "--type", "refactor", "--json"), cwd=project
    )
    assert done.code == 0, done.err
    record = valid(done.json["record"])
    assert record["coverage_requirements"]["refactor"]["minimum_coverage"] == -1
    assert (record["loop_state"]["attempt_number"], done.json["diff"]) == (1, "")


def test_other_tests_that_failed_before_do_not_block_and_are_told(
    machine: Machine, make_project: MakeProject, tmp_path: Path
) -> None:
    other = {"tests/test_other.py": "def test_other():\n    assert False\n"}
    agent = Agent(tmp_path / "agent", MENDED)
    asked = (*TAKE_THE_BUG[:-1], "--tests", "tests/test_tax.py", "--agent", agent.command)
    done = machine.runtrue(*asked, cwd=make_project({**TAX, **other}))
    assert done.code == 0, done.err
    assert "tests passes, 2 passed, 1 failed before the fix and still fail" in done.out
    results = machine.runtrue("runs", "show", "--json").json["record"]["loop_state"]["test_results"]
    assert (results["total"], results["passed"], results["failed"]) == (3, 2, 1)


def test_what_nobody_can_mend_is_said_with_the_reason_of_each_fixer(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project(TAX)
    done = machine.runtrue(*TAKE_THE_BUG[:-1], cwd=project)
    assert done.code == 3
    assert "could not fix 1 finding" in done.out
    assert "search: it is given no time" in done.out
    assert "or pass --agent CMD" in done.out
    shown = machine.runtrue("runs", "show", "--json").json
    assert valid(shown["record"])["loop_state"]["status"] == "escalated"


# -- the retry policy ---------------------------------------------------------------------------


def test_the_tests_are_run_no_more_often_than_the_policy_says(
    machine: Machine, make_project: MakeProject, tmp_path: Path
) -> None:
    rules = triggers(("max_attempts_reached", "flag_and_continue"))
    config = f'{PYTEST}\n[policy]\nbackoff = "linear"\nbackoff_seconds = 0.01\n{rules}'
    project = make_project({**TAX, "runtrue.toml": config})
    agent = Agent(tmp_path / "agent", *['echo "# $n" >> tax.py\n'] * 9)
    asked = (*TAKE_THE_BUG, "--agent", agent.command, "--max-attempts", "4")
    done = machine.runtrue(*asked, cwd=project)
    assert done.code == 1
    state = valid(done.json["record"])["loop_state"]
    assert (state["status"], state["attempt_number"], len(state["attempts"])) == ("failed", 4, 4)
    assert done.json["flags"] == ["max_attempts_reached"]
    assert done.json["record"]["retry_policy"] == {
        "max_attempts": 4,
        "backoff": "linear",
        "escalation_on_max": True,
        "abort_on_regression": True,
    }
    with Journal(machine.journal) as journal:
        events = journal.events(done.json["run_id"])
    waits = [event.seconds for _, event in events if isinstance(event, BackingOff)]
    assert waits == [0.01, 0.02]


@pytest.mark.parametrize("aborts", [True, False])
def test_a_fix_that_breaks_what_worked_is_rolled_back_and_named(
    machine: Machine, make_project: MakeProject, tmp_path: Path, aborts: bool
) -> None:
    config = f"{PYTEST}\n[policy]\nabort_on_regression = {str(aborts).lower()}\n"
    if not aborts:
        config += triggers(("regression_detected", "flag_and_continue"))
    project = make_project({**TAX, "runtrue.toml": config})
    agent = Agent(tmp_path / "agent", "true", {"tax.py": "def with_tax(net): return 119\n"}, MENDED)
    done = machine.runtrue(*TAKE_THE_BUG, "--agent", agent.command, cwd=project)
    report = done.json
    state = valid(report["record"])["loop_state"]
    broken = ["tests/test_tax.py::test_nothing_costs_nothing"]
    assert report["attempts"][1]["regressions"] == broken
    if not aborts:
        assert done.code == 0, done.err
        assert (report["flags"], state["attempt_number"]) == (["regression_detected"], 3)
        return
    assert done.code == 1
    assert (state["phase"], state["status"], state["attempt_number"]) == ("aborted", "aborted", 2)
    assert report["regressions"] == broken
    assert "1.9" in Path(report["sandbox"], "tax.py").read_text()
    assert len(agent.prompts) == 2
    # What the run came to is not the attempt that broke something, but the one it went back to.
    assert state["test_results"] == state["attempts"][0]["test_results"]


def test_a_flaky_test_is_flagged_and_not_sent_to_a_fixer(
    machine: Machine, make_project: MakeProject, tmp_path: Path
) -> None:
    flaky = f"""
        import pathlib


        def test_now_and_then():
            seen = pathlib.Path({str(tmp_path / "seen")!r})
            again = seen.exists()
            seen.touch()
            assert again
    """
    project = make_project({**TAX, **MENDED, "tests/test_flaky.py": flaky})
    agent = Agent(tmp_path / "agent", "true")
    config = f'{PYTEST}\n[fixers.agent]\ncommand = "{agent.command}"\n'
    (project / "runtrue.toml").write_text(config)
    done = machine.runtrue("fix", "--json", cwd=project)
    assert done.code == 0, done.err
    assert done.json["flaky"] == ["tests/test_flaky.py::test_now_and_then"]
    assert agent.prompts == []
    (tmp_path / "seen").unlink()
    (project / "runtrue.toml").write_text(PYTEST)
    refactored = ("code", "shorter", "--path", "tax.py", "--type", "refactor")
    told = machine.runtrue(*refactored, cwd=project)
    assert told.code == 0, told.err
    assert "flaky: tests/test_flaky.py::test_now_and_then" in told.out


# -- within a loop around it --------------------------------------------------------------------


def test_three_iterations_of_a_loop_around_it_share_one_memory(
    machine: Machine, make_project: MakeProject, tmp_path: Path
) -> None:
    rules = triggers(("max_attempts_reached", "flag_and_continue"))
    config = f"{PYTEST}\n[policy]\nmax_attempts = 2\n[ralph]\nweight = 0.5\n{rules}"
    project = make_project({**TAX, "runtrue.toml": config})
    agent = Agent(
        tmp_path / "agent",
        *("true", "echo '#' >> tax.py"),
        *("true", MENDED),
        "echo '# again' >> tax.py",
    )
    found = []
    for number in (1, 2, 3):
        code_type = "bug_fix" if number < 3 else "refactor"
        asked = (*TAKE_THE_BUG, "--type", code_type, "--agent", agent.command, "--apply")
        env = {"RUNTRUE_LOOP_ID": "loop/7", "RUNTRUE_ITERATION": str(number)}
        found.append(machine.runtrue(*asked, cwd=project, env=env))
    assert [done.code for done in found][1:] == [0, 0], found[-1].err
    records = [valid(done.json["record"]) for done in found]
    ralph = [record["ralph_integration"] for record in records]
    assert [(one["loop_id"], one["iteration"]) for one in ralph] == [
        ("loop/7", n) for n in (1, 2, 3)
    ]
    assert [one["progress_metric"]["value"] for one in ralph] == [0.25, 0.5, 0.5]
    assert ralph[0]["execution_gate"] == {"require_passing_tests": True, "allow_skip": False}
    kept = [record["debug_memory_ref"] for record in records]
    assert [Path(ref).name for ref in kept] == [f"iteration-00{n}.json" for n in (1, 2, 3)]
    assert all((project / ref).is_file() for ref in kept)
    assert "AssertionError" in agent.prompts[2]
    assert "fixed by changing tax.py" in agent.prompts[4]


# -- bad input ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (("",), "the requirement is empty"),
        (("x", "--path", "../tax.py"), " is not a file in "),
        (("x", "--path", "/etc/passwd"), " is not a file in "),
        (("x", "--path", "tests"), " is a directory"),
        (("x", "--tests", "../test_tax.py"), " is not a file in "),
        (("x", "--timeout", "4"), "4 is not in the range 5<=x<=600"),
        (("x", "--max-attempts", "11"), "11 is not in the range 1<=x<=10"),
        (("x", "--type", "nonsense"), "'nonsense' is not one of 'new_function', 'bug_fix'"),
        (("x", "--loop-id", "a"), "--loop-id and --iteration go together; add --iteration"),
        (("x", "--iteration", "1"), "--loop-id and --iteration go together; add --loop-id"),
        (("x", "--check", "no-such-program"), "unknown check 'no-such-program'"),
        (("x", "--path", "new.py"), "there is no new.py in "),
    ],
)
def test_bad_input_is_refused_in_one_sentence(
    args: tuple[str, ...], sentence: str, machine: Machine, make_project: MakeProject
) -> None:
    project = make_project(TAX)
    path = () if "--path" in args else ("--path", "tax.py")
    done = machine.runtrue("code", *args, *path, cwd=project)
    assert done.code == 2
    assert sentence in done.err
    assert done.out == ""
    assert not machine.journal.exists() or "code" not in machine.runtrue("runs", "list").out


@pytest.mark.parametrize(
    ("config", "line", "sentence"),
    [
        (
            '[[escalation.triggers]]\ncondition = "max_attempt_reached"\naction = "human_review"\n',
            2,
            "did you mean 'max_attempts_reached'?",
        ),
        (
            '[[escalation.triggers]]\ncondition = "timeout_exceeded"\naction = "human"\n',
            3,
            "available: human_review",
        ),
        (
            '[[escalation.triggers]]\ncondition = "timeout_exceeded"\naction = "human_review"\n'
            'include_in_report = ["stack_trace"]\n',
            4,
            "did you mean 'stack_traces'?",
        ),
        ('[[escalation.triggers]]\nconditon = "timeout_exceeded"\n', 2, "did you mean 'condition'"),
        ('[escalation.notification]\nchannel = "slak"\n', 2, "did you mean 'slack'?"),
        ("[policy]\nmax_attempts = 11\n", 2, "<= 10"),
        ('[policy]\nbackoff = "linar"\n', 2, "did you mean 'linear'?"),
        ("[coverage.bug_fix]\nminimum_coverage = 101\n", 2, "<= 100"),
    ],
)
def test_a_mistake_in_the_configuration_is_told_with_its_line(
    config: str, line: int, sentence: str, machine: Machine, make_project: MakeProject
) -> None:
    project = make_project({**TAX, "runtrue.toml": config})
    done = machine.runtrue(*TAKE_THE_BUG, cwd=project)
    assert done.code == 2
    assert f"{project}{os.sep}runtrue.toml:{line}: " in done.err
    assert sentence in done.err
