"""File access: which files the nodes of a workflow may reach.

A machine may have written the workflow, and file nodes run in the trusted process. They reach the
working directory, what the user allowed, and what the user named in the task or an input; never
runtrue's own files or git's. Paths are resolved first, and opened without following links, so that
a link made in between leads nowhere.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from runtrue.config import allowed_files

if TYPE_CHECKING:
    from runtrue.workflow.context import Surroundings

#: What keys and passwords are usually called: never reached unless the user names that very file.
_KEYS = (
    "id_rsa*",
    "id_dsa*",
    "id_ecdsa*",
    "id_ed25519*",
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "*.kdbx",
    ".env",
    ".env.*",
    ".netrc",
    ".pgpass",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    ".ssh",
    ".gnupg",
    ".aws",
    ".kube",
)
#: The variable with the only directories in which a file may be reached because a task or an input
#: names it; set where these are a machine's words.
ROOTS = "RUNTRUE_ROOTS"
#: Words of a task, or texts in quotes.
_WORDS = re.compile(r'"([^"]+)"|\'([^\']+)\'|`([^`]+)`|(\S+)')


class RefusedFile(Exception):
    """A workflow may not reach a file. The message says why, and how to allow it."""

    def __init__(self, path: Path, reason: str, *, remedy: bool = True) -> None:
        self.path = path
        #: A person may allow it.
        self.can_be_allowed = remedy
        how = (
            f'; to allow it, name the file in the task or an input, or add files = ["{path}"] '
            "under [workflows] of your own ~/.runtrue/runtrue.toml"
        )
        super().__init__(f"{path} {reason}{how if remedy else ''}")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileAccess:
    """The files that one run may reach. All paths are resolved."""

    directory: Path
    home: Path
    #: runtrue's own directories.
    private: tuple[Path, ...]
    #: Files and directories that the user allowed, or named in the task or an input.
    granted: tuple[Path, ...]
    #: Paths that a person agreed to: these very ones, and nothing below them.
    agreed: tuple[Path, ...] = ()
    #: A person agreed to any file.
    any_file: bool = False

    @classmethod
    def of(cls, surroundings: Surroundings) -> FileAccess:
        """Return what the nodes of a run may reach."""
        registry, environment = surroundings.registry, surroundings.environment
        home = home_of(environment)
        named = (
            locate(word, registry.directory, environment)
            for text in surroundings.named
            for word in _words(text)
        )
        roots = [_real(Path(one)) for one in environment.get(ROOTS, "").split(os.pathsep) if one]
        within = (
            path
            for path in map(_real, named)
            if not roots or any(path.is_relative_to(root) for root in roots)
        )
        return cls(
            directory=_real(registry.directory),
            home=_real(home),
            private=(_real(registry.home.path), _real(home / ".runtrue")),
            granted=(*map(_real, allowed_files()), *within),
            agreed=tuple(map(_real, surroundings.agreed_files)),
            any_file=surroundings.agrees,
        )

    def resolve(self, path: Path) -> Path:
        """Return where a path really leads. Raises RefusedFile unless it may be reached."""
        try:
            real = _real(path)
        except OSError as error:
            # Something else is there than a moment ago.
            raise RefusedFile(path, f"cannot be followed: {error.strerror}") from error
        if ".git" in real.parts:
            raise RefusedFile(path, "belongs to git, which workflows may not access", remedy=False)
        if any(real.is_relative_to(own) for own in self.private):
            raise RefusedFile(
                path, "belongs to runtrue, which workflows may not access", remedy=False
            )
        if self.is_named(real):
            return real
        if not any(self._is_below(root, real) for root in (self.directory, *self.granted)):
            elsewhere = "" if real == path else f", {real}"
            raise RefusedFile(path, f"is outside the working directory {self.directory}{elsewhere}")
        if self._is_hidden_in_home(real):
            raise RefusedFile(path, "is a hidden file in your home directory")
        if any(fnmatchcase(part, name) for part in real.parts for name in _KEYS):
            raise RefusedFile(path, "may contain a key or a password")
        return real

    def is_named(self, real: Path) -> bool:
        """True if a person named, allowed or agreed to this very file."""
        return self.any_file or real in self.granted or real in self.agreed

    def _is_below(self, root: Path, real: Path) -> bool:
        # To work in a directory above the home is not to work in the home; nor is the whole system
        # a place to work in.
        is_home = real.is_relative_to(self.home) and not root.is_relative_to(self.home)
        return real.is_relative_to(root) and root != Path(root.anchor) and not is_home

    def _is_hidden_in_home(self, real: Path) -> bool:
        if not real.is_relative_to(self.home) or real == self.home:
            return False
        top = self.home / real.relative_to(self.home).parts[0]
        roots = (self.directory, *self.granted)
        return top.name.startswith(".") and not any(root.is_relative_to(top) for root in roots)


def home_of(environment: Mapping[str, str]) -> Path:
    """Return the user's home directory."""
    return Path(environment.get("HOME") or Path.home())


def locate(text: str, directory: Path, environment: Mapping[str, str]) -> Path:
    """Return the absolute path that a text names. Raises RuntimeError for an unknown user."""
    first, _, rest = text.partition("/")
    if first == "~":
        return directory / home_of(environment) / rest
    return directory / Path(text).expanduser()


@contextmanager
def opened_directory(path: Path, *, make: bool = False) -> Iterator[int]:
    """Open a resolved directory without following links, and make what is missing of it."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    # To be passed through, a directory need not be readable.
    flags |= getattr(os, "O_PATH", 0)
    descriptor = os.open(path.anchor, flags)
    try:
        for part in path.parts[1:]:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(part, dir_fd=descriptor)
            inner = os.open(part, flags, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = inner
        yield descriptor
    finally:
        os.close(descriptor)


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _words(text: str) -> Iterator[str]:
    """Yield what may be a path in a text that a person wrote: the whole, each word, each quote."""
    words = {word for groups in _WORDS.findall(text) for word in groups}
    for word in {text, *words, *(word.strip("()[]<>,;:!?").rstrip(".") for word in words)}:
        if word and "\0" not in word and "://" not in word:
            # The home of an unknown user is no path.
            with suppress(RuntimeError):
                Path(word).expanduser()
                yield word
