"""The example of the plan page, typed as it is printed into an empty home."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.project_python import project_path

from .pages import DOCS
from .sessions import commands_of, normalised

_PAGE = DOCS / "loops" / "plan.md"


def _block(name: str) -> str:
    text = _PAGE.read_text(encoding="utf-8")
    found = re.search(rf"<!-- begin {name} -->\n```console\n(.*?)```\n", text, re.S)
    assert found is not None
    return found[1]


def _typed(home: Path, commands: tuple[str, ...]) -> str:
    """What a shell shows that has nothing but an empty home."""
    work = home / "tax"
    work.mkdir()
    done = subprocess.run(
        ["/bin/sh"],
        input="\n".join(commands) + "\n",
        cwd=work,
        env={"HOME": str(home), "PATH": project_path(), "LANG": "C.UTF-8"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=180,
    )
    return done.stdout.replace(str(home), "~")


@pytest.mark.parametrize("name", ["plan", "guidance"])
def test_the_example_typed_into_an_empty_home_does_what_the_page_shows(
    name: str, tmp_path: Path
) -> None:
    shown = _block(name)
    files = tuple(c for c in commands_of(_block("plan")) if c.startswith("cat >"))
    commands = commands_of(shown)
    assert len(files) == 5
    output = shown
    for command in commands:
        output = output.replace(f"$ {command}\n", "", 1)
    typed = commands if name == "plan" else (*files, *commands)
    # Reading from the terminal is not what the page is about: a shell without one is enough.
    found = _typed(tmp_path.resolve(), tuple(f"{{ {command}\n}} < /dev/null" for command in typed))
    assert normalised(found) == normalised(output)
