"""File nodes: `read-file` and `write-file`."""

from __future__ import annotations

import asyncio
import contextlib
import difflib
import errno
import json
import os
import stat
import uuid
from base64 import b64decode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta

from runtrue.documents import closest
from runtrue.errors import NodeFailed, RuntimeValidationError
from runtrue.loop import Fault, fault_of_exception
from runtrue.workflow.effect import Effect, EffectKind
from runtrue.workflow.file_access import RefusedFile, locate, opened_directory
from runtrue.workflow.fill import is_known
from runtrue.workflow.node import Pointer, Result, WorkflowNode, failure

if TYPE_CHECKING:
    from runtrue.workflow.context import Context

LARGEST_FILE = 50 * 1024 * 1024
#: How many names of a directory are listed where one is missing.
MOST_NAMES = 20

FilePath = Annotated[
    str,
    Meta(description="Path of the file, relative to the current directory; ~ is home"),
]
Encoding = Annotated[str, Meta(description="Encoding of the text")]


@dataclass(frozen=True, slots=True)
class ReadFile:
    """The file to read."""

    file_path: FilePath
    encoding: Encoding = "utf-8"


@dataclass(frozen=True, slots=True)
class FileContent:
    """The content of a file."""

    content: Annotated[str, Meta(description="The text of the file, exactly as it is")]
    error: Annotated[str, Meta(description="What went wrong, when it failed")]


class ReadFileNode(WorkflowNode[ReadFile]):
    """Read a text file."""

    type = "read-file"
    Params = ReadFile
    Outputs = FileContent
    purpose = frozenset({"file_path"})

    async def run(self, params: ReadFile, context: Context) -> Result:
        """Read the file in a thread."""
        path = permitted(params.file_path, context)
        return Result({"content": await asyncio.to_thread(_read, path, params.encoding)})

    def check(self, params: Mapping[str, Any]) -> Iterable[tuple[Pointer, str]]:
        """Refuse an unknown encoding."""
        return _check_encoding(params)

    def has_side_effect(self, params: Mapping[str, Any]) -> bool:
        """False: reading changes nothing."""
        return False

    def effects(self, params: Mapping[str, Any]) -> Iterable[Effect]:
        """Yield the file that is read."""
        path = params.get("file_path", "")
        yield Effect(kind=EffectKind.READ, target=str(path), known=is_known(path), reads=True)


@dataclass(frozen=True, slots=True)
class WriteFile:
    """The content to write, and where."""

    file_path: FilePath
    content: Annotated[
        Any, Meta(description="Text is written as it is; anything else, including null, as JSON")
    ]
    encoding: Encoding = "utf-8"
    append: Annotated[bool, Meta(description="Append to the file instead of replacing it")] = False
    base64: Annotated[bool, Meta(description="Treat the content as base64 and write its bytes")] = (
        False
    )


@dataclass(frozen=True, slots=True)
class FileWritten:
    """The file that was written."""

    written: Annotated[bool, Meta(description="Whether the content is in the file now")]
    file_path: Annotated[str, Meta(description="The absolute path of the file")]
    error: Annotated[str, Meta(description="What went wrong, when it failed")]


class WriteFileNode(WorkflowNode[WriteFile]):
    """Write a file, whole or not at all. Missing directories are made."""

    type = "write-file"
    Params = WriteFile
    Outputs = FileWritten
    writes = True
    purpose = frozenset({"file_path", "append", "base64"})

    async def run(self, params: WriteFile, context: Context) -> Result:
        """Write the file in a thread."""
        path = permitted(params.file_path, context)
        await asyncio.to_thread(_write, path, params)
        return Result({"written": True, "file_path": str(path.named)})

    def check(self, params: Mapping[str, Any]) -> Iterable[tuple[Pointer, str]]:
        """Refuse an unknown encoding."""
        return _check_encoding(params)

    def has_side_effect(self, params: Mapping[str, Any]) -> bool:
        """True for appending: replacing a file twice is the same as once."""
        return params.get("append", False) is not False

    def effects(self, params: Mapping[str, Any]) -> Iterable[Effect]:
        """Yield the file that is written."""
        path = params.get("file_path", "")
        method = "append to" if self.has_side_effect(params) else "write"
        yield Effect(kind=EffectKind.WRITE, target=str(path), method=method, known=is_known(path))


