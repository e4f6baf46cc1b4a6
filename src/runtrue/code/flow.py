"""`runtrue fix`: make a project's checks pass, and hand over a diff that is proven to do so.

open ─▶ check ⇄ decide ⇄ fix      (the repair cycle of `runtrue.loop`)
                 │
                 └─ accept, stop ─▶ settle ─ apply ─▶ apply ─▶ end
                                           ─ ask ───▶ ask_apply ─▶ apply or end
                                           ─ end ───▶ end
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from runtrue.code.report import report_of
from runtrue.code.request import Apply, FixRequest
from runtrue.fixers import AgentFixer, ToolFixer, build_ladder
from runtrue.flow import Ask, Flow, Journal, Node, RunRow, RunState, Segment
from runtrue.home import Home
from runtrue.loop import Action, Decision, History, Workshop, repair_cycle
from runtrue.sandbox import GitSandbox

KIND = "fix"

Shared = dict[str, Any]


def start_fix(journal: Journal, request: FixRequest) -> str:
    """Record a new run of `request`, to be driven by a dispatcher, and return its id."""
    return journal.create(KIND, request.project, msgspec.to_builtins(request))


def prepare_fix(run: RunRow, home: Home) -> Segment:
    """The flow of a recorded run, ready to be driven from wherever it stands."""
    request = msgspec.convert(run.input, FixRequest)
    sandbox = GitSandbox(
        home.sandbox(run.id),
        Path(request.project),
        kind=request.sandbox,
        pass_environment=request.pass_environment,
        judges=request.judges,
    )
    shared: Shared = {"run_id": run.id, "request": request}
    return Segment(
        flow=fix_flow(request, Place(sandbox, home.patch(run.id))),
        shared=shared,
        take_over=sandbox.take_over,
        outcome=_outcome,
    )


@dataclass(frozen=True, slots=True)
class Place:
    """Where a run works, and where it leaves its result."""

    sandbox: GitSandbox
    patch: Path


def fix_flow(request: FixRequest, place: Place) -> Flow:
    """Wire the journey."""
    agent = request.agent
    ladder = build_ladder(
        request.order,
        {
            "tool": ToolFixer(request.mending, safe=request.safe),
            "agent": AgentFixer(
                agent.command, timeout=agent.timeout, env=agent.env, once=agent.once
            ),
        },
    )
    workshop = Workshop(
        sandbox=place.sandbox,
        checks=request.checks,
        ladder=ladder,
        policy=request.policy,
    )
    check, decision = repair_cycle(workshop)
    begin, settle = OpenNode("open", place), SettleNode("settle", place)
    ask, apply, end = AskApplyNode("ask_apply"), ApplyNode("apply", place), EndNode("end", place)
    begin >> check
    decision - Action.ACCEPT >> settle
    decision - Action.STOP >> settle
    settle - "apply" >> apply >> end
    settle - "ask" >> ask
    settle - "end" >> end
    ask - "apply" >> apply
    ask - "end" >> end
    return Flow(begin)


def _outcome(shared: Shared) -> tuple[RunState, dict[str, Any]]:
    status = shared["decision"].status
    return status, report_of(shared, status)


class _PlaceNode(Node):
    blocking = True

    def __init__(self, name: str, place: Place) -> None:
        super().__init__(name)
        self.place = place


class OpenNode(_PlaceNode):
    """Makes the sandbox."""

    def exec(self, inputs: None) -> str:
        """The candidate as the user has it."""
        return self.place.sandbox.open()

    def post(self, shared: Shared, inputs: None, result: str) -> None:
        """Begin with it."""
        shared["candidate"] = result


@dataclass(frozen=True, slots=True)
class Settled:
    """The resulting patch, and the directory that it is to be applied in."""

    diff: str
    top: str


class SettleNode(_PlaceNode):
    """Leaves the resulting candidate in the sandbox and its patch in a file."""

    def prep(self, shared: Shared) -> str:
        """The accepted candidate, or else the best one."""
        return str(shared["candidate"])

    def exec(self, inputs: str) -> Settled:
        """Write the patch from the user's tree to the candidate."""
        self.place.sandbox.restore(inputs)
        diff = self.place.sandbox.diff(inputs)
        if diff:
            self.place.patch.parent.mkdir(parents=True, exist_ok=True)
            self.place.patch.write_text(diff, encoding="utf-8", errors="surrogateescape")
        readable = diff.encode("utf-8", "replace").decode()
        return Settled(readable, str(self.place.sandbox.top))

    def post(self, shared: Shared, inputs: str, result: Settled) -> str:
        """Apply, ask or leave it, as the request says; only what passed is ever applied."""
        request: FixRequest = shared["request"]
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
    """Clears away the sandbox of a run that passed; a failed run keeps its own."""

    terminal = True

    def prep(self, shared: Shared) -> bool:
        """Whether the sandbox is still of use."""
        decision: Decision = shared["decision"]
        return decision.action is not Action.ACCEPT

    def exec(self, inputs: bool) -> None:
        """Remove it, or keep it."""
        if not inputs:
            self.place.sandbox.remove()

    def post(self, shared: Shared, inputs: bool, result: None) -> None:
        """Do not name a sandbox that is gone."""
        if not inputs:
            shared["sandbox"] = None
