"""What of runtrue_report has to be there before anything of the project is imported.

It runs inside the project's own Python, where `sitecustomize` loads it as soon as that starts, or
else runtrue_report itself. `tell` writes a line of the report, if one is wanted, and `guard`
notices changes to what judges.
"""

from __future__ import annotations  # any Python may be the project's

import importlib
import importlib.util
import os
from typing import Any

import _pytest.config


def load(name: str) -> Any:
    """A module beside this one, from its file: what is merely called so may be the project's."""
    path = os.path.join(os.path.dirname(__file__), name + ".py")
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]
    spec.loader.exec_module(module)  # type: ignore[union-attr]
    return module


def _open_report() -> Any:
    path = os.environ.pop("RUNTRUE_REPORT", None)
    if path is None:
        return None
    tell = load("runtrue_sealing").open_report(path)
    tell({"event": "opened"})
    return tell


def _begin_to_guard() -> Any:
    """Workers of pytest-xdist have no report of their own, and tell what they notice."""
    if tell is None and "PYTEST_XDIST_WORKER" not in os.environ:
        return None
    # As pytest is about to do: only what is there now can be told from what replaces it.
    for name in getattr(_pytest.config, "default_plugins", ()):
        importlib.import_module("_pytest." + name)
    guarding = load("runtrue_guard")
    guarding.compile_anew(os.getcwd())
    return guarding.Guard()


tell = _open_report()
guard = _begin_to_guard()
