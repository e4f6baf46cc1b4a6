"""Faults: who failed. Decided from structure only, never from words in a message."""

from __future__ import annotations

import errno
from collections.abc import Collection
from enum import StrEnum


class Fault(StrEnum):
    """Who failed. Only `candidate` findings go to a fixer."""

    CANDIDATE = "candidate"
    #: The fix is outside of what the strategy allows.
    STRATEGY = "strategy"
    #: The check itself is broken: its program is missing, it found nothing to check.
    CHECK = "check"
    #: Network, disk, a package that is declared and not installed.
    ENVIRONMENT = "environment"
    CREDENTIALS = "credentials"
    #: What a person asked for is not there, or was not said: only a person can tell what is meant.
    HUMAN = "human"


#: Of the standard library (and requests, which uses the same names), httpx, urllib3 and aiohttp.
_NETWORK_EXCEPTIONS = frozenset(
    {
        *("ConnectionError", "gaierror", "herror", "SSLError"),
        *("TransportError", "MaxRetryError", "NewConnectionError", "ClientConnectionError"),
    }
)
_ENVIRONMENT_ERRNOS = frozenset(
    {
        *(errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EMFILE, errno.ENFILE, errno.ENOMEM),
        *(errno.ECONNREFUSED, errno.ECONNRESET, errno.ECONNABORTED, errno.ETIMEDOUT),
        *(errno.EHOSTUNREACH, errno.ENETUNREACH, errno.ENETDOWN, errno.EADDRNOTAVAIL),
    }
)


def fault_of_exception(
    mro: Collection[str], *, error_number: int | None = None, status: int | None = None
) -> Fault:
    """The fault behind an exception that a candidate's run raised.

    `mro` holds the names of its class and of all base classes; `error_number` is the errno of an
    OSError, `status` the HTTP status of the response it carries.
    """
    if status is not None:
        return fault_of_status(status)
    if error_number in _ENVIRONMENT_ERRNOS or not _NETWORK_EXCEPTIONS.isdisjoint(mro):
        return Fault.ENVIRONMENT
    return Fault.CANDIDATE


def fault_of_status(status: int) -> Fault:
    """The fault behind an HTTP status that was not expected."""
    if status in (401, 403, 407):
        return Fault.CREDENTIALS
    if status in (408, 425, 429) or status >= 500:
        return Fault.ENVIRONMENT
    return Fault.CANDIDATE
