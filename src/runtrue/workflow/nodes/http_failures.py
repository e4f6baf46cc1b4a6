"""Why an HTTP request got no answer, told from the types of exceptions. Imported with httpx2."""

from __future__ import annotations

import os
import socket
import ssl
from collections.abc import Iterator
from dataclasses import dataclass

import h11
import httpx2


@dataclass(frozen=True, slots=True)
class Failure:
    """What went wrong; `what` goes on from "GET http://… failed: "."""

    category: str
    what: str
    transient: bool = False


def failure_of(error: httpx2.RequestError | httpx2.InvalidURL) -> Failure:
    """Tell why there was no answer. Nothing of the request, nor of any message, is in it."""
    causes = list(_causes(error))
    for cause in causes:
        if isinstance(cause, socket.gaierror):
            again = cause.errno == socket.EAI_AGAIN
            return Failure("dns", "its host name could not be resolved", transient=again)
        if isinstance(cause, ssl.SSLError):
            return Failure("tls", f"no secure connection, {_tls_reason(cause)}")
    match error:
        case httpx2.TimeoutException():
            return Failure("timeout", "connecting took too long", transient=True)
        case httpx2.ProxyError():
            return Failure("proxy", "the proxy did not let it through")
        case httpx2.DecodingError():
            return Failure("protocol", "the body is not encoded as its headers say")
        case httpx2.InvalidURL() | httpx2.RemoteProtocolError() if not causes:
            return Failure("redirect", "it was redirected to something that is not a URL")
        case httpx2.RemoteProtocolError() if any(isinstance(c, h11.ProtocolError) for c in causes):
            return Failure("protocol", "the answer is not HTTP, or not all of it", transient=True)
        case httpx2.RemoteProtocolError():
            return Failure("connection", "the connection was closed unanswered", transient=True)
        case _:
            return Failure("connection", _system_reason(causes), transient=True)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """What an exception was raised from, step by step."""
    if isinstance(error, BaseExceptionGroup):
        inner = error.exceptions
    elif error.__cause__ is not None:
        inner = (error.__cause__,)
    else:
        # httpcore2 drops the cause on the way, but wraps it. (Not `__context__`: that may be
        # something else altogether, which the caller was handling.)
        inner = tuple(arg for arg in error.args if isinstance(arg, BaseException))
    for cause in inner:
        yield cause
        yield from _causes(cause)


def _tls_reason(error: ssl.SSLError) -> str:
    # Only those that OpenSSL raised have these.
    reason = getattr(error, "verify_message", None) or getattr(error, "reason", None)
    return str(reason or "the handshake failed").lower().replace("_", " ")


def _system_reason(causes: list[BaseException]) -> str:
    numbers = [cause.errno for cause in causes if isinstance(cause, OSError) and cause.errno]
    return os.strerror(numbers[0]).lower() if numbers else "the connection was lost"
