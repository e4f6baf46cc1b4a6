"""The memory's tables, as ordered migrations. Append to the list; never edit what has shipped."""

from __future__ import annotations

MIGRATIONS = [
    # 1: what was wanted of an operation, and what it turned out to be called there
    """
    CREATE TABLE repairs (
        kind        TEXT NOT NULL,
        host        TEXT NOT NULL,
        operation   TEXT NOT NULL,
        wanted      TEXT NOT NULL,
        found       TEXT NOT NULL,
        fixer       TEXT NOT NULL,
        fingerprint TEXT NOT NULL,
        uses        INTEGER NOT NULL DEFAULT 0,
        verified_at REAL NOT NULL,
        PRIMARY KEY (kind, host, operation, wanted)
    ) STRICT, WITHOUT ROWID;
    """,
    # 2: failures that code loops saw, and the fixes that were then verified
    """
    CREATE TABLE shapes (
        id         INTEGER PRIMARY KEY,
        shape      TEXT NOT NULL UNIQUE,
        error_type TEXT NOT NULL,
        cause      TEXT NOT NULL,
        message    TEXT NOT NULL
    ) STRICT;
    CREATE TABLE words (
        word   INTEGER PRIMARY KEY,
        shapes INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE shape_words (
        word  INTEGER NOT NULL,
        shape INTEGER NOT NULL,
        PRIMARY KEY (word, shape)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE failures (
        id          INTEGER PRIMARY KEY AUTOINCREMENT,
        fingerprint TEXT NOT NULL,
        shape       INTEGER NOT NULL,
        language    TEXT NOT NULL,
        file        TEXT,
        test        TEXT,
        project     TEXT NOT NULL,
        path        TEXT NOT NULL,
        seen        INTEGER NOT NULL DEFAULT 0,
        first_seen  REAL NOT NULL,
        last_seen   REAL NOT NULL,
        last_run    TEXT NOT NULL,
        learning    TEXT NOT NULL DEFAULT '',
        escalated   INTEGER NOT NULL DEFAULT 0,
        UNIQUE (fingerprint, project)
    ) STRICT;
    CREATE INDEX failures_by_shape ON failures (shape, last_seen);
    CREATE INDEX failures_by_file ON failures (project, file);
    CREATE INDEX failures_by_test ON failures (project, test);
    CREATE INDEX failures_by_age ON failures (last_seen);
    CREATE TABLE sightings (
        failure INTEGER NOT NULL,
        run     TEXT NOT NULL,
        attempt INTEGER NOT NULL,
        PRIMARY KEY (failure, run, attempt)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE fixes (
        id           INTEGER PRIMARY KEY AUTOINCREMENT,
        fingerprint  TEXT NOT NULL,
        shape        TEXT NOT NULL,
        error_type   TEXT NOT NULL,
        cause        TEXT NOT NULL,
        language     TEXT NOT NULL,
        diff         TEXT NOT NULL,
        template     TEXT,
        template_key TEXT NOT NULL,
        fixer        TEXT NOT NULL,
        tried        INTEGER NOT NULL DEFAULT 0,
        passed       INTEGER NOT NULL DEFAULT 0,
        project      TEXT NOT NULL,
        path         TEXT NOT NULL,
        first_seen   REAL NOT NULL,
        last_seen    REAL NOT NULL,
        learning     TEXT NOT NULL DEFAULT '',
        escalated    INTEGER NOT NULL DEFAULT 0,
        UNIQUE (shape, template_key)
    ) STRICT;
    CREATE INDEX fixes_by_fingerprint ON fixes (fingerprint);
    CREATE INDEX fixes_by_template ON fixes (template_key);
    CREATE INDEX fixes_by_age ON fixes (last_seen);
    CREATE INDEX proven_fixes ON fixes (language, cause, last_seen)
        WHERE template IS NOT NULL AND tried <= 2 * passed;
    CREATE TABLE trials (
        fix    INTEGER NOT NULL,
        run    TEXT NOT NULL,
        passed INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (fix, run)
    ) STRICT, WITHOUT ROWID;
    """,
    # 3: the shapes that a fix failed on, by project
    """
    CREATE TABLE misfits (
        project TEXT NOT NULL,
        shape   TEXT NOT NULL,
        fix     INTEGER NOT NULL,
        PRIMARY KEY (project, shape, fix)
    ) STRICT, WITHOUT ROWID;
    """,
    # 4: which kinds of edits have passed, by the cause of the failure that they fixed
    """
    CREATE TABLE edits (
        cause TEXT NOT NULL,
        kind  TEXT NOT NULL,
        run   TEXT NOT NULL,
        PRIMARY KEY (cause, kind, run)
    ) STRICT, WITHOUT ROWID;
    """,
    # 5: the form of the code that failed, and the files that a run has changed in the user's tree,
    # with the hashes they had before
    """
    ALTER TABLE failures ADD COLUMN code_shape TEXT NOT NULL DEFAULT '';
    CREATE TABLE applied (
        run     TEXT NOT NULL,
        project TEXT NOT NULL,
        path    TEXT NOT NULL,
        before  TEXT NOT NULL,
        PRIMARY KEY (run, path)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX applied_by_project ON applied (project);
    """,
    # 6: up to where the log of a shared database was copied
    """
    CREATE TABLE pulled (
        log TEXT PRIMARY KEY,
        n   INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    """,
]
