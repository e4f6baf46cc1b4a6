"""`runtrue plan`, from the plan's file to what is applied, through the command line."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import Machine, MakeProject, write
from tests.cli.plans import FILES, HAS_TWO, NEEDS_A_FIX, NEEDS_MODEL, RATE_IS_RIGHT, Plans


@pytest.fixture
def plans(machine: Machine, make_project: MakeProject) -> Plans:
    return Plans.at(machine, make_project)


def test_a_required_validation_fails_and_is_fixed_validated_again_and_applied(
    plans: Plans,
) -> None:
    queued = plans.use(plans.file(plans.script(NEEDS_A_FIX), HAS_TWO))
    assert queued.code == 0, queued.said
    plan_id = queued.json["run_id"]
    assert (queued.json["state"], queued.json["phase"]) == ("queued", "execute")
    assert queued.json["next"] == [f"runtrue plan execute {plan_id}"]
    complete = plans.run("execute", "--json")
    assert complete.code == 0, complete.said
    assert complete.json["state"] == "complete"
    metadata = complete.json["plan"]["metadata"]
    assert metadata["validation_attempts"] == {"two": 1}
    (fix,) = metadata["validation_fix_history"]
    assert (fix["validation"], fix["result"], fix["fixer"]) == ("two", "passed", "command")
    assert "+two" in fix["diff"]
    assert plans.read("handler.py") == FILES["handler.py"]
    applied = plans.run("apply", "--json")
    assert applied.code == 0, applied.said
    assert applied.json["state"] == "applied"
    assert plans.read("handler.py") == "one\ntwo\n"
    assert applied.json["sandbox"] is None


def test_execute_goes_through_the_orchestrator_by_default(plans: Plans) -> None:
    plans.use(plans.file(plans.script(NEEDS_A_FIX), HAS_TWO))
    done = plans.run("execute")
    assert done.code == 0, done.said
    told = done.err.splitlines()
    assert "step s1: add the tax" in told
    assert "fix by command: changed handler.py" in told
    assert "fixed: every required validation passes" in told


def test_a_fix_that_needs_more_than_the_bounds_allow_has_the_strategy_revised(
    plans: Plans,
) -> None:
    path = plans.file(plans.script(NEEDS_MODEL), RATE_IS_RIGHT, automation_profile="trusted")
    complete = plans.use(path)
    assert complete.code == 0, complete.said
    report = complete.json
    assert report["state"] == "complete"
    assert report["plan"]["metadata"]["strategy_revisions"] == 1
    assert report["plan"]["strategies"][-1]["needed"] == ["model.py"]
    (step,) = report["plan"]["steps"]
    assert (step["paths"], step["state"]) == (["handler.py", "model.py"], "done")
    assert plans.run("apply").code == 0
    assert plans.read("model.py") == "RATE = 0.1\n"


def test_without_leave_to_revise_it_waits_for_a_person_and_goes_on_with_what_they_say(
    plans: Plans,
) -> None:
    plan_id = plans.use(plans.file(plans.script(NEEDS_MODEL), RATE_IS_RIGHT)).json["run_id"]
    waiting = plans.run("execute")
    assert waiting.code == 3, waiting.said
    assert "needed but not allowed: model.py" in waiting.out
    assert f'runtrue plan answer {plan_id} "GUIDANCE" --allow model.py' in waiting.out
    again = plans.run("execute", "--json")
    assert again.code == 3
    assert again.json["state"] == "waiting"
    complete = plans.run("answer", plan_id, "the rate is wrong", "--allow", "model.py", "--json")
    assert complete.code == 0, complete.said
    assert complete.json["state"] == "complete"
    assert complete.json["plan"]["guidance"] == ["the rate is wrong"]
    assert plans.run("apply").code == 0
    assert plans.read("model.py") == "RATE = 0.1\n"


def test_what_an_informational_validation_finds_is_recorded_and_starts_no_fix(
    plans: Plans,
) -> None:
    lint = {"name": "lint", "command": "exit 1", "mode": "informational"}
    path = plans.file("echo two > handler.py", HAS_TWO, lint, automation_profile="cautious")
    complete = plans.use(path)
    assert complete.code == 0, complete.said
    assert complete.json["state"] == "complete"
    assert complete.json["plan"]["metadata"]["validation_fix_history"] == []
    verdicts = plans.run("status", "--json").json["last_verdicts"]
    assert {name: verdict["passed"] for name, verdict in verdicts.items()} == {
        "two": True,
        "lint": False,
    }
    assert "lint: failed (informational)" in plans.run("status").out


def test_a_fix_that_breaks_another_validation_is_counted_and_not_accepted(plans: Plans) -> None:
    tries = plans.project.parent / "tries"
    breaks = f"""
        if ! grep -q one handler.py; then echo one > handler.py; exit; fi
        echo try >> {tries}; echo two $(wc -l < {tries}) > handler.py
    """
    keeps_one = {"name": "one", "command": "grep -qE 'one|tax' handler.py"}
    path = plans.file(
        plans.script(breaks), HAS_TWO, keeps_one, automation_profile="ci", validation_retry_limit=2
    )
    failed = plans.use(path)
    assert failed.code == 1, failed.said
    metadata = failed.json["plan"]["metadata"]
    assert metadata["validation_attempts"]["two"] == 2
    results = [fix["result"] for fix in metadata["validation_fix_history"]]
    assert results == ["broke_another", "broke_another"]
    verdicts = plans.run("status", "--json").json["last_verdicts"]
    assert (verdicts["one"]["passed"], verdicts["two"]["passed"]) == (True, False)
    assert plans.run("apply").code == 2
    assert plans.read("handler.py") == FILES["handler.py"]


def test_a_profile_that_does_everything_applies_at_once(plans: Plans) -> None:
    applied = plans.run(
        "use", plans.file("echo two > handler.py", HAS_TWO), "--profile", "full-auto"
    )
    assert applied.code == 0, applied.said
    assert "applied: handler.py" in applied.err
    assert plans.read("handler.py") == "two\n"


def test_an_edited_sandbox_is_not_applied_before_it_is_validated_again(plans: Plans) -> None:
    path = plans.file("echo two > handler.py", HAS_TWO, automation_profile="cautious")
    report = plans.use(path).json
    edited = Path(report["sandbox"], "handler.py")
    edited.write_text("two and three\n")
    refused = plans.run("apply")
    assert refused.code == 1
    assert "were changed after they were validated" in refused.err
    assert plans.read("handler.py") == FILES["handler.py"]
    assert plans.run("status", "--json").json["state"] == "complete"
    assert "+two and three" in plans.run("diff").out
    again = plans.run("execute", "--json")
    assert again.code == 0, again.said
    assert (again.json["state"], again.json["refused"]) == ("complete", None)
    assert plans.run("apply").code == 0
    assert plans.read("handler.py") == "two and three\n"


def test_a_sandbox_that_was_cleared_away_is_put_back_and_removes_nothing(plans: Plans) -> None:
    (plans.project / "notes.txt").write_text("mine\n")
    passes = {"name": "passes", "command": "true"}
    path = plans.file("echo two > handler.py", passes, automation_profile="cautious")
    sandbox = Path(plans.use(path).json["sandbox"])
    shutil.rmtree(sandbox)
    assert plans.run("status").code == 0
    assert plans.run("diff", "--stat").out == "handler.py  +1 -1\n"
    shutil.rmtree(sandbox)
    assert plans.run("execute", "--json").json["state"] == "complete"
    shutil.rmtree(sandbox)
    applied = plans.run("apply")
    assert applied.code == 0, applied.said
    assert "applied: handler.py\n" in applied.err
    assert (plans.read("handler.py"), plans.read("notes.txt")) == ("two\n", "mine\n")


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        ("rm model.py", "model.py, not allowed by the strategy"),
        ("touch new.py", "new.py, not allowed by the strategy"),
        ("seq 9 >> handler.py", "11 lines would be changed, and the strategy allows 4"),
    ],
)
def test_an_edit_of_a_complete_plan_beyond_its_bounds_is_not_applied_unasked(
    edit: str, said: str, plans: Plans
) -> None:
    path = plans.file("echo two > handler.py", HAS_TWO, automation_profile="cautious")
    plan = json.loads(path.read_text())
    plan["strategy"]["bounds"] |= {"deletes": False, "max_lines": 4}
    path.write_text(json.dumps(plan))
    report = plans.use(path).json
    subprocess.run(["sh", "-c", edit], cwd=report["sandbox"], check=True)
    asked = plans.run("execute")
    assert asked.code == 3, asked.said
    assert said in asked.out
    assert plans.run("apply").code == 2
    assert plans.run("cancel", report["run_id"]).code == 0
    assert {name: plans.read(name) for name in FILES} == FILES


def test_a_plan_whose_sandbox_is_lost_is_not_applied_and_can_be_cancelled(plans: Plans) -> None:
    path = plans.file("echo two > handler.py", HAS_TWO, automation_profile="cautious")
    report = plans.use(path).json
    shutil.rmtree(Path(report["sandbox"]).parent)
    refused = plans.run("apply", "--json")
    assert refused.code == 1
    assert "is gone or broken" in refused.json["refused"]
    assert refused.json["state"] == "complete"
    assert refused.json["next"] == [f"runtrue plan cancel {report['run_id']}"]
    assert plans.run("cancel", report["run_id"]).code == 0
    assert plans.read("handler.py") == FILES["handler.py"]


def test_a_file_whose_name_is_no_text_is_shown_and_applied_all_the_same(plans: Plans) -> None:
    strategy = {"steps": [{"description": "x", "command": "echo two > $(printf 'odd\\377')"}]}
    passes = {"name": "passes", "command": "true"}
    path = plans.file("", passes, strategy=strategy, automation_profile="cautious")
    complete = plans.use(path)
    assert complete.code == 0, complete.said
    assert plans.run("diff", "--json").json["files"][0]["added"] == 1
    assert plans.run("apply").code == 0
    assert (plans.project / "odd\udcff").exists()


def test_a_plan_of_another_version_is_told_of_and_hides_no_other(plans: Plans) -> None:
    old = plans.use(plans.file("echo two > handler.py", HAS_TWO)).json["run_id"]
    with sqlite3.connect(plans.machine.journal) as db:
        db.execute("UPDATE runs SET input = json_remove(input, '$.validation_retry_limit')")
    db.close()
    new = plans.use(plans.file("echo two > handler.py", HAS_TWO)).json["run_id"]
    listed = plans.run("list", "--json").json["plans"]
    assert [row["plan_id"] for row in listed] == [new, old]
    told = plans.run("status", old)
    assert (told.code, "another version of runtrue" in told.err) == (1, True)


def test_what_git_ignores_of_what_a_step_was_to_write_is_said_not_to_be_kept(
    plans: Plans,
) -> None:
    (plans.project / ".gitignore").write_text("build/\n*.log\n")
    command = "mkdir build; echo x > build/out.txt; echo x > other.log"
    step = {"description": "x", "command": command}
    strategy = {"steps": [step], "bounds": {"paths": ["build/**"]}}
    passes = {"name": "passes", "command": "true"}
    path = plans.file("", passes, strategy=strategy, automation_profile="cautious")
    done = plans.run("new", path)
    assert done.code == 0, done.said
    told = "changed nothing; git ignores build/out.txt, other.log, so it is not kept"
    assert told in done.err


def test_what_somebody_broke_in_the_sandbox_of_a_complete_plan_is_found(plans: Plans) -> None:
    path = plans.file("echo two > handler.py", HAS_TWO, automation_profile="cautious")
    Path(plans.use(path).json["sandbox"], "handler.py").write_text("three\n")
    again = plans.run("execute", "--json")
    assert again.code != 1
    states = [attempt["passed"] for attempt in again.json["attempts"]]
    assert states[:2] == [True, False]


def test_a_complete_plan_that_nobody_edited_has_nothing_to_execute(plans: Plans) -> None:
    path = plans.file("echo two > handler.py", HAS_TWO, automation_profile="cautious")
    before = plans.use(path).json
    done = plans.run("execute", "--json")
    assert done.code == 0
    assert len(done.json["attempts"]) == len(before["attempts"])


def test_a_conflict_with_the_users_files_is_refused_and_the_plan_stays_complete(
    plans: Plans,
) -> None:
    path = plans.file("echo two > handler.py", HAS_TWO, automation_profile="cautious")
    plans.use(path)
    (plans.project / "handler.py").write_text("mine\n")
    refused = plans.run("apply", "--json")
    assert refused.code == 1
    assert "handler.py changed in" in refused.err
    assert refused.json["state"] == "complete"
    why = refused.json["refused"]
    assert "handler.py changed in" in why
    assert f"merge the patch {refused.json['patch']} by hand" in why
    assert why.index("handler.py (yours)") < why.index("mine") < why.index("two")
    assert plans.read("handler.py") == "mine\n"
    (plans.project / "handler.py").write_text(FILES["handler.py"])
    assert plans.run("apply").code == 0
    assert plans.read("handler.py") == "two\n"


def test_what_may_not_leave_the_sandbox_is_refused_and_no_patch_of_it_is_there(
    plans: Plans,
) -> None:
    command = "ln -s /etc/passwd users.txt; echo two > handler.py"
    strategy = {"steps": [{"description": "x", "actor": "command", "command": command}]}
    path = plans.file("", HAS_TWO, automation_profile="cautious", strategy=strategy)
    complete = plans.use(path)
    assert complete.code == 0, complete.said
    assert complete.json["patch"] is None
    refused = plans.run("apply")
    assert refused.code == 1
    assert "users.txt" in refused.err
    assert not (plans.project / "users.txt").is_symlink()
    assert plans.read("handler.py") == FILES["handler.py"]


def test_no_step_bends_what_pytest_is_configured_to_take_for_tests(plans: Plans) -> None:
    write(plans.project, {"pytest.ini": "[pytest]\npython_files = check_*.py\n"})
    write(plans.project, {"check_tax.py": "def test_tax():\n    assert False\n"})
    command = "echo 'def test_tax(): pass' > check_tax.py; echo two > handler.py"
    strategy = {"steps": [{"description": "x", "actor": "command", "command": command}]}
    tests = {"name": "tests", "command": "python -m pytest"}
    path = plans.file("", tests, automation_profile="full-auto", strategy=strategy)
    done = plans.use(path)
    assert done.code == 3, done.said
    assert done.json["plan"]["steps"][0]["state"] != "done"
    assert "assert False" in plans.read("check_tax.py")


def test_with_other_changes_of_the_users_it_is_validated_again_before_it_is_applied(
    plans: Plans,
) -> None:
    rate = {"name": "rate", "command": "grep -q RATE model.py"}
    path = plans.file("echo two > handler.py", HAS_TWO, rate, automation_profile="cautious")
    plans.use(path)
    (plans.project / "model.py").write_text("nothing\n")
    stopped = plans.run("apply", "--json")
    assert stopped.code == 1, stopped.said
    assert "you changed model.py in the meantime: validating both together" in stopped.err
    assert stopped.json["state"] == "complete"
    assert stopped.json["refused"].endswith(
        "rate fails together with what you changed in the meantime, and without the plan as well"
    )
    assert plans.read("handler.py") == FILES["handler.py"]
    (plans.project / "model.py").write_text(FILES["model.py"])
    assert plans.run("apply").code == 0
    (plans.project / "handler.py").write_text(FILES["handler.py"])
    plans.use(path)
    (plans.project / "model.py").write_text("RATE = 0.2\n")
    (plans.project / "new.py").write_text("mine\n")
    applied = plans.run("apply")
    assert applied.code == 0, applied.said
    assert "applied: handler.py\n" in applied.err
    assert (plans.read("handler.py"), plans.read("model.py")) == ("two\n", "RATE = 0.2\n")
    assert plans.read("new.py") == "mine\n"


def test_what_you_changed_in_the_same_file_meanwhile_is_merged_and_validated(plans: Plans) -> None:
    lines = [b"tax = 0\r\n", *(b"# line\xe9\r\n" for _ in range(8)), b"end = 1\r\n"]
    handler = plans.project / "handler.py"
    handler.write_bytes(b"".join(lines))
    step = plans.script("sed -i 's/tax = 0/two = 2/' handler.py")
    plans.use(plans.file(step, HAS_TWO, automation_profile="cautious"))
    handler.write_bytes(b"".join([*lines[:-1], b"end = 2\r\n"]))
    handler.chmod(0o755)
    applied = plans.run("apply", "--json")
    assert applied.code == 0, applied.said
    assert handler.read_bytes() == b"".join([b"two = 2\r\n", *lines[1:-1], b"end = 2\r\n"])
    assert handler.stat().st_mode & 0o111


def test_a_new_test_that_you_are_still_writing_is_no_part_of_the_verdict(plans: Plans) -> None:
    only = {"name": "alone", "command": "test ! -e draft.py"}
    plans.use(plans.file("echo two > handler.py", HAS_TWO, only, automation_profile="cautious"))
    (plans.project / "draft.py").write_text("def test_\n")
    (plans.project / "model.py").write_text("RATE = 0.2\n")
    applied = plans.run("apply")
    assert applied.code == 0, applied.said
    assert plans.read("draft.py") == "def test_\n"
    assert plans.read("model.py") == "RATE = 0.2\n"


HALF = "\n\ndef test_more():\n    assert more(\n"
IS_ONE = """
from handler import tax


