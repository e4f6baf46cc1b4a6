"""Requests: what a node sent and where to, as the run filled it in."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from urllib.parse import urlencode, urlsplit

import msgspec

from runtrue.memory import ANY, OperationScope, scope_of
from runtrue.planner.findings import Object, as_object, batch_result
from runtrue.workflow import (
    Interface,
    Path,
    Reference,
    TemplateSyntaxError,
    Unresolved,
    compile_template,
)

_MCP = "mcp-"
#: The parts of an HTTP request that are sent by name.
SENT = ("json", "body", "params")
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
    node: Object,
    store: Object,
    components: Iterable[Interface] = (),
    *,
    item: Any = None,
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
        values = [
            part if isinstance(part, str) else ANY if part.secret else part.resolve(store)
            for part in parts
        ]
    except (TemplateSyntaxError, Unresolved):
        return None
    return "".join(v if isinstance(v, str) else msgspec.json.encode(v).decode() for v in values)
