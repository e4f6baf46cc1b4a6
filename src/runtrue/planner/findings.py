"""Findings of a run: what was wrong with a workflow, out of what really happened. Pure.

They come from four sources: the failure that stopped the run, failures that the workflow handled,
`error` values in the outputs of nodes, and references that lead to nothing in the store.
All are classified by structure: categories, status codes, schemas; never by words in a message.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from posixpath import normpath
from typing import Any
from urllib.parse import unquote, urlsplit

from runtrue.errors import NodeFailed
from runtrue.loop import Fault, Finding, Location, fault_of_status
from runtrue.planner.complaints import named_fields
from runtrue.workflow import (
    Registry,
    TemplateSyntaxError,
    Unresolved,
    WorkflowResult,
    as_data,
    compile_template,
    finding_of,
    sample_text,
)

_MISSING_REFERENCE = "missing_template_path"
_GONE = (404, 410)
#: What another method was to change is not looked for elsewhere.
_READ_METHODS = ("GET", "HEAD", "OPTIONS")
_REFUSED_ARGUMENTS = (400, 422)
_INVALID_PARAMS = -32602


def findings_of(
    workflow: Mapping[str, Any],
    result: WorkflowResult,
    *,
    handled: Mapping[str, Mapping[str, Any]],
    registry: Registry,
    task: str = "",
) -> tuple[Finding, ...]:
    """Return everything that was wrong in one run, what stopped it first.

    `handled` has the failures that the workflow went on after, by node.
    """
    nodes = {node["id"]: node for node in _nodes(workflow)}
    found: list[Finding] = []
    if result.error is not None:
        found.append(_finding_of_error(result.error, nodes))
    found.extend(finding_of({"source": "workflow", **failure}) for failure in handled.values())
    failed = {outer_node(finding.location.symbol) for finding in found}
    found.extend(_error_values(nodes, result.store, failed))
    failed |= {outer_node(finding.location.symbol) for finding in found}
    found = [_classified(finding, nodes, result.store, task) for finding in found]
    found.extend(_missing_references(workflow, result.store, failed, registry))
    return tuple({_identity(finding): finding for finding in reversed(found)}.values())[::-1]


def _finding_of_error(error: NodeFailed, nodes: Mapping[str, Mapping[str, Any]]) -> Finding:
    failure = as_data(error)
    if error.node_id is None and error.category == _MISSING_REFERENCE:
        # No node failed, but the reading of the outputs.
        failure["node_id"] = "outputs"
    source = (
        nodes.get(outer_node(error.node_id), {}).get("type") or failure["node_id"] or "workflow"
    )
    return finding_of({**failure, "source": source})


def runtime_error(finding: Finding) -> dict[str, Any]:
    """Return a finding as an entry of `shared["runtime_errors"]`, in the form of the seed."""
    return {
        "source": finding.source,
        "node_id": finding.location.symbol,
        "category": finding.category,
        "attempted": list(finding.attempted),
        "available": list(finding.available),
        "message": finding.message,
        "sample": finding.sample,
        "fixable": finding.fault is Fault.CANDIDATE,
        "fault": finding.fault,
        "fingerprint": finding.fingerprint,
    }


def _nodes(workflow: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the entries that are nodes: what could not be compiled may hold anything."""
    nodes = workflow.get("nodes")
    return [
        node
        for node in (nodes if isinstance(nodes, list) else [])
        if isinstance(node, Mapping) and isinstance(node.get("id"), str)
    ]


def outer_node(node_id: str | None) -> str:
    """Return the node of this workflow that a node id belongs to: of `outer.inner`, the outer."""
    return (node_id or "").partition(".")[0]


def _identity(finding: Finding) -> tuple[str | None, str, tuple[str, ...]]:
    return finding.location.symbol, finding.category, finding.attempted


# -- error values -------------------------------------------------------------------------------


def _error_values(
    nodes: Mapping[str, Mapping[str, Any]], store: Mapping[str, Any], known: set[str]
) -> Iterator[Finding]:
    """Find the `error` values in the outputs of nodes whose failures are not known already."""
    for name, node in nodes.items():
        outputs = store.get(name)
        if name in known or not isinstance(outputs, Mapping):
            continue
        error = outputs.get("error")
        # `null`, `false` and nothing at all are how an error field says that there is none.
        if error in (None, False, "", [], {}):
            continue
        code = error.get("code", error.get("status")) if isinstance(error, Mapping) else None
        yield Finding(
            source=str(node.get("type", "node")),
            category="argument_mismatch" if code == _INVALID_PARAMS else "node_error",
            message=_error_text(error),
            fault=_fault_of_code(code),
            location=Location(symbol=name),
            available=tuple(key for key in outputs if key != "error"),
            sample=sample_text(outputs),
        )


def _error_text(error: Any) -> str:
    if isinstance(error, Mapping):
        error = error.get("message", error)
    return error if isinstance(error, str) else str(sample_text(error))


