"""What the tests of `runtrue plan` need: a project, plan files, and a script that does the work."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.cli.conftest import Done, Machine, MakeProject, write

FILES = {"handler.py": "tax = 0\n", "model.py": "RATE = 0.5\n"}

#: Does the step in handler.py; what is found wrong with it is mended in model.py.
NEEDS_MODEL = """
    if [ -z "$RUNTRUE_FINDINGS" ] || [ "$RUNTRUE_FINDINGS" = "[]" ]; then
        echo "from model import RATE" > handler.py
    else
        echo "RATE = 0.1" > model.py
    fi
"""
#: Does half of the step at first, and the rest of it when told what is wrong: both in handler.py.
NEEDS_A_FIX = """
    if grep -q one handler.py; then echo two >> handler.py; else echo one > handler.py; fi
"""
#: An agent that makes another strategy of any: it writes two itself, and mends nothing.
REVISES = """
    cat > prompt.txt
    file=$(grep -o '/[^ `]*strategy\\.yaml' prompt.txt | head -1)
    step='{description: other, actor: command, command: "echo two > handler.py"}'
    if [ -n "$file" ]; then printf 'steps:\\n- %s\\n' "$step" > "$file"; fi
    rm prompt.txt
"""
RATE_IS_RIGHT = {"name": "rate", "command": "grep -q 'RATE = 0.1' model.py"}
HAS_TWO = {"name": "two", "command": "grep -q two handler.py"}


@dataclass(frozen=True)
class Plans:
    """A project with the `runtrue plan` command."""

    machine: Machine
    project: Path

    @classmethod
    def at(cls, machine: Machine, make_project: MakeProject) -> Plans:
        return cls(machine, make_project(FILES))

    def script(self, text: str, name: str = "do.sh") -> str:
        """A command line that runs a script."""
        write(self.project.parent, {name: text})
        return f"sh {self.project.parent / name}"

    def file(self, command: str, *validations: dict[str, Any], **keys: Any) -> Path:
        """A plan file with one step, done by a command."""
        step: dict[str, Any] = {
            "id": "s1",
            "description": "add the tax",
            "actor": "command",
            "command": command,
        }
        step["fixes"] = True
        plan = {
            "instruction": "Totals must include tax",
            "strategy": {"steps": [step], "bounds": {"paths": ["handler.py"]}},
            "validations": list(validations),
            **keys,
        }
        path = self.project.parent / "plan.yaml"
        # What is JSON is YAML.
        path.write_text(json.dumps(plan))
        return path

    def run(self, *args: str | Path, **more: Any) -> Done:
        return self.machine.runtrue("plan", *args, cwd=self.project, **more)

    def use(self, path: str | Path, *args: str) -> Done:
        return self.run("new", path, *args, "--json")

    def start(self, *args: str | Path) -> subprocess.Popen[str]:
        """The same command, left to itself."""
        return subprocess.Popen(
            self.machine.argv("plan", *args),
            cwd=self.project,
            env=self.machine.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def held(self) -> str:
        """A script whose first fix is in vain, whose second opens a pipe and stays there, and whose
        third mends what is wrong.
        """
        fifo, tries = self.project.parent / "fifo", self.project.parent / "tries"
        os.mkfifo(fifo)
        return self.script(
            f"""
            if [ -z "$RUNTRUE_FINDINGS" ] || [ "$RUNTRUE_FINDINGS" = "[]" ]; then
                echo one > handler.py; exit
            fi
            echo try >> {tries}
            case $(wc -l < {tries}) in
                1) echo three >> handler.py;;
                2) echo runs > {fifo}; sleep 1000;;
                *) echo two >> handler.py;;
            esac
            """
        )

    def wait_for_the_fix(self) -> None:
        """Come back when the fix of a held script stays where it is."""
        (self.project.parent / "fifo").read_text()

    def forget_for(self, days: float) -> None:
        """Let all questions have been asked so long ago."""
        with sqlite3.connect(self.machine.journal) as db:
            db.execute("UPDATE questions SET asked_at = asked_at - ?", (days * 86_400,))
        db.close()

    def read(self, name: str) -> str:
        return (self.project / name).read_text()
