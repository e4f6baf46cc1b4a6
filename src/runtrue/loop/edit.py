"""Edits: the only way in which changed files become a candidate.

Fixers, steps of plans, generators and people all edit the sandbox; `guard_edit` then looks at what
they did, restores what they may not touch, and rolls back what breaks a rule.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from runtrue.encoding import encoded
from runtrue.errors import SandboxError
from runtrue.loop.bounds import Bounds, matches
from runtrue.loop.comparison import is_one_of
from runtrue.loop.redact import Redact
from runtrue.loop.seams import Sandbox
from runtrue.loop.workshop import readable

#: How many files the reason of a refusal names.
_NAMED = 5


class Refused(StrEnum):
    """The rule that an edit broke, so it was rolled back."""

    FAILED = "failed"
    SECRET = "secret"  # noqa: S105 - the name of a rule
    OUT_OF_BOUNDS = "out_of_bounds"
    #: Files were deleted that may be changed, but not deleted unasked.
    DELETED = "deleted"
    TOO_MUCH = "too_much"
    REPEATED = "repeated"


@dataclass(frozen=True, slots=True, kw_only=True)
class EditRules:
    """The rules for one edit. Unless they say otherwise, only judges must not be edited."""

    bounds: Bounds | None = None
    #: The candidate from which on the bounds count files and lines.
    origin: str | None = None
    #: Knows the secrets that must not be written; without it, they are not looked for.
    redactor: Redact | None = None
    #: Refuse a secret even in a file that is restored.
    secrets_in_restored: bool = False
    #: Judges may be edited, as by a formatter.
    trusted: bool = False
    #: Files that judge besides those that the sandbox protects.
    judges: tuple[str, ...] = ()
    #: Patterns for judges that may be edited.
    editable: tuple[str, ...] = ()
    #: Tests that this candidate does not have may be added.
    new_tests_since: str | None = None
    #: Restore all other files, too: only new tests and `editable` may be edited.
    only_tests: bool = False
    #: Candidates that the edit must not give again.
    tried: frozenset[str] = frozenset()
    #: The files were left to a person; removing all of them is no edit.
    by_person: bool = False


#: A person may edit anything; a plan asks about what is out of its bounds before it is complete.
PERSON = EditRules(trusted=True, by_person=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class EditResult:
    """The candidate after an edit: the one before, if the edit was refused."""

    candidate: str
    #: The files that were edited, without the restored ones, even if the edit was refused.
    edited: tuple[str, ...] = ()
    #: Judges, and other files not to be touched, that were edited and are as before.
    restored: tuple[str, ...] = ()
    #: Files that the bounds do not allow to be changed or deleted, and those of them that were
    #: deleted and might have been changed.
    outside: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    refused: Refused | None = None
    reason: str | None = None

    @property
    def files(self) -> tuple[str, ...]:
        """The files in which the candidate differs from the one before."""
        return () if self.refused else self.edited


def guard_edit(
    sandbox: Sandbox,
    before: str,
    rules: EditRules,
    *,
    texts: Mapping[str, str] | None = None,
    failure: str | None = None,
) -> EditResult:
    """Make a candidate of the files as the editor left them, or roll them back to `before`.

    `texts` are files to write in place of what was done to the files; `failure` is why the editor
    did not finish.
    """
    if failure is not None or texts is not None:
        # Half-done edits of an editor that broke prove nothing and would only mislead the next.
        sandbox.restore(before)
    if failure is not None:
        return EditResult(candidate=before, refused=Refused.FAILED, reason=failure)
    if texts:
        try:
            write_texts(texts, sandbox.workplace().root)
        except SandboxError as error:
            sandbox.restore(before)
            return EditResult(candidate=before, refused=Refused.FAILED, reason=str(error))
    after = written = sandbox.found(before) if rules.by_person else sandbox.snapshot()
    restored = _untouchable(sandbox, before, after, rules)
    if restored:
        sandbox.put_back(restored, before)
        after = sandbox.snapshot()
    edited = sandbox.changed(before, after)
    checked = written if rules.secrets_in_restored else after
    secret = _written_secret(sandbox, before, checked, rules.redactor)
    bounds = None if secret else rules.bounds
    violation = bounds_violation(bounds, sandbox, before, after, rules.origin)
    refused = Refused.SECRET if secret else violation.refused
    reason = secret or violation.reason
    if refused is None and after != before and after in rules.tried:
        refused, reason = Refused.REPEATED, "it was tried before"
    if refused is not None:
        # The rest of a change of which a part is missing would prove nothing.
        sandbox.restore(before)
    return EditResult(
        candidate=after if refused is None else before,
        edited=edited,
        restored=restored,
        outside=violation.outside,
        deleted=violation.deleted,
        refused=refused,
        reason=reason,
    )


def write_texts(texts: Mapping[str, str], root: Path) -> None:
    """Write the texts of files, which keep their permissions.

    Raises SandboxError for one that links of the candidate lead out of `root`.
    """
    top = root.resolve()
    for file, text in texts.items():
        place = (top / file).resolve()
        if not place.is_relative_to(top) or place == top:
            raise SandboxError(f"{file} leads out of the project by a link: nothing is written")
        with open(_open_below(top, place), "wb") as opened:
            opened.write(encoded(text))


def _open_below(top: Path, place: Path) -> int:
    """Open a file for writing, past no link that was put there since it was looked at."""
    *directories, name = place.relative_to(top).parts
    way = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY
    opened = os.open(top, way)
    try:
        for directory in directories:
            inner = os.open(directory, way | os.O_NOFOLLOW, dir_fd=opened)
            os.close(opened)
            opened = inner
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
        return os.open(name, flags, 0o666, dir_fd=opened)
    finally:
        os.close(opened)


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundsViolation:
    """The files, and how much of them, that changed although the bounds do not allow it."""

    outside: tuple[str, ...] = ()
    #: Those of `outside` that were deleted and might have been changed.
    deleted: tuple[str, ...] = ()
    #: How many more files or lines changed than allowed, in words.
    excess: str | None = None

    @property
    def refused(self) -> Refused | None:
        """The rule that is broken, if one is."""
        if not self.outside:
            return Refused.TOO_MUCH if self.excess else None
        is_deletion = self.deleted == self.outside and not self.excess
        return Refused.DELETED if is_deletion else Refused.OUT_OF_BOUNDS

    @property
    def reason(self) -> str | None:
        """The rule that is broken, in words."""
        named = ", ".join(readable(self.outside[:_NAMED]))
        match self.refused:
            case Refused.DELETED:
                return f"it deleted {named}, which needs approval"
            case Refused.OUT_OF_BOUNDS if not self.excess:
                return f"it changed {named}, which the strategy does not allow"
            case _:
                return self.excess


def bounds_violation(
    bounds: Bounds | None, sandbox: Sandbox, before: str, after: str, origin: str | None
) -> BoundsViolation:
    """Return what differs between two candidates, and from `origin` on, beyond the bounds."""
    if bounds is None:
        return BoundsViolation()
    changed = sandbox.changed(before, after) if before != after else ()
    elsewhere = set(bounds.outside(changed))
    gone = () if bounds.deletes else sandbox.missing(changed, after)
    deleted = set(gone) - set(bounds.deletable)
    return BoundsViolation(
        outside=tuple(sorted(elsewhere | deleted)),
        deleted=tuple(sorted(deleted - elsewhere)),
        excess=_excess(bounds, sandbox, origin, after),
    )


def _excess(bounds: Bounds, sandbox: Sandbox, origin: str | None, after: str) -> str | None:
    if origin is None:
        return None
    if bounds.max_files is not None:
        count = len(sandbox.changed(origin, after))
        if count > bounds.max_files:
            return f"{count} files would be changed, and the strategy allows {bounds.max_files}"
    if bounds.max_lines is not None:
        lines = sum(sandbox.count_lines(origin, after))
        if lines > bounds.max_lines:
            return f"{lines} lines would be changed, and the strategy allows {bounds.max_lines}"
    return None


def _untouchable(sandbox: Sandbox, before: str, after: str, rules: EditRules) -> tuple[str, ...]:
    """The files that were edited and have to be restored."""
    if rules.trusted:
        return ()
    changed = sandbox.changed(before, after)
    protected = changed if rules.only_tests else sandbox.protected(changed, (before, after))
    since = rules.new_tests_since
    return tuple(
        file
        for file in changed
        if (file in protected or is_one_of(file, rules.judges))
        and not any(matches(file, pattern) for pattern in rules.editable)
        and not (since is not None and sandbox.may_add(file, since))
    )


def _written_secret(
    sandbox: Sandbox, before: str, after: str, redactor: Redact | None
) -> str | None:
    """Return why an edit that writes the value of a known secret into a file is refused.

    A candidate is recorded, shown and applied as it is: nothing can be redacted in it later.
    """
    if redactor is None or before == after:
        return None
    lines = sandbox.difference(before, after).splitlines()
    added = [line[1:] for line in lines if line.startswith("+") and not line.startswith("+++ ")]
    names = redactor.secrets("\n".join(added))
    return f"wrote the value of {', '.join(names)} into a file: it is a secret" if names else None
