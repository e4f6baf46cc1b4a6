"""Lazy exports: a package imports the module of a name when somebody asks for the name.

A command then imports what it uses, and not all that its packages have to offer.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any


class _LazyPackage(ModuleType):
    """A package whose names come from its modules, or from other packages, on demand."""

    _exports: Mapping[str, str]

    def __getattr__(self, name: str) -> Any:
        module = self._exports.get(name)
        if module is None:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(module), name)
        self.__dict__[name] = value
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        # A module is bound in its package when it is imported, also one named like an export.
        if not (name in self._exports and isinstance(value, ModuleType)):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._exports})


def lazy_exports(package: str, modules: Mapping[str, str]) -> list[str]:
    """Let a package export names by module, and return them for `__all__`.

    `modules` has the names, separated by spaces, of each module of the package; one of another
    package is written whole, behind an equals sign. The same is imported under `TYPE_CHECKING`,
    for those who read types; a test compares the two.
    """
    exports = {
        name: module[1:] if module.startswith("=") else f"{package}.{module}"
        for module, names in modules.items()
        for name in names.split()
    }
    this = sys.modules[package]
    this.__class__ = _LazyPackage
    this.__dict__["_exports"] = exports
    return sorted(exports)
