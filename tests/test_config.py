"""Configuration is read as typed data; every mistake in it is named with its place."""

from __future__ import annotations

import string
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runtrue.code import independence, proof
from runtrue.config import (
    RUNGS,
    AgentConfig,
    CheckConfig,
    Config,
    FixersConfig,
    PlansConfig,
    SandboxConfig,
    Validation,
    ValidationConfig,
    ValidationKind,
    find_config,
)
from runtrue.config.rules import GATES, TEST_KINDS
from runtrue.errors import ConfigError, UsageError
from runtrue.gates import coverage, security
from runtrue.loop import (
    DEFAULT_PROFILE,
    PROFILES,
    AutomationProfile,
    CodeType,
    Limits,
    Mode,
    Policy,
    Requirements,
)


def read_config(project: Path, top: Path | None = None) -> Config:
    """All that a project's file says, whether anyone agreed to it or not."""
    return find_config(project, top).written


EVERYTHING = """
[checks.tests]
command = "python -m pytest -q"

[checks."lint it"]
command = "ruff check ."
mode = "informational"
timeout = 20
fix = "ruff check --fix ."
judges = ["golden/*"]

[fixers]
order = ["tool", "agent", "human"]

[fixers.agent]
command = "some-agent --prompt-file {prompt_file}"
timeout = 60.5
env = ["SOME_KEY"]
once = true

[policy]
max_attempts = 5
transport_retries = 0
format_retries = 2
max_time = 600
abort_on_regression = false

[sandbox]
kind = "copy"
env = ["DATABASE_URL"]
"""

#: What is said of a variable that cannot be set.
NO_NAME = "is not a valid variable name: it must not be empty or hold = or a null character"

EXPECTED = Config(
    checks={
        "tests": CheckConfig(command="python -m pytest -q"),
        "lint it": CheckConfig(
            command="ruff check .",
            mode=Mode.INFORMATIONAL,
            timeout=20.0,
            fix="ruff check --fix .",
            judges=("golden/*",),
        ),
    },
    fixers=FixersConfig(
        order=("tool", "agent", "human"),
        agent=AgentConfig(
            command="some-agent --prompt-file {prompt_file}",
            timeout=60.5,
            env=("SOME_KEY",),
            once=True,
        ),
    ),
    policy=Limits(
        max_attempts=5,
        transport_retries=0,
        format_retries=2,
        max_time=600.0,
        abort_on_regression=False,
    ),
    sandbox=SandboxConfig(kind="copy", env=("DATABASE_URL",)),
)


def in_pyproject(text: str) -> str:
    lines = text.splitlines(keepends=True)
    return "".join(f"[tool.runtrue.{line[1:]}" if line.startswith("[") else line for line in lines)


def write(project: Path, text: str | bytes, name: str = "runtrue.toml") -> Path:
    file = project / name
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return file


def complaint(project: Path, text: str | bytes, name: str = "runtrue.toml") -> str:
    """What is wrong with a configuration, without the name of the file."""
    file = write(project, text, name)
    with pytest.raises(ConfigError) as caught:
        read_config(project)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(f"{file}:")
    return message.removeprefix(f"{file}:")


