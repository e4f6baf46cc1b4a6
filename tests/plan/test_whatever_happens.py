"""Whole plans, whatever their steps do and people say: only what has passed is applied.

The flow that `runtrue plan` drives, in real sandboxes. Many more cases of the loop alone, and that
its limits hold, are in test_orchestrator.py.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from runtrue.flow import Journal, RunRow, RunState
from runtrue.home import Home
from tests.plan.driving import Driven, make_project

FILES = {"a.txt": "no\n", "b.txt": "yes\n", "test_it.sh": "grep -q yes a.txt\n"}
#: What a step, or the same step as a fixer, does. `$$` makes that another content each time.
DEEDS = {
    "mends": "echo yes > a.txt",
    "is in vain": "echo no $$ > a.txt",
    "breaks something else": "echo yes > a.txt; echo no > b.txt",
    "goes beyond the bounds": "echo yes | tee a.txt other.txt",
    "deletes": "echo yes > a.txt; rm b.txt",
    "deletes what nothing watches": "echo yes > a.txt; rm -f extra.txt",
    "bends the judge": "echo true > test_it.sh",
    "does nothing": ":",
    "fails": "echo yes > a.txt; exit 3",
}
#: What people answer, and what they do to the sandbox or to their own files before that.
ANSWERS = ["yes", "no", "done", "go on", {"text": "go on", "allow": ["other.txt"]}]
MEANWHILE: dict[str, Callable[[Driven], object]] = {
    "nothing": lambda one: None,
    "edits another file": lambda one: (one.project / "extra.txt").write_text("mine\n"),
    "breaks what is validated": lambda one: (one.project / "b.txt").write_text("no\n"),
    "edits the same file": lambda one: (one.project / "a.txt").write_text("mine\n"),
    "edits the sandbox": lambda one: (one.sandbox / "a.txt").write_text("no, mine\n"),
}
deeds = st.sampled_from(sorted(DEEDS))


@st.composite
def plans(draw: st.DrawFn) -> str:
    """A plan file of one or two steps."""
    steps = draw(st.lists(st.tuples(deeds, deeds), min_size=1, max_size=2))
    listed = "\n".join(_step(n, *each) for n, each in enumerate(steps))
    bounds = draw(st.sampled_from(["{}", "{paths: [a.txt, b.txt, extra.txt]}", "{max_files: 1}"]))
    profile = draw(st.sampled_from(["manual", "cautious", "trusted", "auto", "full-auto"]))
    return f"""
instruction: say yes
automation_profile: {{base: {profile}, validation_retry_limit: 2}}
sandbox: {draw(st.sampled_from(["worktree", "copy"]))}
strategy:
  bounds: {bounds}
  steps:
{listed}
validations:
  - {{name: a, command: "sh test_it.sh"}}
  - {{name: b, command: "grep -q yes b.txt"}}
  - {{name: style, mode: informational, command: "grep -q beautiful a.txt"}}
"""


def _step(number: int, first: str, later: str) -> str:
    told = 'test -n "$RUNTRUE_FINDINGS" && test "$RUNTRUE_FINDINGS" != "[]"'
    return (
        f"    - id: s{number}\n      description: it\n      actor: command\n"
        f"      command: |-\n        if {told}; then {DEEDS[later]}; else {DEEDS[first]}; fi"
    )


def content(directory: Path) -> dict[str, str]:
    """The files of a project."""
    files = (file for file in directory.iterdir() if file.is_file())
    return {file.name: file.read_text() for file in files if file.name != ".git"}


def live(one: Driven, run: RunRow, answers: list[Any], meanwhile: str) -> tuple[RunRow, Any]:
    """Answer what is asked, as long as there are answers; the last state, and the user's files."""
    answers, users = list(answers), content(one.project)
    offers = 0
    while run.state is RunState.WAITING:
        asked = one.asked
        if asked.get("begin"):
            run = one.say("go")
        elif asked.get("offer"):
            if not offers:
                MEANWHILE[meanwhile](one)
                users = content(one.project)
            offers += 1
            if offers > 2:
                break
            run = one.say("apply")
        elif answers:
            run = one.say(answers.pop(0))
        else:
            break
    return run, users


@settings(max_examples=10, deadline=None)
@given(
    plan=plans(),
    answers=st.lists(st.sampled_from(ANSWERS), max_size=3),
    meanwhile=st.sampled_from(sorted(MEANWHILE)),
)
def test_a_plan_ends_or_waits_and_nothing_is_applied_that_has_not_passed(
    plan: str, answers: list[Any], meanwhile: str
) -> None:
    with TemporaryDirectory() as directory:
        home = Home(Path(directory, "home"))
        with Journal(home.path / "journal.db") as journal:
            project = Path(directory, "project")
            one = Driven(make_project(project, {**FILES, "extra.txt": ""}), home, journal)
            run, users = live(one, one.use(plan), answers, meanwhile)
            now = content(project)
        assert run.is_over or run.state is RunState.WAITING
        state = run.result["state"] if run.result else "waiting"
        if state != "applied":
            assert now == users
            return
        assert now["a.txt"].startswith("yes")
        assert now["b.txt"] == "yes\n"
        assert now["test_it.sh"] == FILES["test_it.sh"]
        approved = any(answer != "no" for answer in answers)
        assert "other.txt" not in now or "bounds: {}" in plan or approved
