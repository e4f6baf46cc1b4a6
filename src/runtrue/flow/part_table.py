"""The journal's table of parts: the items of a batch, the nodes of a workflow within a step.

A part is known by its step and its name, such as `post[16]` or `orders[2].create`, so that parts
may run at once and are found again in any order. When the whole is recorded, its parts are
deleted in the same transaction: what they gave is in it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from runtrue.errors import RunBusy, RunError
from runtrue.flow.rows import Claim, PartRow
from runtrue.flow.run_table import RunTable

_ADD = (
    "INSERT INTO parts (run_id, seq, name, input_hash, result, finished_at) "
    "SELECT ?, ?, ?, ?, ?, ? WHERE "
)
_END = "UPDATE parts SET result = ?, finished_at = ? WHERE run_id = ? AND seq = ? AND name = ? AND "
_WITHDRAW = "DELETE FROM parts WHERE run_id = ? AND seq = ? AND name = ? AND result IS NULL AND "
_FORGET = "DELETE FROM parts WHERE run_id = ? AND seq = ? AND name >= ? AND name < ? AND "


class PartTable(RunTable):
    """What the journal does with parts."""

    def parts(self, run_id: str, seq: int | None = None) -> Iterator[PartRow]:
        """Yield the recorded parts of a run, or of one of its steps, in the order of their names.

        Those of a step that is recorded as a whole are no longer there.
        """
        with self._db.explained("read"):
            rows = self._db.execute(
                "SELECT seq, name, input_hash, result FROM parts "
                "WHERE run_id = :run AND (CAST(:seq AS INTEGER) IS NULL OR seq = :seq) "
                "ORDER BY seq, name",
                {"run": run_id, "seq": seq},
            ).fetchall()
        return (PartRow(*row) for row in rows)

    def begin_part(self, claim: Claim, seq: int, name: str, input_hash: str) -> None:
        """Note that a side effect is about to fire, before it does."""
        with self._synced():
            self._write_part(claim, _ADD, (claim.run_id, seq, name, input_hash, None, None))

    def record_part(
        self,
        claim: Claim,
        part: PartRow,
        *,
        begun: bool,
        has_parts: bool,
    ) -> None:
        """Note a finished part, in place of the parts that it had itself."""
        name, now = part.name, time.time()
        if begun:
            statement = _END
            values: tuple[object, ...] = (part.result, now, claim.run_id, part.seq, name)
        else:
            statement = _ADD
            values = (claim.run_id, part.seq, name, part.input_hash, part.result, now)
        if not has_parts:
            with self._db.explained("written"):
                self._write_part(claim, statement, values)
            return
        with self._transaction():
            self._write_part(claim, statement, values)
            self._delete_parts(claim, part.seq, name)

    def withdraw_part(self, claim: Claim, seq: int, name: str) -> None:
        """Take back that a side effect is about to fire: it was refused, and changed nothing."""
        with self._transaction() as db:
            db.execute(
                _WITHDRAW + self._still_mine, (claim.run_id, seq, name, claim.run_id, claim.fence)
            )

    def forget_parts(self, claim: Claim, seq: int, within: str) -> None:
        """Delete the parts within a part, or within the step: they are done again."""
        with self._transaction():
            self._delete_parts(claim, seq, within)

    def begun(self, run_id: str) -> list[str]:
        """Return the steps and parts whose side effects may have happened, and that did not end."""
        with self._db.explained("read"):
            rows = self._db.execute(
                "SELECT seq, node FROM steps WHERE run_id = :run AND result IS NULL UNION ALL "
                "SELECT seq, name FROM parts WHERE run_id = :run AND result IS NULL ORDER BY 1, 2",
                {"run": run_id},
            ).fetchall()
        return [name for _, name in rows]

    def settle(self, run_id: str, name: str, result: bytes) -> None:
        """Record the result of a side effect that was cut off, as a person knows it.

        Refused while a process drives the run: it may be in the middle of that side effect.
        """
        with self._transaction(synced=True) as db:
            run = self._locked(run_id)
            if run.is_driven:
                raise RunBusy(f"run {run.id} is already running in {run.owner}; wait for it first")
            now, settled = time.time(), 0
            for table, column in (("steps", "node"), ("parts", "name")):
                settled += db.execute(
                    f"UPDATE {table} SET result = ?, finished_at = ? "
                    f"WHERE run_id = ? AND {column} = ? AND result IS NULL",
                    (result, now, run.id, name),
                ).rowcount
            if not settled:
                raise RunError(f"run {run.id} did not stop inside {name!r}")

    def _write_part(self, claim: Claim, statement: str, values: tuple[object, ...]) -> None:
        if not self._db.execute(
            statement + self._still_mine, (*values, claim.run_id, claim.fence)
        ).rowcount:
            raise self._refusal(claim)

    def _delete_parts(self, claim: Claim, seq: int, within: str) -> None:
        """Delete the parts of a part: their names go on with `.` or `[`."""
        for begin, end in ((f"{within}.", f"{within}/"), (f"{within}[", f"{within}\\")):
            self._db.execute(
                _FORGET + self._still_mine,
                (claim.run_id, seq, begin, end, claim.run_id, claim.fence),
            )
