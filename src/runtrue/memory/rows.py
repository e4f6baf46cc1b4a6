"""Rows: the debug memory's SQL, each statement within the transaction of its caller."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

from runtrue.loop import Cause, Finding, cause_of
from runtrue.memory.facts import Counts, KnownFailure, Project, RememberedFix
from runtrue.memory.search import drop_words, index_words
from runtrue.memory.shapes import code_shape_of, message_of, shape_of, words_of
from runtrue.memory.store import storable
from runtrue.memory.template import StoredDiff, dump_template, load_template
from runtrue.redaction import Redactor

#: True of a fix that can be made again and has not failed more often than it passed.
PROVEN = "template IS NOT NULL AND tried <= 2 * passed"
#: True of a fix, and the same change, that has not failed on a shape in a project.
FITTING = (
    "template_key NOT IN (SELECT f.template_key FROM misfits m JOIN fixes f ON f.id = m.fix "
    "WHERE m.project = ? AND m.shape = ?)"
)

Values = Sequence[Any]

#: The failures of one shape that are compared, the latest ones.
_OF_ONE_SHAPE = 50

_FAILURE = (
    *("id", "fingerprint", "language", "file", "test", "project", "path", "seen", "first_seen"),
    *("last_seen", "last_run", "learning", "escalated", "code_shape"),
)
_SHAPE = ("shape", "error_type", "cause", "message")
_FAILURES = (
    f"SELECT {', '.join(f'f.{name}' for name in _FAILURE)}, "
    f"{', '.join(f's.{name}' for name in _SHAPE)} FROM failures f JOIN shapes s ON s.id = f.shape"
)
_FIX = (
    *("id", "fingerprint", "shape", "error_type", "cause", "language", "diff", "template", "fixer"),
    *("tried", "passed", "project", "path", "first_seen", "last_seen", "learning", "escalated"),
)
#: What a machine tells others of a fix.
_SHARED = (
    *("fingerprint", "shape", "error_type", "cause", "language", "diff", "template"),
    *("template_key", "fixer", "project", "path"),
)
_FIXES = f"SELECT {', '.join(_FIX)} FROM fixes"


def failures(
    db: sqlite3.Connection, where: str, values: Values, *, limit: int = 1_000
) -> list[KnownFailure]:
    """Return the failures of which `where` is true, the last seen first."""
    statement = f"{_FAILURES} WHERE {where} ORDER BY f.last_seen DESC, f.id DESC LIMIT ?"
    return list(map(_failure, db.execute(statement, (*values, limit))))


def failures_about(
    db: sqlite3.Connection, project: str, files: Sequence[str], tests: Sequence[str]
) -> list[KnownFailure]:
    """Return the failures of a project that are blamed on some files or seen by some tests."""
    found = [
        one for f in files for one in failures(db, "f.project = ? AND f.file = ?", (project, f))
    ]
    for test in tests:
        # A test file stands for all tests in it; they are named `file::test`.
        within = "f.project = ? AND (f.test = ? OR (f.test >= ? AND f.test < ?))"
        found += failures(db, within, (project, test, f"{test}::", f"{test}:;"))
    return list({one.id: one for one in found}.values())


def failures_of_types(
    db: sqlite3.Connection, project: str, error_types: Sequence[str]
) -> list[KnownFailure]:
    """Return the failures of some error types that a project has seen more than once."""
    marks = ",".join("?" * len(error_types))
    where = f"f.project = ? AND f.seen > 1 AND s.error_type IN ({marks})"
    return failures(db, where, (project, *error_types)) if error_types else []


def latest_of_shape(
    db: sqlite3.Connection,
    shape: int,
    language: str | None,
    *,
    like: Finding | None = None,
    before_run: str = "",
) -> KnownFailure | None:
    """Return the failure of a shape, and perhaps a language, that was seen last.

    With `like`, one of the same cause in code of the same form; with `before_run`, one that another
    run has seen.
    """
    where = "f.shape = ? AND ? IN (f.language, '') AND EXISTS (SELECT 1 FROM sightings s "
    where += "WHERE s.failure = f.id AND s.run <> ?)"
    found = failures(db, where, (shape, language or "", before_run), limit=_OF_ONE_SHAPE)
    return next((one for one in found if like is None or one.is_like(like)), None)


def record_failure(
    db: sqlite3.Connection,
    finding: Finding,
    project: Project,
    language: str,
    run_id: str,
    attempt: int,
    now: float,
    redact: Redactor,
) -> int:
    """Add a failure or count that it was seen, once for an attempt; return its id."""
    id_ = _failure_id(db, finding, project, language, run_id, now, redact)
    sighting = "INSERT OR IGNORE INTO sightings (failure, run, attempt) VALUES (?, ?, ?)"
    if db.execute(sighting, (id_, run_id, attempt)).rowcount > 0:
        location = finding.location
        db.execute(
            "UPDATE failures SET seen = seen + 1, last_seen = ?, last_run = ?, path = ?, "
            "code_shape = ?, file = ?, test = ? WHERE id = ?",
            (
                *(now, run_id, storable(project.path), code_shape_of(finding)),
                *(location.file and storable(redact.values(location.file)),),
                *(location.symbol and storable(redact.values(location.symbol)),),
                id_,
            ),
        )
    return id_


def _failure_id(
    db: sqlite3.Connection,
    finding: Finding,
    project: Project,
    language: str,
    run_id: str,
    now: float,
    redact: Redactor,
) -> int:
    known = db.execute(
        "SELECT id FROM failures WHERE fingerprint = ? AND project = ?",
        (finding.fingerprint, project.id),
    ).fetchone()
    if known:
        return int(known[0])
    made = db.execute(
        "INSERT INTO failures (fingerprint, shape, language, project, path, first_seen, last_seen,"
        " last_run) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *(finding.fingerprint, _shape(db, finding, redact), language),
            *(project.id, storable(project.path), now, now, run_id),
        ),
    )
    return int(made.lastrowid or 0)


def _shape(db: sqlite3.Connection, finding: Finding, redact: Redactor) -> int:
    shape, message = shape_of(finding), message_of(finding, redact)
    known = db.execute("SELECT id FROM shapes WHERE shape = ?", (shape,)).fetchone()
    if known:
        return int(known[0])
    error_type = storable(finding.category)
    made = db.execute(
        "INSERT INTO shapes (shape, error_type, cause, message) VALUES (?, ?, ?, ?)",
        (shape, error_type, cause_of(finding), message),
    )
    id_ = int(made.lastrowid or 0)
    index_words(db, id_, words_of(error_type, message))
    return id_


def drop_failures(db: sqlite3.Connection, where: str, values: Values) -> int:
    """Drop the failures of which `where` is true, and the rows that only they needed."""
    gone = db.execute(f"SELECT id, shape FROM failures WHERE {where}", values).fetchall()
    ids = [(id_,) for id_, _ in gone]
    db.executemany("DELETE FROM failures WHERE id = ?", ids)
    db.executemany("DELETE FROM sightings WHERE failure = ?", ids)
    for shape in {shape for _, shape in gone}:
        if db.execute("SELECT 1 FROM failures WHERE shape = ?", (shape,)).fetchone():
            continue
        texts = "SELECT error_type, message FROM shapes WHERE id = ?"
        drop_words(db, shape, words_of(*db.execute(texts, (shape,)).fetchone()))
        db.execute("DELETE FROM shapes WHERE id = ?", (shape,))
    return len(gone)


def note(db: sqlite3.Connection, values: Sequence[tuple[str, bool, str, str]]) -> None:
    """Store a learning, and that people were asked; neither is ever taken back."""
    for table in ("failures", "fixes"):
        db.executemany(
            f"UPDATE {table} SET learning = CASE WHEN ?1 = '' THEN learning ELSE ?1 END, "
            "escalated = escalated OR ?2 WHERE fingerprint = ?3 AND project = ?4",
            values,
        )


def fixes(
    db: sqlite3.Connection, where: str, values: Values, *, limit: int = 1_000
) -> list[RememberedFix]:
    """Return the fixes of which `where` is true, the last used first."""
    statement = f"{_FIXES} WHERE {where} ORDER BY last_seen DESC, id DESC LIMIT ?"
    return list(map(_fix, db.execute(statement, (*values, limit))))


def is_any_fix(db: sqlite3.Connection, where: str, values: Values) -> bool:
    """Return whether there is a fix of which `where` is true."""
    return db.execute(f"SELECT 1 FROM fixes WHERE {where} LIMIT 1", values).fetchone() is not None


def add_fix(
    db: sqlite3.Connection,
    finding: Finding,
    stored: StoredDiff,
    fixer: str,
    project: Project,
    language: str,
    now: float,
) -> int:
    """Return the id of a fix, which is added if it is new; do not count that it passed."""
    shape = shape_of(finding)
    known = db.execute(
        "SELECT id FROM fixes WHERE shape = ? AND template_key = ?", (shape, stored.key)
    ).fetchone()
    if known:
        return int(known[0])
    first = db.execute(
        "SELECT fixer FROM fixes WHERE template_key = ? ORDER BY first_seen, id LIMIT 1",
        (stored.key,),
    ).fetchone()
    made = db.execute(
        "INSERT INTO fixes (fingerprint, shape, error_type, cause, language, diff, template, "
        "template_key, fixer, project, path, first_seen, last_seen) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *(finding.fingerprint, shape, storable(finding.category), cause_of(finding), language),
            *(stored.diff, stored.template and dump_template(stored.template), stored.key),
            *(first[0] if first else fixer, project.id, storable(project.path), now, now),
        ),
    )
    return int(made.lastrowid or 0)


def shareable_fix(db: sqlite3.Connection, id_: int) -> dict[str, Any]:
    """Return a fix as another machine may import it."""
    row = db.execute(f"SELECT {', '.join(_SHARED)} FROM fixes WHERE id = ?", (id_,)).fetchone()
    return dict(zip(_SHARED, row, strict=True))


def import_fix(db: sqlite3.Connection, fix: Mapping[str, Any], now: float) -> int:
    """Return the id of a fix of another machine, which is added if it is new."""
    key = (fix["shape"], fix["template_key"])
    known = db.execute("SELECT id FROM fixes WHERE shape = ? AND template_key = ?", key).fetchone()
    if known:
        return int(known[0])
    marks = ", ".join(f":{name}" for name in _SHARED)
    made = db.execute(
        f"INSERT INTO fixes ({', '.join(_SHARED)}, first_seen, last_seen) "
        f"VALUES ({marks}, :now, :now)",
        {**fix, "now": now},
    )
    return int(made.lastrowid or 0)


def add_trial(db: sqlite3.Connection, fix: int, run_id: str, *, passed: bool, now: float) -> None:
    """Count that a run used a fix, and that it passed, each once for a run."""
    start = "INSERT OR IGNORE INTO trials (fix, run) SELECT id, ? FROM fixes WHERE id = ?"
    new = db.execute(start, (run_id, fix)).rowcount > 0
    mark = "UPDATE trials SET passed = 1 WHERE fix = ? AND run = ? AND NOT passed"
    counted = passed and db.execute(mark, (fix, run_id)).rowcount > 0
    if new or counted:
        db.execute(
            "UPDATE fixes SET tried = tried + ?, passed = passed + ?, last_seen = ? WHERE id = ?",
            (new, counted, now, fix),
        )


def add_misfits(
    db: sqlite3.Connection, fix: int, project: Project, findings: Sequence[Finding]
) -> None:
    """Note that a fix was tried on some findings of a project, and failed."""
    db.executemany(
        "INSERT OR IGNORE INTO misfits (project, shape, fix) SELECT ?, ?, id FROM fixes "
        "WHERE id = ?",
        [(project.id, shape, fix) for shape in sorted({shape_of(f) for f in findings})],
    )


def drop_misfits(db: sqlite3.Connection, fix: int, project: Project, finding: Finding) -> None:
    """Take back that a fix, or the same change with other names, failed on a finding."""
    db.execute(
        "DELETE FROM misfits WHERE project = ? AND shape = ? AND fix IN (SELECT id FROM fixes "
        "WHERE template_key = (SELECT template_key FROM fixes WHERE id = ?))",
        (project.id, shape_of(finding), fix),
    )


def drop_fixes(db: sqlite3.Connection, where: str, values: Values) -> int:
    """Drop the fixes of which `where` is true."""
    gone = db.execute(f"SELECT id FROM fixes WHERE {where}", values).fetchall()
    db.executemany("DELETE FROM fixes WHERE id = ?", gone)
    db.executemany("DELETE FROM trials WHERE fix = ?", gone)
    db.executemany("DELETE FROM misfits WHERE fix = ?", gone)
    return len(gone)


def unlearn(db: sqlite3.Connection, run_id: str) -> int:
    """Take back what a run taught; return the number of fixes that are forgotten.

    A fix that others have proven is kept: for it, the run counts as one that it failed in.
    """
    mine = "IN (SELECT fix FROM trials WHERE run = ? AND passed)"
    db.execute(f"UPDATE fixes SET passed = passed - 1 WHERE id {mine}", (run_id,))
    gone = drop_fixes(db, f"passed <= 0 AND id {mine}", (run_id,))
    db.execute("UPDATE trials SET passed = 0 WHERE run = ?", (run_id,))
    db.execute("DELETE FROM edits WHERE run = ?", (run_id,))
    db.execute(
        "UPDATE failures SET learning = '' "
        "WHERE id IN (SELECT failure FROM sightings WHERE run = ?)",
        (run_id,),
    )
    db.execute("DELETE FROM applied WHERE run = ?", (run_id,))
    return gone


def add_applied(
    db: sqlite3.Connection, run_id: str, project: Project, before: Mapping[str, str]
) -> None:
    """Store the hashes that files had before a run changed them in the user's tree."""
    db.executemany(
        "INSERT OR IGNORE INTO applied (run, project, path, before) VALUES (?, ?, ?, ?)",
        [(run_id, project.id, storable(path), digest) for path, digest in before.items()],
    )


