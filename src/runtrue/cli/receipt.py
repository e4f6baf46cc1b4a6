"""`runtrue receipt`: the evidence of what passed, and whether it still holds."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

import click

from runtrue.cli import options
from runtrue.cli.console import echo
from runtrue.cli.judge import GateOptions, change_of, judge, judging_config, plan
from runtrue.cli.lazy_group import CommandGroup
from runtrue.cli.project import find_project
from runtrue.cli.runner import go_on
from runtrue.cli.show import ago, counted, print_json
from runtrue.code import CodeReport, Kind, plan_fix, request_of, start_run
from runtrue.config import load_config
from runtrue.errors import HostError, UsageError
from runtrue.flow import Journal, RunRow, RunState
from runtrue.foreign_text import visible_name
from runtrue.home import Home
from runtrue.receipt import Receipt, read_receipt, tree_now

#: The runs of each kind among which the latest receipt of a project is looked for.
_LOOKED_AT = 50
#: What signatures of receipts are for, so that no other signature is taken for one.
_NAMESPACE = "runtrue-receipt"
_FEW = 5


class ReceiptState(StrEnum):
    """What a verification comes to."""

    HOLDS = "holds"
    #: The tree is another by now.
    STALE = "stale"
    #: Neither this journal nor a signature says that it is real.
    UNCONFIRMED = "unconfirmed"
    #: It is not what was recorded or signed, or its checks do not pass.
    REFUTED = "refuted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """The document of `runtrue receipt verify`."""

    status: str
    standing: ReceiptState
    why: str
    run_id: str
    #: `journal` or `signature`: what says that the receipt is real.
    origin: str | None
    tree_now: str
    #: What is at the top of the tree and differs.
    changed: tuple[str, ...]
    #: The run that proved it again.
    rerun: str | None
    receipt: Receipt


_which = click.argument("which", metavar="[RUN|FILE]", required=False)


@click.group(cls=CommandGroup)
def receipt() -> None:
    """Show, verify and sign receipts: the evidence that a tree passed.

    Every run of fix, code and gate that passes writes one: hashes of the tree and the diff, the
    commands with their exit codes and reports, versions, isolation, confidence, and what was not
    run. Name it by its run's id, or by a file; without a name, the latest receipt of this project
    is used.
    """


@receipt.command()
@_which
@options.as_json
def show(which: str | None, as_json: bool) -> int:
    """Show a receipt.

    \b
    Examples:
      runtrue receipt show
      runtrue receipt show --json > receipt.json      an in-toto statement
    """
    found = _find(which, Path.cwd()).receipt
    if as_json:
        print_json(found.statement())
    else:
        for line in _lines(found):
            echo(line)
    return 0


@receipt.command()
@_which
@click.option("--rerun", is_flag=True, help="Run the checks again on the current tree.")
@options.checks
@click.option(
    "--signers",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Who may have signed it: a file in the format of ssh-keygen's allowed signers. Use one "
    "of your own: a file of the project could name the author of the change.",
)
@options.as_json
def verify(
    which: str | None, rerun: bool, checks: tuple[str, ...], signers: Path | None, as_json: bool
) -> int:
    """Check that a receipt is valid for the project as it is now.

    It is stale as soon as a file has changed. It must be known to this journal or be signed by
    someone in --signers; --rerun proves it again and needs neither.

    \b
    Exit codes: 0 it holds, 1 it does not, 2 bad input.

    \b
    Examples:
      runtrue receipt verify
      runtrue receipt verify receipt.json --rerun
      runtrue receipt verify receipt.json --signers ~/.ssh/allowed_signers
    """
    if checks and not rerun:
        raise UsageError("--check names what --rerun runs; give both")
    project = find_project(Path())
    found = _find(which, project)
    result = _verify(found, project, rerun=rerun, checks=checks, signers=signers)
    if as_json:
        print_json(result)
    else:
        echo(f"receipt of {found.receipt.kind} {result.run_id}: {result.standing}: {result.why}")
        for line in list(_lines(result.receipt))[1:]:
            echo(f"  {line}")
    return 0 if result.standing is ReceiptState.HOLDS else 1


@receipt.command()
@_which
@click.option(
    "--key",
    required=True,
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="An SSH key of yours, or its public half if an agent has it.",
)
@options.as_json
def sign(which: str | None, key: Path, as_json: bool) -> int:
    """Sign a receipt with an SSH key; the signature is left in a file beside it.

    \b
    Examples:
      runtrue receipt sign --key ~/.ssh/id_ed25519
    """
    file = _find(which, Path.cwd()).file
    signature = file.with_name(f"{file.name}.sig")
    signature.unlink(missing_ok=True)
    done = _ssh_keygen("-Y", "sign", "-f", str(key), "-n", _NAMESPACE, str(file))
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise HostError(f"{file} is not signed: ssh-keygen says: {said[-1] if said else ''}")
    if as_json:
        print_json({"status": "passed", "file": str(file), "signature": str(signature)})
    else:
        echo(f"signed {file}: {signature}")
    return 0


# -- which one ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Found:
    receipt: Receipt
    file: Path
    #: What the journal has of the run that the receipt names.
    recorded: Receipt | None


def _find(which: str | None, project: Path) -> _Found:
    home = Home.find(project)
    if which is not None and (file := Path(which)).is_file():
        found = read_receipt(file)
        return _Found(found, file, _recorded(home, found.run_id))
    if not home.has_journal:
        raise UsageError(f"no run in {home.path}, so there is no receipt")
    with Journal(home.journal) as journal:
        run = journal.find(which) if which else _latest(journal, project.resolve())
        report = run.result_as(CodeReport) if run and run.kind in list(Kind) else None
    if run is None:
        raise UsageError(f"no run has passed in {project}; run `runtrue gate` or `runtrue fix`")
    if report is None or report.receipt is None:
        raise UsageError(f"run {run.id} has left no receipt: it is {run.kind} and {run.state}")
    file = home.receipt(run.id)
    if not file.exists():
        report.receipt.save(home)
    return _Found(report.receipt, file, report.receipt)


def _latest(journal: Journal, project: Path) -> RunRow | None:
    """Return the latest run of a project that has passed."""
    runs = [
        run
        for kind in Kind
        for run in journal.runs(state=RunState.PASSED, kind=kind, limit=_LOOKED_AT)
        if Path(request_of(run).project) == project
    ]
    return max(runs, key=lambda run: run.created_at, default=None)


def _recorded(home: Home, run_id: str) -> Receipt | None:
    if not home.has_journal:
        return None
    with Journal(home.journal) as journal:
        if not journal.knows(run_id):
            return None
        run = journal.find(run_id)
        return run.result_as(CodeReport).receipt if run.state is RunState.PASSED else None


# -- whether it holds ---------------------------------------------------------------------------


def _verify(
    found: _Found, project: Path, *, rerun: bool, checks: Sequence[str], signers: Path | None
) -> Verification:
    home, proven = Home.find(project), found.receipt
    tree, entries = tree_now(home, project)
    names = sorted({*entries, *proven.entries})
    changed = tuple(name for name in names if entries.get(name) != proven.entries.get(name))
    doubt = _doubt_of_signature(found.file, signers) if signers else None
    is_recorded = found.recorded == proven
    origin = "signature" if signers and not doubt else "journal" if is_recorded else None
    again: RunRow | None = None
    if doubt:
        standing, why = ReceiptState.REFUTED, doubt
    elif found.recorded is not None and found.recorded != proven:
        standing, why = ReceiptState.REFUTED, "the file is not what the run recorded"
    elif tree != proven.tree:
        standing, why = ReceiptState.STALE, f"changed since: {_few(changed) or 'files'}"
    elif rerun:
        again = _prove_again(home, project, proven, checks)
        passes = again.state is RunState.PASSED
        standing = ReceiptState.HOLDS if passes else ReceiptState.REFUTED
        why = f"proven again by run {again.id}" if passes else f"run {again.id} does not pass"
        # What the file claims beyond that, nobody has proven.
        proven = (passes and again.result_as(CodeReport).receipt) or proven
    elif origin is None:
        standing, why = ReceiptState.UNCONFIRMED, "no run here and no signature; use --rerun"
    else:
        since = ago(proven.at)
        standing, why = ReceiptState.HOLDS, f"passed {since}, and nothing has changed since"
    return Verification(
        status="passed" if standing is ReceiptState.HOLDS else "failed",
        standing=standing,
        why=why,
        run_id=found.receipt.run_id,
        origin=origin,
        tree_now=tree,
        changed=changed,
        rerun=again.id if again else None,
        receipt=proven,
    )


def _prove_again(home: Home, project: Path, proven: Receipt, checks: Sequence[str]) -> RunRow:
    """Judge the tree once more, as the receipt says that it was; return the run."""
    with Journal(home.journal) as journal:
        if proven.kind == Kind.GATE:
            asked = GateOptions(base=proven.against, checks=tuple(checks), again=True)
            change = change_of(project, asked)
            request = plan(project, judging_config(project, change, asked), asked, change)
            if isinstance(request, str):
                raise UsageError(f"nothing to check again: {request}")
        else:
            request = plan_fix(project, load_config(project), checks=checks)
            # Nothing is to be fixed: what does not pass as it is has not been proven.
            request = replace(request, order=(), policy=replace(request.policy, max_attempts=1))
        _demand_same(proven, [check.line for check in request.checks])
        if proven.kind == Kind.GATE:
            return journal.find(judge(journal, home, request, again=True).run_id)
        return go_on(journal, home, journal.find(start_run(journal, request)))


def _demand_same(proven: Receipt, lines: Sequence[str]) -> None:
    """Refuse to run other commands than those that the receipt is about.

    They are not taken from the receipt: a forged one would name a command that always passes.
    """
    other = [c.command for c in proven.checks if c.command and c.command not in lines]
    if other:
        raise UsageError(
            f"the receipt is about `{visible_name(other[0])}`, and the checks of this project are "
            f"{', '.join(f'`{line}`' for line in lines)}; name the checks to run with --check"
        )


def _doubt_of_signature(file: Path, signers: Path) -> str | None:
    """Return what is wrong with the signature of a file, if anything is."""
    signature = file.with_name(f"{file.name}.sig")
    if not signature.is_file():
        return f"it is not signed: there is no {signature.name} beside it"
    sides = ("-s", str(signature), "-f", str(signers))
    found = _ssh_keygen("-Y", "find-principals", *sides)
    if found.returncode or not (names := found.stdout.decode(errors="replace").split()):
        return f"it is signed by no one listed in {signers}"
    content = file.read_bytes()
    options = (*sides, "-I", names[0], "-n", _NAMESPACE)
    fits = _ssh_keygen("-Y", "verify", *options, stdin=content).returncode == 0
    return None if fits else f"it is not what {names[0]} signed"


def _ssh_keygen(*args: str, stdin: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
    program = shutil.which("ssh-keygen")
    if program is None:
        raise UsageError("signatures need ssh-keygen, which is not installed (package openssh)")
    return subprocess.run([program, *args], input=stdin, capture_output=True, check=False)


# -- as text ------------------------------------------------------------------------------------


def _lines(proven: Receipt) -> Iterator[str]:
    yield f"{proven.project}: passed {ago(proven.at)} ({proven.kind} {proven.run_id})"
    yield f"tree {proven.tree}" + (f", diff sha256 {proven.diff}" if proven.diff else "")
    for check in proven.checks:
        cases = ", ".join(f"{number} {outcome}" for outcome, number in check.cases.items())
        code = "" if check.exit_code is None else f"exit {check.exit_code}"
        facts = "; ".join(filter(None, (cases, code)))
        said = "passes" if check.passed else f"fails ({check.mode})"
        line = f" `{visible_name(check.command)}`" if check.command else ""
        yield f"{check.name}{line}: {said}{f' ({facts})' if facts else ''}"
    for one in proven.not_run:
        yield f"not run: {one}"
    if proven.confidence is not None:
        yield f"confidence {proven.confidence:.2f}"
    versions = ", ".join(f"{name} {version}" for name, version in proven.versions.items())
    yield f"isolation {proven.isolation.level}; {versions}"


def _few(names: Sequence[str]) -> str:
    more = len(names) - _FEW
    shown = ", ".join(map(visible_name, names[:_FEW]))
    return f"{shown} and {counted(more, 'other')}" if more > 0 else shown
