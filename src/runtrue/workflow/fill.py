"""Fill: params as far as they are known, with what is not known yet still in its place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from runtrue.workflow.references import Reference, TemplateSyntaxError, Unresolved
from runtrue.workflow.secrets import EnvironmentName, SecretText
from runtrue.workflow.templates import compile_template


class PartialText(str):
    """Text as far as it is known: what is not, and what is secret, is its `${…}`."""

    __slots__ = ("known", "secrets")

    known: bool
    secrets: tuple[str, ...]

    def __new__(cls, text: str, *, known: bool, secrets: tuple[str, ...]) -> PartialText:
        """Make one; `secrets` are the names of those in it."""
        made = super().__new__(cls, text)
        made.known, made.secrets = known, secrets
        return made


def fill(value: Any, store: Mapping[str, Any]) -> Any:
    """Return a value of a node's params with what the store knows in place of its references.

    A text with a secret, or with a reference that leads nowhere yet, becomes a `PartialText`.
    """
    if isinstance(value, dict):
        return {key: fill(inner, store) for key, inner in value.items()}
    if isinstance(value, list):
        return [fill(inner, store) for inner in value]
    if not isinstance(value, str) or "${" not in value:
        return value
    try:
        parts = compile_template(value).split()
    except TemplateSyntaxError:
        return PartialText(value, known=False, secrets=())
    pieces = [part if isinstance(part, str) else _resolved(part, store) for part in parts]
    if len(pieces) == 1:
        return pieces[0]
    partial = [piece for piece in pieces if isinstance(piece, PartialText)]
    text = "".join(piece if isinstance(piece, str) else _as_text(piece) for piece in pieces)
    if not partial:
        return text
    secrets = tuple(name for piece in partial for name in piece.secrets)
    return PartialText(text, known=all(piece.known for piece in partial), secrets=secrets)


def is_known(value: Any) -> bool:
    """True if no part of a text is still to come."""
    return not isinstance(value, PartialText) or value.known


def secrets_of_value(value: Any) -> tuple[str, ...]:
    """Return the names of the secrets in filled params, each once."""
    return tuple(dict.fromkeys(name for leaf in leaves(value) for name in _secrets(leaf)))


def leaves(value: Any) -> Iterator[Any]:
    """Yield the values in a value that hold no others."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, Mapping):
            waiting.extend(reversed(list(one.values())))
        elif isinstance(one, list | tuple):
            waiting.extend(reversed(one))
        else:
            yield one


def _secrets(leaf: Any) -> tuple[str, ...]:
    return leaf.secrets if isinstance(leaf, PartialText) else ()


def _resolved(reference: Reference, store: Mapping[str, Any]) -> Any:
    try:
        found = reference.resolve(store)
    except Unresolved:
        return PartialText(str(reference), known=False, secrets=())
    if isinstance(found, SecretText):
        names = [part.name for part in found.parts if isinstance(part, EnvironmentName)]
        return PartialText(str(reference), known=True, secrets=tuple(names))
    return found


def _as_text(value: Any) -> str:
    return msgspec.json.encode(value, enc_hook=str).decode()
