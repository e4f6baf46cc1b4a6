"""References: redirect those of a workflow that lead to one path to another."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from runtrue.workflow import Path, TemplateSyntaxError, compile_template

#: Params in which `${…}` means nothing here.
_VERBATIM = {("workflow", "workflow_ir"), ("llm", "schema")}


def redirect(
    workflow: dict[str, Any], attempted: str, found: str, *, only: str | None = None
) -> int:
    """Replace a reference wherever it occurs, also inside of longer texts; return how often.

    Both are what is between the braces. A reference that goes on deeper is another one. With
    `only`, look at that node alone.
    """
    (reference, *_) = compile_template(f"${{{attempted}}}").references
    wanted = reference.root, reference.path
    count = 0
    for text, put in _texts(workflow, only):
        changed, times = _redirected(text, wanted, found)
        if times:
            put(changed)
            count += times
    return count


def _redirected(text: str, wanted: tuple[str, Path | None], found: str) -> tuple[str, int]:
    try:
        references = compile_template(text).references
    except TemplateSyntaxError:
        return text, 0  # a matter of the static check
    meant = [one for one in references if one.path and (one.root, one.path) == wanted]
    # From the end, so that the positions of those before stay right.
    for reference in sorted(meant, key=lambda one: one.position, reverse=True):
        begin = text.index(reference.text, reference.position + len("${"))
        text = f"{text[:begin]}{found}{text[begin + len(reference.text) :]}"
    return text, len(meant)


Put = Callable[[str], None]


def _texts(workflow: dict[str, Any], only: str | None) -> Iterator[tuple[str, Put]]:
    """Yield every text that may hold references, and a function that replaces it."""
    for node in workflow.get("nodes", ()):
        if only is not None and node.get("id") != only:
            continue
        params = node.get("params")
        for name in params if isinstance(params, dict) else ():
            if (node.get("type"), name) not in _VERBATIM:
                yield from _within(params, name)
        if isinstance(node.get("batch"), dict):
            yield from _within(node["batch"], "items")
    outputs = workflow.get("outputs") if only is None else None
    for output in outputs.values() if isinstance(outputs, dict) else ():
        if isinstance(output, dict) and isinstance(output.get("source"), str):
            yield from _source(output)


def _within(holder: Any, key: str | int) -> Iterator[tuple[str, Put]]:
    waiting: list[tuple[Any, Any]] = [(holder, key)]
    while waiting:
        holder, key = waiting.pop()
        value = holder[key]
        if isinstance(value, str):
            yield value, _setter(holder, key)
        elif isinstance(value, dict | list):
            inner = value if isinstance(value, dict) else range(len(value))
            waiting.extend((value, one) for one in inner)


def _source(output: dict[str, Any]) -> Iterator[tuple[str, Put]]:
    source = output["source"]
    if "${" in source:
        yield source, _setter(output, "source")
    else:
        # Without braces it is one reference, and stays one.
        yield f"${{{source}}}", lambda text: output.update(source=text[2:-1])


def _setter(holder: Any, key: Any) -> Put:
    def put(text: str) -> None:
        holder[key] = text

    return put
