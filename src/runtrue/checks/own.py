"""A project's own checks: those that it configures, else those that can be found in it."""

from __future__ import annotations

from pathlib import Path

from runtrue.checks.detect import detect_checks
from runtrue.config import CheckConfig, Config


def own_checks(project: Path, config: Config) -> dict[str, CheckConfig]:
    """The configured checks by name; where there are none, the detected ones."""
    if config.checks:
        return dict(config.checks)
    found = [detected.check for detected in detect_checks(project)]
    return {check.name: CheckConfig(command=check.command) for check in found}
