"""Sockets between the processes of one command work; one of the user's has to be named."""

from __future__ import annotations

import socket
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from runtrue.sandbox import Level, missing, unavailable
from tests.isolation.arena import Arena

WORKS = {
    "socket pairs": "import socket; a, b = socket.socketpair(); a.send(b'x'); assert b.recv(1)",
    "asyncio": "import asyncio; asyncio.run(asyncio.sleep(0))",
    "a server in its own directory": """
import asyncio, tempfile
async def main():
    path = tempfile.mkdtemp() + "/s"
    server = await asyncio.start_unix_server(lambda reader, writer: writer.close(), path)
    reader, writer = await asyncio.open_unix_connection(path)
    assert await reader.read() == b""
    writer.close()
    server.close()
asyncio.run(main())
""",
    "managers of multiprocessing": """
import multiprocessing
if __name__ == "__main__":
    with multiprocessing.Manager() as manager: assert manager.list([1])[0] == 1
""",
    "the fork server of multiprocessing": """
import multiprocessing, os
if __name__ == "__main__":
    process = multiprocessing.get_context("forkserver").Process(target=os.getpid)
    process.start()
    process.join()
    assert process.exitcode == 0
""",
}


@pytest.fixture(params=[Level.BUBBLEWRAP, Level.LANDLOCK])
def arena(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Arena]:
    level = request.param
    if reason := unavailable(level):
        pytest.skip(f"{level} is not available here: {reason}")
    if "namespaces" in missing(level):
        pytest.skip("without namespaces there are only socket pairs")
    made = Arena(tmp_path, level)
    yield made
    made.close()


@pytest.mark.parametrize("network", [(), None], ids=["a check", "an agent"])
@pytest.mark.parametrize("code", WORKS.values(), ids=WORKS)
def test_what_a_command_does_among_its_own_processes_works(
    arena: Arena, code: str, network: tuple[str, ...] | None
) -> None:
    (arena.sandbox / "works.py").write_text(code)
    box = arena.isolation().box(write=(arena.sandbox,), private=arena.private)
    workplace = arena.workplace(box.also(network=network))
    outcome = arena.judge(f"{sys.executable} works.py", workplace)
    assert outcome.verdict.passed, outcome.verdict.output


def test_a_socket_that_is_named_is_reached(arena: Arena) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as directory, socket.socket(1) as server:
        path = Path(directory, "s")
        server.bind(str(path))
        server.listen()
        box = arena.isolation().box(write=(arena.sandbox,), read=(path,), private=arena.private)
        (arena.sandbox / "works.py").write_text(
            f"import socket; socket.socket(socket.AF_UNIX).connect({str(path)!r})"
        )
        outcome = arena.judge(f"{sys.executable} works.py", arena.workplace(box))
        assert outcome.verdict.passed, outcome.verdict.output
