"""Validation: everything that is wrong with a workflow and can be found without running it.

One pipeline for every path that takes a workflow: its shape (JSON Schema), the graph, the params of
each node against what its type takes, and each `${…}` against the declared inputs and the outputs
of the nodes that run before. All problems are found at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from runtrue.errors import Problem
from runtrue.workflow.ir import Workflow, edges_of, reachable, schema, successors, walk
from runtrue.workflow.node import Pointer, WorkflowNode
from runtrue.workflow.outputs import source_template
from runtrue.workflow.registry import Registry
from runtrue.workflow.shape import close_to, schema_problems
from runtrue.workflow.templates import (
    Reference,
    TemplateSyntaxError,
    compile_template,
    has_reference,
)

#: What a batch node gives instead of the outputs of its type.
BATCH_OUTPUTS = ("results", "count", "success_count", "error_count", "errors")
#: Names that references use for something else than inputs and nodes.
RESERVED = frozenset({"env", "__index__"})

Found = Iterator[tuple[Pointer, str, tuple[str, ...]]]


def validate_workflow(
    ir: Mapping[str, Any], *, registry: Registry | None = None
) -> tuple[Problem, ...]:
    """Return all problems of a workflow, in the order of the file."""
    workflow = Workflow.of(ir)
    found = list(_Validation(workflow, registry or Registry.here()).problems())
    ordered = sorted(found, key=lambda item: _order(workflow, item[0]))
    return tuple(
        Problem(
            pointer=json_pointer(pointer),
            line=workflow.line(pointer),
            message=message,
            available=available,
        )
        for pointer, message, available in dict.fromkeys(ordered)
    )


def json_pointer(pointer: Pointer) -> str:
    """Return a pointer as a JSON pointer."""
    return "".join(f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in pointer)


def _order(workflow: Workflow, pointer: Pointer) -> tuple[int, tuple[int, ...]]:
    """Return the position of a pointer in the file, to sort problems."""
    position: list[int] = []
    value: Any = workflow
    for part in pointer:
        if isinstance(value, Mapping) and part in value:
            position.append(list(value).index(part))
            value = value[part]
        elif isinstance(value, list) and isinstance(part, int):
            position.append(part)
            value = value[part] if part < len(value) else None
        else:
            break
    return (workflow.line(pointer) or 0, tuple(position))


class _Validation:
    """The pipeline over one workflow. Later stages look only at what is well formed."""

    def __init__(self, workflow: Workflow, registry: Registry) -> None:
        self.workflow = workflow
        self.registry = registry
        nodes = workflow.get("nodes")
        #: The nodes that can be looked at more closely, with their index.
        self.nodes: dict[int, dict[str, Any]] = {
            n: node
            for n, node in enumerate(nodes if isinstance(nodes, list) else [])
            if isinstance(node, dict) and isinstance(node.get("id"), str)
        }
        self.index = {node["id"]: n for n, node in reversed(self.nodes.items())}
        inputs = workflow.get("inputs")
        self.inputs = inputs if isinstance(inputs, dict) else {}

    def problems(self) -> Found:
        yield from self._shape()
        yield from self._names()
        yield from self._graph()
        for n, node in self.nodes.items():
            yield from self._node(n, node)
        yield from self._outputs()

    # -- shape ------------------------------------------------------------------------------

    def _shape(self) -> Found:
        for pointer, message in schema_problems(dict(self.workflow), schema()):
            yield pointer, message, ()

    def _names(self) -> Found:
        counted = Counter(node["id"] for node in self.nodes.values())
        for n, node in self.nodes.items():
            name = node["id"]
            if counted[name] > 1 and self.index[name] != n:
                first = self.index[name]
                yield (
                    ("nodes", n, "id"),
                    f"the id {name!r} is already that of node {first}",
                    tuple(counted),
                )
            if name in self.inputs:
                yield ("nodes", n, "id"), f"{name!r} is the name of an input, too", ()
            if name in RESERVED:
                yield ("nodes", n, "id"), f"{name!r} has a special meaning; rename the node", ()
        for name in RESERVED & self.inputs.keys():
            yield ("inputs", name), f"{name!r} has a special meaning; rename the input", ()
        specs = {name: spec for name, spec in self.inputs.items() if isinstance(spec, dict)}
        piped = [name for name, spec in specs.items() if spec.get("stdin")]
        for name in piped[1:]:
            message = f"only one input can take stdin, and {piped[0]!r} already does"
            yield ("inputs", name, "stdin"), message, ()

    # -- graph ------------------------------------------------------------------------------

    def _graph(self) -> Found:
        ids = tuple(self.index)
        start = self.workflow.get("start_node")
        if isinstance(start, str) and start not in self.index:
            yield ("start_node",), f"there is no node {start!r}{close_to(start, ids)}", ids
        taken: dict[tuple[str, str], int] = {}
        for n, edge in self._edges():
            for end in ("from", "to"):
                if edge[end] not in self.index:
                    message = f"there is no node {edge[end]!r}{close_to(edge[end], ids)}"
                    yield ("edges", n, end), message, ids
            leaving = edge["from"], edge.get("action", "default")
            if leaving in taken:
                yield (
                    ("edges", n),
                    f"the action {leaving[1]!r} of {leaving[0]!r} already leads on with edge "
                    f"{taken[leaving]}; an action can lead to only one node",
                    (),
                )
            taken.setdefault(leaving, n)
        yield from self._unreachable()

    def _unreachable(self) -> Found:
        start = self._start()
        if start is None:
            return
        after = {start, *reachable(start, self.following)}
        for n, node in self.nodes.items():
            if node["id"] not in after and self.index[node["id"]] == n:
                hint = "" if self.workflow.get("edges") else "; without `edges` nodes run in order"
                message = f"node {node['id']!r} is never reached from {start!r}{hint}"
                yield ("nodes", n), message, tuple(sorted(after))

    def _start(self) -> str | None:
        start = self.workflow.get("start_node")
        if isinstance(start, str):
            return start if start in self.index else None
        return self.nodes[0]["id"] if 0 in self.nodes else None

    def _edges(self) -> Iterator[tuple[int, dict[str, Any]]]:
        edges = self.workflow.get("edges")
        for n, edge in enumerate(edges if isinstance(edges, list) else []):
            if isinstance(edge, dict):
                parts = edge.get("from"), edge.get("to"), edge.get("action", "default")
                if all(isinstance(part, str) for part in parts):
                    yield n, edge

    @cached_property
    def following(self) -> dict[str, list[str]]:
        if "edges" in self.workflow:
            edges = [edge for _, edge in self._edges()]
        else:
            edges = edges_of({"nodes": list(self.nodes.values())})
        return successors((edge["from"], edge["to"]) for edge in edges)

    @cached_property
    def preceding(self) -> dict[str, list[str]]:
        following = self.following.items()
        return successors((target, source) for source, targets in following for target in targets)

    # -- nodes ------------------------------------------------------------------------------

    def _node(self, n: int, node: dict[str, Any]) -> Found:
        name, params = node.get("type"), node.get("params", {})
        if not isinstance(name, str) or not isinstance(params, dict):
            return
        node_type = self.registry.node(name)
        pointer: Pointer = ("nodes", n)
        if node_type is None:
            yield (*pointer, "type"), self.registry.suggest(name), tuple(self.registry.names())
        else:
            yield from self._params(pointer, node_type, params)
        scope = _Scope(node["id"])
        batch = node.get("batch")
        if isinstance(batch, dict):
            items = replace(scope, secrets=False)
            yield from self._references((*pointer, "batch", "items"), batch.get("items"), items)
            alias = str(batch.get("as", "item"))
            if alias in self.index or alias in self.inputs or alias in RESERVED:
                yield (*pointer, "batch", "as"), f"{alias!r} already names something else", ()
            scope = replace(scope, extra=(alias, "__index__"))
        verbatim = node_type.verbatim if node_type is not None else ()
        templated = {name: value for name, value in params.items() if name not in verbatim}
        yield from self._references((*pointer, "params"), templated, scope)

    def _params(
        self, pointer: Pointer, node_type: WorkflowNode[Any], params: dict[str, Any]
    ) -> Found:
        interface = node_type.interface
        known = tuple(interface.params)
        within = (*pointer, "params")
        for name in interface.required:
            if name not in params:
                yield within, f"the param {name!r} of {interface.type!r} is missing", known
        if interface.params_schema.get("additionalProperties", False) is False:
            for name in params.keys() - interface.params.keys():
                message = f"{interface.type!r} has no param {name!r}{close_to(name, known)}"
                yield (*within, name), message, known
        given = {name: value for name, value in params.items() if name in interface.params}
        loose = {**interface.params_schema, "required": [], "additionalProperties": True}
        for inner, message in schema_problems(given, loose):
            # The value of a reference is known only at run time.
            if not has_reference(_value_at(params, inner)):
                yield (*within, *inner), message, ()
        yield from (((*within, *inner), message, ()) for inner, message in node_type.check(params))
        deeper = node_type.check_in(params, self.workflow, self.registry)
        yield from (((*within, *inner), message, ()) for inner, message in deeper)

    # -- references -------------------------------------------------------------------------

    def _references(self, pointer: Pointer, value: Any, scope: _Scope) -> Found:
        try:
            template = compile_template(value)
        except TemplateSyntaxError as error:
            yield (*pointer, *error.pointer), str(error), ()
            return
        for reference in template.references:
            problem = self._reference(reference, scope)
            if problem is not None:
                message, available = problem
                yield (*pointer, *reference.pointer), message, available

    def _reference(self, reference: Reference, scope: _Scope) -> tuple[str, tuple[str, ...]] | None:
        root = reference.root
        written = f"${{{reference.text}}}"
        if reference.secret:
            return (
                None if scope.secrets else (f"{written}: a secret can only be used in params", ())
            )
        if root in self.inputs or root in scope.extra:
            return None
        if root not in self.index:
            names = (*self.inputs, *scope.extra, *self._before(scope))
            message = f"{written}: there is no input or node {root!r}{close_to(root, names)}"
            return message, names
        if not self._is_before(root, scope):
            why = "is this node itself" if root == scope.node else "does not run before this one"
            return f"{written}: node {root!r} {why}", (*self.inputs, *self._before(scope))
        outputs = self._outputs_of(self.nodes[self.index[root]])
        first = reference.steps[0] if reference.steps else None
        if outputs is None or first is None or isinstance(first, Reference) or first in outputs:
            return None
        close = close_to(str(first), outputs)
        return f"{written}: node {root!r} has no output {first!r}{close}", outputs

    def _is_before(self, name: str, scope: _Scope) -> bool:
        if scope.node is None:
            return True
        # Most references are to what has just run: the walk ends there.
        return name != scope.node and name in walk(scope.node, self.preceding)

    def _before(self, scope: _Scope) -> tuple[str, ...]:
        if scope.node is None:
            return tuple(self.index)
        return tuple(sorted(reachable(scope.node, self.preceding) - {scope.node}))

    def _outputs_of(self, node: dict[str, Any]) -> tuple[str, ...] | None:
        """Return the names of a node's outputs; None if only the run will show them."""
        # Whatever the type is, a failure that is handled leaves its message.
        error = ("error",) if node["id"] in self._handled else ()
        if "batch" in node:
            return (*BATCH_OUTPUTS, *error)
        name = node.get("type")
        found = self.registry.node(name) if isinstance(name, str) else None
        if found is None or found.interface.open_outputs:
            return None
        return tuple(dict.fromkeys((*found.interface.outputs, *error)))

    @cached_property
    def _handled(self) -> set[str]:
        by_edge = {edge["from"] for _, edge in self._edges() if edge.get("action") == "error"}
        nodes = self.nodes.values()
        return by_edge | {node["id"] for node in nodes if node.get("on_error") == "continue"}

    def _outputs(self) -> Found:
        outputs = self.workflow.get("outputs")
        scope = _Scope(node=None, secrets=False)
        for name, output in (outputs if isinstance(outputs, dict) else {}).items():
            source = output.get("source") if isinstance(output, dict) else None
            if isinstance(source, str):
                template = source_template(source)
                yield from self._references(("outputs", name, "source"), template, scope)


@dataclass(frozen=True, slots=True)
class _Scope:
    """The names that references can begin with, besides the inputs."""

    #: The node that they are in; none at the end, when all have run.
    node: str | None
    extra: tuple[str, ...] = ()
    #: `${env.NAME}` is allowed.
    secrets: bool = True


def _value_at(value: Any, pointer: Pointer) -> Any:
    for part in pointer:
        value = value[part]
    return value