def _fault_of_code(code: object) -> Fault:
    is_status = isinstance(code, int) and not isinstance(code, bool) and 400 <= code < 600
    return fault_of_status(code) if is_status and isinstance(code, int) else Fault.CANDIDATE


# -- HTTP statuses ------------------------------------------------------------------------------


def _classified(
    finding: Finding,
    nodes: Mapping[str, Mapping[str, Any]],
    store: Mapping[str, Any],
    task: str,
) -> Finding:
    """Return a finding about an HTTP status with what that status says about the workflow."""
    status = finding.data.get("status")
    if finding.category != "http_status" or finding.fault is not Fault.CANDIDATE:
        return finding
    if status in _GONE:
        # What the user named is not there: another URL would be another task.
        reads = finding.data.get("method") in _READ_METHODS
        if not reads or _is_named(str(finding.data.get("url", "")), task):
            return replace(finding, category="wrong_resource", fault=Fault.HUMAN, fingerprint="")
        return replace(finding, category="guessed_url", fingerprint="")
    if status in _REFUSED_ARGUMENTS:
        name = outer_node(finding.location.symbol)
        fields = named_fields(_answer_body(store.get(name), finding.data.get("index")))
        if fields:
            return replace(
                finding,
                category="argument_mismatch",
                attempted=fields,
                available=_sent_names(nodes.get(name, {})),
                data={**finding.data, "fields": list(fields)},
                fingerprint="",
            )
    return finding


def _answer_body(outputs: Any, index: Any) -> Any:
    """Return what a server answered: to the node, or to one item of its batch."""
    if isinstance(outputs, Mapping) and isinstance(index, int):
        results = outputs.get("results")
        outputs = results[index] if isinstance(results, list) and index < len(results) else None
    return outputs.get("response") if isinstance(outputs, Mapping) else None


def _is_named(url: str, task: str) -> bool:
    """True if the user gave this very URL; scheme, user and query aside."""
    wanted = _host_and_path(url)
    words = (word.strip("\"'`<>()[],;:.!?") for word in task.split())
    return bool(wanted) and any(_host_and_path(word) == wanted for word in words)


def _host_and_path(url: str) -> str:
    """Return the host and the path of a URL in a normal form."""
    try:
        parts = urlsplit(url if "://" in url else f"//{url}")
    except ValueError:
        return ""
    path = normpath(f"/{unquote(parts.path)}").strip("/.")
    return f"{parts.netloc.rpartition('@')[2]}/{path}".casefold() if parts.netloc else ""


def _sent_names(node: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of what a request sends, as the workflow has them."""
    params = node.get("params", {})
    parts = (params.get(part) for part in ("json", "body", "params"))
    return tuple(dict.fromkeys(n for part in parts if isinstance(part, Mapping) for n in part))


# -- references ---------------------------------------------------------------------------------


def _missing_references(
    workflow: Mapping[str, Any],
    store: Mapping[str, Any],
    failed: set[str],
    registry: Registry,
) -> Iterator[Finding]:
    """Find each `${node.field}` whose node ran well and has nothing there."""
    nodes = _nodes(workflow)
    finished = {node["id"] for node in nodes if node["id"] in store} - failed
    for owner, source, value in _templated(workflow, nodes, registry):
        try:
            references = compile_template(value).references
        except TemplateSyntaxError:
            continue  # a matter of the static check
        for reference in references:
            if reference.root not in finished:
                continue
            try:
                reference.resolve(store)
            except Unresolved as error:
                yield Finding(
                    source=source,
                    category=_MISSING_REFERENCE,
                    message=str(error),
                    fault=Fault.CANDIDATE,
                    location=Location(symbol=owner),
                    attempted=(f"${{{error.reference.text}}}",),
                    available=error.missing.available,
                    sample=sample_text(store[reference.root]),
                    data={"root": error.reference.root},
                )


def _templated(
    workflow: Mapping[str, Any], nodes: list[Mapping[str, Any]], registry: Registry
) -> Iterator[tuple[str, str, Any]]:
    """Yield every value that may hold references, with its owner and the owner's type."""
    for node in nodes:
        type_ = str(node.get("type"))
        found = registry.node(type_)
        verbatim = found.verbatim if found is not None else frozenset()
        params = node.get("params")
        given = params if isinstance(params, Mapping) else {}
        yield node["id"], type_, {name: v for name, v in given.items() if name not in verbatim}
        batch = node.get("batch")
        if isinstance(batch, Mapping):
            yield node["id"], type_, batch.get("items")
    outputs = workflow.get("outputs")
    for output in (outputs if isinstance(outputs, Mapping) else {}).values():
        source = output.get("source") if isinstance(output, Mapping) else None
        if isinstance(source, str):
            yield "outputs", "outputs", source if "${" in source else f"${{{source}}}"
