"""Strategies as data: read from a plan file or from what a machine made, by the same rules."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, fields
from typing import Any, NoReturn

from msgspec import UNSET, UnsetType

from runtrue.documents import Pointer, problem_of_pattern, suggestion, unknown_key
from runtrue.errors import PlanError
from runtrue.loop import Bounds
from runtrue.plan.strategy import Actor, Step, Strategy

#: What a pointer is called in a message: `plan.yaml:7: steps[1].actor`.
Where = Callable[[Pointer], str]

_STRATEGY_KEYS = tuple(f.name for f in fields(Strategy))
_STEP_KEYS = tuple(f.name for f in fields(Step))
#: What may be deleted although other files may not is a matter of approval.
_BOUNDS_KEYS = tuple(f.name for f in fields(Bounds) if f.name != "deletable")
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_UNBOUNDED = Bounds()


def spelled(pointer: Pointer) -> str:
    """A place in data in the usual spelling: `steps[1].bounds.paths[0]`."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in pointer)
    return text.removeprefix(".") or "the strategy"


def strategy_from(data: object, where: Where = spelled) -> Strategy:
    """The strategy in plain data. Raises PlanError, whose message begins with where it is wrong."""
    reader = _StrategyReader(where)
    members = reader.members(data, (), _STRATEGY_KEYS)
    bounds = reader.bounds(members.get("bounds"), ("bounds",))
    steps = reader.steps(members.get("steps"), ("steps",), _Around(bounds=bounds))
    return Strategy(steps=steps, bounds=bounds)


def steps_from(
    data: object, where: Where = spelled, *, instead_of: Step, strategy: Strategy
) -> tuple[Step, ...]:
    """The steps in a list of plain data that are to take the place of one in a strategy.

    One without an id gets that of the step it replaces, and several get it as the beginning of
    theirs. No id may be one that the rest of the strategy has. Raises PlanError as above.
    """
    others = strategy.replaced(instead_of.id, ())
    reader = _StrategyReader(
        where, taken={step.id: "the strategy" for _, step in others.all_steps()}
    )
    is_one = isinstance(data, list) and len(data) == 1
    names = _numbered(f"{instead_of.id}.") if not is_one else iter([instead_of.id])
    return reader.steps(data, ("steps",), _Around(actor=instead_of.actor), names)


@dataclass(frozen=True, slots=True)
class _Around:
    """Bounds and actor that steps inherit from the strategy or the step around them."""

    bounds: Bounds = _UNBOUNDED
    actor: Actor | None = None


