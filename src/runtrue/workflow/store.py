"""Saved workflows: the files under `workflows` in runtrue's home, each called by its name."""

from __future__ import annotations

import contextlib
import os
import re
import unicodedata
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from runtrue.atomic_file import private_directory, private_file
from runtrue.documents import (
    MAX_BYTES,
    SUFFIXES,
    Document,
    dump_document,
    read_document,
    suggestion,
)
from runtrue.errors import HostError, InvalidWorkflow, Problem, UsageError
from runtrue.home import Home
from runtrue.workflow.ir import Workflow
from runtrue.workflow.node import describe_value
from runtrue.workflow.versions import WorkflowVersions

MAX_NAME = 64

_NAME = re.compile(rf"[a-z0-9][a-z0-9._-]{{0,{MAX_NAME - 1}}}")
#: Names of devices, which on Windows no file may bear, whatever follows a dot.
_DEVICES = {"con", "prn", "aux", "nul"} | {f"{d}{n}" for d in ("com", "lpt") for n in range(10)}
_PREFIX = "my-"
_SHOWN = 10
_PFLOW = ".pflow.md"


class BadName(UsageError):
    """A workflow cannot bear that name; the message proposes one that it can."""


class UnknownWorkflow(UsageError):
    """No workflow is saved under that name."""


