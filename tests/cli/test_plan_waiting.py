"""Plans that wait, are cut short, cancelled or asked for what cannot be, on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Machine, MakeProject
from tests.cli.plans import FILES, HAS_TWO, NEEDS_MODEL, RATE_IS_RIGHT, Plans


@pytest.fixture
def plans(machine: Machine, make_project: MakeProject) -> Plans:
    return Plans.at(machine, make_project)


@pytest.fixture
def waiting(plans: Plans) -> str:
    """The id of a plan that waits for guidance."""
    path = plans.file(plans.script(NEEDS_MODEL), RATE_IS_RIGHT, automation_profile="cautious")
    done = plans.use(path)
    assert done.code == 3, done.said
    plan_id: str = done.json["run_id"]
    return plan_id


@pytest.mark.parametrize("command", [("plan", "list"), ("runs", "show")])
def test_a_plan_that_nobody_answers_in_time_has_failed_and_keeps_its_sandbox(
    command: tuple[str, str], plans: Plans, waiting: str
) -> None:
    plans.forget_for(days=6.9)
    assert plans.run("status", "--json").json["state"] == "waiting"
    plans.forget_for(days=0.2)
    looked = plans.machine.runtrue(*command, cwd=plans.project)
    assert looked.code == 0, looked.said
    assert "failed" in looked.out
    report = plans.run("status", waiting, "--json").json
    assert (report["status"], report["state"], report["why"]) == ("failed", "failed", "unanswered")
    assert f"sandbox: {report['sandbox']}" in plans.run("status", waiting).out
    kept = Path(report["sandbox"], "handler.py")
    assert kept.read_text() == "from model import RATE\n"
    assert plans.read("handler.py") == FILES["handler.py"]
    late = plans.run("answer", waiting, "hello")
    assert late.code == 2
    assert "has ended (failed)" in late.err


def test_a_list_of_runs_ends_what_nobody_has_answered(plans: Plans, waiting: str) -> None:
    plans.forget_for(days=8)
    assert f"{waiting}  failed" in plans.machine.runtrue("runs", "list").out
    rows = plans.machine.runtrue("runs", "list", "--state", "waiting", "--json").json
    assert rows == {"runs": []}


def test_where_nobody_is_there_to_be_asked_it_fails_at_once_and_tells_where_its_work_is(
    plans: Plans,
) -> None:
    path = plans.file("true", HAS_TWO)
    failed = plans.run("new", path, "--profile", "ci")
    assert failed.code == 1, failed.said
    assert "failed (execute)" in failed.out
    sandbox = plans.run("status", "--json").json["sandbox"]
    assert f"sandbox: {sandbox}" in failed.out
    assert Path(sandbox, "handler.py").read_text() == FILES["handler.py"]


def test_a_plan_that_is_not_begun_waits_for_ever(plans: Plans) -> None:
    plans.use(plans.file("echo two > handler.py", HAS_TWO))
    plans.forget_for(days=400)
    assert plans.run("status", "--json").json["state"] == "queued"
    assert plans.run("execute").code == 0
    plans.forget_for(days=400)
    assert plans.run("status", "--json").json["state"] == "complete"


def test_guidance_can_be_recorded_first_and_followed_later(plans: Plans, waiting: str) -> None:
    noted = plans.run("answer", waiting, "go on", "--allow", "model.py", "--no-execute", "--json")
    assert noted.code == 0, noted.said
    assert noted.json["next"] == [f"runtrue plan execute {waiting}"]
    assert plans.run("execute", "--json").json["state"] == "complete"


def test_guidance_opens_a_fresh_budget_and_the_total_is_kept(plans: Plans, waiting: str) -> None:
    before = plans.run("status", "--json").json["plan"]
    assert before["budget"]["fixes"] == {"rate": 1}
    after = plans.run("answer", waiting, "go on", "--allow", "model.py", "--json").json["plan"]
    assert after["budget"]["fixes"] == {}
    assert after["metadata"]["validation_attempts"] == {"rate": 1}


def test_a_person_can_mend_the_sandbox_themselves(plans: Plans, waiting: str) -> None:
    sandbox = plans.run("status", "--json").json["sandbox"]
    Path(sandbox, "model.py").write_text("RATE = 0.1\n")
    done = plans.run("answer", waiting, "I set the rate", "--allow", "model.py", "--json")
    assert done.code == 0, done.said
    assert done.json["state"] == "complete"


def test_what_a_person_edits_beyond_the_bounds_is_asked_about_before_it_is_complete(
    plans: Plans, waiting: str
) -> None:
    sandbox = Path(plans.run("status", "--json").json["sandbox"])
    (sandbox / "model.py").write_text("RATE = 0.1\n")
    (sandbox / ".model.py.swp").write_text("left over\n")
    asked = plans.run("answer", waiting, "I set the rate")
    assert asked.code == 3, asked.said
    assert "is this edit of the sandbox allowed? .model.py.swp, model.py, not allowed" in asked.out
    refused = plans.run("answer", waiting, "yes", "--allow", "model.py")
    assert (refused.code, "say `yes`" in refused.err) == (2, True)
    assert plans.run("apply").code == 2
    (sandbox / ".model.py.swp").unlink()
    again = plans.run("answer", waiting, "removed that", "--json")
    assert again.code == 3, again.said
    assert (again.json["state"], again.json["why"]) == ("waiting", "edited")
    assert again.json["question"]["outside"] == ["model.py"]
    assert plans.run("answer", waiting, "yes", "--json").json["state"] == "complete"
    assert plans.run("apply").code == 0
    assert plans.read("model.py") == "RATE = 0.1\n"
    assert not (plans.project / ".model.py.swp").exists()


def test_runs_resume_answers_like_plan_prompt(plans: Plans, waiting: str) -> None:
    unsaid = plans.machine.runtrue("runs", "resume", waiting)
    assert unsaid.code == 2
    assert f"runtrue plan answer {waiting}" in unsaid.err
    said = "yes"
    done = plans.machine.runtrue("runs", "resume", waiting, "--answer", said, "--json")
    assert done.code == 0, done.said
    assert done.json["state"] == "complete"
    late = plans.machine.runtrue("runs", "resume", waiting, "--answer", "more")
    assert late.code == 2
    assert f"runtrue plan apply {waiting}" in late.err


def test_runs_resume_executes_what_is_queued(plans: Plans) -> None:
    plans.use(plans.file("echo two > handler.py", HAS_TWO))
    done = plans.machine.runtrue("runs", "resume", "--json")
    assert done.code == 0, done.said
    assert done.json["state"] == "complete"


def test_a_made_strategy_is_approved_by_yes_and_made_again_with_anything_else(
    plans: Plans,
) -> None:
    agent = plans.script(
        """
        cat > prompt.txt
        file=$(grep -o '/[^ `]*strategy\\.yaml' prompt.txt | head -1)
        if [ -n "$file" ]; then
            what="write two"; grep -q 'differently' prompt.txt && what="write it differently"
            printf 'steps:\\n- {description: "%s", actor: agent}\\n' "$what" > "$file"
        else echo two > handler.py; fi
        rm prompt.txt
        """,
        name="agent.sh",
    )
    (plans.project / "runtrue.toml").write_text(f'[checks.two]\ncommand = "{HAS_TWO["command"]}"\n')
    asked = plans.run("new", "Write two", "--profile", "review", "--agent", agent)
    assert asked.code == 3, asked.said
    assert "question: is this strategy right?" in asked.out
    assert "write two (agent)" in asked.out
    plan_id = asked.out.split()[1].rstrip(":")
    refused = plans.run("answer", plan_id, "x", "--allow", "model.py")
    assert refused.code == 2
    assert "--allow" in refused.err
    other = plans.run("answer", plan_id, "do it differently")
    assert other.code == 3, other.said
    assert "write it differently" in other.out
    queued = plans.run("answer", plan_id, "yes")
    assert queued.code == 0, queued.said
    assert "queued" in queued.out
    assert plans.run("execute").code == 0


def test_counters_are_as_they_were_after_a_kill_in_the_middle_of_a_fix(plans: Plans) -> None:
    command = plans.held()
    plan_id = plans.use(plans.file(command, HAS_TWO)).json["run_id"]
    driver = plans.start("execute", plan_id)
    plans.wait_for_the_fix()
    driven = plans.run("status", "--json").json
    assert (driven["state"], driven["driven"], driven["next"]) == ("processing", True, [])
    assert driven["plan"]["budget"]["fixes"] == {"two": 1}
    second = plans.run("execute", plan_id)
    assert second.code == 1
    assert f"is already running in process {driver.pid}" in second.err
    assert plans.run("diff").out.count("+one") == 1
    driver.kill()
    driver.communicate()
    cut = plans.run("status", "--json").json
    assert (cut["state"], cut["driven"]) == ("processing", False)
    assert cut["plan"]["budget"] == driven["plan"]["budget"]
    assert cut["next"] == [f"runtrue plan execute {plan_id}"]
    done = plans.run("execute", "--json")
    assert done.code == 0, done.said
    metadata = done.json["plan"]["metadata"]
    assert metadata["validation_attempts"] == {"two": 2}
    assert [fix["result"] for fix in metadata["validation_fix_history"]] == ["failed", "passed"]


def test_cancelling_stops_the_driver_and_keeps_the_sandbox(plans: Plans) -> None:
    command = plans.held()
    plan_id = plans.use(plans.file(command, HAS_TWO)).json["run_id"]
    driver = plans.start("execute", plan_id)
    plans.wait_for_the_fix()
    cancelled = plans.run("cancel", plan_id)
    assert cancelled.code == 0, cancelled.said
    driver.communicate(timeout=60)
    assert driver.returncode == 1
    report = plans.run("status", plan_id, "--json").json
    assert (report["state"], report["status"]) == ("cancelled", "cancelled")
    assert f"sandbox: {report['sandbox']}" in cancelled.out
    assert Path(report["sandbox"], "handler.py").read_text() == "one\n"
    again = plans.run("cancel", plan_id)
    assert again.code == 2
    assert "over (cancelled)" in again.err
    assert plans.machine.runtrue("runs", "show", plan_id).code == 0


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("new", "none.yaml"), "none.yaml"),
        (("new", "  "), "the instruction is empty"),
        (("new", "do it", "--path", "nowhere"), "nowhere does not exist"),
        (("new", "do it"), "nothing can write a strategy"),
        (("new", "do it", "--agent", "true", "--profile", "bold"), "bold"),
        (("status",), "there are no plans yet"),
        (("cancel", "abc"), "there are no plans yet"),
    ],
)
def test_bad_input_gets_one_clear_sentence(args: tuple[str, ...], said: str, plans: Plans) -> None:
    done = plans.run(*args)
    assert done.code == 2
    (sentence,) = done.err.splitlines()
    assert said in sentence


def test_what_cannot_be_done_to_a_plan_where_it_stands_is_refused(
    plans: Plans, waiting: str
) -> None:
    def refusal(*args: str) -> str:
        done = plans.run(*args)
        assert done.code == 2
        (sentence,) = done.err.splitlines()
        return sentence

    assert "the guidance is empty" in refusal("answer", waiting, "  ")
    assert "'../x'" in refusal("answer", waiting, "x", "--allow", "../x")
    assert "is not complete" in refusal("apply", waiting)
    assert "still to do: step s1" in refusal("apply", waiting)
    queued = plans.use(plans.file("true", HAS_TWO)).json["run_id"]
    assert f"runtrue plan execute {queued}" in refusal("answer", queued, "x")
    plans.run("cancel", queued)
    assert "over (cancelled)" in refusal("execute", queued)
    fix = plans.machine.runtrue("fix", "--check", "true", "--json", cwd=plans.project).json
    assert "is a fix run, not a plan" in refusal("status", fix["run_id"])


def test_a_plan_that_asked_for_what_its_machine_cannot_do_says_so_and_waits(plans: Plans) -> None:
    step = {"description": "search", "actor": "search"}
    path = plans.file("true", HAS_TWO, strategy={"steps": [step]}, automation_profile="cautious")
    done = plans.run("new", path)
    assert done.code == 3, done.said
    assert "a step cannot be done as planned" in done.out
    assert "it is given no time ([fixers.search] seconds" in done.out


def test_a_revision_that_needs_approval_waits_for_it_and_nothing_is_used_up_by_a_yes(
    plans: Plans,
) -> None:
    profile = {"base": "trusted", "auto_strategize": False}
    path = plans.file(plans.script(NEEDS_MODEL), RATE_IS_RIGHT, automation_profile=profile)
    asked = plans.run("new", path)
    assert asked.code == 3, asked.said
    assert "question: may this replace step s1?" in asked.out
    assert "only handler.py, model.py)" in asked.out
    plan_id = asked.out.split()[1].rstrip(":")
    done = plans.run("answer", plan_id, "yes", "--json")
    assert done.code == 0, done.said
    assert done.json["plan"]["budget"]["fixes"] == {"rate": 1}


def test_without_a_sandbox_a_fix_in_vain_is_gone_on_with_and_the_plan_waits(plans: Plans) -> None:
    script = """
        if [ -z "$RUNTRUE_FINDINGS" ] || [ "$RUNTRUE_FINDINGS" = "[]" ]; then
            echo one > handler.py
        else echo more >> handler.py; fi
    """
    profile = {"base": "full-auto", "auto_strategy_revision": False, "answer_within": 99}
    path = plans.file(plans.script(script), HAS_TWO, automation_profile=profile, sandbox="none")
    waiting = plans.run("new", path)
    assert waiting.code == 3, waiting.said
    assert f"no sandbox: it works on {plans.project}" in waiting.out
    plan_id = waiting.out.split()[1].rstrip(":")
    (plans.project / "handler.py").write_text("two\n")
    done = plans.run("answer", plan_id, "I wrote it myself")
    assert done.code == 0, done.said
    assert plans.read("handler.py") == "two\n"


def test_without_a_sandbox_it_is_said_that_the_files_are_changed_already(plans: Plans) -> None:
    profile = {"base": "cautious", "require_sandbox": False}
    path = plans.file("echo two > handler.py", HAS_TWO, automation_profile=profile, sandbox="none")
    complete = plans.run("new", path)
    assert complete.code == 0, complete.said
    assert "your files already have the changes" in complete.out
    plan_id = complete.out.split()[1].rstrip(":")
    assert "your files stay as they are" in plans.run("cancel", plan_id).out


def test_without_a_sandbox_what_cannot_be_rolled_back_is_an_error_that_says_so(
    plans: Plans,
) -> None:
    command = plans.script(NEEDS_MODEL)
    path = plans.file(command, RATE_IS_RIGHT, automation_profile="full-auto", sandbox="none")
    done = plans.run("new", path)
    assert done.code == 1
    assert "there is no sandbox to roll back in" in done.err
    assert "model.py" in done.err
    assert "stopped by: SandboxError" in plans.run("status").out
    # As the error says: put right by hand, it goes on, here to the same end.
    (plans.project / "model.py").write_text(FILES["model.py"])
    again = plans.run("execute")
    assert again.code == 1
    assert "there is no sandbox to roll back in" in again.err


def test_an_interrupted_plan_is_told_to_be_executed(plans: Plans) -> None:
    plan_id = plans.use(plans.file(plans.held(), HAS_TWO)).json["run_id"]
    driver = plans.start("execute", plan_id)
    plans.wait_for_the_fix()
    driver.terminate()
    _, said = driver.communicate(timeout=60)
    assert driver.returncode == 130
    assert f"Continue with `runtrue plan execute {plan_id}`" in said


def test_no_validation_has_the_name_under_which_steps_are_told_of(plans: Plans) -> None:
    refused = plans.run("new", plans.file("true", {"name": "step", "command": "true"}))
    assert refused.code == 2
    assert "'step'" in refused.err