@dataclass(slots=True)
class _StrategyReader:
    """Reads one strategy. What is null is taken as not being there."""

    where: Where
    #: The ids so far, and where each stands.
    taken: dict[str, str] = field(default_factory=dict)
    #: The ids of the steps that are being read, the outermost first.
    open: list[str] = field(default_factory=list)

    def wrong(self, pointer: Pointer, problem: str) -> NoReturn:
        raise PlanError(f"{self.where(pointer)}: {problem}")

    def members(self, data: object, at: Pointer, known: tuple[str, ...]) -> dict[str, Any]:
        """The members of a mapping that are there, all of which have to be known."""
        if not isinstance(data, dict):
            self.wrong(at, f"this must be a mapping with {_listed(known)}")
        for key in data:
            if key not in known:
                self.wrong((*at, key), unknown_key(str(key), known))
        return {key: value for key, value in data.items() if value is not None}

    def steps(
        self, data: object, at: Pointer, around: _Around, names: Iterator[str] | None = None
    ) -> tuple[Step, ...]:
        if not isinstance(data, list) or not data:
            self.wrong(at, "this must be a list of at least one step")
        names = names or _numbered("s")
        return tuple(
            self._step(one, (*at, n), around, name)
            for n, (one, name) in enumerate(zip(data, names, strict=False))
        )

    def _step(self, data: object, at: Pointer, around: _Around, name: str) -> Step:
        members = self.members(data, at, _STEP_KEYS)
        before = tuple(name for name in self.taken if name not in self.open)
        step_id = self._id(members.get("id", name), at)
        bounds = self.bounds(members.get("bounds"), (*at, "bounds"))
        holding = bounds.within(around.bounds)
        command = self._text(members, "command", at)
        actor = self._actor(members.get("actor"), (*at, "actor")) or around.actor
        below: tuple[Step, ...] = ()
        if "steps" in members:
            if command is not None:
                self.wrong(
                    (*at, "command"), "a step with steps of its own cannot run a command itself"
                )
            inner = _Around(bounds=holding, actor=actor)
            self.open.append(step_id)
            below = self.steps(members["steps"], (*at, "steps"), inner, _numbered(f"{step_id}."))
            self.open.remove(step_id)
        elif command is not None and "actor" not in members:
            actor = Actor.COMMAND
        if actor is Actor.COMMAND and command is None and not below:
            self.wrong(at, "the actor 'command' needs a `command` to run")
        if actor is not Actor.COMMAND and command is not None:
            problem = f"only the actor 'command' runs a command, and this step has '{actor}'"
            self.wrong((*at, "command"), problem)
        if command is not None and not holding.allows(command):
            problem = f"the bounds do not allow it; they allow {_listed(holding.commands or ())}"
            self.wrong((*at, "command"), problem)
        return Step(
            id=step_id,
            description=self._text(members, "description", at)
            or self.wrong(at, "a step needs a `description`"),
            actor=actor or Actor.AGENT,
            command=command,
            bounds=bounds,
            network=self._flag(members.get("network", False), (*at, "network")),
            fixes=self._fixes(members, at, actor),
            needs=self._needs(members, at, before),
            steps=below,
        )

    def _needs(
        self, members: dict[str, Any], at: Pointer, before: tuple[str, ...]
    ) -> tuple[str, ...] | UnsetType:
        """Return the steps that a step builds upon, each of which stands before it."""
        needs = self._texts(members.get("needs"), (*at, "needs"))
        for n, name in enumerate(needs or ()):
            if name not in before:
                problem = f"{name!r} is no step before this one; there are {_listed(before)}"
                self.wrong((*at, "needs", n), problem)
        return UNSET if needs is None else needs

    def _fixes(self, members: dict[str, Any], at: Pointer, actor: Actor | None) -> bool:
        fixes = self._flag(members.get("fixes", False), (*at, "fixes"))
        if fixes and actor is not Actor.COMMAND:
            self.wrong(
                (*at, "fixes"), "only a step with a `command` can have it: others always fix"
            )
        return fixes

    def _id(self, value: object, at: Pointer) -> str:
        if not isinstance(value, str) or not _ID.fullmatch(value):
            problem = "an id has letters, digits, '-', '_' and '.', at most 64 of them"
            self.wrong((*at, "id"), problem)
        if value in self.taken:
            self.wrong((*at, "id"), f"{value!r} is the id of another step, in {self.taken[value]}")
        self.taken[value] = self.where(at)
        return value

    def _actor(self, value: object, at: Pointer) -> Actor | None:
        if value is None:
            return None
        if not isinstance(value, str) or value not in list(Actor):
            hint = suggestion(str(value), map(str, Actor))
            self.wrong(at, f"{value!r} is not an actor{hint}; there are {', '.join(Actor)}")
        return Actor(value)

    def bounds(self, data: object, at: Pointer) -> Bounds:
        if data is None:
            return _UNBOUNDED
        members = self.members(data, at, _BOUNDS_KEYS)
        paths = self._texts(members.get("paths"), (*at, "paths"))
        for n, path in enumerate(paths or ()):
            if problem := problem_of_pattern(path):
                self.wrong((*at, "paths", n), problem)
        return Bounds(
            paths=paths,
            commands=self._texts(members.get("commands"), (*at, "commands")),
            max_files=self._number(members.get("max_files"), (*at, "max_files")),
            max_lines=self._number(members.get("max_lines"), (*at, "max_lines")),
            deletes=self._flag(members.get("deletes", True), (*at, "deletes")),
        )

    def _text(self, members: dict[str, Any], key: str, at: Pointer) -> str | None:
        value = members.get(key)
        if value is None:
            return None
        return self._line(value, (*at, key)).strip()

    def _texts(self, value: object, at: Pointer) -> tuple[str, ...] | None:
        if value is None:
            return None
        if not isinstance(value, list):
            self.wrong(at, "this must be a list of texts")
        return tuple(self._line(one, (*at, n)) for n, one in enumerate(value))

    def _line(self, value: object, at: Pointer) -> str:
        if not isinstance(value, str) or not value.strip() or "\0" in value:
            self.wrong(at, "this must be text that is not empty")
        return value

    def _number(self, value: object, at: Pointer) -> int | None:
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            self.wrong(at, "this must be a whole number, at least 0")
        return value

    def _flag(self, value: object, at: Pointer) -> bool:
        if not isinstance(value, bool):
            self.wrong(at, "this must be true or false")
        return value


def _numbered(prefix: str) -> Iterator[str]:
    number = 0
    while True:
        number += 1
        yield f"{prefix}{number}"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "none"


def strategy_data(strategy: Strategy) -> dict[str, Any]:
    """A strategy as the plain data that it could be read from."""
    data: dict[str, Any] = {"steps": [step_data(step) for step in strategy.steps]}
    return {**data, **_bounds_data(strategy.bounds)}


def step_data(step: Step) -> dict[str, Any]:
    """A step, with all below it, as the plain data that it could be read from."""
    data: dict[str, Any] = {"id": step.id, "description": step.description}
    if step.is_leaf:
        data["actor"] = str(step.actor)
    if step.command is not None:
        data["command"] = step.command
    data |= _bounds_data(step.bounds)
    data |= {flag: True for flag in ("network", "fixes") if getattr(step, flag)}
    if step.needs is not UNSET:
        data["needs"] = list(step.needs)
    if step.steps:
        data["steps"] = [step_data(inner) for inner in step.steps]
    return data


def _bounds_data(bounds: Bounds) -> dict[str, Any]:
    said = {name: getattr(bounds, name) for name in _BOUNDS_KEYS}
    plain = {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in said.items()
        if value != getattr(_UNBOUNDED, name)
    }
    return {"bounds": plain} if plain else {}
