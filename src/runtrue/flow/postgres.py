"""The journal's tables in PostgreSQL, for many machines.

The tables and statements are those of SQLite, translated: `runtrue.flow.migrations` is the only
place that says what there is. Passwords come from what psycopg reads (`PGPASSWORD`, `~/.pgpass`, a
service file), or from the URL; so do the settings of TLS.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec

from runtrue.errors import JournalError, UsageError
from runtrue.flow.database import Rows, Values, location_name
from runtrue.flow.migrations import MIGRATIONS

try:
    import psycopg
except ModuleNotFoundError as error:
    raise UsageError(
        "RUNTRUE_DATABASE names a PostgreSQL database, which needs psycopg: "
        "install it with `pip install 'runtrue[scale]'`"
    ) from error

if TYPE_CHECKING:
    from psycopg import Connection, Cursor

#: Seconds to wait for a server that does not answer.
_CONNECT_SECONDS = 10
#: The name of the lock that a process holds while it migrates: a number that nobody else uses.
_MIGRATION_LOCK = 0x72756E74
#: One word of a statement that PostgreSQL writes in another way: a string, `?`, or `:name`.
_WORD = re.compile(r"'[^']*'|::|\?|:([a-z_]+)|%")
_TYPES = {"TEXT": 'TEXT COLLATE "C"', "REAL": "DOUBLE PRECISION", "BLOB": "BYTEA"}
#: PostgreSQL reads no JSON that holds the character NUL, which output of programs does hold.
_FUNCTIONS = r"""
    CREATE FUNCTION json_of(document TEXT) RETURNS JSON LANGUAGE SQL IMMUTABLE AS $$
        SELECT CAST(CASE WHEN strpos(document, '\u0000') = 0 THEN document ELSE
            regexp_replace(document, '(?<!\\)((?:\\\\)*)\\u0000', '\1\\ufffd', 'g') END AS JSON)
    $$
"""
#: What only a database that is shared has: its workers, and the queue that a run belongs to.
_SHARED = (
    """
    CREATE TABLE workers (
        id          TEXT COLLATE "C" PRIMARY KEY,
        owner       TEXT COLLATE "C" NOT NULL,
        host        TEXT NOT NULL,
        pid         INTEGER NOT NULL,
        queue       TEXT NOT NULL,
        concurrency INTEGER NOT NULL,
        version     TEXT NOT NULL,
        state       TEXT NOT NULL,
        started_at  DOUBLE PRECISION NOT NULL,
        beat_at     DOUBLE PRECISION NOT NULL
    )
    """,
    """
    CREATE TABLE queued (
        run_id  TEXT COLLATE "C" PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
        queue   TEXT NOT NULL,
        segment INTEGER NOT NULL
    )
    """,
)

#: Files that runs need on other machines, by hash. The content of large ones may be elsewhere.
_FILES = (
    """
    CREATE TABLE files (
        hash    TEXT COLLATE "C" PRIMARY KEY,
        size    BIGINT NOT NULL,
        content BYTEA
    )
    """,
    """
    CREATE TABLE run_files (
        run_id TEXT COLLATE "C" NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
        name   TEXT COLLATE "C" NOT NULL,
        hash   TEXT COLLATE "C" NOT NULL REFERENCES files (hash),
        PRIMARY KEY (run_id, name)
    )
    """,
    "CREATE INDEX run_files_by_name ON run_files (name)",
    "CREATE INDEX run_files_by_hash ON run_files (hash)",
)
#: What machines tell each other of what they have learnt.
_MEMORY = (
    """
    CREATE TABLE memory_log (
        n      BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        at     DOUBLE PRECISION NOT NULL,
        what   TEXT NOT NULL,
        run_id TEXT COLLATE "C" NOT NULL,
        data   TEXT NOT NULL
    )
    """,
    "CREATE INDEX memory_log_by_run ON memory_log (run_id)",
)
_PRIORITY = "ALTER TABLE queued ADD COLUMN priority INTEGER NOT NULL DEFAULT 100"
_MAX_WAITING = "ALTER TABLE workers ADD COLUMN max_waiting INTEGER"
#: What a migration of the journal brings along here, by its number.
_WITH_MIGRATION = {1: _SHARED, 5: (*_FILES, _PRIORITY, _MAX_WAITING, *_MEMORY)}


class PostgresDatabase:
    """The tables of the database at a URL, in its schema `runtrue`."""

    #: As SQLite holds the whole file; readers are not kept waiting.
    locked = " FOR NO KEY UPDATE"

    def __init__(self, location: str, *, migrate: bool = True) -> None:
        self.location = location
        self.name = location_name(location)
        with self.explained("opened"):
            self._db = connect(location)
            try:
                if migrate:
                    self.migrate()
            except BaseException:
                self._db.close()
                raise

    def text_at(self, column: str, key: str) -> str:
        """Return SQL for the text at a key of a column's JSON; `key` is SQL too."""
        return f"(json_of({column}) ->> CAST({key} AS TEXT))"

    def json_at(self, column: str, key: str) -> str:
        """Return SQL for the JSON at a key of a column's JSON; `key` is SQL too."""
        return f"CAST(json_of({column}) -> CAST({key} AS TEXT) AS TEXT)"

    def execute(self, statement: str, values: Values = ()) -> Rows:
        """Execute one statement; outside of a transaction it is one by itself."""
        return self._execute(statement, values)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Write in one transaction, which is rolled back on any exception."""
        with self._db.transaction():
            yield

    @contextmanager
    def synced(self) -> Iterator[None]:
        """Do nothing more: PostgreSQL commits to the disk, as far as its owner lets it."""
        yield

    @contextmanager
    def explained(self, verb: str) -> Iterator[None]:
        """Turn what PostgreSQL raises into one sentence."""
        try:
            yield
        except psycopg.errors.InsufficientPrivilege as error:
            raise JournalError(
                f"the journal {self.name} cannot be {verb}: {_first_line(error)}; have its owner "
                "run `runtrue database migrate` and grant your role what docs/scale.md names"
            ) from error
        except psycopg.OperationalError as error:
            raise JournalError(
                f"the journal {self.name} cannot be {verb}: {_first_line(error)}; start the server "
                "or correct RUNTRUE_DATABASE, then continue with `runtrue runs resume`"
            ) from error
        except (psycopg.Error, msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise JournalError(
                f"the journal {self.name} is not as runtrue made it: {_first_line(error)}; "
                "`runtrue database check` says more"
            ) from error

    def now(self) -> float:
        """Return the time by the server's clock: those of machines differ."""
        row = self._execute("SELECT CAST(extract(epoch FROM clock_timestamp()) AS REAL)").fetchone()
        return float(row[0]) if row else 0.0

    def vacuum(self) -> None:
        """Do nothing: PostgreSQL does it by itself."""

    def close(self) -> None:
        """Close the connection."""
        self._db.close()

    @property
    def server(self) -> str:
        """What the server says it is, and whether others can listen to the connection."""
        info = self._db.info
        major, minor = divmod(info.server_version, 10_000)
        encrypted = "with TLS" if self._db.pgconn.ssl_in_use else "without TLS"
        return f"PostgreSQL {major}.{minor}, {encrypted}"

    def version(self) -> int:
        """Return how many migrations the tables have seen."""
        found = self._execute("SELECT to_regclass('runtrue.migrations') IS NOT NULL").fetchone()
        if not found or not found[0]:
            return 0
        row = self._execute("SELECT coalesce(max(version), 0) FROM migrations").fetchone()
        return int(row[0]) if row else 0

    def _execute(self, statement: str, values: Values = ()) -> Cursor[Any]:
        return self._db.execute(translated(statement), values)

    def migrate(self) -> None:
        """Bring the tables up to date, one process at a time, a transaction for each migration."""
        if self.version() < len(MIGRATIONS):
            self._execute(f"SELECT pg_advisory_lock({_MIGRATION_LOCK})")
            try:
                for version in range(self.version(), len(MIGRATIONS)):
                    with self._db.transaction():
                        for statement in _migration(version):
                            self._db.execute(statement)
            finally:
                self._execute(f"SELECT pg_advisory_unlock({_MIGRATION_LOCK})")
        if (version := self.version()) > len(MIGRATIONS):
            raise JournalError(
                f"the journal {self.name} cannot be used: it was written by a newer runtrue "
                f"(schema {version}, this one knows {len(MIGRATIONS)}); upgrade runtrue"
            )


