"""Runs of workflows, in memory or durable.

A run is deterministic: nothing is ever fixed here. It ends with the outputs of the workflow, or at
the first failure that no edge handles, with everything that came before it.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec

from runtrue.errors import NodeFailed, UsageError
from runtrue.flow import Flow, Journal, Listener, NewRun, Outcome, Run, RunRow, RunState, Segment
from runtrue.home import Home
from runtrue.typed_data import convert
from runtrue.workflow.compile import assemble, checked
from runtrue.workflow.context import Context, Surroundings, entered, opened
from runtrue.workflow.derive_effects import effects_of
from runtrue.workflow.effect import EffectReport
from runtrue.workflow.event_loop import run_to_end
from runtrue.workflow.events import NodeFailure
from runtrue.workflow.inputs import prepare_inputs
from runtrue.workflow.ir import WorkflowIR, parse_ir
from runtrue.workflow.outputs import outputs_of
from runtrue.workflow.recorded_secrets import (
    placeholders,
    redact_workflow,
    restore_secrets,
    secret_texts,
)
from runtrue.workflow.registry import Registry
from runtrue.workflow.report import WorkflowReport, recorded_outputs, report_of, unfinished_report
from runtrue.workflow.secrets import SecretRedactor
from runtrue.workflow.store import load_workflow

KIND = "workflow"


@dataclass(frozen=True, slots=True)
class WorkflowResult:
    """The result of running a workflow.

    `outputs` are those that it declares, or else those of its last node; `store` holds every input
    by its name and the outputs of each node that finished by its id, also when a later one failed.
    """

    status: RunState
    outputs: dict[str, Any]
    store: dict[str, Any]
    error: NodeFailed | None = None

    @property
    def passed(self) -> bool:
        """True if it ran to its end."""
        return self.status is RunState.PASSED


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowRequest:
    """The request for a durable run, as it is recorded: without secrets."""

    name: str
    path: str | None
    directory: str
    ir: dict[str, Any]
    inputs: dict[str, Any]
    #: The inputs that were given, not taken from their defaults.
    given: tuple[str, ...] = ()
    #: A person gave the params of the node, too: it is no workflow that a machine may have written.
    is_typed: bool = False


@dataclass(frozen=True, slots=True)
class Started:
    """A run that was recorded, and the secrets that only this process has."""

    run_id: str
    secrets: Mapping[str, Any] = field(repr=False)


def run_workflow(
    ir: Mapping[str, Any],
    inputs: Mapping[str, Any] | None = None,
    *,
    registry: Registry | None = None,
    environment: Mapping[str, str] | None = None,
    listeners: Iterable[Listener] = (),
) -> WorkflowResult:
    """Run a workflow once in memory, recording nothing, and wait for its end.

    Raises `InvalidWorkflow` or `InputError` before anything is run. A node that fails is a result,
    with `status` failed and the `error`.
    """
    running = execute_workflow(
        ir, inputs, registry=registry, environment=environment, listeners=listeners
    )
    return run_to_end(running)


async def execute_workflow(
    ir: Mapping[str, Any],
    inputs: Mapping[str, Any] | None = None,
    *,
    registry: Registry | None = None,
    environment: Mapping[str, str] | None = None,
    listeners: Iterable[Listener] = (),
) -> WorkflowResult:
    """Do what `run_workflow` does, for callers that are asynchronous themselves."""
    registry = registry or Registry.here()
    workflow, parsed = checked(ir, registry)
    given = inputs or {}
    inputs = prepare_inputs(parsed.inputs, given, stdin=None, from_text=False)
    named = tuple(texts_in(given))
    context = Context(surroundings_of(registry, workflow.path, environment, named))
    context.redactor.add(*secret_texts(redact_workflow(workflow, parsed, inputs, registry).secrets))
    async with opened(context):
        return await execute(parsed, inputs, context, listeners)


async def execute(
    parsed: WorkflowIR,
    inputs: Mapping[str, Any],
    context: Context,
    listeners: Iterable[Listener] = (),
) -> WorkflowResult:
    """Run a valid workflow with valid inputs in memory, within `context`."""
    flow = assemble(parsed, context.surroundings)
    with entered(context):
        return await drive_to_end(flow, parsed, dict(inputs), context, listeners)


async def drive_to_end(
    flow: Flow,
    parsed: WorkflowIR,
    store: dict[str, Any],
    context: Context,
    listeners: Iterable[Listener],
) -> WorkflowResult:
    """Run a flow over `store`, within the context that was entered, and read the outputs."""
    redact = context.redactor.redact
    try:
        await flow.run(store, listeners=listeners)
        outputs = outputs_of(parsed, store)
    except NodeFailed as error:
        # Of `outer.inner` it is the outer one that is a node here.
        failed = (error.node_id or "").partition(".")[0]
        if error.outputs and failed:
            store.pop(failed, None)
            store[failed] = dict(error.outputs)
        return WorkflowResult(RunState.FAILED, {}, redact(store), error)
    return WorkflowResult(RunState.PASSED, redact(outputs), redact(store))


def start_workflow(
    journal: Journal,
    ir: Mapping[str, Any],
    given: Mapping[str, Any],
    *,
    registry: Registry,
    stdin: str | None = None,
    from_text: bool = False,
    is_typed: bool = False,
) -> Started:
    """Record a new run of a valid workflow with inputs that fit, for a dispatcher to run.

    With `from_text` the inputs are what a person typed, and are read by their declared types.
    A file that a given input names may be reached; with `is_typed`, any that the workflow names.
    """
    new = new_workflow_run(
        ir, given, registry=registry, stdin=stdin, from_text=from_text, is_typed=is_typed
    )
    run_id = journal.create(new.run.kind, new.run.title, new.run.input)
    return Started(run_id, new.secrets)


@dataclass(frozen=True, slots=True)
class NewWorkflowRun:
    """A run that is ready to be recorded, and the secrets that only this process has."""

    run: NewRun
    secrets: Mapping[str, Any] = field(repr=False)


def new_workflow_run(
    ir: Mapping[str, Any],
    given: Mapping[str, Any],
    *,
    registry: Registry,
    stdin: str | None = None,
    from_text: bool = False,
    is_typed: bool = False,
    names_files: Collection[str] | None = None,
) -> NewWorkflowRun:
    """Return what `start_workflow` records. Raises `InvalidWorkflow` or `InputError`.

    `names_files` are the given inputs that a person wrote; by default all of them.
    """
    workflow, parsed = checked(ir, registry)
    inputs = prepare_inputs(parsed.inputs, given, stdin=stdin, from_text=from_text)
    sealed = redact_workflow(workflow, parsed, inputs, registry)
    request = WorkflowRequest(
        name=workflow.name,
        path=str(workflow.path) if workflow.path else None,
        directory=str(registry.directory),
        ir=sealed.ir,
        inputs=sealed.inputs,
        given=tuple(given if names_files is None else names_files),
        is_typed=is_typed,
    )
    return NewWorkflowRun(
        NewRun(kind=KIND, title=workflow.name, input=msgspec.to_builtins(request)), sealed.secrets
    )


def planned_effects(
    ir: Mapping[str, Any],
    registry: Registry,
    given: Mapping[str, Any] | None = None,
    *,
    stdin: str | None = None,
    from_text: bool = False,
) -> tuple[EffectReport, ...]:
    """Return what a valid workflow would do outside of its run, without running anything.

    Without given inputs, what depends on one that has no default is not known.
    """
    workflow, parsed = checked(ir, registry)
    if given is None:
        inputs = {n: spec["default"] for n, spec in parsed.inputs.items() if "default" in spec}
    else:
        inputs = prepare_inputs(parsed.inputs, given, stdin=stdin, from_text=from_text)
    secrets = redact_workflow(workflow, parsed, inputs, registry).secrets
    redact = SecretRedactor(secret_texts(secrets)).redact
    surroundings = surroundings_of(registry, workflow.path, None, tuple(texts_in([given or {}])))
    found = effects_of(workflow, inputs, surroundings)
    return tuple(EffectReport.of(effect.with_texts(redact)) for effect in found)


def prepare_workflow(
    run: RunRow,
    home: Home,
    secrets: Mapping[str, Any] | None = None,
    environment: Mapping[str, str] | None = None,
) -> Segment:
    """Return the flow of a recorded run, ready to go on from where it stopped."""
    request = convert(run.input, WorkflowRequest)
    registry = Registry(home, Path(request.directory))
    found = {**_written_secrets(request), **(secrets or {})}
    try:
        parsed = parse_ir(restore_secrets(request.ir, found))
        inputs = restore_secrets(request.inputs, found)
    except KeyError as error:
        raise UsageError(_lost_secret(run, request, str(error.args[0]))) from error
    path = Path(request.path) if request.path else None
    given = {name: inputs[name] for name in request.given if name in inputs}
    typed = [node.params for node in parsed.nodes] if request.is_typed else []
    named = tuple(texts_in([given, typed]))
    surroundings = surroundings_of(registry, path, environment, named)
    redactor = SecretRedactor(secret_texts(found))

    flow, store = assemble(parsed, surroundings), dict(inputs)

    async def work(recorded: Run) -> Outcome:
        context = Context(surroundings, run_id=run.id)
        context.redactor.add(*secret_texts(found))
        async with opened(context):
            await flow.walk(recorded, store)
        return report_of(run, request.name, parsed, redactor.redact(store))

    return Segment(work, state=store)


def report_so_far(journal: Journal, run: RunRow) -> WorkflowReport:
    """Return the report of a run that is not over: finished nodes, and what it stopped at."""
    request = convert(run.input, WorkflowRequest)
    # Only the latest, and only while it counts: a run that was resumed has left it behind, and
    # what it stopped at then need not be a node.
    latest = journal.latest_event(run.id, NodeFailure)
    counts = latest is not None and (run.error or "").endswith(latest.message)
    failure = latest.payload if latest is not None and counts else None
    recorded = recorded_outputs(journal.load(run.id))
    ir = parse_ir(request.ir)
    report = unfinished_report(run, request.name, ir, recorded, run.state, failure)
    # Where the workflow itself is wrong, going on would only fail again.
    can_go_on = run.state is RunState.FAILED and not (failure and failure["fixable"])
    return replace(report, resumable=can_go_on)


def surroundings_of(
    registry: Registry,
    path: Path | None,
    environment: Mapping[str, str] | None,
    named: tuple[str, ...] = (),
) -> Surroundings:
    """Return the surroundings of a workflow that was read from the file `path`, or from none.

    `named` are the texts of a person, who may name files in them.
    """
    base = path.parent if path else registry.directory
    found = os.environ if environment is None else environment
    return Surroundings(registry, base, found, named)


def texts_in(value: Any) -> Iterator[str]:
    """Yield the texts in a value, at any depth."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, Mapping):
            waiting.extend(one.values())
        elif isinstance(one, list | tuple):
            waiting.extend(one)


def _lost_secret(run: RunRow, request: WorkflowRequest, placeholder: str) -> str:
    part, _, name = placeholder.partition(".")
    if part == "inputs" and "." not in name:
        return (
            f"run {run.id} was given a secret that is not kept: give it again with "
            f"`runtrue runs resume {run.id} --input {name}=…`"
        )
    pointer = f"/{placeholder.replace('.', '/')}"
    return (
        f"run {run.id} needs the secret at {pointer} of {request.path or 'its workflow'}, which is "
        "not kept and no longer there: start a new run"
    )


def _written_secrets(request: WorkflowRequest) -> dict[str, Any]:
    """Read the secrets from the workflow's file again, if it is still there."""
    # A pipe that it was read from must not be read again.
    if request.path is None or not Path(request.path).is_file():
        return {}
    try:
        workflow = load_workflow(Path(request.path))
    except UsageError:
        return {}
    return dict(placeholders(request.ir, workflow))
