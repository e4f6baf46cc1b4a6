"""Secrets: stores of tokens, keys and passwords, and the lookup of one by its name.

Begin at `secret_of`. Every `Redactor` knows what was found in a store from then on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtrue._lazy import lazy_exports

if TYPE_CHECKING:
    from runtrue.secrets.dotenv import secrets_of_project
    from runtrue.secrets.environment import EnvironmentStore
    from runtrue.secrets.file import FileStore
    from runtrue.secrets.keyring import KeyringStore
    from runtrue.secrets.lookup import Found, Secrets, remember_kept, secret_of, secrets_of
    from runtrue.secrets.store import SecretStore, StoreRefused, StoreUnavailable, problem_of_name

__all__ = lazy_exports(__name__)
