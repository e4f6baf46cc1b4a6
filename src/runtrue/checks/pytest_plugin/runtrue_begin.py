"""The parts of runtrue_report that must be loaded before anything of the project.

It runs inside the project's own Python, where `sitecustomize` loads it as soon as that starts, or
else runtrue_report itself. `write` writes a line of the report, if one is wanted, and `guard`
notices changes to the judges.
"""

from __future__ import annotations  # any Python may be the project's

import importlib
import importlib.util
import os
from typing import Any

import _pytest.config


def load(name: str) -> Any:
    """Load a module beside this one from its file: by name it might be the project's."""
    path = os.path.join(os.path.dirname(__file__), name + ".py")
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]
    spec.loader.exec_module(module)  # type: ignore[union-attr]
    return module


def _open_report() -> Any:
    path = os.environ.pop("RUNTRUE_REPORT", None)
    if path is None:
        return None
    write = load("runtrue_signed").open_report(path)
    write({"event": "opened"})
    return write


def _start_guard() -> Any:
    """Start a guard, also in workers of pytest-xdist: they pass on what they notice."""
    if write is None and "PYTEST_XDIST_WORKER" not in os.environ:
        return None
    # As pytest is about to do: a guard notices only what replaces something that it has seen.
    for name in getattr(_pytest.config, "default_plugins", ()):
        importlib.import_module("_pytest." + name)
    module = load("runtrue_guard")
    module.ignore_byte_code(os.getcwd())
    return module.Guard()


write = _open_report()
guard = _start_guard()
