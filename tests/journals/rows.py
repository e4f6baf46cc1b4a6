"""Journals as JSON: every row of every table, with `{ROOT}` in the place of a directory."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from runtrue.flow import Journal

TABLES = ("runs", "steps", "parts", "questions", "events")


def rows_of(file: Path | str, root: Path) -> str:
    """The rows of the journal at `file`."""
    found: dict[str, list[dict[str, Any]]] = {}
    with closing(sqlite3.connect(file)) as db:
        db.row_factory = sqlite3.Row
        for table in TABLES:
            rows = map(dict, db.execute(f"SELECT * FROM {table}"))  # noqa: S608 - a constant
            found[table] = [{k: _text(v) for k, v in row.items()} for row in rows]
    for run in found["runs"]:
        run["owner"] = None  # a process of this machine, which another cannot look up
    return json.dumps(found, indent=1).replace(str(root), "{ROOT}") + "\n"


def _text(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else value


def write_rows(text: str, file: Path | str, root: Path) -> None:
    """Make a journal of such rows."""
    with Journal(file):
        pass
    with closing(sqlite3.connect(file)) as db, db:
        for table, rows in json.loads(text.replace("{ROOT}", str(root))).items():
            for row in rows:
                if table in ("steps", "parts") and row["result"] is not None:
                    row["result"] = row["result"].encode()
                names, marks = ", ".join(row), ", ".join("?" * len(row))
                db.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", [*row.values()])  # noqa: S608
