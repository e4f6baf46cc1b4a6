"""Confinement: what a command may reach and use up.

`runtrue.process` starts every command within a confinement; `runtrue.sandbox.isolation` makes them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Protocol

from msgspec import Meta


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceLimits:
    """The limits of one command, with all that it starts: `[isolation.limits]`."""

    #: Seconds of processor time of all its processes together.
    cpu: Annotated[float, Meta(gt=0, le=604_800)] = 1800.0
    #: MiB of memory of all its processes together.
    memory: Annotated[int, Meta(ge=64, le=16_777_216)] = 4096
    #: Processes and threads at the same time.
    processes: Annotated[int, Meta(ge=8, le=4_000_000)] = 1024
    #: Files that one process has open.
    open_files: Annotated[int, Meta(ge=32, le=1_048_576)] = 4096
    #: MiB of one file.
    file_size: Annotated[int, Meta(ge=1, le=16_777_216)] = 1024
    #: MiB that it adds to the directories it may write to.
    disk: Annotated[int, Meta(ge=1, le=16_777_216)] = 4096
    #: MiB of output.
    output: Annotated[int, Meta(ge=1, le=1_048_576)] = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Exceeded:
    """A limit that was hit. `limit` is its name among the ResourceLimits."""

    limit: str
    allowed: float
    used: float

    @property
    def message(self) -> str:
        """The message for people."""
        what, unit = _WORDS[self.limit]
        return f"{what}: {self.used:.6g}{unit} where {self.allowed:.6g}{unit} are allowed"

    @property
    def data(self) -> dict[str, float | str]:
        """The facts for machines."""
        return {"limit": self.limit, "allowed": self.allowed, "used": self.used}


_WORDS = {
    "cpu": ("used too much processor time", " s"),
    "memory": ("used too much memory", " MiB"),
    "processes": ("started too many processes", ""),
    "open_files": ("opened too many files", ""),
    "file_size": ("wrote too large a file", " MiB"),
    "disk": ("wrote too much", " MiB"),
    "output": ("printed too much", " MiB"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """The way to start a confined command. `exit_code` returns its own exit code."""

    argv: tuple[str, ...]
    env: dict[str, str]
    pass_fds: tuple[int, ...] = ()
    #: A launcher between us and the command reports signals as shells do: 128 and the number.
    tells_signals: bool = False
    #: Returns whether a command that ended by itself was started at all, asked once before the
    #: block ends: a failure of its launcher is not one of the command.
    began: Callable[[], bool] = lambda: True
    #: Returns the limit at which the kernel has ended some of the command, asked before the block
    #: ends.
    exceeded: Callable[[], Exceeded | None] = lambda: None

    def exit_code(self, code: int) -> int:
        """Return the command's own exit code, negative for a signal."""
        return 128 - code if self.tells_signals and 128 < code < 128 + 65 else code


class Confinement(Protocol):
    """The confinement of one command, or of several."""

    @property
    def level(self) -> str:
        """Its strength: `bubblewrap`, `landlock`, `process`, `docker` or `podman`."""

    @property
    def ends_as_one(self) -> bool:
        """True if the kernel ends all that a command started as soon as its launcher ends."""

    @property
    def limits(self) -> ResourceLimits:
        """The limits of each command."""

    @property
    def written(self) -> tuple[Path, ...]:
        """The directories whose growth counts as used disk."""

    def starting(
        self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str]
    ) -> AbstractAsyncContextManager[Start]:
        """Prepare the start of a command; what was made for it is gone when the block ends.

        Raises OSError if the command cannot be started, as one that is not confined would.
        """

    def also(
        self,
        *,
        write: Iterable[Path] = (),
        read: Iterable[Path] = (),
        network: Iterable[str] | None = (),
    ) -> Confinement:
        """Return it with more directories, and more hosts as `host:port`; None allows any."""
