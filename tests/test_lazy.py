"""Lazy exports: a command imports what it uses, and what packages export is what types see."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import runtrue

PACKAGE = Path(runtrue.__file__).parent
LAZY = [init for init in sorted(PACKAGE.rglob("__init__.py")) if "lazy_exports" in init.read_text()]


def _dotted(init: Path) -> str:
    return ".".join(["runtrue", *init.parent.relative_to(PACKAGE).parts])


def _for_types(init: Path) -> dict[str, str]:
    """The names that are imported for those who read types, each with its module."""
    nodes = [n for n in ast.walk(ast.parse(init.read_text())) if isinstance(n, ast.ImportFrom)]
    own = [node for node in nodes if (node.module or "").startswith("runtrue.")]
    names = {a.name: node.module or "" for node in own for a in node.names}
    return {name: module for name, module in names.items() if name != "lazy_exports"}


@pytest.mark.parametrize("init", LAZY, ids=_dotted)
def test_a_package_exports_what_it_imports_for_types(init: Path) -> None:
    package = importlib.import_module(_dotted(init))
    assert package._exports == _for_types(init)
    assert package.__all__ == sorted(package._exports)
    assert set(package.__all__) <= set(dir(package))


@pytest.mark.parametrize("init", LAZY, ids=_dotted)
def test_an_export_named_like_a_module_is_not_hidden_by_it(init: Path) -> None:
    package = importlib.import_module(_dotted(init))
    for name, module in package._exports.items():
        importlib.import_module(module)
        assert not isinstance(getattr(package, name), ModuleType), name


def test_a_name_that_is_not_exported_is_an_attribute_error() -> None:
    import runtrue.flow

    with pytest.raises(AttributeError, match=r"'runtrue\.flow' has no attribute 'Nothing'"):
        getattr(runtrue.flow, "Nothing")  # noqa: B009 - the attribute is what is tested


#: How many modules of ours a command may import: it should use what it imports.
MOST = {"plan list": 80, "fix --help": 20, "runs list": 72, "--help": 8}


@pytest.mark.parametrize("command", MOST)
def test_a_command_imports_what_it_uses(command: str, tmp_path: Path) -> None:
    count = (
        "import sys\n"
        f"sys.argv = ['runtrue', *{command.split()!r}]\n"
        "try:\n"
        "    import runtrue.cli; runtrue.cli.main()\n"
        "except SystemExit:\n"
        "    pass\n"
        "ours = [m for m in sys.modules if m.startswith('runtrue.')]\n"
        "print(len(ours), *sorted(ours), file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", count],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "RUNTRUE_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    number, *names = done.stderr.splitlines()[-1].split()
    assert 0 < int(number) <= MOST[command], names
