"""Why there was no answer, from what exceptions were raised from; others come from real servers."""

from __future__ import annotations

import errno
import socket
import ssl

import httpcore2
import httpx2
import pytest

from runtrue.workflow.nodes.http_failures import failure_of


def raised_from(error: httpx2.RequestError, cause: BaseException) -> httpx2.RequestError:
    error.__cause__ = cause
    return error


REFUSED = OSError(errno.ECONNREFUSED, "x")
UNREACHABLE = OSError(errno.ENETUNREACH, "x")


@pytest.mark.parametrize(
    ("cause", "category", "what", "transient"),
    [
        (socket.gaierror(socket.EAI_AGAIN, "x"), "dns", "host name", True),
        (socket.gaierror(socket.EAI_NONAME, "x"), "dns", "host name", False),
        (ssl.SSLError(1, "x"), "tls", "the handshake failed", False),
        # All addresses of a host were tried.
        (ExceptionGroup("x", [UNREACHABLE, REFUSED]), "connection", "unreachable", True),
        (OSError("x"), "connection", "the connection was lost", True),
    ],
)
def test_the_first_cause_tells(cause: Exception, category: str, what: str, transient: bool) -> None:
    # As httpcore2 wraps what it found, and httpx2 that.
    error = raised_from(httpx2.ConnectError("x"), httpcore2.ConnectError(cause))
    failure = failure_of(error)
    assert (failure.category, failure.transient) == (category, transient)
    assert what in failure.what


def test_a_system_that_gave_up_connecting_is_a_timeout() -> None:
    failure = failure_of(httpx2.ConnectTimeout("x"))
    assert (failure.category, failure.transient) == ("timeout", True)
