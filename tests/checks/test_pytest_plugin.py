"""The plugin runs inside the project's own Python, whichever that is."""

from __future__ import annotations

import ast
import importlib.resources

import pytest

NAMES = [
    "pytest_plugin/runtrue_report",
    "pytest_plugin/runtrue_coverage",
    "pytest_plugin/runtrue_signed",
    "pytest_plugin/runtrue_guard",
    "pytest_plugin/runtrue_begin",
    "pytest_plugin/sitecustomize",
    "python_start/sitecustomize",
]


@pytest.mark.parametrize("name", NAMES)
def test_an_old_python_can_read_it(name: str) -> None:
    package = importlib.resources.files("runtrue.checks")
    source = package.joinpath(f"{name}.py").read_text(encoding="utf-8")
    tree = ast.parse(source, feature_version=(3, 7))
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    assert imports[0].module == "__future__", "annotations are newer than that"
