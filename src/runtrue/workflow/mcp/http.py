"""A server that is spoken to over Streamable HTTP. Imports the SDK: import late.

The SDK hides the status of a failed request, and a request that cannot be sent ends the whole
session with all its calls. So the client here gives such a request an answer of its own: a JSON-RPC
error, whose data says what happened.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import httpx2
import msgspec
from httpx2 import USE_CLIENT_DEFAULT
from mcp.client.streamable_http import MCP_SESSION_ID, streamable_http_client
from mcp.types import CONNECTION_CLOSED, INVALID_PARAMS

from runtrue.addresses import RefusedAddress
from runtrue.config import allowed_addresses, mcp_limits
from runtrue.typed_data import decode_json
from runtrue.workflow.guard import GuardedTransport
from runtrue.workflow.mcp.results import too_large
from runtrue.workflow.mcp.servers import HttpServer

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

_KEY = "runtrue/http"
_CONNECT_SECONDS = 30.0
_LIMITS = httpx2.Limits(max_connections=100, max_keepalive_connections=20)
#: Raised before a request has reached anybody.
_UNREACHED = (
    httpx2.ConnectError,
    httpx2.ConnectTimeout,
    httpx2.PoolTimeout,
    httpx2.ProxyError,
    httpx2.UnsupportedProtocol,
    httpx2.LocalProtocolError,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpFailure:
    """Why a request got no answer: the status it got instead, or how far it got.

    `broke_off` means that the server may have got it, and nothing came back; `session_lost` that
    it was refused since the server does not know our session (any more). `refused` is where it led,
    if workflows may not go there.
    """

    status: int | None = None
    broke_off: bool = False
    session_lost: bool = False
    refused: str | None = None

    @classmethod
    def behind(cls, data: Any) -> HttpFailure | None:
        """Return the failure in the data of a JSON-RPC error, or None."""
        return cls(**data[_KEY]) if isinstance(data, dict) and _KEY in data else None


class HttpConnection:
    """The connection to one server; opened once."""

    #: The process of such a server, what it prints and how it ends, is somebody else's.
    printed = ""
    alive = True
    died = False
    end = "broke off"

    def __init__(self, server: HttpServer) -> None:
        self._server = server
        #: How many answers broke off in the middle.
        self.broken = 0
        #: How the server broke a limit, as the rest of a sentence.
        self.violation: str | None = None

    @asynccontextmanager
    async def open(self) -> AsyncIterator[TransportStreams]:
        """Connect, for as long as the block lasts."""
        transport = GuardedTransport(
            allowed_addresses(), context=httpx2.create_ssl_context(), limits=_LIMITS
        )
        async with (
            # How long an answer may take is the caller's affair.
            _Client(
                self,
                transport=transport,
                headers=dict(self._server.headers),
                timeout=httpx2.Timeout(_CONNECT_SECONDS, read=None),
            ) as client,
            streamable_http_client(self._server.url, http_client=client) as streams,
        ):
            yield streams


class _Client(httpx2.AsyncClient):
    def __init__(self, connection: HttpConnection, **options: Any) -> None:
        super().__init__(**options)
        self._connection = connection

    async def send(
        self,
        request: httpx2.Request,
        *,
        stream: bool = False,
        auth: Any = USE_CLIENT_DEFAULT,
        follow_redirects: Any = USE_CLIENT_DEFAULT,
    ) -> httpx2.Response:
        """Send a request; where it is a message, there is always an answer to it."""
        options = {"stream": stream, "auth": auth, "follow_redirects": follow_redirects}
        if request.method != "POST":
            try:
                return await super().send(request, **options)
            except RefusedAddress as refused:
                raise httpx2.ConnectError(refused.message, request=request) from refused
        try:
            response = await super().send(request, **options)
        except RefusedAddress as refused:
            address = f"{refused.address}:{refused.port}"
            return _answer(request, 502, HttpFailure(refused=address), text=refused.message)
        except httpx2.TransportError as error:
            failure = HttpFailure(broke_off=not isinstance(error, _UNREACHED))
            return _answer(request, 502, failure, text=str(error) or type(error).__name__)
        if response.status_code >= 400:
            return await _explain(request, response)
        response = self._watched(response)
        is_json = response.headers.get("content-type", "").startswith("application/json")
        return await self._checked(request, response) if is_json else response

    def _watched(self, response: httpx2.Response) -> httpx2.Response:
        # Of a stream of events, the SDK limits each event.
        if isinstance(response.stream, httpx2.AsyncByteStream):
            response.stream = _Watched(response.stream, self._connection)
        return response

    async def _checked(self, request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
        """Return an answer to this request; the SDK would wait for one forever."""
        try:
            answered = _id_of(await response.aread())
        except httpx2.TransportError as error:
            return _answer(request, 502, HttpFailure(broke_off=True), text=str(error))
        asked = _id_of(request.content)
        if answered is not None and asked is not None and str(answered) != str(asked):
            violation = f"answered a request that was never made: its id is {answered!r}"
            self._connection.violation = violation
            return _answer(request, 502, HttpFailure(broke_off=True), text=violation)
        return response


class _Watched(httpx2.AsyncByteStream):
    """The body of an answer, whose size is limited and whose breaking off is counted."""

    def __init__(self, body: httpx2.AsyncByteStream, connection: HttpConnection) -> None:
        self._body = body
        self._connection = connection
        self._most = mcp_limits().answer * 2**20

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        try:
            async for chunk in self._body:
                size += len(chunk)
                if size > self._most:
                    self._connection.violation = too_large(self._most)
                    raise httpx2.ReadError("the response is too large")
                yield chunk
        except httpx2.TransportError:
            self._connection.broken += 1
            raise

    async def aclose(self) -> None:
        await self._body.aclose()


class _Identified(msgspec.Struct):
    id: int | str | None = None


def _id_of(message: bytes) -> int | str | None:
    """Return the id of a message; None if it has none, or is none."""
    try:
        return decode_json(message, _Identified).id
    except (msgspec.MsgspecError, RecursionError):
        return None


class _ErrorData(msgspec.Struct):
    code: int
    message: str


class _RpcError(msgspec.Struct):
    error: _ErrorData


async def _explain(request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
    """Put the status of a refused message where it will be seen."""
    try:
        body = await response.aread()
    except httpx2.TransportError:
        body = b""
    finally:
        await response.aclose()
    try:
        error = decode_json(body, _RpcError).error
    except ValueError:
        error = None
    status = response.status_code
    has_session = MCP_SESSION_ID in request.headers
    if error and status in (400, 404) and (not has_session or error.code == INVALID_PARAMS):
        # The newer protocol has no sessions, and gives its errors such a status.
        return httpx2.Response(
            status, headers={"content-type": "application/json"}, content=body, request=request
        )
    return _answer(
        request,
        status,
        HttpFailure(status=status, session_lost=has_session and status in (400, 404)),
        text=error.message if error else response.reason_phrase,
        code=error.code if error else CONNECTION_CLOSED,
    )


def _answer(
    request: httpx2.Request,
    status: int,
    failure: HttpFailure,
    *,
    text: str,
    code: int = CONNECTION_CLOSED,
) -> httpx2.Response:
    error = {"code": code, "message": text, "data": {_KEY: asdict(failure)}}
    return httpx2.Response(
        status, json={"jsonrpc": "2.0", "id": None, "error": error}, request=request
    )
