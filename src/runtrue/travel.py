"""Runs that travel: what a machine needs of the others to go on with a run.

A project goes as packs of git, and so do the candidates that a record names, before it is written:
anyone who reads the record has them. Patches, receipts and reports go as files. Secrets never do.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from runtrue.atomic_file import private_directory, private_file, write_atomically
from runtrue.config import users_shared_files
from runtrue.errors import SandboxError
from runtrue.flow import Outcome, PostgresDatabase, Run, RunRow, Segment
from runtrue.home import Home
from runtrue.sandbox import (
    GitSandbox,
    SentProject,
    add_candidates,
    checkout_in,
    demand_object_name,
    make_checkout,
    pack_candidates,
    remove,
)
from runtrue.scale import FileTable, large_files
from runtrue.typed_data import convert, decode_json

T = TypeVar("T")
#: Makes the sandbox of a run; none for a run without one.
SandboxOf = Callable[[RunRow], GitSandbox | None]

_PROJECT, _BASE, _OBJECT, _FILE = "project", "base", "object/", "home/"
#: Where the files of a run are in a home: what begins with its id there.
_FOLDERS = ("patches", "receipts", "escalations", "notes")
#: What people say to a plan at work is read while it is.
_NOTES = "notes"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sent:
    """A project as it was sent, and the home of the one who did."""

    project: SentProject
    #: Where the files of the run are on that machine.
    home: str
    home_id: str


class RunFiles:
    """The files of one run in the shared database, as seen from this machine."""

    def __init__(self, db: PostgresDatabase, home: Home, run_id: str) -> None:
        self._table = FileTable(db, large_files(users_shared_files()))
        self._db = db
        self._home = home
        self._run_id = run_id
        self._names = self._table.names(run_id)
        #: The state on disk of each file that is as it is in the database.
        self._seen: dict[Path, tuple[int, int]] = {}

    @property
    def sent(self) -> SentProject | None:
        """The project, if it was sent."""
        return self._sent.project if self._sent else None

    @cached_property
    def _sent(self) -> _Sent | None:
        digest = self._names.get(_PROJECT)
        return decode_json(self._table.get(digest), _Sent) if digest else None

    # -- sending ----------------------------------------------------------------------------

    def send_project(self, users: GitSandbox) -> SentProject:
        """Send the user's files as they are; `users` is a sandbox to look at them from."""
        sent, packs = users.packed_files(lambda name: bool(self._table.known([f"{_OBJECT}{name}"])))
        files = {f"{_OBJECT}{name}": pack for name, pack in packs.items()}
        others = [f"{_OBJECT}{name}" for name in sent.objects if name not in packs]
        if not self._table.put_known(self._run_id, self._table.known(others)):
            # They were deleted just now, with the last run that had them.
            sent, packs = users.packed_files(lambda _: False)
            files = {f"{_OBJECT}{name}": pack for name, pack in packs.items()}
        self._table.put(self._run_id, files)
        whole = _Sent(project=sent, home=str(self._home.path), home_id=_id_of(self._home))
        self._table.put(self._run_id, {_PROJECT: msgspec.json.encode(whole)})
        self._names = self._table.names(self._run_id)
        return sent

    def send(self, text: bytes, sandbox: GitSandbox, fence: int | None) -> None:
        """Send the candidates that JSON names, and the files of the run that are new."""
        new = self._new_files()
        if sandbox.is_made:
            base = sandbox.base
            packs = pack_candidates(sandbox.candidates, text, base, self._objects())
            new |= {f"{_OBJECT}{name}": pack for name, pack in packs.items()}
            if self._names.get(_BASE) is None or self._get(_BASE) != base.encode():
                new[_BASE] = base.encode()
        if new:
            self._table.put(self._run_id, new, fence)
            self._names = self._table.names(self._run_id)

    def send_notes(self) -> None:
        """Send what people here have said to a plan."""
        file = self._home.path / _NOTES / f"{self._run_id}.jsonl"
        self._table.put(self._run_id, {f"{_FILE}{_NOTES}/{file.name}": file.read_bytes()})

    def _objects(self) -> set[str]:
        names = (name for name in self._names if name.startswith(_OBJECT))
        return {demand_object_name(name.removeprefix(_OBJECT)) for name in names}

    def _new_files(self) -> dict[str, bytes]:
        found = {}
        for file in self._own_files():
            state = _state_of(file)
            if self._seen.get(file) != state:
                self._seen[file] = state
                found[f"{_FILE}{file.relative_to(self._home.path).as_posix()}"] = file.read_bytes()
        return found

    def _own_files(self) -> Iterator[Path]:
        for folder in _FOLDERS:
            for path in (self._home.path / folder).glob(f"{self._run_id}*"):
                yield from (one for one in (path, *path.rglob("*")) if one.is_file())

    # -- arriving ---------------------------------------------------------------------------

    def bring_project(self) -> Path:
        """Return the project's directory here: the user's own, or else a checkout."""
        if self._sent is None or self.sent is None:
            raise SandboxError("the project was not sent; start a new run")
        own = Path(self.sent.project)
        if self._sent.home_id == _id_of(self._home) and own.is_dir():
            return own
        place = self._checkout
        if checkout_in(place, self.sent) is None:
            make_checkout(place, self.sent, map(self._object, self.sent.objects))
        project = checkout_in(place, self.sent)
        assert project is not None  # noqa: S101 - it has just been made
        return project

    def bring_sandbox(self, sandbox: GitSandbox, project: Path) -> bool:
        """Have the candidates of the other machines in the sandbox; True if it was made for that.

        A run that has none yet makes it by itself.
        """
        if _BASE not in self._names:
            return False
        base = demand_object_name(self._get(_BASE).decode())
        objects = self._objects()
        if not sandbox.is_made or not project.is_relative_to(sandbox.top):
            sandbox.rebuild(base, map(self._object, objects))
            return True
        add_candidates(sandbox.candidates, {name: partial(self._object, name) for name in objects})
        if sandbox.base != base:
            sandbox.rebase(base)
        return False

    def bring_files(self, folders: Collection[str] = _FOLDERS) -> None:
        """Have the patches, receipts and reports of the run in the home."""
        for name, digest in self._names.items():
            path = name.removeprefix(_FILE)
            folder, _, rest = path.partition("/")
            is_own = rest.startswith(self._run_id) and ".." not in rest.split("/")
            if path == name or folder not in folders or not is_own:
                continue
            file = self._home.path / path
            content = self._table.get(digest)
            if not file.is_file() or file.read_bytes() != content:
                private_directory(file.parent)
                write_atomically(file, content)
            self._seen[file] = _state_of(file)

    def bring_notes(self) -> None:
        """Have what people have said meanwhile."""
        self._names = self._table.names(self._run_id)
        self.bring_files([_NOTES])

    def as_seen_here(self, report: T) -> T:
        """Return a report with the paths of this machine in place of those of others."""
        return self._located(report, self._home.path)

    def as_seen_by_sender(self, report: T) -> T:
        """Return a report with the paths of the machine that the project is from."""
        return self._located(report, Path(self._sent.home)) if self._sent else report

    def _located(self, report: T, home: Path) -> T:
        if self.sent is None:
            return report
        run = re.escape(self._run_id)
        folders = "|".join((*_FOLDERS, "sandboxes"))
        rules = (
            (re.compile(rf"/.*/projects/{run}/[^/]+"), self.sent.top),
            (re.compile(rf"/.*/(?=({folders})/{run})"), f"{home}/"),
        )

        def moved(value: Any) -> Any:
            if isinstance(value, dict):
                return {key: moved(one) for key, one in value.items()}
            if isinstance(value, list | tuple):
                return [moved(one) for one in value]
            if isinstance(value, str) and value.startswith("/") and "\n" not in value:
                for pattern, place in rules:
                    if found := pattern.match(value):
                        return f"{place}{value[found.end() :]}"
            return value

        return convert(moved(msgspec.to_builtins(report)), type(report))

    # -- the end ----------------------------------------------------------------------------

    def forget(self, sandbox: GitSandbox | None) -> None:
        """Drop what nobody needs any more of a run that is over: the project, its candidates."""
        kept = (name for name in self._names if not name.startswith(_FILE))
        self._table.forget(self._run_id, list(kept))
        if sandbox is not None and self._checkout.exists():
            sandbox.remove()
        remove(self._checkout)

    @property
    def _checkout(self) -> Path:
        return self._home.path / "projects" / self._run_id

    def _object(self, name: str) -> bytes:
        return self._get(f"{_OBJECT}{name}")

    def _get(self, name: str) -> bytes:
        if name not in self._names:
            raise SandboxError(f"{name} of run {self._run_id} was not sent; start a new run")
        return self._table.get(self._names[name])


