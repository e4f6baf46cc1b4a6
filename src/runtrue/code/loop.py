"""The code loop: from a project, or a requirement, to a diff that is proven by running it.

`fix` is behind `runtrue fix` and `runtrue gate`, `code` behind `runtrue code`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from runtrue.code.baseline import checks_to_compare, run_before_change, run_before_code
from runtrue.code.context import CodeContext, CodeState
from runtrue.code.learn import learn, recall
from runtrue.code.make_report import report_of
from runtrue.code.request import Apply, CodeRequest, Kind
from runtrue.code.workshop import workshop_of
from runtrue.code.write import write_code, write_tests
from runtrue.fixers import ask_version
from runtrue.flow import Journal, NewRun, Outcome, Run, RunRow, Segment
from runtrue.home import Home
from runtrue.loop import Action, History, Why, confidence_in, is_yes, repair
from runtrue.receipt import Receipt, hash_of, make_receipt
from runtrue.record_format import as_recorded, recorded_request
from runtrue.sandbox import GitSandbox, Isolation, SelfRunning


async def fix(run: Run, context: CodeContext, state: CodeState) -> None:
    """Make the checks of a project pass, or find out whether they do."""
    await open_sandbox(run, context, state)
    if checks_to_compare(context.request):
        await run_before_change(run, context, state)
    await repair(run, workshop_of(context), state)
    await finish(run, context, state)


async def code(run: Run, context: CodeContext, state: CodeState) -> None:
    """Have code and tests written for a requirement, then fix them until they pass."""
    await open_sandbox(run, context, state)
    await recall(run, context, state)
    if context.request.generator is not None:
        await run_before_code(run, context, state)
        await write_code(run, context, state)
        await write_tests(run, context, state)
    await repair(run, workshop_of(context), state)
    await finish(run, context, state)


async def finish(run: Run, context: CodeContext, state: CodeState) -> None:
    """Learn from the run, write the patch, apply it if wanted, and leave a receipt."""
    await learn(run, context, state)
    await write_patch(run, context, state)
    if state.last_decision.action is Action.ACCEPT and state.diff:
        match context.request.apply:
            case Apply.YES | Apply.ASK as wanted:
                if may_be_applied(state, wanted) or await is_agreed(run, state):
                    await apply(run, context, state)
                else:
                    state.declined = True
    await leave_receipt(run, context, state)
    await end(run, context, state)


def start_run(journal: Journal, request: CodeRequest) -> str:
    """Record a new run of `request`, to be run by a dispatcher, and return its id."""
    run = new_run(request)
    return journal.create(run.kind, run.title, run.input)


def new_run(request: CodeRequest) -> NewRun:
    """Return a run of `request`, ready to be recorded."""
    title = request.task.requirement if request.task else request.project
    return NewRun(kind=request.kind, title=title, input=msgspec.to_builtins(request))


def request_of(run: RunRow) -> CodeRequest:
    """Return what a run was asked to do. Raises FlowChanged for one of another version."""
    return recorded_request(run, CodeRequest)


def sandbox_of_run(run: RunRow, home: Home) -> GitSandbox:
    """Return the sandbox of a recorded run. Makes nothing."""
    return CodeContext.of(run, request_of(run), home).sandbox


def prepare_run(run: RunRow, home: Home) -> Segment:
    """Return the work of a recorded run, ready to continue where it stopped."""
    request = request_of(run)
    context = CodeContext.of(run, request, home)
    state = CodeState(run_id=run.id, request=request, started_at=run.created_at)
    loop = fix if request.task is None else code

    async def work(recorded: Run) -> Outcome:
        await loop(recorded, context, state)
        status = state.last_decision.status
        assert status is not None  # noqa: S101 - `repair` ends with one that has
        return status, report_of(state, status)

    return Segment(as_recorded(run, work), state=state, take_over=context.sandbox.take_over)


# -- the steps at both ends ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Opened:
    candidate: str
    #: The artifact as seen from the sandbox's root.
    artifact: str
    agent_version: str | None = None


async def open_sandbox(run: Run, context: CodeContext, state: CodeState) -> None:
    """Make the sandbox from the user's current files."""
    opened = await run.step("open", partial(_open, context))
    state.candidate, state.rooted = opened.candidate, opened.artifact
    state.agent_version = opened.agent_version


async def _open(context: CodeContext) -> _Opened:
    request, task = context.request, context.request.task
    context.memory.unlearn_reverted(context.project)
    context.memory.pull()
    candidate = context.sandbox.open()
    version = None
    if request.agent.command and (request.generator == "agent" or "agent" in request.order):
        version = await ask_version(request.agent, context.sandbox.workplace())
    return _Opened(candidate, context.sandbox.rooted(task.path) if task else "", version)


