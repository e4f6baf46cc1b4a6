"""Containers: commands in an image of the user's choosing, where an engine runs."""

from __future__ import annotations

import os
import shutil
import subprocess
import uuid
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager

from runtrue.confinement import Start
from runtrue.process import COMMAND, MARK
from runtrue.sandbox.isolation.box import View

_SECONDS = 30
#: Variables that the image sets itself.
_OF_THE_IMAGE = frozenset({"PATH", "HOME", "TMPDIR", "SHELL", "USER", "LOGNAME", "GOCACHE"})


def probe(engine: str, image: str | None) -> str | None:
    """Return why an engine does not work here; None if it works."""
    if shutil.which(engine) is None:
        return f"there is no program `{engine}`"
    if not image:
        return "no image is set ([isolation] image)"
    if not _succeeds(engine, "info"):
        return f"`{engine} info` fails: is the engine running, and may you use it?"
    if not _succeeds(engine, "image", "inspect", image):
        return f"there is no image {image} here; get it with `{engine} pull {image}`"
    return None


def _succeeds(*command: str) -> bool:
    try:
        done = subprocess.run(command, capture_output=True, timeout=_SECONDS, check=False)
    except (OSError, subprocess.SubprocessError):
        return False
    return done.returncode == 0


@asynccontextmanager
async def starting(
    engine: str, image: str, argv: Sequence[str], view: View
) -> AsyncIterator[Start]:
    """Prepare to start a command in a container of its own, which ends with the block."""
    name = f"runtrue-{uuid.uuid4().hex}"
    try:
        yield Start(
            argv=(engine, "run", "--name", name, *_options(engine, view), image, *argv),
            # Nothing of the command's: the client runs outside of the box, and obeys variables.
            env={**os.environ, **_marks(view)},
            tells_signals=True,
        )
    finally:
        # The engine goes on with it when the client is gone.
        _succeeds(engine, "rm", "--force", name)


def _options(engine: str, view: View) -> Iterator[str]:
    limits = view.limits
    yield from ("--rm", "--interactive", "--init", "--read-only", "--cap-drop", "ALL")
    yield from ("--security-opt", "no-new-privileges", "--ipc", "private")
    yield from ("--network", "bridge" if view.open_network else "none")
    # In a container of podman's, root is the user.
    if engine == "docker":
        yield from ("--user", f"{os.getuid()}:{os.getgid()}")
    yield from ("--pids-limit", str(limits.processes), "--memory", f"{limits.memory}m")
    yield from ("--ulimit", f"nofile={limits.open_files}", "--ulimit", "core=0")
    yield from ("--ulimit", f"fsize={limits.file_size * 1024 * 1024}")
    yield from ("--ulimit", f"cpu={max(1, int(limits.cpu))}")
    yield from ("--volume", f"{view.temporary}:/tmp", "--volume", f"{view.home}:/home/runtrue")
    yield from ("--env", "HOME=/home/runtrue", "--workdir", str(view.directory))
    for path in view.write:
        yield from ("--volume", f"{path}:{path}")
    for path in (*view.read, *view.read_only):
        yield from ("--volume", f"{path}:{path}:ro")
    for name in view.environment.keys() - _OF_THE_IMAGE:
        value = view.environment[name]
        # What the user has set may be secret, and arguments can be read by anyone.
        is_users = os.environ.get(name) == value or name in _marks(view)
        yield from ("--env", name if is_users else f"{name}={value}")


def _marks(view: View) -> dict[str, str]:
    """Return the variables by which the processes of a command are found."""
    return {name: value for name, value in view.environment.items() if name in (MARK, COMMAND)}
