"""Start-up of the command line, beside that of the bare interpreter."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.measure import Contender, Table, Target, interleave, row

ROUNDS = 25
WARM_UP = 3  # the first one compiles the modules

PYTHON = "python -c pass"
HELP = "runtrue --help"
VERSION = "runtrue --version"
LIST = "runtrue runs list, no runs yet"
CLICK = 'python -c "import click"'


def run() -> Table:
    # The link in the environment's folder, not what it leads to: it decides which packages are
    # found, and both programs are to find the same.
    python = sys.executable
    runtrue = str(Path(python).with_name("runtrue"))
    with tempfile.TemporaryDirectory() as folder:
        samples = interleave(
            {
                PYTHON: start([python, "-c", "pass"], folder),
                HELP: start([runtrue, "--help"], folder),
                VERSION: start([runtrue, "--version"], folder),
                LIST: start([runtrue, "runs", "list"], folder),
                CLICK: start([python, "-c", "import click"], folder),
            },
            rounds=ROUNDS,
            warm_up=WARM_UP,
        )
    return Table(
        title="startup: from starting a program to its end, warm",
        unit="ms",
        rows=(
            row(samples, PYTHON),
            row(samples, HELP, of=PYTHON, target=Target("≤", 8)),
            row(samples, VERSION, of=PYTHON),
            row(samples, LIST, of=PYTHON),
            row(samples, CLICK, of=PYTHON),
        ),
        notes=(f"medians of {ROUNDS} interleaved rounds, all with the same interpreter",),
    )


def start(command: list[str], folder: str) -> Contender:
    # Settings of the caller's Python could hinder one of them, as one without compiled files.
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    environment["RUNTRUE_HOME"] = folder

    def sample() -> float:
        begin = time.perf_counter()
        subprocess.run(command, check=True, cwd=folder, env=environment, stdout=subprocess.DEVNULL)
        return (time.perf_counter() - begin) * 1e3

    return sample
