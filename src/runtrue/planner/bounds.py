"""Bounds: what differs between two workflows, and what of it a runtime fix may not do. Pure.

A fix changes argument names, argument values and output paths. What runs, in which order, for what,
from which inputs and towards which outputs stays as it was planned. So does all that is wanted: an
error is not fixed by leaving out what led to it, nor by giving a secret to one more node.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Final

import msgspec

from runtrue.errors import UsageError
from runtrue.foreign_text import visible_name
from runtrue.planner.asked_for import left_out
from runtrue.planner.findings import Object, as_object, as_template, references_in
from runtrue.workflow import Registry, TemplateSyntaxError, compile_template

Steps = tuple[str | int, ...]
Difference = tuple[Steps, Any, Any]

_SHOWN = 80


class _Absent:
    def __repr__(self) -> str:
        return "ABSENT"


#: The value where there is none.
ABSENT: Final = _Absent()


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowChange:
    """One value that differs: its JSON pointer, the node that it is in, and both values.

    `before` or `after` is `ABSENT` where it was added or removed. `str()` is a line for people.
    """

    pointer: str
    node_id: str | None
    before: Any
    after: Any

    def __str__(self) -> str:
        parts = [part.replace("~1", "/").replace("~0", "~") for part in self.pointer.split("/")[1:]]
        if self.node_id is not None:
            parts = parts[3:] if parts[2:3] == ["params"] else parts[2:]
            parts[:1] = [f"{self.node_id}: {'.'.join(parts[:1])}".removesuffix(": ")]
        where = _one_line(".".join(parts))
        if self.before is ABSENT:
            return f"{where}  added: {_shown(self.after)}"
        if self.after is ABSENT:
            return f"{where}  removed: {_shown(self.before)}"
        return f"{where}  {_shown(self.before)} → {_shown(self.after)}"


def changes_between(before: Object, after: Object) -> tuple[WorkflowChange, ...]:
    """Return all that differs, in the order of the workflow. Nodes are compared by their ids."""
    return tuple(
        WorkflowChange(
            pointer=_pointer(place),
            node_id=_owner(place, after if old is ABSENT else before),
            before=old,
            after=new,
        )
        for place, old, new in _differences(before, after)
    )


def change_as_data(change: WorkflowChange) -> dict[str, Any]:
    """Return a change as plain data; `before` or `after` is left out where there was nothing."""
    sides = {"before": change.before, "after": change.after}
    return {
        "place": change.pointer,
        "node_id": change.node_id,
        **{side: value for side, value in sides.items() if value is not ABSENT},
    }


def violations(
    before: Object,
    after: Object,
    registry: Registry,
    done: Collection[str] = (),
    task: str = "",
) -> tuple[str, ...]:
    """Return a sentence for each thing that a runtime fix may not do and `after` does.

    Of the nodes in `done`, whose side effects have happened, only the reading of the answer may
    change. What the task names stays what is asked for: this very user, this id.
    """
    found = []
    for place, old, new in _differences(before, after):
        owner = _owner(place, after if old is ABSENT else before)
        found += [_violation(place, owner, old, new)]
    for name, (type_, old, new) in _changed_params(before, after).items():
        found.extend(
            f"node {name!r} {violation}"
            for violation in _param_violations(type_, old, new, registry)
        )
        if name in done and _sends_otherwise(type_, old, new, registry):
            found.append(
                f"node {name!r} has done its work, and cannot do it again with other params: "
                "only how its answer is read can be changed"
            )
        found.extend(
            f"node {name!r} would leave out {lost!r}, which the task names"
            for lost in left_out(type_, old, new, registry, task)
        )
    return tuple(dict.fromkeys(one for one in found if one is not None))


# -- differences --------------------------------------------------------------------------------


def _differences(before: Any, after: Any) -> Iterator[Difference]:
    """Yield what differs. Not recursive: a proposal may be nested as deep as it likes."""
    waiting: list[Difference] = [((), before, after)]
    while waiting:
        place, old, new = waiting.pop()
        inner: list[Difference]
        if place == ("nodes",) and _ids(old) != _ids(new):
            whole, inner = _other_nodes(old, new)
            yield from whole
        elif isinstance(old, Mapping) and isinstance(new, Mapping):
            keys = dict.fromkeys([*old, *new])
            inner = [((*place, k), old.get(k, ABSENT), new.get(k, ABSENT)) for k in keys]
        elif isinstance(old, list) and isinstance(new, list):
            pairs = enumerate(zip_longest(old, new, fillvalue=ABSENT))
            inner = [((*place, n), *pair) for n, pair in pairs]
        else:
            # 1 is not 1.0, nor true, to a server that gets it.
            if old is not new and (type(old) is not type(new) or old != new):
                yield place, old, new
            continue
        waiting.extend(reversed(inner))


def _other_nodes(old: Any, new: Any) -> tuple[list[Difference], list[Difference]]:
    """Return the nodes that were added, removed or moved, and those still to be compared."""
    before, after = _ids(old), _ids(new)
    if before is None or after is None:
        return [(("nodes",), old, new)], []
    whole: list[Difference] = [
        (("nodes", n), old[n], ABSENT) for name, n in before.items() if name not in after
    ]
    whole += [(("nodes", n), ABSENT, new[n]) for name, n in after.items() if name not in before]
    common = [name for name in before if name in after]
    order = [name for name in after if name in before]
    if common != order:
        whole.append((("nodes",), common, order))
    return whole, [(("nodes", before[n]), old[before[n]], new[after[n]]) for n in common]


def _ids(nodes: Any) -> dict[str, int] | None:
    """Return the index of each node by its id; None if any has no id of its own."""
    if not isinstance(nodes, list):
        return None
    ids = [as_object(node).get("id") for node in nodes]
    if not all(isinstance(name, str) for name in ids) or len(set(ids)) < len(ids):
        return None
    return {str(name): n for n, name in enumerate(ids)}


def _owner(place: Steps, workflow: Any) -> str | None:
    if len(place) < 2 or place[0] != "nodes" or not isinstance(place[1], int):
        return None
    name = as_object(workflow["nodes"][place[1]]).get("id")
    return name if isinstance(name, str) else None


# -- violations -----------------------------------------------------------------------------------


def _violation(place: Steps, name: str | None, old: Any, new: Any) -> str | None:
    """Return what is wrong with one difference; those of params are looked at together."""
    how = "added" if old is ABSENT else "removed" if new is ABSENT else "changed"
    match place:
        case ("nodes", int(), "params", *_) if name is not None:
            return None
        case ("nodes", int(), "batch", "items", *_) if name is not None:
            if _differs_in_paths(old, new):
                return None
            return (
                f"node {name!r} would run for other items, not only for those at a different path"
            )
        case ("nodes", int(), key, *_) if name is not None:
            return f"the {key} of node {name!r} was {how}"
        case ("nodes", int(n)):
            return f"node {n if name is None else repr(name)} was {how}"
        case ("nodes", *_):
            return "the nodes were reordered, or lost their ids"
        case ("outputs", output, "source") if new is not ABSENT:
            if _differs_in_paths(as_template(old), as_template(new)):
                return None
            return f"the output {output!r} would have another source, not just another path"
        case ("outputs", output, key, *_):
            return f"the {key} of output {output!r} was {how}"
        case ("inputs" | "outputs" as part, declared):
            return f"the {part[:-1]} {declared!r} was {how}"
        case ("inputs", declared, *_):
            return f"the input {declared!r} was changed"
        case _:
            return f"{place[0]!r} of the workflow was {how if len(place) == 1 else 'changed'}"


def _differs_in_paths(old: Any, new: Any) -> bool:
    """True if two texts differ only in where within the same values their references lead."""
    if not isinstance(new, str) or not (isinstance(old, str) or old is ABSENT):
        return False
    try:
        parts = compile_template(new).split()
        before = None if old is ABSENT else compile_template(old).split()
    except TemplateSyntaxError:
        return False
    if before is None:
        # Its source was not given before.
        references = [part for part in parts if not isinstance(part, str)]
        return bool(references) and not any(reference.secret for reference in references)
    return list(map(_fixed, parts)) == list(map(_fixed, before))


def _fixed(part: Any) -> tuple[bool, str]:
    """Return what may not change of a part of a text: all of it, or a reference's root."""
    is_text = isinstance(part, str)
    return is_text, part if is_text else str(part) if part.secret else part.root


