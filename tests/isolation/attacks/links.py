"""Attacks by links: what is mounted in a box must not be led out of it (CVE-2026-87766)."""

from __future__ import annotations

import contextlib
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runtrue.errors import IsolationError
from tests.isolation.attack import CONFINED, Group

if TYPE_CHECKING:
    from tests.isolation.arena import Arena

LINKED = Group("links", "Links in the way of what is mounted")


def _replaced(arena: Arena, way: Path, target: str, **mounted: Any) -> None:
    """Put a link in the way of what is mounted; neither is it followed, nor a command started."""
    way.symlink_to(target)
    box = arena.isolation().box(
        write=(arena.sandbox, *mounted.pop("write", ())), private=arena.private, **mounted
    )
    with contextlib.suppress(IsolationError):
        outcome = arena.judge("cat inner/.ssh/id_rsa inner/id_rsa", arena.workplace(box))
        assert not outcome.verdict.passed


@LINKED("having a directory that is protected be a link into the home", CONFINED)
def _(arena: Arena) -> None:
    inner = arena.sandbox / "inner"
    _replaced(arena, inner, str(arena.home), read_only=(inner / ".ssh",))


@LINKED("having what is protected be a link into the home", CONFINED)
def _(arena: Arena) -> None:
    inner = arena.sandbox / "inner"
    _replaced(arena, inner, str(arena.home / ".ssh"), read_only=(inner,))


@LINKED("having a directory that may be written be a link into the home", CONFINED)
def _(arena: Arena) -> None:
    inner = arena.sandbox / "inner"
    _replaced(arena, inner, str(arena.home), write=(inner,))


@LINKED("having what is hidden be made in the home, by the machine's own root", CONFINED)
def _(arena: Arena) -> None:
    inner = arena.sandbox / "inner"
    _replaced(arena, inner, f"/oldroot{arena.home}", hidden=(inner / "made",))


@LINKED("replacing a directory by a link while the box is set up", CONFINED)
def _(arena: Arena) -> None:
    """As one that runs in the same sandbox, and whose own box was made without these mounts."""
    inner, aside, link = (arena.sandbox / name for name in ("inner", "aside", "link"))
    (inner / "deep" / "secret").mkdir(parents=True)
    (inner / "deep" / "secret" / "id_rsa").write_text("mine\n")
    ended = threading.Event()

    def swap() -> None:
        while not ended.is_set():
            with contextlib.suppress(OSError):
                link.symlink_to(f"/oldroot{arena.home}")
                inner.rename(aside)
                link.rename(inner)
                inner.unlink()
                aside.rename(inner)

    swapping = threading.Thread(target=swap)
    swapping.start()
    try:
        for _attempt in range(10):
            box = arena.isolation().box(
                write=(arena.sandbox,),
                read_only=(inner / "deep" / "secret",),
                hidden=(inner / "deep" / "hidden",),
                private=arena.private,
            )
            with contextlib.suppress(IsolationError):
                arena.judge("cat inner/.ssh/id_rsa; exit 1", arena.workplace(box))
    finally:
        ended.set()
        swapping.join()


@LINKED("replacing a directory around what is protected, from within", CONFINED)
def _(arena: Arena) -> None:
    inner = arena.sandbox / "inner"
    (inner / "deep").mkdir(parents=True)
    (inner / "deep" / "file").write_text("mine\n")
    (arena.sandbox / "attack.sh").write_text(
        "mv inner away && echo REACHED; mv inner/deep away && echo REACHED; "
        "rm -rf inner 2>/dev/null; ln -sfn / inner/deep 2>/dev/null; "
        "echo evil >inner/deep/file && echo REACHED; exit 1\n"
    )
    box = arena.isolation().box(
        write=(arena.sandbox,), read_only=(inner / "deep" / "file",), private=arena.private
    )
    arena.judge("sh attack.sh", arena.workplace(box))
    assert (inner / "deep" / "file").read_text() == "mine\n"