def applied(db: sqlite3.Connection, project: Project) -> dict[str, dict[str, str]]:
    """Return the files that runs have changed in a project, with their hashes before, by run."""
    found: dict[str, dict[str, str]] = {}
    query = "SELECT run, path, before FROM applied WHERE project = ?"
    for run, path, before in db.execute(query, (project.id,)):
        found.setdefault(run, {})[path] = before
    return found


def drop_edits_of(db: sqlite3.Connection, fix: int) -> None:
    """Drop the kinds of edits that the runs have stored in which a fix passed."""
    runs = "SELECT run FROM trials WHERE fix = ? AND passed"
    db.execute(f"DELETE FROM edits WHERE run IN ({runs})", (fix,))


def add_edits(db: sqlite3.Connection, values: Sequence[tuple[str, str, str]]) -> None:
    """Store kinds of edits that passed: cause, kind and run."""
    db.executemany("INSERT OR IGNORE INTO edits (cause, kind, run) VALUES (?, ?, ?)", values)


def edits(db: sqlite3.Connection) -> dict[tuple[str, str], int]:
    """Return how often each kind of edit has passed, by cause and kind."""
    found = db.execute("SELECT cause, kind, count(*) FROM edits GROUP BY cause, kind")
    return {(cause, kind): count for cause, kind, count in found}


def drop_edits(db: sqlite3.Connection) -> int:
    """Drop all kinds of edits."""
    return db.execute("DELETE FROM edits").rowcount


def counts(db: sqlite3.Connection) -> Counts:
    """Return the number of failures and fixes."""
    tables = ("failures", "fixes")
    return Counts(*(db.execute(f"SELECT COUNT(*) FROM {t}").fetchone()[0] for t in tables))


def _failure(row: Sequence[Any]) -> KnownFailure:
    facts = dict(zip((*_FAILURE, *_SHAPE), row, strict=True))
    return KnownFailure(**{**facts, **_typed(facts)})


def _fix(row: Sequence[Any]) -> RememberedFix:
    facts = dict(zip(_FIX, row, strict=True))
    template = load_template(facts["template"]) if facts["template"] else None
    return RememberedFix(**{**facts, **_typed(facts), "template": template})


def _typed(facts: dict[str, Any]) -> dict[str, Any]:
    # Another version of runtrue may know more causes.
    cause = Cause(facts["cause"]) if facts["cause"] in set(Cause) else Cause.UNKNOWN
    return {"cause": cause, "escalated": bool(facts["escalated"])}
