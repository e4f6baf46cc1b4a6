"""Look up secrets by name, in the configured stores and in their order."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from runtrue.plugins import PluginGroup, plugin_named
from runtrue.redaction import remember
from runtrue.secrets.environment import EnvironmentStore
from runtrue.secrets.file import FileStore
from runtrue.secrets.keyring import KeyringStore
from runtrue.secrets.store import SecretStore, StoreRefused, StoreUnavailable

_MAKE: dict[str, Callable[[], SecretStore]] = {
    "environment": lambda: EnvironmentStore(os.environ),
    "keyring": KeyringStore,
    "file": FileStore.of_user,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The name of a secret that a store has, and the name of the store."""

    name: str
    origin: str


class Secrets:
    """Several stores, of which the first that has a secret is the one it comes from."""

    def __init__(self, stores: Sequence[SecretStore], missing: Iterable[str] = ()) -> None:
        self.stores = tuple(stores)
        self._missing = list(missing)

    @classmethod
    def here(cls) -> Secrets:
        """Return the user's own stores, as configured in the current directory."""
        # Not before it is needed: models are opened without a configuration, too.
        from runtrue.config import load_config

        stores, missing = [], []
        for name in dict.fromkeys(load_config(Path.cwd()).secrets.stores):
            try:
                stores.append(_make(name))
            except StoreUnavailable as error:
                missing.append(str(error))
        return cls(stores, missing)

    @property
    def unavailable(self) -> tuple[str, ...]:
        """The reasons why some stores could not be used so far, each in a sentence."""
        return tuple(dict.fromkeys(self._missing))

    def get(self, name: str) -> str | None:
        """Return the secret of that name, from the first store that has it.

        A store that is not there is passed over; one that must not be used raises StoreRefused.
        """
        for store in self.stores:
            try:
                value = store.get(name)
            except StoreUnavailable as error:
                self._missing.append(str(error))
                continue
            if value is not None:
                if store.origin != "environment":
                    remember(name, value)
                return value
        return None

    def found(self) -> tuple[Found, ...]:
        """Return the names in all stores, in their order, without reading a value.

        A name may occur several times: the first one counts.
        """
        found = []
        for store in self.stores:
            try:
                found += [Found(name=name, origin=store.origin) for name in store.names()]
            except StoreUnavailable as error:
                self._missing.append(str(error))
        return tuple(found)


def _make(name: str) -> SecretStore:
    if name in _MAKE:
        return _MAKE[name]()
    plugin = plugin_named(PluginGroup.SECRETS, name, SecretStore)
    if plugin is None:
        raise StoreUnavailable(f"there is no store {name!r}: no plugin brings it")
    made: SecretStore = plugin()
    return made


def remember_kept() -> None:
    """Redact all of the user's file of secrets from now on.

    A command that runs as the user, and is not confined, can read that file by itself.
    """
    with suppress(StoreRefused):
        store = FileStore.of_user()
        for name in store.names():
            remember(name, store.get(name) or "")


def secret_of(name: str, environment: Mapping[str, str]) -> str | None:
    """Return the secret of that name, from the stores if this is the process's own environment.

    Any other environment is the only store. Raises StoreRefused.
    """
    return Secrets.here().get(name) if environment is os.environ else environment.get(name)


def secrets_of(names: Iterable[str], environment: Mapping[str, str]) -> dict[str, str]:
    """Return those of the named secrets that exist. Raises StoreRefused."""
    found = {name: secret_of(name, environment) for name in dict.fromkeys(names)}
    return {name: value for name, value in found.items() if value is not None}
