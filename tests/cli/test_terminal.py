"""What a person at a terminal sees, through a real pseudo-terminal."""

from __future__ import annotations

import os
import pty
import select
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import LINT_ONLY, Machine, MakeProject


class Terminal:
    """A program on a pseudo-terminal."""

    def __init__(self, machine: Machine, *args: str, cwd: Path, **env: str) -> None:
        self.screen = ""
        self._us, them = pty.openpty()
        self._program = subprocess.Popen(
            # As the leader of a session with this terminal, so that Ctrl-C reaches it.
            ["setsid", "--ctty", "--wait", *machine.argv(*args)],
            cwd=cwd,
            env={**machine.env, "TERM": "xterm-256color", **env},
            stdin=them,
            stdout=them,
            stderr=them,
        )
        os.close(them)

    def read_until(self, text: str) -> None:
        while text not in self.screen:
            self._read()

    def _read(self) -> bool:
        readable, _, _ = select.select([self._us], [], [], 60)
        assert readable, f"nothing more appears after: {self.screen[-500:]}"
        try:
            chunk = os.read(self._us, 65536)
        except OSError:
            chunk = b""  # Linux says EIO when the other end is closed
        self.screen += chunk.decode(errors="replace")
        return bool(chunk)

    def type(self, text: str) -> None:
        os.write(self._us, text.encode())

    def interrupt(self) -> None:
        """Press Ctrl-C, and again where it came just before the program began to read."""
        # The terminal shows the key itself, and then what the program says to it.
        while not self.screen.partition("^C")[2].strip("^C\r\n "):
            self.type("\x03")
            while select.select([self._us], [], [], 5)[0] and self._read():
                if self.screen.partition("^C")[2].strip("^C\r\n "):
                    return

    def end(self) -> int:
        while self._read():
            pass
        os.close(self._us)
        return self._program.wait(timeout=60)


@pytest.mark.parametrize(("answer", "applied"), [("y\n", True), ("\n", False), ("n\n", False)])
def test_a_yes_in_a_terminal_applies_and_anything_else_does_not(
    answer: str, applied: bool, machine: Machine, make_project: MakeProject
) -> None:
    project = make_project(LINT_ONLY)
    terminal = Terminal(machine, "fix", cwd=project)
    terminal.read_until("Apply these changes? [y/N]")
    assert "attempt 1 of 3" in terminal.screen
    assert "-import os" in terminal.screen
    terminal.type(answer)
    assert terminal.end() == 0
    assert ("import os" not in (project / "shop.py").read_text()) is applied
    assert "\x1b[3" in terminal.screen  # coloured


def test_ctrl_c_at_the_question_keeps_it_open_to_be_answered_later(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project(LINT_ONLY)
    terminal = Terminal(machine, "fix", cwd=project)
    terminal.read_until("Apply these changes? [y/N]")
    terminal.interrupt()
    assert terminal.end() == 3
    assert "runs resume" in terminal.screen
    assert "import os" in (project / "shop.py").read_text()
    unclear = machine.runtrue("runs", "resume")
    assert unclear.code == 2
    assert "--answer yes or --answer no" in unclear.err
    assert machine.runtrue("runs", "resume", "--answer", "yes").code == 0
    assert "import os" not in (project / "shop.py").read_text()


def test_no_colour_where_it_is_not_wanted(machine: Machine, make_project: MakeProject) -> None:
    project = make_project(LINT_ONLY)
    terminal = Terminal(machine, "fix", "--apply", cwd=project, NO_COLOR="1")
    assert terminal.end() == 0
    assert "\x1b[3" not in terminal.screen
    piped = machine.runtrue("runs", "show")
    assert "\x1b" not in piped.said
