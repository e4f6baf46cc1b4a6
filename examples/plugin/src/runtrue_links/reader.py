"""Reads what `checklinks` prints into findings."""

from __future__ import annotations

import json

from runtrue.checks import Reader, Reading
from runtrue.loop import Location, Workplace
from runtrue.process import Ended


class LinkReader(Reader):
    """One finding for each dead link; the exit code decides whether the check passes."""

    def read(self, ended: Ended, workplace: Workplace) -> Reading:
        """Read the lines of JSON."""
        plain = super().read(ended, workplace)
        findings = tuple(
            self.finding(
                "dead_link",
                f"the link {one['target']} leads nowhere",
                location=Location(file=one["file"], line=one["line"]),
                data={"target": one["target"]},
            )
            for one in map(json.loads, ended.stdout.text.splitlines())
        )
        return Reading(passed=plain.passed, findings=findings or plain.findings, cases=plain.cases)
