"""Plan files: a plan that somebody wrote, in YAML or JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from runtrue.config import (
    ProfileConfig,
    SandboxKind,
    Validation,
    fill_profile,
    problem_of_profile,
    problems_of_validation,
)
from runtrue.documents import KeyProblem, Pointer, Source, read_data, read_document
from runtrue.errors import PlanError
from runtrue.loop import (
    PROFILES,
    AnswerWithin,
    AutomationProfile,
    MaxCost,
    MaxTime,
    RetryLimit,
)
from runtrue.plan.strategy import Strategy
from runtrue.plan.strategy_data import strategy_from


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanFile:
    """The contents of a plan file; None where it says nothing."""

    instruction: str
    strategy: Strategy | None = None
    validations: tuple[Validation, ...] = ()
    profile: AutomationProfile | None = None
    profile_name: str | None = None
    #: The flags that it changes of the profile.
    flags: frozenset[str] = frozenset()
    validation_retry_limit: int | None = None
    sandbox: SandboxKind | None = None
    #: These three over the profile's.
    answer_within: float | None = None
    max_cost: float | None = None
    max_time: float | None = None


def load_plan_file(path: Path, *, profiles: Mapping[str, AutomationProfile] = PROFILES) -> PlanFile:
    """Read a plan. `profiles` are those it may name.

    Every mistake is a UsageError of one sentence: file, line, key, and what would have been right.
    """
    document = read_document(path)
    source = Source(document, PlanError, whole="the plan")
    keys = read_data(
        source,
        _Keys,
        problems=lambda keys: _problems(keys, profiles),
        fill=lambda data: _filled(data, profiles),
    )
    profile, name = _profile(keys.automation_profile, profiles)
    strategy = keys.strategy
    in_strategy = Source(document, PlanError, ("strategy",))
    return PlanFile(
        instruction=keys.instruction.strip(),
        strategy=None if strategy is None else strategy_from(strategy, in_strategy.where),
        validations=keys.validations,
        profile=profile,
        profile_name=name,
        flags=_flags(document.data),
        validation_retry_limit=keys.validation_retry_limit,
        sandbox=keys.sandbox,
        answer_within=keys.answer_within,
        max_cost=keys.max_cost,
        max_time=keys.max_time,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Keys:
    """The keys of a plan file as they are written."""

    instruction: str
    strategy: Any = None
    validations: tuple[Validation, ...] = ()
    automation_profile: str | ProfileConfig | None = None
    validation_retry_limit: RetryLimit | None = None
    sandbox: SandboxKind | None = None
    answer_within: AnswerWithin | None = None
    max_cost: MaxCost | None = None
    max_time: MaxTime | None = None


def _filled(data: Any, profiles: Mapping[str, AutomationProfile]) -> Any:
    if not isinstance(data, dict) or "automation_profile" not in data:
        return data
    return {**data, "automation_profile": fill_profile(data["automation_profile"], profiles)}


def _flags(data: Any) -> frozenset[str]:
    written = data.get("automation_profile") if isinstance(data, dict) else None
    return frozenset(written) if isinstance(written, dict) else frozenset()


def _profile(
    written: str | ProfileConfig | None, profiles: Mapping[str, AutomationProfile]
) -> tuple[AutomationProfile | None, str | None]:
    """The profile that a plan asks for, and what it is called."""
    if written is None:
        return None, None
    if isinstance(written, str):
        return profiles[written], written
    return written.to_profile(), f"{written.base} (changed)"


def _problems(keys: _Keys, profiles: Mapping[str, AutomationProfile]) -> Iterator[KeyProblem]:
    if not keys.instruction.strip():
        yield ("instruction",), "the instruction is empty; say what to do"
    pointer: Pointer = ("automation_profile",)
    name = keys.automation_profile
    if isinstance(name, ProfileConfig):
        pointer, name = (*pointer, "base"), name.base
    if name is not None and (problem := problem_of_profile(name, profiles)):
        yield pointer, problem
    seen: set[str] = set()
    for number, validation in enumerate(keys.validations):
        path = ("validations", number)
        if not validation.name.strip():
            yield (*path, "name"), "the name of a validation is empty"
        if validation.name in seen:
            yield (*path, "name"), f"{validation.name!r} is there already; give each its own name"
        seen.add(validation.name)
        yield from problems_of_validation(path, validation)


def plan_file_schema() -> dict[str, Any]:
    """Return the JSON Schema of plan files."""
    (_, strategy), definitions = msgspec.json.schema_components(
        [_Keys, Strategy], ref_template="#/$defs/{name}"
    )
    plan = definitions.pop("_Keys")
    plan["title"] = "Plan file"
    plan["description"] = "An instruction, its strategy and its validations."
    plan["properties"]["strategy"] = {"anyOf": [strategy, {"type": "null"}]}
    definitions["Step"]["required"] = ["description"]  # ids are given to those without
    del definitions["Bounds"]["properties"]["deletable"]  # known from approvals only
    return {**plan, "$defs": definitions}
