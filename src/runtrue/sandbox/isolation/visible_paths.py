"""The paths of the machine that a confined command sees.

The system's own directories, and the tools that the user has installed in a home directory; nothing
else.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path

import runtrue
from runtrue.errors import IsolationError

#: Directories that belong to the system.
SYSTEM = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"),
    *("/etc", "/opt", "/nix", "/gnu", "/snap", "/sys", "/System", "/Library"),
)
#: Files and directories in them that nobody's commands must read, whatever their modes.
PRIVATE = (
    *("/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers"),
    *("/etc/sudoers.d", "/etc/ssh", "/etc/ssl/private", "/etc/NetworkManager"),
    *("/etc/wireguard", "/etc/krb5.keytab", "/etc/kubernetes", "/etc/rancher"),
)
#: Directories of the system that people put things of their own into.
_FURNISHED = ("/opt", "/usr/local")
#: Where installers put toolchains in the home directory.
TOOLS = (
    *(".pyenv", ".rye", ".conda", "miniconda3", "miniforge3", "anaconda3", "mambaforge"),
    *(".local/bin", ".local/lib", ".local/pipx", ".local/share/uv", ".local/share/pipx"),
    *(".local/share/mise", ".local/share/virtualenvs", ".local/share/pnpm", ".local/share/fnm"),
    *(".nvm", ".volta", ".nodenv", ".asdf", ".bun", ".deno/bin", ".npm-global"),
    *(".rustup", ".cargo/bin", ".cargo/registry", ".cargo/git"),
    *("go/bin", "go/pkg", "sdk", ".sdkman", ".jenv", ".jdks", ".m2/repository", ".m2/wrapper"),
    *(".gradle/wrapper", ".dotnet", ".ghcup", ".opam", ".rbenv", ".rvm", ".nix-profile"),
)
#: Variables that name toolchains, with the visible parts of each.
_VARIABLES = {
    **dict.fromkeys(("VIRTUAL_ENV", "CONDA_PREFIX", "PYENV_ROOT", "GOROOT", "JAVA_HOME"), ("",)),
    "RUSTUP_HOME": ("",),
    "CARGO_HOME": ("bin", "registry", "git"),
    "GOPATH": ("bin", "pkg"),
}
#: What git runs, obeys or goes on with in a repository: hooks, settings, attributes that name
#: filters, other repositories, and lists of what is to be done next. Some lead to others.
_OBEYED = (
    *("hooks", "config", "config.worktree", "info", "modules", "worktrees", "commondir"),
    *("rebase-merge", "rebase-apply", "sequencer"),
)
#: Signs that the directory above a `bin` is a whole environment.
_ENVIRONMENTS = ("pyvenv.cfg", "conda-meta")
_INTERPRETERS = ("python", "pypy", "graalpy", "node")


@cache
def private_paths() -> tuple[Path, ...]:
    """Return what no command may see of the system's directories, though root's could read it.

    In `/etc`, that is all that others than its owner cannot read. Pipes and sockets are hidden as
    well: to write to one changes nothing that is mounted, so that no mount prevents it.
    """
    found = [Path(name) for name in PRIVATE]
    waiting = ["/etc", *_FURNISHED]
    while waiting:
        directory = waiting.pop()
        with contextlib.suppress(OSError), os.scandir(directory) as entries:
            for entry in entries:
                is_directory = entry.is_dir(follow_symlinks=False)
                if _is_private(entry, is_directory=is_directory):
                    found.append(Path(entry.path))
                elif is_directory:
                    waiting.append(entry.path)
    hidden = set(found)
    return tuple(path for path in found if hidden.isdisjoint(path.parents))


def sockets_within(paths: Iterable[Path]) -> Iterator[Path]:
    """Yield the sockets in some paths on which others than this process listen.

    A mount that is read-only does not keep anybody from connecting to one.
    """
    shown = tuple(f"{path}/" for path in paths)
    with contextlib.suppress(OSError), Path("/proc/net/unix").open("rb") as file:
        for line in file:
            *fields, name = os.fsdecode(line.rstrip(b"\n")).split(None, 7)
            if name.startswith(shown) and is_visible(Path(name)) and not _is_ours(int(fields[-1])):
                yield Path(name)


def _is_ours(inode: int) -> bool:
    """Return whether this process has a socket open: for a command that it was made for."""
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 - names only
        with contextlib.suppress(OSError):
            if os.fstat(int(name)).st_ino == inode:
                return True
    return False


def _is_private(entry: os.DirEntry[str], *, is_directory: bool) -> bool:
    if entry.is_symlink():
        return False
    if not is_directory and not entry.is_file(follow_symlinks=False):
        return True
    if not entry.path.startswith("/etc/"):
        return False
    needed = stat.S_IROTH | (stat.S_IXOTH if is_directory else 0)
    return entry.stat(follow_symlinks=False).st_mode & needed != needed


def tools(environment: Mapping[str, str], write: Sequence[Path] = ()) -> tuple[Path, ...]:
    """Return the paths of the tools that commands with this environment may need.

    Of what the user's own variables do not name, only environments: other paths may be the choice
    of a project. Of those within `write`, none that is a link: a candidate may have made it.
    """
    variables = {name: environment[name] for name in ("HOME",) if name in environment}
    others: list[Path] = []
    for name in ("PATH", "NODE_PATH", "PYTHONPATH", *_VARIABLES):
        users = os.environ.get(name, "").split(os.pathsep)
        paths = list(filter(None, environment.get(name, "").split(os.pathsep)))
        own = [path for path in paths if path in users and not is_within(Path(path), write)]
        variables[name] = os.pathsep.join(own)
        if name in ("PATH", "VIRTUAL_ENV"):
            places = [Path(path) for path in paths if path not in own]
            others += places if name == "VIRTUAL_ENV" else [place.parent for place in places]
    return (*_tools(tuple(variables.items())), *_environments(others, write))


def is_within(path: Path, paths: Iterable[Path]) -> bool:
    """Return whether a path is one of some paths, or below one."""
    return any(path.is_relative_to(other) for other in paths)


def root_of(path: Path, roots: Iterable[Path]) -> Path | None:
    """Return the innermost of some directories that a path is below, if any."""
    around = [root for root in roots if path != root and path.is_relative_to(root)]
    return max(around, key=lambda root: len(root.parts), default=None)


def resolved(paths: Iterable[Path]) -> list[Path]:
    """Return writable paths without their links.

    Raises IsolationError for one that is reached by a link within another, where a command may have
    made it: whatever that leads to would be writable.
    """
    paths = list(paths)
    outer = [path for path in paths if root_of(path, paths) is None]
    for path in paths:
        require_no_link(path, outer)
    return [path.resolve() for path in paths]


def require_no_link(path: Path, roots: Iterable[Path]) -> None:
    """Raise IsolationError if a path is reached by a link within one of some directories."""
    root = root_of(path, roots)
    names = () if root is None else path.relative_to(root).parts
    for end in range(1, len(names) + 1):
        place = Path(root or "/", *names[:end])
        if place.is_symlink():
            raise IsolationError(
                f"{place} is a link, and a command may have made it: nothing is shown or protected "
                "by way of it; remove it"
            )


def open_inside(path: Path, root: Path) -> int:
    """Open a path below a directory, and no other that a link leads to, as a place to mount."""
    flags = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
    opened = os.open(root, flags)
    for name in path.relative_to(root).parts:
        try:
            inner = os.open(name, flags, dir_fd=opened)
        finally:
            os.close(opened)
        opened = inner
        if stat.S_ISLNK(os.fstat(opened).st_mode):
            os.close(opened)
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
    return opened


def _environments(places: Iterable[Path], write: Sequence[Path]) -> Iterator[Path]:
    """Return which of some places are environments, with what they are made of."""
    for path in dict.fromkeys(places):
        if path.resolve() == path or not is_within(path, write):
            yield from environment_paths(path)


@lru_cache(maxsize=64)
def _tools(variables: tuple[tuple[str, str], ...]) -> tuple[Path, ...]:
    environment = dict(variables)
    home = Path(environment.get("HOME") or Path.home())
    found = [home / name for name in TOOLS]
    for name, parts in _VARIABLES.items():
        if root := environment.get(name):
            found += [Path(root, part) for part in parts]
    for name in ("NODE_PATH", "PYTHONPATH"):
        found += map(Path, filter(None, environment.get(name, "").split(os.pathsep)))
    found += [Path(sys.prefix), Path(sys.base_prefix), Path(runtrue.__file__).parent]
    for directory in filter(None, environment.get("PATH", "").split(os.pathsep)):
        found += _of_programs(Path(directory))
    hidden = {home, home.parent, *_around_home()}
    every = [path for path in dict.fromkeys(found) if path not in hidden and is_visible(path)]
    return tuple(path for path in every if not _is_shown(path, every, home))


def _is_shown(path: Path, paths: Iterable[Path], home: Path) -> bool:
    """Return whether a path is visible within the system, or within another path, anyway.

    One in the home is so only within another path in there: the home itself is replaced.
    """
    if any(path.is_relative_to(other) for other in SYSTEM):
        return not path.is_relative_to(home)
    return is_visible_in(path, (other for other in paths if other != path), home)


def is_visible_in(path: Path, others: Iterable[Path], home: Path) -> bool:
    """Return whether a path is visible within others anyway; not in the home: that is empty."""
    return any(
        path.is_relative_to(other) and (other.is_relative_to(home) or not path.is_relative_to(home))
        for other in others
    )


def _of_programs(directory: Path) -> Iterator[Path]:
    """Return a directory of programs, with what they need."""
    yield directory
    yield from environment_paths(directory.parent)
    for name in ("python3", "python", "node"):
        # A link to an interpreter elsewhere, which has its library beside it.
        if os.path.islink(directory / name):  # noqa: PTH114 - never an error
            yield from _installation(directory / name)


def environment_paths(environment: Path) -> Iterator[Path]:
    """Return a virtual environment, with the interpreter that it is made of; nothing else."""
    if not any(is_visible(environment / sign) for sign in _ENVIRONMENTS):
        return
    yield environment
    for name in ("python3", "python"):
        yield from _installation(environment / "bin" / name)


def _installation(program: Path) -> Iterator[Path]:
    """Return where an interpreter is installed; nothing where a link leads to anything else."""
    if not is_visible(program):
        return
    found = program.resolve()
    base = found.parent.parent
    is_one = found.name.startswith(_INTERPRETERS) and found.parent.name == "bin"
    if is_one and base not in _around_home():
        yield base


def _around_home() -> set[Path]:
    """Return the user's home and what is above it, which no tool makes visible as a whole."""
    home = Path.home()
    return {one for path in (home, home.resolve()) for one in (path, *path.parents)}


def is_visible(path: Path) -> bool:
    """Return whether a path exists; False where `Path.exists` would raise."""
    return os.path.exists(path)  # noqa: PTH110


def git_paths(directory: Path) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
    """Return what may be written of a repository, and what not, since git runs or obeys it.

    The former is a mount of its own, which cannot be moved away with the latter in it. Missing
    files are made, since only existing ones can be protected.
    """
    git = directory / ".git"
    if git.is_symlink():
        # Whatever it leads to would be shown; and it can be replaced, which a mount cannot.
        raise IsolationError(
            f"{git} is a link, which a command could replace by a repository of its own: run in "
            "the repository itself"
        )
    if not git.is_dir():
        # A file that says where the repository is; where there is none, one may be made.
        return (), (git,) if is_visible(git) else ()
    with contextlib.suppress(OSError):
        (git / "hooks").mkdir(exist_ok=True)
        (git / "info").mkdir(exist_ok=True)
        (git / "config").touch()
    return (git,), tuple(git / name for name in _OBEYED)
