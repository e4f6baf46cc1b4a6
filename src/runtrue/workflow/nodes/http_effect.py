"""The effect of an `http` node: where its request goes, and what it does there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from runtrue.workflow.effect import Effect, EffectKind
from runtrue.workflow.fill import is_known, leaves
from runtrue.workflow.nodes.http_params import SAFE, as_text, is_secret_header, url_problem
from runtrue.workflow.nodes.http_request import USERINFO

#: Headers by which a request can do more than its method says.
_OVERRIDES = frozenset({"x-http-method-override", "x-http-method", "x-method-override"})
#: A URL up to the end of its host, if that is written out.
_HOST = re.compile(r"https?://[^/?#$\\]+(?=[/?#])", re.IGNORECASE)


def request_effect(params: Mapping[str, Any]) -> Effect:
    """Return the effect of a request; the params are filled in as far as they are known."""
    url, method = params.get("url", ""), _method(params)
    reads = is_known(method) and method in SAFE
    origin, path = _parts(str(url), known=is_known(url))
    query = "" if reads else _query(str(url), params.get("params"))
    unchecked = params.get("verify", True) is not True and origin.startswith("https:")
    return Effect(
        kind=EffectKind.REQUEST,
        target=f"{origin}{path}{query}" if origin else USERINFO.sub(r"\1", str(url), count=1),
        method=method,
        detail="without checking the server's certificate" if unchecked else "",
        origin=origin,
        # What only reads is a matter of the host.
        known=is_known(method) and (bool(origin) if reads else _is_all_known(params)),
        reads=reads,
    )


def _method(params: Mapping[str, Any]) -> str:
    headers = params.get("headers")
    for name, value in headers.items() if isinstance(headers, dict) else ():
        if name.lower() in _OVERRIDES:
            return value if not is_known(value) else str(value).upper()
    method = params.get("method")
    if method is None:
        return "POST" if params.get("body") is not None or "json" in params else "GET"
    # Not `upper` of a text that is not known: that would forget it.
    return str(method).upper() if is_known(method) else method


def _is_all_known(params: Mapping[str, Any]) -> bool:
    return all(map(is_known, leaves([params.get("url"), params.get("params")])))


def _parts(url: str, *, known: bool) -> tuple[str, str]:
    """Return the origin of a URL, empty where that is not known or none, and its path."""
    import httpx2

    written = url
    if not known:
        begin = _HOST.match(url)
        if begin is None:
            return "", ""
        written = begin[0]
    try:
        if url_problem(written):
            return "", ""
        parsed = httpx2.URL(written)
    except httpx2.InvalidURL:
        return "", ""
    host = f"[{parsed.host}]" if ":" in parsed.host else parsed.host
    port = f":{parsed.port}" if parsed.port else ""
    path = parsed.raw_path.decode("ascii").partition("?")[0]
    if not known:
        path = url[len(written) :].partition("?")[0].partition("#")[0]
    return f"{parsed.scheme}://{host}{port}", path


def _query(url: str, params: Any) -> str:
    """Return the query of a request that changes something: it may say what is changed."""
    query = url.partition("#")[0].partition("?")[2]
    pairs = [pair for pair in query.split("&") if pair]
    for name, value in params.items() if isinstance(params, dict) else ():
        values = value if isinstance(value, list) else [value]
        pairs += [f"{name}={as_text(one)}" for one in values if one is not None]
    shown = (
        f"{name}=…" if is_secret_header(name) else pair
        for pair in pairs
        for name in [pair.partition("=")[0]]
    )
    text = "&".join(shown)
    return f"?{text}" if text else ""