# -- paths --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PermittedPath:
    """A path as it was named, and where it really leads, which the run may reach.

    A file with further names may be one that lies elsewhere: only a person's word reaches it.
    """

    named: Path
    real: Path
    may_have_names: bool = True


def permitted(text: str, context: Context) -> PermittedPath:
    """Return the path that a param names. Raises NodeFailed unless the run may reach it."""
    if not text or "\0" in text:
        raise RuntimeValidationError(
            f"{text!r} is not a path of a file", category="bad_path", attempted=(text,)
        )
    try:
        named = locate(text, context.directory, context.environment)
    except RuntimeError as error:
        raise RuntimeValidationError(
            f"{text!r}: the home directory of {text.partition('/')[0]!r} is not known",
            category="bad_path",
            attempted=(text,),
        ) from error
    try:
        access = context.files()
        real = access.resolve(named)
        return PermittedPath(named, real, access.is_named(real))
    except RefusedFile as refused:
        raise _failed(str(refused), "refused_file", named, fault=Fault.HUMAN) from refused


def names_in(directory: Path, like: str = "") -> tuple[str, ...]:
    """Return some of the names in a directory, those similar to `like` first."""
    try:
        names = sorted(entry.name for entry in directory.iterdir())
    except OSError:
        return ()
    close = difflib.get_close_matches(like, names, n=5)
    return tuple(dict.fromkeys([*close, *names]))[:MOST_NAMES]


# -- reading ------------------------------------------------------------------------------------


def _read(path: PermittedPath, encoding: str) -> str:
    _require_encoding(encoding)
    named, name = path.named, path.real.name
    try:
        with opened_directory(path.real.parent) as parent:
            _require_regular(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode, named)
            # Not to wait for a pipe that has been put there since.
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            with os.fdopen(os.open(name, flags, dir_fd=parent), "rb") as file:
                _require_own(os.fstat(file.fileno()), path)
                data = file.read(LARGEST_FILE + 1)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise _not_found(named) from error
    except OSError as error:
        raise _refused("read", named, error) from error
    if len(data) > LARGEST_FILE:
        message = f"{named} is larger than {LARGEST_FILE // 1024**2} MB"
        raise _failed(message, "too_large", named)
    try:
        content = data.decode(encoding)
        content.encode()  # Some encodings can spell halves of characters, which are no text.
    except UnicodeError as error:
        raise _failed(f"{named} is not text in {encoding}: {error}", "decoding", named) from error
    return content


def _not_found(path: Path) -> NodeFailed:
    names = names_in(path.parent, path.name)
    if names:
        close = closest(path.name, names)
        hint = f"; did you mean {close!r}?" if close else ""
    else:
        empty = path.parent.is_dir()
        hint = f"; {path.parent} {'is empty' if empty else 'is not a readable directory'}"
    return _failed(f"there is no file {path}{hint}", "file_not_found", path, available=names)


# -- writing ------------------------------------------------------------------------------------


def _write(path: PermittedPath, params: WriteFile) -> None:
    named = path.named
    _require_encoding(params.encoding)
    data = _decoded(named, params.content) if params.base64 else _encoded(named, params)
    try:
        # A link stays one: it is its target that is written.
        with opened_directory(path.real.parent, make=True) as parent:
            (_append if params.append else _replace)(path, parent, data)
    except OSError as error:
        raise _refused("written", named, error) from error


def _encoded(path: Path, params: WriteFile) -> bytes:
    text = params.content
    if not isinstance(text, str):
        text = json.dumps(text, indent=2, ensure_ascii=False)
    try:
        return text.encode(params.encoding)
    except UnicodeError as error:
        message = f"the content cannot be written as {params.encoding}: {error}"
        raise _failed(message, "encoding", path) from error


