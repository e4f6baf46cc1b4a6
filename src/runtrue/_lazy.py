"""Lazy exports: a package imports the module of a name when somebody asks for the name.

A command then imports what it uses, and not all that its packages have to offer.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from importlib.abc import ResourceLoader

_IMPORT = re.compile(r"^    from (runtrue\.[\w.]+) import (?:\(([^)]*)\)|(.+))$", re.MULTILINE)
_NAME = re.compile(r"\w+")


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


def lazy_exports(package: str) -> list[str]:
    """Let a package export what it imports under `TYPE_CHECKING`; return the names for `__all__`.

    Those imports are read as text, since none of them may happen before somebody asks for a name.
    """
    this = sys.modules[package]
    loader = cast("ResourceLoader", this.__loader__)
    text = loader.get_data(str(this.__file__)).decode()
    exports = {
        name: module
        for module, several, one in _IMPORT.findall(text)
        for name in _NAME.findall(several or one)
    }
    this.__class__ = _LazyPackage
    this.__dict__["_exports"] = exports
    return sorted(exports)