@contextmanager
def files_of_run(location: str, home: Home, run_id: str) -> Iterator[RunFiles]:
    """The files of a run, by a connection of their own."""
    db = PostgresDatabase(location)
    try:
        with db.explained("used"):
            yield RunFiles(db, home, run_id)
    finally:
        db.close()


def travelling(
    run: RunRow,
    home: Home,
    location: str,
    prepare: Callable[[RunRow], Segment],
    sandbox_of: SandboxOf,
    *,
    may_check_out: bool,
) -> Segment:
    """Return the work of a claimed run, with all that it needs of other machines, and they of it.

    A run that was never sent is prepared as it is. `may_check_out` allows a copy of the project.
    """
    with files_of_run(location, home, run.id) as files:
        if files.sent is None:
            return prepare(run)
        own = Path(run.input["project"])
        project = files.bring_project() if may_check_out else own
        moved = replace(run, input={**run.input, "project": str(project)})
        sandbox = sandbox_of(moved)
        if sandbox is None:
            return prepare(run)
        files.bring_files()
        files.bring_sandbox(sandbox, project)
    segment = prepare(moved)
    connected: list[RunFiles] = []

    def send(text: bytes) -> None:
        connected[0].send(text, sandbox, run.fence)
        connected[0].bring_notes()

    async def work(recorded: Run) -> Outcome:
        with files_of_run(location, home, run.id) as files:
            connected[:] = [files]
            state, report = await segment.work(recorded)
            return state, files.as_seen_by_sender(report)

    return replace(segment, work=work, before_record=send)


def _id_of(home: Home) -> str:
    """Return what tells a home from all others, also where they share a name."""
    file = home.path / "home-id"
    with suppress(OSError):
        if text := file.read_text().strip():
            return text
    private_file(file)
    write_atomically(file, f"{secrets.token_hex(16)}\n".encode())
    return file.read_text().strip()


def _state_of(file: Path) -> tuple[int, int]:
    found = file.stat()
    return found.st_mtime_ns, found.st_size
