"""Judging a change: what it is, the run that judges it, and the run that says it was not judged."""

from __future__ import annotations

import asyncio
import sys
from contextlib import AbstractContextManager, closing, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from runtrue.cli.drive import until_it_stops
from runtrue.cli.kinds import kind_of
from runtrue.cli.progress import Display, open_display
from runtrue.code import (
    CodeRequest,
    CodeType,
    Kind,
    judged,
    may_matter,
    plan_gate,
    report_of,
    start_run,
)
from runtrue.config import Config
from runtrue.errors import RuntrueError, UsageError
from runtrue.flow import Journal, LocalDispatcher, Owner, RunState
from runtrue.home import Home
from runtrue.sandbox import GitSandbox, changes_since, fork_point, head_of, repository_of

_FEW = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a gate is asked to do, on its command line."""

    base: str | None = None
    code_type: CodeType | None = None
    checks: tuple[str, ...] = ()
    skip: str | None = None


def plan(project: Path, config: Config, asked: Asked) -> CodeRequest | str:
    """The request, or why there is nothing to judge."""
    if asked.skip is not None and not config.gate.allow_skip:
        raise UsageError(
            "--skip is not allowed here; whoever answers for the project can allow it with "
            "[gate] allow_skip = true in runtrue.toml"
        )
    if asked.skip is not None and not asked.skip.strip():
        raise UsageError("--skip needs a reason; say why this change is not to be judged")
    top = repository_of(project)
    if top is None:
        raise UsageError(
            f"{project} is in no git repository, so nothing tells what was changed; "
            "make one with `git init`"
        )
    against = fork_point(top, asked.base) if asked.base else head_of(top)
    prefix = PurePosixPath(project.relative_to(top.resolve()).as_posix())
    changes = judged(changes_since(top, against), prefix)
    since = asked.base or "HEAD"
    if not changes:
        hint = "" if asked.base else "; to judge commits, say where they begin with --base REV"
        return f"nothing differs from {since} in {project}{hint}"
    if not any(map(may_matter, changes)):
        more = ", …" if len(changes) > _FEW else ""
        few = ", ".join(list(changes)[:_FEW]) + more
        return f"only documents differ from {since}, which no test could run: {few}"
    return plan_gate(
        project,
        config,
        changes=changes,
        against=against,
        code_type=asked.code_type,
        checks=asked.checks,
    )


def judge(
    journal: Journal, home: Home, request: CodeRequest, *, silent: bool = False
) -> dict[str, Any]:
    """The report on a change.

    A gate that does not come to its end leaves nothing to go on with: it is undone, and run anew.
    """
    _undo_killed(journal, home, request)
    run_id = start_run(journal, request)
    kind = kind_of(journal.find(run_id))
    try:
        with _display(silent=silent) as display, closing(kind.narrate(display)) as narrator:
            dispatcher = LocalDispatcher(
                journal, lambda run: kind.prepare(run, home, {}, force=False), [narrator]
            )
            run = asyncio.run(until_it_stops(dispatcher, run_id, force=False))
    except asyncio.CancelledError:
        _undo(journal, home, run_id)
        raise KeyboardInterrupt from None
    except BaseException:
        _undo(journal, home, run_id)
        raise
    return run.result or {}


def skip_judging(journal: Journal, request: CodeRequest, reason: str) -> dict[str, Any]:
    """The report on a change that is let through unjudged, recorded with its reason."""
    run_id = start_run(journal, request)
    report = report_of({"run_id": run_id, "request": request}, RunState.ABORTED) | {
        "why": "skipped",
        "skipped": reason,
        "ready": True,
        # It tells nothing about how well anything was done.
        "metrics": None,
    }
    journal.finish(journal.claim(run_id, Owner.this_process()), RunState.ABORTED, report)
    return report


class _Silent:
    def line(self, text: str, style: str = "") -> None:
        pass

    def doing(self, text: str) -> None:
        pass


def _display(*, silent: bool) -> AbstractContextManager[Display]:
    """Progress is for people: what a hook says on stderr is read by a program, or by a model."""
    if sys.stderr.isatty() and not silent:
        return open_display(plain=False)
    return nullcontext(_Silent())


def _undo_killed(journal: Journal, home: Home, request: CodeRequest) -> None:
    """Undo gates of this project that were killed before they could do so themselves."""
    for run in journal.runs(state=RunState.RUNNING, kind=Kind.GATE, title=request.project):
        # One without a fence is only about to be driven.
        if run.fence and not run.is_driven:
            _undo(journal, home, run.id)


def _undo(journal: Journal, home: Home, run_id: str) -> None:
    sandbox = GitSandbox(home.sandbox(run_id), Path(journal.find(run_id).title))
    sandbox.take_over()
    sandbox.remove()
    with suppress(RuntrueError):  # it may be over
        journal.cancel(run_id)
