"""The gate's rules: which changes it judges, and what its verdict means for who made them."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import PurePosixPath

from runtrue.checks import Language, language_of
from runtrue.code.request import CodeRequest
from runtrue.flow import RunState
from runtrue.loop import Finding
from runtrue.sandbox import is_test

#: Where runs leave what they learned, which is nobody's change.
_NOTES = PurePosixPath(".aiwg/ralph/debug-memory")
#: So often a coding agent is held back in one go, however much its findings change.
PATIENCE = 8

#: What people read. No test runs it, and hardly one reads it.
_DOCUMENTS = frozenset(
    {
        *(".md", ".markdown", ".rst", ".adoc", ".asciidoc", ".pdf", ".odt", ".docx"),
        *(".png", ".jpg", ".jpeg", ".gif", ".svg", ".webp", ".ico"),
    }
)
_NAMES = frozenset({"LICENSE", "LICENCE", "COPYING", "NOTICE", "AUTHORS", "CHANGELOG", "README"})

#: A comment that leaves lines out of what coverage counts, in any of the languages.
_EXCLUSION = re.compile(
    r"(?:#|//|/\*).*?\b(?:pragma:\s*no\s*(?:cover|branch)|(?:istanbul|c8|v8)\s+ignore|nocov"
    r"|(?:LCOV|GCOVR?)_EXCL)",
    re.IGNORECASE,
)


def exclusions(text: str, lines: Collection[int], before: str = "") -> tuple[int, ...]:
    """The changed lines of a file that are kept from being measured; not those it had before."""
    had = {line.strip() for line in before.splitlines()}
    return tuple(
        number
        for number, line in enumerate(text.splitlines(), start=1)
        if number in lines and _EXCLUSION.search(line) and line.strip() not in had
    )


def judged(
    changes: Mapping[str, tuple[int, ...]], prefix: PurePosixPath
) -> dict[str, tuple[int, ...]]:
    """The changes below `prefix`, the project as seen from the top, but for our own notes."""
    notes = prefix / _NOTES
    return {
        file: lines
        for file, lines in changes.items()
        if (path := PurePosixPath(file)).is_relative_to(prefix) and not path.is_relative_to(notes)
    }


def may_matter(file: str) -> bool:
    """True if a change of this file could make a test fail: of any but a document."""
    path = PurePosixPath(file)
    if is_test(file) or language_of(file) is not Language.OTHER:
        return True
    return path.suffix.lower() not in _DOCUMENTS and path.stem.upper() not in _NAMES


def is_ready(request: CodeRequest, state: RunState, findings: Sequence[Finding]) -> bool:
    """True if a change may be handed over, with what is still found in it."""
    if state is RunState.PASSED:
        return True
    return bool(findings) and all(is_excused(request, finding) for finding in findings)


def is_excused(request: CodeRequest, finding: Finding) -> bool:
    """True if a finding is reported and does not block: a loop around may take failing tests."""
    if request.iteration is None or request.iteration.require_passing_tests:
        return False
    return any(check.cover and check.name == finding.source for check in request.checks)


def signs_of(findings: Sequence[Finding]) -> frozenset[str]:
    """Return the signs by which reported findings are recognised, so that progress shows."""
    # A fingerprint does not change with numbers; which lines are left to be covered does matter.
    return frozenset(f"{f.fingerprint} {f.data.get('missing', '')}" for f in findings)


def lets_go(found: frozenset[str], reported: Sequence[frozenset[str]]) -> bool:
    """True if a coding agent that was held back before may stop although it is not ready.

    `found` are the signs of the findings now, `reported` those of each time it was held back.
    An agent that got the very same report before has no more to give; nobody is held back forever.
    """
    return found in reported or len(reported) >= PATIENCE
