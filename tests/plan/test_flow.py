"""Plans as they are executed: steps, bounds, approvals, validations, and what is applied."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from runtrue.errors import PlanError, SandboxError
from runtrue.flow import RunState
from runtrue.plan import (
    PlanContext,
    PlanRequest,
    must_be_complete,
    must_not_be_applied,
    standing_of,
)
from tests.plan.driving import Driven, driven

__all__ = ["driven"]

Make = Callable[..., Driven]

FILES = {"a.txt": "no\n", "b.txt": "no\n"}


def plan(*steps: str, bounds: str = "{}", says: str = "a.txt", more: str = "") -> str:
    """A plan whose one required validation wants a file to say yes."""
    listed = "\n".join(f"    - {{{step}}}" for step in steps)
    return f"""
instruction: say yes
strategy:
  bounds: {bounds}
  steps:
{listed}
validations:
  - {{name: says, command: "grep -q yes {says}"}}
{more}
"""


def writes(file: str, text: str = "yes", step: str = "s1") -> str:
    return f"id: {step}, description: write, actor: command, command: 'echo {text} > {file}'"


class TestSteps:
    def test_a_command_step_works_end_to_end_with_no_model(self, driven: Make) -> None:
        one = driven(FILES)
        one.use(plan(writes("a.txt")))
        one.execute()
        assert one.asked["offer"] is True
        ended = one.say("apply")
        assert ended.state is RunState.PASSED
        assert (one.project / "a.txt").read_text() == "yes\n"
        assert not one.sandbox.exists()

    def test_steps_are_done_in_order_those_below_a_step_in_its_place(self, driven: Make) -> None:
        one = driven(FILES)
        group = f"id: s2, description: both, steps: [{{{writes('b.txt', step='s2a')}}}]"
        one.use(plan(writes("a.txt"), group, writes("c.txt", step="s3")))
        one.execute()
        assert [told["step"] for told in one.told("step_started")] == ["s1", "s2a", "s3"]

    def test_a_command_that_fails_is_the_strategy_s_fault_and_asks(self, driven: Make) -> None:
        one = driven(FILES)
        one.use(plan("id: s1, description: fail, actor: command, command: 'exit 3'"))
        waiting = one.execute()
        assert waiting.state is RunState.WAITING
        (finding,) = one.asked["findings"]
        assert finding["fault"] == "strategy"
        assert "exited with code 3" in finding["message"]

    def test_the_command_is_run_again_with_what_was_found(self, driven: Make) -> None:
        script = """
            import json, os, pathlib
            found = json.loads(os.environ["RUNTRUE_FINDINGS"])
            pathlib.Path("a.txt").write_text("yes\\n" if found else "nearly\\n")
        """
        one = driven({**FILES, "edit.py": script})
        step = "id: s1, description: edit, actor: command, command: 'python3 edit.py', fixes: true"
        one.use(plan(step))
        one.execute()
        assert one.asked["offer"] is True
        assert one.told("fix_succeeded")[0]["fixes"] == {"says": 1}


class TestBounds:
    def test_a_step_outside_of_its_bounds_is_undone_and_the_paths_are_told(
        self, driven: Make
    ) -> None:
        one = driven(FILES)
        step = "id: s1, description: both, actor: command, command: 'echo yes | tee a.txt b.txt'"
        one.use(plan(step, bounds="{paths: [a.txt]}"))
        one.execute()
        assert one.asked["why"] == "out_of_bounds"
        assert one.asked["findings"][0]["attempted"] == ["b.txt"]
        assert (one.sandbox / "a.txt").read_text() == "no\n"

        one.say({"text": "that is fine", "allow": ["b.txt"]})
        assert one.asked["offer"] is True
        assert (one.sandbox / "b.txt").read_text() == "yes\n"

    def test_paths_are_seen_from_the_project_in_a_larger_repository(self, driven: Make) -> None:
        one = driven({"part/a.txt": "no\n", "part/b.txt": "no\n"})
        one.project = one.project / "part"
        step = "id: s1, description: both, actor: command, command: 'echo yes | tee a.txt b.txt'"
        one.use(plan(step, bounds="{paths: [a.txt]}"))
        one.execute()
        assert one.asked["findings"][0]["attempted"] == ["part/b.txt"]
        one.say({"text": "yes"})
        assert one.asked["offer"] is True

    def test_a_file_beside_the_project_can_be_allowed(self, driven: Make) -> None:
        one = driven({"part/a.txt": "no\n", "b.txt": "no\n"})
        one.project = one.project / "part"
        step = "id: s1, description: x, actor: command, command: 'echo yes | tee a.txt ../b.txt'"
        one.use(plan(step, bounds="{paths: [a.txt]}"))
        one.execute()
        assert one.asked["findings"][0]["attempted"] == ["b.txt"]
        one.say({"text": "yes"})
        assert one.asked["offer"] is True

    @pytest.mark.parametrize(
        ("limit", "said"),
        [("max_files: 1", "2 files would be changed"), ("max_lines: 3", "4 lines would be")],
    )
    def test_no_more_is_changed_than_the_strategy_allows(
        self, limit: str, said: str, driven: Make
    ) -> None:
        one = driven(FILES)
        step = "id: s1, description: both, actor: command, command: 'echo yes | tee a.txt b.txt'"
        one.use(plan(step, bounds=f"{{{limit}}}"))
        one.execute()
        assert said in one.asked["findings"][0]["message"]

    def test_what_judges_is_put_back_unless_the_bounds_name_it(self, driven: Make) -> None:
        files = {**FILES, "test_it.py": "def test_it(): pass\n"}
        weakens = writes("a.txt").replace("> a.txt", "| tee a.txt test_it.py")
        one = driven(files)
        one.use(plan(weakens))
        one.execute()
        assert (one.sandbox / "test_it.py").read_text() == files["test_it.py"]
        assert one.told("step_done")[0]["restored"] == ["test_it.py"]

    @pytest.mark.parametrize("path", [".", "./**", "**/*", "*.py", "**"])
    def test_a_pattern_for_everything_names_nothing_that_judges(
        self, path: str, driven: Make
    ) -> None:
        weakens = writes("test_it.py").replace("> test_it.py", "| tee a.txt test_it.py")
        one = driven({"a.txt": "no\n", "test_it.py": "def test_it(): pass\n"})
        one.use(plan(weakens, bounds=f"{{paths: [a.txt, '{path}']}}"))
        one.execute()
        assert (one.sandbox / "test_it.py").read_text() == "def test_it(): pass\n"

    def test_the_bounds_of_the_steps_hold_for_the_last_validation(self, driven: Make) -> None:
        one = driven({**FILES, "fix.sh": "rm b.txt\n"})
        more = """  - {name: gone, command: "test ! -f b.txt", watches: [nothing]}"""
        step = f"{writes('a.txt')}, bounds: {{deletes: false}}"
        one.use(plan(step, more=f"{more}\nautomation_profile: auto"), agent="sh fix.sh #")
        assert one.asked["why"] == "needs_approval"
        assert (one.sandbox / "b.txt").exists()

    def test_what_judges_may_be_changed_where_the_bounds_name_it(self, driven: Make) -> None:
        weakens = writes("a.txt").replace("> a.txt", "| tee a.txt test_it.py")
        one = driven({**FILES, "test_it.py": "def test_it(): pass\n"})
        one.use(plan(weakens, bounds="{paths: [a.txt, test_it.py]}"))
        one.execute()
        assert (one.sandbox / "test_it.py").read_text() == "yes\n"


class TestApprovals:
    def test_deleting_needs_approval(self, driven: Make) -> None:
        one = driven(FILES)
        step = "id: s1, description: x, actor: command, command: 'rm b.txt && echo yes > a.txt'"
        one.use(plan(step))
        one.execute()
        assert one.asked["findings"][0]["attempted"] == ["b.txt"]
        one.say({"text": "yes"})
        assert one.asked["offer"] is True
        assert not (one.sandbox / "b.txt").exists()

    def test_a_fix_that_deletes_asks_for_approval_and_no_revision_gets_around_that(
        self, driven: Make
    ) -> None:
        one = driven({**FILES, "fix.sh": "rm -f b.txt; echo yes > a.txt\n"})
        step = writes("a.txt", "nearly")
        one.use(plan(step, more="automation_profile: trusted"), agent="sh fix.sh #")
        assert one.asked["why"] == "needs_approval"
        assert not one.told("strategy_revision_started")
        assert (one.sandbox / "b.txt").exists()
        one.say({"text": "yes"})
        assert one.asked["offer"] is True
        assert not (one.sandbox / "b.txt").exists()

    def test_only_what_was_approved_is_deleted(self, driven: Make) -> None:
        one = driven({**FILES, "c.txt": "no\n"})
        step = "id: s1, description: x, actor: command, command: 'rm b.txt c.txt; echo yes > a.txt'"
        one.use(plan(step))
        one.execute()
        one.say({"text": "not c.txt", "allow": ["b.txt", "a.txt"]})
        assert one.asked["findings"][0]["attempted"] == ["c.txt"]
        assert (one.sandbox / "b.txt").exists()

    def test_the_network_needs_approval(self, driven: Make) -> None:
        one = driven(FILES)
        one.use(plan(f"{writes('a.txt')}, network: true"))
        one.execute()
        assert "needs approval" in one.asked["findings"][0]["message"]
        one.say({"text": "go on", "allow": ["s1"]})
        assert one.asked["offer"] is True

    def test_what_is_not_approved_is_not_done(self, driven: Make) -> None:
        one = driven(FILES)
        one.use(plan(f"{writes('a.txt')}, network: true"))
        one.execute()
        one.say({"text": "never allow s1"})
        assert "needs approval" in one.asked["findings"][0]["message"]
        assert (one.sandbox / "a.txt").read_text() == "no\n"

    def test_a_profile_can_do_without(self, driven: Make) -> None:
        one = driven(FILES)
        step = f"{writes('a.txt')} && rm b.txt', network: true".replace("txt' &&", "txt &&")
        ended = one.use(plan(step, more="automation_profile: full-auto"))
        assert ended.state is RunState.PASSED
        assert not (one.project / "b.txt").exists()


class TestValidations:
    def test_only_what_watches_the_change_runs_after_a_step_and_all_at_the_end(
        self, driven: Make
    ) -> None:
        one = driven(FILES)
        more = """  - {name: other, command: "grep -q yes b.txt", watches: [b.txt]}"""
        one.use(plan(writes("a.txt"), writes("b.txt", step="s2"), more=more))
        one.execute()
        ran = [told["check"] for told in one.told("check_started")]
        assert ran == ["says", "other", "says", "says", "other"]  # both before the first step
        assert one.asked["offer"] is True

    def test_what_a_validation_writes_is_put_back_and_told(self, driven: Make) -> None:
        one = driven(FILES)
        more = """  - {name: writer, command: "echo x > a.txt", mode: informational}"""
        one.use(plan(writes("a.txt"), more=more))
        one.execute()
        one.say("apply")
        assert (one.project / "a.txt").read_text() == "yes\n"
        result = one.journal.find(one.run_id).result
        assert result is not None
        verdicts = {v["validation"]: v for v in result["attempts"][-1]["verdicts"]}
        assert verdicts["writer"]["wrote"] == ["a.txt"]

    def test_an_informational_failure_is_recorded_and_the_plan_completes(
        self, driven: Make
    ) -> None:
        one = driven(FILES)
        more = """  - {name: lint, command: "exit 1", mode: informational}"""
        one.use(plan(writes("a.txt"), more=more))
        one.execute()
        assert one.asked["offer"] is True
        assert not one.told("fixer_started")


class TestApply:
    def test_what_was_edited_after_validation_is_refused_and_can_be_validated_again(
        self, driven: Make
    ) -> None:
        one = driven(FILES)
        one.use(plan(writes("a.txt")))
        one.execute()
        (one.sandbox / "b.txt").write_text("edited\n")
        assert one.say("apply").state is RunState.WAITING
        assert "changed after they were validated" in one.asked["refused"]
        assert (one.project / "a.txt").read_text() == "no\n"

        row = one.journal.find(one.run_id)
        place = PlanContext.of(row, msgspec.convert(row.input, PlanRequest), one.home)
        one.say({"candidate": place.sandbox.snapshot()})
        one.say("apply")
        assert (one.project / "b.txt").read_text() == "edited\n"

    def test_a_conflict_with_the_user_s_tree_is_refused_and_nothing_is_written(
        self, driven: Make
    ) -> None:
        one = driven(FILES)
        one.use(plan(writes("a.txt"), writes("b.txt", step="s2")))
        one.execute()
        (one.project / "a.txt").write_text("mine\n")
        assert one.say("apply").state is RunState.WAITING
        assert "a.txt changed in" in one.asked["refused"]
        assert (one.project / "b.txt").read_text() == "no\n"

        (one.project / "a.txt").write_text("no\n")
        assert one.say("apply").state is RunState.PASSED

    def test_a_plan_that_was_cut_off_while_it_was_applied_must_be_applied_first(
        self, driven: Make
    ) -> None:
        one = driven({"a.txt": "no\n"})
        one.use(plan(writes("a.txt")))
        one.execute()
        one.journal.answer(one.run_id, "apply")  # and then whoever said so was killed
        standing = standing_of(one.journal, one.home, one.journal.find(one.run_id))
        assert (standing.report.phase, standing.report.state) == ("apply", "processing")
        must_be_complete(standing)
        with pytest.raises(PlanError, match=f"runtrue plan apply {one.run_id}"):
            must_not_be_applied(standing)


class TestNone:
    MORE = "automation_profile: {base: full-auto, auto_apply: false}\nsandbox: none"

    def test_the_user_s_own_tree_is_worked_on(self, driven: Make) -> None:
        one = driven(FILES)
        one.use(plan(writes("a.txt"), more=self.MORE))
        assert one.asked["offer"] is True
        assert (one.project / "a.txt").read_text() == "yes\n"
        assert one.say("apply").state is RunState.PASSED
        assert (one.project / "a.txt").read_text() == "yes\n"

    def test_a_rollback_is_an_error_and_never_silent(self, driven: Make) -> None:
        one = driven(FILES)
        step = "id: s1, description: both, actor: command, command: 'echo yes | tee a.txt b.txt'"
        with pytest.raises(SandboxError, match="no sandbox to roll back"):
            one.use(plan(step, bounds="{paths: [a.txt]}", more=self.MORE))


class TestBudget:
    def test_time_that_is_spent_ends_the_plan_and_keeps_what_was_done(self, driven: Make) -> None:
        one = driven(FILES)
        hangs = "id: s2, description: x, actor: command, command: 'sleep 1000'"
        one.use(plan(writes("a.txt"), hangs, writes("b.txt", step="s3"), more="max_time: 3"))
        ended = one.execute()
        assert ended.state is RunState.FAILED
        assert ended.result is not None
        assert (ended.result["state"], ended.result["why"]) == ("failed", "budget")
        assert Path(ended.result["sandbox"], "a.txt").read_text() == "yes\n"
        assert [step["state"] for step in ended.result["plan"]["steps"]] == [
            "done",
            "failed",
            "pending",
        ]
