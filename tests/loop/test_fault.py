"""Faults: who failed, from exception types, errnos and statuses; never from words."""

import asyncio
import errno
import http.client
import json
import socket
import ssl
import urllib.error

import pytest

from runtrue.loop import Fault, fault_of_exception, fault_of_status


def _mro(kind: type[BaseException]) -> tuple[str, ...]:
    return tuple(base.__name__ for base in kind.__mro__)


@pytest.mark.parametrize(
    ("kind", "fault"),
    [
        (AssertionError, Fault.CANDIDATE),
        (ImportError, Fault.CANDIDATE),
        (KeyError, Fault.CANDIDATE),
        (MemoryError, Fault.CANDIDATE),
        (RecursionError, Fault.CANDIDATE),
        (SyntaxError, Fault.CANDIDATE),
        (TypeError, Fault.CANDIDATE),
        (FileNotFoundError, Fault.CANDIDATE),
        (PermissionError, Fault.CANDIDATE),
        (json.JSONDecodeError, Fault.CANDIDATE),
        (asyncio.InvalidStateError, Fault.CANDIDATE),
        (ConnectionError, Fault.ENVIRONMENT),
        (ConnectionRefusedError, Fault.ENVIRONMENT),
        (ConnectionResetError, Fault.ENVIRONMENT),
        (BrokenPipeError, Fault.ENVIRONMENT),
        (http.client.RemoteDisconnected, Fault.ENVIRONMENT),
        (socket.gaierror, Fault.ENVIRONMENT),
        (socket.herror, Fault.ENVIRONMENT),
        (ssl.SSLError, Fault.ENVIRONMENT),
        (ssl.SSLCertVerificationError, Fault.ENVIRONMENT),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else str(value),
)
def test_the_classes_of_an_exception_tell_who_failed(
    kind: type[BaseException], fault: Fault
) -> None:
    assert fault_of_exception(_mro(kind)) is fault


def test_an_exception_of_a_users_own_has_the_fault_of_its_bases() -> None:
    class Unreachable(ConnectionError):
        pass

    class Wrong(ValueError):
        pass

    assert fault_of_exception(_mro(Unreachable)) is Fault.ENVIRONMENT
    assert fault_of_exception(_mro(Wrong)) is Fault.CANDIDATE


ENVIRONMENT_ERRNOS = [
    "ENOSPC",
    "EDQUOT",
    "EROFS",
    "EMFILE",
    "ENFILE",
    "ENOMEM",
    "ECONNREFUSED",
    "ECONNRESET",
    "ECONNABORTED",
    "ETIMEDOUT",
    "EHOSTUNREACH",
    "ENETUNREACH",
    "ENETDOWN",
    "EADDRNOTAVAIL",
]


@pytest.mark.parametrize("name", ENVIRONMENT_ERRNOS)
def test_an_errno_of_disk_or_network_is_the_environments(name: str) -> None:
    number = getattr(errno, name)
    assert fault_of_exception(_mro(OSError), error_number=number) is Fault.ENVIRONMENT
    assert fault_of_exception(_mro(urllib.error.URLError), error_number=number) is (
        Fault.ENVIRONMENT
    )


@pytest.mark.parametrize("name", ["ENOENT", "EEXIST", "EACCES", "EISDIR", "EINVAL", "EBADF"])
def test_any_other_errno_is_the_candidates(name: str) -> None:
    assert fault_of_exception(_mro(OSError), error_number=getattr(errno, name)) is Fault.CANDIDATE


STATUSES = {
    Fault.CREDENTIALS: [401, 403, 407],
    Fault.ENVIRONMENT: [408, 425, 429, 500, 502, 503, 504, 599],
    Fault.CANDIDATE: [200, 301, 400, 404, 405, 409, 410, 415, 418, 422, 431, 451],
}


@pytest.mark.parametrize(
    ("status", "fault"), [(s, fault) for fault, statuses in STATUSES.items() for s in statuses]
)
def test_a_status_tells_who_failed(status: int, fault: Fault) -> None:
    assert fault_of_status(status) is fault
    assert fault_of_exception(_mro(ValueError), status=status) is fault


def test_a_status_says_more_than_the_class_that_carries_it() -> None:
    assert fault_of_exception(_mro(ConnectionError), status=404) is Fault.CANDIDATE
    assert fault_of_exception(_mro(ConnectionError), status=401) is Fault.CREDENTIALS


@pytest.mark.parametrize("word", ["401", "timeout", "Connection refused", "rate limit", "ENOSPC"])
def test_words_in_a_message_or_a_name_change_nothing(word: str) -> None:
    class Speaks(ValueError):
        pass

    Speaks.__name__ = f"{word} ConnectionError"
    assert fault_of_exception(_mro(Speaks)) is Fault.CANDIDATE
    assert fault_of_exception(_mro(type(ValueError(word)))) is Fault.CANDIDATE


def test_auth_failures_are_never_the_candidates_so_that_no_fixer_is_ever_asked() -> None:
    assert {fault_of_status(status) for status in (401, 403, 407)} == {Fault.CREDENTIALS}


@pytest.mark.parametrize(
    "mro",
    [
        ("ConnectError", "NetworkError", "TransportError", "RequestError", "HTTPError"),
        ("ConnectTimeout", "TimeoutException", "TransportError", "RequestError", "HTTPError"),
        ("MaxRetryError", "RequestError", "PoolError", "HTTPError"),
        ("ClientConnectorError", "ClientOSError", "ClientConnectionError", "ClientError"),
    ],
)
def test_the_network_errors_of_the_common_http_clients_are_the_environments(
    mro: tuple[str, ...],
) -> None:
    assert fault_of_exception(mro) is Fault.ENVIRONMENT