class TestReading:
    def test_without_any_the_defaults_hold(self, tmp_path: Path) -> None:
        config = read_config(tmp_path)
        assert config == Config()
        assert config.fixers.order == ("memory", "tool", "search", "model", "agent")
        assert config.policy.max_attempts == 3

    def test_everything_can_be_set(self, tmp_path: Path) -> None:
        write(tmp_path, EVERYTHING)
        assert read_config(tmp_path) == EXPECTED

    def test_everything_can_be_set_in_pyproject(self, tmp_path: Path) -> None:
        write(tmp_path, in_pyproject(EVERYTHING), "pyproject.toml")
        assert read_config(tmp_path) == EXPECTED

    def test_a_file_of_its_own_wins(self, tmp_path: Path) -> None:
        write(tmp_path, "[tool.runtrue.policy]\nmax_attempts = 7\n", "pyproject.toml")
        write(tmp_path, "[policy]\nmax_attempts = 8\n")
        assert read_config(tmp_path).policy.max_attempts == 8

    @pytest.mark.parametrize("text", ["", "[project]\nname = 'x'\n", "tool = 1\n", "[tool.ruff]\n"])
    def test_a_pyproject_without_settings_is_fine(self, tmp_path: Path, text: str) -> None:
        write(tmp_path, text, "pyproject.toml")
        assert read_config(tmp_path) == Config()

    def test_a_project_has_the_configuration_of_its_repository(self, tmp_path: Path) -> None:
        (tmp_path / ".git").mkdir()
        project = tmp_path / "packages" / "a"
        project.mkdir(parents=True)
        write(project, "[project]\nname = 'a'\n", "pyproject.toml")
        write(
            tmp_path,
            "[policy]\nmax_attempts = 7\n[checks.all]\ncommand = 'make'\njudges = ['x/y']\n"
            "[checks.a]\ncommand = 'pytest'\ndirectory = 'packages/a/src'\n",
        )
        config = read_config(project)
        assert config.policy.max_attempts == 7
        assert {name: check.directory for name, check in config.checks.items()} == {"a": "src"}
        beside = read_config(tmp_path / "packages" / "b").checks
        assert {name: check.directory for name, check in beside.items()} == {
            "all": "../..",
            "a": "../a/src",
        }
        assert beside["all"].judges == ("../../x/y",)

    def test_the_nearest_configuration_wins(self, tmp_path: Path) -> None:
        (tmp_path / ".git").mkdir()
        write(tmp_path, "[policy]\nmax_attempts = 7\n")
        (tmp_path / "a").mkdir()
        write(tmp_path / "a", "[tool.runtrue.policy]\nmax_attempts = 8\n", "pyproject.toml")
        assert read_config(tmp_path / "a" / "b").policy.max_attempts == 8

    def test_what_is_above_the_repository_does_not_count(self, tmp_path: Path) -> None:
        write(tmp_path, "[policy]\nmax_attempts = 7\n")
        (tmp_path / "a" / ".git").mkdir(parents=True)
        assert read_config(tmp_path / "a" / "b") == Config()
        (tmp_path / "b").mkdir()
        assert read_config(tmp_path / "b") == Config()

    def test_the_policy_is_the_loops(self, tmp_path: Path) -> None:
        write(tmp_path, EVERYTHING)
        assert read_config(tmp_path).to_policy() == Policy(
            max_attempts=5,
            transport_retries=0,
            format_retries=2,
            max_time=600.0,
            abort_on_regression=False,
            ask_human=True,
            rungs=("tool", "agent", "human"),
        )
        assert Config().to_policy() == Policy(rungs=RUNGS[:-1])


