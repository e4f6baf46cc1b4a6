"""The `workflow` node: another workflow, with a store of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta

from runtrue.errors import InvalidWorkflow, NodeFailed, RuntimeValidationError, UsageError
from runtrue.workflow.context import Context, Surroundings
from runtrue.workflow.derive_effects import within_workflow
from runtrue.workflow.effect import Effect, EffectKind
from runtrue.workflow.inputs import prepare_inputs
from runtrue.workflow.ir import Workflow, parse_ir
from runtrue.workflow.node import Pointer, Result, WorkflowNode
from runtrue.workflow.recorded_secrets import redact_workflow, secret_texts, secrets_of
from runtrue.workflow.registry import Registry
from runtrue.workflow.store import load_saved, load_workflow
from runtrue.workflow.templates import has_reference

#: Workflows within workflows, at most.
MOST_DEPTH = 10

_WAYS = {"workflow_ref": str, "workflow_name": str, "workflow_ir": dict}
_ONE_OF = f"give one of: {', '.join(_WAYS)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SubworkflowParams:
    """One of the first three says which workflow it is."""

    workflow_ref: Annotated[
        str | None, Meta(description="A file, from the folder of this workflow's file.")
    ] = None
    workflow_name: Annotated[str | None, Meta(description="A saved workflow.")] = None
    workflow_ir: Annotated[dict[str, Any] | None, Meta(description="A workflow itself.")] = None
    param_mapping: Annotated[dict[str, Any], Meta(description="Its inputs, by name.")] = field(
        default_factory=dict
    )
    output_mapping: Annotated[
        dict[str, str], Meta(description="Other names for its outputs here: theirs to ours.")
    ] = field(default_factory=dict)
    storage_mode: Annotated[
        Literal["mapped", "isolated"], Meta(description="Its store is always its own.")
    ] = "mapped"


@dataclass(frozen=True, slots=True)
class SubworkflowOutputs:
    """Those of the other workflow, by their names or the mapped ones."""

    error: Annotated[str | None, Meta(description="Why it failed.")] = None


class SubworkflowNode(WorkflowNode[SubworkflowParams]):
    """Run another workflow. Its outputs become the outputs of this node."""

    type = "workflow"
    Params = SubworkflowParams
    Outputs = SubworkflowOutputs
    open_outputs = True
    verbatim = frozenset({"workflow_ir"})
    purpose = frozenset(_WAYS)
    # It is made of calls, each of which is known by itself.
    is_call = False
    has_parts = True

    def check(self, params: Mapping[str, Any]) -> Iterable[tuple[Pointer, str]]:
        """Refuse more or fewer ways to name the workflow than one."""
        if sum(way in params for way in _WAYS) != 1:
            yield (), _ONE_OF

    def check_in(
        self, params: Mapping[str, Any], workflow: Workflow, registry: Registry
    ) -> Iterable[tuple[Pointer, str]]:
        """Yield the other workflow's own problems, and inputs that are missing or unknown."""
        way = _written_way(params)
        if way is None:
            return
        if len(workflow.within) >= MOST_DEPTH:
            yield (way,), f"workflows are nested more than {MOST_DEPTH} deep"
            return
        base = workflow.folder or registry.directory
        try:
            inner = _load({way: params[way]}, base, registry)
        except UsageError as error:
            yield (way,), str(error)
            return
        inner.within = (*workflow.within, workflow.path)
        if _is_among(inner.path, inner.within):
            yield (way,), f"the workflow {inner.name} is used within itself"
            return
        yield from _problems(way, inner, params.get("param_mapping", {}), registry)

    def secret_places(
        self, params: Mapping[str, Any], workflow: Workflow, registry: Registry
    ) -> Iterable[Pointer]:
        """Yield the secrets that are written in the other workflow, or given to it from here."""
        way = _written_way(params)
        if way is None:
            return
        inner = _load({way: params[way]}, workflow.folder or registry.directory, registry)
        given = params.get("param_mapping", {})
        for secret in secrets_of(inner, parse_ir(inner), registry):
            if way == "workflow_ir" and not secret.roots:
                yield (way, *secret.pointer)
            if isinstance(given, dict):
                yield from (("param_mapping", name) for name in sorted(secret.roots & given.keys()))

    def effects(self, params: Mapping[str, Any]) -> Iterable[Effect]:
        """Yield the file that it is read from; what it does has effects of its own."""
        path = params.get("workflow_ref")
        if isinstance(path, str) and not has_reference(path):
            yield Effect(kind=EffectKind.READ, target=path, reads=True)

    async def run(self, params: SubworkflowParams, context: Context) -> Result:
        """Load, check and run it."""
        from runtrue.workflow.compile import checked
        from runtrue.workflow.run import execute

        if context.depth >= MOST_DEPTH:
            raise RuntimeValidationError(
                f"workflows are nested more than {MOST_DEPTH} deep",
                category="too_deep",
            )
        surroundings = context.surroundings
        ways = {way: getattr(params, way) for way in _WAYS if getattr(params, way) is not None}
        if len(ways) != 1:
            raise RuntimeValidationError(_ONE_OF, category="bad_subworkflow")
        try:
            inner = _load(ways, surroundings.base, surroundings.registry)
            _, parsed = checked(inner, surroundings.registry)
            inputs = prepare_inputs(
                parsed.inputs, params.param_mapping, stdin=None, from_text=False
            )
        except UsageError as error:
            message = "; ".join(str(error).splitlines())
            raise RuntimeValidationError(message, category="bad_subworkflow") from error
        secrets = redact_workflow(inner, parsed, inputs, surroundings.registry).secrets
        context.redactor.add(*secret_texts(secrets))
        here = within_workflow(surroundings, inner.folder, ways)
        result = await execute(parsed, inputs, context.within(here))
        if result.error is not None:
            raise _failed_in(result.error, inner.name)
        names = params.output_mapping
        outputs = {names.get(name, name): value for name, value in result.outputs.items()}
        return Result(outputs)