class SavedTwice(UsageError):
    """A name belongs to more than one file, or already to one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """One entry of the list. With a `problem` it cannot be used, and the sentence says why."""

    name: str
    path: Path
    saved_at: datetime
    description: str = ""
    inputs: Mapping[str, Any] = field(default_factory=dict)
    problem: str | None = None


def propose_name(text: str) -> str:
    """Return a valid name that resembles a text."""
    if _is_name(text):
        return text
    plain = unicodedata.normalize("NFKD", text.casefold()).encode("ascii", "ignore").decode()
    words = re.sub(r"[^a-z0-9._]+", "-", plain)
    slug = re.sub(r"[._-]*([._-])", r"\1", words).strip("._-")
    slug = slug[: MAX_NAME - len(_PREFIX)].strip("._-")
    while slug.endswith(SUFFIXES):
        slug = slug.rpartition(".")[0].strip("._-")
    slug = slug or "workflow"
    return slug if _is_name(slug) else f"{_PREFIX}{slug}"


class WorkflowStore:
    """The workflows saved in one home."""

    def __init__(self, home: Home) -> None:
        self.directory = home.path / "workflows"
        self._versions = home.path / "workflow-versions"

    def versions(self, name: str) -> WorkflowVersions:
        """Return the versions of a workflow, which may have been deleted."""
        if not _is_name(name):
            raise _bad_name(name)
        return WorkflowVersions(self._versions, name)

    def keep_current(self, name: str) -> None:
        """Keep what is saved as a version, where it was changed by hand or is older than those."""
        with contextlib.suppress(UsageError):
            data = self.load(name).data
            if isinstance(data, dict):
                self.versions(name).add(data, "changed by hand")

    def save(
        self, name: str, data: Mapping[str, Any], *, replace: bool = False, note: str = "saved"
    ) -> Path:
        """Save a workflow as a new version, whole or not at all, and return its file."""
        existing = self.find(name)
        path = self.directory / f"{name}.json"
        if existing and not replace:
            raise _taken(name, existing)
        if existing and existing != path:
            raise SavedTwice(
                f"{name!r} was added by hand as {existing}; delete it first, or edit that file"
            )
        if not isinstance(data, Mapping):
            raise UsageError(f"{name!r} is not a workflow, which is an object with nodes")
        content = dump_document(dict(data), "json").encode()
        if len(content) > MAX_BYTES:
            raise UsageError(f"{name!r} is too large: more than {MAX_BYTES // 1_000_000} MB")
        try:
            private_directory(self.directory)
            if existing:
                self.keep_current(name)
            self._write(path, content, replace)
            self.versions(name).add(data, note)
        except FileExistsError as error:
            if path.exists():
                raise _taken(name, path) from error
            raise HostError(f"cannot save {name!r}: {self.directory} is a file") from error
        except OSError as error:
            raise HostError(
                f"cannot save {name!r} in {self.directory}: {error.strerror}"
            ) from error
        return path

    def find(self, name: str) -> Path | None:
        """Return the file of a name, or None. Refuses names and links that lead elsewhere."""
        path = self._file(name)
        if path is not None:
            _refuse_way_out(path, self.directory)
        return path

    def load(self, name: str) -> Document:
        """Read a saved workflow."""
        path = self.find(name)
        if path is None:
            raise self._unknown(name)
        return read_document(path)

    def list(self) -> list[Saved]:
        """Return everything that is saved, by name; unusable files have their `problem`."""
        entries = (self._entry(path) for path in self._files())
        return [entry for entry in entries if entry is not None]

    def delete(self, name: str) -> Path:
        """Delete a saved workflow (of a link, the link), and return its file."""
        path = self._file(name)
        if path is None:
            raise self._unknown(name)
        try:
            path.unlink()
        except OSError as error:
            raise HostError(f"cannot delete {path}: {error.strerror}") from error
        return path

    def _file(self, name: str) -> Path | None:
        if not _is_name(name):
            raise _bad_name(name)
        paths = [self.directory / f"{name}{suffix}" for suffix in SUFFIXES]
        # A link that leads nowhere is there too, and is no reason to take the name for free.
        found = [path for path in paths if os.path.lexists(path)]
        if len(found) > 1:
            files = " and ".join(path.name for path in found)
            raise SavedTwice(f"{name!r} exists twice: remove one of {files} in {self.directory}")
        return found[0] if found else None

    def _files(self) -> Iterator[Path]:
        try:
            paths = sorted(self.directory.iterdir())
        except FileNotFoundError:
            return
        except OSError as error:
            raise HostError(f"cannot list {self.directory}: {error.strerror}") from error
        for path in paths:
            if path.suffix in SUFFIXES and not path.name.startswith("."):
                yield path

    def _entry(self, path: Path) -> Saved | None:
        name = path.stem
        try:
            saved_at = datetime.fromtimestamp(path.lstat().st_mtime, UTC)
        except FileNotFoundError:  # Deleted since the directory was read.
            return None
        try:
            data = self.load(name).data
            if not isinstance(data, dict):
                raise UsageError(f"{path}: is not a workflow, which is an object with nodes")
        except UsageError as error:
            return Saved(name=name, path=path, saved_at=saved_at, problem=str(error))
        description, inputs = data.get("description"), data.get("inputs")
        return Saved(
            name=name,
            path=path,
            saved_at=saved_at,
            description=description if isinstance(description, str) else "",
            inputs=inputs if isinstance(inputs, dict) else {},
        )

    def _write(self, path: Path, content: bytes, replace: bool) -> None:
        # Its name begins with a dot and ends in no known suffix: nobody takes it for a workflow.
        temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
        try:
            private_file(temporary)
            with temporary.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            if replace:
                temporary.replace(path)
            else:
                _put_if_free(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
        _sync_directory(path.parent)

    def _unknown(self, name: str) -> UnknownWorkflow:
        names = sorted({path.stem for path in self._files()})
        if not names:
            return UnknownWorkflow(f"no workflow {name!r}: none is saved in {self.directory}")
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        there = f"{suggestion(name, names)}; available: {', '.join(names[:_SHOWN])}{more}"
        return UnknownWorkflow(f"no workflow {name!r} is saved{there}")


def _is_name(name: str) -> bool:
    return (
        _NAME.fullmatch(name) is not None
        and ".." not in name
        and name.partition(".")[0] not in _DEVICES
        and not name.endswith(SUFFIXES)
    )


def _bad_name(name: str) -> BadName:
    return BadName(
        f"{name[: 2 * MAX_NAME]!r} cannot be the name of a workflow (lower-case letters, digits "
        f"and . _ -, at most {MAX_NAME} of them, without a suffix); {propose_name(name)!r} can"
    )


def _taken(name: str, path: Path) -> SavedTwice:
    return SavedTwice(f"a workflow {name!r} is already saved as {path}; replace it, or rename this")


def _refuse_way_out(path: Path, directory: Path) -> None:
    try:
        target = path.resolve()
        inside = target.is_relative_to(directory.resolve())
    except (OSError, RuntimeError) as error:
        raise UsageError(f"{path}: is a link that points back to itself") from error
    if not inside:
        raise UsageError(f"{path}: is a link that leads out of {directory}, to {target}")


def _put_if_free(temporary: Path, path: Path) -> None:
    """Give a file its name unless another has it, safely if two do this at once."""
    try:
        path.hardlink_to(temporary)
    except FileExistsError:
        raise
    except OSError:
        # A file system without hard links: that it was free a moment ago has to do.
        temporary.replace(path)


def _sync_directory(directory: Path) -> None:
    """Make sure that the new name survives a loss of power, where directories can be synced."""
    with contextlib.suppress(OSError):
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


# -- loading --------------------------------------------------------------------------------------


def load_workflow(source: str | Path, *, home: Home | None = None) -> Workflow:
    """Read a workflow from a file, or by the name it is saved under. It is not validated yet.

    A name with a suffix or a slash in it is a path, and so is one that a file has.
    """
    text = str(source)
    if text.endswith(_PFLOW) and Path(text).is_file():
        raise UsageError(
            f"{text} is in pflow's Markdown format (.pflow.md), which runtrue does not run; "
            "give it the workflow as JSON or YAML with `nodes`"
        )
    is_path = isinstance(source, Path) or "/" in text or text.endswith(SUFFIXES)
    if is_path or Path(text).is_file():
        return as_workflow(read_document(Path(source)), path=Path(source).absolute())
    return load_saved(text, home or Home.find(Path.cwd()))


def load_saved(name: str, home: Home) -> Workflow:
    """Read the workflow that is saved under a name, whatever files there are."""
    store = WorkflowStore(home)
    return as_workflow(store.load(name), name=name, path=store.find(name))


def as_workflow(document: Document, *, path: Path | None, name: str | None = None) -> Workflow:
    """Return a document as a workflow. Raises InvalidWorkflow if it is no object."""
    if not isinstance(document.data, dict):
        problem = (
            f"a workflow is an object with `nodes`, and this is {describe_value(document.data)}"
        )
        raise InvalidWorkflow(document.name, [Problem(pointer="", message=problem, line=1)])
    return Workflow(document.data, name=name or document.name, path=path, line=document.line)
