"""An agent that makes the edits that a test gives it."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping

_PROGRAM = """
import json, pathlib, sys
for name, text in json.loads(sys.argv[1]).items():
    file = pathlib.Path(name)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
print(sys.argv[2])
sys.exit(int(sys.argv[3]))
"""


def fake_agent(files: Mapping[str, str], *, says: str = "done", exit_code: int = 0) -> str:
    """Return the command of an agent that writes these files, for `--agent` and `fix(agent=…)`.

    Names are relative to the project. The agent needs no model, no network and no home directory.
    """
    words = (sys.executable, "-c", _PROGRAM, json.dumps(dict(files)), says, str(exit_code))
    return shlex.join(words)