class TestMistakes:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            (
                "[polcy]\nmax_attempts = 1\n",
                "1: polcy: unknown key (did you mean 'policy'?); "
                "known here: checks, fixers, policy, sandbox, isolation, model, coverage, "
                "escalation, security, memory, gate, ralph, plans, secrets, workflows",
            ),
            (
                "\n[policy]\nmax_attempts = 1\nmax_atempts = 2\n",
                "4: policy.max_atempts: unknown key (did you mean 'max_attempts'?); known here: "
                "max_attempts, transport_retries, format_retries, max_time, abort_on_regression, "
                "escalation_on_max, backoff, backoff_seconds, flaky_reruns, confidence_floor",
            ),
            (
                '[checks.a]\ncommand = "x"\n[checks.b]\ncomand = "x"\n',
                "4: checks.b.comand: unknown key (did you mean 'command'?); "
                "known here: command, mode, known, timeout, fix, judges, env, directory, "
                "fail_fast, verbose, test_seconds",
            ),
            (
                "[fixers]\n[fixers.agnt]\n",
                "2: fixers.agnt: unknown key (did you mean 'agent'?); "
                "known here: order, search, agent",
            ),
            (
                "fixers.agent.comand = 'x'\n",
                "1: fixers.agent.comand: unknown key (did you mean 'command'?); "
                "known here: command, timeout, env, once, network, read, write",
            ),
            (
                "[sandbox]\nzzz = 1\n",
                "2: sandbox.zzz: unknown key; known here: kind, env",
            ),
        ],
    )
    def test_an_unknown_key(self, tmp_path: Path, text: str, expected: str) -> None:
        assert complaint(tmp_path, text) == expected

    def test_what_only_a_user_may_say_is_not_heard_from_a_project(self, tmp_path: Path) -> None:
        (tmp_path / "runtrue.toml").write_text("[workflows]\nallow_loopback = true\n")
        with pytest.raises(ConfigError, match="workflows: works only in your own"):
            read_config(tmp_path)

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            (
                "[policy]\nmax_attempts = 'x'\n",
                "2: policy.max_attempts: expected a whole number, got text",
            ),
            (
                "[policy]\nmax_attempts = 1.5\n",
                "2: policy.max_attempts: expected a whole number, got a number",
            ),
            ("policy = 3\n", "1: policy: expected a table, got a whole number"),
            ("checks = 3\n", "1: checks: expected a table, got a whole number"),
            ("[checks]\ntests = 'x'\n", "2: checks.tests: expected a table, got text"),
            (
                "[checks.a]\ncommand = 'x'\n\n[checks.b]\ncommand = 'x'\ntimeout = 'soon'\n",
                "6: checks.b.timeout: expected a number, got text",
            ),
            (
                "[checks.'a b']\ncommand = 1\n",
                "2: checks.a b.command: expected text, got a whole number",
            ),
            (
                "[checks.a]\nmode = 'required'\n",
                "1: checks.a: table missing required field `command`",
            ),
            (
                "[fixers]\norder = 'tool'\n",
                "2: fixers.order: expected a list, got text",
            ),
            (
                "[fixers]\norder = ['tool', 3]\n",
                "2: fixers.order.1: expected text, got a whole number",
            ),
            (
                "[sandbox]\nenv = [1979-05-27]\n",
                "2: sandbox.env.0: expected text, got a date",
            ),
        ],
    )
    def test_a_wrong_type(self, tmp_path: Path, text: str, expected: str) -> None:
        assert complaint(tmp_path, text) == expected

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            (
                "[policy]\nmax_attempts = 0\n",
                "2: policy.max_attempts: expected a whole number >= 1",
            ),
            (
                "[policy]\nmax_attempts = 11\n",
                "2: policy.max_attempts: expected a whole number <= 10",
            ),
            ("[policy]\nmax_time = 0\n", "2: policy.max_time: expected a number > 0.0"),
            ("[policy]\nmax_time = inf\n", "2: policy.max_time: expected a number <= 86400.0"),
            (
                "[checks.a]\ncommand = 'x'\ntimeout = -1\n",
                "3: checks.a.timeout: expected a number > 0.0",
            ),
            (
                "[checks.a]\ncommand = ''\n",
                "2: checks.a.command: expected text of length >= 1",
            ),
            (
                "[fixers.agent]\ntimeout = 1e9\n",
                "2: fixers.agent.timeout: expected a number <= 86400.0",
            ),
        ],
    )
    def test_a_value_out_of_range(self, tmp_path: Path, text: str, expected: str) -> None:
        assert complaint(tmp_path, text) == expected

    @pytest.mark.parametrize(
        "route", ["a:99999", "a:65536", "::1:80", "[x]:80", "a", "a:b", "a/b:1"]
    )
    def test_a_route_that_leads_nowhere(self, tmp_path: Path, route: str) -> None:
        text = f'[isolation]\nnetwork = ["{route}"]\n'
        assert complaint(tmp_path, text).startswith("2: isolation.network")

    @pytest.mark.parametrize("route", ["a:1", "*.a.org:65535", "[::1]:5432", "127.0.0.1:80"])
    def test_a_route_that_leads_somewhere(self, tmp_path: Path, route: str) -> None:
        text = f'[isolation]\nnetwork = ["{route}"]\n'
        write(tmp_path, text)
        assert read_config(tmp_path).isolation.network == (route,)

    @pytest.mark.parametrize("text", ["[policy]\nmax_time = nan\n"])
    def test_a_number_that_is_none(self, tmp_path: Path, text: str) -> None:
        assert complaint(tmp_path, text).startswith("2: policy.max_time: ")

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            (
                "[checks.a]\ncommand = 'x'\nmode = 'requird'\n",
                "3: checks.a.mode: invalid enum value 'requird' (did you mean 'required'?); "
                "available: required, informational",
            ),
            (
                "[sandbox]\nkind = 'worktre'\n",
                "2: sandbox.kind: invalid enum value 'worktre' (did you mean 'worktree'?); "
                "available: worktree, copy",
            ),
            (
                "[fixers]\norder = ['tool', 'agnet']\n",
                "2: fixers.order: there is no fixer 'agnet' (did you mean 'agent'?); "
                "the ladder has: memory, tool, search, model, agent, human",
            ),
        ],
    )
    def test_a_word_that_is_not_among_the_choices(
        self, tmp_path: Path, text: str, expected: str
    ) -> None:
        assert complaint(tmp_path, text) == expected

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            (
                '[checks.a]\ncommand = "pytest \'oops"\n',
                "2: checks.a.command: the command cannot be read: no closing quotation",
            ),
            ("[checks.a]\ncommand = ' '\n", "2: checks.a.command: the command is empty"),
            (
                '[checks.a]\ncommand = "a\\u0000b"\n',
                "2: checks.a.command: a command cannot contain a null character",
            ),
            (
                "[fixers.agent]\ncommand = 'agent \"'\n",
                "2: fixers.agent.command: the command cannot be read: no closing quotation",
            ),
            ("[fixers.agent]\ncommand = ' '\n", "2: fixers.agent.command: the command is empty"),
            ("[fixers.agent]\ncommand = ''\n", "2: fixers.agent.command: the command is empty"),
            ("[security]\ncommand = ''\n", "2: security.command: the command is empty"),
            (
                "[checks.a]\ncommand = 'x'\nfix = 'mend \"it'\n",
                "3: checks.a.fix: the command cannot be read: no closing quotation",
            ),
            ("[checks.a]\ncommand = 'x'\nfix = ''\n", "3: checks.a.fix: the command is empty"),
        ],
    )
    def test_a_command_that_can_never_run(self, tmp_path: Path, text: str, expected: str) -> None:
        assert complaint(tmp_path, text) == expected

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("[gate]\nallow_skip = 1\n", "expected true or false, got a whole number"),
            ("[escalation]\ntriggers = 3\n", "expected a list, got a whole number"),
            ("[model]\nname = true\n", "expected text, got true or false"),
            ("[memory]\ndays = []\n", "expected a whole number, got a list"),
            ("[policy]\nmax_time = {}\n", "expected a number, got a table"),
        ],
    )
    def test_types_are_told_in_plain_words(self, tmp_path: Path, text: str, expected: str) -> None:
        message = complaint(tmp_path, text)
        assert message.endswith(f": {expected}")
        assert message.startswith("2: ")

    @pytest.mark.parametrize(
        ("line", "expected"),
        [
            ("BAR = 2", "BAR: expected text, got a whole number"),
            ("'a.b' = []", "a.b: expected text, got a list"),
            ("'' = 'x'", f'"": {NO_NAME}'),
            ("'A=B' = 'x'", f"A=B: {NO_NAME}"),
            (r'"a\u0000b" = "x"', rf"a\x00b: {NO_NAME}"),
            (r'BAR = "a\u0000b"', "BAR: a variable cannot contain a null character"),
        ],
    )
    def test_a_variable_that_cannot_be_is_told_at_its_own_line(
        self, tmp_path: Path, line: str, expected: str
    ) -> None:
        text = f"[checks.x]\ncommand = 'c'\n[checks.x.env]\nFOO = 'fine'\n{line}\n"
        assert complaint(tmp_path, text) == f"5: checks.x.env.{expected}"

    @pytest.mark.parametrize(
        ("directory", "expected"),
        [
            ("", "the directory is empty; use '.' for the project itself"),
            ("/a", "'/a' is absolute; give a path relative to the project"),
            ("..", "'..' is outside the project; name one inside it"),
            ("a/../../b", "'a/../../b' is outside the project; name one inside it"),
            (r"a\u0000", "a directory name cannot contain a null character"),
        ],
    )
    def test_a_directory_that_is_not_in_the_project(
        self, tmp_path: Path, directory: str, expected: str
    ) -> None:
        text = f'[checks.x]\ncommand = "c"\ndirectory = "{directory}"\n'
        assert complaint(tmp_path, text) == f"3: checks.x.directory: {expected}"

    @pytest.mark.parametrize("directory", [".", "./a", "a/b/", "a/../b", "..a"])
    def test_a_directory_in_the_project_is_fine(self, tmp_path: Path, directory: str) -> None:
        write(tmp_path, f'[checks.x]\ncommand = "c"\ndirectory = "{directory}"\n')
        assert read_config(tmp_path).checks["x"].directory == directory

    @pytest.mark.parametrize("name", ["coverage", "test_kinds", "security", "independence"])
    def test_a_check_cannot_be_called_like_a_gate(self, tmp_path: Path, name: str) -> None:
        text = f"[checks.a]\ncommand = 'c'\n[checks.{name}]\ncommand = 'c'\n"
        assert complaint(tmp_path, text) == (
            f"3: checks.{name}: a gate has this name; choose another, such as '{name}_check'"
        )

    def test_gates_and_kinds_of_tests_are_those_that_there_are(self) -> None:
        names = {module.NAME for module in (coverage, independence, proof, security)}
        assert set(GATES) == names
        assert set(TEST_KINDS) == {
            kind for each in CodeType for kind in Requirements().of(each).required_tests
        }

    def test_a_rung_is_there_once(self, tmp_path: Path) -> None:
        text = "[fixers]\norder = ['tool', 'agent', 'tool']\n"
        expected = "2: fixers.order: 'tool' is there 2 times; name each fixer once"
        assert complaint(tmp_path, text) == expected

    def test_a_condition_has_one_trigger(self, tmp_path: Path) -> None:
        one = "[[escalation.triggers]]\naction = 'human_review'\ncondition = '{}'\n"
        conditions = ("timeout_exceeded", "regression_detected", "timeout_exceeded")
        assert complaint(tmp_path, "".join(map(one.format, conditions))) == (
            "9: escalation.triggers.2.condition: 'timeout_exceeded' already has a trigger; "
            "keep one of them"
        )

    @pytest.mark.parametrize(
        ("others", "missing"),
        [
            ("", "smtp_host and email_from and email_to"),
            ("smtp_host = 'h'\nemail_to = ['a@example.org']\n", "email_from"),
            ("smtp_host = ''\nemail_from = 'a@example.org'\n", "smtp_host and email_to"),
        ],
    )
    def test_mail_needs_a_server_a_sender_and_a_receiver(
        self, tmp_path: Path, others: str, missing: str
    ) -> None:
        text = f"[escalation.notification]\nchannel = 'email'\n{others}"
        assert complaint(tmp_path, text) == (
            f"2: escalation.notification.channel: 'email' needs {missing} in "
            "[escalation.notification]"
        )

    @pytest.mark.parametrize(
        ("word", "meant"),
        [
            ("edge_case", "edge_cases"),
            ("happy_paths", "happy_path"),
            ("happy-path", "happy_path"),
            ("hapyp_path", "happy_path"),
            ("rregression_test", "regression_test"),
        ],
    )
    def test_a_kind_of_test_that_is_one_edit_away_from_a_known_one(
        self, tmp_path: Path, word: str, meant: str
    ) -> None:
        text = f"[coverage.bug_fix]\nrequired_tests = ['happy_path', '{word}']\n"
        assert complaint(tmp_path, text) == (
            f"2: coverage.bug_fix.required_tests: there is no kind of test {word!r} "
            f"(did you mean {meant!r}?)"
        )

    @pytest.mark.parametrize("word", ["smoke", "edges", "error", "", *TEST_KINDS])
    def test_other_kinds_of_tests_are_the_projects_own(self, tmp_path: Path, word: str) -> None:
        write(tmp_path, f"[coverage.bug_fix]\nrequired_tests = ['{word}']\n")
        assert read_config(tmp_path).coverage.bug_fix.required_tests == (word,)

    @pytest.mark.parametrize(
        "text",
        [
            r'"a\nb" = 1',
            r'fixers.order = ["a\nb"]',
            r'sandbox.kind = "a\nb"',
            r'checks."a\nb".command = 1',
        ],
    )
    def test_a_complaint_stays_one_line(self, tmp_path: Path, text: str) -> None:
        assert r"a\nb" in complaint(tmp_path, text)

    @pytest.mark.parametrize("name", ["runtrue.toml", "pyproject.toml"])
    @pytest.mark.parametrize(
        ("text", "line"),
        [
            ("[policy]\nmax_attempts = \n", 2),
            ("[policy\n", 1),
            ("a = 1\na = 2\n", 2),
            ("\n\na = 'x", 3),
            ('[policy]\n# ä\nx = """\n\n', 3),
        ],
    )
    def test_broken_toml(self, tmp_path: Path, name: str, text: str, line: int) -> None:
        place, _, message = complaint(tmp_path, text, name).partition(": ")
        assert place == str(line)
        assert message
        assert "(at" not in message

    def test_bytes_that_are_no_text(self, tmp_path: Path) -> None:
        assert complaint(tmp_path, b"[policy]\n# \xff\n") == "2: is not UTF-8 text"

    def test_nesting_without_end(self, tmp_path: Path) -> None:
        text = "a = " + "[" * 100_000
        assert complaint(tmp_path, text) == " cannot be read: it is nested too deeply"

    def test_a_file_that_cannot_be_read(self, tmp_path: Path) -> None:
        # Reading one's own memory at 0 fails, for root as well.
        (tmp_path / "runtrue.toml").symlink_to("/proc/self/mem")
        with pytest.raises(ConfigError, match=r"runtrue\.toml: cannot be read: "):
            read_config(tmp_path)

    def test_in_pyproject_the_whole_key_is_named(self, tmp_path: Path) -> None:
        text = "[project]\nname = 'x'\n\n[tool.runtrue.policy]\nmax_atempts = 2\n"
        message = complaint(tmp_path, text, "pyproject.toml")
        assert message.startswith("5: tool.runtrue.policy.max_atempts: unknown key")

    def test_settings_that_are_no_table(self, tmp_path: Path) -> None:
        message = complaint(tmp_path, "[tool]\nruntrue = 3\n", "pyproject.toml")
        assert message == "2: tool.runtrue: expected a table, got a whole number"

    @pytest.mark.parametrize(
        ("text", "line"),
        [
            ("[ policy ]\nx = 1\n", 2),
            ("policy.x = 1\n", 1),
            ("'policy' . \"x\" = 1\n", 1),
            ("policy = {x = 1}\n", 1),
            ("policy = { max_attempts = 1,\n x = 1}\n", 1),
            ("[policy]\n\n\n   x    =    1\n", 4),
            ('[checks."a.b"]\ncommand = "c"\n[policy]\nx = 1\n', 4),
            ("[policy] # [checks]\n# x = 1\nx = 1\n", 3),
        ],
    )
    def test_however_a_key_is_written_its_line_is_found(
        self, tmp_path: Path, text: str, line: int
    ) -> None:
        assert complaint(tmp_path, text).split(":")[0] == str(line)

    def test_a_name_with_a_dot(self, tmp_path: Path) -> None:
        text = '[checks.c]\ncommand = "c"\n\n[checks."a.b"]\ncommand = 1\n'
        assert complaint(tmp_path, text).startswith("5: checks.a.b.command: ")


