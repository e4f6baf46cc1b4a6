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
    Reference,
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
#: The parts of an HTTP request that are sent by name.
SENT = ("json", "body", "params")

Object = Mapping[str, Any]


def findings_of(
    workflow: Object,
    result: WorkflowResult,
    *,
    handled: Mapping[str, Object],
    registry: Registry,
    task: str = "",
) -> tuple[Finding, ...]:
    """Return everything that was wrong in one run, what stopped it first.

    `handled` has the failures that the workflow went on after, by node.
    """
    workflow = as_object(workflow)
    nodes = {node["id"]: node for node in _nodes(workflow)}
    found: list[Finding] = []
    if result.error is not None:
        found.append(_finding_of_error(result.error, nodes))
    found.extend(finding_of({"source": "workflow", **failure}) for failure in handled.values())
    failed = {outer_node(finding.location.symbol) for finding in found}
    found.extend(_error_values(nodes, result.store, failed))
    failed |= {outer_node(finding.location.symbol) for finding in found}
    found = [_classified(finding, nodes, result.store, task) for finding in found]
    found = [_beyond_fixes(finding, workflow, nodes, registry) for finding in found]
    found.extend(_missing_references(workflow, result.store, failed, registry))
    unique = {(f.location.symbol, f.category, f.attempted): f for f in reversed(found)}
    return tuple(unique.values())[::-1]


def _finding_of_error(error: NodeFailed, nodes: Mapping[str, Object]) -> Finding:
    failure = as_data(error)
    if error.node_id is None and error.category == _MISSING_REFERENCE:
        # No node failed, but the reading of the outputs.
        failure["node_id"] = "outputs"
    node = nodes.get(outer_node(error.node_id), {})
    return finding_of({**failure, "source": node.get("type") or failure["node_id"] or "workflow"})


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


# -- parts of workflows: what could not be compiled may hold anything -----------------------------


def as_object(value: Any) -> Object:
    """Return a value that is an object, or an empty one."""
    return value if isinstance(value, Mapping) else {}


def _nodes(workflow: Object) -> list[Object]:
    nodes = workflow.get("nodes")
    objects = map(as_object, nodes if isinstance(nodes, list) else ())
    return [node for node in objects if isinstance(node.get("id"), str)]


def outer_node(node_id: str | None) -> str:
    """Return the node of this workflow that a node id belongs to: of `outer.inner`, the outer."""
    return (node_id or "").partition(".")[0]


def batch_result(outputs: Any, index: Any) -> Object:
    """Return the result of one item of a batch, if there is one."""
    results = as_object(outputs).get("results")
    return as_object(results[index] if isinstance(results, list) and index < len(results) else None)


def references_in(value: Any) -> tuple[Reference, ...]:
    """Return the references of a template; none if that is malformed."""
    try:
        return compile_template(value).references
    except TemplateSyntaxError:
        return ()  # a matter of the static check


def as_template(source: Any) -> Any:
    """Return the `source` of an output as a template: without `${` it is one reference."""
    return f"${{{source}}}" if isinstance(source, str) and "${" not in source else source


# -- error values -------------------------------------------------------------------------------


def _error_values(nodes: Mapping[str, Object], store: Object, known: set[str]) -> Iterator[Finding]:
    """Find the `error` values in the outputs of nodes whose failures are not known already."""
    for name, node in nodes.items():
        outputs = store.get(name)
        if name in known or not isinstance(outputs, Mapping):
            continue
        error = outputs.get("error")
        # `null`, `false` and nothing at all are how an error field says that there is none.
        if error in (None, False, "", [], {}):
            continue
        details = as_object(error)
        code = details.get("code", details.get("status"))
        yield Finding(
            source=str(node.get("type", "node")),
            category="argument_mismatch" if code == _INVALID_PARAMS else "node_error",
            message=_error_text(details.get("message", error)),
            fault=_fault_of_code(code),
            location=Location(symbol=name),
            available=tuple(key for key in outputs if key != "error"),
            sample=sample_text(outputs),
        )


def _error_text(error: Any) -> str:
    return error if isinstance(error, str) else str(sample_text(error))


def _fault_of_code(code: object) -> Fault:
    if isinstance(code, int) and not isinstance(code, bool) and 400 <= code < 600:
        return fault_of_status(code)
    return Fault.CANDIDATE


