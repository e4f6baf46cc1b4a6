"""`runtrue fix` on a project, as a person would run it: what it reports, and what it costs."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.real.suite import cpu_of_children, environment_of
from benchmarks.user import PYTHON

#: What the tool may take for a project, in seconds.
LIMIT = 600.0
_PR_SET_CHILD_SUBREAPER = 36


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRun:
    """One `runtrue fix --apply --json`."""

    code: int
    report: dict[str, Any]
    seconds: float
    #: Processor time of the tool and all that it started.
    cpu: float

    @property
    def status(self) -> str:
        return str(self.report.get("status"))

    @property
    def found_no_check(self) -> bool:
        return not self.report.get("attempts") and "no check" in str(self.report.get("error"))

    @property
    def confidence(self) -> float | None:
        """What the tool says of the fix that it hands over; None where it says nothing."""
        own = self.report.get("confidence")
        if isinstance(own, int | float):
            return float(own)
        for part in reversed(list(self.parts())):
            for solution in (part.get("trace") or {}).get("solutions") or []:
                return float(solution["confidence"])
        return None

    def parts(self) -> Iterator[dict[str, Any]]:
        """Yield what each fixer did, the rejected ones included."""
        for entry in (*self.report.get("attempts", ()), *self.report.get("rejected", ())):
            yield from (entry.get("fix") or {}).get("parts") or ()

    def failing_at_first(self) -> set[str]:
        """Return the names of the tests that the tool saw fail before any fix."""
        return {
            str((finding.get("location") or {}).get("symbol"))
            for verdict in self._baseline()
            for finding in verdict.get("findings", ())
        }

    def saw_code_fail(self) -> bool:
        """Return whether a check that runs the code blamed it before any fix."""
        return any(
            finding.get("fault") == "candidate"
            for verdict in self._baseline()
            if verdict.get("check") not in ("ruff", "mypy")
            for finding in verdict.get("findings", ())
        )

    def _baseline(self) -> list[dict[str, Any]]:
        attempts = self.report.get("attempts") or [{}]
        return list(attempts[0].get("verdicts") or ())

    def why(self) -> str:
        """Return one line on how the run ended."""
        said = [str(part.get("failure") or part.get("description") or "") for part in self.parts()]
        reason = self.report.get("why") or self.report.get("error") or ""
        broken = [name for one in self.report.get("attempts", ()) for name in one["regressions"]]
        told = [f"broke {broken[0]}"] if broken else []
        return "; ".join(one for one in (f"{self.status}: {reason}", *said[-1:], *told) if one)


def run_tool(project: Path, *, check: str | None = None, agent: str | None = None) -> ToolRun:
    """Run the tool with default settings and without a model, in a home of its own.

    `agent` is the source of a Python program that takes the part of a coding agent. It is the only
    fixer then: what search would find first is another column.
    """
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        home = Path(name)
        command = [str(PYTHON.with_name("runtrue")), "fix", str(project), "--apply", "--json"]
        if check is not None:
            command += ["--check", check]
        if agent is not None:
            program = home / "bin" / "agent"
            program.parent.mkdir()
            program.write_text(f"#!{PYTHON}\n{agent}")
            program.chmod(0o755)
            command += ["--agent", f"{program} {{prompt_file}}"]
            (project / "runtrue.toml").write_text('[fixers]\norder = ["agent"]\n')
        # What was learned from one item must not help with the next.
        environment = {**environment_of(project), "HOME": str(home)}
        return _measured(command, project, environment)


def _measured(command: Sequence[str], folder: Path, environment: dict[str, str]) -> ToolRun:
    # Commands are isolated in processes that outlive whoever started them: as the one who inherits
    # these, we are told what they used.
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    begin, before = time.perf_counter(), cpu_of_children()
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        output, _ = process.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate()
    seconds = time.perf_counter() - begin
    _reap()
    try:
        report = json.loads(output)
    except ValueError:
        report = {"status": "no report", "error": f"exit code {process.returncode}, no report"}
    return ToolRun(
        code=process.returncode, report=report, seconds=seconds, cpu=cpu_of_children() - before
    )


def _reap() -> None:
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                time.sleep(0.05)
        except ChildProcessError:
            return
