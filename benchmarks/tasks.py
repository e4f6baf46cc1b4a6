"""Tasks: how many that people type are done rightly, wrongly or refused, without a model.

The servers are on the loopback, in the shapes of public APIs; `tasks.toml` has the tasks with their
answers. Each goes through the planner's flow, as `runtrue do` runs it.
"""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
import threading
import tomllib
from contextlib import chdir
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

from benchmarks.measure import Row, Table, Target
from runtrue.home import Home
from runtrue.planner import create_planner_flow
from runtrue.planner.built_in import BuiltInGenerator
from runtrue.planner.context import PlannerContext
from runtrue.workflow import Registry

ITEMS = Path(__file__).parent / "tasks.toml"


class Server(BaseHTTPRequestHandler):
    """Answers with the data of the table, and keeps a log of requests."""

    data: ClassVar[dict[str, Any]] = {}
    log: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.log.append(f"{self.command} {self.path}")
        found = self.data.get(self.path.partition("?")[0])
        body = json.dumps(found).encode()
        self.send_response(200 if found is not None else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.do_GET()

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing."""


def run() -> Table:
    os.environ["RUNTRUE_ALLOW_LOOPBACK"] = "1"
    document = tomllib.loads(ITEMS.read_text("utf-8"))
    counts: dict[str, list[int]] = {}
    Server.data = {path: json.loads(text) for path, text in document["answers"].items()}
    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{server.server_port}"
    try:
        for item in document["task"]:
            outcome, why = attempt(item, base)
            kind = counts.setdefault(item["kind"], [0, 0, 0])
            kind[("right", "wrong", "refused").index(outcome)] += 1
            if outcome != "right":
                print(f"{outcome}: {item['text']}\n    {why}")
    finally:
        server.shutdown()
        server.server_close()
    counts["all"] = [sum(column) for column in zip(*counts.values(), strict=True)]
    rows = tuple(_row(kind, *found) for kind, found in counts.items())
    right, wrong, refused = counts["all"]
    note = f"{right + wrong + refused} tasks: {right} right, {wrong} wrong, {refused} refused"
    return Table("tasks without a model", "% right", rows, (note,))


def _row(kind: str, right: int, wrong: int, refused: int) -> Row:
    share = right / (right + wrong + refused)
    # A wrong answer misses any target.
    met = share if not wrong else -1.0
    target = Target("≥", 0.8) if kind == "all" else None
    return Row(kind, 100 * share, (100 * share, 100 * share), "all tasks", met, target)


def attempt(item: dict[str, Any], base: str) -> tuple[str, str]:
    """Return whether one task is done right, wrong or refused, and what came of it."""
    Server.log = []
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        for name, text in item.get("files", {}).items():
            Path(name).write_text(text)
        registry = Registry(Home(Path(folder) / "home"), Path(folder))
        context = PlannerContext(registry, environment=os.environ, given=BuiltInGenerator())
        shared: dict[str, Any] = {"task": item["text"].replace("{}", base)}
        asyncio.run(create_planner_flow(context).run(shared))
        output = shared["planner_output"]
        if not output["success"] and item.get("refused"):
            return "right", ""
        if not output["success"]:
            return "refused", str(
                output["error"] or output["runtime_errors"] or output["missing_params"]
            )[:200]
        made = {n: Path(n).read_text() for n in item.get("writes", {}) if Path(n).exists()}
        result = output["result"]
    if len(Server.log) != len(set(Server.log)):
        return "wrong", f"sent twice: {Server.log}"
    if made != item.get("writes", {}):
        return "wrong", f"{made!r}"
    if item.get("refused"):
        return "wrong", f"not refused: {json.dumps(result)[:200]}"
    wanted = item.get("result")
    same = wanted is None or matches(result, wanted)
    return ("right", "") if same else ("wrong", f"{json.dumps(result)[:200]} and not {wanted}")


def matches(result: dict[str, Any], wanted: Any) -> bool:
    """True if the values of a result are those that are wanted, whatever they are called."""
    values = list(result.values())
    return values == [wanted] or values == wanted or result == wanted
