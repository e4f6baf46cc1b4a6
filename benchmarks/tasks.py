"""Tasks: how many that people type are done rightly, wrongly or refused, without a model.

The server is on the loopback, in the shapes of public APIs; `tasks.toml` has the tasks with their
answers. Each goes through the planner's flow, as `runtrue do` runs it, after a dry run that must
call nothing. A task with `held` was kept apart: nothing is made for it alone.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import tempfile
import tomllib
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path
from typing import Any
from unittest.mock import patch

from benchmarks.measure import Row, Table, Target
from benchmarks.task_server import TaskServer, serve_tasks
from runtrue.home import Home
from runtrue.planner import create_planner_flow
from runtrue.planner.built_in import BuiltInGenerator
from runtrue.planner.context import PlannerContext
from runtrue.planner.seams import WorkflowGenerator
from runtrue.workflow import Registry
from runtrue.workflow.apis import ApiStore, open_api

#: Tasks of several authors: the later files were written before anything was made for them.
ITEMS = tuple(
    Path(__file__).parent / name
    for name in (
        "tasks.toml",
        "tasks_apis.toml",
        "tasks_services.toml",
        "tasks_fresh.toml",
        "tasks_domains.toml",
    )
)
ROOT = Path(__file__).parent.parent
SERVERS = ROOT / "tests/servers/node_modules/@modelcontextprotocol"
#: The environment that has the MCP servers, and node.
PROGRAMS = ROOT / ".venv/bin"
OUTCOMES = ("right", "wrong", "refused")


def run() -> Table:
    counts = count(BuiltInGenerator)
    rows = tuple(_row(kind, *found) for kind, found in counts.items() if kind != "unnamed")
    right, wrong, refused = counts["all"]
    total = right + wrong + refused
    unnamed = counts["unnamed"][0]
    note = f"{total} tasks: {right} right, {wrong} wrong, {refused} refused, {unnamed} unnamed"
    return Table("tasks without a model", "% right", rows, (note,))


def count(planner: Callable[[], WorkflowGenerator]) -> dict[str, list[int]]:
    """Return how many tasks of each kind a planner does rightly and wrongly, and refuses."""
    os.environ["RUNTRUE_ALLOW_LOOPBACK"] = "1"
    documents = [tomllib.loads(path.read_text("utf-8")) for path in ITEMS]
    answers = {
        place: json.loads(text)
        for one in documents
        for place, text in one.get("answers", {}).items()
    }
    apis = {name: text for one in documents for name, text in one.get("apis", {}).items()}
    only = os.environ.get("RUNTRUE_TASKS", "")
    counts: dict[str, list[int]] = {}
    unnamed = 0
    with serve_tasks(answers) as server:
        for item in (task for one in documents for task in one["task"]):
            if only not in f"{item['kind']} {item['text']}":
                continue
            given = item | {"document": apis.get(item.get("api"))}
            outcome, why = attempt(given, server, planner)
            for kind in (item["kind"], *(["held out"] if item.get("held") else ())):
                counts.setdefault(kind, [0, 0, 0])[OUTCOMES.index(outcome)] += 1
            if outcome != "right":
                is_unnamed = outcome == "refused" and not names_words(why, item["text"])
                unnamed += is_unnamed
                mark = "  (held out)" if item.get("held") else ""
                print(f"{outcome}{' without a word' * is_unnamed}: {item['text']}{mark}\n    {why}")
    held = counts.pop("held out", None)
    counts["all"] = [sum(column) for column in zip(*counts.values(), strict=True)]
    if held:
        counts["held out"] = held
    counts["unnamed"] = [unnamed, 0, 0]
    return counts


def _row(kind: str, right: int, wrong: int, refused: int) -> Row:
    share = right / (right + wrong + refused)
    # A wrong answer misses any target.
    met = share if not wrong else -1.0
    target = Target("≥", 0.8) if kind == "all" else None
    return Row(kind, 100 * share, (100 * share, 100 * share), "all tasks", met, target)


def names_words(why: str, task: str) -> bool:
    """True if a refusal quotes words of the task."""
    quoted = [part for pair in re.findall(r"'([^']+)'|\"([^\"]+)\"", why) for part in pair if part]
    return any(part.lower() in task.lower() or part.split()[0] in task for part in quoted)


def attempt(
    item: dict[str, Any], server: TaskServer, planner: Callable[[], WorkflowGenerator]
) -> tuple[str, str]:
    """Return whether one task is done right, wrong or refused, and what came of it."""
    server.reset()
    with tempfile.TemporaryDirectory() as folder, chdir(folder), patch.dict(os.environ):
        os.environ |= item.get("env", {})
        task = item["text"].replace("{}", server.base).replace("{folder}", folder)
        prepare(item, Path(folder), server.base)
        plan_and_run(task, Path(folder), planner(), dry_run=True)
        if server.log:
            return "wrong", f"the dry run called {server.log}"
        output = plan_and_run(task, Path(folder), planner(), dry_run=False)
        made = {path.name: path.read_text() for path in Path(folder).glob("*") if path.is_file()}
    if not output["success"]:
        if item.get("refused") or item.get("may_refuse"):
            return "right", ""
        why = output["error"] or output["runtime_errors"] or output["missing_params"]
        return "refused", str(why)[:300]
    trouble = wrong_effects(item, server) or wrong_files(item, made)
    return ("wrong", trouble) if trouble else judge(item, output)


def prepare(item: dict[str, Any], folder: Path, base: str) -> None:
    """Write the files of a task, the list of its MCP servers, and its API."""
    for name, text in item.get("files", {}).items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    if item.get("repo"):
        subprocess.run(["git", "init", "-q", "-b", "main", "repo"], check=True)
    node = str(PROGRAMS / "node")
    commands = {
        "time": [str(PROGRAMS / "python"), "-m", "mcp_server_time"],
        "git": [str(PROGRAMS / "python"), "-m", "mcp_server_git"],
        "everything": [node, str(SERVERS / "server-everything/dist/index.js")],
        "filesystem": [node, str(SERVERS / "server-filesystem/dist/index.js"), str(folder)],
    }
    chosen = {name: commands[name] for name in item.get("servers", ())}
    servers = {name: {"command": c, "args": args} for name, (c, *args) in chosen.items()}
    (folder / "home").mkdir()
    (folder / "home" / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
    if item.get("document"):
        (folder / "home" / "api.json").write_text(item["document"].replace("{}", base))
        document, settings = open_api(item["api"], str(folder / "home" / "api.json"))
        ApiStore(Home(folder / "home")).add(item["api"], settings, document)


def plan_and_run(
    task: str, folder: Path, planner: WorkflowGenerator, *, dry_run: bool
) -> dict[str, Any]:
    """Return what the planner's flow says of a task."""
    registry = Registry(Home(folder / "home"), folder)
    context = PlannerContext(registry, environment=os.environ, given=planner, dry_run=dry_run)
    shared: dict[str, Any] = {"task": task}
    asyncio.run(create_planner_flow(context).run(shared))
    output: dict[str, Any] = shared["planner_output"]
    return output


