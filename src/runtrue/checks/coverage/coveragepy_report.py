"""coverage.py: its JSON report."""

from __future__ import annotations

import msgspec

from runtrue.checks.coverage.files import Collected


class _File(msgspec.Struct):
    executed_lines: list[int]
    missing_lines: list[int]


class _Report(msgspec.Struct):
    files: dict[str, _File]


def read_coveragepy(data: bytes, collected: Collected) -> None:
    """Collect what a report says."""
    for name, file in msgspec.json.decode(data, type=_Report).files.items():
        counts = [(line, 1) for line in file.executed_lines]
        counts += [(line, 0) for line in file.missing_lines]
        collected.add(collected.own(name), counts)