def _decoded(path: Path, content: Any) -> bytes:
    try:
        return b64decode(content, validate=True)
    except (TypeError, ValueError) as error:
        message = f"the content for {path} is not base64: {error}"
        raise _failed(message, "encoding", path) from error


def _mode_of(path: PermittedPath, parent: int) -> os.stat_result | None:
    """Return what there is to be written, if it can be: a regular file."""
    try:
        before = os.stat(path.real.name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return None
    _require_regular(before.st_mode, path.named)
    return before


def _append(path: PermittedPath, parent: int, data: bytes) -> None:
    _mode_of(path, parent)
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    descriptor = os.open(path.real.name, flags, 0o666, dir_fd=parent)
    try:
        _require_own(os.fstat(descriptor), path)
        # One write takes it all, so that those who append at the same time do not mix. When one
        # does not, the disk is full as a rule, and the next one says so.
        while data:
            data = data[os.write(descriptor, data) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _replace(path: PermittedPath, parent: int, data: bytes) -> None:
    """Replace a file at once by one of the same owner and mode."""
    name = path.real.name
    before = _mode_of(path, parent)
    if before is not None and not os.access(name, os.W_OK, dir_fd=parent, effective_ids=True):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path.named))
    beside = f".runtrue-{uuid.uuid4().hex}.tmp"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        with os.fdopen(os.open(beside, flags, 0o666, dir_fd=parent), "wb") as file:
            if before is not None:
                with contextlib.suppress(PermissionError):
                    os.fchown(file.fileno(), before.st_uid, before.st_gid)
                os.fchmod(file.fileno(), stat.S_IMODE(before.st_mode))
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, name, src_dir_fd=parent, dst_dir_fd=parent)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(beside, dir_fd=parent)


# -- failures -----------------------------------------------------------------------------------


def _require_regular(mode: int, path: Path) -> None:
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if stat.S_ISLNK(mode):
        # It was resolved, so it leads to itself, or has been put there since.
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
    if not stat.S_ISREG(mode):
        raise _failed(f"{path} is not a regular file", "not_a_file", path)


def _require_own(found: os.stat_result, path: PermittedPath) -> None:
    _require_regular(found.st_mode, path.named)
    if found.st_nlink > 1 and not path.may_have_names:
        raise _failed(
            f"{path.named} has other names (hard links), and may be a file outside the working "
            "directory; name it in the task or an input to allow it",
            "refused_file",
            path.named,
            fault=Fault.HUMAN,
        )


def _refused(done: str, path: Path, error: OSError) -> NodeFailed:
    number = error.errno or 0
    if isinstance(error, IsADirectoryError):
        names = names_in(path)
        return _failed(f"{path} is a directory", "is_a_directory", path, available=names)
    if isinstance(error, PermissionError):
        message = f"{path} cannot be {done}: permission denied"
        return _failed(message, "permission", path, fault=Fault.ENVIRONMENT)
    if isinstance(error, FileExistsError | NotADirectoryError):
        return _failed(f"{path}: a part of the path is not a directory", "not_a_directory", path)
    fault = fault_of_exception([type(error).__name__], error_number=number)
    category = errno.errorcode.get(number, "os_error").lower()
    message = f"{path} cannot be {done}: {error.strerror or error}"
    return _failed(message, category, path, fault=fault)


def _failed(message: str, category: str, path: Path, **details: Any) -> NodeFailed:
    return failure(message, category, attempted=(str(path),), **details)


def _check_encoding(params: Mapping[str, Any]) -> Iterable[tuple[Pointer, str]]:
    encoding = params.get("encoding")
    if isinstance(encoding, str) and "${" not in encoding:
        try:
            _require_encoding(encoding)
        except RuntimeValidationError as error:
            yield ("encoding",), error.message


def _require_encoding(name: str) -> None:
    try:
        "".encode(name)
    except (LookupError, ValueError) as error:
        raise RuntimeValidationError(
            f"there is no text encoding {name!r}; utf-8, latin-1 and cp1252 are common ones",
            category="unknown_encoding",
            attempted=(name,),
        ) from error