PLANS = """
[plans]
profile = "ours"
sandbox = "none"
validation_retry_limit = 0
answer_within = 0

[plans.profiles.ours]
base = "trusted"
max_cost = 5

[plans.profiles.plain]
auto_apply = true

[plans.validations."unit tests"]
kind = "tests"
watches = ["src/**"]
env = {A = "b"}
"""


class TestPlans:
    def test_without_any_the_defaults_hold(self, tmp_path: Path) -> None:
        plans = read_config(tmp_path).plans
        assert plans == PlansConfig()
        assert plans.profile == DEFAULT_PROFILE
        assert plans.all_profiles() == PROFILES

    @pytest.mark.parametrize("name", ["runtrue.toml", "pyproject.toml"])
    def test_everything_can_be_set(self, tmp_path: Path, name: str) -> None:
        write(tmp_path, PLANS if name == "runtrue.toml" else in_pyproject(PLANS), name)
        plans = read_config(tmp_path).plans
        assert (plans.profile, plans.sandbox) == ("ours", "none")
        assert (plans.validation_retry_limit, plans.answer_within) == (0, 0.0)
        unit = ValidationConfig(kind=ValidationKind.TESTS, watches=("src/**",), env={"A": "b"})
        assert plans.validations == {"unit tests": unit}

    def test_a_profile_has_the_flags_of_its_base_but_for_its_own(self, tmp_path: Path) -> None:
        write(tmp_path, PLANS)
        every = read_config(tmp_path).plans.all_profiles()
        assert list(every) == [*PROFILES, "ours", "plain"]
        assert every["ours"] == replace(PROFILES["trusted"], max_cost=5.0)
        assert every["plain"] == replace(PROFILES[DEFAULT_PROFILE], auto_apply=True)
        assert type(every["ours"]) is AutomationProfile

    def test_a_validation_gets_its_name(self, tmp_path: Path) -> None:
        write(tmp_path, PLANS)
        found = read_config(tmp_path).plans.validations["unit tests"]
        assert found.named("x") == Validation(
            name="x", kind=ValidationKind.TESTS, watches=("src/**",), env={"A": "b"}
        )

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            (
                "[plans]\nprofle = 'auto'\n",
                "2: plans.profle: unknown key (did you mean 'profile'?); known here: profile, "
                "sandbox, validation_retry_limit, answer_within, validations, profiles",
            ),
            (
                "[plans]\nprofile = 'atuo'\n",
                "2: plans.profile: there is no profile 'atuo' (did you mean 'auto'?); "
                f"available: {', '.join(PROFILES)}",
            ),
            (
                "[plans]\nsandbox = 'non'\n",
                "2: plans.sandbox: invalid enum value 'non' (did you mean 'none'?); "
                "available: worktree, copy, none",
            ),
            (
                "[plans]\nvalidation_retry_limit = 101\n",
                "2: plans.validation_retry_limit: expected a whole number <= 100",
            ),
            (
                "[plans]\nanswer_within = inf\n",
                "2: plans.answer_within: expected a number <= 31536000.0",
            ),
            ("[plans]\nprofiles = 3\n", "2: plans.profiles: expected a table, got a whole number"),
            (
                "[plans.profiles]\nours = 3\n",
                "2: plans.profiles.ours: expected a table, got a whole number",
            ),
            (
                "[plans.profiles.ours]\nmax_cost = 1\nmax_time = 'x'\n",
                "3: plans.profiles.ours.max_time: expected a number, got text",
            ),
            (
                "[plans.profiles.ours]\nbase = 'rewiev'\n",
                "2: plans.profiles.ours.base: there is no profile 'rewiev' (did you mean 'review'?)"
                f"; available: {', '.join(PROFILES)}",
            ),
            (
                "[plans.profiles.ours]\nbase = 3\n",
                "2: plans.profiles.ours.base: expected text, got a whole number",
            ),
            (
                "[plans.profiles.ours]\n[plans.profiles.mine]\nbase = 'ours'\n",
                "3: plans.profiles.mine.base: there is no profile 'ours'; "
                f"available: {', '.join(PROFILES)}",
            ),
            (
                "[plans.profiles.auto]\nmax_cost = 1\n",
                "1: plans.profiles.auto: this profile is built in; give yours another name, and "
                "base = 'auto'",
            ),
            (
                "[plans.validations.a]\nkind = 'lint'\n[plans.validations.b]\nkind = 'lnt'\n",
                "4: plans.validations.b.kind: invalid enum value 'lnt' (did you mean 'lint'?); "
                "available: command, tests, lint, types, coverage, security, callable",
            ),
            (
                "[plans.validations.a]\n",
                "1: plans.validations.a: a validation of kind 'command' needs a command",
            ),
            (
                "[plans.validations.a]\nkind = 'lint'\nname = 'b'\n",
                "3: plans.validations.a.name: unknown key; known here: mode, kind, command, "
                "callable, minimum, severity, watches, timeout, test_seconds, fix, judges, env, "
                "directory",
            ),
            (
                "[plans.validations.' ']\ncommand = 'x'\n",
                "1: plans.validations. : the name of a validation is empty",
            ),
        ],
    )
    def test_mistakes(self, tmp_path: Path, text: str, expected: str) -> None:
        assert complaint(tmp_path, text) == expected

    def test_an_unknown_flag_of_a_profile(self, tmp_path: Path) -> None:
        text = "[plans.profiles.ours]\nauto_aply = true\n"
        assert complaint(tmp_path, text).startswith(
            "2: plans.profiles.ours.auto_aply: unknown key (did you mean 'auto_apply'?); "
            "known here: auto_strategize, "
        )


