"""Context: what the nodes of one run share while it is driven, opened when it is first needed."""

from __future__ import annotations

import hashlib
import os
import secrets
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from contextvars import ContextVar
from copy import copy
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from runtrue.workflow.secrets import SecretRedactor

if TYPE_CHECKING:
    import httpx2

    from runtrue.workflow.calls import Calls
    from runtrue.workflow.effect import Effect, Objections
    from runtrue.workflow.file_access import FileAccess
    from runtrue.workflow.mcp import Sessions
    from runtrue.workflow.registry import Registry


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Where a workflow runs. What is not given is taken from the process."""

    registry: Registry
    #: The folder of the workflow's file, where relative paths of other workflows begin.
    base: Path
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)
    #: The task, or the inputs, as a person gave them: files that they name may be reached.
    named: tuple[str, ...] = ()
    #: Files that a person agreed to.
    agreed_files: tuple[Path, ...] = ()
    #: A person agreed to everything beforehand.
    agrees: bool = False
    #: The saved workflow, or the file of one, that this one is run by.
    within: str = ""


@dataclass(slots=True)
class _Open:
    """Resources that a run has opened, shared by all workflows within it."""

    stack: AsyncExitStack = field(default_factory=AsyncExitStack)
    http: httpx2.AsyncClient | None = None
    sessions: Sessions | None = None
    private: Path | None = None
    files: FileAccess | None = None


class Context:
    """The shared things of one run: the HTTP client, the sessions of MCP servers, the secrets."""

    def __init__(
        self,
        surroundings: Surroundings,
        *,
        run_id: str = "",
        depth: int = 0,
        calls: Calls | None = None,
        objections: Objections | None = None,
    ) -> None:
        self.surroundings = surroundings
        self.run_id = run_id
        #: Returns the effects that nobody has agreed to; None if the workflow is a person's own.
        self.objections = objections
        #: What earlier attempts have called, where this is one of several.
        self.calls = calls
        #: How many workflows this one runs within.
        self.depth = depth
        self.redactor = SecretRedactor(set())
        self._visits: Counter[str] = Counter()
        self._seed = (run_id or secrets.token_hex(16)).encode()
        self._open = _Open()

    @property
    def directory(self) -> Path:
        """The directory that the run was started in, where relative paths begin."""
        return self.surroundings.registry.directory

    @property
    def environment(self) -> Mapping[str, str]:
        """The variables that `${env.NAME}` reads."""
        return self.surroundings.environment

    def visit(self, node: str) -> int:
        """Count a visit of a node, and return the count."""
        self._visits[node] += 1
        return self._visits[node]

    def visits(self, node: str) -> int:
        """Return how often a node was visited."""
        return self._visits[node]

    def effect_key(self, *parts: bytes) -> str:
        """Return the key of an effect: the same whenever this run gets to it, and for no other."""
        digest = hashlib.blake2b(self._seed, digest_size=16)
        for part in (_place.get().encode(), *parts):
            digest.update(len(part).to_bytes(8) + part)
        return digest.hexdigest()

    def require_agreed(self, effects: Callable[[], Iterable[Effect]]) -> None:
        """Raise EffectsNotAgreed if nobody has agreed to one of the effects."""
        if self.objections is None:
            return
        from runtrue.workflow.effect import EffectsNotAgreed

        redact = self.redactor.redact
        found = self.objections(effect.with_texts(redact) for effect in effects())
        if found:
            raise EffectsNotAgreed(found)

    def within(self, surroundings: Surroundings) -> Context:
        """Return the context for a workflow within this one, which shares what is open."""
        inner = copy(self)
        inner.surroundings = surroundings
        inner.depth += 1
        inner._visits = Counter()
        return inner

    def http(self) -> httpx2.AsyncClient:
        """Return the run's HTTP client, which keeps its connections."""
        if self._open.http is None:
            from runtrue.workflow.nodes.http import make_client

            self._open.http = make_client()
            self._open.stack.push_async_callback(self._open.http.aclose)
        return self._open.http

    def sessions(self) -> Sessions:
        """Return the run's sessions with MCP servers."""
        if self._open.sessions is None:
            from runtrue.workflow.mcp import Sessions

            servers = self.surroundings.registry.servers
            self._open.sessions = Sessions(servers, environment=self.environment)
            self._open.stack.push_async_callback(self._open.sessions.close)
        return self._open.sessions

    def files(self) -> FileAccess:
        """Return the files that the run may reach."""
        if self._open.files is None:
            from runtrue.workflow.file_access import FileAccess

            self._open.files = FileAccess.of(self.surroundings)
        return self._open.files

    def private(self) -> Path:
        """Return a directory for files that the run's commands need while they run."""
        if self._open.private is None:
            from runtrue.process import temporary_directory

            made = temporary_directory("runtrue-")
            self._open.private = self._open.stack.enter_context(made)
        return self._open.private

    async def close(self) -> None:
        """Close whatever was opened."""
        await self._open.stack.aclose()


_current: ContextVar[Context] = ContextVar("current_context")
#: Where the run is: the nodes, and the item of a batch, from the outside in.
_place: ContextVar[str] = ContextVar("place", default="")


@contextmanager
def entered(context: Context) -> Iterator[None]:
    """Make `context` the one that nodes find with `current`."""
    token = _current.set(context)
    try:
        yield
    finally:
        _current.reset(token)


@asynccontextmanager
async def opened(context: Context) -> AsyncIterator[Context]:
    """Enter `context`, and close it afterwards."""
    try:
        with entered(context):
            yield context
    finally:
        await context.close()


@contextmanager
def at_place(name: str) -> Iterator[None]:
    """Go to a node, or an item, within the place where the run is."""
    token = _place.set(_place.get() + name)
    try:
        yield
    finally:
        _place.reset(token)


def current() -> Context | None:
    """Return the context of the run in progress; None during replay."""
    return _current.get(None)


def needed() -> Context:
    """Return the context of the run in progress."""
    return _current.get()
