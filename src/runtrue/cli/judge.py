"""Judging a change: what it is, the run that judges it, and the run that says it was not judged."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from runtrue.checks import Language, language_of, may_define_checks, own_checks
from runtrue.cli.console import echo
from runtrue.cli.progress import Display, open_display
from runtrue.cli.project import must_be_in_repository
from runtrue.cli.runner import go_on
from runtrue.cli.trust import confirm_trust
from runtrue.cli.verdict import ignoring_closed_pipes
from runtrue.code import (
    CodeReport,
    CodeRequest,
    CodeState,
    CodeType,
    Kind,
    judged,
    may_matter,
    plan_gate,
    question_of,
    report_of,
    start_run,
)
from runtrue.config import Config, load_config
from runtrue.errors import ConfigError, RuntrueError, UsageError
from runtrue.flow import Journal, Owner, RunState
from runtrue.home import Home
from runtrue.receipt import tree_now
from runtrue.sandbox import (
    GitSandbox,
    ask_staged,
    can_be_worktree,
    changes_since,
    content_at,
    export_tree,
    fork_point,
    head_of,
    is_judge,
    is_test,
    resolve,
)

_FEW = 3
#: The latest gates that passed, among which a receipt is looked for.
_LOOKED_AT = 20
#: The tables of the configuration that a gate reads and that may need a person's agreement.
_OF_GATES = ("isolation", "sandbox", "security")
_CONFIGURATION = ("runtrue.toml", "pyproject.toml")


@dataclass(frozen=True, slots=True, kw_only=True)
class GateOptions:
    """The options of `runtrue gate`."""

    base: str | None = None
    code_type: CodeType | None = None
    checks: tuple[str, ...] = ()
    skip: str | None = None
    #: Judge what is staged, and not the files as they are.
    staged: bool = False
    #: Judge what has passed before, too.
    again: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedChange:
    """The change that is judged: the changed lines by file, as seen from the top."""

    top: Path
    #: The project, as seen from the top.
    prefix: PurePosixPath
    against: str
    since: str
    files: dict[str, tuple[int, ...]]
    #: The tree that is judged, where that is what is staged and not the files as they are.
    staged: str | None = None

    def has(self, file: str) -> bool:
        """Return whether a file is still there after the change."""
        if self.staged is None:
            return (self.top / file).exists()
        return content_at(self.top, self.staged, file) is not None

    def before(self, file: str) -> bytes | None:
        """Return the content of a file before the change, if it was there."""
        return content_at(self.top, self.against, file)


class Obstructed(UsageError):
    """The change itself keeps the gate from judging it."""


def change_of(project: Path, asked: GateOptions, *, in_commit: bool = False) -> JudgedChange:
    """Return what differs in a project; what is staged where that is asked for, as git's hook does.

    `in_commit`: git's hook asks, so a commit of nothing new amends the last one.
    """
    top = must_be_in_repository(project)
    prefix = PurePosixPath(project.relative_to(top.resolve()).as_posix())
    since = asked.base or "HEAD"
    against = fork_point(top, asked.base) if asked.base else head_of(top)
    staged = _staged_tree(top, prefix) if asked.staged or in_commit else None
    files = judged(changes_since(top, against, staged), prefix)
    if in_commit and not files and not asked.base:
        since, against = "HEAD^", head_of(top, "HEAD^")
        files = judged(changes_since(top, against, staged), prefix)
    return JudgedChange(
        top=top, prefix=prefix, against=against, since=since, files=files, staged=staged
    )


def judging_config(project: Path, change: JudgedChange, asked: GateOptions) -> Config:
    """The configuration to judge by: the one before the change, which must not set its own rules.

    Before the first commit, and where that one is broken, there is but the project's.
    """
    touched = [
        file for file in _configuration(change) if file in change.files or _is_other(change, file)
    ]
    try:
        with ignoring_closed_pipes():
            confirm_trust(project, sections=_OF_GATES)
        own = load_config(project) if change.staged is None else _config_at(change, change.staged)
    except ConfigError as error:
        raise _obstructed(error, touched) from error
    try:
        resolve(change.top, change.against)
    except UsageError:
        return own
    if not touched:
        return own if asked.checks else _with_former_checks(project, change, own)
    try:
        former = _config_at(change, change.against)
    except ConfigError:
        return own
    if former != own:
        with ignoring_closed_pipes():
            echo(
                f"runtrue gate: {', '.join(touched)} is part of the change, so it is judged "
                f"by the configuration of {change.since}",
                err=True,
            )
    return former if asked.checks else _with_former_checks(project, change, former)


def _with_former_checks(project: Path, change: JudgedChange, config: Config) -> Config:
    """Return the configuration with the checks as they were found before the change, if any were.

    A change to the files that say how tests are run must not weaken the tests that judge it, and
    one that deletes tests must not take away the check that misses them. What only it brings is run
    as well.
    """
    may_alter = any(
        may_define_checks(file) or (is_test(file) and not change.has(file))
        for file in change.files
        if may_matter(file)
    )
    if config.checks or not may_alter:
        return config
    now = own_checks(project, config)
    with TemporaryDirectory() as directory:
        export_tree(change.top, change.against, Path(directory))
        place = Path(directory, change.prefix)
        found = own_checks(place, config) if place.is_dir() else {}
    former = {n: check for n, check in found.items() if (project / check.directory).is_dir()}
    if all(now.get(name) == check for name, check in former.items()):
        return config
    others = [name for name, check in former.items() if now.get(name) != check]
    with ignoring_closed_pipes():
        echo(
            f"runtrue gate: the change alters how tests run, so {_few(others)} is run as "
            f"in {change.since}; name a command with --check to run another",
            err=True,
        )
    return replace(config, checks={**now, **former})


def _config_at(change: JudgedChange, revision: str) -> Config:
    """Return the project's configuration at a revision."""
    with TemporaryDirectory() as directory:
        for file in _configuration(change):
            if (content := content_at(change.top, revision, file)) is not None:
                (Path(directory) / file).parent.mkdir(parents=True, exist_ok=True)
                (Path(directory) / file).write_bytes(content)
        (Path(directory) / change.prefix).mkdir(parents=True, exist_ok=True)
        project = Path(directory) / change.prefix
        return load_config(project, top=Path(directory), origin=change.top)


