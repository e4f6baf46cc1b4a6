"""Files of JSON or YAML as plain data, with the line of every value in them."""

from __future__ import annotations

import codecs
import difflib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeAlias

from runtrue.errors import UsageError
from runtrue.workflow.plain import Pointer, find_flaw, read_int

Format: TypeAlias = Literal["json", "yaml"]

MAX_BYTES = 10_000_000

_SUFFIXES: dict[str, Format] = {".json": "json", ".yaml": "yaml", ".yml": "yaml"}


class DocumentError(UsageError):
    """A document cannot be read; the message begins with its name, line and column."""

    def __init__(
        self, name: str, problem: str, line: int | None = None, column: int | None = None
    ) -> None:
        self.problem = problem
        self.line = line
        self.column = column
        place = ":".join(str(part) for part in (name, line, column) if part is not None)
        super().__init__(f"{place}: {problem}")


class Misread(Exception):
    """A text is not a document: what is wrong, and at which character where that is known."""

    def __init__(self, problem: str, offset: int | None = None) -> None:
        self.problem = problem
        self.offset = offset
        super().__init__(problem)


@dataclass(frozen=True)
class Document:
    """Plain data and the text it was read from. Without a text, no line is known."""

    data: Any
    name: str
    format: Format = "json"
    text: str = field(default="", repr=False)

    def line(self, pointer: Pointer) -> int | None:
        """The line where a value stands, a member's being that of its key.

        For a value that is missing it is the line of the nearest one around it.
        """
        for end in range(len(pointer), -1, -1):
            offset = self._offsets.get(pointer[:end])
            if offset is not None:
                return _place(self.text, offset)[0]
        return None

    @cached_property
    def _offsets(self) -> dict[Pointer, int]:
        return _offsets(self.text, self.format) if self.text else {}


def read_document(path: Path) -> Document:
    """Read a file. Its suffix tells the format, or else its first character does."""
    name = str(path)
    try:
        with path.open("rb") as file:
            # One byte more than allowed: a device or a pipe does not tell its size.
            content = file.read(MAX_BYTES + 1)
    except FileNotFoundError as error:
        raise DocumentError(
            name, f"there is no such file{_neighbours(path.parent, path.name)}"
        ) from error
    except IsADirectoryError as error:
        problem = f"is a directory, not a file{_neighbours(path)}"
        raise DocumentError(name, problem) from error
    except OSError as error:
        raise DocumentError(name, f"cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise DocumentError(name, f"cannot be read: {error}") from error
    if len(content) > MAX_BYTES:
        raise DocumentError(name, f"is too large: more than {MAX_BYTES // 1_000_000} MB")
    content = content.removeprefix(codecs.BOM_UTF8)
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        before = content[: error.start].decode()
        raise DocumentError(name, "is not text in UTF-8", *_place(before, len(before))) from error
    begins_as_json = text.lstrip()[:1] in {"{", "["}
    default: Format = "json" if begins_as_json else "yaml"
    return parse_document(text, name=name, format=_SUFFIXES.get(path.suffix.lower(), default))


def parse_document(text: str, *, name: str, format: Format) -> Document:
    """Parse a text; `name` stands for it in messages. Raises DocumentError."""
    text = text.removeprefix("\ufeff")
    try:
        data = _parse(text, format)
        if flaw := find_flaw(data):
            raise Misread(f"this value {flaw.problem}", _offsets(text, format).get(flaw.pointer))
    except Misread as error:
        place = () if error.offset is None else _place(text, error.offset)
        raise DocumentError(name, error.problem, *place) from error
    except RecursionError as error:
        raise DocumentError(name, "is nested too deeply") from error
    return Document(data, name, format, text)


def dump_document(data: Any, format: Format) -> str:
    """Plain data as a readable text, from which `parse_document` reads the same data again."""
    if flaw := find_flaw(data):
        raise UsageError(f"this cannot be written as {format.upper()}: {flaw}")
    if format == "json":
        return json.dumps(data, indent=2, ensure_ascii=False) + "\n"
    from runtrue.workflow import yaml12

    return yaml12.dump(data)


def _parse(text: str, format: Format) -> Any:
    if not text.strip():
        raise Misread("is empty")
    if format == "json":
        return _parse_json(text)
    from runtrue.workflow import yaml12

    return yaml12.read(text)[0]


def _offsets(text: str, format: Format) -> dict[Pointer, int]:
    """Where each value of a valid text stands, counted in characters."""
    if format == "json":
        return dict(_json_offsets(text))
    from runtrue.workflow import yaml12

    return yaml12.read(text)[1]


class _DuplicateKey(Exception):
    pass


def _parse_json(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_members, parse_int=read_int)
    except json.JSONDecodeError as error:
        message = re.sub(" at$", " here", error.msg[:1].lower() + error.msg[1:])
        raise Misread(f"is not valid JSON: {message}", error.pos) from error
    except _DuplicateKey:
        raise _duplicate(text) from None


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise _DuplicateKey
    return members


def _duplicate(text: str) -> Misread:
    seen: dict[Pointer, int] = {}
    for pointer, offset in _json_offsets(text):
        if pointer in seen:
            line = _place(text, seen[pointer])[0]
            return Misread(f"the key {pointer[-1]!r} is here twice, first on line {line}", offset)
        seen[pointer] = offset
    raise AssertionError("called for a text without duplicate keys")


_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[][{},:]|[^][{},:"\s]+')


def _json_offsets(text: str) -> Iterator[tuple[Pointer, int]]:
    """Each value's pointer and offset, a member's being that of its key, in order.

    Expects valid JSON, at least up to where the caller stops.
    """
    path: list[str | int] = []
    at_key = False
    for token in _TOKEN.finditer(text):
        sign = token[0]
        if sign in {"]", "}"}:
            path.pop()
        elif sign == ",":
            last = path[-1]
            at_key = isinstance(last, str)
            if isinstance(last, int):
                path[-1] = last + 1
        elif sign == ":":
            at_key = False
        elif at_key:
            path[-1] = json.loads(sign)
            yield tuple(path), token.start()
        else:
            if not path or isinstance(path[-1], int):
                yield tuple(path), token.start()
            if sign in {"{", "["}:
                path.append("" if sign == "{" else 0)
                at_key = sign == "{"


def _place(text: str, offset: int) -> tuple[int, int]:
    """The line and the column of a character, counted from 1."""
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)


def _neighbours(folder: Path, name: str = "") -> str:
    """What a message says of a directory's files: those of a similar name, or the documents."""
    try:
        names = sorted(entry.name for entry in folder.iterdir() if entry.is_file())
    except OSError:
        return "" if folder.is_dir() else f", nor a directory {folder}"
    if close := difflib.get_close_matches(name, names, n=3):
        return f"; did you mean {', '.join(close)}?"
    documents = [name for name in names if Path(name).suffix.lower() in _SUFFIXES]
    return f"; there are: {', '.join(documents[:5])}" if documents else ""
