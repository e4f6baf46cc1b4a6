"""`fix --watch` and `gate --watch`, as real processes on files that change."""

from __future__ import annotations

import queue
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.cli.conftest import Machine, MakeProject

LIMIT = 120.0

TWO = {
    "runtrue.toml": """
        [checks.first]
        command = "grep -q good first.txt"
        directory = "first"
        [checks.second]
        command = "grep -q good second.txt"
        directory = "second"
        [fixers]
        order = ["tool"]
    """,
    "first/first.txt": "good\n",
    "second/second.txt": "good\n",
    ".gitignore": "made/\n",
}


class Watching:
    """A command that watches, and what it says line by line."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        #: None at the end of all.
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def until(self, words: str) -> list[str]:
        """Wait for a line with these words, and return the lines up to it."""
        said: list[str] = []
        while not said or words not in said[-1]:
            line = self._lines.get(timeout=LIMIT)
            assert line is not None, "".join(said)
            said.append(line)
        return said

    def stop(self) -> int:
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait(LIMIT)
        self._reader.join()
        return code

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self._lines.put(line)
        self._lines.put(None)


@contextmanager
def watching(machine: Machine, project: Path, *args: str) -> Iterator[Watching]:
    process = subprocess.Popen(
        machine.argv(*args, "--watch"),
        cwd=project,
        env=machine.env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield Watching(process)
    finally:
        process.kill()
        process.communicate()


def test_a_change_runs_what_it_concerns_again(machine: Machine, make_project: MakeProject) -> None:
    project = make_project(TWO)
    with watching(machine, project, "fix") as watched:
        first = "".join(watched.until("watching"))
        assert "first: passed" in first
        assert "second: passed" in first
        (project / "made").mkdir()
        (project / "made" / "by-a-build").write_text("ignored")
        (project / "second" / "second.txt").write_text("bad\n")
        assert "second/second.txt" in watched.until("changed:")[-1]
        again = "".join(watched.until("watching"))
        assert "second: failed" in again
        assert "first:" not in again
        # What failed is run again whatever changed.
        (project / "first" / "first.txt").write_text("good again\n")
        assert "second: failed" in "".join(watched.until("watching"))
        assert watched.stop() == 1


def test_a_gate_watches_too(machine: Machine, make_project: MakeProject) -> None:
    project = make_project({"shop.py": "A = 1\n", "README.md": "shop\n"})
    with watching(machine, project, "gate") as watched:
        assert "nothing changed" in "".join(watched.until("watching"))
        (project / "README.md").write_text("a shop\n")
        assert "only documents changed" in "".join(watched.until("watching"))
        assert watched.stop() == 0


def test_one_document_cannot_be_printed_while_watching(
    machine: Machine, make_project: MakeProject
) -> None:
    done = machine.runtrue("fix", "--watch", "--json", cwd=make_project(TWO))
    assert done.code == 2
    assert "--watch runs until you stop it" in done.err
