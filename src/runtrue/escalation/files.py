"""The files of a report: whole or not there, and the same again when a run is resumed."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path
from typing import NamedTuple

import msgspec

from runtrue.errors import HostError
from runtrue.escalation.report import EscalationReport


class ReportFiles(NamedTuple):
    """Where a report lies."""

    markdown: Path
    json: Path


def write_report(directory: Path, report: EscalationReport) -> ReportFiles:
    """Write a report in both of its forms. Raises HostError when the disk does not take it."""
    name = f"{report.condition}-{report.attempts}-{report.rejections}"
    files = ReportFiles(directory / f"{name}.md", directory / f"{name}.json")
    data = msgspec.json.format(msgspec.json.encode(report.to_dict())) + b"\n"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        write_whole(files.json, data)
        write_whole(files.markdown, report.to_markdown().encode())
    except OSError as error:
        message = f"{directory}: the escalation's report cannot be written: {error.strerror}"
        raise HostError(message) from error
    return files


def write_whole(file: Path, content: bytes) -> None:
    """Write a file that others see as it was, or as it is now, and never in between."""
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    try:
        with os.fdopen(handle, "wb") as written:
            written.write(content)
            written.flush()
            os.fsync(written.fileno())
        Path(name).replace(file)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise
