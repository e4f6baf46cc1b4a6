"""`runtrue runs apply --hunk`: some changes of a diff, proven again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec

from runtrue.cli.console import echo
from runtrue.cli.runner import report_of_run
from runtrue.cli.self_runners import WAITS, agrees_to
from runtrue.cli.show import counted, print_json
from runtrue.errors import UsageError
from runtrue.flow import Journal, RunRow
from runtrue.home import Home


def apply_chosen(
    journal: Journal,
    home: Home,
    run: RunRow,
    hunks: tuple[int, ...],
    allow_self_running: bool,
    *,
    as_json: bool,
) -> int:
    """Prove and apply some changes of a run that has ended, and return the exit code."""
    from runtrue.code import CodeReport, apply_hunks
    from runtrue.sandbox import patch_of, split_patch

    report = report_of_run(journal, home, run)
    if not isinstance(report, CodeReport):
        raise UsageError(f"run {run.id} is a {run.kind}: --hunk is for runs of fix and code")
    if not run.is_over:
        raise UsageError(
            f"run {run.id} ({run.state}) has not ended, and --hunk is for runs that have; "
            f"continue it with `runtrue runs resume {run.id}`"
        )
    if report.applied:
        raise UsageError(f"the diff of run {run.id} is already applied")
    files = split_patch(report.diff)
    patch_of(files, hunks)  # says which there are, before anything is asked
    names = {hunk.file for file in files for hunk in file.hunks if hunk.number in hunks}
    by_themselves = [one for one in report.self_running if one.file in names]
    if not (allow_self_running or agrees_to(by_themselves, as_json=as_json)):
        return WAITS
    # Its bytes, which the report has only as text.
    patch = patch_here(home, run, report.diff).read_text("utf-8", "surrogateescape")
    applied = apply_hunks(run, home, patch, hunks)
    if not applied.refused:
        report = replace(report, applied=True, applied_hunks=applied.numbers)
        if run.result is not None:
            journal.amend(run.id, report)
    if as_json:
        print_json({**msgspec.to_builtins(report), "proof": msgspec.to_builtins(applied)})
    elif applied.refused:
        echo(applied.refused)
    else:
        echo(f"applied to {report.project}: {', '.join(applied.files)}")
        fixed = counted(len(applied.gained), "test")
        echo(f"  fixed: {fixed}; still failing: {len(applied.failing)}")
    return 1 if applied.refused or applied.failing else 0


def patch_here(home: Home, run: RunRow, diff: str) -> Path:
    """Return the file of a run's patch; that of a worker is on the worker's machine."""
    from runtrue.atomic_file import private_directory, write_atomically
    from runtrue.redaction import MARK

    patch = home.patch(run.id)
    if not patch.exists() and diff and MARK not in diff:
        private_directory(patch.parent)
        write_atomically(patch, diff.encode("utf-8", "surrogateescape"))
    return patch