def _changed_params(before: Object, after: Object) -> dict[str, tuple[str, Object, Object]]:
    """Return the type, and the params before and after, of the nodes whose params differ."""
    old, new = _ids(before.get("nodes")) or {}, _ids(after.get("nodes")) or {}
    found = {}
    for name in old.keys() & new.keys():
        was, now = before["nodes"][old[name]], after["nodes"][new[name]]
        params = as_object(was.get("params")), as_object(now.get("params"))
        if next(_differences(*params), None) is not None:
            found[name] = (str(was.get("type")), *params)
    return dict(sorted(found.items(), key=lambda item: old[item[0]]))


def _param_violations(type_: str, old: Object, new: Object, registry: Registry) -> Iterator[str]:
    """Yield what follows "node 'x' " for each thing that its new params do and may not."""
    try:
        node = registry.node(type_)
    except UsageError:
        node = None
    verbatim = frozenset() if node is None else node.verbatim
    if node is not None and (reason := node.same_purpose(old, new)) is not None:
        yield f"would ask for something else: {reason}"
    had, old_roots, old_secrets = _contents(old, verbatim)
    has, new_roots, new_secrets = _contents(new, verbatim)
    yield from (f"would no longer use {name!r}" for name in old_roots if name not in new_roots)
    for name in new_secrets:
        if name not in old_secrets:
            yield f"would get the secret {name!r}, which it did not need before"
    if has < had:
        yield f"would be given {has} values, and was given {had}: required values cannot be dropped"


