"""What others may rely on: every package exports what somebody uses, and documents it."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

import runtrue
from runtrue import errors

PACKAGE = Path(runtrue.__file__).parent
ROOT = PACKAGE.parent.parent
PACKAGES = sorted(
    ".".join(init.relative_to(PACKAGE.parent).parent.parts)
    for init in PACKAGE.glob("*/__init__.py")
)

#: Promised to people who import runtrue, whether or not runtrue itself uses them.
PROMISED = {
    "runtrue": {
        *("do", "do_async", "fix", "fix_async", "gate", "gate_async"),
        *("plan", "plan_async", "run", "run_async", "RunHandle"),
    },
    "runtrue.code": {"Record", "run_code_loop"},
    # For plugins: docs/plugins.md.
    "runtrue.escalation": {"Sender"},
    "runtrue.models": {"Endpoint", "Provider"},
    "runtrue.errors": {"RuntimeValidationError"},
    "runtrue.plan": {"AutomationProfile", "FixThenRevalidateOrchestrator", "StepRun", "Validated"},
    "runtrue.planner": {"create_planner_flow"},
    "runtrue.planner.nodes": {
        "MetadataGenerationNode",
        "ParameterPreparationNode",
        "ResultPreparationNode",
        "RuntimeValidationNode",
        "ValidatorNode",
        "WorkflowGeneratorNode",
    },
    "runtrue.testing": {"ModelServer", "fake_agent", "temporary_home"},
    "runtrue.workflow": {
        "WorkflowResult",
        "compile_workflow",
        "load_workflow",
        "run_workflow",
        "validate_workflow",
    },
}


def _exports(package: str) -> dict[str, object]:
    module = importlib.import_module(package)
    return {name: getattr(module, name) for name in module.__all__}


@cache
def _imported_from_outside() -> dict[str, set[str]]:
    """Return, by package, the names that files outside of the package import from it."""
    imported: dict[str, set[str]] = defaultdict(set)
    for folder in ("src", "tests", "benchmarks", "demo", "features"):
        for file in (ROOT / folder).rglob("*.py"):
            if "node_modules" in file.parts:
                continue
            for node in ast.walk(ast.parse(file.read_bytes())):
                if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("runtrue."):
                    package = ".".join((node.module or "").split(".")[:2])
                    if not file.is_relative_to(PACKAGE.parent.joinpath(*package.split("."))):
                        imported[package].update(alias.name for alias in node.names)
    return imported


@cache
def _names_in_signatures(package: str) -> dict[str, set[str]]:
    """Return the names in the annotations and bases of the package's classes and functions."""
    names: dict[str, set[str]] = defaultdict(set)
    for file in PACKAGE.parent.joinpath(*package.split(".")).rglob("*.py"):
        for definition in ast.parse(file.read_bytes()).body:
            if isinstance(definition, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                types: list[ast.AST] = list(getattr(definition, "bases", []))
                for node in ast.walk(definition):
                    types += [getattr(node, "annotation", None) or ast.Pass()]
                    types += [getattr(node, "returns", None) or ast.Pass()]
                words = " ".join(map(ast.unparse, types))
                names[definition.name].update(re.findall(r"\w+", words))
    return names


def _unused(package: str) -> set[str]:
    """Return the exports that nobody imports and no signature of another used export names."""
    exports = set(_exports(package))
    used: set[str] = set()
    new = exports & (_imported_from_outside()[package] | PROMISED.get(package, set()))
    while new:
        used |= new
        mentioned = set().union(*(_names_in_signatures(package)[name] for name in new))
        new = mentioned & exports - used
    return exports - used


@pytest.mark.parametrize("package", PACKAGES)
def test_every_export_is_there_once_and_documented(package: str) -> None:
    module = importlib.import_module(package)
    assert inspect.getdoc(module)
    assert len(set(module.__all__)) == len(module.__all__)
    for name, value in _exports(package).items():
        if inspect.isclass(value) or inspect.isfunction(value):
            assert inspect.getdoc(value), f"{package}.{name} has no docstring"


@pytest.mark.parametrize("package", PACKAGES)
def test_every_export_is_promised_or_used_outside_of_its_package(package: str) -> None:
    assert _unused(package) == set(), f"take these out of {package}.__all__, or use them"


@pytest.mark.parametrize("package", PROMISED)
def test_what_is_promised_is_exported(package: str) -> None:
    module = importlib.import_module(package)
    assert PROMISED[package] <= set(getattr(module, "__all__", vars(module)))


def test_an_export_that_nobody_uses_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    package = importlib.import_module("runtrue.flow")
    monkeypatch.setattr(package, "Idle", object(), raising=False)
    monkeypatch.setattr(package, "__all__", [*package.__all__, "Idle"])
    assert _unused("runtrue.flow") == {"Idle"}


# -- the exceptions -----------------------------------------------------------------------------


def _drawn() -> dict[str, str | None]:
    """Each exception in the drawing at the top of `errors`, with the one it hangs on."""
    drawn: dict[str, str | None] = {}
    above: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        if found := re.match(r"^(?P<lead>[ │├└─]*)(?P<name>[A-Z]\w+)  *\S", line):
            if not line.startswith("    "):
                continue
            depth = (len(found["lead"]) - 4) // 4
            del above[depth:]
            drawn[found["name"]] = above[-1] if above else None
            above.append(found["name"])
    return drawn


def _real() -> dict[str, str | None]:
    classes = [
        kind
        for _, kind in inspect.getmembers(errors, inspect.isclass)
        if issubclass(kind, Exception) and kind.__module__ == errors.__name__
    ]
    return {
        kind.__name__: None if kind is errors.RuntrueError else kind.__bases__[0].__name__
        for kind in classes
    }


def test_the_tree_of_exceptions_is_as_it_is_drawn() -> None:
    assert _drawn() == _real()


def test_every_exception_hangs_on_the_one_base_and_says_what_it_is_for() -> None:
    for name in _real():
        kind = getattr(errors, name)
        assert issubclass(kind, errors.RuntrueError)
        assert kind.__doc__


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (errors.RuntrueError, 1),
        (errors.UsageError, 2),
        (errors.ConfigError, 2),
        (errors.UnknownRun, 2),
        (errors.InvalidWorkflow, 2),
        (errors.NodeFailed, 1),
        (errors.JournalError, 1),
        (errors.FlowError, 1),
        (errors.RunError, 1),
        (errors.RunWaiting, 3),
    ],
)
def test_exit_codes_are_those_of_the_command_line(
    kind: type[errors.RuntrueError], code: int
) -> None:
    assert kind.exit_code == code
