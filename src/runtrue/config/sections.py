"""Sections: everything that can be configured, as typed data."""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass, field
from typing import Annotated, Literal

from msgspec import Meta

from runtrue.config.plans import PlansConfig, Seconds
from runtrue.confinement import ResourceLimits
from runtrue.loop import Known, Limits, Mode, Notification, Policy, Requirements, Trigger

#: The levels that need nothing but the machine, weakest first, and those that need an engine.
LevelName = Literal["process", "landlock", "bubblewrap", "docker", "podman"]
_PORT = r"(?:[1-5]?\d{1,4}|6[0-4]\d{3}|65[0-4]\d\d|655[0-2]\d|6553[0-5])"
#: `host:port`; a host may begin with `*.`, and an address of IPv6 is in brackets.
_ROUTE = rf"^(?:[^\s:/@\[\]]+|\[[0-9A-Fa-f:.]+\]):{_PORT}$"
Route = Annotated[str, Meta(pattern=_ROUTE)]


def is_route(text: str) -> bool:
    """Return whether a text names a host and a port, as `[isolation] network` does."""
    return re.match(_ROUTE, text) is not None


#: All rungs of the ladder, cheapest first. `human` is only climbed to when it is asked for.
RUNGS = ("memory", "tool", "search", "model", "agent", "human")


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckConfig:
    """`[checks.NAME]`."""

    command: Annotated[str, Meta(min_length=1)]
    mode: Mode = Mode.REQUIRED
    #: What is done about what it finds before anything is changed. None: a linter's is ignored,
    #: and that of any other check is to be fixed.
    known: Known | None = None
    #: None: it follows from how long the baseline takes.
    timeout: Seconds | None = None
    #: The command that fixes what this check finds, for the `tool` fixer.
    fix: str | None = None
    #: Further files, as patterns, that judge the candidate and are put back before each verdict.
    judges: tuple[str, ...] = ()
    #: Variables that the command gets, over those of the sandbox.
    env: dict[str, str] = field(default_factory=dict)
    #: Where it is run, as seen from the project.
    directory: str = "."
    #: Stop at the first test that fails.
    fail_fast: bool = False
    #: Show the failures in full.
    verbose: bool = True
    #: Processor time of one test, of pytest's; 0 is no limit. None: it follows from the baseline.
    test_seconds: Annotated[float, Meta(ge=0, le=86_400)] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentConfig:
    """`[fixers.agent]`: any command line; gets a prompt, edits files."""

    command: str | None = None
    timeout: Seconds = 900.0
    #: Variables of the user's environment that the agent gets to see, its key for one.
    env: tuple[str, ...] = ()
    #: It acts outside of the sandbox: after a crash inside it, it is not fired again unasked.
    once: bool = False
    #: What it may connect to: anything, unless it is said.
    network: tuple[Route, ...] | None = None
    #: Further places that it may read, its settings in the home directory for one, and write.
    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchConfig:
    """`[fixers.search]`: how much may be used up in looking for an edit."""

    #: Processor time of one search and its tests; 0 switches it off.
    seconds: Annotated[float, Meta(ge=0, le=3600)] = 20.0
    candidates: Annotated[int, Meta(ge=1, le=1_000_000)] = 20_000
    #: What the inputs are made from on which candidates that pass are compared.
    seed: Annotated[int, Meta(ge=0, le=4_294_967_295)] = 0
    #: What is less sure than this is left to a model or an agent, where there is one.
    confidence: Annotated[float, Meta(ge=0, le=1)] = 0.5
    #: Candidates that are tried at the same time; as many as there are processors by default.
    jobs: Annotated[int, Meta(ge=1, le=256)] | None = None
    #: MiB that a candidate may use beyond what its tests need to be loaded.
    memory: Annotated[int, Meta(ge=16, le=1_048_576)] = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class FixersConfig:
    """`[fixers]`: the ladder."""

    order: tuple[str, ...] = RUNGS[:-1]
    search: SearchConfig = SearchConfig()
    agent: AgentConfig = AgentConfig()

    def writer(self, *, model: str | None, agent: str | None) -> Literal["agent", "model"] | None:
        """Return who writes new code: the named agent, a model, or the configured agent."""
        if agent:
            return "agent"
        return "model" if model else "agent" if self.agent.command else None


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxConfig:
    """`[sandbox]`."""

    kind: Literal["worktree", "copy"] | None = None
    #: Further variables of the user's environment that checks and fixers get to see.
    env: tuple[str, ...] = ()


_NOTIFICATION = Notification()


@dataclass(frozen=True, slots=True, kw_only=True)
class EscalationConfig:
    """`[escalation]`: when to turn to somebody else, and how to notify them."""

    #: None: those that the loop has by itself.
    triggers: tuple[Trigger, ...] | None = None
    notification: Notification = _NOTIFICATION


