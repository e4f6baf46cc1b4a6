"""How inputs and results of steps are written down: as JSON, known by a hash, large ones packed."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable
from math import isfinite
from typing import Any

import msgspec

from runtrue.errors import FlowChanged, FlowError

#: Reads a recorded result.
Decode = Callable[[bytes], Any]

#: Results from this size on are compressed.
_LARGE = 64 * 1024
#: The first byte of what zlib writes, with which no JSON begins.
_PACKED = b"x"
_LEVEL = 1
#: From this size on, what is equal anyway is not read again.
_HUGE = 1024 * 1024
_PLAIN = (str, int, bool)

#: For hashes, which must not depend on the order of keys. Results keep theirs.
_encode_in_order = msgspec.json.Encoder(order="deterministic").encode
_encode = msgspec.json.Encoder().encode


def input_hash(name: str, inputs: Any) -> str:
    """Return the hash by which the inputs of a step are recognised."""
    encoded = _encoded(_encode_in_order, name, "takes", inputs)
    return hashlib.blake2b(encoded, digest_size=16).hexdigest()


def encoded_result(name: str, result: Any, decode: Decode) -> tuple[bytes, Any]:
    """Return a result as it is recorded, and as it would be seen on replay."""
    encoded = _encoded(_encode, name, "returned", result)
    try:
        # Of a large one, as an answer of many megabytes, there is no second copy.
        seen = result if len(encoded) >= _HUGE and _is_same(result, decode) else decode(encoded)
        return packed(encoded), seen
    except msgspec.MsgspecError as error:
        raise FlowError(
            f"{name} returned something else than it is annotated with: {error}"
        ) from error


def read_result(name: str, recorded: bytes, decode: Decode) -> Any:
    """Return a recorded result. Raises FlowChanged if it is of another type."""
    try:
        return decode(unpacked(recorded))
    except msgspec.MsgspecError as error:
        raise changed(f"{name!r} was recorded with a result of another type ({error})") from error


def packed(encoded: bytes) -> bytes:
    """Return JSON as the journal keeps it: compressed if it is large."""
    return encoded if len(encoded) < _LARGE else zlib.compress(encoded, _LEVEL)


def unpacked(recorded: bytes) -> bytes:
    """Return the JSON of what the journal keeps."""
    return zlib.decompress(recorded) if recorded.startswith(_PACKED) else recorded


def _is_same(result: Any, decode: Decode) -> bool:
    """Return whether a result is equal to what would be read: plain data in a struct of its type.

    Dictionaries, lists and texts are not copied then: nobody changes what a step has returned.
    """
    kind = getattr(getattr(decode, "__self__", None), "type", None)
    if not isinstance(result, msgspec.Struct) or type(result) is not kind:
        return False
    return all(_is_plain(getattr(result, field)) for field in result.__struct_fields__)


def _is_plain(value: Any) -> bool:
    waiting = [value]
    while waiting:
        one = waiting.pop()
        kind = type(one)
        if kind is dict:
            if not all(type(key) is str for key in one):
                return False
            waiting.extend(one.values())
        elif kind is list:
            waiting.extend(one)
        elif kind is float:
            if not isfinite(one):
                return False
        elif one is not None and kind not in _PLAIN:
            return False
    return True


def changed(what: str) -> FlowChanged:
    """Return the error for a run whose flow is no longer the one that was recorded."""
    return FlowChanged(
        f"{what}: the flow was edited, or runtrue was upgraded, since the run began; "
        "start a new run"
    )


def _encoded(encode: Callable[[Any], bytes], name: str, verb: str, value: Any) -> bytes:
    try:
        return encode(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise FlowError(f"{name} {verb} something that cannot be recorded: {error}") from error
