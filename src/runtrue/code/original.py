"""The code before a change that is judged by it: run once, to compare with."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runtrue.code.place import Place
from runtrue.code.request import CodeRequest
from runtrue.flow import Node, emit
from runtrue.loop import MATCH, History, Verdict
from runtrue.sandbox import content_at

Shared = dict[str, Any]


def judged_by_original(request: CodeRequest) -> bool:
    """Whether a change is held to what the code before it came to."""
    requirement = request.requirement
    return requirement is not None and requirement.minimum_coverage == MATCH


@dataclass(frozen=True, slots=True)
class OriginalInputs:
    """The candidate that holds the change."""

    candidate: str


class OriginalNode(Node):
    """Runs the checks on the files as they were before the change."""

    def __init__(self, name: str, place: Place) -> None:
        super().__init__(name)
        self.place = place

    def prep(self, shared: Shared) -> OriginalInputs:
        """What to come back to."""
        return OriginalInputs(shared["candidate"])

    async def exec(self, inputs: OriginalInputs) -> tuple[Verdict, ...]:
        """Put the changed files back, run the checks, and bring the change in again."""
        request, sandbox = self.place.request, self.place.sandbox
        emit("before_started")
        try:
            for file in request.changes or {}:
                original = content_at(sandbox.top, request.against or "HEAD", file)
                put(sandbox.directory / file, original)
            verdicts = []
            for check in request.checks:
                emit("check_started", check=check.name)
                verdicts.append(await check.run(sandbox.workplace()))
            return tuple(verdicts)
        finally:
            sandbox.restore(inputs.candidate)

    def post(self, shared: Shared, inputs: OriginalInputs, result: tuple[Verdict, ...]) -> None:
        """The baseline of the verdict."""
        shared["history"] = History(before=result)


def put(path: Path, content: bytes | None) -> None:
    """Write a file, or remove it where there is none to be."""
    if content is None:
        path.unlink(missing_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
