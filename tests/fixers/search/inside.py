"""What runs inside the project's own Python, for tests of a part of it."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

from runtrue.fixers.search import servers


def load(*names: str) -> Any:
    """The last of these modules of the prover; it finds the others where it looks for them."""
    folder = str(Path(servers.__file__).with_name("prover"))
    sys.path.insert(0, folder)
    try:
        return [importlib.import_module(name) for name in names][-1]
    finally:
        sys.path.remove(folder)
