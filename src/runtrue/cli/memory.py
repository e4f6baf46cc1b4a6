"""`runtrue memory`: what runs have proven, and what is kept of their failures."""

from __future__ import annotations

import hashlib
import re
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from runtrue.cli import options
from runtrue.cli.console import confirm, echo
from runtrue.cli.lazy_group import CommandGroup
from runtrue.cli.show import counted, is_terminal, print_json, print_part
from runtrue.errors import HostError, UsageError
from runtrue.foreign_text import visible_name
from runtrue.home import Home
from runtrue.memory import (
    Counts,
    DebugMemory,
    KnownFailure,
    KnownName,
    Memory,
    RememberedFix,
    Retention,
    SimilarFailure,
)

#: What has an id.
_Kept = KnownFailure | RememberedFix | KnownName

_KINDS = ("fixes", "failures", "repairs")
_NAME = re.compile(r"(fix|failure)-(\d{1,18})|(repair)-([0-9a-f]{8})")
_DAY = 86_400.0
#: How many of a kind are shown at most; `export` gives all.
_MOST = 10_000


@dataclass(frozen=True, slots=True)
class _Memories:
    """The two halves of the file: of code loops, and of the planner."""

    debug: DebugMemory
    planner: Memory

    @property
    def is_empty(self) -> bool:
        return self.debug.counts() == Counts() and not self.planner.list()


@contextmanager
def _opened() -> Iterator[_Memories]:
    home = Home.find(Path.cwd())
    with DebugMemory.of(home, Path.cwd()) as debug, Memory(home.path) as planner:
        debug.pull()
        yield _Memories(debug, planner)
        if trouble := debug.trouble or planner.trouble:
            # A run goes on without the memory; this command has nothing else to offer.
            raise HostError(trouble.partition("; runs continue")[0])


@click.group(cls=CommandGroup)
def memory() -> None:
    """List, search, show, export and forget the fixes that runs have learnt.

    Runs of fix, code and plan store failures (failure-3) and verified fixes (fix-12). Tasks store
    the real names of an API's fields (repair-0a1b2c3d). All of it is in memory.db in runtrue's
    home.
    """


# -- looking ------------------------------------------------------------------------------------


@memory.command("list")
@click.option("--kind", type=click.Choice(_KINDS), help="Only these.")
@click.option(
    "--limit",
    type=click.IntRange(1, _MOST),
    default=20,
    metavar="N",
    help="At most N of each kind (20).",
)
@options.as_json
def list_memory(kind: str | None, limit: int, as_json: bool) -> int:
    """List known failures, fixes and repairs, latest first."""
    wanted = (kind,) if kind else _KINDS
    with _opened() as memories:
        fixes = memories.debug.fixes(limit=limit) if "fixes" in wanted else ()
        failures = memories.debug.failures(limit=limit) if "failures" in wanted else ()
        repairs = memories.planner.list()[:limit] if "repairs" in wanted else ()
        counts = memories.debug.counts()
    if as_json:
        found: dict[str, Sequence[_Kept]] = {}
        found |= {"fixes": fixes, "failures": failures, "repairs": repairs}
        print_json({name: [*map(_as_data, found[name])] for name in wanted})
    elif not (fixes or failures or repairs):
        echo(_nothing())
    else:
        _print_table(_title("fixes", len(fixes), counts.fixes), map(_fix_row, fixes))
        _print_table(
            _title("failures", len(failures), counts.failures), map(_failure_row, failures)
        )
        _print_table("repairs", map(_repair_row, repairs))
    return 0


@memory.command()
@click.argument("text")
@click.option("--language", metavar="NAME", help="Only failures in this language, as `python`.")
@click.option(
    "--limit", type=click.IntRange(1, _MOST), default=5, metavar="N", help="At most N (5)."
)
@options.as_json
def search(text: str, language: str | None, limit: int, as_json: bool) -> int:
    """Show the known failures most similar to TEXT, with the fixes that worked.

    \b
    Examples:
      runtrue memory search "TypeError: unsupported operand type(s) for +"
    """
    if not text.strip():
        raise UsageError("TEXT is empty; give the message of a failure, or some words of it")
    with _opened() as memories:
        found = memories.debug.similar("", text, language=language, limit=limit)
        is_empty = not found and memories.is_empty
    if as_json:
        print_json({"similar": [_as_data(one) for one in found]})
    elif is_empty:
        echo(_nothing())
    elif not found:
        echo("no similar failure known; `runtrue memory list` shows all")
    else:
        _print_table("", map(_similar_row, found))
    return 0


