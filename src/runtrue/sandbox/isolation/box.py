"""Isolation: the policy for commands, the box that follows from it, and one command's view."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from runtrue.config import IsolationConfig
from runtrue.confinement import ResourceLimits, Start
from runtrue.errors import IsolationError
from runtrue.sandbox.isolation.level import Level, choose
from runtrue.sandbox.isolation.visible_paths import (
    SYSTEM,
    is_visible,
    is_visible_in,
    is_within,
    require_no_link,
    resolved,
    root_of,
    sockets_within,
    tools,
)

#: Overrides the configured level, but not the minimum.
LEVEL = "RUNTRUE_ISOLATION"
#: Names further paths that may be written.
WRITE = "RUNTRUE_ISOLATION_WRITE"
_SYSTEM = tuple(map(Path, SYSTEM))
_CONFIG, _LIMITS = IsolationConfig(), ResourceLimits()
#: Tests make commits, for which git wants to know by whom: not by the user.
_GITCONFIG = "[user]\n\tname = runtrue\n\temail = runtrue@localhost\n"
#: Variables that lead to paths in the home directory, where there is nothing of that kind.
_OF_THE_HOME = ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "GOCACHE")
#: Variables that name a path for temporary files, which may be one that is not there.
_TEMPORARY = ("TMPDIR", "TEMP", "TMP")


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """The view that one command has of the machine, with the machine's own paths.

    `home` and `temporary` replace the user's directories; only git's user is configured there.
    `environment` is the command's, `directory` where it begins.
    """

    directory: Path
    environment: dict[str, str]
    home: Path
    temporary: Path
    #: The user's own tools, and what else may be read.
    tools: tuple[Path, ...]
    read: tuple[Path, ...]
    write: tuple[Path, ...]
    #: Paths in `write` that must not be written.
    read_only: tuple[Path, ...]
    #: They are restored afterwards, so a level that cannot protect them may do without.
    is_restored: bool
    #: Paths in all of these that must not be seen.
    hidden: tuple[Path, ...]
    limits: ResourceLimits
    #: Use the user's own network in place of none.
    open_network: bool = False

    @property
    def homes(self) -> tuple[Path, ...]:
        """The directories that `home` replaces: a check may say that its HOME is another one."""
        own, users = Path(self.environment["HOME"]), Path.home()
        return (own, users) if users != own and is_within(users, _SYSTEM) else (own,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """A confinement for commands.

    They may change the paths in `write`, and see those in `read`, the system and the user's tools.
    They may connect to `network`, as `host:port`; None is anything. `private` is a directory for
    what they need while they run, a temporary one if it is not given.
    """

    level: Level
    limits: ResourceLimits = _LIMITS
    write: tuple[Path, ...] = ()
    read: tuple[Path, ...] = ()
    read_only: tuple[Path, ...] = ()
    #: `afterwards` restores what is in `read_only`, so a level that cannot protect it may do.
    is_restored: bool = False
    hidden: tuple[Path, ...] = ()
    network: tuple[str, ...] | None = ()
    private: Path | None = None
    image: str | None = None
    #: Called when a command, with all that it started, has ended.
    afterwards: Callable[[], None] | None = None

    def also(
        self,
        *,
        write: Iterable[Path] = (),
        read: Iterable[Path] = (),
        network: Iterable[str] | None = (),
    ) -> Box:
        """Return a box that allows more; with `network` None, any connection."""
        routes = None if network is None or self.network is None else (*self.network, *network)
        return replace(self, write=(*self.write, *write), read=(*self.read, *read), network=routes)

    @property
    def ends_as_one(self) -> bool:
        """True if the kernel ends all that a command started as soon as its launcher ends."""
        return self.level is Level.BUBBLEWRAP

    @property
    def written(self) -> tuple[Path, ...]:
        """The paths that may be written, the private one included."""
        return (*self.write, *((self.private,) if self.private else ()))

    @asynccontextmanager
    async def starting(
        self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str]
    ) -> AsyncIterator[Start]:
        """Prepare to start a command; what was made for it is removed when the block ends."""
        program = require_program(argv[0], cwd, env)
        if self.network and self.level in (Level.DOCKER, Level.PODMAN):
            raise IsolationError(
                f"[isolation] network is not seen to by {self.level}: take another level, or have "
                "the engine see to it"
            )
        async with AsyncExitStack() as stack:
            # Missing paths cannot be protected from being made, so they are removed afterwards.
            stack.callback(_remove, _absent(self.read_only))
            if self.afterwards is not None:
                stack.callback(self.afterwards)
            if self.private is not None:
                self.private.mkdir(parents=True, exist_ok=True)
            made = stack.enter_context(
                tempfile.TemporaryDirectory(
                    prefix="rt-", dir=self.private, ignore_cleanup_errors=True
                )
            )
            view = self._view(Path(made), cwd, env, program)
            if self.network:
                from runtrue.sandbox.isolation.network import routed

                argv, view = await stack.enter_async_context(routed(self.network, argv, view))
            yield await stack.enter_async_context(_start(self, argv, view))

    def _view(self, made: Path, cwd: Path, env: Mapping[str, str], program: Path) -> View:
        home, temporary = made / "home", made / "tmp"
        home.mkdir()
        (home / ".gitconfig").write_text(_GITCONFIG)
        temporary.mkdir()
        environment = {name: value for name, value in env.items() if name not in _OF_THE_HOME}
        if not _is_somebodys(environment.get("HOME", "")):
            environment["HOME"] = "/tmp"  # noqa: S108 - it is the command's own
        write = resolved(path for path in self.write if is_visible(path))
        read_only = tuple(path for path in self.read_only if is_visible(path))
        # Sockets of the user's programs are there only for those who name them.
        named = {path.resolve() for path in (*self.read, *self.write)}
        around = (*_SYSTEM, *tools(env, write), *named)
        sockets = (path for path in sockets_within(around) if path not in named)
        hidden = (*(path for path in self.hidden if is_visible(path)), *sockets)
        for path in (*read_only, *hidden):
            require_no_link(path, write)
            # The directories around it are mounts of their own: those cannot be replaced.
            if root := root_of(path, write):
                write += [around for around in path.parents if root_of(around, [root])]
        for name in _TEMPORARY:
            wanted = Path(environment.get(name) or "/")
            if not is_within(wanted, write):
                environment.pop(name, None)
        if self.private is not None:
            # Compiling the standard library again for each check would take longer than the check.
            cache = self.private / "go-build"
            cache.mkdir(exist_ok=True)
            environment["GOCACHE"] = str(cache)
            write.append(cache)
        users = Path(environment["HOME"])
        # A link among programs may lead to a directory that is not shown; not so a candidate's own.
        is_shown = is_within(program, write) or is_within(program.resolve(), _SYSTEM)
        own = () if is_shown else (program,)
        read = [
            path
            for path in (path.resolve() for path in (*self.read, *own) if is_visible(path))
            if not is_visible_in(path, write, users)
        ]
        return View(
            directory=cwd,
            environment=environment,
            home=home,
            temporary=temporary,
            tools=tools(env, write),
            read=tuple(dict.fromkeys(read)),
            write=tuple(dict.fromkeys(write)),
            read_only=read_only,
            is_restored=self.is_restored,
            hidden=hidden,
            limits=self.limits,
            open_network=self.network is None,
        )


@dataclass(frozen=True, slots=True)
class IsolationRecord:
    """How strongly a run's commands are confined, and the hosts that they may reach."""

    level: str | None = None
    network: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Isolation:
    """The configured confinement of commands; it is tried out when it is needed."""

    config: IsolationConfig = _CONFIG

    @classmethod
    def of(cls, config: IsolationConfig, environment: Mapping[str, str] = os.environ) -> Isolation:
        """Return the isolation that configuration and environment ask for.

        Raises IsolationError if no level that works here is as strong as the minimum.
        """
        level = choose(config, environment.get(LEVEL) or None)
        write = filter(None, environment.get(WRITE, "").split(os.pathsep))
        return cls(replace(config, level=level.value, write=(*config.write, *write)))

    @property
    def level(self) -> Level:
        """The level that commands run at. Raises IsolationError."""
        return choose(self.config)

    def box(
        self,
        *,
        write: Iterable[Path] = (),
        read: Iterable[Path] = (),
        read_only: Iterable[Path] = (),
        is_restored: bool = False,
        hidden: Iterable[Path] = (),
        private: Path | None = None,
        afterwards: Callable[[], None] | None = None,
    ) -> Box:
        """Return a confinement for commands that work on some paths. Raises IsolationError."""
        config = self.config
        return Box(
            level=self.level,
            limits=config.limits,
            write=(*write, *map(_expanded, config.write)),
            read=(*read, *map(_expanded, config.read)),
            read_only=tuple(read_only),
            is_restored=is_restored,
            hidden=tuple(hidden),
            network=config.network,
            private=private,
            image=config.image,
            afterwards=afterwards,
        )

    @property
    def record(self) -> IsolationRecord:
        """The record of it in a run."""
        return IsolationRecord(self.config.level, tuple(self.config.network))


