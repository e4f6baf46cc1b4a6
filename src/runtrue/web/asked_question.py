"""What a person is asked: the question, and each answer with what it does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from runtrue.web.doubtful_field import DoubtfulField


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """An answer on a button: what is recorded, what it does, and the command that does the same."""

    value: str
    label: str
    does: str
    command: str
    tone: str = ""
    #: An input on which another fix behaves otherwise: the call, what it gives, and what instead.
    example: tuple[str, str, str] | None = None
    diff: str = ""
    confidence: float | None = None
    #: The diff is applied when the run has ended with this answer.
    then_apply: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedQuestion:
    """A question as a person sees it."""

    run_id: str
    seq: int
    asked_at: float
    title: str
    why: str = ""
    #: What would happen: effects, files that run by themselves, findings.
    facts: tuple[str, ...] = ()
    diff: str = ""
    confidence: float | None = None
    confidence_reason: str = ""
    choices: tuple[Choice, ...] = ()
    #: Fields whose paths are to be chosen.
    fields: tuple[DoubtfulField, ...] = ()
    #: What free text means; empty where there is none to give.
    guidance: str = ""
    guidance_command: str = ""
    #: The text may be left out.
    may_be_empty: bool = False
    #: Files that a person may allow with it.
    allow: tuple[str, ...] = ()
    #: Applying needs a yes to files that run by themselves.
    self_running: tuple[str, ...] = ()


def finding_lines(asked: dict[str, Any]) -> Iterator[str]:
    """Yield what was found, a line each."""
    findings = asked.get("findings")
    for finding in findings if isinstance(findings, list) else ():
        if isinstance(finding, dict):
            location = finding.get("location")
            place = location.get("symbol") if isinstance(location, dict) else None
            where = place or finding.get("source") or ""
            yield f"{where}: {finding.get('message', '')}".removeprefix(": ")
