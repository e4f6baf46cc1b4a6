"""The environment of a person who installed runtrue with its checks; `scripts/bench` makes it."""

from __future__ import annotations

from pathlib import Path

#: Not the environment of the benchmarks: what they compare with brings plugins that every pytest
#: would load.
PYTHON = Path(__file__).parent.parent / ".venv-user" / "bin" / "python"
