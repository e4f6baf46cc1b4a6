"""Paths: which values within JSON data are meant, as in `$.items[0].name` or `$.items[*].name`.

They are the part of JSONPath (RFC 9535) that has names, indexes and wildcards, with looser bare
names. A path without a wildcard leads to one value; one with a wildcard to a list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal

import msgspec

from runtrue.documents import closest
from runtrue.workflow.path_syntax import (
    LARGEST_INDEX,
    Every,
    PathStep,
    PathSyntaxError,
    read_name,
    read_steps,
    shown,
    shown_quoted,
    spell_step,
    unexpected,
)

__all__ = ["Missing", "Path", "PathSyntaxError", "missing", "opened", "parse_path", "sentences"]

#: Text longer than this is not looked into for JSON.
LONGEST_TEXT = 10_000_000
#: How many of the available names are kept, and how many of these a sentence lists.
KEPT, LISTED = 200, 20
_LIST = (list, tuple)
#: `dict` comes first for speed: asking an abstract class is slow.
_OBJECT = (dict, Mapping)


@dataclass(frozen=True, slots=True)
class Path:
    """Names, indexes and wildcards that lead to a value. `str()` is its canonical spelling."""

    steps: tuple[PathStep, ...] = ()

    def __post_init__(self) -> None:
        for step in self.steps:
            if isinstance(step, int) and abs(step) > LARGEST_INDEX:
                raise ValueError(f"the index {step} is too large")

    @classmethod
    def of(cls, *steps: PathStep) -> Path:
        """Return the path of these steps."""
        return cls(steps)

    @property
    def is_plural(self) -> bool:
        """True if it leads to a list of what is found for every entry."""
        return Every.ENTRY in self.steps

    def __str__(self) -> str:
        return "$" + "".join(map(spell_step, self.steps))

    def find(self, value: Any, *, open_text: bool = True) -> Any | Missing:
        """Return the value at this path, or what is missing. `null` is a value.

        Unless `open_text` is off, text on the way that holds a JSON object or list is entered.
        `[*]` gives a list with one value for each entry, null where an entry has none; nothing is
        there only if no entry has it. Further wildcards add to the same list.
        """
        here = value
        try:
            for step in self.steps:
                # An index would pick a character out of text.
                if here.__class__ is str:
                    break
                here = here[step]
            else:
                return here
        except (KeyError, IndexError, TypeError):
            pass
        return self._walk(value, open_text)

    def _walk(self, value: Any, open_text: bool) -> Any | Missing:
        here = value
        for depth, step in enumerate(self.steps):
            if open_text and isinstance(here, str):
                here = opened(here)
            if isinstance(step, Every):
                return self._every(here, depth, open_text)
            if isinstance(here, _LIST):
                index = step if isinstance(step, int) else _index(step)
                if index is None or not -len(here) <= index < len(here):
                    return missing(self, depth, here)
                here = here[index]
            elif isinstance(here, _OBJECT) and step in here:
                here = here[step]
            else:
                return missing(self, depth, here)
        return here

    def _every(self, here: Any, depth: int, open_text: bool) -> list[Any] | Missing:
        if not isinstance(here, (*_LIST, *_OBJECT)):
            return missing(self, depth, here)
        rest = Path(self.steps[depth + 1 :])
        entries = list(here.values()) if isinstance(here, _OBJECT) else here
        found = [rest.find(entry, open_text=open_text) for entry in entries]
        lost = [one for one in found if isinstance(one, Missing)]
        if lost and len(lost) == len(found):
            return self._nowhere(lost, depth)
        if rest.is_plural:
            return [value for one in found if not isinstance(one, Missing) for value in one]
        return [None if isinstance(one, Missing) else one for one in found]

    def _nowhere(self, lost: list[Missing], depth: int) -> Missing:
        """Say what no entry has, with the names that any of them has in its place."""
        first = lost[0]
        alike = [one for one in lost if (one.found, one.kind) == (first.found, first.kind)]
        names = first.available
        if first.kind == "key":
            names = tuple(sorted({name for one in alike for name in one.available})[:KEPT])
        found = Path((*self.steps[: depth + 1], *first.found.steps))
        count = len(names) if first.kind == "key" else first.count
        return replace(first, path=self, found=found, available=names, count=count)


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """A path that leads nowhere: how far it exists, and what is there instead.

    `kind` says what is at `found`: an object without that `key`, a list without that `index`,
    or a `scalar`, a plain value that nothing is in. `there` and `count` describe it.
    """

    path: Path
    found: Path
    part: PathStep
    kind: Literal["key", "index", "scalar"]
    available: tuple[str, ...]
    there: str
    count: int

    def __str__(self) -> str:
        return self.sentence()

    def sentence(self, spell: Callable[[Path], str] = str) -> str:
        """Describe what is missing, with paths spelled by `spell`."""
        where = spell(self.found)
        is_name = isinstance(self.part, str)
        part = shown_quoted(str(self.part)) if is_name else spell_step(self.part)
        if self.kind == "scalar":
            return f"{where} is {self.there}, it has no {part}"
        if self.count == 0:
            return f"{where} is empty, it has no {part}"
        if self.kind == "index" and isinstance(self.part, int):
            entries = "1 entry" if self.count == 1 else f"{self.count} entries"
            return f"{where} has {entries}, {part} is not one of them"
        fits = self.kind == "key" and isinstance(self.part, str)
        what = f"{part} is not in {where}" if fits else f"{where} is {self.there}, it has no {part}"
        return f"{what}; available there: {self._listed()}{self._close()}"

    def _listed(self) -> str:
        if self.kind == "index":
            return self.available[0]
        more = self.count - LISTED
        names = ", ".join(shown(name) for name in self.available[:LISTED])
        return f"{names} … and {more} more" if more > 0 else names

    def _close(self) -> str:
        if self.kind != "key" or not isinstance(self.part, str) or len(self.part) > 100:
            return ""
        names = {name.casefold(): name for name in self.available if len(name) <= 100}
        close = closest(self.part.casefold(), names)
        return f"; did you mean {shown(names[close])}?" if close else ""


def sentences(missing: Iterable[Missing]) -> list[str]:
    """Describe what is missing, in one sentence for all names that one object lacks."""
    groups: dict[object, list[Missing]] = {}
    for one in missing:
        alike = one.kind == "key" and one.count and isinstance(one.part, str)
        groups.setdefault(one.found if alike else id(one), []).append(one)
    return [_together(group) if len(group) > 1 else str(group[0]) for group in groups.values()]


def _together(group: list[Missing]) -> str:
    parts = [shown_quoted(str(one.part)) for one in group]
    names = f"{', '.join(parts[:-1])} and {parts[-1]}"
    return f"{names} are not in {group[0].found}; available there: {group[0]._listed()}"


def missing(path: Path, depth: int, here: Any) -> Missing:
    """Describe that the step of `path` at `depth` does not exist within `here`."""
    kind: Literal["key", "index", "scalar"] = "scalar"
    available: tuple[str, ...] = ()
    if isinstance(here, _OBJECT):
        kind, available = "key", tuple(sorted(map(str, here))[:KEPT])
    elif isinstance(here, _LIST):
        kind = "index"
        if here:
            available = ("[0]" if len(here) == 1 else f"[0] … [{len(here) - 1}]",)
    return Missing(
        path=path,
        found=Path(path.steps[:depth]),
        part=path.steps[depth],
        kind=kind,
        available=available,
        there=_describe(here),
        count=0 if kind == "scalar" else len(here),
    )


@lru_cache(maxsize=4096)
def parse_path(text: str) -> Path:
    """Read a path; the leading `$.` may be left out. Raises PathSyntaxError."""
    if not text:
        raise PathSyntaxError("a path cannot be empty; $ is the whole value", text, 0)
    steps: list[Any] = []
    at = 0
    if text.startswith("$"):
        at = 1
    elif not text.startswith("["):
        name, at = read_name(text, 0)
        steps.append(name)
    more, at = read_steps(text, at)
    if at < len(text):
        raise unexpected(text, at, "'.' or '[' is")
    return Path((*steps, *more))


# -- looking ------------------------------------------------------------------------------------


def opened(text: str) -> Any:
    """Return the object or list that a text holds as JSON, or the text itself."""
    if len(text) > LONGEST_TEXT or not text.lstrip(" \t\n\r").startswith(("{", "[")):
        return text
    try:
        return msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return text


def _index(name: str) -> int | None:
    """Return the index that a bare name such as the `0` of `items.0` may also be."""
    plain = name.isascii() and name.isdigit() and len(name) <= 16
    return int(name) if plain and (name == "0" or name[0] != "0") else None


def _describe(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        if len(value) <= LONGEST_TEXT:
            return "a string"
        return f"a string of {len(value):,} characters, too long to look into"
    if isinstance(value, _OBJECT):
        return "an object"
    if isinstance(value, _LIST):
        return f"a list of {len(value)}"
    return f"a value of type {type(value).__name__}"