def connect(location: str) -> Connection[Any]:
    """Connect to a database, where each statement is a transaction unless it is in one."""
    return psycopg.connect(
        location,
        autocommit=True,
        connect_timeout=_CONNECT_SECONDS,
        application_name="runtrue",
        options="-c search_path=runtrue -c client_encoding=UTF8",
    )


@cache
def translated(statement: str) -> str:
    """Return a statement of SQLite's in the words of psycopg and PostgreSQL."""

    def word(match: re.Match[str]) -> str:
        if match[0] == "?":
            return "%s"
        if match[1]:
            return f"%({match[1]})s"
        return match[0].replace("%", "%%")

    statement = statement.replace(" AS REAL)", " AS DOUBLE PRECISION)")
    return _WORD.sub(word, statement)


def _migration(version: int) -> Iterator[str]:
    """Yield the statements of a migration, in the words of PostgreSQL."""
    if version == 0:
        yield "CREATE SCHEMA IF NOT EXISTS runtrue"
        yield "CREATE TABLE migrations (version INTEGER PRIMARY KEY, done_at TIMESTAMPTZ NOT NULL)"
        yield _FUNCTIONS
    for statement in MIGRATIONS[version].split(";\n"):
        if statement.strip():
            yield _table(statement)
    yield from _WITH_MIGRATION.get(version + 1, ())
    yield f"INSERT INTO migrations VALUES ({version + 1}, now())"  # a number of ours


def _table(statement: str) -> str:
    statement = re.sub(r"\) STRICT, WITHOUT ROWID\s*$", ")", statement)
    # What SQLite gives each row of the other tables.
    rowid = ", rowid BIGINT GENERATED ALWAYS AS IDENTITY)"
    statement = re.sub(r"\) STRICT\s*$", rowid, statement)
    # SQLite does not enforce these, and to check them would cost a look with each step.
    statement = re.sub(r" REFERENCES \w+ \(\w+\)", "", statement)
    return re.sub(r"\b(TEXT|REAL|BLOB)\b", lambda match: _TYPES[match[1]], statement)


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
