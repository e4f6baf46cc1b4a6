"""The debug memory: every failure that a code loop saw, and every fix that was verified.

A step that is done again after a crash may record the same again: it counts once.
"""

from __future__ import annotations

import hashlib
import sqlite3
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from runtrue.home import Home
from runtrue.loop import Cause, Finding, cause_of
from runtrue.memory import rows
from runtrue.memory.facts import (
    DAY,
    Counts,
    KnownFailure,
    Project,
    Rank,
    RankedFix,
    RememberedFix,
    Retention,
    SimilarFailure,
)
from runtrue.memory.search import similar_shapes
from runtrue.memory.shapes import message_of, shape_of
from runtrue.memory.shared import SharedLog, shared_log
from runtrue.memory.store import Store, storable
from runtrue.memory.template import stored_diff
from runtrue.redaction import Redactor

#: The most fixes of the same cause to consider, the latest ones.
_SAME_CAUSE = 100
#: Causes that say too little for the fix of one failure to be tried on another.
_NO_PATTERN = frozenset(
    {Cause.UNKNOWN, Cause.OUTSIDE, Cause.TIMEOUT, Cause.COVERAGE, Cause.MISSING_TESTS}
)


#: What tools and gates find: nobody is reminded of it, since they find it again.
_NOT_REMEMBERED = frozenset(
    {Cause.STATIC_CHECK, Cause.COVERAGE, Cause.MISSING_TESTS, Cause.SECURITY}
)


def is_remembered(finding: Finding) -> bool:
    """True if a finding is a failure of the code at run time, as a test or a command has it."""
    return bool(finding.location.symbol) or cause_of(finding) not in _NOT_REMEMBERED


def digest_of(content: bytes | None) -> str:
    """Return the hash of a file's content; of one that is not there, nothing."""
    return "" if content is None else hashlib.sha256(content).hexdigest()


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


