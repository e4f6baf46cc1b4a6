"""Plans as text: what is counted in a patch, and what can be done next."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from runtrue.cli.plan_text import last_verdicts, next_commands, not_applied, patch_stat
from runtrue.loop import Mode
from runtrue.plan import PlanAttempt, PlanReport, PlanState, PlanVerdict
from runtrue.plan.report import PlanDetails
from runtrue.plan.states import Phase


def test_the_lines_of_a_patch_are_counted_as_git_counts_them(tmp_path: Path) -> None:
    def git(*args: str) -> str:
        command = ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org", *args]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
        return done.stdout

    git("init", "-q")
    (tmp_path / "sql.txt").write_text("-- a comment\nselect 1\n@@ what\n")
    (tmp_path / "gone away.txt").write_text("one\ntwo")
    (tmp_path / "run.sh").write_text("true\n")
    git("add", "-A")
    git("commit", "-qm", "begin")
    (tmp_path / "sql.txt").write_text("select 2\n++ more\n@@ what\n")
    (tmp_path / "gone away.txt").unlink()
    (tmp_path / "new.txt").write_text("diff --git a/x b/x\n\n")
    (tmp_path / "data.bin").write_bytes(bytes(range(256)))
    (tmp_path / "run.sh").chmod(0o755)
    git("add", "-A")
    rows = [line.split("\t") for line in git("diff", "--cached", "--numstat").splitlines()]
    counted = [(name, int(plus), int(minus)) for plus, minus, name in rows if plus != "-"]
    stat = patch_stat(git("diff", "--cached", "--binary", "--no-renames"))
    assert sorted(stat) == sorted([*counted, ("data.bin", 0, 0)])
    assert patch_stat("") == []


def test_a_file_of_a_patch_has_its_own_name_however_git_writes_it() -> None:
    patch = 'diff --git "a/new\\nlin\u00e9\\377" "b/new\\nlin\u00e9\\377"\n'
    assert patch_stat(patch) == [("new\nlin\u00e9\ufffd", 0, 0)]


def test_that_a_plan_was_not_applied_is_said_once() -> None:
    assert not_applied("a.py changed") == "not applied: a.py changed"
    assert not_applied("not applied, and nothing is changed: x").count("not applied") == 1


def report(state: str, question: dict[str, Any] | None = None, **more: Any) -> PlanReport:
    usual: dict[str, Any] = {
        "phase": Phase.EXECUTE,
        "question": question,
        "applied": state == "applied",
        "plan": PlanDetails(id="abc"),
    }
    return PlanReport(status="", run_id="abc", state=PlanState(state), **{**usual, **more})


@pytest.mark.parametrize(
    ("told", "commands"),
    [
        (report("queued", {"begin": True}), ["execute abc"]),
        (report("complete", {"offer": True}), ["apply abc", "diff abc"]),
        (report("waiting", {"approve": "strategy"}), ["answer abc yes", "answer abc no"]),
        (
            report("waiting", {"why": "out_of_bounds"}, needed=("a b.py",)),
            ["answer abc \"GUIDANCE\" --allow 'a b.py'", "explain abc"],
        ),
        (report("processing"), ["execute abc"]),
        (report("processing", phase=Phase.APPLY), ["apply abc"]),
        (report("failed"), ["explain abc"]),
        (report("cancelled"), ["explain abc"]),
        (report("applied"), []),
    ],
)
def test_wherever_a_plan_stands_the_next_command_is_named(
    told: PlanReport, commands: list[str]
) -> None:
    assert next_commands(told) == [f"runtrue plan {command}" for command in commands]


def test_nobody_need_go_on_with_what_somebody_is_at_work_on() -> None:
    assert next_commands(report("processing"), is_driven=True) == []


def test_what_was_said_of_the_candidate_that_stands_prevails_over_what_was_tried_since() -> None:
    def attempt(candidate: str, passed: bool) -> PlanAttempt:
        verdict = PlanVerdict(validation="v", mode=Mode.REQUIRED, passed=passed)
        return PlanAttempt(
            step=None, number=1, candidate=candidate, passed=passed, verdicts=(verdict,)
        )

    attempts = (attempt("kept", False), attempt("tried", True))
    stands = report("complete", attempts=attempts, candidate="kept")
    assert last_verdicts(stands)["v"].passed is False
    elsewhere = report("complete", attempts=attempts, candidate="other")
    assert last_verdicts(elsewhere)["v"].passed is True
