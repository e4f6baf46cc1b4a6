"""A project's own tests, run bare: what fails, and what the run costs."""

from __future__ import annotations

import os
import re
import resource
import shlex
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from benchmarks.real.manifest import Item

#: Names the failing tests, one on each line, and leaves nothing in the project.
PYTEST_REPORT = ("-rfE", "--tb=no", "-p", "no:cacheprovider")
_FAILED = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteRun:
    """One run of the tests. The names of failing tests are known for pytest only."""

    code: int
    failing: tuple[str, ...]
    seconds: float
    #: Processor time of the command and all that it waited for.
    cpu: float
    output: str

    @property
    def passed(self) -> bool:
        return self.code == 0


def run_suite(
    item: Item,
    project: Path,
    *extra: str,
    only: Sequence[str] = (),
    limit: float = 300.0,
    variables: Mapping[str, str] = MappingProxyType({}),
) -> SuiteRun:
    """Run the item's tests in a project, or `only` these tests of pytest."""
    command = shlex.split(item.command)
    if item.language == "python":
        command += [*PYTEST_REPORT, *extra, *only]
    begin, before = time.perf_counter(), cpu_of_children()
    code, output = _run(command, project, limit, variables)
    failing = tuple(dict.fromkeys(_FAILED.findall(output))) if item.language == "python" else ()
    return SuiteRun(
        code=code,
        failing=failing,
        seconds=time.perf_counter() - begin,
        cpu=cpu_of_children() - before,
        output=output,
    )


def cpu_of_children() -> float:
    """Return the processor time of all processes that were started here and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def environment_of(project: Path) -> dict[str, str]:
    """Return the variables of a shell in which the project's environment is active."""
    kept = {
        k: v
        for k, v in os.environ.items()
        if not k.startswith(("PYTHON", "RUNTRUE", "npm_")) and k != "VIRTUAL_ENV"
    }
    bins = (project / ".venv" / "bin", project / "node_modules" / ".bin")
    path = [str(one) for one in bins if one.is_dir()]
    return {**kept, "PATH": os.pathsep.join([*path, kept.get("PATH", os.defpath)])}


def _run(
    command: list[str], project: Path, limit: float, variables: Mapping[str, str]
) -> tuple[int, str]:
    # Compiled files of one candidate must not be taken for those of the next.
    clean = {**environment_of(project), "PYTHONDONTWRITEBYTECODE": "1", "CI": "1"}
    environment = {**clean, **variables}
    try:
        process = subprocess.Popen(
            command,
            cwd=project,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
    except OSError as error:
        return 127, str(error)
    try:
        output, _ = process.communicate(timeout=limit)
        return process.returncode, output
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        return 124, output
