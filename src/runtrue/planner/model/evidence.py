"""Evidence: what was wrong in a run and what really came back, in words, all of it in fences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from runtrue.fields import SURE
from runtrue.loop import Finding
from runtrue.models import fence
from runtrue.planner.bounds import changes
from runtrue.planner.model.redaction import as_json
from runtrue.planner.model.structure import structure
from runtrue.planner.seams import Candidate, Doubt, FixRequest, NoProposal, Proposal
from runtrue.workflow import TemplateSyntaxError, compile_template

_MESSAGE, _SAMPLE, _SCHEMA, _STRUCTURE = 1_500, 2_000, 6_000, 14_000
_MOST_FINDINGS, _MOST_NAMES, _MOST_STRUCTURES = 20, 60, 6
_LONGEST_NAME = 80
_EXTRACT = "missing_extract_path"


def findings_text(findings: Sequence[Finding], store: Mapping[str, Any]) -> str:
    """What was wrong, one part for each finding."""
    parts = [_finding(n, f, store) for n, f in enumerate(findings[:_MOST_FINDINGS], start=1)]
    more = len(findings) - len(parts)
    return "\n\n".join(parts) + (f"\n\nAnd {more} more." if more else "")


def structures_text(request: FixRequest) -> str:
    """The structure of what the nodes gave that the findings are about."""
    parts = []
    for name, is_extract in list(_concerned(request))[:_MOST_STRUCTURES]:
        outputs = request.store[name]
        if is_extract:
            title = f"The response that `{name}` got; paths of its `extract` begin at `$`:"
            drawn = structure(outputs["response"])
        else:
            title = f"The outputs of `{name}`; references begin with `${{{name}.`:"
            drawn = structure(outputs, name)
        parts.append(f"{title}\n\n{fence(drawn, limit=_STRUCTURE)}")
    return "\n\n".join(parts) or "Nothing."


def resemblances_text(unaided: Proposal | NoProposal, before: dict[str, Any]) -> str:
    """What could be meant by what was not found, by the repair that needs no model."""
    if isinstance(unaided, Proposal):
        lines = [str(change) for change in changes(before, unaided.workflow)]
    else:
        lines = [_resembling(doubt) for doubt in unaided.doubts if doubt.candidates]
    return fence("\n".join(lines[:_MOST_FINDINGS]), limit=_SAMPLE) if lines else "Nothing."


def doubts_of(unaided: Proposal | NoProposal, before: dict[str, Any]) -> tuple[Doubt, ...]:
    """The same for people, when nothing is proposed."""
    if isinstance(unaided, NoProposal):
        return unaided.doubts
    return tuple(
        Doubt(
            node_id=change.node_id or "",
            attempted=change.before,
            candidates=(Candidate(text=change.after, confidence=SURE),),
        )
        for change in changes(before, unaided.workflow)
        if isinstance(change.before, str) and isinstance(change.after, str)
    )


def _resembling(doubt: Doubt) -> str:
    found = (f"{one.text} {one.sample}".rstrip() for one in doubt.candidates)
    return f"{doubt.node_id}: {doubt.attempted} → {', '.join(found)}"


def _finding(number: int, finding: Finding, store: Mapping[str, Any]) -> str:
    lines = [f"## {number}. {finding.category} in `{finding.location.symbol}`"]
    lines.append(fence(_facts(finding), limit=_MESSAGE + _SAMPLE))
    problems = finding.data.get("problems")
    if problems:
        lines.append(f"Problems:\n{fence(_names(problems), limit=_SAMPLE)}")
    if finding.data.get("schema"):
        lines.append(f"What it takes:\n{as_json(finding.data['schema'], limit=_SCHEMA)}")
    if finding.sample and _outer(finding) not in store:
        lines.append(f"A sample:\n{fence(finding.sample, limit=_SAMPLE)}")
    return "\n\n".join(lines)


def _facts(finding: Finding) -> str:
    """The message and what it is about, one fact a line."""
    message = finding.message
    facts = [message if len(message) <= _MESSAGE else f"{message[:_MESSAGE]}…"]
    facts += [f"{key}: {finding.data[key]}" for key in ("status", "method") if key in finding.data]
    for one in finding.data.get("missing", ())[:_MOST_FINDINGS]:
        there = _names(one.get("available", ()))
        facts.append(f"wanted {one['name']} at {one['path']}; in {one['found']} there is: {there}")
    if "missing" not in finding.data:
        facts.append(f"looked for: {_names(finding.attempted) or 'nothing in particular'}")
        facts.append(f"available: {_names(finding.available) or 'nothing'}")
    return "\n".join(facts)


def _names(names: Sequence[Any]) -> str:
    few = [str(name)[:_LONGEST_NAME] for name in names[:_MOST_NAMES]]
    more = len(names) - len(few)
    return ", ".join(few) + (f" and {more} more" if more else "")


def _outer(finding: Finding) -> str:
    """Of `outer.inner` it is the outer one that is a node here."""
    return (finding.location.symbol or "").partition(".")[0]


def _concerned(request: FixRequest) -> dict[tuple[str, bool], None]:
    """The nodes whose outputs matter, and whether it is their response alone that does."""
    found: dict[tuple[str, bool], None] = {}
    for finding in request.findings:
        roots = [root for text in finding.attempted for root in _roots(text)]
        for name in (_outer(finding), *roots):
            outputs = request.store.get(name)
            is_extract = finding.category == _EXTRACT and isinstance(outputs, Mapping)
            if isinstance(outputs, Mapping):
                found[name, is_extract and "response" in outputs] = None
    return found


def _roots(text: str) -> Iterator[str]:
    try:
        yield from (reference.root for reference in compile_template(text).references)
    except TemplateSyntaxError:
        return
