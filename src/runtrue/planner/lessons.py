"""Lessons: what a run that has passed proves about the operations that it called."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import urlencode, urlsplit

import msgspec

from runtrue.memory import ANY, Memory, OperationScope, scope_of
from runtrue.planner.bounds import changes_between
from runtrue.planner.findings import (
    SENT,
    Object,
    as_object,
    as_template,
    batch_result,
    references_in,
)
from runtrue.workflow import (
    Interface,
    Path,
    Reference,
    TemplateSyntaxError,
    Unresolved,
    compile_template,
)

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


# -- operations ------------------------------------------------------------------------------------

_MCP = "mcp-"
#: The outputs with an operation's answer. The fields of a tool's answer are outputs, too.
_ANSWERS = {"http": ("response",), "mcp": ("result",)}


def family(node: Object) -> str:
    """Return `http`, `mcp`, or the node's own type."""
    type_ = str(node.get("type"))
    return "mcp" if type_.startswith(_MCP) else type_


def in_answer(reference: Reference, producer: Object) -> str | None:
    """Return the path within the answer that a reference to a node's outputs has."""
    steps = () if reference.path is None else reference.path.steps
    answers = _ANSWERS.get(family(producer), ())
    if producer.get("batch") or len(steps) == 0:
        return None
    if steps[0] in answers and len(steps) > 1:
        return str(Path(steps[1:]))
    return str(Path(steps)) if family(producer) == "mcp" and steps[0] not in answers else None


def scope_of_node(
    node: Object, store: Object, components: Iterable[Interface] = (), *, item: Any = None
) -> OperationScope | None:
    """Return the scope of fixes to what a node does; None where none could be found again."""
    type_, params = str(node.get("type")), as_object(node.get("params"))
    if family(node) == "http":
        # Without what `params` adds: before the first guess there are no such names to recall by.
        url = url_of({**node, "params": {**params, "params": None}}, store, item=item)
        return None if url is None else scope_of(_method(params), url)
    if family(node) == "mcp":
        for component in components:
            if component.type == type_ and component.server:
                tool = type_.removeprefix(f"{_MCP}{component.server}-")
                return OperationScope.of_tool(component.server, tool)
    return None


def url_of(node: Object, store: Object, *, item: Any = None) -> str | None:
    """Return the URL that an `http` node sent to, with its query, without secrets.

    In a batch it is that of an item, by default of the first.
    """
    params = as_object(node.get("params"))
    batch = as_object(node.get("batch"))
    if batch:
        if item is None:
            item = batch_result(store.get(str(node.get("id"))), 0).get("item")
        store = {**store, str(batch.get("as", "item")): item}
    url = _filled(params.get("url"), store)
    query = as_object(params.get("params"))
    if url is None or not query:
        return url
    pairs = [(name, _filled(value, store) or "") for name, value in query.items()]
    return f"{url}{'&' if urlsplit(url).query else '?'}{urlencode(pairs, safe='{}')}"


def _method(params: Object) -> str:
    sends = params.get("body") is not None or "json" in params
    return str(params.get("method") or ("POST" if sends else "GET"))


def _filled(text: Any, store: Object) -> str | None:
    if not isinstance(text, str):
        return None if text is None else msgspec.json.encode(text).decode()
    try:
        parts = compile_template(text).split()
        values = [p if isinstance(p, str) else ANY if p.secret else p.resolve(store) for p in parts]
    except (TemplateSyntaxError, Unresolved):
        return None
    return "".join(v if isinstance(v, str) else msgspec.json.encode(v).decode() for v in values)
