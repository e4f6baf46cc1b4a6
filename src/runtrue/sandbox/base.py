"""The base of all sandboxes: candidates are git trees, and commands see little else."""

from __future__ import annotations

import glob
import hashlib
import os
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import msgspec

from runtrue.atomic_file import private_file
from runtrue.confinement import Confinement
from runtrue.errors import SandboxError
from runtrue.loop import Workplace
from runtrue.process import MARK, kill_marked
from runtrue.sandbox.environment import (
    allowed,
    find_behind_shims,
    imports,
    own_environment,
    search_path,
)
from runtrue.sandbox.extras import Extras
from runtrue.sandbox.git import Tree, mark_of, remove
from runtrue.sandbox.isolation import Isolation
from runtrue.sandbox.judged_parts import DOCTESTS, is_mixed, judges_differ, lost_tests
from runtrue.sandbox.judges import is_judge, is_test
from runtrue.sandbox.managed_environment import managed_environment
from runtrue.sandbox.self_runners import SelfRunning, find_self_running
from runtrue.sandbox.shadow import installed_modules, shadows
from runtrue.sandbox.store import make_store
from runtrue.typed_data import decode_json


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxInfo:
    """How a sandbox was made, stored beside it for later processes."""

    #: The top of the user's tree that the sandbox is an image of, and its repository if any.
    top: str
    git_dir: str
    base: str
    extras: Extras
    python_path: str | None
    #: The directory of the programs that pyenv's shims start.
    behind_shims: str | None = None
    #: Paths that commands see besides the sandbox, the system and the user's tools.
    shown: tuple[str, ...] = ()


#: The strongest level that there is, with nothing allowed.
DEFAULT_ISOLATION = Isolation()


