"""References: redirect those of a workflow that lead to one path to another."""

from __future__ import annotations

from collections.abc import Callable
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

    def replaced(text: str) -> str:
        nonlocal count
        changed, times = _redirected(text, wanted, found)
        count += times
        return changed

    for node in workflow.get("nodes", ()):
        if only is not None and node.get("id") != only:
            continue
        params, batch = node.get("params"), node.get("batch")
        for name, value in params.items() if isinstance(params, dict) else ():
            if (node.get("type"), name) not in _VERBATIM:
                params[name] = _mapped(value, replaced)
        if isinstance(batch, dict):
            batch["items"] = _mapped(batch["items"], replaced)
    outputs = workflow.get("outputs") if only is None else None
    for output in outputs.values() if isinstance(outputs, dict) else ():
        source = output.get("source") if isinstance(output, dict) else None
        if isinstance(source, str):
            # Without braces it is one reference, and stays one.
            is_template = "${" in source
            text = replaced(source if is_template else f"${{{source}}}")
            output["source"] = text if is_template else text[2:-1]
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


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {key: _mapped(inner, change) for key, inner in value.items()}
    return [_mapped(inner, change) for inner in value] if isinstance(value, list) else value