# -- HTTP statuses ------------------------------------------------------------------------------


def _classified(finding: Finding, nodes: Mapping[str, Object], store: Object, task: str) -> Finding:
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
        outputs, index = store.get(name), finding.data.get("index")
        answer = batch_result(outputs, index) if isinstance(index, int) else as_object(outputs)
        if fields := named_fields(answer.get("response")):
            return replace(
                finding,
                category="argument_mismatch",
                attempted=fields,
                available=_sent_names(nodes.get(name, {})),
                data={**finding.data, "fields": list(fields)},
                fingerprint="",
            )
    return finding


# -- what no fix can correct ---------------------------------------------------------------------

#: Params with what a node runs. A fix changes nothing in them but where their references lead.
_PROGRAMS = frozenset({"command", "code"})


def _beyond_fixes(
    finding: Finding, workflow: Object, nodes: Mapping[str, Object], registry: Registry
) -> Finding:
    """Return a finding that nothing within the bounds of a fix could correct as one that is final.

    That is a name which belongs to no node and no input, and a program that failed by itself: it
    was given nothing that could be called otherwise or be at another path.
    """
    node = nodes.get(finding.location.symbol or "")
    if finding.fault is not Fault.CANDIDATE or node is None:
        return finding
    if finding.category == _MISSING_REFERENCE:
        batch = as_object(node.get("batch"))
        items = {str(batch.get("as", "item")), "__index__"} if batch else set()
        known = {*nodes, *as_object(workflow.get("inputs")), *items, "env"}
        roots = {one.root for text in finding.attempted for one in references_in(text)}
        if roots and not roots & known:
            message = f"{finding.message}; no node or input has that name"
            return replace(finding, fault=Fault.STRATEGY, message=message, fingerprint="")
        return finding
    found = registry.node(str(node.get("type")))
    params = {k: v for k, v in as_object(node.get("params")).items() if v not in (None, "", {}, [])}
    runs_alone = found is not None and found.purpose & _PROGRAMS and params.keys() <= found.purpose
    if runs_alone and not node.get("batch") and not references_in(params):
        return replace(finding, fault=Fault.STRATEGY, fingerprint="")
    return finding


def _is_named(url: str, task: str) -> bool:
    """True if the user gave this very URL; scheme, user and query aside."""
    wanted = _host_and_path(url)
    words = (word.strip("\"'`<>()[],;:.!?") for word in task.split())
    return bool(wanted) and any(_host_and_path(word) == wanted for word in words)


def _host_and_path(url: str) -> str:
    try:
        parts = urlsplit(url if "://" in url else f"//{url}")
    except ValueError:
        return ""
    path = normpath(f"/{unquote(parts.path)}").strip("/.")
    return f"{parts.netloc.rpartition('@')[2]}/{path}".casefold() if parts.netloc else ""


def _sent_names(node: Object) -> tuple[str, ...]:
    params = node.get("params", {})
    parts = (params.get(part) for part in SENT)
    return tuple(dict.fromkeys(n for part in parts if isinstance(part, Mapping) for n in part))


# -- references ---------------------------------------------------------------------------------


def _missing_references(
    workflow: Object, store: Object, failed: set[str], registry: Registry
) -> Iterator[Finding]:
    """Find each `${node.field}` whose node ran well and has nothing there."""
    finished = {node["id"] for node in _nodes(workflow) if node["id"] in store} - failed
    for owner, source, value in _templated(workflow, registry):
        for reference in references_in(value):
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


def _templated(workflow: Object, registry: Registry) -> Iterator[tuple[str, str, Any]]:
    """Yield every value that may hold references, with its owner and the owner's type."""
    for node in _nodes(workflow):
        type_ = str(node.get("type"))
        found = registry.node(type_)
        verbatim = found.verbatim if found is not None else frozenset()
        params = as_object(node.get("params")).items()
        yield node["id"], type_, {name: value for name, value in params if name not in verbatim}
        yield node["id"], type_, as_object(node.get("batch")).get("items")
    for output in as_object(workflow.get("outputs")).values():
        source = as_object(output).get("source")
        if isinstance(source, str):
            yield "outputs", "outputs", as_template(source)
