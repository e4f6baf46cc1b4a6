"""The engine: DBOS, its tables in the journal's database, and what we call things there."""

from __future__ import annotations

import base64
import io
import logging
import pickle
from typing import Any, NoReturn

from runtrue.errors import UsageError
from runtrue.flow import PostgresDatabase, RunRow
from runtrue.record_format import RECORD_FORMAT

try:
    import dbos
    from dbos._serialization import DefaultSerializer
except ModuleNotFoundError as error:
    raise UsageError(
        "queues and workers need DBOS: install it with `pip install 'runtrue[scale]'`"
    ) from error

#: The workflow that drives one segment of a run.
SEGMENT = "runtrue.segment"
APPLICATION = "runtrue"

# What it has to say is for its own developers; workers say in a sentence what matters.
logging.getLogger("dbos").setLevel(logging.CRITICAL + 1)


class _PlainValues(pickle.Unpickler):
    """Reads numbers, texts and what holds them: all that we put on a queue."""

    def find_class(self, module: str, name: str) -> NoReturn:
        """Refuse to import anything: to unpickle is to run what a row of the database says."""
        raise pickle.UnpicklingError(f"a row of the database names {module}.{name}")


def _read_plain(self: DefaultSerializer, serialized_data: str) -> Any:
    return _PlainValues(io.BytesIO(base64.b64decode(serialized_data))).load()


# A row says by itself that it is a pickle, whichever serializer is configured.
DefaultSerializer.deserialize = _read_plain  # type: ignore[method-assign, assignment]


def migrate_engine(db: PostgresDatabase) -> None:
    """Make or bring up to date the tables of DBOS, in their own schema."""
    with db.explained("migrated"):
        dbos.DBOS.migrate(db.location)


def version_name(record_format: int = RECORD_FORMAT) -> str:
    """Return what DBOS calls the version of a worker: a worker takes runs of its own only."""
    return f"record-format-{record_format}"


def version_of(run: RunRow) -> str:
    """Return the version of the workers that can go on with a run."""
    return version_name(int(run.input.get("record_format", RECORD_FORMAT)))
