"""A plan, from its instruction to what is applied: strategize, execute step by step, deliver.

Questions to a person go through `run.ask`, which parks the run; the command line answers
with `plan execute`, `plan answer`, `plan correct`, `plan rollback` and `plan apply`.
"""

from __future__ import annotations

import time
from functools import partial

import msgspec

from runtrue.flow import Journal, Outcome, Run, RunRow, RunState, Segment
from runtrue.foreign_text import one_line
from runtrue.home import Home
from runtrue.loop import AMEND, AmendedByPerson, Spent, amendable
from runtrue.plan.amend import amend, ask_instead, unread_notes
from runtrue.plan.context import PlanContext, PlanRun
from runtrue.plan.deliver import deliver
from runtrue.plan.execute_step import execute_step
from runtrue.plan.learn import learn
from runtrue.plan.make_report import report_of
from runtrue.plan.next_step import Next, pick_next
from runtrue.plan.orchestrator import FixThenRevalidateOrchestrator, Validated
from runtrue.plan.plan import KIND, PlanRequest
from runtrue.plan.states import Happening, PlanState
from runtrue.plan.strategists import strategist_of
from runtrue.plan.strategize import make_strategy
from runtrue.plan.validation import baseline_verdicts
from runtrue.plan.workshop import workshop_of
from runtrue.record_format import as_recorded, recorded_request
from runtrue.sandbox import GitSandbox

#: How much of an instruction is shown in lists of runs.
_SHOWN_TITLE = 80


async def execute_plan(run: Run, context: PlanContext, plan: PlanRun) -> None:
    """Make the strategy, do and validate its steps, and apply the result."""
    is_done = not await make_strategy(run, context, plan)
    while not is_done:
        try:
            await begin(run, context, plan)
            await execute_steps(run, context, plan)
            await learn(run, context, plan)
            is_done = await deliver(run, context, plan)
        except AmendedByPerson as amended:
            context = await amend(run, context, plan, amended.said)
    await end(run, context, plan)


async def begin(run: Run, context: PlanContext, plan: PlanRun) -> None:
    """Wait for `plan execute` if required, then make the sandbox and the baseline."""
    if plan.progress.position.state is not PlanState.QUEUED:
        return
    is_rolled_back = bool(plan.candidate)
    if is_rolled_back or not context.request.profile.auto_execute:
        amendable(await run.ask("begin", {"begin": True}))
    if not is_rolled_back:
        await open_sandbox(run, context, plan)
    plan.advance(Happening.STARTED)
    if not is_rolled_back:
        await run_baseline(run, context, plan)


async def read_notes(run: Run, context: PlanContext, plan: PlanRun) -> None:
    """Read what a person said while the plan was running, before the next step."""
    notes = await run.step("notes", partial(unread_notes, context), plan.notes_read)
    if notes:
        raise AmendedByPerson({AMEND: notes[0], "note": plan.notes_read})


async def run_baseline(run: Run, context: PlanContext, plan: PlanRun) -> None:
    """Run every required validation on the files as they are before the first step."""
    work = partial(baseline_verdicts, context.request, context.sandbox, context.redact)
    baseline = await run.step("baseline", work, plan.candidate)
    plan.baseline = baseline.verdicts
    plan.advance(spent=plan.progress.spent.plus(Spent(seconds=baseline.seconds)))


async def execute_steps(run: Run, context: PlanContext, plan: PlanRun) -> None:
    """Do and validate one step after another, then validate the whole."""
    request, profile = context.request, context.request.profile
    workshop = workshop_of(context, plan)
    orchestrator = FixThenRevalidateOrchestrator(
        workshop,
        strategist_of(request, context.redact),
        instruction=request.instruction,
        approves_revisions=not (profile.auto_strategize and profile.auto_strategy_revision),
    )
    while True:
        await read_notes(run, context, plan)
        match pick_next(plan, workshop.policy):
            case Next.STEP:
                is_done = await execute_step(run, context, plan)
            case Next.VALIDATE | Next.WHOLE:
                is_done = True
            case Next.INSTEAD if await ask_instead(run, plan):
                continue
            case Next.INSTEAD:
                return
            case Next.COMPLETE | Next.SPENT:
                return
        # A step that was refused has its verdict already.
        result = await orchestrator.revalidate(run, plan, is_checked=not is_done)
        if result is Validated.STOPPED:
            return


async def open_sandbox(run: Run, context: PlanContext, plan: PlanRun) -> None:
    """Make the sandbox from the user's files at the start of the execution."""
    opened = await run.step("open", partial(_open, context))
    plan.candidate, plan.prefix, plan.sandbox = opened
    plan.origin = plan.candidate


def _open(context: PlanContext) -> tuple[str, str, str]:
    """Return the candidate, what paths of the project begin with, and the directory."""
    sandbox = context.sandbox
    context.memory.unlearn_reverted(context.project)
    context.memory.pull()
    candidate = sandbox.open()
    inside = sandbox.rooted(".")
    return candidate, "" if inside == "." else f"{inside}/", str(sandbox.directory)


async def end(run: Run, context: PlanContext, plan: PlanRun) -> None:
    """Clear away the sandbox of a plan that was applied; any other keeps its own."""
    is_applied = plan.progress.position.state is PlanState.APPLIED
    await run.step("end", partial(_end, context), is_applied)
    if is_applied:
        plan.sandbox = None


def _end(context: PlanContext, is_applied: bool) -> float:
    if is_applied:
        context.sandbox.remove()
    return time.time()


def start_plan(journal: Journal, request: PlanRequest) -> str:
    """Record a new plan, to be run by a dispatcher, and return its id."""
    title = one_line(request.instruction, _SHOWN_TITLE)
    return journal.create(KIND, title, msgspec.to_builtins(request))


def request_of(run: RunRow) -> PlanRequest:
    """Return what a plan was asked to do. Raises FlowChanged for one of another version."""
    return recorded_request(run, PlanRequest)


def sandbox_of_plan(run: RunRow, home: Home) -> GitSandbox | None:
    """Return the sandbox of a plan; None if it works in the user's own files. Makes nothing."""
    sandbox = PlanContext.of(run, request_of(run), home).sandbox
    return sandbox if isinstance(sandbox, GitSandbox) else None


def prepare_plan(run: RunRow, home: Home) -> Segment:
    """Return the work of a recorded plan, ready to continue where it stopped."""
    request = request_of(run)
    context = PlanContext.of(run, request, home)
    plan = PlanRun(run_id=run.id, request=request)

    async def work(recorded: Run) -> Outcome:
        await execute_plan(recorded, context, plan)
        is_applied = plan.progress.position.state is PlanState.APPLIED
        status = RunState.PASSED if is_applied else RunState.FAILED
        return status, report_of(plan, status)

    return Segment(as_recorded(run, work), state=plan, take_over=context.sandbox.take_over)
