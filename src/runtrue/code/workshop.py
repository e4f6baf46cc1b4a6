"""The workshop of the code loop: its checks, gates and fixers, made from the request."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from runtrue.code.analyst import MemoryAnalyst
from runtrue.code.can_fail import CanFailGate
from runtrue.code.context import CodeContext
from runtrue.code.escalate import ReportEscalator
from runtrue.code.independence import IndependenceGate
from runtrue.code.proof import KindsGate
from runtrue.code.request import Kind
from runtrue.config import load_config
from runtrue.errors import UsageError
from runtrue.fixers import AutofixCommands, FixerSettings, make_ladder
from runtrue.gates import CoverageGate, SecurityGate
from runtrue.loop import CodeType, Gate, Known, Mode, Workshop
from runtrue.plugins import PluginGroup, plugin_named


def workshop_of(context: CodeContext) -> Workshop:
    """Return what a run checks and fixes with."""
    request, task = context.request, context.request.task
    fixers = FixerSettings(
        order=request.order,
        memory=context.memory,
        project=context.project,
        judges=request.judges,
        autofix=AutofixCommands(commands=request.autofix, safe=request.safe, unsafe=request.unsafe),
        narrow=tuple(c.name for c in request.checks if c.known is Known.IGNORE),
        changed=context.changed,
        tests=request.checks,
        search=request.search,
        model=request.model,
        endpoint=load_config(Path(request.project)).model if request.model else None,
        agent=request.agent,
        files=(task.path,) if task else (),
        redact=context.redact,
    )
    return Workshop(
        sandbox=context.sandbox,
        checks=request.checks,
        ladder=make_ladder(fixers),
        policy=replace(request.policy, rungs=fixers.rungs),
        gates=_gates(context),
        analyst=MemoryAnalyst(context),
        escalator=ReportEscalator(context),
        artifact=task.path if task else None,
        requirement=task.requirement if task else None,
        documents=task.mentions if task else (),
        tests=task.tests if task else (),
        known={c.name: c.known for c in request.checks if c.mode is Mode.REQUIRED},
        redact=context.redact,
        patch=context.patch,
        expects_failure=request.kind is Kind.FIX,
    )


def _gates(context: CodeContext) -> tuple[Gate, ...]:
    """Return what the candidate is held to beyond its checks."""
    request, task = context.request, context.request.task
    gates: list[Gate] = []
    if request.requirement is not None:
        if request.requirement.minimum_coverage:
            gates.append(
                CoverageGate(
                    sandbox=context.sandbox,
                    changed=context.changed,
                    checks=tuple(check.name for check in request.checks),
                    minimum=request.requirement.minimum_coverage,
                    code_type=task.code_type if task else CodeType.NEW_FUNCTION,
                    artifact=task.path if task else None,
                    strict=task is None,
                )
            )
        if request.gate.tests_can_fail != "off":
            gates.append(CanFailGate(context))
        if request.requirement.required_tests or task is None:
            gates.append(KindsGate(context))
        gates.append(IndependenceGate(context))
    if request.security is not None:
        gates.append(
            SecurityGate(request.security.command, request.security.severity, context.changed)
        )
    for name in request.gate.plugins:
        if (plugin := plugin_named(PluginGroup.GATES, name, Gate)) is None:
            raise UsageError(f"there is no gate {name!r}: no plugin brings it")
        gates.append(plugin(context.changed))
    return tuple(gates)