@dataclass(frozen=True, slots=True, kw_only=True)
class SecurityConfig:
    """`[security]`: the scanner of what was changed."""

    #: `{files}` in it are the changed files; it prints SARIF, or JSON as bandit does.
    command: str | None = None
    severity: Literal["low", "medium", "high"] = "medium"


Days = Annotated[int, Meta(ge=1, le=36_500)]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryConfig:
    """`[memory]`: what is left in the project, and how many days failures and fixes are kept."""

    #: Leave a file of each run of `code` and `gate` in the project, and read earlier ones.
    sessions: bool = True
    days: Days = 30
    #: Those that something was learned from.
    learning_days: Days = 60
    #: Those that were escalated.
    escalated_days: Days = 90


@dataclass(frozen=True, slots=True, kw_only=True)
class GateConfig:
    """`[gate]`."""

    #: `--skip REASON` is allowed.
    allow_skip: bool = False
    #: Whether new tests that notice no edit of the changed lines are reported, or refused.
    tests_can_fail: Literal["informational", "required", "off"] = "informational"
    #: Seconds to try such edits for.
    tests_can_fail_seconds: Annotated[float, Meta(gt=0, le=3600)] = 10.0
    #: Gates of plugins that a candidate must pass, too.
    plugins: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RalphConfig:
    """`[ralph]`: how a run takes part in a loop around it."""

    require_passing_tests: bool = True
    #: Keep a file of the debug memory for each iteration.
    persist_per_iteration: bool = True
    #: Tell the generator what earlier iterations learned.
    cross_iteration_learning: bool = True
    #: Count the rate of passing tests as progress, with this weight.
    include_test_pass_rate: bool = True
    weight: Annotated[float, Meta(ge=0, le=1)] = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelConfig:
    """`[model]`."""

    #: `provider:name`; RUNTRUE_MODEL overrides it.
    name: str | None = None
    #: The address of an endpoint; a variable such as OPENAI_BASE_URL overrides it.
    base_url: str | None = None
    #: The variable or secret with the key. With a `base_url`, no other key is sent there.
    key_env: str | None = None


_RESOURCE_LIMITS = ResourceLimits()


@dataclass(frozen=True, slots=True, kw_only=True)
class IsolationConfig:
    """`[isolation]`."""

    #: Where nothing as strong as this can be had, commands are not run.
    minimum: Literal["process", "landlock", "bubblewrap"] = "landlock"
    #: None: the strongest that can be had. RUNTRUE_ISOLATION overrides it.
    level: LevelName | None = None
    #: What checks and candidates may connect to.
    network: tuple[Route, ...] = ()
    #: Further places that they may read, and write.
    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    #: The image of a container, for `docker` and `podman`.
    image: str | None = None
    limits: ResourceLimits = _RESOURCE_LIMITS


#: The stores of secrets that runtrue has; others come with plugins.
STORES = ("environment", "keyring", "file")


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretsConfig:
    """`[secrets]`."""

    #: Where a secret is looked up by its name, in this order.
    stores: tuple[str, ...] = STORES


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowsConfig:
    """`[workflows]`, in the user's own file only: a project must not open doors."""

    #: This machine itself. RUNTRUE_ALLOW_LOOPBACK overrides it.
    allow_loopback: bool = False
    #: Addresses, networks and names, with a port or without. RUNTRUE_ALLOW_PRIVATE overrides it.
    allow_private: tuple[str, ...] = ()
    #: Files and directories outside of the working directory that file nodes may reach.
    files: tuple[str, ...] = ()


_ISOLATION = IsolationConfig()
_LIMITS = Limits()
_REQUIREMENTS = Requirements()
_PLANS = PlansConfig()
_SECRETS = SecretsConfig()
_WORKFLOWS = WorkflowsConfig()


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Everything that can be configured, with the defaults filled in."""

    checks: dict[str, CheckConfig] = field(default_factory=dict)
    fixers: FixersConfig = FixersConfig()
    policy: Limits = _LIMITS
    sandbox: SandboxConfig = SandboxConfig()
    isolation: IsolationConfig = _ISOLATION
    model: ModelConfig = ModelConfig()
    coverage: Requirements = _REQUIREMENTS
    escalation: EscalationConfig = EscalationConfig()
    security: SecurityConfig = SecurityConfig()
    memory: MemoryConfig = MemoryConfig()
    gate: GateConfig = GateConfig()
    ralph: RalphConfig = RalphConfig()
    plans: PlansConfig = _PLANS
    secrets: SecretsConfig = _SECRETS
    workflows: WorkflowsConfig = _WORKFLOWS

    def to_policy(self, triggers: tuple[Trigger, ...] = ()) -> Policy:
        """Return the loop's policy; a ladder that ends at a person asks before it gives up.

        `triggers` are those of the loop, for a configuration that has none of its own.
        """
        own = self.escalation.triggers
        return Policy(
            **{f.name: getattr(self.policy, f.name) for f in dataclasses.fields(self.policy)},
            ask_human="human" in self.fixers.order,
            triggers=triggers if own is None else own,
            rungs=self.fixers.order,
        )
