"""Edits of files that a model asks for, made exactly as it says or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from runtrue.atomic_file import usual_mode
from runtrue.encoding import decoded, encoded
from runtrue.sandbox import is_git, leads_outside

#: The form of edits in an answer, for a JSON Schema.
EDITS: dict[str, Any] = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "the file, as the prompt names it"},
            "old": {
                "type": ["string", "null"],
                "description": "text that occurs exactly once in the file",
            },
            "new": {"type": ["string", "null"], "description": "the text that replaces it"},
            "content": {"type": ["string", "null"], "description": "the full text of a new file"},
        },
        "required": ["path"],
    },
}
_SHOWN = 80


class EditError(Exception):
    """An edit that cannot be made; the message tells anyone who proposed it why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileEdit:
    """One change: `new` in place of `old`, or as the whole file where there is no `old`."""

    path: str
    new: str
    old: str | None = None


def read_edits(items: Iterable[Mapping[str, Any]]) -> tuple[FileEdit, ...]:
    """Return the edits in data of the form `EDITS`. Raises EditError."""
    return tuple(_read(item) for item in items)


def apply_edits(
    edits: Sequence[FileEdit], root: Path, *, refuse: Callable[[str], str | None] | None = None
) -> tuple[str, ...]:
    """Make all of the edits below a directory, or raise EditError and make none.

    `refuse` returns why a file may not be edited. Returns the files that now differ.
    """
    before: dict[Path, str | None] = {}
    after: dict[Path, str] = {}
    names: dict[Path, str] = {}
    for edit in edits:
        file = inside(root, edit.path)
        if file is None:
            raise EditError(f"{edit.path!r} is not a file path relative to the project root")
        name = file.relative_to(root.resolve()).as_posix()
        if refuse and (reason := refuse(name)):
            raise EditError(f"{edit.path}: {reason}")
        names[file] = name
        if file not in before:
            before[file] = _text(file, edit.path)
        after[file] = _edited(edit, after.get(file, before[file]))
    changed = {file: text for file, text in after.items() if text != before[file]}
    if not changed:
        raise EditError("the edits change no file")
    if both := [names[file] for file in changed if not changed.keys().isdisjoint(file.parents)]:
        raise EditError(f"{both[0]} is inside a path that another edit makes a file")
    _write(changed, names)
    return tuple(sorted(names[file] for file in changed))


def inside(root: Path, path: str) -> Path | None:
    """Return the real path of a file below a directory, or None.

    None for an absolute path, one that goes up, one that a link leads out of, and git's own files.
    """
    parts = PurePosixPath(path).parts
    if not parts or "\\" in path or leads_outside(path) or is_git(path):
        return None
    try:
        top, file = root.resolve(), (root / path).resolve()
    except (OSError, ValueError):
        return None
    return file if file.is_relative_to(top) and file != top else None


def _read(item: Mapping[str, Any]) -> FileEdit:
    path, old, new, content = (item.get(name) for name in ("path", "old", "new", "content"))
    if content is not None and not old and not new:
        return FileEdit(path=str(path), new=content)
    if content is None and old is not None and new is not None:
        return FileEdit(path=str(path), new=new, old=old)
    raise EditError(f"{path}: an edit has either `old` and `new`, or `content`")


def _text(file: Path, name: str) -> str | None:
    """Return a file's text, or None where there is none yet."""
    if file.is_dir():
        raise EditError(f"{name} is a directory")
    try:
        return decoded(file.read_bytes())
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        raise EditError(f"{name} is not UTF-8 text, or in the encoding that it names") from None
    except OSError as error:
        raise EditError(f"{name} cannot be read: {error.strerror}") from None


def _edited(edit: FileEdit, text: str | None) -> str:
    newline = "\r\n" if text and "\r\n" in text else "\n"
    new = _with_newlines(edit.new, newline)
    if edit.old is None:
        return new
    if text is None:
        if edit.old:
            raise EditError(f"{edit.path} does not exist: give its `content`")
        return new
    old = _with_newlines(edit.old, newline)
    if not old.strip():
        raise EditError(f"{edit.path} exists: `old` must be text that occurs exactly once in it")
    start = text.find(old)
    if start < 0:
        span = _span_of_lines(edit, text)
        if span is None:
            raise EditError(f"{edit.path}: `old` does not occur in it: {_first_line(old)!r}")
        start, end = span
        return text[:start] + _with_newlines(_unframed(edit), newline) + text[end:]
    if text.find(old, start + 1) >= 0:
        raise _ambiguous(edit, _first_line(old))
    return text[:start] + new + text[start + len(old) :]


def _span_of_lines(edit: FileEdit, text: str) -> tuple[int, int] | None:
    """Return the only span of the whole lines of `old`, blanks at the ends of lines aside."""
    wanted = [line.rstrip() for line in (edit.old or "").strip("\r\n").split("\n")]
    lines = text.split("\n")
    bare = [line.rstrip() for line in lines]
    count = len(wanted)
    found = [at for at in range(len(bare) - count + 1) if bare[at : at + count] == wanted]
    if len(found) > 1:
        raise _ambiguous(edit, wanted[0][:_SHOWN])
    if not found:
        return None
    start = sum(len(line) + 1 for line in lines[: found[0]])
    end = start + sum(len(line) + 1 for line in lines[found[0] : found[0] + count]) - 1
    return start, end - text[start:end].endswith("\r")


def _ambiguous(edit: FileEdit, line: str) -> EditError:
    return EditError(
        f"{edit.path}: `old` occurs more than once; include more of the surrounding lines: {line!r}"
    )


def _unframed(edit: FileEdit) -> str:
    """Return the new text without the line ends at its ends that `old` had as well."""
    old, new = edit.old or "", edit.new
    if old.startswith(("\n", "\r")):
        new = new.lstrip("\r\n")
    return new.rstrip("\r\n") if old.endswith("\n") else new


def _with_newlines(text: str, newline: str) -> str:
    return text.replace("\r\n", "\n").replace("\n", newline)


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0].strip()[:_SHOWN]


def _write(files: Mapping[Path, str], names: Mapping[Path, str]) -> None:
    """Write all files, or none: what can fail is done before the first is replaced."""
    ready: dict[Path, Path] = {}
    try:
        for file, text in files.items():
            try:
                file.parent.mkdir(parents=True, exist_ok=True)
                handle, name = tempfile.mkstemp(dir=file.parent, prefix=".edit-")
                ready[file] = Path(name)
                with os.fdopen(handle, "wb") as stream:
                    stream.write(encoded(text))
                _copy_mode(file, ready[file])
            except OSError as error:
                raise EditError(f"{names[file]} cannot be written: {error.strerror}") from None
        for file, temporary in ready.items():
            temporary.replace(file)
    finally:
        for temporary in ready.values():
            temporary.unlink(missing_ok=True)


def _copy_mode(file: Path, temporary: Path) -> None:
    if file.exists():
        shutil.copymode(file, temporary)
    else:
        temporary.chmod(usual_mode())