def inner_workflow(params: Mapping[str, Any], surroundings: Surroundings) -> Workflow | None:
    """Return the workflow that params name, unless that is not known yet. Raises UsageError."""
    way = _written_way(params)
    if way is None:
        return None
    return _load({way: params[way]}, surroundings.base, surroundings.registry)


def _written_way(params: Mapping[str, Any]) -> str | None:
    """Return the param that names the other workflow, if it is known before anything has run."""
    ways = [way for way in _WAYS if way in params]
    if len(ways) != 1 or not isinstance(params[ways[0]], _WAYS[ways[0]]):
        return None
    written = params[ways[0]]
    return None if isinstance(written, str) and has_reference(written) else ways[0]


def named_workflow(
    params: Mapping[str, Any], workflow: Workflow, registry: Registry
) -> tuple[str, Workflow] | None:
    """Return the param that names the other workflow, and that; None if only a run knows it."""
    way = _written_way(params)
    if way is None:
        return None
    return way, _load({way: params[way]}, workflow.folder or registry.directory, registry)


def _load(ways: Mapping[str, Any], base: Path, registry: Registry) -> Workflow:
    if "workflow_ir" in ways:
        return Workflow(ways["workflow_ir"], name="workflow_ir", folder=base)
    if "workflow_name" in ways:
        return load_saved(ways["workflow_name"], registry.home)
    try:
        return load_workflow(base / Path(ways["workflow_ref"]).expanduser())
    except RuntimeError as error:
        raise UsageError(f"{ways['workflow_ref']}: there is no such home directory") from error


def _problems(
    way: str, inner: Workflow, given: Any, registry: Registry
) -> Iterable[tuple[Pointer, str]]:
    from runtrue.workflow.validate import validate_workflow

    problems = validate_workflow(inner, registry=registry)
    if problems:
        yield from (((way,), str(InvalidWorkflow(inner.name, [problem]))) for problem in problems)
        return
    declared = parse_ir(inner).inputs
    if not isinstance(given, dict):
        return
    for name in given.keys() - declared.keys():
        known = ", ".join(declared) or "none"
        yield ("param_mapping", name), f"{inner.name} has no input {name!r}; it has: {known}"
    for name, spec in declared.items():
        if name not in given and spec.get("required", True) and "default" not in spec:
            yield ("param_mapping",), f"the input {name!r} of {inner.name} is missing"


def _is_among(path: Path | None, others: Iterable[Path | None]) -> bool:
    return path is not None and path.resolve() in {p.resolve() for p in others if p is not None}


def _failed_in(error: NodeFailed, name: str) -> NodeFailed:
    error.message = f"in the workflow {name}: {error.message}"
    # What the failed node had produced is in the inner store.
    error.outputs = {"error": error.message}
    return error
