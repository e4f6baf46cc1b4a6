"""Records: always by the schema, made of what happened, and the same from Python."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from runtrue.checks import Framework, Language, language_of
from runtrue.code import (
    AgentType,
    CodeType,
    Iteration,
    Record,
    RecordPhase,
    Status,
    prepare_run,
    report_of,
    run_code_loop,
    schema,
)
from runtrue.errors import UsageError
from runtrue.flow import Journal, RunState, replay
from runtrue.home import Home
from runtrue.loop import CHANNELS, Backoff, Condition, Item, Requirements, Response
from tests.cli.conftest import Machine, MakeProject, machine, make_project
from tests.code.support import EMPTY, MENDED, PYTEST, RIGHT, TAX, TESTS, WRONG, Agent, valid

__all__ = ["machine", "make_project"]

LOOP = "$defs.LoopState.properties"
TRIGGER = "$defs.EscalationPolicy.properties.triggers.items.properties"
CHANNEL = "$defs.EscalationPolicy.properties.notification.properties.channel"
ENUMS: dict[str, tuple[str, set[str]]] = {
    "properties.agent.properties.type": (
        "software_implementer test_engineer debugger code_reviewer",
        set(AgentType),
    ),
    "$defs.CodeArtifact.properties.language": (
        "typescript javascript python go rust java other",
        set(Language),
    ),
    "$defs.CodeArtifact.properties.code_type": (
        "new_function bug_fix refactor api_endpoint integration",
        set(CodeType),
    ),
    "$defs.ExecutionConfig.properties.test_framework": (
        "jest vitest pytest go_test cargo_test junit mocha other",
        set(Framework),
    ),
    "$defs.RetryPolicy.properties.backoff": ("none linear exponential", set(Backoff)),
    f"{LOOP}.phase": (
        "generate_code generate_tests execute_tests analyze_failures apply_fix verify_fix "
        "complete escalated aborted",
        set(RecordPhase),
    ),
    f"{LOOP}.status": ("in_progress passed failed escalated aborted", set(Status)),
    f"{TRIGGER}.condition": (
        "max_attempts_reached regression_detected security_issue_found coverage_threshold_unmet "
        "timeout_exceeded unknown_error_type",
        set(Condition),
    ),
    f"{TRIGGER}.action": (
        "human_review senior_agent abort_with_report flag_and_continue",
        set(Response),
    ),
    f"{TRIGGER}.include_in_report.items": (
        "original_code all_test_results failure_analyses fix_attempts debug_memory_summary "
        "stack_traces",
        set(Item),
    ),
    CHANNEL: (
        "issue_comment cli slack email",
        set(CHANNELS),
    ),
}


def at(path: str) -> Any:
    """A part of the schema."""
    part: Any = schema()
    for name in path.split("."):
        part = part[name]
    return part


@pytest.mark.parametrize("path", ENUMS)
def test_each_value_that_the_schema_lists_is_one_of_ours(path: str) -> None:
    listed, ours = ENUMS[path]
    assert at(path)["enum"] == listed.split()
    assert {str(value) for value in ours} == set(listed.split())


def test_the_schema_is_that_of_the_specification() -> None:
    jsonschema.Draft202012Validator.check_schema(schema())
    assert schema()["$id"] == "https://aiwg.io/schemas/executable-feedback/v1"
    assert schema()["required"] == [
        *("workflow_id", "agent", "code_artifact", "execution_config", "loop_state")
    ]
    required = {name: part.get("required") for name, part in schema()["$defs"].items()}
    assert {name: fields for name, fields in required.items() if fields} == {
        "CodeArtifact": ["path", "language"],
        "ExecutionConfig": ["test_framework", "test_command"],
        "LoopState": ["phase", "attempt_number", "status"],
        "ExecutionAttempt": ["attempt_number", "timestamp", "phase", "test_results"],
    }
    timeout = at("$defs.ExecutionConfig.properties.timeout_seconds")
    assert (timeout["minimum"], timeout["maximum"], timeout["default"]) == (5, 600, 120)
    attempts = at("$defs.RetryPolicy.properties.max_attempts")
    assert (attempts["minimum"], attempts["maximum"], attempts["default"]) == (1, 10, 3)
    assert schema()["properties"]["workflow_id"]["format"] == "uuid"


def test_what_is_required_by_default_is_what_the_schema_says() -> None:
    defaults = Requirements()
    for name, part in at("$defs.CoverageRequirements.properties").items():
        ours = defaults.of(CodeType(name))
        asked = part["properties"]
        assert ours.minimum_coverage == asked["minimum_coverage"]["default"], name
        assert list(ours.required_tests) == asked["required_tests"]["default"], name


@pytest.mark.parametrize(
    ("file", "language"),
    [
        *(("a.ts", "typescript"), ("a.tsx", "typescript"), ("a.js", "javascript")),
        *(("a.py", "python"), ("a.go", "go"), ("a.rs", "rust"), ("A.java", "java")),
        *(("a.rb", "other"), ("Makefile", "other")),
    ],
)
def test_the_language_is_known_by_the_file(file: str, language: str) -> None:
    assert language_of(file) == language


# -- from Python --------------------------------------------------------------------------------


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    bin_directory = str(Path(sys.executable).parent)
    monkeypatch.setenv("PATH", f"{bin_directory}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.delenv("RUNTRUE_MODEL", raising=False)
    return Home(tmp_path / "own-home")


def stages(home: Home) -> list[dict[str, Any]]:
    """The record of the only run after each of its steps, as if it had been interrupted there."""

    async def replayed(count: int) -> dict[str, Any]:
        segment = prepare_run(run, home)
        await replay(segment.work, steps[:count])
        record = report_of(segment.state, RunState.RUNNING).record
        assert record
        return record

    with Journal(home.journal) as journal:
        (run,) = journal.runs()
        steps = journal.load(run.id)
        return [asyncio.run(replayed(count)) for count in range(len(steps) + 1)]


def phases(records: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """The phases and states that a run goes through, each once as long as it lasts."""
    found: list[tuple[str, str]] = []
    for record in records:
        state = valid(record)["loop_state"]
        here = (state["phase"], state["status"])
        if not found or found[-1] != here:
            found.append(here)
    return found


def test_a_run_goes_through_all_phases_and_its_record_is_valid_in_each(
    home: Home, make_project: MakeProject, tmp_path: Path
) -> None:
    agent = Agent(tmp_path / "agent", WRONG, TESTS, RIGHT)
    record = run_code_loop(
        "initials of a name",
        "names.py",
        project=make_project(EMPTY),
        agent=agent.command,
        iteration=Iteration(loop_id="outer", number=4),
        home=home,
    )
    assert phases(stages(home)) == [
        *((phase, "in_progress") for phase in PROTOCOL),
        ("complete", "passed"),
    ]
    said = valid(record.to_dict())
    assert said["loop_state"]["phase"] == "complete"
    assert said["ralph_integration"]["iteration"] == 4
    started, last, ended = (
        said["timestamps"][name] for name in ("started_at", "last_attempt_at", "completed_at")
    )
    assert started < said["loop_state"]["attempts"][0]["timestamp"] < last < ended


PROTOCOL = (
    "generate_code",
    "generate_tests",
    "execute_tests",
    "analyze_failures",
    "apply_fix",
    "verify_fix",
)


def test_a_rejected_fix_leaves_the_run_in_the_phase_of_fixing(
    home: Home, make_project: MakeProject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RUNTRUE_SEARCH_SECONDS", "0")
    agent = Agent(tmp_path / "agent", "true", "true", "true")
    record = run_code_loop(
        "the rate is 19 %",
        "tax.py",
        project=make_project(TAX),
        code_type=CodeType.BUG_FIX,
        agent=agent.command,
        home=home,
    )
    assert phases(stages(home)) == [
        ("generate_code", "in_progress"),
        ("generate_tests", "in_progress"),
        ("execute_tests", "in_progress"),
        ("analyze_failures", "in_progress"),
        ("apply_fix", "in_progress"),
    ]
    # Nobody has anything more to try, which is for a person then.
    state = valid(record.to_dict())["loop_state"]
    assert (state["phase"], state["status"]) == ("escalated", "escalated")


def without_ids(record: dict[str, Any]) -> dict[str, Any]:
    """A record without what differs from run to run."""
    volatile = ("workflow_id", "timestamp", "timestamps", "duration_ms", "debug_memory_ref")

    def strip(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: strip(it) for name, it in value.items() if name not in volatile}
        return [strip(item) for item in value] if isinstance(value, list) else value

    stripped: dict[str, Any] = strip(record)
    return stripped


def test_the_record_is_the_same_from_python_and_from_the_command_line(
    home: Home,
    machine: Machine,
    make_project: MakeProject,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("RUNTRUE_SEARCH_SECONDS", "0")
    steps = ("true", "echo '#' >> tax.py", MENDED)
    first, second = Agent(tmp_path / "one", *steps), Agent(tmp_path / "two", *steps)
    record = run_code_loop(
        "the rate is 19 %",
        "tax.py",
        project=make_project(TAX, name="one-project"),
        code_type=CodeType.BUG_FIX,
        agent=first.command,
        home=home,
    )
    assert isinstance(record, Record)
    asked = ("code", "the rate is 19 %", "--path", "tax.py", "--type", "bug_fix", "--json")
    done = machine.runtrue(
        *asked, "--agent", second.command, cwd=make_project(TAX, name="two-project")
    )
    assert done.code == 0, done.err
    assert without_ids(valid(record.to_dict())) == without_ids(valid(done.json["record"]))
    assert record.to_dict()["workflow_id"] != done.json["record"]["workflow_id"]
    assert [p.replace("two", "one") for p in second.prompts] == first.prompts


@pytest.mark.parametrize(
    ("path", "options"),
    [
        ("../tax.py", {}),
        ("tests", {}),
        ("", {}),
        ("tax.py", {"tests": ("../x.py",)}),
        ("tax.py", {"max_attempts": 11}),
        ("tax.py", {"max_attempts": 0}),
    ],
)
def test_python_refuses_what_the_command_line_refuses(
    home: Home, make_project: MakeProject, path: str, options: dict[str, Any]
) -> None:
    project = make_project(TAX)
    with pytest.raises(UsageError):
        run_code_loop("the rate is 19 %", path, project=project, home=home, **options)
    with pytest.raises(UsageError):
        run_code_loop("  ", "tax.py", project=project, home=home)


# -- at the end of other runs -------------------------------------------------------------------


def test_a_run_that_waits_and_is_then_cancelled_has_a_valid_record_both_times(
    machine: Machine, make_project: MakeProject, tmp_path: Path
) -> None:
    config = f"{PYTEST}\n[policy]\nmax_attempts = 1\n"
    project = make_project({**TAX, "runtrue.toml": config})
    agent = Agent(tmp_path / "agent", "true")
    asked = ("code", "the rate is 19 %", "--path", "tax.py", "--json", "--agent", agent.command)
    waiting = machine.runtrue(*asked, cwd=project)
    assert waiting.code == 3
    state = valid(waiting.json["record"])["loop_state"]
    assert (state["phase"], state["status"], state["attempt_number"]) == (
        *("escalated", "escalated"),
        1,
    )
    assert machine.runtrue("runs", "cancel").code == 0
    state = valid(machine.runtrue("runs", "show", "--json").json["record"])["loop_state"]
    assert (state["phase"], state["status"]) == ("aborted", "aborted")


def test_what_is_proven_and_could_not_be_applied_is_complete(
    machine: Machine, make_project: MakeProject, tmp_path: Path
) -> None:
    project = make_project(TAX)
    mine = f"sed -i s/1.9/1.19/ tax.py\necho '# mine' >> {project}/tax.py\n"
    agent = Agent(tmp_path / "agent", mine)
    asked = ("code", "the rate is 19 %", "--path", "tax.py", "--type", "bug_fix", "--apply")
    done = machine.runtrue(*asked, "--agent", agent.command, "--json", cwd=project)
    assert done.code == 1
    report = done.json
    state = valid(report["record"])["loop_state"]
    assert (state["phase"], state["status"]) == ("complete", "passed")
    assert (report["status"], report["applied"]) == ("passed", False)
    assert report["error"].endswith(report["patch"])


def test_a_gate_has_a_record_of_its_own_as_a_reviewer(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project(TAX)
    (project / "tax.py").write_text(MENDED["tax.py"])
    done = machine.runtrue("gate", "--json", "--type", "bug_fix", cwd=project)
    assert done.code == 0, done.err
    record = valid(done.json["record"])
    assert record["agent"]["type"] == "code_reviewer"
    assert record["code_artifact"]["code_type"] == "bug_fix"
    assert record["loop_state"]["status"] == "passed"


def test_tests_as_the_artifact_are_the_work_of_a_test_engineer(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project({**TAX, **MENDED})
    asked = ("code", "shorter tests", "--path", "tests/test_tax.py", "--type", "refactor", "--json")
    done = machine.runtrue(*asked, cwd=project)
    assert done.code == 0, done.err
    assert valid(done.json["record"])["agent"]["type"] == "test_engineer"
