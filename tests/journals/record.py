"""Writes `format-N.json`: runs that wait, as this version records them, with `{ROOT}` for paths.

Run it once for each new form of records, before that is released:
`python -m tests.journals.record`. What it wrote before is never written again.
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from runtrue.flow import Journal, LocalDispatcher, RunState
from runtrue.home import Home
from runtrue.record_format import RECORD_FORMAT
from tests.journals.rows import rows_of
from tests.plan.driving import make_project
from tests.test_killed_loops import FILES, LOOPS, Loop

HERE = Path(__file__).parent
#: The loop of each run that is recorded, and what it is answered before it waits for good.
RUNS: dict[str, tuple[str, tuple[str, ...]]] = {
    "fix asks whether to apply": ("fix", ()),
    "plan is queued": ("plan", ()),
    "plan is complete": ("plan", ("go",)),
}


def _dispatcher(journal: Journal, home: Home, loop: Loop) -> LocalDispatcher:
    return LocalDispatcher(journal, lambda run: loop.prepare(run, home))


def record(root: Path) -> str:
    """The journal with these runs, as JSON."""
    home = Home(root / "home")
    with Journal(home.journal) as journal:
        for number, (loop, answers) in enumerate(RUNS.values()):
            project = make_project(root / f"project-{number}", FILES)
            run_id = LOOPS[loop].start(journal, project)
            dispatcher = _dispatcher(journal, home, LOOPS[loop])
            run = asyncio.run(dispatcher.run(run_id))
            for answer in answers:
                journal.answer(run_id, answer)
                run = asyncio.run(dispatcher.run(run_id))
            assert run.state is RunState.WAITING
    return rows_of(home.journal, root)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        (HERE / f"format-{RECORD_FORMAT}.json").write_text(record(Path(directory).resolve()))
