"""Outputs: what a workflow gives, read off the store when it has run to its end."""

from __future__ import annotations

from typing import Any

from runtrue.errors import NodeFailed
from runtrue.workflow.ir import WorkflowIR
from runtrue.workflow.step import rendered
from runtrue.workflow.templates import compile_template

#: Stands for an output that the run has not produced.
_ABSENT = object()


def outputs_of(ir: WorkflowIR, store: dict[str, Any]) -> dict[str, Any]:
    """Return the declared outputs, or those of the node that finished last.

    An output whose source did not run, because the run took another branch, is left out; one whose
    source ran and does not have it is a `RuntimeValidationError`.
    """
    if not ir.outputs:
        return _last_node(ir, store)
    found: dict[str, Any] = {}
    for name, output in ir.outputs.items():
        value = _output(name, output.get("source"), ir, store)
        if value is not _ABSENT:
            found[name] = value
    return found


def _last_node(ir: WorkflowIR, store: dict[str, Any]) -> dict[str, Any]:
    ids = {node.id for node in ir.nodes}
    for name in reversed(store):
        if name in ids:
            return dict(store[name])
    return {}


def _output(name: str, source: str | None, ir: WorkflowIR, store: dict[str, Any]) -> Any:
    if source is None:
        # As in the format's origin: the latest node that has an output of this name.
        ids = {node.id for node in ir.nodes}
        having = (store[id] for id in reversed(store) if id in ids and name in store[id])
        return next((outputs[name] for outputs in having), _ABSENT)
    template = compile_template(source_template(source))
    if any(reference.root not in store for reference in template.references):
        return _ABSENT
    try:
        return rendered(template, store)
    except NodeFailed as error:
        error.message = f"output {name!r}: {error.message}"
        raise


def source_template(source: str) -> str:
    """Return the `source` of an output as a template: without `${` it is one reference."""
    return source if "${" in source else f"${{{source}}}"