def wrong_effects(item: dict[str, Any], server: TaskServer) -> str:
    """Return what is wrong with the requests that were made."""
    # Two entries of a list may lead to the same address.
    once = [line for line in server.log if item["kind"] != "each" or not line.startswith("GET")]
    if len(once) != len(set(once)):
        return f"sent twice: {server.log}"
    changing = [
        line for line in server.log if not line.startswith(("GET", "POST /auth", "POST /session"))
    ]
    if changing != item.get("sent", []):
        return f"sent {changing}"
    if "log" in item and server.log != item["log"]:
        return f"asked {server.log}"
    return ""


def wrong_files(item: dict[str, Any], made: dict[str, str]) -> str:
    """Return what is wrong with the files that were written."""
    for name, text in item.get("writes", {}).items():
        if made.get(name) != text:
            return f"wrote {made.get(name)!r}"
    for name, text in item.get("writes_any", {}).items():
        if made.get(name) not in json.loads(text):
            return f"wrote {made.get(name)!r}"
    for name, text in item.get("writes_json", {}).items():
        if name not in made or json.loads(made[name]) != json.loads(text):
            return f"wrote {made.get(name)!r}"
    known = {*item.get("files", ()), *item.get("writes", ()), *item.get("writes_json", ())}
    extra = made.keys() - known - item.get("writes_any", {}).keys()
    return f"wrote also {sorted(extra)}" if extra else ""


def judge(item: dict[str, Any], output: dict[str, Any]) -> tuple[str, str]:
    """Compare the result of a task with what is wanted."""
    result = output["result"]
    shown = json.dumps(result)[:200]
    if item.get("refused"):
        return "wrong", f"not refused: {shown}"
    if "tool" in item:
        used = [node["type"] for node in output["workflow_ir"]["nodes"]]
        return ("right", "") if f"mcp-{item['tool']}" in used else ("wrong", f"used {used}")
    if "has" in item:
        return ("right", "") if item["has"] in shown else ("wrong", shown)
    if "any_of" in item:
        wanted = json.loads(item["any_of"])
    elif "result" in item or "result_json" in item:
        wanted = [item["result"] if "result" in item else json.loads(item["result_json"])]
    else:
        return "right", ""
    same = any(matches(result, one) for one in wanted)
    return ("right", "") if same else ("wrong", f"{shown} and not {wanted}")


def matches(result: dict[str, Any], wanted: Any) -> bool:
    """True if the values of a result are those that are wanted, whatever they are called."""
    values = list(result.values())
    return plain(wanted) in (plain(values), *([plain(values[0])] if len(values) == 1 else ()))


def plain(value: Any) -> Any:
    """Return a value without the names in it."""
    if isinstance(value, dict):
        return [plain(inner) for inner in value.values()]
    return [plain(inner) for inner in value] if isinstance(value, list) else value
