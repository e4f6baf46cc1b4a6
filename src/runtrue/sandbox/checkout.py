"""Projects for other machines: packs of the user's files as they are, and a checkout of them.

What git ignores is not sent: it may be secret, and what is installed belongs to its machine.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import msgspec

from runtrue.errors import SandboxError
from runtrue.foreign_text import visible_name
from runtrue.sandbox.branch import current_branch
from runtrue.sandbox.git import Tree, remove
from runtrue.sandbox.git_command import OURS, run_git
from runtrue.sandbox.repository import common_git_dir, object_format, origin_of, resolve
from runtrue.sandbox.store import AS_BYTES

#: Beside a checkout, written when it is whole: what it is of.
_MARK = "checkout.json"
#: The names of git's objects, as they stand in JSON.
_NAME = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_NAMES = re.compile(rb'(?<=")[0-9a-f]{40}(?:[0-9a-f]{24})?(?=")')


@dataclass(frozen=True, slots=True, kw_only=True)
class SentProject:
    """A project as it was sent to other machines."""

    #: The user's directory, and the top of what was sent: the repository, if it is in one.
    project: str
    top: str
    kind: str
    object_format: str
    #: The state of the files.
    base: str
    #: The commit and the branch that are checked out, of a repository.
    head: str | None = None
    branch: str | None = None
    #: What the repository ignores without saying so in its files.
    exclude: str = ""
    origin: str | None = None
    #: What git ignores, and so was not sent.
    not_sent: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what would leave the checkout, or be an option of git."""
        project, top = Path(self.project), Path(self.top)
        if ".." in (*project.parts, *top.parts) or not project.is_relative_to(top):
            raise ValueError(f"{self.project!r} is not in {self.top!r}")
        if "\0" in self.project or (self.origin or "").startswith("-"):
            raise ValueError("the project has no such path or origin")
        for name in self.objects:
            demand_object_name(name)

    @property
    def objects(self) -> tuple[str, ...]:
        """The names of what has to be there for a checkout."""
        return tuple(filter(None, (self.head, self.base)))


def demand_object_name(name: str) -> str:
    """Return the name of an object of git. Raises SandboxError for anything else."""
    if not _NAME.fullmatch(name):
        raise SandboxError(f"{visible_name(name)!r} is not the name of an object of git")
    return name


def pack_project(
    users: Tree, base: str, kind: str, project: Path, is_known: Callable[[str], bool]
) -> tuple[SentProject, dict[str, bytes]]:
    """Return a project as it is in `base`, and packs of what is not known, by name."""
    top = users.directory
    head = branch = None
    exclude, form = "", "sha1"
    if kind == "worktree":
        form = object_format(top)
        with suppress(SandboxError):  # before the first commit
            head = resolve(top, "HEAD")
        branch = current_branch(top)
        with suppress(OSError):
            exclude = (common_git_dir(top) / "info" / "exclude").read_text(errors="replace")
    sent = SentProject(
        project=str(project),
        top=str(top),
        kind=kind,
        object_format=form,
        base=base,
        head=head,
        branch=branch,
        exclude=exclude,
        origin=_without_user(origin_of(top)) if kind == "worktree" else None,
        not_sent=tuple(_readable(users.ignored())),
    )
    packs = {}
    if head and not is_known(head):
        packs[head] = pack_objects(users, [head])
    if not is_known(base):
        packs[base] = pack_objects(users, [base], [f"{head}^{{tree}}"] if head else [])
    return sent, packs


def pack_objects(tree: Tree, wanted: Iterable[str], known: Iterable[str] = ()) -> bytes:
    """Return a pack of what is in some trees or commits and not in others; empty for nothing."""
    revisions = [*wanted, *(f"^{name}" for name in known)]
    options = ("--objects", "--no-walk=unsorted", "--stdin")
    rows = tree.git("rev-list", *options, stdin="".join(f"{name}\n" for name in revisions))
    names = [row.split(" ", 1)[0] for row in rows.splitlines()]
    if not names:
        return b""
    listed = "".join(f"{name}\n" for name in names)
    pack = tree.git("pack-objects", "--stdout", "--quiet", stdin=listed)
    return pack.encode("utf-8", "surrogateescape")


