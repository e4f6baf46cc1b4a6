"""Every example of the page about Python runs, typed as it is printed."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Machine

PAGE = Path(__file__).parent.parent.parent / "docs" / "python.md"
EXAMPLES = dict(re.findall(r"^## ([^\n]+)\n\n```python\n(.*?)```", PAGE.read_text(), re.M | re.S))


def test_there_is_an_example_for_each_function() -> None:
    code = "".join(EXAMPLES.values())
    assert "FixThenRevalidateOrchestrator(" in code
    for name in ("fix", "gate", "run", "do", "plan_async", "fix_async"):
        assert f"runtrue.{name}(" in code


@pytest.mark.parametrize("title", EXAMPLES)
def test_an_example_runs_as_printed(title: str, tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    here = tmp_path / "here"
    here.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", EXAMPLES[title]],
        cwd=here,
        env=machine.env,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    if title == "Fix a project":
        assert done.stdout.startswith("passed"), done.stdout
        assert "+    return net + net * 0.2" in done.stdout
