"""The files of runs that other machines need, by the hash of their content.

Small ones are in the database. Large ones are where the user's `[database] files` says; if it says
nothing, they are in the database, too.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from runtrue.errors import FenceLost, JournalError
from runtrue.flow import PostgresDatabase
from runtrue.scale.large_files import LargeFiles

#: Up to this size files are always in the database.
SMALL = 256 * 1024
#: PostgreSQL holds no value of more than 1 GB, and all of it is in memory on its way.
_LARGEST = 256 * 1024 * 1024


class FileTable:
    """The files of runs in a database, and beside it."""

    def __init__(self, db: PostgresDatabase, large: LargeFiles | None) -> None:
        self._db = db
        self._large = large

    def names(self, run_id: str) -> dict[str, str]:
        """Return the hash of each file of a run, by name."""
        rows = self._db.execute(
            "SELECT name, hash FROM run_files WHERE run_id = ? ORDER BY name", (run_id,)
        ).fetchall()
        return dict(rows)

    def known(self, names: list[str]) -> dict[str, str]:
        """Return the hashes of those files that any run has by one of these names."""
        rows = self._db.execute(
            "SELECT DISTINCT ON (name) name, hash FROM run_files WHERE name = ANY(?)", (names,)
        ).fetchall()
        return dict(rows)

    def put(self, run_id: str, files: Mapping[str, bytes], fence: int | None = None) -> None:
        """Store files of a run, all or none. Raises FenceLost where the fence is another by now."""
        for name, content in files.items():
            if len(content) > _LARGEST and self._large is None:
                size = len(content) / 1e6
                raise JournalError(
                    f"{name} of run {run_id} has {size:.0f} MB, too much for the database: "
                    "set RUNTRUE_FILES or [database] files to a directory or bucket"
                )
        with self._db.transaction():
            if fence is not None:
                self._must_be(run_id, fence)
            for name, content in sorted(files.items()):
                self._name(run_id, name, self._store(content))

    def put_known(self, run_id: str, files: Mapping[str, str]) -> bool:
        """Give a run files that others have, by their hashes; False if one is gone meanwhile."""
        with self._db.transaction():
            for name, digest in sorted(files.items()):
                # Held, so that nobody deletes it before it is named.
                row = self._db.execute(
                    "SELECT 1 FROM files WHERE hash = ? FOR SHARE", (digest,)
                ).fetchone()
                if row is None:
                    return False
                self._name(run_id, name, digest)
        return True

    def get(self, digest: str) -> bytes:
        """Return a file by its hash. Raises JournalError if it is gone or another."""
        row = self._db.execute("SELECT content FROM files WHERE hash = ?", (digest,)).fetchone()
        if row is None:
            raise JournalError(f"the file {digest[:12]} of a run is no longer in the database")
        content = row[0]
        if content is None:
            if self._large is None:
                raise JournalError(
                    "a file of a run is not in the database: set RUNTRUE_FILES or [database] files "
                    "to the directory or bucket of the other machines"
                )
            content = self._large.read(digest)
        if hashlib.sha256(content).hexdigest() != digest:
            raise JournalError(f"the file {digest[:12]} of a run is damaged; start a new run")
        return bytes(content)

    def forget(self, run_id: str, names: list[str]) -> None:
        """Drop files of a run, and their contents where no other run has them."""
        self._db.execute(
            "DELETE FROM run_files WHERE run_id = ? AND name = ANY(?)", (run_id, names)
        )
        self.sweep()

    def sweep(self) -> None:
        """Delete the contents that no run has any more."""
        rows = self._db.execute(
            "SELECT hash FROM files f WHERE hash ~ '^[0-9a-f]{64}$' AND NOT EXISTS "
            "(SELECT 1 FROM run_files r WHERE r.hash = f.hash) LIMIT 1000"
        ).fetchall()
        for (digest,) in rows:
            with self._db.transaction():
                # What was taken up in the meantime stays: others wait for this lock, or hold it.
                self._db.execute("SELECT 1 FROM files WHERE hash = ? FOR UPDATE", (digest,))
                gone = self._db.execute(
                    "DELETE FROM files WHERE hash = ? AND NOT EXISTS "
                    "(SELECT 1 FROM run_files WHERE hash = ?) RETURNING hash",
                    (digest, digest),
                ).fetchone()
                if gone and self._large is not None:
                    self._large.delete(digest)

    def _must_be(self, run_id: str, fence: int) -> None:
        row = self._db.execute(
            f"SELECT fence FROM runs WHERE id = ?{self._db.locked}", (run_id,)
        ).fetchone()
        if row is None or row[0] != fence:
            raise FenceLost(f"run {run_id} was taken over by another process; this one stops")

    def _store(self, content: bytes) -> str:
        digest = hashlib.sha256(content).hexdigest()
        large = self._large if len(content) > SMALL else None
        self._db.execute(
            # The update changes nothing: it holds the row.
            "INSERT INTO files (hash, size, content) VALUES (?, ?, ?) "
            "ON CONFLICT (hash) DO UPDATE SET size = excluded.size",
            (digest, len(content), None if large else content),
        )
        if large is not None:
            large.write(digest, content)
        return digest

    def _name(self, run_id: str, name: str, digest: str) -> None:
        self._db.execute(
            "INSERT INTO run_files (run_id, name, hash) VALUES (?, ?, ?) "
            "ON CONFLICT (run_id, name) DO UPDATE SET hash = excluded.hash",
            (run_id, name, digest),
        )
