"""Learning: what a run that has passed proves about the operations that it called."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from runtrue.memory import Memory, OperationScope
from runtrue.planner.bounds import changes
from runtrue.planner.repair.requests import SENT, family, in_answer, scope_of_node
from runtrue.workflow import Interface, Reference, TemplateSyntaxError, compile_template

#: What is remembered, what was wanted, and what that has proven to be.
Lesson = tuple[str, str, str]


def learn(
    memory: Memory,
    first: Mapping[str, Any],
    proven: Mapping[str, Any],
    store: Mapping[str, Any],
    *,
    fixer: str,
    components: tuple[Interface, ...] = (),
) -> None:
    """Remember each path and argument that `first`, the first guess, had otherwise.

    Called when `proven` has passed; `store` is what its run left. What was recalled for it, and
    has proven right again, is counted as a use. Names and paths are kept, and no values.
    """
    nodes: dict[str, Mapping[str, Any]] = {node["id"]: node for node in proven["nodes"]}
    guessed: dict[str, Mapping[str, Any]] = {node["id"]: node for node in first["nodes"]}
    for name in nodes.keys() & guessed.keys():
        scope = scope_of_node(nodes[name], store, components)
        if scope is None:
            continue
        lessons = [
            *_of_extraction(memory, scope, guessed[name], nodes[name]),
            *_of_arguments(guessed[name], nodes[name]),
            *_of_references(first, proven, nodes[name]),
        ]
        for kind, wanted, found in dict.fromkeys(lessons):
            known = memory.recall(scope, wanted, kind=kind)
            by = "memory" if known == found else fixer
            memory.remember(scope, wanted, found, fixer=by, kind=kind)


def _of_extraction(
    memory: Memory, scope: OperationScope, before: Mapping[str, Any], after: Mapping[str, Any]
) -> Iterator[Lesson]:
    guessed = _object(before, "extract")
    for name, path in _object(after, "extract").items():
        guess = guessed.get(name)
        if not isinstance(guess, str) or not isinstance(path, str):
            continue
        if memory.recall(scope, name) == guess:
            # No guess, but what was remembered under the name: right again, or not any more.
            yield "path", name, path
        elif guess != path:
            yield "path", guess, path


def _of_arguments(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Lesson]:
    if family(after) == "mcp":
        yield from _renamed(_object(before), _object(after))
    elif family(after) == "http":
        for part in SENT:
            yield from _renamed(_object(before, part), _object(after, part))


def _renamed(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Lesson]:
    """Names that went, each with the one that came for the same value."""
    gone = [name for name in before if name not in after]
    new = [name for name in after if name not in before]
    for name in gone:
        same = [one for one in new if after[one] == before[name]]
        if len(gone) == len(new) == 1 or len(same) == 1:
            yield "argument", name, (same or new)[0]


def _of_references(
    first: Mapping[str, Any], proven: Mapping[str, Any], producer: Mapping[str, Any]
) -> Iterator[Lesson]:
    """References into what a node was answered that lead elsewhere now."""
    for change in changes(first, proven):
        if not isinstance(change.before, str) or not isinstance(change.after, str):
            continue
        pairs = zip(_references(change.before), _references(change.after), strict=False)
        for old, new in pairs:
            if old.root != producer["id"] or new.root != old.root or old.path == new.path:
                continue
            wanted, found = in_answer(old, producer), in_answer(new, producer)
            if wanted is not None and found is not None:
                yield "path", wanted, found


def _references(text: str) -> tuple[Reference, ...]:
    try:
        return compile_template(text if "${" in text else f"${{{text}}}").references
    except TemplateSyntaxError:
        return ()


def _object(node: Mapping[str, Any], part: str | None = None) -> Mapping[str, Any]:
    value = node.get("params")
    if part is not None and isinstance(value, Mapping):
        value = value.get(part)
    return value if isinstance(value, Mapping) else {}
