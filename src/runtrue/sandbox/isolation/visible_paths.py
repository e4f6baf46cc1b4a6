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
from functools import lru_cache
from pathlib import Path

import runtrue
from runtrue.errors import IsolationError

#: Directories that belong to the system.
SYSTEM = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"),
    *("/etc", "/opt", "/nix", "/gnu", "/snap", "/sys", "/System", "/Library"),
)
#: Files and directories in them that even root's commands must not read.
PRIVATE = (
    *("/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers"),
    *("/etc/sudoers.d", "/etc/ssh", "/etc/ssl/private", "/etc/NetworkManager"),
    *("/etc/wireguard", "/etc/krb5.keytab", "/etc/kubernetes", "/etc/rancher"),
)
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


def tools(environment: Mapping[str, str], write: Sequence[Path] = ()) -> tuple[Path, ...]:
    """Return the paths of the tools that commands with this environment may need.

    Of those within `write`, only an environment that is no link: a candidate may have made a link.
    """
    variables = {name: environment[name] for name in ("HOME",) if name in environment}
    inside: list[Path] = []
    for name in ("PATH", "NODE_PATH", "PYTHONPATH", *_VARIABLES):
        paths = environment.get(name, "").split(os.pathsep)
        within = [path for path in paths if path and is_within(Path(path), write)]
        variables[name] = os.pathsep.join(path for path in paths if path not in within)
        inside += map(Path, within if name == "PATH" else ())
    return (*_tools(tuple(variables.items())), *_environments(inside))


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


def _environments(programs: Iterable[Path]) -> Iterator[Path]:
    """Return the environments of some directories of programs, except links."""
    for path in (directory.parent for directory in programs):
        if any(is_visible(path / sign) for sign in _ENVIRONMENTS) and path.resolve() == path:
            yield path


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
    hidden = {home, home.parent, Path(home.anchor)}
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
    if any(is_visible(directory.parent / sign) for sign in _ENVIRONMENTS):
        yield from environment_paths(directory.parent)
    for name in ("python3", "python", "node"):
        program = directory / name
        if os.path.islink(program):  # noqa: PTH114 - never an error
            # A link to an interpreter elsewhere, which has its library beside it.
            yield program.resolve().parent.parent


def environment_paths(environment: Path) -> Iterator[Path]:
    """Return a virtual environment, with the interpreter that it is made of."""
    yield environment
    for name in ("python3", "python"):
        program = environment / "bin" / name
        if is_visible(program):
            yield program.resolve().parent.parent


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
