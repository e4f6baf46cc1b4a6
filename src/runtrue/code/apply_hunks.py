"""Apply some changes of a run, after its checks have run again with only these."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from pathlib import Path

from runtrue.code.loop import request_of
from runtrue.code.request import CodeRequest
from runtrue.flow import RunRow
from runtrue.home import Home
from runtrue.loop import Outcome, Verdict, fail_if_tests_vanished
from runtrue.memory import DebugMemory
from runtrue.run_context import record_applied
from runtrue.sandbox import GitSandbox, Isolation, patch_of, split_patch

_MOST_NAMED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class AppliedHunks:
    """What was applied, and what the checks said of it; `refused` is why nothing was."""

    numbers: tuple[int, ...]
    files: tuple[str, ...] = ()
    refused: str = ""
    #: Tests, or checks without named tests, that fail without these changes and pass with them.
    gained: tuple[str, ...] = ()
    #: Those that still fail.
    failing: tuple[str, ...] = ()


def apply_hunks(run: RunRow, home: Home, diff: str, numbers: tuple[int, ...]) -> AppliedHunks:
    """Apply some changes of a run's patch to the user's files, if the run's checks allow it.

    They run on the files as they are and with these changes; nothing is applied where a test
    breaks, or where tests fail and none is gained. Raises SandboxError where the files are not as
    the run found them.
    """
    chosen = patch_of(split_patch(diff), numbers)
    request = request_of(run)
    sandbox = GitSandbox(
        home.sandbox(f"{run.id}-apply"),
        Path(request.project),
        kind=request.sandbox,
        pass_environment=request.pass_environment,
        judges=request.judges,
        isolation=Isolation(request.isolation),
    )
    try:
        base = sandbox.open()
        patch = home.sandbox(f"{run.id}-apply") / "chosen.patch"
        patch.write_bytes(chosen.encode("utf-8", "surrogateescape"))
        candidate = sandbox.patched(patch, is_part=True)
        sandbox.restore(base)
        before = asyncio.run(_verdicts(request, sandbox))
        sandbox.restore(candidate)
        after = asyncio.run(_verdicts(request, sandbox))
        proven = _compared(before, after, tuple(sorted(set(numbers))))
        if proven.refused:
            return proven
        sandbox.restore(candidate)
        files = sandbox.apply(candidate)
        project = Path(request.project)
        with DebugMemory.of(home, project) as memory:
            record_applied(memory, run.id, sandbox, project, files)
        return replace(proven, files=files)
    finally:
        sandbox.remove()


async def _verdicts(request: CodeRequest, sandbox: GitSandbox) -> list[Verdict]:
    return [await check.run(sandbox.workplace()) for check in request.checks]


def _compared(
    before: list[Verdict], after: list[Verdict], numbers: tuple[int, ...]
) -> AppliedHunks:
    """Return what is gained and what still fails, or why that is not enough."""
    gained: list[str] = []
    failing: list[str] = []
    broken: list[str] = []
    for old, verdict in zip(before, after, strict=True):
        new = fail_if_tests_vanished(old, verdict) if old.cases else verdict
        cases = [case for case in new.cases if case != new.check] or [new.check]
        for case in cases:
            was, now = _passes(old, case), _passes(new, case)
            gained += [case] if now and was is False else []
            broken += [case] if was and now is False and new.blocks else []
            failing += [case] if now is False and new.blocks else []
        broken += [f"{case} (not run)" for case in new.vanished if new.blocks]
    refused = ""
    if broken:
        refused = f"not applied: these changes alone break {_some(broken)}"
    elif failing and not gained:
        refused = f"not applied: these changes alone fix nothing; still failing: {_some(failing)}"
    return AppliedHunks(
        numbers=numbers, refused=refused, gained=tuple(gained), failing=tuple(failing)
    )


def _passes(verdict: Verdict, case: str) -> bool | None:
    """Return whether a test passes; of a check that names none, whether the check does."""
    if case == verdict.check:
        return verdict.passed
    outcome = verdict.cases.get(case)
    if outcome in (None, Outcome.SKIPPED):
        return None
    return outcome is Outcome.PASSED


def _some(names: list[str]) -> str:
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
