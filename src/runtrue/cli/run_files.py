"""The files of runs on a shared database: sent from here, and brought here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from runtrue.cli.console import echo
from runtrue.cli.kinds import kind_of
from runtrue.errors import SandboxError, UsageError
from runtrue.flow import Journal, RunRow, Segment, unpacked
from runtrue.home import Home

T = TypeVar("T")
#: How many files that were not sent a line names.
_NAMED = 3


def prepare_here(
    run: RunRow, home: Home, secrets: Mapping[str, Any], *, force: bool, is_worker: bool = False
) -> Segment:
    """Return the work of a claimed run on this machine, with what it needs of others.

    Only a worker does with a copy of the project.
    """
    kind, location = kind_of(run), home.journal

    def prepare(run: RunRow) -> Segment:
        return kind.prepare(run, home, secrets, force=force)

    if is_worker:
        run = _with_directory(run, home)
    if not isinstance(location, str) or not has_project(run):
        return prepare(run)
    from runtrue.travel import travelling

    if not is_worker and not Path(run.input["project"]).is_dir():
        raise SandboxError(
            f"{run.input['project']} is not on this machine; continue run {run.id} where it is"
        )
    return travelling(
        run,
        home,
        location,
        prepare,
        lambda run: kind.sandbox(run, home),
        may_check_out=is_worker,
    )


def _with_directory(run: RunRow, home: Home) -> RunRow:
    """Return a run of a workflow with an empty directory to run in, if its own is not here."""
    directory = run.input.get("directory")
    if not isinstance(directory, str) or Path(directory).is_dir():
        return run
    from runtrue.atomic_file import private_directory

    place = _directory_of(run, home)
    private_directory(place)
    return replace(run, input={**run.input, "directory": str(place)})


def _directory_of(run: RunRow, home: Home) -> Path:
    return home.path / "directories" / run.id


def has_project(run: RunRow) -> bool:
    """True for a run that changes a project."""
    return isinstance(run.input.get("project"), str)


def send_project(journal: Journal, home: Home, run: RunRow) -> None:
    """Send a run's project, as it is now, to the shared database, unless that was done before."""
    from runtrue.travel import files_of_run

    kind = kind_of(run)
    sandbox = kind.sandbox(run, home)
    if sandbox is None:
        raise UsageError(
            f"run {run.id} works in your own files (sandbox: none), which no worker has: leave "
            "--queue away, or use a sandbox"
        )
    with files_of_run(str(journal.location), home, run.id) as files:
        if files.sent is not None:
            return
        if not Path(run.input["project"]).is_dir():
            raise UsageError(
                f"{run.input['project']} is not on this machine, and it was never sent: put run "
                f"{run.id} on a queue where it is"
            )
        looking = kind.sandbox(replace(run, id=f"{run.id}-send"), home)
        assert looking is not None  # noqa: S101 - as above
        sent = files.send_project(looking)
        for step in journal.load(run.id):
            files.send(unpacked(step.result or b""), sandbox, None)
    if sent.not_sent:
        from runtrue.cli.show import counted

        named = ", ".join(sent.not_sent[:_NAMED])
        more = ", …" if len(sent.not_sent) > _NAMED else ""
        what = counted(len(sent.not_sent), "ignored path")
        echo(f"not sent, since git ignores it: {what} ({named}{more})", err=True)


def bring_files(journal: Journal, home: Home, run: RunRow) -> None:
    """Have the patch, the receipt and the reports of a run in the home here."""
    if isinstance(journal.location, str) and has_project(run):
        from runtrue.travel import files_of_run

        with files_of_run(journal.location, home, run.id) as files:
            files.bring_files()


def send_notes(journal: Journal, home: Home, run: RunRow) -> None:
    """Send what a person has said to a plan that is at work elsewhere."""
    if isinstance(journal.location, str):
        from runtrue.travel import files_of_run

        with files_of_run(journal.location, home, run.id) as files:
            if files.sent is not None:
                files.send_notes()


def bring_sandbox(journal: Journal, home: Home, run: RunRow, candidate: str | None) -> None:
    """Have the sandbox of a run that others have driven here, where its project is here."""
    project = Path(run.input["project"])
    if not isinstance(journal.location, str) or run.is_driven or run.is_over:
        return
    if candidate is None or not project.is_dir():
        return
    from runtrue.travel import files_of_run

    sandbox = kind_of(run).sandbox(run, home)
    with files_of_run(journal.location, home, run.id) as files:
        if files.sent is None or sandbox is None:
            return
        files.bring_files()
        if files.bring_sandbox(sandbox, project):
            sandbox.restore(candidate)


def forget_files(home: Home, run: RunRow) -> None:
    """Drop what nobody needs any more of a run that is over."""
    if run.is_over and (place := _directory_of(run, home)).exists():
        from runtrue.sandbox import remove

        remove(place)
    location = home.journal
    if isinstance(location, str) and run.is_over and has_project(run):
        from runtrue.travel import files_of_run

        with files_of_run(location, home, run.id) as files:
            if files.sent is not None:
                files.forget(kind_of(run).sandbox(run, home))


def as_seen_here(journal: Journal, home: Home, run: RunRow, report: T) -> T:
    """Return a report with the paths of this machine in place of those of a worker."""
    if not isinstance(journal.location, str) or not has_project(run):
        return report
    from runtrue.travel import files_of_run

    with files_of_run(journal.location, home, run.id) as files:
        return files.as_seen_here(report)
