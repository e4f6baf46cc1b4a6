"""What is killed at every write: batches, workflows within workflows, a plan that is revised."""

from __future__ import annotations

import asyncio
import json
from abc import ABC, abstractmethod
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec

from runtrue.config import load_config
from runtrue.errors import SideEffectInterrupted
from runtrue.flow import Journal, LocalDispatcher, RunRow, RunState, Segment
from runtrue.home import Home
from runtrue.plan import plan_use, prepare_plan, start_plan
from runtrue.workflow import Registry, given_outcome, prepare_workflow, start_workflow
from tests.crashes.points import CrashPoint, done_by_fork, killed_at, writes_of
from tests.crashes.server import effects, wait_until_idle
from tests.plan.driving import make_project


class Scenario(ABC):
    """One kind of run. Each point has a folder of its own, with the home and the files."""

    @abstractmethod
    def start(self, folder: Path, journal: Journal, point: str) -> str:
        """Record a new run, and return its id."""

    @abstractmethod
    def prepare(self, run: RunRow, home: Home) -> Segment:
        """Return the segment of a run."""

    @abstractmethod
    def check(self, folder: Path, run: RunRow, point: str) -> None:
        """Assert that nothing was lost or done twice."""

    def settle(self, journal: Journal, run_id: str, point: str) -> bool:
        """Say of what was cut off whether it happened; return whether the rest is to be fired."""
        raise AssertionError(f"{point}: {journal.begun(run_id)} was cut off")

    def writes(self, folder: Path) -> int:
        """Return how many writes an undisturbed run makes."""
        folder.mkdir(parents=True)
        home = Home(folder / "home")
        with Journal(home.journal) as journal:
            run_id = self.start(folder, journal, folder.name)
        count = writes_of(lambda: self._go_on(home, run_id), folder / "count")
        with Journal(home.journal) as journal:
            self.check(folder, journal.find(run_id), folder.name)
        return count

    def crash(self, folder: Path, first: CrashPoint, *more: CrashPoint) -> None:
        """Kill a run at a point, and its resumed runs at others, resume it, and check the end."""
        folder.mkdir(parents=True)
        home, name = Home(folder / "home"), folder.name
        with Journal(home.journal) as journal:
            run_id = self.start(folder, journal, name)
        assert killed_at(first, lambda: self._go_on(home, run_id)), f"{name} was not reached"
        for point in more:
            killed_at(point, lambda: self._settled(home, run_id, name))
        done_by_fork(lambda: self._settled(home, run_id, name))
        with Journal(home.journal) as journal:
            self.check(folder, journal.find(run_id), name)

    def _settled(self, home: Home, run_id: str, point: str) -> None:
        """Go on to the end, as a person does who looks at the server's log where it is asked."""
        try:
            self._go_on(home, run_id)
        except SideEffectInterrupted:
            with Journal(home.journal) as journal:
                force = self.settle(journal, run_id, point)
            self._go_on(home, run_id, force=force)

    def _go_on(self, home: Home, run_id: str, *, force: bool = False) -> None:
        with Journal(home.journal) as journal:
            dispatcher = LocalDispatcher(journal, lambda run: self.prepare(run, home))
            if not journal.find(run_id).is_over:
                asyncio.run(dispatcher.run(run_id, force=force))


class PostScenario(Scenario):
    """A workflow of posts, each of which must be done once."""

    def __init__(self, server: str, log: Path, workflow: dict[str, Any], names: list[str]) -> None:
        self._log = log
        self._server = server
        self._names = names
        self._text = json.dumps(workflow).replace("SERVER", server)

    def start(self, folder: Path, journal: Journal, point: str) -> str:
        """Record a run whose requests name the point."""
        workflow = json.loads(self._text.replace("POINT", point))
        for name, inner in workflow.pop("files", {}).items():
            (folder / name).write_text(json.dumps(inner))
        registry = Registry(Home(folder / "home"), folder)
        return start_workflow(journal, workflow, {}, registry=registry).run_id

    def prepare(self, run: RunRow, home: Home) -> Segment:
        """Return the workflow."""
        return prepare_workflow(run, home)

    def settle(self, journal: Journal, run_id: str, point: str) -> bool:
        """Look into the server's log: what is in it is done, and the rest is fired again."""
        wait_until_idle(self._server)
        done = effects(self._log, point)
        begun = journal.begun(run_id)
        for name in begun:
            if name in done or f"{name}!" in done:
                outcome = given_outcome({"response": {"id": name}})
                journal.settle(run_id, name, msgspec.json.encode(outcome))
        return bool(journal.begun(run_id))

    def check(self, folder: Path, run: RunRow, point: str) -> None:
        """Compare the server's log with what was to be done, and the result with it."""
        done = Counter(name.rstrip("!") for name in effects(self._log, point))
        assert done == Counter(self._names), f"{point}: {done - Counter(self._names)}"
        assert run.state is RunState.PASSED, f"{point}: {run.state} {run.error}"
        assert run.result is not None
        result = run.result["result"]
        assert result["success_count"] == result["count"] == len(result["results"])
        found = sorted(name.rstrip("!") for name in _ids(result["results"]))
        assert found == sorted(self._names), f"{point}: {found}"


