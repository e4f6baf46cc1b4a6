"""Apply the patch of a run that has ended, by the same guarded path as `--apply`."""

from __future__ import annotations

from pathlib import Path

from runtrue.code.loop import request_of
from runtrue.flow import RunRow
from runtrue.home import Home
from runtrue.memory import DebugMemory
from runtrue.run_context import record_applied
from runtrue.sandbox import GitSandbox


def apply_patch(run: RunRow, home: Home, patch: Path) -> tuple[str, ...]:
    """Apply a run's patch to the user's files, and return those that it changes.

    All of them or none: raises SandboxError where they are not as the run found them.
    """
    request = request_of(run)
    # Not the run's own sandbox: a run that passed has cleared that away.
    sandbox = GitSandbox(
        home.sandbox(f"{run.id}-apply"), Path(request.project), kind=request.sandbox
    )
    try:
        sandbox.open()
        files = sandbox.apply(sandbox.patched(patch))
        project = Path(request.project)
        with DebugMemory.of(home, project) as memory:
            record_applied(memory, run.id, sandbox, project, files)
        return files
    finally:
        sandbox.remove()
