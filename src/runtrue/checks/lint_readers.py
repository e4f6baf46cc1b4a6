"""ruff and mypy: read their own JSON reports."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from runtrue.checks.locations import relative
from runtrue.checks.reader import PreparedCommand, Reader, Reading, json_lines, output_of
from runtrue.loop import Fault, Finding, JudgedBy, Location, Workplace
from runtrue.process import Ended
from runtrue.settings_file import read_settings, subtable

_RUFF_REPORT = "ruff.json"


class LintReader(Reader):
    """A linter or formatter whose report is not read: the exit code decides.

    It has no cases: a fix that makes it fail has broken no test.
    """

    def read(self, ended: Ended, workplace: Workplace) -> Reading:
        """Return the one finding that the exit code stands for."""
        return replace(super().read(ended, workplace), cases={})


class RuffReader(Reader):
    """`ruff check`: violations are findings; anything else that stops ruff is the check's fault."""

    judged_by = JudgedBy.OUTPUT

    def prepare(
        self, argv: Sequence[str], environment: Mapping[str, str], scratch: Path
    ) -> PreparedCommand:
        """Have the report written to a file, in place of whatever format was asked for."""
        report = scratch / _RUFF_REPORT
        report.unlink(missing_ok=True)
        arguments = _without_option(argv, "--output-format", "--output-file", "-o")
        options = ("--output-format=json", f"--output-file={report}")
        return PreparedCommand(
            argv=_with_options(arguments, *options),
            environment={**environment, "RUFF_CACHE_DIR": str(scratch / "ruff-cache")},
        )

    def read(self, ended: Ended, workplace: Workplace) -> Reading:
        """Return one finding for each violation."""
        try:
            items = json.loads((workplace.scratch / _RUFF_REPORT).read_text())
        except (OSError, ValueError):
            items = None
        if items is None or ended.exit_code not in (0, 1):
            return _broken(self, "ruff", ended)
        findings = tuple(self._violation(item, workplace) for item in items)
        if ended.exit_code == 1 and not findings:
            findings = (self.failure(ended),)
        return Reading(passed=not findings, findings=findings)

    def _violation(self, item: dict[str, Any], workplace: Workplace) -> Finding:
        start = item.get("location") or {}
        fix = item.get("fix") or {}
        applicability = fix.get("applicability")
        return self.finding(
            item.get("code") or "syntax",
            item["message"],
            location=_location(item["filename"], start.get("row"), start.get("column"), workplace),
            data={
                "fixable": applicability == "safe",
                **({"unsafe_fix": True} if applicability == "unsafe" else {}),
                **({"fix_lines": _fix_lines(fix)} if fix else {}),
            },
        )


def _fix_lines(fix: dict[str, Any]) -> list[int]:
    """The lines that a fix changes; an edit that ends before the first column leaves that line."""
    return sorted(
        {
            line
            for edit in fix.get("edits", ())
            for start, end in [(edit["location"], edit["end_location"])]
            for line in range(start["row"], max(end["row"] + (end["column"] > 1), start["row"] + 1))
        }
    )


class MypyReader(Reader):
    """mypy: errors are findings, its notes belong to the error before them."""

    judged_by = JudgedBy.OUTPUT

    def __init__(self, check: str, *, is_shell: bool, directory: Path) -> None:
        super().__init__(check, is_shell=is_shell)
        self.directory = directory

    def prepare(
        self, argv: Sequence[str], environment: Mapping[str, str], scratch: Path
    ) -> PreparedCommand:
        """Ask for JSON, and keep the cache, which goes by content, from attempt to attempt."""
        arguments = _without_option(argv, "--output", "-O", "--cache-dir")
        options = ["--output=json", f"--cache-dir={scratch / 'mypy-cache'}"]
        if python := self._project_python(argv, environment):
            options.append(f"--python-executable={python}")
        # Where Python is led from an editable install into the sandbox, mypy must be led, too.
        paths = [environment.get(name, "") for name in ("MYPYPATH", "PYTHONPATH")]
        path = os.pathsep.join(filter(None, paths))
        return PreparedCommand(
            argv=_with_options(arguments, *options),
            environment={**environment, **({"MYPYPATH": path} if path else {})},
        )

    def _project_python(self, argv: Sequence[str], environment: Mapping[str, str]) -> str | None:
        """The interpreter with the project's packages, for a mypy from somewhere else.

        mypy looks for packages where it is installed itself, if nothing tells it otherwise.
        """
        named = ("--python-executable", "--no-site-packages")
        if any(word.startswith(named) for word in argv) or Path(argv[0]).name != "mypy":
            return None
        path = environment.get("PATH", os.defpath)
        mypy, python = shutil.which(argv[0], path=path), shutil.which("python", path=path)
        if mypy is None or python is None or Path(mypy).parent == Path(python).parent:
            return None
        return None if self._is_configured("python_executable") else python

    def _is_configured(self, key: str) -> bool:
        tables = [subtable(read_settings(self.directory / "pyproject.toml"), "tool", "mypy")]
        files = ("mypy.ini", ".mypy.ini", "setup.cfg")
        tables += [subtable(read_settings(self.directory / file), "mypy") for file in files]
        return any(key in table for table in tables)

    def read(self, ended: Ended, workplace: Workplace) -> Reading:
        """Return one finding for each error."""
        items = [item for item in json_lines(ended.stdout.text) if "message" in item]
        errors = [item for item in items if item.get("severity") == "error"]
        if ended.exit_code == 0 and not errors:
            return Reading(passed=True)
        if not errors:
            return _broken(self, "mypy", ended)
        return Reading(passed=False, findings=tuple(self._error(e, workplace) for e in errors))

    def _error(self, item: dict[str, Any], workplace: Workplace) -> Finding:
        # mypy counts columns from 0 in this report, as it does nowhere else.
        location = _location(item.get("file"), item.get("line"), item["column"] + 1, workplace)
        category = item.get("code") or "error"
        return self.finding(category, item["message"], location=location, sample=item.get("hint"))


def _location(
    file: str | None, line: int | None, column: int | None, workplace: Workplace
) -> Location:
    return Location(file=file and (relative(file, workplace) or file), line=line, column=column)


def _broken(reader: Reader, tool: str, ended: Ended) -> Reading:
    if ended.timed_out or (ended.exit_code or 0) < 0:
        return Reading(passed=False, findings=(reader.failure(ended),))
    message = f"{tool} failed to run (exit code {ended.exit_code})"
    finding = reader.finding("not_runnable", message, Fault.CHECK, sample=output_of(ended))
    return Reading(passed=False, findings=(finding,))


def _without_option(argv: Sequence[str], *names: str) -> list[str]:
    """Return `argv` without these options and their values, however they are written."""
    joined = tuple(name if len(name) == 2 else f"{name}=" for name in names)
    left: list[str] = []
    words = iter(argv)
    for word in words:
        if word == "--":
            return [*left, word, *words]
        if word in names:
            next(words, None)
        elif not word.startswith(joined):
            left.append(word)
    return left


def _with_options(argv: Sequence[str], *options: str) -> tuple[str, ...]:
    """Return `argv` with further options, where they are still read as options."""
    end = argv.index("--") if "--" in argv else len(argv)
    return (*argv[:end], *options, *argv[end:])
