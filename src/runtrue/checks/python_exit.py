"""Python exits: the proof that the Python processes of a command came to their end.

An exit code of 0 is no proof: `os._exit(0)` in the program under test gives the same. A module that
Python imports at its start, `sitecustomize` in `python_start`, writes a signed line when a process
begins, and one when it ends normally. Without such lines the exit code decides.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runtrue.checks.line import commands_of, is_shell
from runtrue.checks.signed_report import ReportKey

_START = Path(__file__).with_name("python_start")
_REPORT = "ending.jsonl"
_PYTHON = re.compile(r"python[\d.]*|.+\.py")
#: Modules that run tests, and end in the usual way. Others may have their reasons not to.
_TESTING = frozenset(
    {
        "unittest",
        "doctest",
        "coverage",
        "nose2",
        "twisted.trial",
        "zope.testrunner",
        "testtools.run",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonEnd:
    """How the Python processes of a command ended."""

    #: True if one broke off that runs tests.
    broken_off: bool
    #: What is wrong with the report, in words for people.
    problems: tuple[str, ...]
    #: The tests that unittest ran, as they were recorded.
    tests: tuple[dict[str, Any], ...]
    #: True if unittest came to its end without a single test.
    ran_nothing: bool = False


class PythonExit:
    """The ends of the Python processes in one run of a command, as far as they are recorded."""

    def __init__(self, command: str, scratch: Path) -> None:
        self._words = frozenset(word.text for words in commands_of(command) for word in words)
        self._is_shell = is_shell(command)
        self._report = scratch / _REPORT
        self._key = ReportKey(self._report)

    @staticmethod
    def is_recorded(command: str) -> bool:
        """Return whether a command runs Python itself."""
        words = (word for words in commands_of(command) for word in words)
        return any(_PYTHON.fullmatch(word.name) for word in words)

    def prepare(self, environment: Mapping[str, str]) -> dict[str, str]:
        """Return the environment in which processes record their end."""
        self._key.leave()
        start_first = [str(_START), *filter(None, [environment.get("PYTHONPATH")])]
        return {
            **environment,
            "PYTHONPATH": os.pathsep.join(start_first),
            "RUNTRUE_ENDING": str(self._report),
        }

    def read(self) -> PythonEnd:
        """Read what was recorded, once, after the command has ended."""
        report = self._key.read()
        recorded: dict[int, set[str]] = {}
        wanted: dict[int, set[str]] = {}
        for line in report.lines:
            recorded.setdefault(line["session"], set()).add(line["event"])
            if line["event"] == "begin":
                wanted[line["session"]] = self._wanted(line["words"])
        ran = [line["tests"] for line in report.lines if line["event"] == "ran"]
        return PythonEnd(
            broken_off=any(wanted[one] - recorded[one] for one in wanted),
            problems=report.problems,
            tests=tuple(line for line in report.lines if line["event"] == "case"),
            ran_nothing=bool(ran) and not any(ran),
        )

    def _wanted(self, words: list[str]) -> set[str]:
        """Return the events that a process should record, by its command line."""
        if words[0] == "-m":
            wanted = {"end"} if words[1] in _TESTING else set()
            return wanted | {"ran"} if words[1] == "unittest" else wanted
        # In a line for the shell, it may be a server that is killed when the tests are done.
        return {"end"} if words[0] in self._words and not self._is_shell else set()
