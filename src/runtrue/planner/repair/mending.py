"""The repair of one round: every finding is looked at, and all corrections come at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from runtrue.loop import Fault, Finding
from runtrue.memory import Memory
from runtrue.planner.repair.arguments import mend_arguments, mend_sent, mend_values
from runtrue.planner.repair.draft import Draft, Mended
from runtrue.planner.repair.paths import mend_extraction, mend_reference
from runtrue.planner.seams import Doubt, FixRequest, NoProposal, Proposal

Mender = Callable[[Finding, Draft], Mended | None]

_MENDERS: dict[str, tuple[Mender, ...]] = {
    "missing_extract_path": (mend_extraction,),
    "missing_template_path": (mend_reference,),
    "argument_mismatch": (mend_sent, mend_arguments),
    "tool_error": (mend_values,),
    "node_error": (mend_values,),
}
_MODEL = "set RUNTRUE_MODEL to `provider:model` to have a language model try"


async def repair(request: FixRequest, *, memory: Memory | None = None) -> Proposal | NoProposal:
    """Propose the workflow in which all that was missed leads where it was meant to.

    Nothing is proposed where a correction is in doubt: what is known to fail again is not run.
    """
    if request.rejected:
        # What is found does not change by asking again.
        return NoProposal(
            reason=f"the only repair cannot be used: {request.rejected[-1]}; {_MODEL}"
        )
    draft = Draft(request, memory)
    mended, helpless = [], []
    for finding in request.findings:
        if finding.fault is not Fault.CANDIDATE:
            continue
        one = _mend(finding, draft)
        if one is None:
            helpless.append(finding)
        else:
            mended.append(one)
    settled = [text for one in mended for text in one.settled]
    doubts = tuple(doubt for one in mended for doubt in one.doubts)
    if doubts:
        return NoProposal(reason=_in_doubt(doubts, settled), doubts=doubts)
    left = tuple(_left(helpless))
    if not settled:
        return NoProposal(reason=_no_way(helpless), doubts=left)
    fixers = {fixer for one in mended for fixer in one.fixers}
    fixer = "memory" if fixers == {"memory"} else "fields"
    return Proposal(workflow=draft.workflow, fixer=fixer, doubts=left)


def _mend(finding: Finding, draft: Draft) -> Mended | None:
    # What all items of a batch failed with is told beside.
    category = str(finding.data.get("category", finding.category))
    for mender in _MENDERS.get(category, ()):
        mended = mender(finding, draft)
        if mended is not None:
            return mended
    return None


def _left(findings: list[Finding]) -> Iterator[Doubt]:
    for finding in findings:
        if finding.attempted:
            yield Doubt(node_id=finding.location.symbol or "", attempted=finding.attempted[0])


def _in_doubt(doubts: tuple[Doubt, ...], settled: list[str]) -> str:
    told = ", ".join(doubt.attempted for doubt in doubts)
    sure = f" (sure of {', '.join(settled)})" if settled else ""
    return f"it is not clear what is meant by {told}{sure}; say it in other words, or {_MODEL}"


def _no_way(findings: list[Finding]) -> str:
    nodes = ", ".join(dict.fromkeys(f.location.symbol or f.source for f in findings))
    where = f" of {nodes}" if nodes else ""
    return f"there is no way to mend the failure{where} without a model; {_MODEL}"
