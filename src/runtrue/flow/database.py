"""The seam between the journal and what holds its tables: SQLite, or PostgreSQL.

Statements are written once, in the SQL that both know, with `?` or `:name` for values. What the two
say differently is a method or an attribute here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

Values = Sequence[Any] | Mapping[str, Any]

#: Where a journal is: a file, or the URL of a PostgreSQL database.
Location = Path | str


class Rows(Protocol):
    """What a statement did: how many rows it wrote, and the rows that it read."""

    @property
    def rowcount(self) -> int:
        """How many rows it has written."""
        ...

    def fetchone(self) -> Any:
        """Return the next row, or None."""
        ...

    def fetchall(self) -> list[Any]:
        """Return all rows."""
        ...

    def __iter__(self) -> Iterator[Any]:
        """Yield the rows."""
        ...


class Database(Protocol):
    """One connection, for one thread, to tables that are up to date."""

    @property
    def location(self) -> Location:
        """What opens another connection to the same tables."""
        ...

    @property
    def name(self) -> str:
        """What messages call it; without a password."""
        ...

    @property
    def locked(self) -> str:
        """What ends a SELECT whose row must stay as it is until the transaction ends."""
        ...

    def text_at(self, column: str, key: str) -> str:
        """Return SQL for the text at a key of a column's JSON; `key` is SQL too."""
        ...

    def json_at(self, column: str, key: str) -> str:
        """Return SQL for the JSON at a key of a column's JSON; `key` is SQL too."""
        ...

    def execute(self, statement: str, values: Values = ()) -> Rows:
        """Execute one statement; outside of a transaction it is one by itself."""
        ...

    def transaction(self) -> AbstractContextManager[None]:
        """Write in one transaction, which is rolled back on any exception."""
        ...

    def synced(self) -> AbstractContextManager[None]:
        """Commit what is written within to the disk itself."""
        ...

    def explained(self, verb: str) -> AbstractContextManager[None]:
        """Turn what the database raises into a JournalError of one sentence."""
        ...

    def now(self) -> float:
        """Return the time by the clock that all who use these tables share."""
        ...

    def vacuum(self) -> None:
        """Give the space of what was deleted back, if that is worth it."""
        ...

    def close(self) -> None:
        """Close the connection."""
        ...


def location_name(location: Location) -> str:
    """Return a location as messages may show it: without a password."""
    if isinstance(location, Path):
        return str(location)
    parts = urlsplit(location)
    user = f"{parts.username}@" if parts.username else ""
    return f"{parts.scheme}://{user}{parts.netloc.rpartition('@')[2]}{parts.path}"