def test_tax():
    assert tax == 1
"""
PYTEST = {"name": "tests", "command": "python -m pytest -q -p no:cacheprovider"}


def commit(plans: Plans) -> None:
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    for args in (["add", "-A"], [*identity, "commit", "-qm", "more"]):
        subprocess.run(["git", *args], cwd=plans.project, check=True)


def complete_plan(plans: Plans) -> Path:
    """A complete plan that makes a test pass, and the file of that test."""
    test = plans.project / "test_tax.py"
    test.write_text(IS_ONE)
    (plans.project / "test_other.py").write_text("def test_other():\n    pass\n")
    commit(plans)
    path = plans.file("sed -i s/0/1/ handler.py", PYTEST, automation_profile="cautious")
    done = plans.use(path)
    assert done.json["state"] == "complete", done.said
    return test


def test_a_tracked_test_that_you_are_still_writing_does_not_keep_a_plan_from_being_applied(
    plans: Plans,
) -> None:
    test = complete_plan(plans)
    test.write_text(IS_ONE + HALF)
    applied = plans.run("apply", "--json")
    assert applied.code == 0, applied.said
    assert "tests: failed without the plan as well" in applied.err
    assert plans.read("handler.py") == "tax = 1\n"
    assert plans.read("test_tax.py") == IS_ONE + HALF


def test_a_test_that_passed_with_the_plan_still_has_to_pass_together_with_your_changes(
    plans: Plans,
) -> None:
    complete_plan(plans)
    # The test fails with these alone and together; the plan was to make it pass.
    (plans.project / "conftest.py").write_text("import handler\nhandler.tax = 5\n")
    commit(plans)
    refused = plans.run("apply", "--json")
    assert refused.code == 1, refused.said
    assert "tests fails together with what you changed" in refused.json["refused"]
    assert plans.read("handler.py") == FILES["handler.py"]


def test_a_test_of_yours_that_only_fails_with_the_plan_keeps_it_from_being_applied(
    plans: Plans,
) -> None:
    test = complete_plan(plans)
    test.write_text(IS_ONE.replace("== 1", "== 0"))
    refused = plans.run("apply", "--json")
    assert refused.code == 1, refused.said
    assert plans.read("handler.py") == FILES["handler.py"]
    assert not refused.json["refused"].endswith("as well")


def test_the_patch_is_such_that_git_applies_it(plans: Plans) -> None:
    path = plans.file("echo two > handler.py", HAS_TWO, automation_profile="cautious")
    plans.use(path)
    patch = plans.run("diff").out
    subprocess.run(["git", "apply"], cwd=plans.project, input=patch, text=True, check=True)
    assert plans.read("handler.py") == "two\n"
    assert plans.run("diff", "--stat").out == "handler.py  +1 -1\n"
    assert plans.run("diff", "--json").json["files"] == [
        {"file": "handler.py", "added": 1, "removed": 1}
    ]


def test_a_plan_is_shown_as_a_tree_with_states_actors_and_bounds(plans: Plans) -> None:
    steps = [
        {"id": "first", "description": "do both", "steps": [
            {"description": "write", "actor": "command", "command": "echo two > handler.py"},
            {"description": "stay", "actor": "command", "command": "true",
             "bounds": {"paths": ["model.py"], "max_files": 1, "deletes": False}},
        ]},
    ]  # fmt: skip
    path = plans.file("true", HAS_TWO, strategy={"steps": steps}, automation_profile="cautious")
    assert plans.use(path).code == 0
    tree = plans.run("tree").out.splitlines()
    assert tree[1:] == [
        "  ✓ first do both",
        "    ✓ first.1 write (command: echo two > handler.py)",
        "    ✓ first.2 stay (command: true; only model.py; at most 1 file; no deletions)",
    ]
    document = plans.run("tree", "--json").json
    assert [step["state"] for step in document["steps"]] == ["done", "done", "done"]


def test_explain_tells_what_was_found_tried_asked_and_said(plans: Plans) -> None:
    plan_id = plans.use(plans.file(plans.script(NEEDS_MODEL), RATE_IS_RIGHT)).json["run_id"]
    plans.run("execute")
    plans.run("answer", plan_id, "the rate is wrong", "--allow", "model.py")
    said = plans.run("explain").out
    for line in (
        "instruction: Totals must include tax",
        "step s1 by command: changed handler.py",
        "  rate: failed",
        "    data: ",
        "  diagnosis: ",
        "fix for rate by command: out of bounds (model.py)",
        "step s1 revised by bounds, as a person asked",
        "  needed: model.py",
        "asked (guidance): the rate is wrong (allowed: model.py)",
        f"  next: runtrue plan apply {plan_id}",
    ):
        assert line in said
    document = plans.run("explain", "--json").json
    assert [question["wanted"] for question in document["questions"]] == [
        "begin",
        "guidance",
        "apply",
    ]


def test_plans_are_listed_with_their_states_those_of_this_project_unless_told(
    plans: Plans, make_project: MakeProject
) -> None:
    first = plans.use(plans.file("echo two > handler.py", HAS_TWO)).json["run_id"]
    second = plans.use(plans.file("true", HAS_TWO), "--profile", "ci").json["run_id"]
    rows = plans.run("list", "--json").json["plans"]
    assert [(row["plan_id"], row["state"]) for row in rows] == [
        (second, "failed"),
        (first, "queued"),
    ]
    queued = plans.run("list", "--state", "queued").out
    assert first in queued
    assert second not in queued
    elsewhere = make_project({"other.txt": "x\n"}, name="elsewhere")
    here = plans.machine.runtrue("plan", "list", cwd=elsewhere)
    assert first not in here.out
    assert first in plans.machine.runtrue("plan", "list", "--all", cwd=elsewhere).out
    # The newest that can go on is meant, though another one is newer.
    assert plans.run("execute", "--json").json["run_id"] == first


def test_what_fails_only_at_the_end_is_given_to_the_command_that_was_run_last(
    plans: Plans,
) -> None:
    late = {**HAS_TWO, "watches": ["docs/**"]}
    path = plans.file(plans.script(NEEDS_A_FIX), late, automation_profile="cautious")
    done = plans.use(path)
    assert done.code == 0, done.said
    (fix,) = done.json["plan"]["metadata"]["validation_fix_history"]
    assert (fix["step"], fix["fixer"], fix["result"]) == (None, "command", "passed")


def test_what_mended_a_complete_plan_is_remembered(plans: Plans) -> None:
    plans.use(plans.file(plans.script(NEEDS_A_FIX), HAS_TWO))
    assert plans.run("execute").code == 0
    (fix,) = plans.machine.runtrue("memory", "list", "--json").json["fixes"]
    assert fix["fixer"] == "command"
