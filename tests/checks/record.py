"""Records what the real runners report of the sample projects: `python -m tests.checks.record`.

The tests that read the records need no runner. The place of the project is replaced by
`{root}`, and what reports tell of the machine itself is left out.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

from runtrue import process
from runtrue.checks import CommandCheck
from runtrue.checks.check import reader_of
from tests.checks.runners import NODE_MODULES, REPORTS, RUNNERS, copy_project
from tests.checks.runners import environment as runner_environment
from tests.checks.support import PATH

_ABOUT_THE_MACHINE = re.compile(
    r'\s*<properties>.*?</properties>|\s(?:hostname|timestamp)="[^"]*"', re.DOTALL
)
_RELATIVE = re.compile(r"(?:\.\./)+\S*?/node_modules")
#: Of a Debian machine, where it finds all it needs in the packages of the system.
_OFFLINE = "mvn -B -o -Dmaven.repo.local=/usr/share/maven-repo test"


def record(name: str, project: str, command: str) -> None:
    """Run a command on a copy of a sample project and keep what it leaves."""
    with tempfile.TemporaryDirectory() as directory:
        root, scratch = Path(directory, "project"), Path(directory, "scratch")
        scratch.mkdir()
        copy_project(project, root)
        before = set(root.rglob("*"))
        check = CommandCheck(name="tests", command=command)
        env = {**runner_environment(), "PATH": PATH, "HOME": os.environ["HOME"]}
        call = reader_of(check, root).prepare(check.argv, env, scratch)
        ended = asyncio.run(
            process.run(call.argv, cwd=root, env=call.environment, timeout=300, keep=1 << 22)
        )
        target = REPORTS / name
        shutil.rmtree(target, ignore_errors=True)
        written = [path for path in scratch.rglob("*") if path.is_file()]
        left = [path for path in root.rglob("TEST-*.xml") if path not in before]
        files = dict(_readable(path, scratch) for path in written if path.suffix != ".key")
        files |= {f"left/{path.relative_to(root)}": path.read_text() for path in left}
        if not files:
            files = {"stdout": ended.stdout.text, "stderr": ended.stderr.text}
        files["ended.json"] = json.dumps({"exit_code": ended.exit_code, "seconds": 1.0})
        for file, text in files.items():
            if not text:
                continue
            path = target / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(_without_the_machine(text, root))


def _readable(path: Path, scratch: Path) -> tuple[str, str]:
    """The name and the text of a report; of one under seal, what is under it."""
    name = f"scratch/{path.relative_to(scratch)}"
    if path.suffix != ".jsonl":
        return name, path.read_text()
    lines = [json.loads(line.split(" ", 2)[2]) for line in path.read_text().splitlines()]
    report = next(line["report"] for line in lines if line["event"] == "end")
    return name.removesuffix("l"), json.dumps(report, indent=2, ensure_ascii=False)


def _without_the_machine(text: str, root: Path) -> str:
    text = text.replace(str(NODE_MODULES), "{root}/node_modules").replace(str(root), "{root}")
    return _ABOUT_THE_MACHINE.sub("", _RELATIVE.sub("node_modules", text))


if __name__ == "__main__":
    wanted = sys.argv[1:] or [*RUNNERS, "maven"]
    for name in wanted:
        if name == "maven":
            record("maven", "junit", _OFFLINE)
        else:
            record(name, name, RUNNERS[name].command)