@dataclass(frozen=True, slots=True)
class _Patch:
    diff: str
    #: The directory that it is to be applied in.
    top: str
    self_running: tuple[SelfRunning, ...] = ()


async def write_patch(run: Run, context: CodeContext, state: CodeState) -> None:
    """Leave the resulting candidate in the sandbox and its patch in a file."""
    is_accepted = state.last_decision.action is Action.ACCEPT
    patch = await run.step("settle", partial(_patch, context), state.candidate, is_accepted)
    state.diff, state.patch_root = patch.diff, patch.top
    state.self_running = patch.self_running
    state.patch = str(context.patch) if patch.diff else None
    state.sandbox = str(context.sandbox.directory)


def _patch(context: CodeContext, candidate: str, is_accepted: bool) -> _Patch:
    sandbox = context.sandbox
    if is_accepted:
        # A patch is there to be applied by hand: none is written of what may not be applied.
        sandbox.demand_leaving(candidate)
    diff = sandbox.settle(candidate, context.patch)
    # The file is what is applied; this goes into the journal and the report.
    task = context.request.task
    # What the user named as the file to write is agreed to by that.
    agreed = (sandbox.rooted(task.path),) if task else ()
    return _Patch(context.redact(diff), str(sandbox.top), sandbox.self_running(candidate, agreed))


async def leave_receipt(run: Run, context: CodeContext, state: CodeState) -> None:
    """Record what was proven, and for which tree."""
    if state.last_decision.action is Action.ACCEPT:
        work = partial(_receipt, context, state.history)
        state.receipt = await run.step("receipt", work, state.candidate)


def _receipt(context: CodeContext, history: History, candidate: str) -> Receipt:
    request = context.request
    attempts = [one for one in history.attempts if one.candidate == candidate]
    attempt = attempts[-1] if attempts else history.latest
    confidence = confidence_in(history, attempt) if attempt.fix else None
    receipt = make_receipt(
        context.run_id,
        request.kind,
        context.sandbox,
        candidate,
        attempt.verdicts,
        project=Path(request.project),
        commands={check.name: context.redact(check.line) for check in request.checks},
        not_run=[f"{name}: nothing was changed in its directory" for name in request.unconcerned],
        question=question_of(request),
        isolation=Isolation(request.isolation).record,
        against=request.against,
        confidence=round(confidence.value, 2) if confidence else None,
    )
    receipt.save(context.home)
    return receipt


def question_of(request: CodeRequest) -> str:
    """Return a hash of everything that decides the verdict on a tree."""
    return hash_of(replace(request, workflow_id="", iteration=None, stop=None))


def may_be_applied(state: CodeState, wanted: Apply) -> bool:
    """True if the diff may be applied without asking; files that run by themselves never are."""
    if state.self_running and not state.request.allow_self_running:
        return False
    # Asked whether the fix is right, a person has said that it may be applied.
    return wanted is Apply.YES or state.last_decision.why is Why.AGREED


async def is_agreed(run: Run, state: CodeState) -> bool:
    """Ask whether to apply the diff. Anything but a yes is a no."""
    latest = state.history.latest
    question: dict[str, Any] = {
        "apply": True,
        "diff": state.diff,
        "files": latest.fix.files if latest.fix else (),
        "confidence": confidence_in(state.history, latest),
    }
    if state.self_running:
        question["self_running"] = state.self_running
    answer = await run.ask("ask_apply", question)
    return is_yes(str(answer))


async def apply(run: Run, context: CodeContext, state: CodeState) -> None:
    """Apply the candidate to the user's tree, unless the user changed those files in the meantime.

    Not declared a side effect: applying again does only what is left to do, so that a run that was
    killed here can go on by itself.
    """
    await run.step("apply", partial(_apply, context), state.candidate)
    state.applied = True


def _apply(context: CodeContext, candidate: str) -> None:
    context.note_applied(context.sandbox.apply(candidate))


async def end(run: Run, context: CodeContext, state: CodeState) -> None:
    """Remove the sandbox of a run that passed; a failed run keeps its own.

    A gate never keeps one: the candidate is what the user has.
    """
    is_accepted = state.last_decision.action is Action.ACCEPT
    is_kept = not is_accepted and context.request.kind is not Kind.GATE
    state.ended_at = await run.step("end", partial(_end, context, state), is_kept)
    if not is_kept:
        state.sandbox = None


def _end(context: CodeContext, state: CodeState, is_kept: bool) -> float:
    if state.declined:
        context.memory.unlearn(context.run_id)
    if not is_kept:
        context.sandbox.remove()
    return time.time()
