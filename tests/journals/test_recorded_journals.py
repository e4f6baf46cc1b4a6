"""Runs that wait, recorded by released versions: they go on, or are refused in one sentence."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from runtrue.cli.runner import report_of_run
from runtrue.flow import Journal, RunRow, RunState, replay
from runtrue.flow.migrations import MIGRATIONS
from runtrue.home import Home
from runtrue.record_format import OLDEST_FORMAT, RECORD_FORMAT
from tests.journals.record import HERE, ITEMS, RUNS
from tests.journals.rows import write_rows
from tests.plan.driving import make_project
from tests.test_killed_loops import FILES, LOOPS, _go_on

FORMATS = sorted(int(file.stem.removeprefix("format-")) for file in HERE.glob("format-*.json"))
Make = Callable[[int], Home]


@pytest.fixture
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    """The journal of a version, with the projects that its runs are about."""
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:/usr/bin:/bin")
    monkeypatch.setenv("RUNTRUE_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)

    def make(version: int) -> Home:
        home = Home(tmp_path / "home")
        write_rows((HERE / f"format-{version}.json").read_text(), home.journal, tmp_path)
        for number in range(len(RUNS)):
            make_project(tmp_path / f"project-{number}", FILES)
        return home

    return make


def _runtrue(*words: str) -> tuple[int, str]:
    ended = subprocess.run(
        [sys.executable, "-m", "runtrue", *words],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )
    return ended.returncode, ended.stdout + ended.stderr


def test_there_is_a_journal_of_this_version() -> None:
    assert FORMATS[-1] == RECORD_FORMAT, "run python -m tests.journals.record"


@pytest.mark.parametrize("version", [n for n in FORMATS if n < RECORD_FORMAT])
def test_runs_of_earlier_versions_are_refused_in_one_sentence_and_lose_no_answer(
    version: int, recorded: Make
) -> None:
    home = recorded(version)
    with Journal(home.journal) as journal:
        runs = [run for run in journal.runs() if not _goes_on(version, run, journal)]
    # The first version called `fix` by another name.
    kinds = {1: {"code", "plan"}, 2: {"fix", "plan"}}
    assert {run.kind for run in runs} == kinds.get(version, {"plan"})
    for run in runs:
        commands = [["runs", "show", run.id], ["runs", "resume", run.id, "--answer", "yes"]]
        if run.kind == "plan":
            commands += [["plan", word, run.id] for word in ("status", "execute", "apply")]
        for command in commands:
            code, said = _runtrue(*command)
            assert code == 1, (command, said)
            assert re.search(
                rf"run {run.id} was recorded by another version of runtrue, which this one cannot "
                rf"continue: start it again with `[^`]*runtrue (plan new|fix|code) [^`]+`, and "
                rf"remove this one with "
                rf"`runtrue runs cancel {run.id}`\n$",
                said,
            ), said
        with Journal(home.journal) as journal:
            assert journal.find(run.id).state is RunState.WAITING
        assert _runtrue("runs", "cancel", run.id)[0] == 0
    assert _runtrue("runs", "list")[0] == 0


def _goes_on(version: int, run: RunRow, journal: Journal) -> bool:
    """True for what is the same in that version: all but plans that had begun."""
    is_plan_begun = run.kind == "plan" and len(journal.load(run.id)) > 1
    return version >= OLDEST_FORMAT and (version == RECORD_FORMAT or not is_plan_begun)


@pytest.mark.parametrize("version", [n for n in FORMATS if n >= OLDEST_FORMAT])
def test_every_recorded_step_is_read_again(version: int, recorded: Make) -> None:
    home = recorded(version)
    with Journal(home.journal) as journal:
        runs = list(reversed(journal.runs()))
        assert len(runs) == len(RUNS)
        for run, (loop, _) in zip(runs, RUNS.values(), strict=True):
            segment = LOOPS[loop].prepare(run, home)
            steps = journal.load(run.id)
            assert steps
            if not _goes_on(version, run, journal):
                continue
            asyncio.run(replay(segment.work, steps))
            question = journal.open_question(run.id)
            assert question is not None
            assert question.seq == len(steps)
            report = report_of_run(journal, home, run)
            assert report.status == ("waiting" if loop == "fix" else report.status)


def test_a_queued_plan_goes_on_to_its_end(recorded: Make, tmp_path: Path) -> None:
    home = recorded(RECORD_FORMAT)
    with Journal(home.journal) as journal:
        run = _go_on(journal, home, _queued(journal).id, LOOPS["plan"])
    assert (run.state, run.result and run.result["applied"]) == (RunState.PASSED, True)
    assert (Path(run.input["project"]) / "state.txt").read_text() == "yes\n"


@pytest.mark.parametrize("version", [n for n in FORMATS if OLDEST_FORMAT <= n < RECORD_FORMAT])
def test_a_queued_plan_of_an_earlier_version_goes_on_and_takes_a_correction(
    version: int, recorded: Make
) -> None:
    with Journal(recorded(version).journal) as journal:
        queued = _queued(journal)
    # Nothing said there that the command can be run on its own result: a person is asked.
    assert _runtrue("plan", "execute", queued.id)[0] == 3
    corrected = _runtrue(
        "plan", "correct", "--plan", queued.id, "s1", "--command", "echo yes >state.txt"
    )
    assert corrected[0] == 0, corrected
    assert _runtrue("plan", "apply", queued.id)[0] == 0
    assert (Path(queued.input["project"]) / "state.txt").read_text() == "yes\n"


def _queued(journal: Journal) -> RunRow:
    return next(run for run in journal.runs(kind="plan") if len(journal.load(run.id)) == 1)


@pytest.mark.parametrize("file", sorted(HERE.glob("parts-*.json")), ids=lambda file: file.stem)
@pytest.mark.parametrize("choice", ["--done", "--force"])
def test_a_batch_that_was_killed_goes_on_at_its_item(
    file: Path, choice: str, recorded: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RUNTRUE_ISOLATION_WRITE", str(tmp_path))
    write_rows(file.read_text(), tmp_path / "home" / "journal.db", tmp_path)
    code, said = _runtrue("runs", "resume")
    assert code == 1, said
    assert "write[2]" in said
    code, said = _runtrue(
        "runs", "resume", *(["--done", "write[2]"] if choice == "--done" else [choice])
    )
    assert code == 0, said
    first = 3 if choice == "--done" else 2
    assert {path.stem for path in tmp_path.glob("*.txt")} == set(ITEMS[first:])


def test_there_is_a_batch_of_this_version() -> None:
    assert (HERE / f"parts-{len(MIGRATIONS)}.json").exists(), "run python -m tests.journals.record"
