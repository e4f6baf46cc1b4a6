"""Trying: a candidate run once as it is, to see what really happens.

Nothing is checked before. What is wrong with the candidate, even that it is no workflow at all, is
a result like any other.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

import msgspec

from runtrue.errors import HostError, NodeFailed, RunError, RuntrueError, UsageError
from runtrue.flow import Event, Listener, NodeStarted, RunState
from runtrue.loop import Fault
from runtrue.workflow.calls import Calls
from runtrue.workflow.compile import assemble
from runtrue.workflow.context import Context, Surroundings, opened
from runtrue.workflow.derive_effects import effects_of
from runtrue.workflow.effect import Effect, EffectsNotAgreed, Objections
from runtrue.workflow.inputs import InputError, prepare_inputs
from runtrue.workflow.ir import Workflow, WorkflowIR, parse_ir
from runtrue.workflow.outputs import source_template
from runtrue.workflow.recorded_secrets import redact_workflow, secret_texts
from runtrue.workflow.registry import Registry
from runtrue.workflow.run import WorkflowResult, drive_to_end, surroundings_of
from runtrue.workflow.secrets import SecretRedactor
from runtrue.workflow.templates import TemplateSyntaxError, compile_template


async def try_workflow(
    ir: object,
    params: Mapping[str, Any],
    *,
    registry: Registry,
    environment: Mapping[str, str] | None = None,
    surroundings: Surroundings | None = None,
    listeners: Iterable[Listener] = (),
    calls: Calls | None = None,
    seconds: float | None = None,
    run_id: str = "",
    objections: Objections | None = None,
) -> WorkflowResult:
    """Run a candidate once as it is, unchecked; whatever is wrong with it is in the result.

    What cannot be put together fails with the category `compile`, inputs that do not fit with
    `bad_input`, and what is not over after so many `seconds` with `deadline`; the store is then as
    it was. This is one attempt of `calls`: what it holds is not called again. Raises
    EffectsNotAgreed in front of an effect that `objections` returns. `surroundings` say more than
    the registry and the environment, such as the files that may be reached.
    """
    workflow = Workflow.of(ir)
    try:
        parsed = parse_ir(workflow)
        inputs = prepare_inputs(parsed.inputs, params, stdin=None, from_text=False)
        here = surroundings or surroundings_of(registry, workflow.path, environment)
        context = Context(here, run_id=run_id, calls=calls, objections=objections)
        context.redactor.add(
            *secret_texts(redact_workflow(workflow, parsed, inputs, registry).secrets)
        )
        flow = assemble(parsed, here)
        _check_names(parsed)
    except InputError as error:
        return _failed(_bad_input(error))
    except Exception as error:
        return _failed(_not_compiled(error))
    if calls is not None:
        calls.begin_attempt()
    started: list[str] = []

    def note(event: Event) -> None:
        if isinstance(event, NodeStarted):
            started.append(event.origin)

    store = dict(inputs)
    limit = asyncio.timeout(seconds)
    async with opened(context):
        try:
            async with limit:
                result = await drive_to_end(flow, parsed, store, context, [note, *listeners])
        except EffectsNotAgreed:
            if calls is not None:
                calls.end_attempt()
            raise
        except (RunError, HostError):
            # Not of the candidate: this process may not go on.
            raise
        except Exception as error:
            # The deadline, or what only the static check would have kept from being run.
            result = _failed(_not_compiled(error), context.redactor.redact(store))
    if calls is not None:
        calls.end_attempt()
    if limit.expired() and not result.passed:
        late = _late(seconds, started[-1] if started else None)
        return _failed(late, context.redactor.redact(store))
    return result


def effects_of_candidate(
    ir: object, params: Mapping[str, Any], surroundings: Surroundings
) -> tuple[Effect, ...]:
    """Return the effects of a candidate; none of one that cannot be put together."""
    workflow = Workflow.of(ir)
    try:
        parsed = parse_ir(workflow)
        inputs = prepare_inputs(parsed.inputs, params, stdin=None, from_text=False)
        found = effects_of(workflow, inputs, surroundings)
        recorded = redact_workflow(workflow, parsed, inputs, surroundings.registry)
    except Exception:
        # When it is tried, that says why, and nothing runs either.
        return ()
    redact = SecretRedactor(secret_texts(recorded.secrets)).redact
    return tuple(effect.with_texts(redact) for effect in found)


def _failed(error: NodeFailed, store: dict[str, Any] | None = None) -> WorkflowResult:
    return WorkflowResult(RunState.FAILED, {}, store or {}, error)


def _check_names(parsed: WorkflowIR) -> None:
    """Refuse outputs that could not be read, or whose producer would be ambiguous."""
    for output in parsed.outputs.values():
        if (source := output.get("source")) is not None:
            compile_template(source_template(source))
    both = sorted({node.id for node in parsed.nodes} & parsed.inputs.keys())
    if both:
        raise UsageError(f"{both[0]!r} is both an input and a node")


def _bad_input(error: InputError) -> NodeFailed:
    return NodeFailed(
        "; ".join(map(str, error.problems)),
        category="bad_input",
        fault=Fault.CHECK,
        attempted=[problem.name for problem in error.problems],
        data={"problems": [asdict(problem) for problem in error.problems]},
    )


def _not_compiled(error: Exception) -> NodeFailed:
    why = "; ".join(str(error).splitlines())
    if isinstance(error, KeyError):
        why = f"{error.args[0]!r} is named or needed but does not exist"
    elif not isinstance(error, RuntrueError | msgspec.ValidationError | TemplateSyntaxError):
        why = f"{type(error).__name__}: {why}" if why else type(error).__name__
    message = f"the workflow cannot be built: {why}"
    return NodeFailed(message, category="compile", fault=Fault.CHECK)


def _late(seconds: float | None, node: str | None) -> NodeFailed:
    return NodeFailed(
        f"was still running when the time for the whole run was over ({seconds:g} s for this one)",
        category="deadline",
        fault=Fault.ENVIRONMENT,
        node_id=node,
        data={"seconds": seconds},
    )
