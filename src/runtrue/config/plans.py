"""`[plans]`: validations, profiles, and what holds for every plan of a project."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta

from runtrue.loop import (
    DEFAULT_PROFILE,
    PROFILES,
    AnswerWithin,
    AutomationProfile,
    Mode,
    RetryLimit,
)

Seconds = Annotated[float, Meta(gt=0, le=86_400)]
#: Where a plan works; `none` is the user's own tree.
SandboxKind: TypeAlias = Literal["worktree", "copy", "none"]


class ValidationKind(StrEnum):
    """The type of a validation."""

    COMMAND = "command"
    TESTS = "tests"
    LINT = "lint"
    TYPES = "types"
    COVERAGE = "coverage"
    SECURITY = "security"
    CALLABLE = "callable"


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidationConfig:
    """`[plans.validations.NAME]`."""

    mode: Mode = Mode.REQUIRED
    kind: ValidationKind = ValidationKind.COMMAND
    #: For `command`; for the structured ones, what is run instead of what the project has.
    command: str | None = None
    #: For `callable`: an entry point of the group `runtrue.validations`, or `module:function`.
    callable: str | None = None
    #: For `coverage`: percent of the changed lines.
    minimum: Annotated[float, Meta(ge=0, le=100)] = 80.0
    #: For `security`: findings below it do not count.
    severity: Literal["low", "medium", "high"] = "medium"
    #: Patterns for the files that it has something to say about; none: all.
    watches: tuple[str, ...] | None = None
    timeout: Seconds = 300.0
    #: Processor time of one test, of pytest's; 0 is no limit.
    test_seconds: Annotated[float, Meta(ge=0, le=86_400)] = 10.0
    #: The command that fixes what it finds, for the `tool` fixer.
    fix: str | None = None
    #: Further files, as patterns, that judge the candidate and are put back before each verdict.
    judges: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    #: Where it is run, as seen from the project.
    directory: str = "."

    def named(self, name: str) -> Validation:
        """Return the validation with that name."""
        return Validation(name=name, **{f.name: getattr(self, f.name) for f in fields(self)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation(ValidationConfig):
    """A named check of a plan. It looks at the sandbox, and changes nothing there."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileConfig(AutomationProfile):
    """`[plans.profiles.NAME]`: the flags of another profile, but for those that are set."""

    base: str = DEFAULT_PROFILE

    def to_profile(self) -> AutomationProfile:
        """Return the profile without its base."""
        own = {f.name: getattr(self, f.name) for f in fields(AutomationProfile)}
        return AutomationProfile(**own)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlansConfig:
    """`[plans]`: what plans do where neither their file nor the command line says otherwise."""

    #: By name: one that is built in, or one of the project's own.
    profile: str = DEFAULT_PROFILE
    #: None: that of `[sandbox]`.
    sandbox: SandboxKind | None = None
    #: These two over the profile's.
    validation_retry_limit: RetryLimit | None = None
    answer_within: AnswerWithin | None = None
    validations: dict[str, ValidationConfig] = field(default_factory=dict)
    profiles: dict[str, ProfileConfig] = field(default_factory=dict)

    def all_profiles(self) -> dict[str, AutomationProfile]:
        """Return the built-in profiles and the project's own."""
        return {**PROFILES, **{name: own.to_profile() for name, own in self.profiles.items()}}


def fill_profile(data: Any, known: Mapping[str, AutomationProfile]) -> Any:
    """Return a profile as written, completed with the flags of its base."""
    base = data.get("base", DEFAULT_PROFILE) if isinstance(data, dict) else None
    if not isinstance(base, str) or base not in known:
        return data
    return {**msgspec.to_builtins(known[base]), **data}
