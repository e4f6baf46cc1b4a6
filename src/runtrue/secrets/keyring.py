"""The keyring of the desktop as a store, through the `keyring` package where it is installed."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from runtrue.secrets.store import StoreRefused, StoreUnavailable, problem_of_name, problem_of_value

INSTALL = "pip install 'runtrue[secrets]'"
_SERVICE = "runtrue"
#: Keyrings cannot list their names: they are in an entry of their own.
_INDEX = "runtrue names"
_T = TypeVar("_T")


class KeyringStore:
    """Stores secrets with the desktop's passwords. The package is imported when it is used."""

    origin = "keyring"

    def get(self, name: str) -> str | None:
        """Return the secret of that name, if the keyring has it. Raises StoreUnavailable."""
        value: str | None = self._asked(lambda keyring: keyring.get_password(_SERVICE, name))
        return value

    def names(self) -> tuple[str, ...]:
        """Return the names that `set` has stored."""
        text = self._asked(lambda keyring: keyring.get_password(_INDEX, _INDEX))
        try:
            names = json.loads(text or "[]")
        except ValueError:
            names = []
        return tuple(sorted(str(name) for name in names)) if isinstance(names, list) else ()

    def set(self, name: str, value: str) -> None:
        """Store a secret in the keyring."""
        if problem := problem_of_name(name) or problem_of_value(value):
            raise StoreRefused(f"{name!r} cannot be stored: {problem}")
        self._asked(lambda keyring: keyring.set_password(_SERVICE, name, value))
        self._list((*self.names(), name))

    def delete(self, name: str) -> bool:
        """Remove a secret from the keyring."""
        there = self.get(name) is not None
        if there:
            self._asked(lambda keyring: keyring.delete_password(_SERVICE, name))
        if name in (names := self.names()):
            self._list(other for other in names if other != name)
        return there

    def _list(self, names: Iterable[str]) -> None:
        text = json.dumps(sorted(frozenset(names)))
        self._asked(lambda keyring: keyring.set_password(_INDEX, _INDEX, text))

    def _asked(self, ask: Callable[[Any], _T]) -> _T:
        try:
            keyring = importlib.import_module("keyring")
        except ImportError as error:
            raise StoreUnavailable(f"keyring is not installed; {INSTALL}") from error
        try:
            return ask(keyring)
        except Exception as error:
            # Backends raise whatever their desktop does, and may quote what they were given.
            raise StoreUnavailable(
                f"the keyring cannot be used ({type(error).__name__}); unlock it, or use another "
                "store"
            ) from None
