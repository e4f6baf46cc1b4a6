"""Hiding: verdicts and proposals without what must not be kept, before anything is done with them.

What is recorded, shown and sent later is made of these: they are looked through where they begin.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

from runtrue.loop.analysis import Analysis
from runtrue.loop.finding import Finding, Location, Verdict
from runtrue.loop.seams import Proposal


class Hide(Protocol):
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


def redacted_verdict(verdict: Verdict, hide: Hide) -> Verdict:
    """A verdict without secrets; its findings are still the same ones."""
    return replace(
        verdict,
        findings=_findings(verdict.findings, hide),
        flaky=_findings(verdict.flaky, hide),
        known=_findings(verdict.known, hide),
        cases={hide.values(name): outcome for name, outcome in verdict.cases.items()},
        output=hide(verdict.output),
    )


def redacted_proposal(proposal: Proposal, hide: Hide) -> Proposal:
    """A proposal without secrets in what was said of it. The files are as they were made."""
    analysis = proposal.analysis
    return replace(
        proposal,
        description=hide(proposal.description),
        failure=proposal.failure and hide(proposal.failure),
        refused=proposal.refused and hide(proposal.refused),
        said=proposal.said and hide(proposal.said),
        analysis=analysis and _analysis(analysis, hide),
        # Code that was tried: only known secrets are redacted in it.
        trace=proposal.trace and _data(proposal.trace, hide.values, hide.values),
        alternatives=tuple(
            replace(
                one,
                diff=hide.values(one.diff),
                example=replace(
                    one.example,
                    call=hide.values(one.example.call),
                    gives=hide.values(one.example.gives),
                    instead=hide.values(one.example.instead),
                ),
            )
            for one in proposal.alternatives
        ),
    )


def _analysis(analysis: Analysis, hide: Hide) -> Analysis:
    strategy = analysis.fix_strategy
    return replace(
        analysis,
        root_cause=hide(analysis.root_cause),
        fix_strategy=strategy and hide(strategy),
        recalled=tuple(map(hide, analysis.recalled)),
    )


def _findings(findings: tuple[Finding, ...], hide: Hide) -> tuple[Finding, ...]:
    return tuple(_finding(finding, hide) for finding in findings)


def _finding(finding: Finding, hide: Hide) -> Finding:
    place = finding.location
    return replace(
        finding,
        message=hide(finding.message),
        location=Location(
            file=place.file and hide.values(place.file),
            line=place.line,
            column=place.column,
            symbol=place.symbol and hide.values(place.symbol),
        ),
        attempted=tuple(map(hide.values, finding.attempted)),
        available=tuple(map(hide.values, finding.available)),
        sample=finding.sample and hide(finding.sample),
        data=_data(finding.data, hide, hide.values),
    )


def _data(value: Any, hide: Callable[[str], str], name: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return hide(value)
    if isinstance(value, dict):
        return {
            name(key) if isinstance(key, str) else key: _data(member, hide, name)
            for key, member in value.items()
        }
    if isinstance(value, list | tuple):
        return type(value)(_data(member, hide, name) for member in value)
    return value
