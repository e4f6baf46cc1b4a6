"""Side effects that were cut off: a person says that they happened, or goes on without them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from runtrue.errors import UsageError
from runtrue.flow import Journal, RunRow
from runtrue.typed_data import decode_json
from runtrue.workflow import given_outcome, skipped_outcome


@dataclass(frozen=True, slots=True)
class CutOffChoice:
    """The nodes that happened, with the outputs of the one, and those to go on without."""

    done: tuple[str, ...]
    skip: tuple[str, ...]
    result: str | None

    def record(self, journal: Journal, run: RunRow) -> None:
        """Write it into the journal, all of it or nothing. Raises UsageError."""
        named = [*self.done, *self.skip]
        if self.result is not None and len(self.done) != 1:
            raise UsageError("--result gives the outputs of one node: name it with one --done")
        outputs = self._outputs()
        if not named:
            return
        if run.kind != "workflow":
            raise UsageError(
                f"run {run.id} is a {run.kind} run, and --done and --skip are for workflow "
                f"runs; repeat it with `runtrue runs resume {run.id} --force`"
            )
        begun = journal.begun(run.id)
        for name in named:
            if name not in begun:
                known = ", ".join(map(repr, begun)) or "none"
                raise UsageError(
                    f"run {run.id} was not cut off inside {name!r}; cut off were: {known}"
                )
            if named.count(name) > 1:
                raise UsageError(f"{name!r} is named twice with --done or --skip")
        for name in named:
            outcome = given_outcome(outputs) if name in self.done else skipped_outcome()
            journal.settle(run.id, name, msgspec.json.encode(outcome))

    def _outputs(self) -> dict[str, Any]:
        if self.result is None:
            return {}
        try:
            return decode_json(self.result, dict[str, Any])
        except (msgspec.MsgspecError, RecursionError) as error:
            raise UsageError(f"--result must be a JSON object of outputs: {error}") from error