def _configuration(change: JudgedChange) -> list[str]:
    """Return the files that may configure the project: its own, and those of directories above."""
    places = dict.fromkeys((change.prefix, *change.prefix.parents))
    return [(place / name).as_posix() for place in places for name in _CONFIGURATION]


def _is_other(change: JudgedChange, file: str) -> bool:
    """True if a file outside of the project is not as it was before."""
    path = change.top / file
    is_outside = not PurePosixPath(file).is_relative_to(change.prefix)
    return is_outside and change.before(file) != (path.read_bytes() if path.is_file() else None)


def plan(
    project: Path, config: Config, asked: GateOptions, change: JudgedChange
) -> CodeRequest | str:
    """The request, or why there is nothing to judge."""
    if asked.skip is not None and not config.gate.allow_skip:
        raise UsageError(
            "--skip is not allowed here; a maintainer can allow it with "
            "[gate] allow_skip = true in runtrue.toml"
        )
    if asked.skip is not None and not asked.skip.strip():
        raise UsageError("--skip needs a reason: say why this change need not be checked")
    if not change.files and asked.staged and not asked.base:
        return f"nothing is staged in {project}"
    if not change.files:
        hint = "" if asked.base else "; to check commits, pass --base REV"
        return f"nothing changed since {change.since} in {project}{hint}"
    if not any(map(may_matter, change.files)):
        return (
            f"only documents changed since {change.since}, and no test can run them: "
            f"{_few(list(change.files))}"
        )
    try:
        request = plan_gate(
            project,
            config,
            changes=change.files,
            prefix=change.prefix,
            against=change.against,
            staged=change.staged,
            code_type=asked.code_type,
            checks=asked.checks,
        )
    except UsageError as error:
        touched = [f for f in change.files if is_judge(f) and change.before(f) is not None]
        raise _obstructed(error, touched) from error
    gone = [file for file in change.files if not change.has(file)]
    tests = list(filter(is_test, gone))
    if tests == gone and tests and not any(check.cover for check in request.checks):
        raise Obstructed(
            f"no check is left that runs tests, since this change deletes {_few(tests)}; "
            "bring tests back, or name a check that runs some"
        )
    return request


def _obstructed(error: UsageError, touched: list[str]) -> UsageError:
    """The error; where the change has brought it about, as what it is."""
    if not touched:
        return error
    return Obstructed(f"{error}; this change has touched {_few(touched)}: fix that")


