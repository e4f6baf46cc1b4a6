"""Redaction: verdicts and proposals without secrets, before anything is done with them.

What is recorded, shown and sent later is made of these: they are looked through where they begin.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

from runtrue.loop.attempt import Analysis
from runtrue.loop.finding import Finding, Location, Verdict
from runtrue.loop.seams import Proposal


class Redact(Protocol):
    """Takes out of texts what must not be in them; of names, only values that are known."""

    def __call__(self, text: str, /) -> str:
        """A text without anything that is, or looks like, a secret."""
        ...

    def values(self, text: str) -> str:
        """A name without the values of secrets: by names, things are found again."""
        ...

    def secrets(self, text: str) -> tuple[str, ...]:
        """The names of the secrets whose values a text holds."""
        ...


def redacted_verdict(verdict: Verdict, redact: Redact) -> Verdict:
    """A verdict without secrets; its findings are still the same ones."""
    return replace(
        verdict,
        findings=_findings(verdict.findings, redact),
        flaky=_findings(verdict.flaky, redact),
        known=_findings(verdict.known, redact),
        cases={redact.values(name): outcome for name, outcome in verdict.cases.items()},
        output=redact(verdict.output),
    )


def redacted_proposal(proposal: Proposal, redact: Redact) -> Proposal:
    """A proposal without secrets in what was said of it. The files are as they were made."""
    analysis = proposal.analysis
    return replace(
        proposal,
        description=redact(proposal.description),
        failure=proposal.failure and redact(proposal.failure),
        refused=proposal.refused and redact(proposal.refused),
        said=proposal.said and redact(proposal.said),
        analysis=analysis and _analysis(analysis, redact),
        # Code that was tried: only known secrets are redacted in it.
        trace=proposal.trace and _data(proposal.trace, redact.values, redact.values),
        alternatives=tuple(
            replace(
                one,
                diff=redact.values(one.diff),
                example=replace(
                    one.example,
                    call=redact.values(one.example.call),
                    gives=redact.values(one.example.gives),
                    instead=redact.values(one.example.instead),
                ),
            )
            for one in proposal.alternatives
        ),
    )


def _analysis(analysis: Analysis, redact: Redact) -> Analysis:
    strategy = analysis.fix_strategy
    return replace(
        analysis,
        root_cause=redact(analysis.root_cause),
        fix_strategy=strategy and redact(strategy),
        recalled=tuple(map(redact, analysis.recalled)),
    )


def _findings(findings: tuple[Finding, ...], redact: Redact) -> tuple[Finding, ...]:
    return tuple(_finding(finding, redact) for finding in findings)


def _finding(finding: Finding, redact: Redact) -> Finding:
    place = finding.location
    return replace(
        finding,
        message=redact(finding.message),
        location=Location(
            file=place.file and redact.values(place.file),
            line=place.line,
            column=place.column,
            symbol=place.symbol and redact.values(place.symbol),
        ),
        attempted=tuple(map(redact.values, finding.attempted)),
        available=tuple(map(redact.values, finding.available)),
        sample=finding.sample and redact(finding.sample),
        data=_data(finding.data, redact, redact.values),
    )


def _data(value: Any, redact: Callable[[str], str], name: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {
            name(key) if isinstance(key, str) else key: _data(member, redact, name)
            for key, member in value.items()
        }
    if isinstance(value, list | tuple):
        return type(value)(_data(member, redact, name) for member in value)
    return value