# -- anything at all ------------------------------------------------------------------------------

KEYS = st.sampled_from(
    [
        *("checks", "fixers", "policy", "sandbox", "agent", "order", "command", "mode", "timeout"),
        *("max_attempts", "max_time", "kind", "env", "fix", "judges", "once", "tool", "runtrue"),
        *("plans", "profiles", "validations", "base", "profile", "watches"),
        *("x", '"quo ted"', "''"),
    ]
)
VALUES = st.one_of(
    st.integers(-5, 20).map(str),
    st.floats().map(str),
    st.sampled_from(["true", "'required'", "'worktree'", "''", '"\\u0000"', "1979-05-27", "[]"]),
    st.sampled_from([f"'{rung}'" for rung in RUNGS]),
    st.lists(st.sampled_from([f"'{rung}'" for rung in RUNGS])).map(lambda r: f"[{', '.join(r)}]"),
    st.text(string.printable, max_size=8).map(lambda t: f"'{t}'"),
    st.just("{command = 'true'}"),
)
DOTTED = st.lists(KEYS, min_size=1, max_size=4).map(".".join)
LINES = st.one_of(
    DOTTED.map(lambda key: f"[{key}]"),
    st.builds(lambda key, value: f"{key} = {value}", DOTTED, VALUES),
    st.text(max_size=10),
)


