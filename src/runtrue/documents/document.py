"""Files of JSON, YAML or TOML as data, with the line of every value in them."""

from __future__ import annotations

import codecs
import difflib
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeAlias

from runtrue.documents import json_text
from runtrue.documents.plain import MAX_BYTES, Misread, Pointer, find_flaw
from runtrue.errors import UsageError
from runtrue.foreign_text import visible_name

#: The formats that `read_document` reads and `dump_document` writes.
Format: TypeAlias = Literal["json", "yaml"]

_FORMATS: dict[str, Format] = {".json": "json", ".yaml": "yaml", ".yml": "yaml"}
SUFFIXES = tuple(_FORMATS)


class DocumentError(UsageError):
    """A document cannot be read; the message begins with its name, line and column."""

    def __init__(
        self, name: str, problem: str, line: int | None = None, column: int | None = None
    ) -> None:
        self.problem = problem
        self.line = line
        self.column = column
        where = ":".join(str(part) for part in (name, line, column) if part is not None)
        super().__init__(f"{where}: {problem}")


@dataclass(frozen=True)
class Document:
    """Data and the text it was read from. Without a text, no line is known."""

    data: Any
    name: str
    format: Format | Literal["toml"] = "json"
    text: str = field(default="", repr=False)

    def line(self, pointer: Pointer) -> int | None:
        """Return the line of a value, a member's being that of its key.

        For a value that is missing it is the line of the nearest one around it.
        """
        for end in range(len(pointer), -1, -1):
            offset = self._offsets.get(pointer[:end])
            if offset is not None:
                return _line_and_column(self.text, offset)[0]
        return None

    @cached_property
    def _offsets(self) -> dict[Pointer, int]:
        return _offsets(self.text, self.format) if self.text else {}


@dataclass(frozen=True, slots=True)
class Source:
    """A document, or the part of it below some keys, and how a mistake in it is reported."""

    document: Document
    error_type: type[UsageError]
    prefix: Pointer = ()
    #: What the whole is called; by default neither it nor its line is named.
    whole: str = ""

    @property
    def data(self) -> Any:
        """The data below the prefix; an empty table where there is none."""
        data = self.document.data
        for part in self.prefix:
            data = data.get(part, {}) if isinstance(data, dict) else {}
        return data

    @property
    def table(self) -> str:
        """The format's word for keys with values."""
        return "table" if self.document.format == "toml" else "mapping"

    def where(self, pointer: Pointer) -> str:
        """Return `file:line: key`, with everything visible."""
        pointer = (*self.prefix, *pointer)
        key = ".".join(str(part) or '""' for part in pointer) or self.whole
        name = self.document.name
        return f"{name}:{self.document.line(pointer)}: {visible_name(key)}" if key else name

    def error(self, pointer: Pointer, message: str) -> UsageError:
        """Return the error to raise for what is wrong with a value."""
        return self.error_type(f"{self.where(pointer)}: {visible_name(message)}")


def read_document(path: Path) -> Document:
    """Read JSON or YAML. The suffix decides the format, or else the first character does."""
    name = str(path)
    try:
        with path.open("rb") as file:
            # One byte more than allowed: a device or a pipe does not report its size.
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
        position = _line_and_column(before, len(before))
        raise DocumentError(name, "is not UTF-8 text", *position) from error
    begins_as_json = text.lstrip()[:1] in {"{", "["}
    default: Format = "json" if begins_as_json else "yaml"
    return parse_document(text, name=name, format=_FORMATS.get(path.suffix.lower(), default))


def parse_document(text: str, *, name: str, format: Format) -> Document:
    """Parse a text, called `name` in messages. Raises DocumentError."""
    text = text.removeprefix("\ufeff")
    try:
        data = _parse(text, format)
        if flaw := find_flaw(data):
            raise Misread(f"this value {flaw.problem}", _offsets(text, format).get(flaw.pointer))
    except Misread as error:
        position = () if error.offset is None else _line_and_column(text, error.offset)
        raise DocumentError(name, error.problem, *position) from error
    except RecursionError as error:
        raise DocumentError(name, "is nested too deeply") from error
    return Document(data, name, format, text)


def dump_document(data: Any, format: Format) -> str:
    """Return plain data as a readable text, which `parse_document` reads back unchanged."""
    if flaw := find_flaw(data):
        raise UsageError(f"cannot be written as {format.upper()}: {flaw}")
    if format == "json":
        return json_text.dump(data)
    from runtrue.documents import yaml_text

    return yaml_text.dump(data)


def _parse(text: str, format: Format) -> Any:
    if not text.strip():
        raise Misread("is empty")
    if format == "json":
        return json_text.read(text)
    from runtrue.documents import yaml_text

    return yaml_text.read(text)[0]


def _offsets(text: str, format: str) -> dict[Pointer, int]:
    """Return where each value of a valid text begins, counted in characters."""
    if format == "json":
        return dict(json_text.offsets(text))
    if format == "toml":
        from runtrue.documents import toml_text

        # The first of several wins: what follows may only look like a key.
        return dict(reversed(list(toml_text.offsets(text))))
    from runtrue.documents import yaml_text

    return yaml_text.read(text)[1]


def _line_and_column(text: str, offset: int) -> tuple[int, int]:
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)


def _neighbours(folder: Path, name: str = "") -> str:
    """Return the end of a message: the files of a similar name, or else the documents there."""
    try:
        names = sorted(entry.name for entry in folder.iterdir() if entry.is_file())
    except OSError:
        return "" if folder.is_dir() else f", nor a directory {folder}"
    if close := difflib.get_close_matches(name, names, n=3):
        return f"; did you mean {', '.join(close)}?"
    documents = [name for name in names if Path(name).suffix.lower() in SUFFIXES]
    return f"; available: {', '.join(documents[:5])}" if documents else ""
