"""Apply the patch of a run that has ended, by the same guarded path as `--apply`."""

from __future__ import annotations

from pathlib import Path

from runtrue.code.loop import request_of
from runtrue.flow import RunRow
from runtrue.home import Home
from runtrue.memory import DebugMemory, Project
from runtrue.run_context import digests_before
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
        with DebugMemory(home.path) as memory:
            project = Project.at(Path(request.project))
            memory.record_applied(run.id, project, digests_before(sandbox, files))
        return files
    finally:
        sandbox.remove()
