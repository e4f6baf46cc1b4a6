"""The suites that the seed asks for by name, in the formats of Behave and Robot Framework."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    "command",
    [
        ("behave", "--no-color", "--format", "progress2", "features"),
        ("robot", "--output", "NONE", "--log", "NONE", "--report", "NONE", "robot"),
    ],
    ids=lambda command: command[0],
)
def test_the_suite_passes(command: tuple[str, ...]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=ROOT,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout
