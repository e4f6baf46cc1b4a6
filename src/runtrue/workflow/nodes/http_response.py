"""HTTP responses: bytes and headers as the plain data that an `http` node returns."""

from __future__ import annotations

import base64
import codecs
from collections.abc import Iterable
from email.message import Message
from typing import Any

import msgspec

from runtrue.documents import MAX_DEPTH
from runtrue.redaction import REDACTED

_BINARY = ("image/", "audio/", "video/", "font/")
_BINARY_TYPES = frozenset(
    f"application/{media_type}"
    for media_type in (
        *("octet-stream", "pdf", "wasm", "protobuf", "x-protobuf", "msgpack", "vnd.sqlite3"),
        *("zip", "gzip", "x-gzip", "x-tar", "x-bzip2", "x-xz", "zstd", "x-7z-compressed"),
        *("msword", "vnd.ms-excel", "vnd.ms-powerpoint", "vnd.apache.parquet"),
    )
)
_BINARY_PREFIX = "application/vnd.openxmlformats-officedocument."
#: Codecs that Python has beside those for character sets; some are slow on purpose-made text.
_NO_CHARSETS = frozenset({"idna", "punycode", "unicode_escape", "raw_unicode_escape", "utf-7"})

#: How much of a body is encoded at once: base64 has whole groups of three bytes.
_PIECE = 3 * 1024 * 1024


def read_headers(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return headers by their lower-case names; those given several times are joined."""
    headers: dict[str, str] = {}
    for spelled, given in pairs:
        name = spelled.lower()
        value = _without_value(given) if name == "set-cookie" else given
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers


def _without_value(cookie: str) -> str:
    pair, mark, attributes = cookie.partition(";")
    name, equals, _ = pair.partition("=")
    return f"{name}={REDACTED}{mark}{attributes}" if equals else f"{REDACTED}{mark}{attributes}"


def read_body(body: bytes | bytearray, content_type: str) -> tuple[Any, bool]:
    """Return a body as data, and whether that is base64 because the body is not text.

    JSON is what the content type says is JSON; where it is none, the body is text.
    """
    media_type = content_type.partition(";")[0].strip().lower()
    if _is_binary(media_type):
        return _base64(body), bool(body)
    is_json = media_type in ("application/json", "text/json") or media_type.endswith("+json")
    value = _json(body) if is_json else msgspec.UNSET
    if value is not msgspec.UNSET:
        return value, False
    text = _text(body, media_type, _charset(content_type))
    if text is None:
        return _base64(body), True
    if is_json:
        # It may be JSON in another character set, or with a byte order mark.
        value = _json(text.encode())
    return (text if value is msgspec.UNSET else value), False


def _charset(content_type: str) -> str:
    message = Message()
    message["content-type"] = content_type
    return message.get_content_charset("")


def _is_binary(media_type: str) -> bool:
    if media_type.endswith("+xml"):
        return False
    return media_type.startswith((*_BINARY, _BINARY_PREFIX)) or media_type in _BINARY_TYPES


def _base64(body: bytes | bytearray) -> str:
    # Piece by piece, onto one text that grows where it is: there is never a second one.
    text = ""
    for start in range(0, len(body), _PIECE):
        text += base64.b64encode(body[start : start + _PIECE]).decode()
    return text


def _json(body: bytes | bytearray) -> Any:
    try:
        value = msgspec.json.decode(body)
    except (ValueError, RecursionError):
        return msgspec.UNSET
    return msgspec.UNSET if _is_deep(value, body) else value


def _is_deep(value: Any, body: bytes | bytearray) -> bool:
    """True if something further on could choke on the nesting."""
    if body.count(b"[") + body.count(b"{") <= MAX_DEPTH:
        return False
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(MAX_DEPTH):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if type(outer) is dict else outer)
            if type(inner) is dict or type(inner) is list
        ]
        if not level:
            return False
    return True


def _text(body: bytes | bytearray, media_type: str, charset: str) -> str | None:
    for encoding in (charset, "utf-8-sig"):
        try:
            if codecs.lookup(encoding).name not in _NO_CHARSETS:
                return body.decode(encoding)
        except (LookupError, ValueError):
            continue
    # What text was before there was UTF-8; anything can be read as that.
    if media_type.startswith("text/") and b"\0" not in body:
        return body.decode("iso-8859-1")
    return None
