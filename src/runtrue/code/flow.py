"""The code loop: from a project, or a requirement, to a diff that is proven by running it.

    open ─▶ recall ─▶ before ─▶ generate_code ─▶ generate_tests ─▶ check ⇄ analyse, decide, fix
            (only where there is a task; the three in the middle         │
             only where something can generate)                          ▼
                                                     settle ◀─ learn ◀─ out
    settle ─ apply ─▶ apply ─▶ end
           ─ ask ───▶ ask_apply ─▶ apply or end
           ─ end ───▶ end

`runtrue fix`, `runtrue code` and `runtrue gate` are this one flow; what differs is in the request.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import msgspec

from runtrue.code.analyst import MemoryAnalyst
from runtrue.code.escalate import ReportEscalator
from runtrue.code.generating import BeforeNode, GenerateCodeNode, GenerateTestsNode, RecallNode
from runtrue.code.independence import IndependenceGate
from runtrue.code.learning import LearnNode
from runtrue.code.original import OriginalNode, judged_by_original
from runtrue.code.place import Place
from runtrue.code.proof import KindsGate
from runtrue.code.report import report_of
from runtrue.code.request import Apply, CodeRequest, Kind
from runtrue.fixers import FixerSettings, make_ladder
from runtrue.flow import Ask, Flow, Journal, Node, Outcome, Run, RunRow, RunState, Segment
from runtrue.gates import CoverageGate, SecurityGate
from runtrue.home import Home
from runtrue.loop import (
    Action,
    CodeType,
    Decision,
    Gate,
    History,
    Workshop,
    repair_cycle,
)

Shared = dict[str, Any]


def start_run(journal: Journal, request: CodeRequest) -> str:
    """Record a new run of `request`, to be driven by a dispatcher, and return its id."""
    title = request.task.requirement if request.task else request.project
    return journal.create(request.kind, title, msgspec.to_builtins(request))


def prepare_run(run: RunRow, home: Home) -> Segment:
    """The flow of a recorded run, ready to be driven from wherever it stands."""
    request = msgspec.convert(run.input, CodeRequest)
    place = Place.of(run, request, home)
    shared: Shared = {"run_id": run.id, "request": request, "started_at": run.created_at}
    flow = code_flow(place)

    async def work(recorded: Run) -> Outcome:
        await flow.walk(recorded, shared)
        return _outcome(shared)

    return Segment(work, state=shared, take_over=place.sandbox.take_over)


def code_flow(place: Place) -> Flow:
    """Wire the journey."""
    request = place.request
    begin, settle = OpenNode("open", place), SettleNode("settle", place)
    learn = LearnNode("learn", place)
    ask, apply, end = AskApplyNode("ask_apply"), ApplyNode("apply", place), EndNode("end", place)
    check, _, out = repair_cycle(_workshop(place))
    if request.task is None and judged_by_original(request):
        begin >> OriginalNode("before", place) >> check
    elif request.task is None:
        begin >> check
    elif request.generator is None:
        begin >> RecallNode("recall", place) >> check
    else:
        recall, before = RecallNode("recall", place), BeforeNode("before", place)
        code = GenerateCodeNode("generate_code", place)
        tests = GenerateTestsNode("generate_tests", place)
        begin >> recall >> before >> code >> tests >> check
    out >> learn >> settle
    settle - "apply" >> apply >> end
    settle - "ask" >> ask
    settle - "end" >> end
    ask - "apply" >> apply
    ask - "end" >> end
    return Flow(begin)


def _workshop(place: Place) -> Workshop:
    request, task = place.request, place.request.task
    fixers = FixerSettings(
        order=request.order,
        memory=place.memory,
        project=place.project,
        judges=request.judges,
        autofix=request.mending,
        safe=request.safe,
        tests=request.checks,
        search=request.search,
        model=request.model,
        agent=request.agent,
        files=(task.path,) if task else (),
        hide=place.hide,
    )
    return Workshop(
        sandbox=place.sandbox,
        checks=request.checks,
        ladder=make_ladder(fixers),
        policy=request.policy,
        gates=_gates(place),
        analyst=MemoryAnalyst(place),
        escalator=ReportEscalator(place),
        artifact=task.path if task else None,
        tests=task.tests if task else (),
        hide=place.hide,
        expects_failure=request.kind is Kind.FIX,
    )


def _gates(place: Place) -> tuple[Gate, ...]:
    """What the candidate is held to beyond its checks."""
    request, task = place.request, place.request.task
    gates: list[Gate] = []
    if request.requirement is not None:
        if request.requirement.minimum_coverage:
            gates.append(
                CoverageGate(
                    sandbox=place.sandbox,
                    changed=place.changed,
                    checks=tuple(check.name for check in request.checks),
                    minimum=request.requirement.minimum_coverage,
                    code_type=task.code_type if task else CodeType.NEW_FUNCTION,
                    artifact=task.path if task else None,
                    strict=task is None,
                )
            )
        if request.requirement.required_tests or task is None:
            gates.append(KindsGate(place))
        gates.append(IndependenceGate(place))
    if request.security is not None:
        gates.append(
            SecurityGate(request.security.command, request.security.severity, place.changed)
        )
    return tuple(gates)


def _outcome(shared: Shared) -> tuple[RunState, dict[str, Any]]:
    status = shared["decision"].status
    return status, report_of(shared, status)


class _PlaceNode(Node):
    blocking = True

    def __init__(self, name: str, place: Place) -> None:
        super().__init__(name)
        self.place = place


@dataclass(frozen=True, slots=True)
class Opened:
    """The candidate to begin with, and the artifact as seen from the sandbox's root."""

    candidate: str
    artifact: str


