"""A plan file is read as typed data; every mistake in it is named with its place."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runtrue.config import Validation, ValidationKind
from runtrue.errors import PlanError, UsageError
from runtrue.loop import PROFILES, AutomationProfile, Bounds, Mode
from runtrue.plan.plan_file import PlanFile, load_plan_file
from runtrue.plan.strategy import Actor, Step, Strategy

EVERYTHING = """\
instruction: Split the handler
strategy:
  bounds:
    paths: [src/**, "*.md"]
    commands: ["python *", make]
    max_files: 3
    max_lines: 100
    deletes: false
  steps:
    - description: Move the code
      actor: agent
    - id: second
      description: Generate the models
      actor: command
      command: python generate.py
      network: true
    - description: Tidy
      steps:
        - description: Format
          actor: tool
        - description: Look
          actor: search
          bounds: {paths: [src/handler.py]}
validations:
  - name: unit
    kind: tests
    command: python -m pytest -q
    watches: [src/**]
    timeout: 60
    env: {CI: "yes"}
    directory: src
  - name: style
    mode: informational
    kind: lint
    fix: ruff check --fix .
  - {name: own, kind: callable, callable: "checks:names"}
  - {name: covered, kind: coverage, minimum: 90}
  - {name: safe, kind: security, severity: high}
automation_profile: trusted
validation_retry_limit: 4
sandbox: copy
answer_within: 60
max_cost: 2.5
max_time: 600
"""

EXPECTED = PlanFile(
    instruction="Split the handler",
    strategy=Strategy(
        bounds=Bounds(
            paths=("src/**", "*.md"),
            commands=("python *", "make"),
            max_files=3,
            max_lines=100,
            deletes=False,
        ),
        steps=(
            Step(id="s1", description="Move the code", actor=Actor.AGENT),
            Step(
                id="second",
                description="Generate the models",
                actor=Actor.COMMAND,
                command="python generate.py",
                network=True,
            ),
            Step(
                id="s3",
                description="Tidy",
                steps=(
                    Step(id="s3.1", description="Format", actor=Actor.TOOL),
                    Step(
                        id="s3.2",
                        description="Look",
                        actor=Actor.SEARCH,
                        bounds=Bounds(paths=("src/handler.py",)),
                    ),
                ),
            ),
        ),
    ),
    validations=(
        Validation(
            name="unit",
            kind=ValidationKind.TESTS,
            command="python -m pytest -q",
            watches=("src/**",),
            timeout=60.0,
            env={"CI": "yes"},
            directory="src",
        ),
        Validation(
            name="style",
            mode=Mode.INFORMATIONAL,
            kind=ValidationKind.LINT,
            fix="ruff check --fix .",
        ),
        Validation(name="own", kind=ValidationKind.CALLABLE, callable="checks:names"),
        Validation(name="covered", kind=ValidationKind.COVERAGE, minimum=90.0),
        Validation(name="safe", kind=ValidationKind.SECURITY, severity="high"),
    ),
    profile=PROFILES["trusted"],
    profile_name="trusted",
    validation_retry_limit=4,
    sandbox="copy",
    answer_within=60.0,
    max_cost=2.5,
    max_time=600.0,
)


def write(folder: Path, text: str, name: str = "plan.yaml") -> Path:
    file = folder / name
    file.write_text(text)
    return file


def complaint(folder: Path, text: str) -> str:
    """What is wrong with a plan, without the name of the file."""
    file = write(folder, text)
    with pytest.raises(UsageError) as caught:
        load_plan_file(file)
    message = str(caught.value)
    assert message.startswith(f"{file}:")
    assert "\n" not in message
    return message.removeprefix(f"{file}:")


class TestReading:
    def test_an_instruction_is_enough(self, tmp_path: Path) -> None:
        file = write(tmp_path, "instruction: '  do it '\n")
        assert load_plan_file(file) == PlanFile(instruction="do it")

    def test_everything_can_be_said(self, tmp_path: Path) -> None:
        assert load_plan_file(write(tmp_path, EVERYTHING)) == EXPECTED

    def test_it_can_be_json(self, tmp_path: Path) -> None:
        text = json.dumps({"instruction": "do it", "max_time": 5})
        file = write(tmp_path, text, "plan.json")
        assert load_plan_file(file) == PlanFile(instruction="do it", max_time=5.0)

    def test_it_is_yaml_of_version_1_2(self, tmp_path: Path) -> None:
        text = "instruction: yes\nvalidations: [{name: no, command: on}]\n"
        read = load_plan_file(write(tmp_path, text))
        assert read.instruction == "yes"
        assert [(each.name, each.command) for each in read.validations] == [("no", "on")]

    def test_a_profile_can_be_written_in_place(self, tmp_path: Path) -> None:
        text = "instruction: x\nautomation_profile: {base: auto, auto_apply: true}\n"
        read = load_plan_file(write(tmp_path, text))
        assert read.profile == replace(PROFILES["auto"], auto_apply=True)
        assert read.profile_name == "auto (changed)"

    def test_without_a_base_it_is_the_default_one_that_is_changed(self, tmp_path: Path) -> None:
        text = "instruction: x\nautomation_profile: {max_cost: 1}\n"
        read = load_plan_file(write(tmp_path, text))
        assert read.profile == AutomationProfile(max_cost=1.0)
        assert read.profile_name == "supervised (changed)"

    def test_it_may_name_a_profile_of_the_project(self, tmp_path: Path) -> None:
        own = {**PROFILES, "ours": AutomationProfile(max_time=7.0)}
        file = write(tmp_path, "instruction: x\nautomation_profile: ours\n")
        assert load_plan_file(file, profiles=own).profile == own["ours"]
        file = write(tmp_path, "instruction: x\nautomation_profile: {base: ours, max_cost: 1}\n")
        assert load_plan_file(file, profiles=own).profile == replace(own["ours"], max_cost=1.0)


STEP = "instruction: x\nstrategy:\n  steps:\n    - description: a\n"
VALIDATION = "instruction: x\nvalidations:\n  - name: a\n"


class TestMistakes:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("[]\n", "1: the plan: expected a mapping, got a list"),
            ("max_time: 3\n", "1: the plan: mapping missing required field `instruction`"),
            (
                "instruction: ' '\n",
                "1: instruction: the instruction is empty; say what to do",
            ),
            ("instruction: 3\n", "1: instruction: expected text, got a whole number"),
            (
                "instruction: x\nstratgy: {}\n",
                "2: stratgy: unknown key (did you mean 'strategy'?); known here: instruction, "
                "strategy, validations, automation_profile, validation_retry_limit, sandbox, "
                "answer_within, max_cost, max_time",
            ),
            (
                "instruction: x\nsandbox: worktre\n",
                "2: sandbox: invalid enum value 'worktre' (did you mean 'worktree'?); "
                "available: worktree, copy, none",
            ),
            (
                "instruction: x\nvalidation_retry_limit: -1\n",
                "2: validation_retry_limit: expected a whole number >= 0",
            ),
            ("instruction: x\nmax_cost: .inf\n", None),
            ("instruction: x\nmax_time: soon\n", "2: max_time: expected a number, got text"),
        ],
    )
    def test_of_the_plan_itself(self, tmp_path: Path, text: str, expected: str | None) -> None:
        found = complaint(tmp_path, text)
        assert found == expected if expected else found.startswith("2:")

    @pytest.mark.parametrize(
        ("lines", "expected"),
        [
            (
                "    kind: lnt\n",
                "4: validations.0.kind: invalid enum value 'lnt' (did you mean 'lint'?); "
                "available: command, tests, lint, types, coverage, security, callable",
            ),
            (
                "    kind: lint\n    comand: x\n",
                "5: validations.0.comand: unknown key (did you mean 'command'?); known here: mode, "
                "kind, command, callable, minimum, severity, watches, timeout, test_seconds, fix, "
                "judges, env, directory, name",
            ),
            ("", "3: validations.0: a validation of kind 'command' needs a command"),
            (
                "    kind: callable\n",
                "3: validations.0: a validation of kind 'callable' needs a callable",
            ),
            (
                "    kind: tests\n    callable: a:b\n",
                "5: validations.0.callable: a validation of kind 'tests' has none; 'callable' has",
            ),
            (
                "    kind: callable\n    callable: ' '\n",
                "5: validations.0.callable: the function name is empty",
            ),
            (
                "    kind: tests\n    minimum: 50\n",
                "5: validations.0.minimum: a validation of kind 'tests' has none; 'coverage' has",
            ),
            (
                "    command: 'a \"b'\n",
                "4: validations.0.command: the command cannot be read: no closing quotation",
            ),
            ("    kind: lint\n    fix: ''\n", "5: validations.0.fix: the command is empty"),
            (
                "    kind: lint\n    watches: [src, /etc]\n",
                "5: validations.0.watches.1: '/etc' is absolute; give a path relative to the "
                "project",
            ),
            (
                "    kind: lint\n    watches: [a/../../b]\n",
                "5: validations.0.watches.0: 'a/../../b' has '..' in it; give a path relative to "
                "the project",
            ),
            (
                "    kind: lint\n    watches: ['']\n",
                "5: validations.0.watches.0: the pattern is empty; to match everything, use '**'",
            ),
            (
                "    kind: lint\n    env: {A: 1}\n",
                "5: validations.0.env.A: expected text, got a whole number",
            ),
            (
                "    kind: lint\n    directory: ..\n",
                "5: validations.0.directory: '..' is outside the project; name one inside it",
            ),
            (
                "    kind: lint\n  - {name: a, kind: tests}\n",
                "5: validations.1.name: 'a' is there already; give each its own name",
            ),
            (
                "    kind: lint\n  - {name: ' ', kind: tests}\n",
                "5: validations.1.name: the name of a validation is empty",
            ),
        ],
    )
    def test_of_a_validation(self, tmp_path: Path, lines: str, expected: str) -> None:
        assert complaint(tmp_path, f"{VALIDATION}{lines}") == expected

    @pytest.mark.parametrize(
        ("lines", "place"),
        [
            ("      actr: tool\n", "5: strategy.steps.0.actr: unknown key (did you mean 'actor'?)"),
            ("      actor: robot\n", "5: strategy.steps.0.actor: "),
            ("      actor: command\n", "4: strategy.steps.0: "),
            ("      actor: tool\n      command: x\n", "6: strategy.steps.0.command: "),
            ("    - description: b\n      id: s1\n", "6: strategy.steps.1.id: "),
            ("      bounds: {paths: [/a]}\n", "5: strategy.steps.0.bounds.paths.0: "),
            ("      bounds: {paths: [a/../..]}\n", "5: strategy.steps.0.bounds.paths.0: "),
            ("      bounds: {max_files: -1}\n", "5: strategy.steps.0.bounds.max_files: "),
            ("    - actor: tool\n", "5: strategy.steps.1: "),
        ],
    )
    def test_of_the_strategy(self, tmp_path: Path, lines: str, place: str) -> None:
        assert complaint(tmp_path, f"{STEP}{lines}").startswith(place)

    @pytest.mark.parametrize(
        ("profile", "expected"),
        [
            (
                "trustd",
                "there is no profile 'trustd' (did you mean 'trusted'?); available: "
                f"{', '.join(PROFILES)}",
            ),
            ("3", "expected text or a mapping, got a whole number"),
        ],
    )
    def test_of_the_profile(self, tmp_path: Path, profile: str, expected: str) -> None:
        text = f"instruction: x\nautomation_profile: {profile}\n"
        assert complaint(tmp_path, text) == f"2: automation_profile: {expected}"

    @pytest.mark.parametrize(
        ("line", "expected"),
        [
            ("base: atuo", "base: there is no profile 'atuo' (did you mean 'auto'?); available: "),
            ("auto_aply: true", "auto_aply: unknown key (did you mean 'auto_apply'?)"),
            ("max_time: -1", "max_time: expected a number > 0.0"),
        ],
    )
    def test_of_its_flags(self, tmp_path: Path, line: str, expected: str) -> None:
        text = f"instruction: x\nautomation_profile:\n  {line}\n"
        assert complaint(tmp_path, text).startswith(f"3: automation_profile.{expected}")

    def test_what_is_no_yaml(self, tmp_path: Path) -> None:
        assert complaint(tmp_path, "instruction: [\n").startswith("2:1: is not valid YAML: ")

    def test_no_file(self, tmp_path: Path) -> None:
        write(tmp_path, "instruction: x\n")
        with pytest.raises(UsageError, match=r"there is no such file; did you mean plan\.yaml\?"):
            load_plan_file(tmp_path / "plans.yaml")

    def test_a_mistake_is_one_of_the_plan(self, tmp_path: Path) -> None:
        with pytest.raises(PlanError):
            load_plan_file(write(tmp_path, "instruction: 3\n"))


WORDS = st.sampled_from(
    [
        *("instruction", "strategy", "steps", "bounds", "paths", "description", "actor", "command"),
        *("validations", "name", "kind", "watches", "env", "automation_profile", "base", "sandbox"),
        *("max_time", "tests", "tool", "supervised", "none", "0", "a\nb", ""),
    ]
)
ANYTHING = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.floats(allow_nan=False), WORDS),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(WORDS, inner, max_size=4)),
    max_leaves=12,
)


@given(data=st.dictionaries(WORDS, ANYTHING), strategy=ANYTHING, validations=ANYTHING)
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_data_gives_a_plan_or_a_complaint(
    tmp_path: Path, data: dict[str, object], strategy: object, validations: object
) -> None:
    data = {**data, "strategy": strategy, "validations": validations}
    file = write(tmp_path, json.dumps(data), "plan.json")
    message = ""
    try:
        assert load_plan_file(file).instruction
    except UsageError as error:
        message = str(error)
    assert not message or message.startswith(f"{file}:")
    assert "\n" not in message
