"""Shadows: new modules that Python would import in place of one that is installed."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path, PurePosixPath

_MODULE = re.compile(r"([A-Za-z_]\w*)(?:\.(?:py|pyw|pyi|pyc|so|[\w-]+\.so))?")
#: Directories that are on the path of imports in most projects that have them.
_SUFFIXES = (".py", ".pyw", ".pyi", ".pyc", ".so", ".pth")
_ROOTS = ("", "src", "lib", "python")


def shadows(file: str, known: frozenset[str], installed: frozenset[str]) -> bool:
    """True if a file that is not among the `known` ones hides an installed module from Python.

    Only from a directory that may be on the path of imports: `shop/json.py` is another module.
    """
    if file in known or PurePosixPath(file).suffix not in _SUFFIXES:
        return False
    parts = file.split("/")
    for depth in range(len(parts)):
        root = "/".join(parts[:depth])
        found = _MODULE.fullmatch(parts[depth])
        if found is None or found[1] not in installed or not _is_root(root, known):
            continue
        prefix = f"{root}/" if root else ""
        mine = (f"{prefix}{found[1]}.py", f"{prefix}{found[1]}/")
        if not any(name.startswith(mine) for name in known):
            return True
    return False


def _is_root(root: str, known: frozenset[str]) -> bool:
    """True if modules may be imported from a directory: no package, with modules in it."""
    if root in _ROOTS:
        return True
    inside = (name for name in known if name.startswith(f"{root}/"))
    direct = {rest for name in inside if "/" not in (rest := name[len(root) + 1 :])}
    return "__init__.py" not in direct and any(name.endswith(".py") for name in direct)


def installed_modules(environments: Iterable[Path]) -> frozenset[str]:
    """Return the modules of the standard library, and of what is installed in some environments."""
    site = (place for one in environments for place in one.glob("lib/python*/site-packages"))
    places = [*map(Path, sys.path), *site]
    packages = (place for place in places if place.name in ("site-packages", "dist-packages"))
    return sys.stdlib_module_names.union(*map(_modules_in, packages))


@cache
def _modules_in(place: Path) -> frozenset[str]:
    try:
        names = [entry.name for entry in place.iterdir()]
    except OSError:
        return frozenset()
    found = (_MODULE.fullmatch(name) for name in names)
    return frozenset(match[1] for match in found if match and match[1] != "__pycache__")
