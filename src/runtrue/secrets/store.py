"""Stores: the interface of everything that stores secrets."""

from __future__ import annotations

import re
from typing import Protocol

from runtrue.errors import HostError

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
#: More than any key has; a file by mistake is more.
_LONGEST = 65_536


class StoreRefused(HostError):
    """A store must not be used as it is: others can read it, or its content is wrong."""


class StoreUnavailable(StoreRefused):
    """A store does not exist here; the next one may do."""


class SecretStore(Protocol):
    """Stores secrets by name. Names are those of environment variables."""

    @property
    def origin(self) -> str:
        """Its name: `environment`, `keyring` or `file`."""

    def get(self, name: str) -> str | None:
        """Return the secret of that name, if it is stored here. Raises StoreRefused."""

    def names(self) -> tuple[str, ...]:
        """Return the names of the secrets stored here. Raises StoreRefused."""

    def set(self, name: str, value: str) -> None:
        """Store a secret, in place of an earlier one of that name. Raises StoreRefused."""

    def delete(self, name: str) -> bool:
        """Remove a secret; return whether there was one. Raises StoreRefused."""


def problem_of_name(name: str) -> str | None:
    """Say why no secret can have this name; None if it can."""
    if _NAME.fullmatch(name):
        return None
    return (
        "a secret is named as an environment variable is, with letters, digits and underscores: "
        "GITHUB_TOKEN"
    )


def problem_of_value(value: str) -> str | None:
    """Say why this cannot be a secret, without showing it; None if it can."""
    if not value.strip():
        return "the value is empty"
    if "\0" in value:
        return "the value contains a null character, which no variable can hold"
    if len(value) > _LONGEST:
        return f"the value has {len(value):,} characters, and {_LONGEST:,} is the limit"
    return None
