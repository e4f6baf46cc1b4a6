"""Failures: turn the library's exceptions into ours. Imported late, with the library.

Of the library's own messages only the provider's words are passed on, without the key.
"""

from __future__ import annotations

from pydantic_ai.exceptions import (
    ModelAPIError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelHTTPError,
    ModelNotFoundError,
    ModelQuotaExceededError,
    ModelRateLimitError,
    ModelRequestRejectedError,
    UserError,
)

from runtrue.loop import Fault, fault_of_status
from runtrue.models.errors import (
    BadCredentials,
    ModelError,
    ModelUnavailable,
    NoAnswer,
    RequestRejected,
)
from runtrue.models.providers import Endpoint

_SAID = 300


def failure_of(error: Exception, endpoint: Endpoint) -> ModelError:
    """Return our exception for one that the library raised while it sent a request."""
    name = f"{endpoint.name} at {endpoint.host}"
    if isinstance(error, ModelConnectionError):
        return NoAnswer(
            f"{name} cannot be reached, or closed the connection", category="connection"
        )
    if isinstance(error, ModelHTTPError):
        return _refusal(error, name, endpoint)
    if isinstance(error, UserError):
        return RequestRejected(
            f"{name} rejected the request before sending it: {endpoint.redact(error.message)}"
        )
    # What came is not of the provider's protocol. What that makes the library raise can be
    # anything: it reads into the answer before it has looked at all of it.
    return NoAnswer(
        f"{name} gave an unreadable answer ({type(error).__name__}); is it the right endpoint?",
        category="protocol",
    )


def timed_out(endpoint: Endpoint, seconds: float) -> NoAnswer:
    """Return the failure of a question that was not answered in time."""
    return NoAnswer(
        f"{endpoint.name} at {endpoint.host} did not answer within {seconds:g} s",
        category="timeout",
    )


def _refusal(error: ModelHTTPError, name: str, endpoint: Endpoint) -> ModelError:
    status = error.status_code
    fault = fault_of_status(status)
    if isinstance(error, ModelAuthenticationError) or fault is Fault.CREDENTIALS:
        if endpoint.key is None:
            return BadCredentials(f"{name} needs a key ({status}); set {endpoint.key_variable}")
        return BadCredentials(f"{name} refused the key in {endpoint.key_variable} ({status})")
    said = f"({status}){_said(error, endpoint)}"
    if isinstance(error, ModelNotFoundError):
        return ModelUnavailable(f"{name} is not there {said}; check the model's name")
    if isinstance(error, ModelQuotaExceededError):
        message = f"the account for {name} has no quota or credit left {said}"
        return NoAnswer(message, category="quota", transient=False)
    if isinstance(error, ModelRequestRejectedError) or fault is Fault.CANDIDATE:
        return RequestRejected(f"{name} rejected the request {said}")
    limited = isinstance(error, ModelRateLimitError)
    return NoAnswer(
        f"{name} {'is at its rate limit' if limited else 'failed'} {said}",
        category="rate_limit" if limited else "server_error",
        retry_after=error.retry_after,
    )


def _said(error: ModelAPIError, endpoint: Endpoint) -> str:
    """Return the provider's words, from `message` of the body or of the `error` within."""
    body = error.body
    if isinstance(body, dict) and isinstance(body.get("error"), dict):
        body = body["error"]
    message = body.get("message") if isinstance(body, dict) else None
    if not isinstance(message, str) or not message.strip():
        return ""
    # The key goes first: a part of it could no longer be found.
    clean = " ".join(endpoint.redact(message).split())
    return f": {clean[:_SAID].rstrip('.')}{'…' if len(clean) > _SAID else ''}"
