"""Data as typed objects: the one way to msgspec's decoders, safe to use from several threads.

msgspec works out how to read a type when it first reads one, and keeps that with the type. Two
threads that do so at once crash the process, as of 0.22. So that is done here, under a lock.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")

_lock = threading.Lock()
_known: set[Any] = set()


def convert(value: Any, form: type[T], *, strict: bool = True, str_keys: bool = False) -> T:
    """Return plain data as an object of a type. Raises `msgspec.ValidationError`."""
    _learn(form)
    return msgspec.convert(value, form, strict=strict, str_keys=str_keys)


def decode_json(text: str | bytes, form: type[T]) -> T:
    """Return JSON as an object of a type. Raises `msgspec.DecodeError`."""
    _learn(form)
    return msgspec.json.decode(text, type=form)


def json_decoder(form: type[T]) -> Callable[[str | bytes], T]:
    """Return what reads JSON as objects of a type, for those who read many."""
    with _lock:
        return msgspec.json.Decoder(form).decode


def _learn(form: Any) -> None:
    if form not in _known:
        with _lock:
            msgspec.json.Decoder(form)
        _known.add(form)