def add_pack(git_dir: Path, pack: bytes) -> None:
    """Put the objects of a pack into a repository. Raises SandboxError for a broken one."""
    if pack:
        env = {**OURS, "GIT_DIR": str(git_dir)}
        text = pack.decode("utf-8", "surrogateescape")
        run_git("index-pack", "--stdin", cwd=git_dir, env=env, stdin=text)


def pack_candidates(tree: Tree, text: bytes, base: str, known: Collection[str]) -> dict[str, bytes]:
    """Return a pack for each candidate that is named in JSON and not `known`, by its name."""
    found: dict[str, bytes] = {}
    named = sorted({name.decode() for name in _NAMES.findall(text)} - {*known})
    there = [base] if base in known else []
    for name, kind in _kinds(tree, named):
        if kind == "tree":
            found[name] = pack_objects(tree, [name], [*there, *found])
    return found


def add_candidates(tree: Tree, packs: Mapping[str, Callable[[], bytes]]) -> None:
    """Add the candidates of another machine, by their names, that are not here yet."""
    for name, kind in _kinds(tree, list(packs)):
        if kind == "missing":
            add_pack(tree.git_dir, packs[name]())


def _kinds(tree: Tree, names: list[str]) -> Iterable[tuple[str, str]]:
    if not names:
        return []
    lines = "".join(f"{name}\n" for name in names)
    form = "--batch-check=%(objectname) %(objecttype)"
    rows = tree.git("cat-file", form, stdin=lines).splitlines()
    return [(name, row.split(" ")[1]) for name, row in zip(names, rows, strict=True)]


def make_checkout(place: Path, sent: SentProject, packs: Iterable[bytes]) -> None:
    """Make a project as it was sent, below `place`, with nothing of it left over there."""
    remove(place)
    top = _top_in(place, sent)
    top.mkdir(parents=True)
    is_worktree = sent.kind == "worktree"
    git_dir = top / ".git" if is_worktree else place / "git"
    form = f"--object-format={sent.object_format}"
    bare = () if is_worktree else ("--bare",)
    where = top if is_worktree else git_dir
    run_git("init", "--quiet", "--template=", form, *bare, str(where), cwd=place, env=OURS)
    (git_dir / "info").mkdir(exist_ok=True)
    (git_dir / "info" / "attributes").write_bytes(AS_BYTES)
    (git_dir / "info" / "exclude").write_text(sent.exclude)
    for pack in packs:
        add_pack(git_dir, pack)
    tree = Tree(top, git_dir, (git_dir if is_worktree else place) / "index")
    if sent.head:
        # Its history stays where it is.
        (git_dir / "shallow").write_text(f"{sent.head}\n")
        if sent.branch:
            tree.git("symbolic-ref", "HEAD", f"refs/heads/{sent.branch}")
        tree.git("update-ref", *(("HEAD",) if sent.branch else ("--no-deref", "HEAD")), sent.head)
    if sent.origin:
        tree.git("config", "remote.origin.url", sent.origin)
    tree.begin_with(sent.base)
    tree.git("checkout-index", "--all", "--force")
    (place / _MARK).write_bytes(msgspec.json.encode(sent))


def checkout_in(place: Path, sent: SentProject) -> Path | None:
    """Return the project's directory in a checkout of it, if there is a whole one."""
    if not (place / _MARK).exists():
        return None
    return _top_in(place, sent) / Path(sent.project).relative_to(sent.top)


def is_checkout(top: Path) -> bool:
    """True for the top of a project that another machine has sent."""
    return (top.parent / _MARK).exists()


def _top_in(place: Path, sent: SentProject) -> Path:
    return place / (Path(sent.top).name or "project")


def _without_user(url: str | None) -> str | None:
    """Return the address of a remote without the password that may be in it."""
    if url is None or "://" not in url:
        return url
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def _readable(names: Iterable[str]) -> list[str]:
    return [name.encode("utf-8", "replace").decode() for name in names]
