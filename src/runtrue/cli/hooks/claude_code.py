"""Claude Code: a Stop hook in the project's `.claude/settings.json`.

The settings are edited as text, so that all that others wrote there stays as they wrote it.
"""

from __future__ import annotations

import json
import re
import shlex
import textwrap
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runtrue.cli.hooks.arranged import Arranged, only_here, read, shared_program, write
from runtrue.cli.project import must_be_in_repository
from runtrue.errors import UsageError

_WORDS = ["gate", "--hook", "claude-code"]
#: Seconds that the agent waits for a verdict.
_TIMEOUT = 600
_SPACE = " \t\r\n"
_DECODER = json.JSONDecoder()


class ClaudeCode:
    """The Stop hook, which holds the agent back while its change is not ready."""

    def install(self, project: Path) -> Arranged:
        """Add the hook to those that are there."""
        must_be_in_repository(project)
        file, text, settings = _load(project)
        if any(True for _ in _ours(settings)):
            return Arranged(False, f"{file} has the hook already")
        program = shared_program()
        command = shlex.join([*program, *_WORDS])
        group = {"hooks": [{"type": "command", "command": command, "timeout": _TIMEOUT}]}
        new = _added(text or "{}\n", group)
        write(file, _checked(new, file))
        return Arranged(
            True,
            f"added to {file}: Claude Code stops when `runtrue gate` lets it{only_here(program)}; "
            "take it back with `runtrue gate --uninstall claude-code`",
        )

    def remove(self, project: Path) -> Arranged:
        """Take the hook out, and what has become empty by that."""
        file, text, settings = _load(project)
        if text is None or not any(True for _ in _ours(settings)):
            return Arranged(False, f"{file} has no such hook")
        new = text
        while (path := next(_ours(json.loads(new)), None)) is not None:
            new = _removed(new, path)
        if json.loads(new) == {}:
            file.unlink()
            with suppress(OSError):  # it holds other things
                file.parent.rmdir()
        else:
            write(file, _checked(new, file))
        return Arranged(True, f"taken out of {file}")


_Path = tuple[str | int, ...]


def _load(project: Path) -> tuple[Path, str | None, dict[str, Any]]:
    file = project / ".claude" / "settings.json"
    text = read(file)
    if text is None or not text.strip():
        return file, None, {}
    try:
        settings = json.loads(text)
    except ValueError as error:
        raise UsageError(
            f"{file} is not JSON ({error}), so it is left alone; fix that first"
        ) from error
    hooks = settings.get("hooks", {}) if isinstance(settings, dict) else None
    if not isinstance(hooks, dict) or not isinstance(hooks.get("Stop", []), list):
        raise UsageError(
            f'{file} is left alone: an object was expected, with the list "Stop" in "hooks"'
        )
    return file, text, settings


def _ours(settings: dict[str, Any]) -> Iterator[_Path]:
    """Yield the paths to our hook; in a group with hooks of others, only our part."""
    for number, group in enumerate(settings.get("hooks", {}).get("Stop", [])):
        handlers = group.get("hooks") if isinstance(group, dict) else None
        for at, handler in enumerate(handlers if isinstance(handlers, list) else ()):
            command = handler.get("command") if isinstance(handler, dict) else None
            if isinstance(command, str) and _is_ours(command):
                place: _Path = ("hooks", "Stop", number)
                yield place if len(handlers or ()) == 1 else (*place, "hooks", at)


def _is_ours(command: str) -> bool:
    try:
        words = shlex.split(command)
    except ValueError:
        return False
    return words[-len(_WORDS) :] == _WORDS


def _checked(text: str, file: Path) -> str:
    """The text, if it is JSON still; it always is, unless there is a mistake here."""
    try:
        json.loads(text)
    except ValueError as error:
        raise UsageError(f"{file} is left alone: it cannot be edited safely ({error})") from error
    return text


# -- JSON as text -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Item:
    """A member of an object or an element of a list: where it begins, and its value."""

    key: str | None
    begin: int
    value: int
    end: int


def _items(text: str, start: int) -> tuple[list[_Item], int]:
    """Return the items of the object or list that opens at `start`, and where it closes."""
    items: list[_Item] = []
    at = _skip(text, start + 1)
    while text[at] not in "]}":
        begin, key = at, None
        if text[start] == "{":
            key, at = _DECODER.raw_decode(text, at)
            at = _skip(text, _skip(text, at) + 1)
        _, end = _DECODER.raw_decode(text, at)
        items.append(_Item(key, begin, at, end))
        at = _skip(text, end)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return items, at


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at


def _added(text: str, group: dict[str, Any]) -> str:
    """The text with one more group of Stop hooks, made of what is not there yet."""
    start = _skip(text, 0)
    new: Any = {"hooks": {"Stop": [group]}}
    for key in ("hooks", "Stop"):
        found = next((item for item in _items(text, start)[0] if item.key == key), None)
        if found is None:
            return _append(text, start, f"{json.dumps(key)}: ", new[key])
        start, new = found.value, new[key]
    return _append(text, start, "", group)


def _append(text: str, start: int, name: str, value: Any) -> str:
    """The text with a value at the end of the container that opens at `start`."""
    items, close = _items(text, start)
    outer = text[text.rfind("\n", 0, start) + 1 : start]
    outer = outer[: len(outer) - len(outer.lstrip())]
    unit = _unit(text)
    if not items:
        inner = outer + unit
        body = _indented(name, value, inner, unit)
        return f"{text[: start + 1]}\n{inner}{body}\n{outer}{text[close:]}"
    last = items[-1]
    # As the last one is set apart from what is before it.
    before = items[-2].end if len(items) > 1 else start
    gap = text[before : last.begin].lstrip("{[").partition(",")[2 if len(items) > 1 else 0]
    inner = gap.rpartition("\n")[2]
    body = _indented(name, value, inner, unit) if "\n" in gap else f"{name}{json.dumps(value)}"
    return f"{text[: last.end]},{gap or ' '}{body}{text[last.end :]}"


def _indented(name: str, value: Any, inner: str, unit: str) -> str:
    dumped = json.dumps(value, indent=unit, ensure_ascii=False)
    return name + textwrap.indent(dumped, inner).lstrip()


def _unit(text: str) -> str:
    """Return the indentation of one level."""
    found = re.search(r"\n([ \t]+)\S", text)
    return found[1] if found else "  "


def _removed(text: str, path: _Path) -> str:
    """The text without the value at `path`, nor the containers that hold nothing else."""
    start, places = _skip(text, 0), []
    for step in path:
        items, close = _items(text, start)
        index = step if isinstance(step, int) else [item.key for item in items].index(step)
        places.append((start, close, items, index))
        start = items[index].value
    for start, close, items, index in reversed(places):
        if len(items) == 1 and (start, close, items, index) != places[0]:
            continue
        if len(items) == 1:
            return text[: start + 1] + text[close:]
        if index + 1 < len(items):
            return text[: items[index].begin] + text[items[index + 1].begin :]
        return text[: items[index - 1].end] + text[items[index].end :]
    return text
