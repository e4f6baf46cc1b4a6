"""Launches: commands of runtrue in processes of their own, which outlive the server."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from threading import Event, Thread
from typing import IO, Any

from runtrue.foreign_text import visible

_RUN = re.compile(r"^run ([0-9a-f]{8,}): ", re.MULTILINE)
#: How often a launch is looked at, in seconds.
_LOOK = 0.02
_MOST_SAID = 4_000
#: Commands of runs that are remembered.
_MOST_KEPT = 200


class Launch:
    """A command that was started. Its output is in files that have no name."""

    def __init__(self, argv: Sequence[str], directory: Path) -> None:
        self._printed = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `_wait`
        self._said = tempfile.TemporaryFile()  # noqa: SIM115
        self._process = subprocess.Popen(
            argv,
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=self._printed,
            stderr=self._said,
            start_new_session=True,
        )
        self._output = "", ""
        self._ended = Event()
        # It is no part of this server: that ends without it.
        Thread(target=self._wait, daemon=True).start()

    def _wait(self) -> None:
        self._process.wait()
        self._output = _content(self._printed), _content(self._said)
        self._ended.set()
        self._printed.close()
        self._said.close()

    def ended_within(self, seconds: float) -> bool:
        """Wait so long for the end, and return whether it came."""
        return self._ended.wait(seconds)

    def run_id_within(self, seconds: float) -> str | None:
        """Return the id of the run that was begun, as soon as the command says it."""
        until = time.monotonic() + seconds
        while True:
            is_over = self._ended.wait(_LOOK)
            if found := _RUN.search(self._words):
                return found[1]
            if is_over or time.monotonic() > until:
                return None

    @property
    def document(self) -> dict[str, Any]:
        """What the command printed with `--json`; empty before its end, or if it is no document."""
        try:
            found = json.loads(self._output[0])
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}

    @property
    def problem(self) -> str | None:
        """Why the command did nothing, in its own words; None if it did something."""
        if not self._ended.is_set():
            return None
        code, error = self._process.returncode, self.document.get("error")
        proof = self.document.get("proof")
        if isinstance(proof, dict) and proof.get("refused"):
            return visible(str(proof["refused"]))
        if code in (0, 1, 3):
            # 1 and 3 are outcomes of a run, which its page shows, unless there is no run.
            return visible(str(error)) if error and not self.document.get("run_id") else None
        last = self._words.strip()[-_MOST_SAID:]
        return visible(str(error or last or f"exit code {code}"))

    @property
    def _words(self) -> str:
        """What was said so far."""
        try:
            return self._output[1] or _content(self._said)
        except ValueError:  # it has ended meanwhile
            return self._output[1]


class Launcher:
    """Starts commands, and keeps the latest to say later what became of them."""

    def __init__(self, program: Sequence[str], directory: Path) -> None:
        self._program = tuple(program)
        self._directory = directory
        self._of_runs: dict[str, Launch] = {}

    def start(self, *commands: Sequence[str], run_id: str | None = None) -> Launch:
        """Start a command that goes on when the server ends; of several, each if the last passed.

        What is printed is that of the last one.
        """
        *first, last = (shlex.join([*self._program, *words]) for words in commands)
        before = [f"{command} >/dev/null" for command in first]
        launch = Launch(["sh", "-c", " && ".join([*before, f"exec {last}"])], self._directory)
        if run_id is not None:
            self._of_runs.pop(run_id, None)
            self._of_runs[run_id] = launch
            while len(self._of_runs) > _MOST_KEPT:
                self._of_runs.pop(next(iter(self._of_runs)))
        return launch

    def is_busy(self, run_id: str) -> bool:
        """True while the last command for a run is going on."""
        launch = self._of_runs.get(run_id)
        return launch is not None and not launch.ended_within(0)

    def problem_of(self, run_id: str) -> str | None:
        """Return why the last command for a run failed, if it did."""
        launch = self._of_runs.get(run_id)
        return launch.problem if launch else None

    def wait(self, seconds: float) -> None:
        """Wait so long for the latest commands of runs to end."""
        for launch in self._of_runs.values():
            launch.ended_within(seconds)


def _content(file: IO[bytes]) -> str:
    """Return what was written so far, wherever the process is writing."""
    size = os.fstat(file.fileno()).st_size
    return os.pread(file.fileno(), size, 0).decode(errors="replace")
