"""A real second process for the tests, which does with a journal what it is told, line by line.

The test's side is `Child`; the other side is this module run as a program. Each line is one call
and gets one line in reply, so that a test knows exactly how far the other process has come.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from types import TracebackType
from typing import Any

from runtrue.errors import RuntrueError
from runtrue.flow import Claim, Journal, Location, Owner, RunState, UnknownEvent

ROOT = Path(__file__).resolve().parents[2]

#: No test takes as long: a child that hangs is killed, and its test fails instead of waiting.
PATIENCE = 120


def location_of(text: str) -> Location:
    """The location of a journal that was given on the command line."""
    return text if text.startswith("postgresql:") else Path(text)


class Refused(Exception):
    """The child's call raised an error: its class name, with its message."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(f"{name}: {message}")
        self.name = name
        self.message = message


class Child:
    """The process, as seen from the test. Killed at the end of the `with` block."""

    def __init__(self, *arguments: str | Path, module: str = "tests.flow.child") -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", module, *map(str, arguments)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._watchdog = threading.Timer(PATIENCE, self.process.kill)
        self._watchdog.start()

    @property
    def pid(self) -> int:
        return self.process.pid

    def __enter__(self) -> Child:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._watchdog.cancel()
        self.process.kill()
        self.process.communicate()

    def send(self, call: str, *arguments: Any) -> None:
        """Tell it what to do, without waiting for the reply."""
        assert self.process.stdin
        self.process.stdin.write(json.dumps([call, *arguments]) + "\n")
        self.process.stdin.flush()

    def reply(self) -> Any:
        """What came of the oldest call that has not been replied to."""
        reply = json.loads(self.line())
        if "error" in reply:
            raise Refused(reply["error"], reply["message"])
        return reply["value"]

    def line(self) -> str:
        """The next line that it writes."""
        assert self.process.stdout
        line = self.process.stdout.readline()
        assert line, "the child process ended without an answer"
        return line.rstrip("\n")

    def call(self, call: str, *arguments: Any) -> Any:
        """Tell it what to do, and wait until it is done."""
        self.send(call, *arguments)
        return self.reply()

    def stop(self) -> None:
        """Freeze it, and return when it is frozen."""
        os.kill(self.pid, signal.SIGSTOP)
        os.waitpid(self.pid, os.WUNTRACED)

    def wake(self) -> None:
        """Let it go on."""
        os.kill(self.pid, signal.SIGCONT)

    def kill(self) -> None:
        """Kill it as nothing can be caught, and return when it is gone."""
        self.process.kill()
        self.process.wait()

    def end(self) -> int:
        """Close its input, let it come to its end, and return its exit code."""
        self.process.communicate()
        return self.process.returncode


class _Hand:
    """The other side: one journal, and the last claim made on it."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._claim = Claim("", 0)

    def claim(self, run_id: str, force: bool = False) -> int:
        self._claim = self._journal.claim(run_id, Owner.this_process(), force=force)
        return self._claim.fence

    def record(self, seq: int) -> None:
        self._journal.record(self._claim, seq, "node", "hash", b"1", begun=False)

    def record_begun(self, seq: int) -> None:
        self._journal.record(self._claim, seq, "node", "hash", b"1", begun=True)

    def begin(self, seq: int) -> None:
        self._journal.begin(self._claim, seq, "node", "hash")

    def emit(self, kind: str) -> None:
        self._journal.emit(self._claim, UnknownEvent(unknown=kind, origin="node"))

    def ask(self, seq: int) -> None:
        self._journal.ask(self._claim, seq, "why?")

    def park(self, seq: int) -> None:
        self._journal.park(self._claim, seq)

    def finish(self) -> None:
        self._journal.finish(self._claim, RunState.PASSED, {})

    def fail(self) -> None:
        self._journal.fail(self._claim, "broke")

    def answer(self, run_id: str, value: Any) -> None:
        self._journal.answer(run_id, value)

    def write_many(self, count: int) -> list[str]:
        """Runs of its own, each with a step and an event, as fast as it can."""
        made = []
        for _ in range(count):
            run_id = self._journal.create("test", "written at once", {})
            self.claim(run_id)
            self.emit("written")
            self.record(0)
            self.finish()
            made.append(run_id)
        return made


def main() -> None:
    with Journal(location_of(sys.argv[1])) as journal:
        hand = _Hand(journal)
        for line in sys.stdin:
            call, *arguments = json.loads(line)
            try:
                reply = {"value": getattr(hand, call)(*arguments)}
            except RuntrueError as error:
                reply = {"error": type(error).__name__, "message": str(error)}
            print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
