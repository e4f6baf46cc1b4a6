"""The files of a report: whole or not there, and the same again when a run is resumed."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import msgspec

from runtrue.atomic_file import private_directory, write_atomically
from runtrue.errors import HostError
from runtrue.escalation.report import EscalationDetails


class ReportFiles(NamedTuple):
    """The paths of a report."""

    markdown: Path
    json: Path


def write_report(directory: Path, report: EscalationDetails) -> ReportFiles:
    """Write a report in both formats. Raises HostError if the disk refuses it."""
    name = f"{report.condition}-{report.attempts}-{report.rejections}"
    files = ReportFiles(directory / f"{name}.md", directory / f"{name}.json")
    data = msgspec.json.format(msgspec.json.encode(report.to_dict())) + b"\n"
    try:
        private_directory(directory)
        write_atomically(files.json, data)
        write_atomically(files.markdown, report.to_markdown().encode())
    except OSError as error:
        message = f"{directory}: the escalation's report cannot be written: {error.strerror}"
        raise HostError(message) from error
    return files
