"""The context and the state of a run of the code loop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from runtrue.code.request import CodeRequest
from runtrue.flow import RunRow
from runtrue.home import Home
from runtrue.loop import RepairState
from runtrue.memory import DebugMemory
from runtrue.receipt import Receipt
from runtrue.run_context import RunContext, redactor_of
from runtrue.sandbox import GitSandbox, Isolation, SelfRunning, content_at


@dataclass(frozen=True, slots=True)
class CodeContext(RunContext[CodeRequest, GitSandbox]):
    """The context of `runtrue fix`, `code` and `gate`."""

    @classmethod
    def of(cls, run: RunRow, request: CodeRequest, home: Home) -> CodeContext:
        """Return the context of a recorded run."""
        sandbox = GitSandbox(
            home.sandbox(run.id),
            Path(request.project),
            kind=request.sandbox,
            staged=request.staged,
            pass_environment=request.pass_environment,
            judges=request.judges,
            isolation=Isolation(request.isolation),
        )
        redact = redactor_of(request, [check.env for check in request.checks])
        memory = DebugMemory.of(home, Path(request.project), redact=redact)
        return cls(run.id, request, home, sandbox, memory, redact)

    def changed(self, candidate: str) -> Mapping[str, frozenset[int]]:
        """Return the lines of a candidate, by file, that count as changed."""
        changes = self.request.changes
        if changes is None:
            return self.sandbox.changed_lines(candidate)
        return {file: frozenset(lines) for file, lines in changes.items()}

    def original(self, file: str) -> bytes | None:
        """Return what a file, as seen from the root, held before the change, if it was there."""
        against = self.request.against
        if against:
            return content_at(self.sandbox.top, against, file)
        return self.sandbox.original(file)

    @property
    def reports(self) -> Path:
        """The directory for reports of escalations."""
        return self.home.path / "escalations" / self.run_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A candidate that a generator has written."""

    candidate: str
    by: str
    description: str = ""
    files: tuple[str, ...] = ()
    #: Files it changed and must not change; its edits were undone.
    restored: tuple[str, ...] = ()
    #: Why nothing was written, where nothing had to be.
    skipped: str | None = None
    seconds: float = 0.0
    usage: dict[str, float] | None = None
    tests: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """What a run left in the debug memory: the session's file, and the fixes it remembers now."""

    session: str | None = None
    fixes: tuple[str, ...] = ()
    reused: tuple[str, ...] = ()
    trouble: str | None = None


@dataclass(slots=True, kw_only=True)
class CodeState(RepairState):
    """How far a run of the code loop is; reports are made of it."""

    run_id: str
    request: CodeRequest
    started_at: float | None = None
    ended_at: float | None = None
    #: The artifact as seen from the sandbox's root.
    rooted: str = ""
    #: The version that the coding agent says it has.
    agent_version: str | None = None
    lessons: tuple[str, ...] = ()
    written: tuple[Written, ...] = ()
    learned: Learned | None = None
    diff: str = ""
    patch: str | None = None
    patch_root: str | None = None
    applied: bool = False
    self_running: tuple[SelfRunning, ...] = ()
    #: What was proven, of a run that passed.
    receipt: Receipt | None = None
    #: A person was asked whether to apply it, and said no.
    declined: bool = False
    #: The directory of the sandbox, as long as there is one.
    sandbox: str | None = None

    @property
    def tests(self) -> tuple[str, ...]:
        """The tests of the artifact, as far as is known now."""
        written = self.written[-1].tests if self.written else ()
        return written or (self.request.task.tests if self.request.task else ())
