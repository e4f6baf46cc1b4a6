"""A shop whose totals leave out the tax, an actor that edits it, and the command line of plans.

The features' steps and the Robot suites play on it, with real processes on real files.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

FILES = {
    "model.py": "RATE = 0.1\n",
    "handler.py": "from model import RATE\n\n\ndef total(net):\n    return net\n",
    "check_total.py": "from handler import total\n\nassert total(100) == 110, total(100)\n",
    "check_rate.py": "from model import RATE\n\nassert RATE == 0.1, RATE\n",
    "check_names.py": "raise SystemExit('`net` is too short a name')\n",
}
#: Each time it is run, it makes the next edit; after the last one, that one for ever.
ACTOR = """\
import json
import pathlib

here = pathlib.Path(__file__).parent
edits = json.loads((here / "edits.json").read_text())
turn = here / "turn"
number = int(turn.read_text()) if turn.exists() else 0
turn.write_text(str(number + 1))
file, line = edits[min(number, len(edits) - 1)]
path = pathlib.Path(file)
*lines, last = path.read_text().splitlines()
indent = last[: len(last) - len(last.lstrip())]
path.write_text("\\n".join([*lines, indent + line]) + "\\n")
"""
WAIT = 120


class Shop:
    """One project with one plan. Strings are what people type and read."""

    ROBOT_LIBRARY_SCOPE = "TEST"

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="runtrue-shop-")
        self.root = Path(self._folder.name).resolve()
        self.project = self.root / "shop"
        self.home = self.root / "home"
        self.code = 0
        self.output = ""
        #: Known until another command is run.
        self._status: dict[str, Any] | None = None
        self._plan: dict[str, Any] = {
            "instruction": "Totals must include tax",
            "strategy": {
                "steps": [
                    {
                        "id": "s1",
                        "description": "add the tax",
                        "actor": "command",
                        "command": self.actor_command(),
                        "fixes": True,
                    }
                ]
            },
            "validations": [],
        }
        for directory in (self.project, self.home):
            directory.mkdir()
        for file, text in FILES.items():
            (self.project / file).write_text(text)
        (self.root / "actor.py").write_text(ACTOR)
        self._git("init", "--quiet")
        self._commit()

    def close(self) -> None:
        """Leave nothing behind."""
        self._folder.cleanup()

    # -- what is given --------------------------------------------------------------------------

    def last_line_is(self, file: str, line: str) -> None:
        """Change the last line of a file of the project, and commit it."""
        self.user_changes(file, line)
        self._commit()

    def user_changes(self, file: str, line: str) -> None:
        """Change the last line of a file of the project, as the user does meanwhile."""
        path = self.project / file
        *lines, last = path.read_text().splitlines()
        indent = last[: len(last) - len(last.lstrip())]
        path.write_text("\n".join([*lines, indent + line]) + "\n")

    def actor_edits(self, *edits: str) -> None:
        """The edits of the actor, one after another: FILE: the new last line of it."""
        pairs = [[part.strip() for part in edit.split(":", 1)] for edit in edits]
        (self.root / "edits.json").write_text(json.dumps(pairs))

    def validation(self, name: str, mode: str = "required") -> None:
        """Add the validation that runs check_NAME.py."""
        command = f"python -B check_{name}.py"
        self._plan["validations"].append({"name": name, "mode": mode, "command": command})

    def only_file(self, file: str) -> None:
        """Let the strategy change nothing else."""
        self._plan["strategy"]["bounds"] = {"paths": [file]}

    def setting(self, key: str, value: str) -> None:
        """Set a key of the plan file; one with a dot lies in a mapping."""
        *above, last = key.split(".")
        place = self._plan
        for name in above:
            place = place.setdefault(name, {})
        try:
            place[last] = json.loads(value)
        except ValueError:
            place[last] = value

    # -- what is done ---------------------------------------------------------------------------

    def make_plan(self) -> None:
        """`runtrue plan new` with the plan as it is now."""
        file = self.root / "plan.json"
        file.write_text(json.dumps(self._plan, indent=2))
        self.runtrue("plan", "new", str(file))

    def execute(self) -> None:
        """Make the plan, and `runtrue plan execute`."""
        self.make_plan()
        self.runtrue("plan", "execute")

    def prompt(self, guidance: str) -> None:
        """`runtrue plan answer`."""
        self.runtrue("plan", "answer", self.plan_id(), guidance)

    def correct(self, name: str, *options: str) -> None:
        """`runtrue plan correct`."""
        self.runtrue("plan", "correct", name, *options)

    def actor_command(self) -> str:
        """The command line that runs the actor."""
        return f"{sys.executable} {self.root / 'actor.py'}"

    def runtrue(self, *words: str) -> None:
        """Run the command line in the project; its exit code and output are kept."""
        self._status = None
        done = self._run(*words)
        self.code, self.output = done.returncode, done.stdout + done.stderr

    # -- what is seen ---------------------------------------------------------------------------

    def status(self) -> dict[str, Any]:
        """The document of `runtrue plan status`."""
        if self._status is None:
            done = self._run("plan", "status", "--json")
            try:
                self._status = json.loads(done.stdout)
            except ValueError:
                said = f"{self.output}{done.stdout}{done.stderr}"
                raise AssertionError(f"there is no document: {said}") from None
        assert self._status is not None
        return self._status

    def plan_id(self) -> str:
        """The plan's."""
        return str(self.status()["run_id"])

    def state(self) -> str:
        """The plan's."""
        return str(self.status()["state"])

    def attempts_of(self, validation: str) -> int:
        """How many fixes were counted for a validation."""
        return int(self._metadata()["validation_attempts"].get(validation, 0))

    def results(self) -> list[str]:
        """What came of each fix that was tried."""
        return [entry["result"] for entry in self.fix_history()]

    def fix_history(self) -> list[dict[str, Any]]:
        """Every fix that was tried, as the plan records it."""
        history: list[dict[str, Any]] = self._metadata()["validation_fix_history"]
        return history

    def revisions(self) -> int:
        """How often the strategy was revised."""
        return int(self._metadata()["strategy_revisions"])

    def verdict_on(self, validation: str) -> dict[str, Any]:
        """The last verdict of a validation."""
        attempts: list[dict[str, Any]] = self.status()["attempts"]
        verdicts: list[dict[str, Any]] = [v for a in attempts for v in a["verdicts"]]
        return [verdict for verdict in verdicts if verdict["validation"] == validation][-1]

    def sandbox(self) -> Path:
        """Where the plan works."""
        return Path(self.status()["sandbox"])

    def last_line_of(self, file: str, where: str = "project") -> str:
        """The last line of a file, in the project or in the sandbox."""
        directory = self.project if where == "project" else self.sandbox()
        return (directory / file).read_text().splitlines()[-1].strip()

    # -- how ------------------------------------------------------------------------------------

    def _metadata(self) -> dict[str, Any]:
        metadata: dict[str, Any] = self.status()["plan"]["metadata"]
        return metadata

    def _run(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "runtrue", *words],
            cwd=self.project,
            env=self._environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=WAIT,
            check=False,
        )

    def _commit(self) -> None:
        self._git("add", ".")
        identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
        self._git(*identity, "commit", "--quiet", "-m", "as it was")

    def _git(self, *words: str) -> None:
        subprocess.run(["git", *words], cwd=self.project, env=self._environment(), check=True)

    def _environment(self) -> dict[str, str]:
        keep = ("LANG", "COVERAGE_PROCESS_CONFIG", "COVERAGE_PROCESS_START")
        path = (str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath))
        return {
            **{name: os.environ[name] for name in keep if name in os.environ},
            # The actor is to mend what is found, and nobody before it.
            "RUNTRUE_SEARCH_SECONDS": "0",
            # It keeps beside the project how often it was asked.
            "RUNTRUE_ISOLATION_WRITE": str(self.home.parent),
            "HOME": str(self.home),
            "PATH": os.pathsep.join(path),
        }