def _sends_otherwise(type_: str, old: Object, new: Object, registry: Registry) -> bool:
    """True if params differ that say more than how an answer is read."""
    node = registry.node(type_)
    reading = frozenset() if node is None else node.reading
    asked = ({k: v for k, v in params.items() if k not in reading} for params in (old, new))
    return next(_differences(*asked), None) is not None


def _contents(params: Object, verbatim: frozenset[str]) -> tuple[int, list[str], list[str]]:
    """Count the values in params; return also the roots and the secrets that they refer to."""
    values, roots, secrets = 0, list[str](), list[str]()
    waiting: list[tuple[Any, bool]] = [(v, name in verbatim) for name, v in params.items()]
    while waiting:
        value, is_verbatim = waiting.pop()
        inner = value.values() if isinstance(value, Mapping) else value
        if isinstance(value, Mapping | list) and inner:
            waiting.extend((one, is_verbatim) for one in inner)
            continue
        values += 1
        references = () if is_verbatim else references_in(value)
        roots += [one.root for one in references if not one.secret]
        secrets += [str(one.steps[0]) for one in references if one.secret]
    return values, roots, secrets


# -- showing ------------------------------------------------------------------------------------


def _pointer(place: Steps) -> str:
    return "".join(f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in place)


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return _one_line(value) if value.strip() else repr(value)
    try:
        return _one_line(msgspec.json.encode(value).decode())
    except (TypeError, ValueError, RecursionError, OverflowError):
        return f"a {type(value).__name__}"


def _one_line(text: str) -> str:
    line = visible_name(text[:_SHOWN])
    return f"{line}…" if len(text) > _SHOWN else line
