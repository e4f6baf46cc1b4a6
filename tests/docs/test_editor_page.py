"""docs/howto/editor.md: what it has people copy works on what the program prints."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import textwrap
from pathlib import Path

from tests.cli.conftest import Machine, MakeProject, machine, make_project, write
from tests.cli.test_gate import SHOP, WRONG

from .pages import DOCS

__all__ = ["machine", "make_project"]

PAGE = (DOCS / "howto" / "editor.md").read_text(encoding="utf-8")
NODE = Path(sys.executable).with_name("node")
#: Line by line, as VS Code applies a pattern of several lines.
MATCH = """
const [patterns, lines] = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
const found = [];
for (let n = 0; n + patterns.length <= lines.length; n++) {
  const problem = {};
  const all = patterns.every((pattern, k) => {
    const match = new RegExp(pattern.regexp).exec(lines[n + k]);
    for (const part of ["file", "line", "message"]) {
      if (match && pattern[part]) problem[part] = match[pattern[part]];
    }
    return match !== null;
  });
  if (all) found.push(problem);
}
console.log(JSON.stringify(found));
"""


def test_the_problem_matcher_reads_what_the_gate_prints(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project(SHOP)
    write(project, WRONG)
    block = re.search(r"^    ```json\n(.*?)^    ```$", PAGE, re.M | re.S)
    assert block is not None
    (task,) = json.loads(textwrap.dedent(block[1]))["tasks"]
    program, *words = task["command"].split()
    assert program == "runtrue"
    judged = machine.runtrue(*words, cwd=project)
    assert judged.code == 2, judged.said
    given = json.dumps([task["problemMatcher"]["pattern"], judged.said.splitlines()])
    done = subprocess.run(
        [NODE, "-e", MATCH], input=given, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    (problem,) = json.loads(done.stdout)
    place = f"{problem['file']}:{problem['line']}"
    assert place in judged.said
    assert problem["file"] == "tests/test_shop.py"
    assert problem["message"].startswith("assert ")
