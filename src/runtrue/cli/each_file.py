"""Files for `--each`: a run for each of their lines."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runtrue.documents import DocumentError, parse_document
from runtrue.errors import UsageError
from runtrue.foreign_text import one_line

_LONGEST_LABEL = 60


@dataclass(frozen=True, slots=True)
class EachRow:
    """The inputs that a line gives, and the number of the line."""

    line: int
    inputs: dict[str, Any]


def read_rows(file: Path) -> list[EachRow]:
    """Return the rows of a file: CSV with a header, or a JSON object on each line."""
    if file.suffix.lower() not in (".csv", ".jsonl", ".ndjson") and str(file) != "-":
        raise UsageError(f"--each {file}: give a .csv file with a header, or a .jsonl file")
    text = _read(file)
    # What is piped in says by its first character what it is.
    is_json = file.suffix.lower() != ".csv" if str(file) != "-" else text.lstrip()[:1] == "{"
    rows = list(_json_rows(file, text) if is_json else _csv_rows(file, text))
    if not rows:
        raise UsageError(f"--each {file} has no rows")
    return rows


def read_lines(file: Path) -> list[str]:
    """Return the lines of a file that name something; `#` begins a comment."""
    lines = [line.strip() for line in _read(file).splitlines()]
    found = [line for line in lines if line and not line.startswith("#")]
    if not found:
        raise UsageError(f"--each {file} names no project: write a directory on each line")
    return list(dict.fromkeys(found))


def label_of(inputs: dict[str, Any]) -> str:
    """Return a short text that a list shows a row by."""
    text = " ".join(f"{name}={value}" for name, value in inputs.items()) or "no inputs"
    return one_line(text, _LONGEST_LABEL)


def _read(file: Path) -> str:
    try:
        data = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
        return data.decode("utf-8-sig")
    except OSError as error:
        raise UsageError(f"--each {file} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"--each {file} is not UTF-8 text: byte {error.start}") from error


def _csv_rows(file: Path, text: str) -> Iterator[EachRow]:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        header = [name.strip() for name in next(reader, [])]
        if not all(header) or len(set(header)) < len(header):
            raise UsageError(
                f"--each {file}: its first line must name the inputs, each once: "
                f"{','.join(header)!r}"
            )
        for cells in reader:
            if not cells:
                continue
            if len(cells) != len(header):
                raise UsageError(
                    f"--each {file}, line {reader.line_num}: {len(cells)} values for "
                    f"{len(header)} columns ({', '.join(header)})"
                )
            yield EachRow(reader.line_num, dict(zip(header, cells, strict=True)))
    except csv.Error as error:
        raise UsageError(f"--each {file}, line {reader.line_num}: {error}") from error


def _json_rows(file: Path, text: str) -> Iterator[EachRow]:
    # Not splitlines: it also divides at characters that JSON allows within a string.
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            data = parse_document(line, name="", format="json").data
        except DocumentError as error:
            raise UsageError(f"--each {file}, line {number}: it {error.problem}") from error
        if not isinstance(data, dict):
            raise UsageError(f"--each {file}, line {number}: write a JSON object on each line")
        yield EachRow(number, data)