class DebugMemory(Store):
    """The failures and fixes in the file `memory.db` of a home, without what `redact` removes."""

    def __init__(
        self, home: Path, *, redact: Redactor | None = None, shared: SharedLog | None = None
    ) -> None:
        super().__init__(home, shared=shared)
        self._redact = redact or Redactor()

    @classmethod
    def of(cls, home: Home, project: Path, *, redact: Redactor | None = None) -> DebugMemory:
        """Return the memory of a home for a project, with what the user's database shares."""
        return cls(home.path, redact=redact, shared=shared_log(project))

    def record_failures(
        self,
        findings: Sequence[Finding],
        *,
        run_id: str,
        attempt: int,
        project: Project,
        language_of: Callable[[Finding], str],
        now: float | None = None,
    ) -> tuple[KnownFailure, ...]:
        """Record the findings of an attempt of a run; the same attempt again counts nothing.

        Return each failure as it is now known, once, in the order of the findings.
        """
        if not findings:
            return ()
        at = time.time() if now is None else now
        distinct = {f.fingerprint: f for f in findings if is_remembered(f)}

        def work(db: sqlite3.Connection) -> tuple[KnownFailure, ...]:
            known = []
            for finding in distinct.values():
                of = (finding, project, language_of(finding), run_id, attempt, at, self._redact)
                known += rows.failures(db, "f.id = ?", (rows.record_failure(db, *of),))
            return tuple(known)

        return self._write(work) or ()

    def record_fix(
        self,
        finding: Finding,
        *,
        diff: str,
        fixer: str,
        run_id: str,
        project: Project,
        language: str,
        now: float | None = None,
    ) -> RememberedFix | None:
        """Record the change after which a finding was gone and every required check passed.

        The same change for a failure of the same shape is one more trial that passed. A fix that
        the `memory` fixer made keeps the name of the one that first made it.
        """
        stored = stored_diff(diff, self._redact)
        if stored is None or not is_remembered(finding):
            return None
        at = time.time() if now is None else now

        def work(db: sqlite3.Connection) -> RememberedFix | None:
            id_ = rows.add_fix(db, finding, stored, fixer, project, language, at)
            rows.add_trial(db, id_, run_id, passed=True, now=at)
            rows.drop_misfits(db, id_, project, finding)
            return next(iter(rows.fixes(db, "id = ?", (id_,))), None)

        made = self._write(work)
        if made is not None and self._shared is not None:
            fix = self._read(lambda db: rows.shareable_fix(db, made.id)) or {}
            self._share(lambda log: log.add_fix(run_id, fix | {"path": Path(made.path).name}))
        return made

    def tried(self, fix_id: int, run_id: str, *, now: float | None = None) -> None:
        """Note that a run used a remembered fix, whatever its outcome."""
        at = time.time() if now is None else now
        self._write(lambda db: rows.add_trial(db, fix_id, run_id, passed=False, now=at))

    def failed(
        self,
        fix_id: int,
        run_id: str,
        *,
        project: Project,
        findings: Sequence[Finding],
        now: float | None = None,
    ) -> None:
        """Note that a run used a remembered fix, and that it did not fix these findings.

        It is not proposed again for failures of their shapes in that project, until the same
        change is verified there.
        """
        at = time.time() if now is None else now

        def work(db: sqlite3.Connection) -> None:
            rows.add_trial(db, fix_id, run_id, passed=False, now=at)
            rows.add_misfits(db, fix_id, project, findings)

        self._write(work)

    def passed(self, fix_id: int, run_id: str, *, now: float | None = None) -> None:
        """Note that a run with a remembered fix has passed."""
        at = time.time() if now is None else now
        self._write(lambda db: rows.add_trial(db, fix_id, run_id, passed=True, now=at))

    def record_edits(self, causes: Iterable[str], kinds: Iterable[str], run_id: str) -> None:
        """Note the kinds of edits in a verified fix, and the causes it was for."""
        values = [(cause, kind, run_id) for cause in causes for kind in kinds]
        self._write(lambda db: rows.add_edits(db, values))

    def unlearn(self, run_id: str) -> int:
        """Take back what a run taught, since nobody wants it; return how many fixes are gone."""
        self._share(lambda log: log.withdraw(run_id))
        return self._drop(lambda db: rows.unlearn(db, run_id))

    def record_applied(self, run_id: str, project: Project, before: Mapping[Path, str]) -> None:
        """Note what a run has changed in the user's tree: files, and their hashes before that."""
        named = {str(path): digest for path, digest in before.items()}
        self._write(lambda db: rows.add_applied(db, run_id, project, named))
        self._share(lambda log: log.add_applied(run_id))

    def unlearn_reverted(self, project: Project) -> int:
        """Take back what runs taught whose changes are gone from the user's tree again.

        Return how many fixes are forgotten. A change counts as gone if every file is as it was.
        """
        applied = self._read(lambda db: rows.applied(db, project)) or {}
        return sum(
            self.unlearn(run)
            for run, files in applied.items()
            if all(digest_of(_content(Path(path))) == before for path, before in files.items())
        )

    def note(
        self,
        project: Project,
        fingerprints: Iterable[str],
        *,
        learning: str = "",
        escalated: bool = False,
    ) -> None:
        """Note a learning about failures of a project, or that people were asked about them.

        They, and their fixes, are then kept for longer.
        """
        safe = storable(self._redact(learning))
        values = [(safe, escalated, one, project.id) for one in fingerprints]
        self._write(lambda db: rows.note(db, values))

    def lookup(self, fingerprint: str) -> tuple[RememberedFix, ...]:
        """Return the fixes that were verified for exactly this failure, the best first."""
        found = self._read(lambda db: rows.fixes(db, "fingerprint = ?", (fingerprint,)))
        return tuple(sorted(found or (), key=_merit))

    def fixes_for(
        self, finding: Finding, language: str, project: Project | None = None
    ) -> tuple[RankedFix, ...]:
        """Return the proven fixes that may work for a finding, the nearest and best first.

        Those that have failed on its like in the project are left out.
        """

        def ask(db: sqlite3.Connection) -> list[RankedFix]:
            ranked: dict[int, RankedFix] = {}
            for rank, where, values in _conditions(finding, language, project):
                for fix in rows.fixes(db, where, values, limit=_SAME_CAUSE):
                    ranked.setdefault(fix.id, RankedFix(fix=fix, rank=rank))
            return list(ranked.values())

        def order(one: RankedFix) -> tuple[object, ...]:
            is_other_type = one.fix.error_type != finding.category
            return (one.rank, is_other_type, *_merit(one.fix))

        found = self._read(ask) or ()
        return tuple(sorted((one for one in found if one.fix.is_proven), key=order))

    def has_fixes_for(
        self, finding: Finding, language: str, project: Project | None = None
    ) -> bool:
        """Return whether there is any such fix, from the indexes alone."""

        def ask(db: sqlite3.Connection) -> bool:
            conditions = _conditions(finding, language, project)
            return any(rows.is_any_fix(db, where, values) for _, where, values in conditions)

        return bool(self._read(ask))

    def similar(
        self,
        error_type: str,
        message: str,
        *,
        language: str | None = None,
        shape: str | None = None,
        like: Finding | None = None,
        before_run: str = "",
        limit: int = 5,
    ) -> tuple[SimilarFailure, ...]:
        """Return the most similar known failures, one for each shape, the best first.

        Without an error type, the message is a query. With `like`, only those of its cause in code
        of its form; with `before_run`, only those that another run has seen.
        """

        def ask(db: sqlite3.Connection) -> tuple[SimilarFailure, ...]:
            found: list[SimilarFailure] = []
            for shape_id, score in similar_shapes(db, error_type, message, shape):
                if len(found) == limit:
                    break
                latest = rows.latest_of_shape(
                    db, shape_id, language, like=like, before_run=before_run
                )
                if latest is not None:
                    fixes = rows.fixes(db, "shape = ?", (latest.shape,), limit=5)
                    best = tuple(sorted(fixes, key=_merit))
                    found.append(SimilarFailure(failure=latest, score=score, fixes=best))
            return tuple(found)

        return self._read(ask) or ()

    def similar_to(
        self,
        finding: Finding,
        *,
        language: str | None = None,
        before_run: str = "",
        limit: int = 5,
    ) -> tuple[SimilarFailure, ...]:
        """Return the known failures of a finding's cause, in code of its form, most like it.

        With `before_run`, only those that another run has seen.
        """
        return self.similar(
            finding.category,
            message_of(finding, self._redact),
            language=language,
            shape=shape_of(finding),
            like=finding,
            before_run=before_run,
            limit=limit,
        )

    def recurring(
        self,
        project: Project,
        *,
        files: Iterable[str] = (),
        tests: Iterable[str] = (),
        error_types: Iterable[str] = (),
        limit: int = 5,
    ) -> tuple[KnownFailure, ...]:
        """Return the failures of a project that anyone who changes these files should know of.

        Those blamed on the files or seen by the tests (test files, or single tests) come first;
        then those of the error types that were seen more than once. Frequent before rare.
        """

        def ask(db: sqlite3.Connection) -> list[KnownFailure]:
            near = rows.failures_about(db, project.id, tuple(files), tuple(tests))
            alike = rows.failures_of_types(db, project.id, tuple(error_types))
            found = {one.id: one for one in (*_by_weight(near), *_by_weight(alike))}
            return list(found.values())

        return tuple((self._read(ask) or ())[:limit])

    def edit_counts(self) -> dict[tuple[str, str], int]:
        """Return the number of verified fixes, by cause and kind of edit."""
        return self._read(rows.edits) or {}

    def failures(self, *, limit: int = 1_000_000) -> tuple[KnownFailure, ...]:
        """Return all failures, the last seen first."""
        return tuple(self._read(lambda db: rows.failures(db, "1", (), limit=limit)) or ())

    def fixes(self, *, limit: int = 1_000_000) -> tuple[RememberedFix, ...]:
        """Return all fixes, the last used first."""
        return tuple(self._read(lambda db: rows.fixes(db, "1", (), limit=limit)) or ())

    def failure(self, id_: int) -> KnownFailure | None:
        """Return one failure by its id."""
        found = self._read(lambda db: rows.failures(db, "f.id = ?", (id_,)))
        return found[0] if found else None

    def fix(self, id_: int) -> RememberedFix | None:
        """Return one fix by its id."""
        found = self._read(lambda db: rows.fixes(db, "id = ?", (id_,)))
        return found[0] if found else None

    def counts(self) -> Counts:
        """Return the number of failures and fixes."""
        return self._read(rows.counts) or Counts()

    def forget_failure(self, id_: int) -> bool:
        """Drop one failure; return whether there was one."""
        return self._drop(lambda db: rows.drop_failures(db, "id = ?", (id_,))) > 0

    def forget_fix(self, id_: int) -> bool:
        """Drop one fix, with the kinds of edits it taught; return whether there was one."""

        def work(db: sqlite3.Connection) -> int:
            rows.drop_edits_of(db, id_)
            return rows.drop_fixes(db, "id = ?", (id_,))

        return self._drop(work) > 0

    def prune(self, retention: Retention, now: float | None = None) -> Counts:
        """Drop what was not seen for too long; return how much that was."""
        at = time.time() if now is None else now
        limits = (retention.escalated_days, retention.learning_days, retention.days)
        values = tuple(at - days * DAY for days in limits)
        where = "last_seen < CASE WHEN escalated THEN ? WHEN learning <> '' THEN ? ELSE ? END"
        # The index on the age finds what may be old enough at all.
        where, values = f"last_seen < ? AND {where}", (max(values), *values)
        return Counts(
            self._drop(lambda db: rows.drop_failures(db, where, values)),
            self._drop(lambda db: rows.drop_fixes(db, where, values)),
        )

    def forget_all(self) -> Counts:
        """Drop everything; return how much that was."""
        self._drop(rows.drop_edits)
        return Counts(
            self._drop(lambda db: rows.drop_failures(db, "1", ())),
            self._drop(lambda db: rows.drop_fixes(db, "1", ())),
        )

    def _drop(self, work: Callable[[sqlite3.Connection], int]) -> int:
        return (self._write(work) or 0) if self.path.exists() else 0


