"""Templates: JSON values with references in their strings, such as `${fetch.items[0].name}`.

A template is compiled once and rendered often, against the store. A string that is nothing but
one reference becomes the referenced value itself; within text, the value becomes text. `$${` is
a literal `${`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from runtrue.documents import Pointer
from runtrue.workflow.paths import Missing, Path
from runtrue.workflow.references import (
    Reference,
    Store,
    TemplateSyntaxError,
    Unresolved,
    read_references,
)
from runtrue.workflow.secrets import EnvironmentName, SecretText

__all__ = [
    "Reference",
    "Template",
    "TemplateSyntaxError",
    "Unresolved",
    "compile_template",
    "escape",
    "has_reference",
]

Render = Callable[[Store], Any]

#: No honest params come near this; without a bound, some could exhaust the stack.
DEEPEST_VALUE = 200

_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class Template:
    """A compiled template. `references` are in order, those within others included."""

    references: tuple[Reference, ...]
    #: Fills in a store. Constant parts are shared, not copied. Raises Unresolved.
    render: Render
    _parts: tuple[str | Reference, ...] | None = None

    @property
    def constant(self) -> bool:
        """True if it contains no reference."""
        return not self.references

    @property
    def secret(self) -> bool:
        """True if it can render to markers of secrets."""
        return any(reference.secret for reference in self.references)

    def split(self) -> tuple[str | Reference, ...]:
        """Return the literal parts and the references of a string template, in order."""
        if self._parts is None:
            raise TypeError("only the template of a string can be split")
        return self._parts


def compile_template(value: Any) -> Template:
    """Make a template of any JSON value; keys are left alone. Raises TemplateSyntaxError."""
    if isinstance(value, str):
        references, parts = read_references(value, ())
        return Template(tuple(references), _string(parts), tuple(parts))
    references = []
    render = _compile(value, (), references)
    return Template(tuple(references), render or _constant(value))


def has_reference(value: Any) -> bool:
    """True if a value contains a reference, or one that is malformed."""
    try:
        return bool(compile_template(value).references)
    except TemplateSyntaxError:
        return True


def escape(text: str) -> str:
    """Return a template that renders to this very text.

    It is whole in itself: with a reference appended, a `$` at its end would escape that.
    """
    return text.replace("${", "$${")


def _compile(value: Any, pointer: Pointer, references: list[Reference]) -> Render | None:
    """Compile a value within another one; None when it renders to itself."""
    if isinstance(value, str):
        if "${" not in value:
            return None
        found, parts = read_references(value, pointer)
        references += found
        return _string(parts)
    if not isinstance(value, dict | list):
        return None
    if len(pointer) >= DEEPEST_VALUE:
        problem = f"params cannot be nested deeper than {DEEPEST_VALUE} levels"
        raise TemplateSyntaxError(problem, "", 0, pointer)
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    compiled = ((key, _compile(inner, (*pointer, key), references)) for key, inner in pairs)
    changing = [(key, render) for key, render in compiled if render is not None]
    return _container(value, changing) if changing else None


def _container(value: Any, changing: list[tuple[Any, Render]]) -> Render:
    def render(store: Store) -> Any:
        copy = value.copy()
        for key, inner in changing:
            copy[key] = inner(store)
        return copy

    return render


def _constant(value: Any) -> Render:
    return lambda _: value


def _string(parts: list[str | Reference]) -> Render:
    references = [part for part in parts if isinstance(part, Reference)]
    if not references:
        return _constant("".join(map(str, parts)))
    if any(reference.secret for reference in references):
        return _secret_text(parts)
    return _whole(references[0]) if len(parts) == 1 else _text(parts)


def _whole(reference: Reference) -> Render:
    """Look one value up. Only names are tried unseen: an index would pick out of text."""
    slow = reference.resolve
    match (reference.root, *reference.steps):
        case (str(root),):

            def one(store: Store) -> Any:
                try:
                    return store[root]
                except KeyError:
                    return slow(store)

            return one
        case (str(root), str(first)):

            def two(store: Store) -> Any:
                try:
                    return store[root][first]
                except (KeyError, TypeError):
                    return slow(store)

            return two
        case (str(root), str(first), str(second)):

            def three(store: Store) -> Any:
                try:
                    return store[root][first][second]
                except (KeyError, TypeError):
                    return slow(store)

            return three
        case _:
            return _by_path(reference)


def _by_path(reference: Reference) -> Render:
    after = reference.path
    if after is None:
        return reference.resolve
    find = Path((reference.root, *after.steps)).find

    def render(store: Store) -> Any:
        found = find(store)
        if found.__class__ is Missing:
            raise Unresolved(reference, found)
        return found

    return render


def _text(parts: list[str | Reference]) -> Render:
    literals = [part if isinstance(part, str) else "" for part in parts]
    changing = [(at, _whole(part)) for at, part in enumerate(parts) if isinstance(part, Reference)]

    def render(store: Store) -> str:
        pieces = literals.copy()
        for at, find in changing:
            value = find(store)
            pieces[at] = value if isinstance(value, str) else _encode(value).decode()
        return "".join(pieces)

    return render


def _secret_text(parts: list[str | Reference]) -> Render:
    """Render to a SecretText, in which whatever comes from the store is plain text for good."""
    pieces: list[Render] = []
    between: list[str | Reference] = []
    for part in parts:
        if isinstance(part, str) or not part.secret:
            between.append(part)
            continue
        if between:
            pieces.append(_text(between))
            between = []
        pieces.append(_constant(EnvironmentName(str(part.steps[0]))))
    if between:
        pieces.append(_text(between))
    return lambda store: SecretText(tuple([piece(store) for piece in pieces]))
