"""Which changes may be applied to the tree of a user, who has keys and mail.

One violation refuses the whole candidate: a part of a change proves nothing.
"""

from __future__ import annotations

import os
import stat
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from runtrue.errors import SandboxError
from runtrue.foreign_text import visible_name
from runtrue.loop import Fault, Finding, Location
from runtrue.sandbox.git import Tree
from runtrue.sandbox.git_programs import GitPrograms, prefixes, repositories_made

FILE, PROGRAM, LINK, REPOSITORY = 0o100644, 0o100755, 0o120000, 0o160000
#: MiB of a file that somebody wrote.
LARGEST = 100
#: Links that lead to links lead nowhere after so many.
_LINKS = 40

_GITS_OWN = "is one of git's own files, which can run programs"
_NO_PROGRAMS = GitPrograms()
#: Files that git obeys, and their short names on NTFS.
_MODULES = (".gitmodules", *(f"gitmod~{n}" for n in range(1, 5)))
_ATTRIBUTES = (".gitattributes", *(f"gitatt~{n}" for n in range(1, 5)))

#: What HFS+ does not see in names, so that `.g\u200cit` is `.git` there.
_UNSEEN = frozenset(
    map(chr, (*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF))
)
#: What makes a name be shown as another: marks that turn the direction of writing.
_TURNING = frozenset(
    map(chr, (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)))
)
_RESERVED = frozenset(
    {"con", "prn", "aux", "nul", *(f"{name}{n}" for name in ("com", "lpt") for n in range(1, 10))}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedFile:
    """A file that a candidate changes."""

    path: str
    #: Git's modes, before and now; None where there is no such file.
    before: int | None
    mode: int | None
    size: int = 0
    #: Where a link leads.
    target: str = ""
    #: The mode on disk in the sandbox, and the number of hard links.
    seen: int | None = None
    names: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """A file that must not be applied; `kind` names the rule, `message` explains it."""

    file: str
    kind: str
    message: str

    @property
    def finding(self) -> Finding:
        """The violation as a finding of the source `apply`."""
        name = visible_name(self.file)
        return Finding(
            source="apply",
            category="refused_file",
            message=f"{name} {self.message}",
            fault=Fault.CANDIDATE,
            location=Location(file=name, symbol=name),
            data={"kind": self.kind},
        )


class RefusedFiles(SandboxError):
    """A candidate has files that must not be applied; nothing of it was applied."""

    def __init__(self, violations: Iterable[Violation]) -> None:
        self.violations = tuple(violations)
        named = "; ".join(finding.message for finding in self.findings[:5])
        more = len(self.violations) - 5
        rest = f"; and {more} more" if more > 0 else ""
        super().__init__(
            f"not applied, and nothing is changed: {named}{rest}; have the candidate made without "
            "that, with a new run"
        )

    @property
    def findings(self) -> tuple[Finding, ...]:
        """One finding for each refused file."""
        return tuple(violation.finding for violation in self.violations)


def candidate_violations(
    users: Tree, base: str, candidate: str, sandbox: Path, disguised: Iterable[str]
) -> tuple[Violation, ...]:
    """Return what must not be applied of a candidate, whose files are in `sandbox`.

    `disguised` are further files there that are git's own on some systems.
    """
    others = tuple(Violation(file=file, kind="git", message=_GITS_OWN) for file in disguised)
    changes = users.changes(base, candidate)
    if not changes:
        return others
    entries = users.entries(candidate)
    modes = {mode for _, mode, _ in changes.values()}
    # Where the others lead matters only to one that may lead there.
    linked = {name: sha for name, (mode, sha) in entries.items() if mode == LINK in modes}
    links = {name: users.blob(sha) for name, sha in linked.items()}
    sizes = users.sizes(sha for _, mode, sha in changes.values() if mode not in (None, REPOSITORY))
    changed = []
    for path, (before, mode, sha) in changes.items():
        seen, names = _seen_in(sandbox, path)
        changed.append(
            ChangedFile(
                path=path,
                before=before,
                mode=mode,
                size=sizes.get(sha, 0),
                target=links.get(path, "") if mode == LINK else "",
                seen=seen,
                names=names,
            )
        )
    programs = GitPrograms.of(users.directory)
    found = violations(changed, files=entries, links=links, programs=programs)
    written = {path: sha for path, (_, mode, sha) in changes.items() if mode is not None}
    return (
        *found,
        *others,
        *_repository_violations(written, entries, users.directory),
        *_attribute_violations(users, base, written, programs),
    )


def _repository_violations(
    written: Iterable[str], entries: Iterable[str], top: Path
) -> Iterator[Violation]:
    for file, directory in repositories_made(written, entries, top).items():
        name = visible_name(directory)
        message = f"is part of a repository, {name}, whose settings git would obey"
        yield Violation(file=file, kind="repository", message=message)


def _attribute_violations(
    users: Tree, base: str, written: Mapping[str, str], programs: GitPrograms
) -> Iterator[Violation]:
    changed = [file for file in written if _is_named(file, *_ATTRIBUTES)]
    before = users.entries(base) if changed else {}
    macros = users.blob(written[top]) if (top := _ATTRIBUTES[0]) in changed else ""
    if not macros and top in before:
        macros = users.blob(before[top][1])
    for file in changed:
        old = users.blob(before[file][1]) if file in before else ""
        if driver := programs.new_driver(old, users.blob(written[file]), macros):
            name = visible_name(driver)
            message = f"names {name}, for which your git is configured to run a program"
            yield Violation(file=file, kind="attributes", message=message)


def violations(
    changes: Iterable[ChangedFile],
    *,
    files: Iterable[str] = (),
    links: Mapping[str, str] | None = None,
    programs: GitPrograms = _NO_PROGRAMS,
    windows: bool = os.name == "nt",
) -> tuple[Violation, ...]:
    """Return what must not be applied of a candidate's changes.

    `files` are all files of the candidate, `links` the targets of those that are links, and
    `programs` what the user's git runs.
    """
    changes = tuple(changes)
    new = {change.path for change in changes if change.before is None and change.mode is not None}
    clashes = _clashes(new, files)
    found = []
    for change in changes:
        why = (
            _name_problem(change, windows=windows)
            or _kind_problem(change, programs)
            or _link_problem(change, links or {})
            or clashes.get(change.path)
        )
        if why:
            found.append(Violation(file=change.path, kind=why[0], message=why[1]))
    return tuple(found)


def leads_outside(path: str) -> bool:
    """Return whether a path from the root of a project leads out of it, on any system."""
    parts = path.replace("\\", "/").split("/")
    has_drive = len(parts[0]) == 2 and parts[0][1] == ":"
    return ".." in parts or parts[0] == "" or has_drive


def is_git(path: str) -> bool:
    """Return whether a path leads into `.git`, on any system and however it is spelled."""
    return any(_is_named(part, ".git", "git~1") for part in path.replace("\\", "/").split("/"))


def _is_named(path: str, *names: str) -> bool:
    """Return whether the last part of a path is one of some names, on any system."""
    part = path.rpartition("/")[2]
    seen = "".join(char for char in part if char not in _UNSEEN).casefold()
    # NTFS drops dots and blanks at the end, has streams behind a colon, and short names.
    return seen.partition(":")[0].rstrip(". ") in names


def _name_problem(change: ChangedFile, *, windows: bool) -> tuple[str, str] | None:
    path = change.path
    parts = path.split("/")
    if leads_outside(path) or "" in parts or "." in parts:
        return "outside", "is not in the project"
    if is_git(path):
        return "git", _GITS_OWN
    if change.before is not None or change.mode is None:
        return None  # what has such a name already was called so by its owner
    if any(unicodedata.category(char) == "Cc" for char in path):
        return "control_character", "has an invisible character in its name"
    if not _TURNING.isdisjoint(path):
        return "bidi", "has a character in its name that makes it look like another"
    if windows and any(_is_reserved(part) for part in parts):
        return "reserved", "has a name that Windows reserves"
    return None


def _is_reserved(part: str) -> bool:
    return (
        part.partition(".")[0].rstrip().casefold() in _RESERVED
        or part.endswith((".", " "))
        or not frozenset('<>:"|?*\\').isdisjoint(part)
    )


def _kind_problem(change: ChangedFile, programs: GitPrograms) -> tuple[str, str] | None:
    if change.mode is None:
        return None
    if problem := programs.problem(change.path):
        return problem
    if change.mode == REPOSITORY:
        return "submodule", "is a separate repository, which could be anyone's"
    if _is_named(change.path, *_MODULES):
        return "submodule", "names repositories that git would fetch and run"
    if change.mode not in (FILE, PROGRAM, LINK):
        return "special", "is neither a file nor a link"
    if change.seen is not None:
        if not (stat.S_ISREG(change.seen) or stat.S_ISLNK(change.seen)):
            return "special", "is neither a file nor a link"
        if change.seen & (stat.S_ISUID | stat.S_ISGID):
            return "setuid", "would run with its owner's rights for anyone who runs it"
        if change.names > 1 and stat.S_ISREG(change.seen):
            return "hard_link", "has other names (hard links), which may be outside the project"
    if change.size > LARGEST * 1024 * 1024:
        size = change.size / 1024 / 1024
        return "size", f"has {size:.0f} MiB, where {LARGEST} is the limit"
    return None


def _link_problem(change: ChangedFile, links: Mapping[str, str]) -> tuple[str, str] | None:
    if change.mode != LINK:
        return None
    target = visible_name(change.target)
    place = _resolve(change.path, {**links, change.path: change.target})
    if place is None:
        return "link", f"is a link that leads out of the project: {target}"
    if is_git(place):
        return "link", f"is a link to git's own files: {target}"
    return None


def _resolve(path: str, links: Mapping[str, str]) -> str | None:
    """Follow the links in a path from the root; None if they lead out."""
    left = path.split("/")
    done: list[str] = []
    followed = 0
    while left:
        part = left.pop(0)
        if part in ("", "."):
            continue
        if part == "..":
            if not done:
                return None
            done.pop()
            continue
        done.append(part)
        target = links.get("/".join(done))
        if target is None:
            continue
        followed += 1
        target = target.replace("\\", "/")
        if followed > _LINKS or target.startswith("/") or target[1:2] == ":":
            return None
        done.pop()
        left = [*target.split("/"), *left]
    return "/".join(done)


def _clashes(new: set[str], files: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Return the new files that are the same as another on some systems."""
    if not new:
        return {}
    spellings: dict[str, set[str]] = {}
    for path in {*files, *new}:
        for name in prefixes(path):
            spellings.setdefault(_folded(name), set()).add(name)
    found = {}
    for path in new:
        for name in prefixes(path):
            if others := spellings[_folded(name)] - {name}:
                other = visible_name(min(others))
                why = f"is the same file as {other} where case or Unicode forms are ignored"
                found[path] = ("collision", why)
                break
    return found


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def _seen_in(directory: Path, path: str) -> tuple[int | None, int]:
    try:
        status = (directory / path).lstat()
    except (OSError, ValueError):
        return None, 1
    return status.st_mode, status.st_nlink