@memory.command()
@click.argument("name", metavar="ID")
@options.as_json
def show(name: str, as_json: bool) -> int:
    """Show everything about a fix, a failure or a repair."""
    with _opened() as memories:
        found = _find(memories, name)
        fixes = memories.debug.lookup(found.fingerprint) if isinstance(found, KnownFailure) else ()
    if as_json:
        print_json(_as_data(found) | ({"fixes": [*map(_as_data, fixes)]} if fixes else {}))
        return 0
    data = _as_data(found)
    diff, template = data.pop("diff", ""), data.pop("template", None)
    width = max(map(len, data))
    for key, value in data.items():
        if value not in (None, ""):
            echo(f"{key:<{width}}  {value!s}")
    if isinstance(found, RememberedFix):
        holes = ", ".join(template["holes"]) if template else ""
        again = f"with other names for: {holes}" if holes else "as it is"
        echo(f"{'elsewhere':<{width}}  {again if template else 'cannot be made again'}")
        print_part("diff", diff.rstrip().splitlines())
    print_part("fixes", [f"{fix.name}  {_held(fix)}" for fix in fixes])
    return 0


@memory.command()
@click.option(
    "--output", type=click.Path(path_type=Path, dir_okay=False), help="Write to this file instead."
)
@options.as_json
def export(output: Path | None, as_json: bool) -> int:
    """Print everything in memory as one JSON document."""
    with _opened() as memories:
        found: dict[str, Sequence[_Kept]] = {"fixes": memories.debug.fixes()}
        found |= {"failures": memories.debug.failures(), "repairs": memories.planner.list()}
    document = {
        "version": 1,
        "exported_at": _time(time.time()),
        **{kind: [*map(_as_data, found[kind])] for kind in _KINDS},
    }
    if output is None:
        print_json(document)
        return 0
    import msgspec

    output.write_bytes(msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n")
    counts = {kind: len(found[kind]) for kind in _KINDS}
    if as_json:
        print_json({"output": str(output), **counts})
    else:
        echo(f"wrote {', '.join(f'{n} {kind}' for kind, n in counts.items())} to {output}")
    return 0


# -- forgetting ---------------------------------------------------------------------------------


@memory.command()
@click.argument("names", metavar="[ID]...", nargs=-1)
@click.option(
    "--older-than",
    type=click.FloatRange(min=0),
    metavar="DAYS",
    help="Everything not seen for DAYS days.",
)
@click.option("--all", "everything", is_flag=True, help="All of it.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@options.as_json
def forget(
    names: tuple[str, ...], older_than: float | None, everything: bool, yes: bool, as_json: bool
) -> int:
    """Forget entries by id, by age, or all of them."""
    if sum((bool(names), older_than is not None, everything)) != 1:
        raise UsageError("pass one or more ids, --older-than DAYS, or --all")
    with _opened() as memories:
        if names:
            for one in [_find(memories, name) for name in names]:
                _forget(memories, one)
            gone = len(names)
        else:
            if not yes:
                _confirm(older_than, as_json=as_json)
            gone = _forget_older(memories, older_than)
    if as_json:
        print_json({"forgotten": gone})
    else:
        echo(f"forgot {counted(gone, 'item')}")
    return 0


def _confirm(older_than: float | None, *, as_json: bool) -> None:
    what = "everything" if older_than is None else f"what was not seen for {older_than:g} days"
    if as_json or not is_terminal():
        raise UsageError(f"cannot ask whether to forget {what} (no terminal); add --yes")
    confirm(f"Forget {what}?", abort=True)


def _forget_older(memories: _Memories, days: float | None) -> int:
    if days is None:
        gone = memories.debug.forget_all()
    else:
        alike = Retention(days=days, learning_days=days, escalated_days=days)
        gone = memories.debug.prune(alike)
    limit = time.time() - (days or 0.0) * _DAY
    old = [repair for repair in memories.planner.list() if repair.verified_at <= limit]
    for repair in old:
        _forget(memories, repair)
    return gone.failures + gone.fixes + len(old)


def _forget(memories: _Memories, one: _Kept) -> None:
    if isinstance(one, KnownFailure):
        memories.debug.forget_failure(one.id)
    elif isinstance(one, RememberedFix):
        memories.debug.forget_fix(one.id)
    else:
        memories.planner.forget(one.scope, one.wanted, kind=one.kind)


def _find(memories: _Memories, name: str) -> _Kept:
    match = _NAME.fullmatch(name)
    if match is None:
        raise UsageError(
            f"{name!r} is not an id such as fix-12, failure-3 or repair-0a1b2c3d: "
            "`runtrue memory list` shows them"
        )
    found: _Kept | None
    if match[1] == "fix":
        found = memories.debug.fix(int(match[2]))
    elif match[1] == "failure":
        found = memories.debug.failure(int(match[2]))
    else:
        found = next((one for one in memories.planner.list() if _repair_name(one) == name), None)
    if found is None and (memories.debug.trouble or memories.planner.trouble) is None:
        raise UsageError(f"there is no {name}; `runtrue memory list` shows what there is")
    if found is None:
        raise HostError(str(memories.debug.trouble or memories.planner.trouble))
    return found


# -- rows ---------------------------------------------------------------------------------------

_Row = tuple[str, str, str]


def _fix_row(fix: RememberedFix) -> _Row:
    files = ", ".join(file.file for file in fix.template.files) if fix.template else ""
    what = f"{fix.error_type} {fix.cause}{f' in {files}' if files else ''} by {fix.fixer}"
    return fix.name, _held(fix), what


def _failure_row(failure: KnownFailure) -> _Row:
    seen = f"seen {failure.seen} ×"
    return failure.name, seen, f"{failure.error_type}: {failure.message}"


def _repair_row(repair: KnownName) -> _Row:
    scope = f"{repair.scope.host} {repair.scope.operation}"
    return (
        _repair_name(repair),
        f"used {repair.uses} ×",
        f"{repair.wanted} → {repair.found} ({scope})",
    )


def _similar_row(one: SimilarFailure) -> _Row:
    fixes = ", ".join(fix.name for fix in one.fixes)
    what = f"{one.failure.error_type}: {one.failure.message}"
    return one.failure.name, f"{one.score:.2f}", f"[{fixes}] {what}" if fixes else what


def _held(fix: RememberedFix) -> str:
    return f"worked {fix.passed} of {fix.tried}"


def _repair_name(repair: KnownName) -> str:
    key = (repair.kind, repair.scope.host, repair.scope.operation, repair.wanted)
    return f"repair-{hashlib.blake2b(chr(0).join(key).encode(), digest_size=4).hexdigest()}"


def _title(kind: str, shown: int, there_are: int) -> str:
    return kind if shown >= there_are else f"{kind} ({shown} of {there_are:,})"


def _print_table(title: str, rows: Iterator[_Row] | Sequence[_Row]) -> None:
    cells = [tuple(visible_name(" ".join(cell.split())) for cell in row) for row in rows]
    if not cells:
        return
    if title:
        echo(title, bold=True)
    widths = [max(len(row[n]) for row in cells) for n in range(2)]
    room = max(shutil.get_terminal_size().columns - sum(widths) - 4, 20)
    for name, number, what in cells:
        short = what if len(what) <= room else f"{what[: room - 1]}…"
        echo(f"{name:<{widths[0]}}  {number:<{widths[1]}}  {short}")


def _nothing() -> str:
    path = Home.find(Path.cwd()).path / "memory.db"
    return f"no memory yet in {path}; `runtrue fix` and `runtrue do` learn as they go"


# -- data ---------------------------------------------------------------------------------------


def _as_data(one: _Kept | SimilarFailure) -> dict[str, Any]:
    if isinstance(one, SimilarFailure):
        failure, fixes = _as_data(one.failure), [_as_data(fix) for fix in one.fixes]
        return {"score": round(one.score, 4), "failure": failure, "fixes": fixes}
    data = asdict(one)
    if isinstance(one, KnownName):
        data |= data.pop("scope")
    name = _repair_name(one) if isinstance(one, KnownName) else one.name
    times = ("first_seen", "last_seen", "verified_at")
    data |= {key: _time(data[key]) for key in times if key in data}
    return data | {"id": name} if "id" in data else {"id": name, **data}


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
