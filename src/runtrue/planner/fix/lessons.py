"""Lessons: what a run that has passed proves about the operations that it called."""

from __future__ import annotations

from collections.abc import Iterator

from runtrue.memory import Memory, OperationScope
from runtrue.planner.bounds import changes_between
from runtrue.planner.findings import Object, as_object, as_template, references_in
from runtrue.planner.fix.requests import SENT, family, in_answer, scope_of_node
from runtrue.workflow import Interface, Reference

#: `path` or `argument`, what was wanted, and what that has proven to be.
Lesson = tuple[str, str, str]


def learn(
    memory: Memory,
    first: Object,
    proven: Object,
    store: Object,
    *,
    fixer: str,
    components: tuple[Interface, ...] = (),
) -> None:
    """Remember each path and argument that `first`, the first guess, had otherwise.

    Call it when `proven` has passed; `store` is that of its run. What was recalled for it, and
    has proven right again, counts as a use. Names and paths are remembered, and no values.
    """
    nodes: dict[str, Object] = {node["id"]: node for node in proven["nodes"]}
    guessed: dict[str, Object] = {node["id"]: node for node in first["nodes"]}
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
    memory: Memory, scope: OperationScope, before: Object, after: Object
) -> Iterator[Lesson]:
    guessed = _params(before, "extract")
    for name, path in _params(after, "extract").items():
        guess = guessed.get(name)
        if not isinstance(guess, str) or not isinstance(path, str):
            continue
        if memory.recall(scope, name) == guess:
            # No guess, but what was remembered under the name: right again, or not any more.
            yield "path", name, path
        elif guess != path:
            yield "path", guess, path


def _of_arguments(before: Object, after: Object) -> Iterator[Lesson]:
    if family(after) == "mcp":
        yield from _renamed(_params(before), _params(after))
    elif family(after) == "http":
        for part in SENT:
            yield from _renamed(_params(before, part), _params(after, part))


def _renamed(before: Object, after: Object) -> Iterator[Lesson]:
    gone = [name for name in before if name not in after]
    new = [name for name in after if name not in before]
    for name in gone:
        same = [one for one in new if after[one] == before[name]]
        if len(gone) == len(new) == 1 or len(same) == 1:
            yield "argument", name, (same or new)[0]


def _of_references(first: Object, proven: Object, producer: Object) -> Iterator[Lesson]:
    """Find the references into the answer to a node that lead elsewhere now."""
    for change in changes_between(first, proven):
        if not isinstance(change.before, str) or not isinstance(change.after, str):
            continue
        pairs = zip(*map(_references, (change.before, change.after)), strict=False)
        for old, new in pairs:
            if old.root != producer["id"] or new.root != old.root or old.path == new.path:
                continue
            wanted, found = in_answer(old, producer), in_answer(new, producer)
            if wanted is not None and found is not None:
                yield "path", wanted, found


def _references(source: str) -> tuple[Reference, ...]:
    return references_in(as_template(source))


def _params(node: Object, part: str | None = None) -> Object:
    params = as_object(node.get("params"))
    return params if part is None else as_object(params.get(part))
