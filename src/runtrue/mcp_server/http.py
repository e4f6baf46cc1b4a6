"""The server over streamable HTTP: one token for all clients, Host and Origin checked."""

from __future__ import annotations

import hmac

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from runtrue.addresses import is_loopback
from runtrue.errors import UsageError
from runtrue.mcp_server.server import make_server
from runtrue.mcp_server.service import Service

PATH = "/mcp"


async def serve_http(service: Service, *, host: str, port: int, token: str) -> None:
    """Serve until the process is stopped. A client sends the token as `Authorization: Bearer`.

    Raises UsageError for a host that is not on this machine's loopback: put a proxy with TLS in
    front of the server to reach it from elsewhere.
    """
    if not is_loopback(host):
        raise UsageError(
            f"{host} can be reached from other machines, and this server has no TLS; "
            "use --host 127.0.0.1, and a proxy in front of it for others"
        )
    shown = f"[{host}]" if ":" in host else host
    names = [shown, "localhost"]
    security = TransportSecuritySettings(
        allowed_hosts=[f"{name}:{port}" for name in names],
        allowed_origins=[f"http://{name}:{port}" for name in names],
    )
    app = make_server(service).streamable_http_app(
        streamable_http_path=PATH, host=host, transport_security=security
    )
    config = uvicorn.Config(
        _TokenRequired(app, token), host=host, port=port, log_level="warning", access_log=False
    )
    await uvicorn.Server(config).serve()


class _TokenRequired:
    """Refuses every request without the token, before anything reads it."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            given = dict(scope["headers"]).get(b"authorization", b"")
            if not hmac.compare_digest(given, self._expected):
                response = PlainTextResponse(
                    "This server needs its token: send `Authorization: Bearer TOKEN`.\n",
                    status_code=401,
                    headers={"WWW-Authenticate": "Bearer"},
                )
                await response(scope, receive, send)
                return
        await self._app(scope, receive, send)
