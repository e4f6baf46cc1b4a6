"""A plan is settled when it is made, or refused with what to do."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from runtrue.config import Validation, ValidationKind, find_config
from runtrue.errors import UsageError
from runtrue.loop import PROFILES, Mode
from runtrue.plan.plan import PlanRequest
from runtrue.plan.plan_request import plan_use

MODEL = "openai:some"
HAND_WRITTEN = """\
instruction: do it
strategy:
  steps:
    - {description: write it, actor: command, command: touch done}
"""
VALIDATED = "validations: [{name: there, command: test -e done}]\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def made(
    project: Path,
    text: str = HAND_WRITTEN + VALIDATED,
    *,
    config: str = "",
    profile: str | None = None,
    model: str | None = None,
    agent: str | None = None,
) -> PlanRequest:
    """The plan of a file beside the project, under a configuration."""
    if config:
        (project / "runtrue.toml").write_text(config)
    file = project.parent / "plan.yaml"
    file.write_text(text)
    return plan_use(
        project, find_config(project).written, str(file), profile=profile, model=model, agent=agent
    )


def refusal(project: Path, text: str = HAND_WRITTEN + VALIDATED, **options: str) -> str:
    with pytest.raises(UsageError) as caught:
        made(project, text, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


class TestWhat:
    def test_a_file_is_read(self, project: Path) -> None:
        request = made(project)
        assert request.instruction == "do it"
        assert request.source == str(project.parent / "plan.yaml")
        assert request.strategy is not None
        assert request.strategist is None

    def test_any_other_text_is_an_instruction(self, project: Path) -> None:
        (project / "test_a.py").touch()
        said = " write plans/next.yaml "
        request = plan_use(project, find_config(project).written, said, model=MODEL)
        assert request.instruction == said.strip()
        assert request.source is None
        assert request.strategy is None

    def test_a_name_like_a_file_that_is_not_there(self, project: Path) -> None:
        with pytest.raises(UsageError, match=r"plam\.yaml: there is no such file"):
            plan_use(project, find_config(project).written, "plam.yaml", model=MODEL)

    @pytest.mark.parametrize("what", ["", " \n"])
    def test_an_empty_instruction(self, project: Path, what: str) -> None:
        with pytest.raises(UsageError, match="the instruction is empty"):
            plan_use(project, find_config(project).written, what, model=MODEL)

    def test_a_long_instruction_is_no_file(self, project: Path) -> None:
        (project / "test_a.py").touch()
        request = plan_use(project, find_config(project).written, "x" * 10_000, model=MODEL)
        assert request.instruction == "x" * 10_000

    def test_it_can_be_recorded(self, project: Path) -> None:
        request = made(project, config="[plans.profiles.ours]\nmax_cost = 1\n", profile="ours")
        assert msgspec.json.decode(msgspec.json.encode(request), type=PlanRequest) == request


class TestStrategist:
    OWN = "[fixers.agent]\ncommand = 'own'\n"

    @pytest.mark.parametrize(
        ("config", "model", "agent", "expected"),
        [
            ("", MODEL, None, "model"),
            ("", None, "named", "agent"),
            ("", MODEL, "named", "agent"),
            (OWN, None, None, "agent"),
            (OWN, MODEL, None, "model"),
        ],
    )
    def test_who_makes_the_strategy(
        self, project: Path, config: str, model: str | None, agent: str | None, expected: str
    ) -> None:
        text = f"instruction: x\n{VALIDATED}"
        request = made(project, text, config=config, model=model, agent=agent)
        assert request.strategist == expected
        assert request.model == model
        assert request.agent.command == (agent or ("own" if config else None))

    def test_with_nobody_to_make_it_it_must_be_written(self, project: Path) -> None:
        assert refusal(project, f"instruction: x\n{VALIDATED}") == (
            "nothing can write a strategy: put one in the plan file, or set a model "
            "with RUNTRUE_MODEL or [model] name, or a coding agent with --agent"
        )


class TestValidations:
    SHARED = "[plans.validations.shared]\ncommand = 'true'\n"

    def test_those_of_the_plan_and_of_the_project(self, project: Path) -> None:
        validations = made(project, config=self.SHARED).validations
        assert [each.name for each in validations] == ["shared", "there"]

    def test_of_one_name_that_of_the_plan_holds(self, project: Path) -> None:
        text = f"{HAND_WRITTEN}validations: [{{name: shared, command: 'false'}}]\n"
        (validation,) = made(project, text, config=self.SHARED).validations
        assert validation.command == "false"

    def test_with_none_anywhere_the_configured_checks_are_taken(self, project: Path) -> None:
        (project / "sub").mkdir()
        config = (
            "[checks.a]\ncommand = 'a'\nfix = 'mend'\ntimeout = 5\ndirectory = 'sub'\n"
            "judges = ['x']\nenv = {B = 'c'}\n[checks.b]\ncommand = 'b'\nmode = 'informational'\n"
        )
        request = made(project, HAND_WRITTEN, config=config)
        assert request.validations == (
            Validation(
                name="a",
                command="a",
                fix="mend",
                timeout=5.0,
                directory="sub",
                judges=("x",),
                env={"B": "c"},
            ),
            Validation(name="b", command="b", mode=Mode.INFORMATIONAL),
        )
        assert request.autofix == {"a": "cd sub && mend"}
        assert "x" in request.judges

    def test_and_else_those_that_are_found(self, project: Path) -> None:
        (project / "test_a.py").touch()
        (project / "ruff.toml").touch()
        request = made(project, HAND_WRITTEN)
        assert [each.name for each in request.validations] == ["pytest", "ruff"]
        assert request.autofix == {"ruff": "ruff check . --fix"}
        assert request.safe == ("ruff",)

    def test_with_no_check_either_nothing_is_made(self, project: Path) -> None:
        assert refusal(project, HAND_WRITTEN) == (
            f"this plan has no validation: no check was found in {project}; give the plan "
            "file validations, or the configuration a table [plans.validations.NAME]"
        )

    def test_one_of_them_must_be_required(self, project: Path) -> None:
        text = f"{HAND_WRITTEN}validations: [{{name: a, command: b, mode: informational}}]\n"
        assert refusal(project, text) == (
            "every validation (a) is informational, so nothing could fail; give one of them "
            "the mode 'required'"
        )

    def test_a_directory_that_is_not_there(self, project: Path) -> None:
        text = f"{HAND_WRITTEN}validations: [{{name: a, command: b, directory: sub}}]\n"
        assert refusal(project, text) == (
            f"the validation a is to run in sub, which {project} lacks"
        )

    @pytest.mark.parametrize(
        ("kind", "check"),
        [("tests", "unit"), ("coverage", "unit"), ("lint", "style"), ("types", "types")],
    )
    def test_a_kind_without_a_command_is_that_check_of_the_project(
        self, project: Path, kind: str, check: str
    ) -> None:
        (project / "sub").mkdir()
        commands = {"links": "sh links.sh", "unit": "pytest -x"}
        commands |= {"style": "ruff check sub", "types": "mypy sub"}
        config = "".join(
            f"[checks.{name}]\ncommand = '{command}'\ndirectory = 'sub'\nenv = {{A = 'b'}}\n"
            for name, command in commands.items()
        )
        text = f"{HAND_WRITTEN}validations: [{{name: it, kind: {kind}, env: {{C: d}}}}]\n"
        (validation,) = made(project, text, config=config).validations
        assert validation.command == commands[check]
        assert validation.directory == "sub"
        assert validation.env == {"A": "b", "C": "d"}

    def test_or_what_is_found_of_it(self, project: Path) -> None:
        (project / "ruff.toml").touch()
        text = f"{HAND_WRITTEN}validations: [{{name: it, kind: lint}}]\n"
        (validation,) = made(project, text).validations
        assert validation.command == "ruff check ."

    def test_or_it_is_refused(self, project: Path) -> None:
        text = f"{HAND_WRITTEN}validations: [{{name: it, kind: types}}]\n"
        assert "the validation it of kind types" in refusal(project, text)

    def test_security_takes_the_configured_scanner(self, project: Path) -> None:
        text = f"{HAND_WRITTEN}validations: [{{name: it, kind: security}}]\n"
        assert made(project, text).validations[0].command is None
        (validation,) = made(project, text, config="[security]\ncommand = 'scan'\n").validations
        assert validation.command == "scan"
        assert validation.kind is ValidationKind.SECURITY


class TestProfile:
    OWN = "[plans]\nprofile = 'ours'\n[plans.profiles.ours]\nbase = 'auto'\nmax_cost = 3\n"
    NAMED = f"{HAND_WRITTEN}{VALIDATED}automation_profile: review\n"

    def test_by_default_it_is_supervised(self, project: Path) -> None:
        request = made(project)
        assert request.profile_name == "supervised"
        assert request.profile == PROFILES["supervised"]
        assert request.retry_limit == 3

    def test_that_of_the_project_then_of_the_file_then_of_the_command_line(
        self, project: Path
    ) -> None:
        request = made(project, config=self.OWN)
        assert request.profile_name == "ours"
        assert request.profile == replace(PROFILES["auto"], max_cost=3.0)
        assert made(project, self.NAMED).profile == PROFILES["review"]
        request = made(project, self.NAMED, profile="ci")
        assert request.profile_name == "ci"
        assert request.profile == PROFILES["ci"]

    def test_one_that_there_is_not(self, project: Path) -> None:
        assert refusal(project, config=self.OWN, profile="our") == (
            "there is no profile 'our' (did you mean 'ours'?); available: manual, review, "
            "supervised, cautious, trusted, auto, ci, full-auto, ours"
        )

    def test_limits_of_the_plan_stand_over_the_profiles(self, project: Path) -> None:
        text = f"{self.NAMED}max_time: 5\nmax_cost: 2\nanswer_within: 1\n"
        request = made(project, f"{text}validation_retry_limit: 0\n")
        assert request.profile == replace(
            PROFILES["review"], max_time=5.0, max_cost=2.0, answer_within=1.0
        )
        assert request.retry_limit == 0

    def test_so_do_those_of_the_project(self, project: Path) -> None:
        config = "[plans]\nanswer_within = 9\nvalidation_retry_limit = 7\n"
        request = made(project, config=config)
        assert request.profile.answer_within == 9.0
        assert request.retry_limit == 7
        text = f"{self.NAMED}answer_within: 1\nvalidation_retry_limit: 2\n"
        request = made(project, text)
        assert request.profile.answer_within == 1.0
        assert request.retry_limit == 2

    def test_what_a_plan_changes_of_its_profile_stands_over_the_project_s(
        self, project: Path
    ) -> None:
        config = "[plans]\nanswer_within = 9\nvalidation_retry_limit = 7\n"
        flags = "{base: review, validation_retry_limit: 5, answer_within: 8}"
        text = self.NAMED.replace("automation_profile: review", f"automation_profile: {flags}")
        request = made(project, text, config=config)
        assert (request.retry_limit, request.profile.answer_within) == (5, 8.0)
        request = made(project, text, config=config, profile="review")
        assert (request.retry_limit, request.profile.answer_within) == (7, 9.0)

    def test_a_profile_that_waits_for_nobody_does_so_in_every_project(self, project: Path) -> None:
        request = made(project, config="[plans]\nanswer_within = 9\n", profile="ci")
        assert request.profile.answer_within == 0.0


class TestSandbox:
    def test_that_of_the_file_then_of_plans_then_of_all_runs(self, project: Path) -> None:
        assert made(project).sandbox is None
        config = "[sandbox]\nkind = 'copy'\n"
        assert made(project, config=config).sandbox == "copy"
        subprocess.run(["git", "init", "-q", str(project)], check=True)
        config += "[plans]\nsandbox = 'worktree'\n"
        assert made(project, config=config).sandbox == "worktree"
        text = f"{HAND_WRITTEN}{VALIDATED}sandbox: copy\n"
        assert made(project, text, config=config).sandbox == "copy"

    def test_none_is_refused_by_a_profile_that_requires_one(self, project: Path) -> None:
        text = f"{HAND_WRITTEN}{VALIDATED}sandbox: none\n"
        config = "[plans.profiles.loose]\nrequire_sandbox = false\n"
        assert refusal(project, text, config=config) == (
            "a plan with `sandbox: none` changes your own files directly, and the profile "
            "'supervised' requires a sandbox; use one that does not: "
            "full-auto, loose"
        )
        assert made(project, text, profile="full-auto").sandbox == "none"
        assert made(project, text, profile="loose").sandbox == "none"

    def test_a_worktree_needs_a_repository(self, project: Path) -> None:
        assert refusal(project, f"{HAND_WRITTEN}{VALIDATED}sandbox: worktree\n") == (
            f"{project} is not in a git repository, so `sandbox: worktree` cannot work; "
            "use `sandbox: copy`"
        )