class OpenNode(_PlaceNode):
    """Makes the sandbox."""

    def exec(self, inputs: None) -> Opened:
        """The candidate as the user has it."""
        candidate = self.place.sandbox.open()
        task = self.place.request.task
        return Opened(candidate, self.place.sandbox.rooted(task.path) if task else "")

    def post(self, shared: Shared, inputs: None, result: Opened) -> None:
        """Begin with it."""
        shared["candidate"] = result.candidate
        shared["rooted"] = result.artifact


@dataclass(frozen=True, slots=True)
class Settled:
    """The resulting patch, and the directory that it is to be applied in."""

    diff: str
    top: str


class SettleNode(_PlaceNode):
    """Leaves the resulting candidate in the sandbox and its patch in a file."""

    def prep(self, shared: Shared) -> tuple[str, bool]:
        """The accepted candidate, or else the best one; and whether it is accepted."""
        return str(shared["candidate"]), shared["decision"].action is Action.ACCEPT

    def exec(self, inputs: tuple[str, bool]) -> Settled:
        """Write the patch from the user's tree to the candidate.

        Not of one that may not be applied: a patch is there to be applied by hand.
        """
        sandbox = self.place.sandbox
        candidate, is_accepted = inputs
        if is_accepted:
            sandbox.demand_leaving(candidate)
        diff = sandbox.settle(candidate, self.place.patch)
        # The file is what is applied; this goes into the journal and the report.
        return Settled(self.place.hide(diff), str(sandbox.top))

    def post(self, shared: Shared, inputs: tuple[str, bool], result: Settled) -> str:
        """Apply, ask or leave it, as the request says; only what passed is ever applied."""
        request: CodeRequest = shared["request"]
        shared["diff"] = result.diff
        shared["patch"] = str(self.place.patch) if result.diff else None
        shared["patch_root"] = result.top
        shared["sandbox"] = str(self.place.sandbox.directory)
        if shared["decision"].action is not Action.ACCEPT or not result.diff:
            return "end"
        return {Apply.YES: "apply", Apply.ASK: "ask", Apply.NO: "end"}[request.apply]


class AskApplyNode(Ask):
    """Asks whether the diff shall be applied."""

    def prep(self, shared: Shared) -> dict[str, Any]:
        """The question, with what it is about."""
        history: History = shared["history"]
        fix = history.latest.fix
        return {"apply": True, "diff": shared["diff"], "files": fix.files if fix else ()}

    def post(self, shared: Shared, inputs: dict[str, Any], result: Any) -> str:
        """Anything but a yes is a no."""
        return "apply" if str(result).strip().lower() in ("y", "yes", "true") else "end"


class ApplyNode(_PlaceNode):
    """Brings the candidate into the user's tree.

    Not declared a side effect: applying again does only what is left to do, so that a run that was
    killed here can go on by itself.
    """

    def prep(self, shared: Shared) -> str:
        """The accepted candidate."""
        return str(shared["candidate"])

    def exec(self, inputs: str) -> None:
        """Write the files, unless the user has changed them meanwhile."""
        self.place.sandbox.apply(inputs)

    def post(self, shared: Shared, inputs: str, result: None) -> None:
        """Note that it was done."""
        shared["applied"] = True


class EndNode(_PlaceNode):
    """Clears away the sandbox of a run that passed; a failed run keeps its own.

    A gate never keeps one: the candidate is what the user has.
    """

    terminal = True

    def prep(self, shared: Shared) -> bool:
        """Whether the sandbox is still of use."""
        decision: Decision = shared["decision"]
        return decision.action is not Action.ACCEPT and self.place.request.kind is not Kind.GATE

    def exec(self, inputs: bool) -> float:
        """Remove it, or keep it; when it was done."""
        if not inputs:
            self.place.sandbox.remove()
        return time.time()

    def post(self, shared: Shared, inputs: bool, result: float) -> None:
        """Do not name a sandbox that is gone."""
        shared["ended_at"] = result
        if not inputs:
            shared["sandbox"] = None
