"""Scopes: where a known name is valid, by host and operation, whatever the object."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote, urlsplit

#: Stands for a part of a path that differs from object to object.
ANY = "{}"

#: Words, and names such as `oauth2`. Anything else in a path may be an id, or a secret.
_WORDS = re.compile(r"[A-Za-z]{1,24}\d{0,2}(?:[-_.][A-Za-z]{1,24}\d{0,2})*")
_HASH = re.compile(r"(?=[A-Fa-f]*\d)[0-9A-Fa-f]{7,}")
_VERSION = re.compile(r"v\d+(?:\.\d+)*(?:(?:alpha|beta)\d*)?", re.IGNORECASE)
_LONGEST_WORDS = 60
_PORTS = {"http": 80, "https": 443}
#: Plurals without an `s`.
_IRREGULAR = frozenset({"children", "media", "men", "people", "women"})
_NO_PLURAL = ("ss", "us", "is")
#: Words after a collection that are not one of its objects.
_NO_OBJECT = frozenset({"all", "api", "count", "current", "latest", "me", "new", "search", "self"})


@dataclass(frozen=True, slots=True)
class OperationScope:
    """One operation of one host: `api.example.org` and `GET /users/{}?fields`."""

    host: str
    operation: str

    @classmethod
    def of_tool(cls, server: str, tool: str) -> OperationScope:
        """Return the scope of a tool of an MCP server."""
        return cls(f"mcp:{server}", tool)


def scope_of(method: str, url: str) -> OperationScope:
    """Return the scope of a request, without anything that may be an id or a secret."""
    try:
        parts = urlsplit(url.strip())
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return OperationScope("", method.upper())
    if ":" in host:
        host = f"[{host}]"
    if port is not None and port != _PORTS.get(parts.scheme.lower()):
        host = f"{host}:{port}"
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    names = sorted({name if _is_words(name) else ANY for name, _ in pairs})
    query = f"?{'&'.join(names)}" if names else ""
    return OperationScope(host, f"{method.upper()} /{'/'.join(_template(parts.path))}{query}")


def _template(path: str) -> list[str]:
    segments: list[str] = []
    for segment in map(unquote, filter(None, path.split("/"))):
        is_fixed = _VERSION.fullmatch(segment) or segment.lower() in _NO_OBJECT
        is_object = not _is_words(segment) or (segments and _is_plural(segments[-1]))
        segments.append(ANY if is_object and not is_fixed else segment)
    return segments


def _is_words(text: str) -> bool:
    return (
        len(text) <= _LONGEST_WORDS
        and _WORDS.fullmatch(text) is not None
        and _HASH.fullmatch(text) is None
    )


def _is_plural(name: str) -> bool:
    name = name.lower()
    return name in _IRREGULAR or (
        len(name) > 3 and name.endswith("s") and not name.endswith(_NO_PLURAL)
    )
