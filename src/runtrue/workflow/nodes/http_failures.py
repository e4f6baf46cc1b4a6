"""Why an HTTP request got no answer, by the types of exceptions. Imports httpx2: import late."""

from __future__ import annotations

import os
import socket
import ssl
from collections.abc import Iterator
from dataclasses import dataclass

import h11
import httpx2


@dataclass(frozen=True, slots=True)
class ExchangeFailure:
    """Why a request failed; `what` goes on from "GET http://… failed: "."""

    category: str
    what: str
    transient: bool = False


def failure_of(error: httpx2.RequestError | httpx2.InvalidURL) -> ExchangeFailure:
    """Return why there was no answer, without anything of the request or of a message."""
    causes = list(_causes(error))
    for cause in causes:
        if isinstance(cause, socket.gaierror):
            again = cause.errno == socket.EAI_AGAIN
            return ExchangeFailure("dns", "its host name could not be resolved", transient=again)
        if isinstance(cause, ssl.SSLError):
            return ExchangeFailure("tls", f"no secure connection: {_tls_reason(cause)}")
    match error:
        case httpx2.TimeoutException():
            return ExchangeFailure("timeout", "connecting took too long", transient=True)
        case httpx2.ProxyError():
            return ExchangeFailure("proxy", "the proxy refused it")
        case httpx2.DecodingError():
            return ExchangeFailure("protocol", "the body is not encoded as its headers say")
        case httpx2.InvalidURL() | httpx2.RemoteProtocolError() if not causes:
            return ExchangeFailure("redirect", "it was redirected to something that is not a URL")
        case httpx2.RemoteProtocolError() if any(isinstance(c, h11.ProtocolError) for c in causes):
            return ExchangeFailure(
                "protocol", "the response is not HTTP, or incomplete", transient=True
            )
        case httpx2.RemoteProtocolError():
            return ExchangeFailure(
                "connection", "the connection was closed without a response", transient=True
            )
        case _:
            return ExchangeFailure("connection", _system_reason(causes), transient=True)


def _causes(error: BaseException) -> Iterator[BaseException]:
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
