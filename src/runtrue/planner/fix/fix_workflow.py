"""Fix a workflow: look at every finding of a run, and make all corrections at once."""

from __future__ import annotations

from collections.abc import Callable

from runtrue.loop import Fault, Finding
from runtrue.memory import Memory
from runtrue.planner.fix.arguments import fix_arguments, fix_sent_names, fix_values
from runtrue.planner.fix.draft import Correction, FixDraft
from runtrue.planner.fix.paths import fix_extraction, fix_list_field, fix_reference
from runtrue.planner.seams import Doubt, FixedWorkflow, FixRequest, NoFix

_FIXERS: dict[str, tuple[Callable[[Finding, FixDraft], Correction | None], ...]] = {
    "missing_extract_path": (fix_extraction,),
    "missing_template_path": (fix_reference,),
    "missing_field": (fix_list_field,),
    "argument_mismatch": (fix_sent_names, fix_arguments),
    "tool_error": (fix_values,),
    "node_error": (fix_values,),
}
_MODEL = "set RUNTRUE_MODEL to `provider:model` to have a language model try"


async def fix_workflow(
    request: FixRequest, *, memory: Memory | None = None
) -> FixedWorkflow | NoFix:
    """Propose the workflow in which all that was missed leads where it was meant to.

    Nothing is proposed where a correction is in doubt: what is known to fail again is not run.
    """
    if request.rejected:
        # Asking again does not change what is found.
        return NoFix(reason=f"the only fix cannot be used: {request.rejected[-1]}; {_MODEL}")
    draft = FixDraft(request, memory)
    corrections: list[Correction] = []
    unfixed: list[Finding] = []
    for finding in request.findings:
        if finding.fault is Fault.CANDIDATE:
            correction = _correct(finding, draft)
            if correction is None:
                unfixed.append(finding)
            else:
                corrections.append(correction)
    fixed = [text for one in corrections for text in one.fixed]
    doubts = tuple(doubt for one in corrections for doubt in one.doubts)
    if doubts:
        partial = draft.sure_outputs()
        return NoFix(reason=_in_doubt(doubts, fixed), doubts=doubts, partial=partial)
    left = tuple(
        Doubt(node_id=one.location.symbol or "", attempted=one.attempted[0])
        for one in unfixed
        if one.attempted
    )
    if not fixed:
        return NoFix(reason=_no_way(unfixed), doubts=left)
    fixers = {fixer for one in corrections for fixer in one.fixers}
    fixer = next((one for one in ("human", "fields") if one in fixers), "memory")
    return FixedWorkflow(workflow=draft.workflow, fixer=fixer, doubts=left)


def _correct(finding: Finding, draft: FixDraft) -> Correction | None:
    # The category that all items of a batch failed with is in the data.
    category = str(finding.data.get("category", finding.category))
    corrections = (fixer(finding, draft) for fixer in _FIXERS.get(category, ()))
    return next((one for one in corrections if one is not None), None)


def _in_doubt(doubts: tuple[Doubt, ...], fixed: list[str]) -> str:
    attempted = ", ".join(doubt.attempted for doubt in doubts)
    sure = f" (sure of {', '.join(fixed)})" if fixed else ""
    return f"unclear: {attempted}{sure}; rephrase it, or {_MODEL}"


def _no_way(findings: list[Finding]) -> str:
    nodes = ", ".join(dict.fromkeys(f.location.symbol or f.source for f in findings))
    where = f" of {nodes}" if nodes else ""
    return f"cannot fix the failure{where} without a model; {_MODEL}"
