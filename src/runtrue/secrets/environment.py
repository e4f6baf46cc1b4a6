"""The environment as a store: the variables that the user's shell has set."""

from __future__ import annotations

from collections.abc import Mapping

from runtrue.redaction import secrets_in
from runtrue.secrets.store import StoreRefused


class EnvironmentStore:
    """Reads the variables of an environment. It is the shell's to change."""

    origin = "environment"

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment

    def get(self, name: str) -> str | None:
        """Return the value of the variable, if it is set."""
        return self._environment.get(name)

    def names(self) -> tuple[str, ...]:
        """Return the variables that are secrets by their name; any other can be read, too."""
        return tuple(sorted(secrets_in(self._environment)))

    def set(self, name: str, value: str) -> None:
        """Refused: it would be gone with this process."""
        raise StoreRefused(
            f"secrets in the environment are set by your shell; write `export {name}=…` there"
        )

    def delete(self, name: str) -> bool:
        """Refused: it would be back with the next process."""
        raise StoreRefused(f"{name} is set in the environment; write `unset {name}` in your shell")