def _expanded(path: str) -> Path:
    return Path(path).expanduser()


def _absent(paths: Iterable[Path]) -> list[Path]:
    return [path for path in paths if not os.path.lexists(path)]


def _remove(paths: Iterable[Path]) -> None:
    for path in paths:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def _start(box: Box, argv: Sequence[str], view: View) -> AbstractAsyncContextManager[Start]:
    if box.level is Level.BUBBLEWRAP:
        from runtrue.sandbox.isolation import bubblewrap

        return bubblewrap.starting(argv, view)
    if box.level in (Level.DOCKER, Level.PODMAN):
        from runtrue.sandbox.isolation import container

        return container.starting(box.level.value, box.image or "", argv, view)
    from runtrue.sandbox.isolation import landlock

    return landlock.starting(box.level.value, argv, view)


def _is_somebodys(home: str) -> bool:
    """Return whether a home can be replaced: that of a service may be the root, or none."""
    return Path(home).is_absolute() and not any(
        Path(path).is_relative_to(home) for path in (*SYSTEM, tempfile.gettempdir())
    )


def require_program(program: str, cwd: Path, env: Mapping[str, str]) -> Path:
    """Return the path of a program; raise the OSError that starting it would raise."""
    if not cwd.is_dir():
        raise _error(errno.ENOENT, str(cwd))
    if "/" in program:
        path = cwd / program
        if not path.exists():
            raise _error(errno.ENOENT, program)
        if path.is_dir() or not os.access(path, os.X_OK):
            raise _error(errno.EACCES, program)
        return path
    found = shutil.which(program, path=env.get("PATH", os.defpath))
    if found is None:
        raise _error(errno.ENOENT, program)
    return cwd / found


def _error(number: int, file: str) -> OSError:
    return OSError(number, os.strerror(number), file)
