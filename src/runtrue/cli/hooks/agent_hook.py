"""The stop hook of a coding agent, in the JSON file that the agent reads.

The file is edited as text, so all that others wrote there stays as they wrote it.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runtrue.cli.hooks.agent_hosts import AgentHost
from runtrue.cli.hooks.hook_change import HookChange, only_here, read, shared_program, write
from runtrue.cli.hooks.json_text import JsonPath, with_entry, with_member, without
from runtrue.cli.project import must_be_in_repository
from runtrue.errors import UsageError


@dataclass(frozen=True, slots=True)
class AgentHook:
    """Has an agent call the gate before it stops, and work on while its change is not ready."""

    host: AgentHost

    def install(self, project: Path) -> HookChange:
        """Add the hook to those that are there."""
        must_be_in_repository(project)
        file, text, settings = self._load(project)
        if self._ours(settings):
            return HookChange(False, f"{file} already has the hook")
        program = shared_program()
        command = shlex.join([*program, *self._words(project)])
        new = text or "{}\n"
        for key, value in self.host.members.items():
            if key not in settings:
                new = with_member(new, key, value)
        new = with_entry(new, ("hooks", self.host.event), self.host.entry(command))
        write(file, _checked(new, file))
        then = f"; {self.host.next_step}" if self.host.next_step else ""
        return HookChange(
            True,
            f"added to {file}: {self.host.title} stops when `runtrue gate` passes"
            f"{only_here(program)}{then}; "
            f"undo with `runtrue hooks uninstall {self.host.name}`",
        )

    def remove(self, project: Path) -> HookChange:
        """Take the hook out, and what has become empty by that."""
        file, text, settings = self._load(project)
        if text is None or not self._ours(settings):
            return HookChange(False, f"{file} has no such hook")
        new = text
        while paths := self._ours(json.loads(new)):
            new = without(new, paths[0])
        if json.loads(new) in ({}, dict(self.host.members)):
            file.unlink()
            with suppress(OSError):  # a directory holds other things
                for directory in file.relative_to(self._top(project)).parents[:-1]:
                    (self._top(project) / directory).rmdir()
        else:
            write(file, _checked(new, file))
        return HookChange(True, f"removed from {file}")

    def installed(self, project: Path) -> Path | None:
        """Return the file that has the hook, if there is one."""
        file, _, settings = self._load(project)
        return file if self._ours(settings) else None

    def _top(self, project: Path) -> Path:
        return must_be_in_repository(project).resolve() if self.host.at_top else project

    def _words(self, project: Path) -> list[str]:
        own = project.relative_to(self._top(project)).as_posix()
        return ["gate", "--hook", self.host.name, *(("--", own) if own != "." else ())]

    def _load(self, project: Path) -> tuple[Path, str | None, dict[str, Any]]:
        file, event = self._top(project) / self.host.file, self.host.event
        text = read(file)
        if text is None or not text.strip():
            return file, None, {}
        try:
            settings = json.loads(text)
        except ValueError as error:
            raise UsageError(
                f"{file} is not valid JSON ({error}) and was not changed; fix it first"
            ) from error
        hooks = settings.get("hooks", {}) if isinstance(settings, dict) else None
        if not isinstance(hooks, dict) or not isinstance(hooks.get(event, []), list):
            raise UsageError(
                f'{file} was not changed: expected an object with a list "{event}" in "hooks"'
            )
        return file, text, settings

    def _ours(self, settings: dict[str, Any]) -> list[JsonPath]:
        """Return the paths to our hook; in a group with hooks of others, only our part."""
        return list(self._find(settings))

    def _find(self, settings: dict[str, Any]) -> Iterator[JsonPath]:
        event = self.host.event
        for number, entry in enumerate(settings.get("hooks", {}).get(event, [])):
            place: JsonPath = ("hooks", event, number)
            if not self.host.grouped:
                if self._is_ours(entry):
                    yield place
                continue
            handlers = entry.get("hooks") if isinstance(entry, dict) else None
            for at, handler in enumerate(handlers if isinstance(handlers, list) else ()):
                if self._is_ours(handler):
                    yield place if len(handlers or ()) == 1 else (*place, "hooks", at)

    def _is_ours(self, handler: Any) -> bool:
        command = handler.get("command") if isinstance(handler, dict) else None
        try:
            words = shlex.split(command) if isinstance(command, str) else []
        except ValueError:
            return False
        if "--" in words:
            words = words[: words.index("--")]
        return words[-3:] == ["gate", "--hook", self.host.name]


def _checked(text: str, file: Path) -> str:
    """Return the text, if it is JSON still; it always is, unless there is a mistake here."""
    try:
        json.loads(text)
    except ValueError as error:
        raise UsageError(
            f"{file} was not changed: runtrue cannot edit it safely ({error})"
        ) from error
    return text
