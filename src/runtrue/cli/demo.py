"""`runtrue demo`: make small projects in a temporary directory and run real commands there.

One function per scene. Each command is printed as it would be typed, then really run, and its exit
code must be the one that the scene expects: the demo ends with 0 only if everything was true.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import click

from runtrue.cli.console import echo
from runtrue.cli.demo_projects import GREETING, PRICES, SHOP, STAND_IN, STOCK, USERS
from runtrue.errors import UsageError


class NotAsDescribed(Exception):
    """Something went otherwise than the scene describes."""


class Stage:
    """A temporary home with nothing of the user's in it, and commands run there."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.directory = home
        bin_directory = home / "bin"
        bin_directory.mkdir()
        path = [
            str(Path(sys.executable).parent),
            str(bin_directory),
            os.environ.get("PATH", os.defpath),
        ]
        self.environment = {
            "HOME": str(home),
            "RUNTRUE_HOME": str(home / ".runtrue"),
            "PATH": os.pathsep.join(path),
            "LANG": os.environ.get("LANG", "C.UTF-8"),
            "TERM": os.environ.get("TERM", "dumb"),
        }

    def project(self, name: str, files: dict[str, str]) -> None:
        """Make a git project and go there."""
        self.directory = self.home / name
        self.directory.mkdir()
        for file, text in files.items():
            (self.directory / file).write_text(text)
        author = ["-c", "user.name=demo", "-c", "user.email=demo@localhost"]
        for command in (["init", "--quiet"], ["add", "."], [*author, "commit", "-qm", "begin"]):
            subprocess.run(["git", *command], cwd=self.directory, env=self.environment, check=True)

    def run(self, command: str, *, expect: int = 0) -> None:
        """Show a command and what it prints; its exit code must be the expected one."""
        say(f"$ {command}")
        done = subprocess.run(
            ["/bin/sh", "-c", command],
            cwd=self.directory,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            # In a log, what goes to both is read in the order in which it came.
            stderr=None if sys.stdout.isatty() else subprocess.STDOUT,
            check=False,
        )
        if done.returncode != expect:
            raise NotAsDescribed(f"`{command}` ended with {done.returncode} instead of {expect}")
        say("")

    def export(self, name: str, value: str) -> None:
        """Show that a variable is set, and set it for the commands from here on."""
        say(f"$ export {name}={value}")
        self.environment[name] = value

    def program(self, name: str, text: str) -> None:
        """Put a program on the PATH."""
        file = self.home / "bin" / name
        file.write_text(text)
        file.chmod(0o755)

    def holds(self, file: str, text: str, *, absent: bool = False) -> None:
        """Make sure that a file of the project does (not) hold a text."""
        if (text in (self.directory / file).read_text()) is absent:
            raise NotAsDescribed(f"{file} {'still holds' if absent else 'does not hold'} {text!r}")


@click.command()
def demo() -> int:
    """Show the main commands at work, in a temporary directory.

    Every command is printed, then really run: a tool fix, a fix found without a model, an agent,
    a workflow, and a task in plain words. It needs no key and no network, and leaves nothing
    behind.

    \b
    Exit codes: 0 all as described, 1 not as described, 2 a program is missing.
    """
    beside = str(Path(sys.executable).parent)
    path = os.pathsep.join([beside, os.environ.get("PATH", os.defpath)])
    missing = [name for name in ("git", "pytest", "ruff") if not shutil.which(name, path=path)]
    if missing:
        raise UsageError(
            f"the demo needs {' and '.join(missing)}; pytest and ruff come with runtrue's extra "
            "`checks`, git with your system"
        )
    # A demo that is stopped clears away what it made, like one that comes to its end.
    for stop in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(stop, lambda number, frame: sys.exit(128 + number))
    with tempfile.TemporaryDirectory(prefix="runtrue-demo-") as temporary:
        stage = Stage(Path(temporary).resolve())
        try:
            for number, scene in enumerate(SCENES, start=1):
                say(f"── {number}. {scene.__doc__}\n")
                scene(stage)
        except (NotAsDescribed, OSError, subprocess.SubprocessError) as error:
            echo(f"the demo failed: {error}", err=True)
            return 1
    echo("Everything went as described. Next: `runtrue init` in a project of yours.")
    return 0


def tool_repairs(stage: Stage) -> None:
    """A tool repairs the code, and the project's own tests prove it."""
    stage.project("shop", SHOP)
    stage.run("cat shop.py")
    stage.run("runtrue fix --check pytest --check ruff")
    stage.holds("shop.py", 'is "paid"')
    stage.run("runtrue fix --check pytest --check ruff --apply")
    stage.holds("shop.py", '== "paid"')
    stage.run("git diff --stat")


def search_repairs(stage: Stage) -> None:
    """No tool knows this one: small edits are tried until the tests pass, without a model."""
    stage.project("prices", PRICES)
    stage.run("cat prices.py")
    stage.run("runtrue fix --apply")
    stage.holds("prices.py", "percent / 100")


def nobody_can(stage: Stage) -> None:
    """What is missing here, no small edit brings: runtrue says so, and touches nothing."""
    stage.project("greeting", GREETING)
    stage.run("cat greeting.py test_greeting.py")
    stage.run("runtrue fix", expect=1)
    stage.holds("greeting.py", "Guten Morgen", absent=True)
    stage.run("runtrue runs show")


def agent_repairs(stage: Stage) -> None:
    """The same project, with an agent on the ladder (here a script that stands in for one)."""
    stage.program("stand-in-agent", STAND_IN)
    stage.run("runtrue fix --agent 'stand-in-agent {prompt_file}' --apply")
    stage.holds("greeting.py", "Guten Morgen")
    stage.run("git diff")
    stage.run("runtrue runs list")


def workflow_runs(stage: Stage) -> None:
    """A workflow: checked, run, and stopped where it assumes what is not there."""
    stage.project("stock", STOCK)
    stage.run("cat low.yaml")
    stage.run("runtrue workflow check low.yaml")
    stage.run("runtrue run low.yaml below=10")
    stage.run("sed -i.old 's/].name/].title/' low.yaml && runtrue run low.yaml below=10", expect=1)


def task_is_done(stage: Stage) -> None:
    """A task in plain words: the guessed names are wrong, and are fixed from what came back."""
    stage.directory = stage.home
    with users_api() as address:
        url = f"{address}/users/torvalds"
        task = f"fetch {url} and extract username and biography"
        # The API is on this machine, which workflows do not reach unless its user lets them.
        stage.export("RUNTRUE_ALLOW_LOOPBACK", "1")
        stage.run(f'runtrue do "{task}" --save github-user')
        stage.run("runtrue workflow show github-user")
        stage.run("runtrue run github-user user=gvanrossum")
        stage.run(f'runtrue do "fetch {url} and extract shoe size"', expect=3)


@contextlib.contextmanager
def users_api() -> Iterator[str]:
    """An API on loopback, in the shape of a well-known one."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            login = self.path.removeprefix("/users/")
            known = login in USERS
            answer = {"login": login, "id": len(login), "type": "User", **USERS.get(login, {})}
            body = json.dumps(answer if known else {"message": "Not Found"}, indent=1) + "\n"
            self.send_response(200 if known else 404)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()


SCENES = [tool_repairs, search_repairs, nobody_can, agent_repairs, workflow_runs, task_is_done]


def say(text: str) -> None:
    """Print a line of the demo, before anything that it starts prints."""
    echo(text, bold=True)
    sys.stdout.flush()