class TreeSandbox(ABC):
    """Stores the candidates of one run, each as a git tree.

    `home` is a directory for this run alone, `project` the user's directory. Nothing happens before
    `open`.
    """

    def __init__(
        self,
        home: Path,
        project: Path,
        *,
        pass_environment: tuple[str, ...] = (),
        judges: tuple[str, ...] = (),
        isolation: Isolation = DEFAULT_ISOLATION,
    ) -> None:
        self._home = home
        self._project = project
        self._pass_environment = pass_environment
        self._judges = judges
        self._isolation = isolation
        self._opened: SandboxInfo | None = None

    # -- making and removing ----------------------------------------------------------------

    @abstractmethod
    def open(self) -> str:
        """Make the sandbox, again if it exists, and return its first candidate."""

    def take_over(self) -> None:
        """Clear away the commands and locks that a killed process left behind."""
        kill_marked(f"{MARK}={mark_of(self._home)}")
        for lock in self._home.glob("*.lock"):
            lock.unlink(missing_ok=True)
        remove(self._private)

    def remove(self) -> None:
        """Remove the sandbox and all it contains; never anything of the user's."""
        remove(self._home)
        self._opened = None

    # -- candidates -------------------------------------------------------------------------

    @property
    @abstractmethod
    def directory(self) -> Path:
        """The directory with the files of the present candidate."""

    @abstractmethod
    def restore(self, candidate: str) -> None:
        """Make the files exactly those of a candidate, with nothing left over."""

    @abstractmethod
    def put_back(self, files: tuple[str, ...], candidate: str) -> None:
        """Restore some files, present or absent, from a candidate."""

    @abstractmethod
    def apply(self, candidate: str) -> tuple[str, ...]:
        """Apply a candidate's changes to the user's tree; return the files that differ."""

    def renew(self, base: str, candidate: str) -> tuple[str, str] | None:
        """Merge a candidate with what the user changed since `base`.

        Return the new base and the merged candidate, or None if there is nothing to merge.
        """
        return None

    @abstractmethod
    def rebase(self, base: str) -> None:
        """Take another state for the one that the candidates are changes of, after a merge."""

    @abstractmethod
    def pending_apply(self) -> bool:
        """Return whether applying was interrupted, so that it has to be repeated."""

    def snapshot(self) -> str:
        """Store the files as they are now as a candidate."""
        return self._tree.snapshot()

    def found(self, left: str) -> str:
        """Return the candidate that a person has made of the files, left to them as another."""
        return self.snapshot()

    def not_kept(self) -> tuple[str, ...]:
        """Return the files made here that no candidate contains, since git ignores them."""
        return ()

    def changed(self, old: str, new: str) -> tuple[str, ...]:
        """Return the files in which two candidates differ."""
        return self._tree.changed(old, new)

    def top_entries(self, candidate: str) -> dict[str, str]:
        """Return the ids of what is at the top of a candidate, by name."""
        found = self._tree.top_entries(candidate)
        return {name.encode("utf-8", "replace").decode(): sha for name, sha in found.items()}

    def missing(self, files: tuple[str, ...], candidate: str) -> tuple[str, ...]:
        """Return those of `files` that a candidate does not have."""
        there = self._tree.files(candidate)
        return tuple(file for file in files if file not in there)

    def count_lines(self, old: str, new: str) -> tuple[int, int]:
        """Return how many lines were added and removed between two candidates."""
        return self._tree.count_lines(old, new)

    def protected(
        self, files: tuple[str, ...], between: tuple[str, str] | None = None
    ) -> tuple[str, ...]:
        """Return those of `files` that judge the candidate.

        Of files in which only a part judges, those in which that part differs `between` two
        candidates; new modules that hide an installed one are among the judges.
        """
        # The patterns are relative to the project, the files to the root.
        inside = self._project.relative_to(self._info.top).as_posix()
        prefix = "" if inside == "." else f"{glob.escape(inside)}/"
        patterns = [os.path.normpath(f"{prefix}{pattern}") for pattern in self._judges]
        judges = {file for file in files if is_judge(file, patterns)}
        if any(file.endswith((".py", ".so", ".pyc", ".pyi")) for file in files):
            known, installed = frozenset(self._tree.files(self.base)), self._installed
            judges |= {file for file in files if shadows(file, known, installed)}
        if between is not None:
            versions = {file: [self.read(file, one) for one in between] for file in files}
            free = {file for file in judges if is_mixed(file)}
            judges -= {file for file in free if not judges_differ(file, *versions[file])}
            doctests = any(pattern.endswith(DOCTESTS) for pattern in self._judges)
            lost = (f for f in files if lost_tests(f, *versions[f], doctests=doctests))
            judges |= set(lost)
        return tuple(file for file in files if file in judges)

    @cached_property
    def _installed(self) -> frozenset[str]:
        own = own_environment(self._project)
        return installed_modules([own] if own else [])

    def rooted(self, file: str) -> str:
        """Return the path from the root of a file of the project."""
        return (self._project.relative_to(self._info.top) / file).as_posix()

    def content(self, file: str, candidate: str) -> bytes | None:
        """Return the content of a file of the project in a candidate, if it is there."""
        return self.read(self.rooted(file), candidate)

    def original(self, file: str) -> bytes | None:
        """Return the first content of a file, named from the root, if it was there."""
        return self.read(file, self.base)

    def read(self, file: str, candidate: str) -> bytes | None:
        """Return the content of a file, named from the root, in a candidate, if it is there."""
        return self._tree.content(file, candidate) if self._has(file, candidate) else None

    def _has(self, file: str, candidate: str) -> bool:
        return file in self._tree.files(candidate)

    def content_hash(self, file: str, candidate: str) -> str | None:
        """Return the SHA-256 of a file of the project in a candidate, if it is there."""
        content = self.content(file, candidate)
        return None if content is None else hashlib.sha256(content).hexdigest()

    def may_add(self, file: str, candidate: str) -> bool:
        """Return whether a file is a test that a candidate does not have."""
        return is_test(file) and not self._has(file, candidate)

    def changed_lines(self, candidate: str) -> dict[str, frozenset[int]]:
        """Return the lines by file that a candidate adds to the user's tree."""
        return self._tree.changed_lines(self._info.base, candidate)

    @property
    def base(self) -> str:
        """The first candidate."""
        return self._info.base

    @property
    def top(self) -> Path:
        """The user's directory that paths in diffs are relative to."""
        return Path(self._info.top)

    def difference(self, old: str, new: str) -> str:
        """Return the patch from one candidate to another."""
        return self._tree.diff(old, new)

    def settle(self, candidate: str, patch: Path) -> str:
        """Leave a candidate as the result, write its patch to a file, and return it as text.

        Bytes that are no text are replaced in the text, not in the file.
        """
        self.restore(candidate)
        diff = self.diff(candidate)
        if diff:
            private_file(patch)
            patch.write_text(diff, encoding="utf-8", errors="surrogateescape")
        return diff.encode("utf-8", "replace").decode()

    def demand_leaving(self, candidate: str) -> None:  # noqa: B027 - a tree of the user's is out
        """Raise RefusedFiles, with a finding for each, for files that must not be applied."""

    def self_running(self, candidate: str, agreed: tuple[str, ...] = ()) -> tuple[SelfRunning, ...]:
        """Return the files that a candidate changes and that run by themselves once applied.

        Those in `agreed` are what the user has named to be changed.
        """

        def found(file: str) -> SelfRunning | None:
            return find_self_running(
                file, lambda: (self.original(file), self.read(file, candidate))
            )

        changed = self.changed(self.base, candidate)
        return tuple(filter(None, (found(file) for file in changed if file not in agreed)))

    def diff(self, candidate: str) -> str:
        """Return the patch from the user's files to a candidate."""
        return self._tree.diff(self._info.base, candidate)

    # -- commands ---------------------------------------------------------------------------

    def workplace(self) -> Workplace:
        """Return where commands on the candidate run, and what they see."""
        top = Path(self._info.top)
        return Workplace(
            directory=self._inside(top),
            root=self.directory,
            scratch=self._scratch,
            environment=self._environment(top, self._info.behind_shims, self._info.python_path),
            confinement=self._box(),
        )

    def _box(self) -> Confinement:
        git, read_only = self._git_paths()
        return self._isolation.box(
            write=(self.directory, *git, self._scratch, *map(Path, self._info.extras.caches)),
            read=map(Path, self._info.shown),
            read_only=read_only,
            is_restored=True,
            private=self._private,
            afterwards=self._after_command,
        )

    def _git_paths(self) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
        """Return what commands may write of a repository where they run, and what not."""
        return (), ()

    def _after_command(self) -> None:  # noqa: B027 - most have nothing to do
        """Remove what a command must not leave where it ran."""

    def _inside(self, top: Path) -> Path:
        """Return the project in the sandbox, which may contain more than the project."""
        return self.directory / self._project.relative_to(top)

    def _environment(
        self, top: Path, behind_shims: str | None = None, import_from: str | None = None
    ) -> dict[str, str]:
        environment = allowed(os.environ, self._pass_environment)
        path = environment.get("PATH", os.defpath)
        inside = self._inside(top)
        root = [inside, *inside.parents][len(self._project.relative_to(top).parts)]
        environment |= {
            "PATH": search_path(inside, path, behind_shims, top=root, project=self._project),
            MARK: mark_of(self._home),
            # Byte code is trusted by time and size of its source; candidates differ in neither.
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        if own := own_environment(self._inside(top)) or managed_environment(self._project):
            environment["VIRTUAL_ENV"] = str(own)
        if import_from:
            environment["PYTHONPATH"] = import_from
        return environment

    @property
    def _scratch(self) -> Path:
        return self._home / "scratch"

    @property
    def _private(self) -> Path:
        return self._home / "private"

    def _users_tree(self, top: Path, git_dir: Path, index: str) -> Tree:
        sandboxes = self._home.parent
        inside = sandboxes.is_relative_to(top) and sandboxes != top
        excluded = (sandboxes.relative_to(top).as_posix(),) if inside else ()
        return Tree(top, git_dir, self._home / index, excluded)

    def _make_store(self, repository: Path | None) -> Path:
        """Make a store for the candidates alone, which borrows the objects of a repository."""
        return make_store(self._home / "git", self._project, repository)

    def _finish_open(
        self, users: Tree, base: str, files: Path, extras: Extras, shown: Iterable[str]
    ) -> str:
        """Find out what commands on `files` need to see, and store how the sandbox was made."""
        top = users.directory
        behind_shims = find_behind_shims(self._project, self._environment(top))
        nested = [top / name for name in extras.files if Path(name).name in (".venv", "venv")]
        found = imports(top, files, self._environment(top, behind_shims), nested)
        info = SandboxInfo(
            top=str(top),
            git_dir=str(users.git_dir),
            base=base,
            extras=extras,
            python_path=found.path,
            behind_shims=behind_shims,
            shown=(*found.outside, *shown),
        )
        self._store(info)
        return base

    def _store(self, info: SandboxInfo) -> None:
        temporary = self._info_file.with_suffix(".new")
        temporary.write_bytes(msgspec.json.encode(info))
        temporary.replace(self._info_file)
        self._opened = info

    @property
    def _info_file(self) -> Path:
        return self._home / "site.json"

    @property
    def _info(self) -> SandboxInfo:
        if self._opened is None:
            try:
                self._opened = decode_json(self._info_file.read_bytes(), SandboxInfo)
            except (OSError, msgspec.DecodeError) as error:
                raise SandboxError(
                    f"the sandbox {self._home} is gone or broken; start a new run"
                ) from error
        return self._opened

    @property
    @abstractmethod
    def _tree(self) -> Tree:
        """The files of the present candidate as a git tree."""
