"""Versions of saved workflows: every save is kept, so that one can be compared and taken back."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from runtrue.atomic_file import private_directory
from runtrue.errors import UsageError
from runtrue.typed_data import decode_json

_MOST_TRIES = 1000


class WorkflowVersion(msgspec.Struct, frozen=True, kw_only=True):
    """One version: `note` says where it came from."""

    number: int
    saved_at: datetime
    note: str = ""
    workflow: dict[str, Any]


class WorkflowVersions:
    """The versions of one saved workflow, oldest first. Deleting the workflow keeps them."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder / name
        self._name = name

    def list(self) -> list[WorkflowVersion]:
        """Return all versions that can be read."""
        found = []
        with suppress(FileNotFoundError, NotADirectoryError):
            for file in sorted(self._folder.glob("*.json")):
                with suppress(OSError, msgspec.MsgspecError):
                    found.append(decode_json(file.read_bytes(), WorkflowVersion))
        return sorted(found, key=lambda version: version.number)

    def get(self, number: int) -> WorkflowVersion:
        """Return one version. Raises UsageError."""
        versions = self.list()
        for version in versions:
            if version.number == number:
                return version
        there = ", ".join(str(version.number) for version in versions) or "none"
        raise UsageError(f"{self._name!r} has no version {number}; available: {there}")

    def add(self, workflow: Mapping[str, Any], note: str) -> int:
        """Keep a version unless it is as the latest, and return the number of the latest."""
        versions = self.list()
        latest = versions[-1] if versions else None
        if latest is not None and latest.workflow == dict(workflow):
            return latest.number
        private_directory(self._folder.parent)
        private_directory(self._folder)
        number = latest.number if latest else 0
        for _ in range(_MOST_TRIES):
            number += 1
            version = WorkflowVersion(
                number=number, saved_at=datetime.now(UTC), note=note, workflow=dict(workflow)
            )
            path, flags = self._folder / f"{number:06}.json", os.O_CREAT | os.O_EXCL | os.O_WRONLY
            with suppress(FileExistsError), os.fdopen(os.open(path, flags, 0o600), "wb") as file:
                file.write(msgspec.json.encode(version))
                return number
        raise UsageError(f"{self._folder} has too many versions: delete some")