def _few(names: list[str]) -> str:
    return ", ".join(names[:_FEW]) + (", …" if len(names) > _FEW else "")


def _staged_tree(top: Path, prefix: PurePosixPath) -> str | None:
    """Return the tree of what is staged; None where the files must be as they are staged.

    They must where no working tree can be made of them: with submodules, or a sparse checkout.
    """
    if can_be_worktree(top):
        return ask_staged(top, "write-tree").strip()
    _refuse_unstaged(top, prefix)
    return None


def _refuse_unstaged(top: Path, prefix: PurePosixPath) -> None:
    """Refuse to judge files that are not as the commit has them: they prove something else."""
    edited = _names(ask_staged(top, "diff", "--name-only", "-z"))
    unknown = _names(ask_staged(top, "ls-files", "--others", "--exclude-standard", "-z"))
    # Of what git does not know, only code can have a part in what tests prove.
    code = [f for f in unknown if is_test(f) or language_of(f) is not Language.OTHER]
    apart = list(filter(may_matter, judged(dict.fromkeys((*edited, *code), ()), prefix)))
    if apart:
        raise UsageError(
            "with submodules or a sparse checkout, what is staged is judged only where the files "
            f"are the same, and these differ: {_few(apart)}; `git add` them, or put them aside "
            "with `git stash --keep-index --include-untracked`"
        )


def _names(output: str) -> list[str]:
    return [name for name in output.split("\0") if name]


def judge(
    journal: Journal,
    home: Home,
    request: CodeRequest,
    *,
    silent: bool = False,
    again: bool = False,
) -> CodeReport:
    """Run the gate on a change and return its report.

    A gate that does not reach its end is undone: it starts again, and is never resumed. `again`
    judges what has passed before and was not changed since, too.
    """
    _undo_killed(journal, home, request)
    if not again and (report := _passed_before(journal, home, request)):
        return report
    run_id = start_run(journal, request)
    try:
        with _display(silent=silent) as display:
            run = go_on(journal, home, journal.find(run_id), display)
    except BaseException:
        _undo(journal, home, run_id)
        raise
    return run.result_as(CodeReport)


def _passed_before(journal: Journal, home: Home, request: CodeRequest) -> CodeReport | None:
    """Return the report of a gate that was asked the same about the same tree, and passed it."""
    question = question_of(request)
    runs = journal.runs(
        state=RunState.PASSED, kind=Kind.GATE, title=request.project, limit=_LOOKED_AT
    )
    found = {}
    for run in reversed(runs):
        report = run.result_as(CodeReport)
        if report.receipt is not None and report.receipt.question == question:
            found[report.receipt.tree] = report
    if not found:
        return None
    tree, _ = tree_now(home, Path(request.project), kind=request.sandbox, staged=request.staged)
    return replace(found[tree], reused=True) if tree in found else None


def skip_judging(journal: Journal, request: CodeRequest, reason: str) -> CodeReport:
    """Record that a change is skipped, not checked, and return the report."""
    run_id = start_run(journal, request)
    report = replace(
        report_of(CodeState(run_id=run_id, request=request), RunState.ABORTED),
        why="skipped",
        skipped=reason,
        ready=True,
        # It tells nothing about how well anything was done.
        metrics=None,
    )
    journal.finish(journal.claim(run_id, Owner.this_process()), RunState.ABORTED, report)
    return report


def _display(*, silent: bool) -> AbstractContextManager[Display]:
    """Progress is for people: what a hook says on stderr is read by a program, or by a model."""
    if sys.stderr and sys.stderr.isatty() and not silent:
        return open_display(plain=False)
    return nullcontext(Display())


def _undo_killed(journal: Journal, home: Home, request: CodeRequest) -> None:
    """Undo gates of this project that were killed before they could do so themselves."""
    for run in journal.runs(state=RunState.RUNNING, kind=Kind.GATE, title=request.project):
        # One without a fence is only about to start.
        if run.fence and not run.is_driven:
            _undo(journal, home, run.id)


def _undo(journal: Journal, home: Home, run_id: str) -> None:
    sandbox = GitSandbox(home.sandbox(run_id), Path(journal.find(run_id).title))
    sandbox.take_over()
    sandbox.remove()
    with suppress(RuntrueError):  # it may be over
        journal.cancel(run_id)
