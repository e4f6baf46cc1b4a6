"""Secrets: where they are looked up."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class StoreKind(StrEnum):
    """A place where secrets are kept."""

    ENVIRONMENT = "environment"
    KEYRING = "keyring"
    FILE = "file"


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretsConfig:
    """`[secrets]`."""

    #: Where a secret is looked up by its name, in this order.
    stores: tuple[StoreKind, ...] = tuple(StoreKind)