def _conditions(
    finding: Finding, language: str, project: Project | None
) -> list[tuple[Rank, str, tuple[str, ...]]]:
    """Return the conditions for a fix to suit a finding, in SQL, the nearest first."""
    cause, shape = cause_of(finding), shape_of(finding)
    conditions: list[tuple[Rank, str, tuple[str, ...]]] = [
        (Rank.FINGERPRINT, "fingerprint = ?", (finding.fingerprint,)),
        (Rank.SHAPE, "shape = ?", (shape,)),
    ]
    if cause not in _NO_PATTERN:
        conditions.append((Rank.CAUSE, "language = ? AND cause = ?", (language, cause)))
    usable = f"{rows.PROVEN} AND {rows.FITTING}" if project else rows.PROVEN
    here = (project.id, shape) if project else ()
    return [(rank, f"{where} AND {usable}", (*of, *here)) for rank, where, of in conditions]


def _merit(fix: RememberedFix) -> tuple[float, float, int]:
    """Return a sort key for the best first: the most probable, then the last used."""
    return -fix.confidence, -fix.last_seen, -fix.id


def _by_weight(failures: Iterable[KnownFailure]) -> list[KnownFailure]:
    return sorted(failures, key=lambda one: (-one.seen, -one.last_seen, one.id))
