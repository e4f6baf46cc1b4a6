"""The demo runs, from anywhere, with nothing of the user's."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.project_python import project_path


def _demo(tmp_path: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "runtrue", "demo"],
        cwd=tmp_path,
        env={"PATH": project_path(), "TMPDIR": str(tmp_path), **variables},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def test_demo(tmp_path: Path) -> None:
    done = _demo(tmp_path)
    assert done.returncode == 0, done.stdout
    # In this order: findings, attempts, diff, verdict, then what is found by trying, what
    # nobody can fix, then the agent.
    rest = done.stdout
    for text in (
        "$ runtrue fix --check pytest --check ruff\n",
        "attempt 1 of 3",
        "F632",
        "fix by tool: changed shop.py",
        "+++ b/shop.py",
        "passed: ",
        "$ runtrue fix --check pytest --check ruff --apply\n",
        "applied to ",
        "assert -1800 == 180",
        "fix by search: changed prices.py",
        "percent / 100",
        "applied to ",
        "unexpected keyword argument 'language'",
        "failed: could not fix 1 finding",
        "sandboxes/",
        "$ runtrue runs show\n",
        "$ runtrue fix --agent",
        "fix by agent: changed greeting.py",
        "applied to ",
        "Guten Morgen",
        "Everything went as described.",
    ):
        assert text in rest, f"{text!r} is missing or too early:\n{done.stdout}"
        rest = rest.split(text, 1)[1]
    assert "\x1b" not in done.stdout
    assert list(tmp_path.iterdir()) == [], "something was left behind"


def test_demo_tells_when_something_went_otherwise() -> None:
    with tempfile.TemporaryDirectory() as directory:
        # A runtrue that does nothing, where the real one is looked for.
        fake = Path(directory, "venv", "bin")
        fake.mkdir(parents=True)
        (fake / "python").symlink_to(sys.executable)
        (fake / "runtrue").write_text("#!/bin/sh\nexit 0\n")
        (fake / "runtrue").chmod(0o755)
        done = subprocess.run(
            [str(fake / "python"), "-m", "runtrue", "demo"],
            env={"PATH": project_path(), "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == "the demo failed: shop.py does not hold '== \"paid\"'\n"


def test_demo_says_what_it_needs(tmp_path: Path) -> None:
    done = _demo(tmp_path, PATH="/nonexistent")
    assert done.returncode == 2
    assert "the demo needs git" in done.stdout