@given(lines=st.lists(LINES, max_size=8), name=st.sampled_from(["runtrue.toml", "pyproject.toml"]))
@settings(
    deadline=None, max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_any_text_gives_a_configuration_or_a_complaint(
    tmp_path: Path, lines: list[str], name: str
) -> None:
    for other in ("runtrue.toml", "pyproject.toml"):
        (tmp_path / other).unlink(missing_ok=True)
    file = tmp_path / name
    file.write_bytes("\n".join(lines).encode(errors="surrogatepass"))
    message = ""
    try:
        assert isinstance(read_config(tmp_path).to_policy(), Policy)
    except ConfigError as error:
        message = str(error)
    assert not message or message.startswith(f"{file}:")
    assert "\n" not in message


def test_the_environment_says_how_long_to_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "runtrue.toml").write_text("[fixers.search]\nseconds = 30\ncandidates = 9\n")
    assert read_config(tmp_path).fixers.search.seconds == 30
    monkeypatch.setenv("RUNTRUE_SEARCH_SECONDS", "0")
    search = read_config(tmp_path).fixers.search
    assert (search.seconds, search.candidates) == (0, 9)
    monkeypatch.setenv("RUNTRUE_SEARCH_SECONDS", "soon")
    with pytest.raises(UsageError, match="'soon'; give a number of seconds from 0 to 3600"):
        read_config(tmp_path)
