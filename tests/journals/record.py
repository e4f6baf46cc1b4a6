"""Writes `format-N.json`: runs that wait, as this version records them, with `{ROOT}` for paths.

Run it once for each new form of records, before that is released:
`python -m tests.journals.record`. What it wrote before is never written again. `parts-N.json` is a
batch that was killed in the middle, by the number of the journal's tables.
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from runtrue.flow import Journal, LocalDispatcher, RunState
from runtrue.flow.migrations import MIGRATIONS
from runtrue.home import Home
from runtrue.record_format import RECORD_FORMAT
from runtrue.workflow import Registry, prepare_workflow, start_workflow
from tests.crashes.points import CrashPoint, killed_at
from tests.journals.rows import rows_of
from tests.plan.driving import make_project
from tests.test_killed_loops import FILES, LOOPS, Loop

HERE = Path(__file__).parent
#: The items of the batch: names of files.
ITEMS = ["zero", "one", "two", "three", "four"]
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


def record_parts(root: Path) -> str:
    """The journal of a batch that was killed when its third item had begun, as JSON."""
    params = {"command": "echo written > ${item}.txt"}
    node = {"id": "write", "type": "shell", "params": params, "batch": {"items": ITEMS}}
    home = Home(root / "home")
    with Journal(home.journal) as journal:
        registry = Registry(home, root)
        run_id = start_workflow(journal, {"nodes": [node]}, {}, registry=registry).run_id

    def go_on() -> None:
        with Journal(home.journal) as journal:
            dispatcher = LocalDispatcher(journal, lambda run: prepare_workflow(run, home))
            asyncio.run(dispatcher.run(run_id))

    write = 1
    while killed_at(CrashPoint(write, before=False), go_on):
        with Journal(home.journal) as journal:
            if journal.begun(run_id) == ["write[2]"]:
                break
            journal.delete([run_id])
            run_id = start_workflow(journal, {"nodes": [node]}, {}, registry=registry).run_id
        write += 1
    return rows_of(home.journal, root)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        whole = HERE / f"format-{RECORD_FORMAT}.json"
        if not whole.exists():
            whole.write_text(record(Path(directory).resolve()))
    with tempfile.TemporaryDirectory() as directory:
        parts = HERE / f"parts-{len(MIGRATIONS)}.json"
        if not parts.exists():
            parts.write_text(record_parts(Path(directory).resolve()))
