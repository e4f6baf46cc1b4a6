"""The transport of `http` nodes: httpx's, guarded. Imports httpx: import late."""

from __future__ import annotations

from typing import ClassVar

import httpcore
import httpx

from runtrue.workflow.guard import Body, Guarded


class _Body(Body, httpx.AsyncByteStream):
    """The body of an answer."""


class GuardedTransport(Guarded, httpx.AsyncBaseTransport):
    """Connects only where the user lets workflows go. Raises RefusedAddress."""

    http: ClassVar = httpx
    core: ClassVar = httpcore
    body: ClassVar = _Body
