"""Endings: the proof that the Python processes of a command came to their end.

An exit code of 0 is no proof: `os._exit(0)` in the program under test gives the same. A module that
Python imports at its start, `sitecustomize` in `python_start`, writes a sealed line when a process
begins, and one when it ends as it should. Where there is no such line nothing is known, and the
exit code decides.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from runtrue.checks.line import commands_of, is_shell
from runtrue.checks.sealed import Seal

_START = Path(__file__).with_name("python_start")
_REPORT = "ending.jsonl"
_PYTHON = re.compile(r"python[\d.]*|.+\.py")
#: Modules that run tests, and end in the usual way. Others may have their reasons not to.
_TESTING = frozenset({"unittest", "doctest", "coverage"})


class Ending:
    """What is known of how the Python processes of one run of a command ended."""

    def __init__(self, command: str, scratch: Path) -> None:
        self._words = frozenset(word.text for words in commands_of(command) for word in words)
        self._is_shell = is_shell(command)
        self._report = scratch / _REPORT
        self._seal = Seal(self._report)

    @staticmethod
    def is_told(command: str) -> bool:
        """Whether a command runs Python itself."""
        words = (word for words in commands_of(command) for word in words)
        return any(_PYTHON.fullmatch(word.name) for word in words)

    def told(self, environment: Mapping[str, str]) -> dict[str, str]:
        """The environment in which processes tell of their end."""
        self._seal.lay_out()
        start_first = [str(_START), *filter(None, [environment.get("PYTHONPATH")])]
        return {
            **environment,
            "PYTHONPATH": os.pathsep.join(start_first),
            "RUNTRUE_ENDING": str(self._report),
        }

    def read(self) -> tuple[bool, tuple[str, ...]]:
        """Whether a process that runs tests came to no end; and what is wrong with the report."""
        sealed = self._seal.open()
        told: dict[int, set[str]] = {}
        wanted: dict[int, set[str]] = {}
        for line in sealed.lines:
            told.setdefault(line["session"], set()).add(line["event"])
            if line["event"] == "begin":
                wanted[line["session"]] = self._wanted(line["words"])
        return any(wanted[one] - told[one] for one in wanted), sealed.wrong

    def _wanted(self, words: list[str]) -> set[str]:
        """What is to be told of a process, by what Python was started with."""
        if words[0] == "-m":
            wanted = {"end"} if words[1] in _TESTING else set()
            return wanted | {"ran"} if words[1] == "unittest" else wanted
        # In a line for the shell, it may be a server that is killed when the tests are done.
        return {"end"} if words[0] in self._words and not self._is_shell else set()
