"""The `http` node: sends a request, and gives what was answered."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from msgspec import Meta

from runtrue import __version__
from runtrue.addresses import Allowed
from runtrue.config import allowed_addresses
from runtrue.errors import NodeFailed, RuntimeValidationError, UsageError
from runtrue.loop import Fault, fault_of_status
from runtrue.workflow.effect import Effect
from runtrue.workflow.node import Pointer, Result, WorkflowNode, failure
from runtrue.workflow.nodes.extract import extract, path_problems
from runtrue.workflow.nodes.http_effect import request_effect
from runtrue.workflow.nodes.http_exchange import ExchangeLimits, HttpAnswer, exchange
from runtrue.workflow.nodes.http_params import (
    AUTH_SECRETS,
    SAFE,
    HttpParams,
    is_secret_header,
    key_problem,
    written_problems,
)
from runtrue.workflow.nodes.http_request import (
    HttpRequest,
    has_secret,
    make_request,
    secret_parts,
    show_url,
)
from runtrue.workflow.nodes.http_response import read_body, read_headers
from runtrue.workflow.purpose import origin_of, same_text
from runtrue.workflow.secrets import SecretRedactor, is_secret_name, sample_text

if TYPE_CHECKING:
    import httpx2

    from runtrue.workflow.context import Context

_CONNECTIONS = 100
_LONGEST_NUMBER = 10
_STATUSES = frozenset(HTTPStatus)
#: The environment variables that httpx2 follows. (It reads no .netrc.)
_SETTINGS = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR")
#: Statuses that say that nothing was done. (Behind 408, 500, 502 and 504 it may have been.)
_REFUSALS = frozenset({*range(400, 500), 501, 503, 505} - {408})
_CREDENTIALS = ("auth", "auth_token", "api_key", "api_key_header")
_KEY = ("idempotency_key", "idempotency_header")
_SECRETS_WITHIN: dict[str, Callable[[str], bool]] = {
    "auth": AUTH_SECRETS.__contains__,
    "headers": is_secret_header,
    "params": is_secret_name,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpOutputs:
    """The outputs of an `http` node."""

    response: Annotated[
        Any, Meta(description="The body: data when it is JSON, else text, or base64 when binary.")
    ]
    response_is_binary: Annotated[bool, Meta(description="Whether response is base64.")]
    status_code: Annotated[int, Meta(description="The status, such as 200.")]
    response_headers: Annotated[
        dict[str, str], Meta(description="The headers, by their names in lower case.")
    ]
    response_time: Annotated[
        float, Meta(description="The seconds until the whole response had arrived.")
    ]
    extracted: Annotated[
        dict[str, Any] | None, Meta(description="The values picked by extract, by name.")
    ] = None
    error: Annotated[str | None, Meta(description="What failed, if something did.")] = None


class HttpNode(WorkflowNode[HttpParams]):
    """Send an HTTP request. Any status other than 2xx is a failure."""

    type = "http"
    Params = HttpParams
    Outputs = HttpOutputs
    secret_params: ClassVar[frozenset[str]] = frozenset({"auth_token", "api_key"})
    reading: ClassVar[frozenset[str]] = frozenset({"extract"})
    purpose: ClassVar[frozenset[str]] = frozenset(
        {*_CREDENTIALS, *_KEY, "method", "verify", "follow_redirects"}
    )

    async def run(self, params: HttpParams, context: Context) -> Result:
        """Send the request and read the answer."""
        request = _with_key(make_request(params), params, context)
        context.redactor.add(*request.secrets)
        bounds = ExchangeLimits(
            timeout=params.timeout,
            retries=params.retries,
            max_bytes=params.max_bytes,
            follow_redirects=params.follow_redirects,
            holds_secret=lambda body: _holds_secret(body, context.redactor),
            stays=context.objections is not None and not context.surroundings.agrees,
            is_repeatable=bool(params.idempotency_key),
        )
        if params.verify:
            return _result(await exchange(context.http(), request, bounds), bounds)
        async with make_client(verify=False) as client:
            return _result(await exchange(client, request, bounds), bounds)

    def finish(self, params: Mapping[str, Any], outputs: dict[str, Any]) -> dict[str, Any]:
        """Pick out of the response what was asked for."""
        wanted = params.get("extract")
        return outputs if wanted is None else {**outputs, "extracted": extract(wanted, outputs)}

    def has_side_effect(self, params: Mapping[str, Any]) -> bool:
        """True for all methods but those that only read."""
        method = params.get("method")
        if method is None:
            return params.get("body") is not None or "json" in params
        return not isinstance(method, str) or method.upper() not in SAFE

    def is_repeatable(self, params: Mapping[str, Any]) -> bool:
        """True if the server gets an idempotency key."""
        return params.get("idempotency_key") not in (None, False)

    def effects(self, params: Mapping[str, Any]) -> Iterator[Effect]:
        """Yield the request."""
        yield request_effect(params)

    def check(self, params: Mapping[str, Any]) -> Iterator[tuple[Pointer, str]]:
        """Yield what is wrong with params as written."""
        yield from written_problems(params)
        wanted = params.get("extract")
        if isinstance(wanted, dict):
            yield from ((("extract", name), problem) for name, problem in path_problems(wanted))

    def secrets_in(self, params: Mapping[str, Any]) -> Iterator[Pointer]:
        """Yield the credentials, also those in headers and the query, and a URL with a password."""
        yield from super().secrets_in(params)
        if isinstance(url := params.get("url"), str) and has_secret(url):
            yield ("url",)
        for param, is_secret in _SECRETS_WITHIN.items():
            if isinstance(within := params.get(param), dict):
                yield from ((param, name) for name in within if is_secret(name))

    def secret_part(self, pointer: Pointer, value: Any) -> Any:
        """Return the user and the secrets in the query of a URL; all of one with neither."""
        if pointer != ("url",) or not isinstance(value, str):
            return value
        return secret_parts(value) or value

    def same_purpose(self, before: Mapping[str, Any], after: Mapping[str, Any]) -> str | None:
        """Also refuse another host, other credentials, or other names in `extract`."""
        if reason := super().same_purpose(before, after):
            return reason
        if origin_of(before.get("url")) != origin_of(after.get("url")):
            return "its url leads to another host"
        if not same_text(self._credentials(before), self._credentials(after)):
            return "it would authenticate itself in another way"
        wanted, now = before.get("extract"), after.get("extract")
        if not isinstance(wanted, dict) or not isinstance(now, dict):
            return None if same_text(wanted, now) else "'extract' was added, removed or replaced"
        others = sorted(wanted.keys() ^ now.keys())
        return f"'extract' has other names than before: {', '.join(others)}" if others else None

    def _credentials(self, params: Mapping[str, Any]) -> dict[Pointer, Any]:
        pointers = (pointer for pointer in self.secrets_in(params) if len(pointer) > 1)
        return {(param, name): params[str(param)][name] for param, name in pointers}


def make_client(*, verify: bool = True) -> httpx2.AsyncClient:
    """Return the client that the requests of one run share: with connections, without cookies."""
    import httpx2

    from runtrue.workflow.guard import GuardedTransport

    limits = httpx2.Limits(max_connections=_CONNECTIONS, max_keepalive_connections=_CONNECTIONS)
    try:
        context = httpx2.create_ssl_context(verify=verify)
        return httpx2.AsyncClient(
            transport=GuardedTransport(_allowed(), context=context, limits=limits),
            headers={"User-Agent": f"runtrue/{__version__}"},
            timeout=None,  # each request has its own limit, for all of it
            # What one node was given must not change what another one gets.
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        )
    except (ImportError, ValueError, OSError, httpx2.InvalidURL):
        raise failure(
            f"no request can be sent, since one of {', '.join(_SETTINGS)} cannot be used",
            "http_settings",
            fault=Fault.ENVIRONMENT,
            available=_SETTINGS,
        ) from None


def _with_key(request: HttpRequest, params: HttpParams, context: Context) -> HttpRequest:
    """Add the idempotency key, if there is to be one: the same whenever the run sends this."""
    key = params.idempotency_key
    if key is None or key is False:
        return request
    if key is True:
        sent = (request.method.encode(), str(request.url).encode(), request.content or b"")
        key = context.effect_key(*sent)
    elif wrong := key_problem(key):
        raise RuntimeValidationError(wrong, category="bad_param", attempted=("idempotency_key",))
    header = params.idempotency_header.encode(), key.encode()
    return replace(request, headers=[*request.headers, header])


def _allowed() -> Allowed:
    try:
        return allowed_addresses()
    except UsageError as error:
        # Who may be talked to is not known, and no other workflow would help.
        message = f"no request can be sent: {error}"
        raise failure(message, "http_settings", fault=Fault.HUMAN) from error


def _holds_secret(body: bytes, redactor: SecretRedactor) -> bool:
    text = body.decode("utf-8", "replace")
    return redactor.redact(text) is not text


def _result(answer: HttpAnswer, bounds: ExchangeLimits) -> Result:
    headers = read_headers(answer.headers)
    response, is_binary = read_body(answer.body, headers.get("content-type", ""))
    outputs = {
        "response": response,
        "response_is_binary": is_binary,
        "status_code": answer.status,
        "response_headers": headers,
        "response_time": round(answer.seconds, 6),
    }
    if not 200 <= answer.status < 300:
        raise _bad_status(answer, outputs)
    if not answer.complete:
        raise _too_large(answer, outputs, bounds)
    return Result(outputs)


def _bad_status(answer: HttpAnswer, outputs: dict[str, Any]) -> NodeFailed:
    status, url = answer.status, show_url(answer.url)
    fault = fault_of_status(status)
    phrase = HTTPStatus(status).phrase if status in _STATUSES else ""
    return NodeFailed(
        f"{answer.method} {url} answered {status} {phrase}".rstrip(),
        category="http_status",
        fault=fault,
        sample=sample_text(outputs["response"]),
        data={
            "status": status,
            "method": answer.method,
            "url": url,
            "retry_after": _retry_after(outputs["response_headers"]),
        },
        outputs={**outputs, "error": f"HTTP {status}"},
        # Of the statuses, those are the environment's that may be gone in a moment.
        transient=fault is Fault.ENVIRONMENT,
        unchanged=status in _REFUSALS,
    )


def _retry_after(headers: Mapping[str, str]) -> float | None:
    value = headers.get("retry-after", "")
    if value.isdecimal() and len(value) < _LONGEST_NUMBER:
        return float(value)
    try:
        return max(0.0, (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return None


def _too_large(answer: HttpAnswer, outputs: dict[str, Any], bounds: ExchangeLimits) -> NodeFailed:
    url = show_url(answer.url)
    message = (
        f"{answer.method} {url} answered with more than {bounds.max_bytes} bytes; "
        "raise max_bytes to accept them"
    )
    kept = {name: outputs[name] for name in ("status_code", "response_headers", "response_time")}
    data = {"status": answer.status, "method": answer.method, "url": url}
    return failure(message, "response_too_large", kept, data=data)