def _ids(value: Any) -> list[str]:
    """Return what the server answered, wherever it is in a result."""
    if isinstance(value, dict) and isinstance(value.get("response"), dict):
        return [value["response"]["id"]]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [name for one in inner for name in _ids(one)]


def posting(node: str, name: str, **more: Any) -> dict[str, Any]:
    """A node that posts a name."""
    params = {"url": "SERVER/POINT", "method": "POST", "json": {"n": name}}
    return {"id": node, "type": "http", "params": {**params, **more.pop("params", {})}, **more}


def batch(server: str, log: Path, count: int, **options: Any) -> PostScenario:
    """A batch of posts."""
    params = options.pop("params", {})
    refused = options.pop("refused", False)
    names = [f"post[{number}]" for number in range(count)]
    items = [f"{name}!" if refused and n % 3 == 0 else name for n, name in enumerate(names)]
    node = posting("post", "${item}", batch={"items": items, **options}, params=params)
    return PostScenario(server, log, {"nodes": [node]}, names)


def nested(server: str, log: Path, count: int, lines: int, **options: Any) -> PostScenario:
    """A batch of workflows, each of which posts, has a batch of its own, and posts again."""
    inner = {
        "inputs": {"place": {"type": "string"}},
        "nodes": [
            posting("first", "${place}.first"),
            posting("lines", "${place}.lines[${item}]", batch={"items": list(range(lines))}),
            posting("last", "${place}.last"),
        ],
        "outputs": {
            "first": {"source": "${first}"},
            "lines": {"source": "${lines.results}"},
            "last": {"source": "${last}"},
        },
    }
    places = [f"orders[{number}]" for number in range(count)]
    node = {
        "id": "orders",
        "type": "workflow",
        "params": {"workflow_ref": "inner.json", "param_mapping": {"place": "${item}"}},
        "batch": {"items": places, **options},
    }
    names = [
        f"{place}.{part}"
        for place in places
        for part in ("first", *(f"lines[{n}]" for n in range(lines)), "last")
    ]
    return PostScenario(server, log, {"nodes": [node], "files": {"inner.json": inner}}, names)


_PLAN = """
instruction: say yes
automation_profile: full-auto
strategy:
  bounds: {paths: ["a.txt"]}
  steps:
    - {id: s1, description: count, actor: command, command: "echo one >> a.txt"}
    - {id: s2, description: count, actor: command, command: "echo two >> a.txt"}
validations:
  - {name: says, command: "grep -q yes b.txt"}
"""


_PLAN_SIDE_BY_SIDE = (
    _PLAN.replace('"a.txt"', '"a.txt", "c.txt"')
    .replace("actor: command", "needs: [], actor: command")
    .replace("echo two >> a.txt", "echo two >> c.txt")
)


class PlanScenario(Scenario):
    """A plan whose steps append lines, whose fix needs wider bounds, and that is applied."""

    def __init__(self, plan: str = _PLAN) -> None:
        self._plan = plan
        #: The files of a run undisturbed.
        self._wanted: dict[str, str] | None = None

    def start(self, folder: Path, journal: Journal, point: str) -> str:
        """Record a plan on a new project."""
        files = {"a.txt": "", "c.txt": "", "b.txt": "no\n", "fix.sh": "echo yes > b.txt\n"}
        project = make_project(folder / "project", files)
        (folder / "plan.yaml").write_text(self._plan)
        request = plan_use(
            project, load_config(project), str(folder / "plan.yaml"), agent="sh fix.sh #"
        )
        return start_plan(journal, request)

    def prepare(self, run: RunRow, home: Home) -> Segment:
        """Return the plan."""
        return prepare_plan(run, home)

    def check(self, folder: Path, run: RunRow, point: str) -> None:
        """The strategy was revised, and what is applied is what an undisturbed run applies."""
        project = folder / "project"
        assert run.state is RunState.PASSED, f"{point}: {run.state} {run.error}"
        assert run.result is not None
        assert run.result["applied"] is True, point
        assert "b.txt" in json.dumps(run.result["plan"]["strategy"]), f"{point}: not revised"
        found = {name: (project / name).read_text() for name in ("a.txt", "b.txt", "c.txt")}
        assert found["b.txt"] == "yes\n", point
        self._wanted = self._wanted or found
        assert found == self._wanted, f"{point}: {found}"


def all_scenarios(server: str, log: Path) -> dict[str, Scenario]:
    """Return every scenario by its name."""
    at_once = {"parallel": True, "max_concurrent": 5}
    return {
        "batch": batch(server, log, 40),
        "batch at once": batch(server, log, 40, **at_once),
        "batch with keys": batch(server, log, 40, params={"idempotency_key": True}),
        "batch with retries": batch(server, log, 20, refused=True, max_retries=2, retry_wait=0),
        "workflows in a batch": nested(server, log, 4, 6),
        "workflows at once": nested(server, log, 4, 6, **at_once),
        "plan": PlanScenario(),
        "plan side by side": PlanScenario(_PLAN_SIDE_BY_SIDE),
    }


def points(writes: int, every: int = 1) -> list[CrashPoint]:
    """Return each point before and after a write, or each `every`-th of them."""
    found = [CrashPoint(n, before) for n in range(1, writes + 1) for before in (True, False)]
    return found[every // 2 :: every]
