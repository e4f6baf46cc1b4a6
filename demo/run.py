"""Shows runtrue at work: makes a small project in a temporary directory and runs real commands.

One function per scene. Each command is printed as it would be typed, then really run, and its exit
code must be the one that the scene tells of: the demo ends with 0 only if everything was true.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

COLOUR = sys.stdout.isatty() and "NO_COLOR" not in os.environ

#: A bug that ruff repairs: what comes out of JSON is never the very same object as a literal.
SHOP = {
    "shop.py": """\
from datetime import date, datetime


def revenue(orders):
    return sum(order["price"] for order in orders if order["status"] is "paid")


def report(orders):
    print(f"Revenue until", date.today(), "is", revenue(orders))
""",
    "test_shop.py": """\
import json

from shop import revenue

ORDERS = json.loads('[{"status": "paid", "price": 30}, {"status": "open", "price": 12}]')


def test_revenue_counts_paid_orders():
    assert revenue(ORDERS) == 30
""",
    "ruff.toml": """\
lint.select = ["E4", "E7", "E9", "F"]
""",
}

#: A bug that no tool knows. It is one small edit away, and those can be tried.
PRICES = {
    "prices.py": """\
def discounted(price, percent):
    return price - price * percent
""",
    "test_prices.py": """\
from prices import discounted


def test_ten_percent_off():
    assert discounted(200, 10) == 180


def test_half_price():
    assert discounted(50, 50) == 25


def test_nothing_off():
    assert discounted(200, 0) == 200
""",
}

#: What is not there, and no small edit brings: somebody has to know what it is in German.
GREETING = {
    "greeting.py": """\
def greet(name):
    return f"Good morning, {name}!"
""",
    "test_greeting.py": """\
from greeting import greet


def test_english():
    assert greet("Ada") == "Good morning, Ada!"


def test_german():
    assert greet("Ada", language="de") == "Guten Morgen, Ada!"
""",
}

#: A workflow, and what it works on.
STOCK = {
    "low.yaml": """\
description: Write down what has to be ordered
inputs:
  below: {type: integer, description: how few are too few}
nodes:
  - id: stock
    type: read-file
    params: {file_path: stock.json}
  - id: low
    type: python
    params:
      inputs: {items: "${stock.content}", below: "${below}"}
      code: |
        import json
        return [item for item in json.loads(items) if item["left"] < below]
  - id: first
    type: shell
    params: {command: "echo order ${low.result[0].name} first"}
outputs:
  low: {source: "${low.result}"}
  first: {source: "${first.stdout}"}
""",
    "stock.json": """\
[
  {"name": "nuts; and bolts", "left": 3},
  {"name": "washers", "left": 250},
  {"name": "Müller's glue", "left": 9}
]
""",
}

#: What an API answers whose fields nobody has told us of.
USERS: dict[str, dict[str, object]] = {
    "torvalds": {"name": "Linus Torvalds", "bio": "I wrote a kernel, once.", "followers": 230000},
    "gvanrossum": {"name": "Guido van Rossum", "bio": None, "followers": 24000},
}

#: In place of a real coding agent, so that the demo needs no network and no key. It gets the same
#: prompt in the same way, and really edits the file that lies before it.
STAND_IN = '''\
#!/usr/bin/env python3
import pathlib, sys

prompt = pathlib.Path(sys.argv[1]).read_text()
assert "unexpected keyword argument 'language'" in prompt, "it does not tell what is wrong"
pathlib.Path("greeting.py").write_text(
    """\\
WORDS = {"en": "Good morning", "de": "Guten Morgen"}


def greet(name, language="en"):
    return f"{WORDS[language]}, {name}!"
"""
)
print("edited greeting.py: greets in German, too")
'''


class NotAsTold(Exception):
    """Something went otherwise than the scene says."""


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
        print(bold(f"$ {command}"), flush=True)
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
            raise NotAsTold(f"`{command}` ended with {done.returncode} instead of {expect}")
        print(flush=True)

    def export(self, name: str, value: str) -> None:
        """Show that a variable is set, and set it for the commands from here on."""
        print(bold(f"$ export {name}={value}"), flush=True)
        self.environment[name] = value

    def program(self, name: str, text: str) -> None:
        """Put a program on the PATH."""
        file = self.home / "bin" / name
        file.write_text(text)
        file.chmod(0o755)

    def holds(self, file: str, text: str, *, absent: bool = False) -> None:
        """Make sure that a file of the project does (not) hold a text."""
        if (text in (self.directory / file).read_text()) is absent:
            raise NotAsTold(f"{file} {'still holds' if absent else 'does not hold'} {text!r}")


def main() -> int:
    # A demo that is stopped clears away what it made, like one that comes to its end.
    for stop in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(stop, lambda number, frame: sys.exit(128 + number))
    with tempfile.TemporaryDirectory(prefix="runtrue-demo-") as temporary:
        stage = Stage(Path(temporary).resolve())
        try:
            for number, scene in enumerate(SCENES, start=1):
                print(bold(f"── {number}. {scene.__doc__}\n"), flush=True)
                scene(stage)
        except (NotAsTold, OSError, subprocess.SubprocessError) as error:
            print(f"the demo failed: {error}", file=sys.stderr)
            return 1
    print("Everything went as told.")
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
    stage.run("runtrue check low.yaml")
    stage.run("runtrue run low.yaml below=10")
    stage.run("sed -i.old 's/].name/].title/' low.yaml && runtrue run low.yaml below=10", expect=1)


def task_is_done(stage: Stage) -> None:
    """A task in plain words: the guessed names are wrong, and are mended from what came back."""
    stage.directory = stage.home
    with users_api() as address:
        url = f"{address}/users/torvalds"
        task = f"fetch {url} and extract username and biography"
        # The API is on this machine, which workflows do not reach unless its user lets them.
        stage.export("RUNTRUE_ALLOW_LOOPBACK", "1")
        stage.run(f'runtrue do "{task}" --save github-user')
        stage.run("runtrue show github-user")
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


def bold(text: str) -> str:
    return f"\x1b[1m{text}\x1b[0m" if COLOUR else text


if __name__ == "__main__":
    sys.exit(main())
