"""Tests that come up against what they are confined to: the finding says what that was."""

from __future__ import annotations

import asyncio
import socket
import sys
import textwrap
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from runtrue.config import AgentConfig
from runtrue.confinement import ResourceLimits
from runtrue.fixers import run_autofix
from runtrue.fixers.agent import run_agent
from runtrue.fixers.command import run_command
from runtrue.loop import Fault
from runtrue.sandbox.isolation import Level, unavailable
from tests.isolation.arena import LIMITS, Arena, Outcome
from tests.isolation.attack import LEVELS

PYTEST = f"{sys.executable} -m pytest -q -p no:cacheprovider -s"


@pytest.fixture(params=LEVELS, ids=str)
def arena(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Arena]:
    level: Level = request.param
    if reason := unavailable(level):
        pytest.skip(f"{level} is not available here: {reason}")
    made = Arena(tmp_path, level)
    yield made
    made.close()


def check(arena: Arena, limits: ResourceLimits = LIMITS, network: tuple[str, ...] = ()) -> Outcome:
    """Run the tests in the sandbox, with a place for their report, as repairs do."""
    isolation = arena.isolation(limits, network)
    box = isolation.box(write=(arena.sandbox, arena.scratch), private=arena.private)
    workplace = arena.workplace(box)
    # Those installed beside runtrue take most of the time that a small test takes.
    environment = {**workplace.environment, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return arena.judge(PYTEST, replace(workplace, environment=environment))


def write_test(arena: Arena, body: str) -> None:
    text = "import os, signal, sys\ndef test_it(tmp_path):\n"
    (arena.sandbox / "test_it.py").write_text(text + textwrap.indent(textwrap.dedent(body), "    "))


#: What a test does that just fails of a limit, by the limit.
FAILING = {
    "open_files": "files = [open(os.devnull) for _ in range(1000)]",
    "file_size": "(tmp_path / 'x').write_bytes(bytes(20 * 1024 * 1024))",
    "memory": "raise MemoryError",
}


@pytest.mark.parametrize("limit", FAILING)
def test_a_test_that_fails_of_a_limit_says_which(arena: Arena, limit: str) -> None:
    write_test(arena, FAILING[limit])
    finding = check(arena).finding
    assert (finding.category, finding.data["limit"]) == ("resource_limit", limit)
    assert finding.data["allowed"] == getattr(LIMITS, limit)
    assert f"`{limit}` in [isolation.limits]" in finding.message
    assert (finding.fault, finding.transient) == (Fault.CANDIDATE, False)
    assert finding.location.symbol == "test_it.py::test_it"


def test_a_limit_that_ends_the_command_is_told_beside_a_test_that_failed(arena: Arena) -> None:
    write_test(arena, "assert False")
    (arena.sandbox / "conftest.py").write_text(
        "import os\ndef pytest_unconfigure():\n    while True: os.write(2, bytes(65536))\n"
    )
    verdict = check(arena, replace(LIMITS, output=1)).verdict
    first, second = verdict.findings
    assert (first.category, first.data["limit"]) == ("resource_limit", "output")
    assert second.category == "AssertionError"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_what_is_allowed_of_loopback_is_reached_without_a_proxy(arena: Arena, host: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        def serve() -> None:
            for _ in range(2):
                there, _ = server.accept()
                with there:
                    there.sendall(b"not " + there.recv(4) + b" HTTP")

        threading.Thread(target=serve, daemon=True).start()
        write_test(
            arena,
            f"""
            import socket
            for _ in range(2):
                with socket.create_connection(("{host}", {port})) as way:
                    way.sendall(b"even")
                    way.shutdown(socket.SHUT_WR)
                    assert way.makefile().read() == "not even HTTP"
            """,
        )
        verdict = check(arena, network=(f"{host}:{port}",)).verdict
    assert verdict.passed, verdict.findings


def test_a_test_can_make_a_commit_and_does_not_learn_the_users_name(arena: Arena) -> None:
    users = arena.home / ".gitconfig"
    users.write_text("[user]\n\tname = The User\n\temail = me@example.org\n")
    write_test(
        arena,
        """
        import subprocess
        def git(*words):
            done = subprocess.run(["git", *words], cwd=tmp_path, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
            return done.stdout.strip()
        git("init", "-q")
        git("commit", "-q", "--allow-empty", "-m", "first")
        print("by", git("log", "--format=%an"))
        """,
    )
    verdict = check(arena).verdict
    users.unlink()
    assert verdict.passed, verdict.findings
    assert "by runtrue" in verdict.output or arena.level is Level.PROCESS


FLOOD = "while :; do echo too much of this; done"


@pytest.mark.parametrize("arena", [Level.PROCESS], indirect=True)
@pytest.mark.parametrize("fixer", ["agent", "command", "tool"])
def test_a_fixer_that_hits_a_limit_fails_of_it(arena: Arena, fixer: str) -> None:
    box = arena.isolation(replace(LIMITS, output=1)).box(
        write=(arena.sandbox, arena.scratch), private=arena.private
    )
    workplace = arena.workplace(box)

    async def failure() -> str | None:
        if fixer == "agent":
            return (await run_agent(AgentConfig(command=FLOOD), "", workplace)).failure
        if fixer == "tool":
            return (await run_autofix([FLOOD], workplace)).failure
        return (await run_command(FLOOD, workplace, timeout=60, variables={})).failure

    assert "printed too much: " in (asyncio.run(failure()) or "")


@pytest.mark.parametrize("arena", [Level.BUBBLEWRAP, Level.LANDLOCK], indirect=True, ids=str)
@pytest.mark.parametrize(
    ("body", "key"),
    [
        ("import socket; socket.create_connection(('127.0.0.1', 9))", "`network` of [isolation]"),
        ("open('<home>/other/notes.txt')", "`read` and `write` in [isolation]"),
    ],
)
def test_a_test_that_fails_for_want_of_what_is_hidden_says_how_to_allow_it(
    arena: Arena, body: str, key: str
) -> None:
    write_test(arena, arena.formatted(body))
    assert key in check(arena).finding.message


@pytest.mark.parametrize("arena", [Level.BUBBLEWRAP], indirect=True, ids=str)
def test_a_test_that_fails_of_itself_says_nothing_of_isolation(arena: Arena) -> None:
    write_test(arena, "open(tmp_path / 'missing')")
    assert "isolation" not in check(arena).finding.message
