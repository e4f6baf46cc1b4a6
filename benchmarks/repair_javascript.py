"""JavaScript and TypeScript: small programs with one bug each, as `runtrue fix` sees them.

The programs are in `javascript-programs.toml`. Each item is a project of its own with the program,
its tests and a runner: node's own, mocha, jest or vitest, which come from `tests/runners`. The tool
runs with default settings; then the whole tests are put back, and they alone decide.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
import tomllib
from collections.abc import Collection
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.repair import Item, Outcome, outcome_of, run_tool, succeeds, take_proposal

HERE = Path(__file__).parent
MODULES = HERE.parent / "tests" / "runners" / "node_modules"
NODE = "node --test"
#: By turns. jest needs settings for modules, and TypeScript a runner that reads it.
RUNNERS = {"commonjs": ("node", "mocha", "jest"), "module": ("mocha", "vitest", "node")}
#: What a module imports of its runner; others give names to every file.
IMPORTED = {
    "vitest": "import { test } from 'vitest';",
    "node": "import { test } from 'node:test';",
}
SCRIPTS = {"node": NODE, "mocha": "mocha", "jest": "jest", "vitest": "vitest run"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Program(Item):
    """An item with the parts that its project is made of."""

    runner: str
    suffix: str
    is_module: bool
    setup: str
    cases: tuple[tuple[str, str], ...]


def load() -> list[Program]:
    """Return the items, with the tests that fail in each."""
    document = tomllib.loads((HERE / "javascript-programs.toml").read_text("utf-8"))
    items = []
    for at, one in enumerate(document["program"]):
        is_typescript = one.get("language") == "typescript"
        is_module = is_typescript or one.get("esm", False)
        turns = RUNNERS["module" if is_module else "commonjs"]
        runner = "vitest" if is_typescript else turns[at % len(turns)]
        source = one["source"].lstrip("\n")
        for n, (old, new) in enumerate(one["bugs"]):
            if source.count(old) != 1:
                raise ValueError(f"{one['name']}: {old!r} is not in the program just once")
            items.append(
                Program(
                    id=f"{one['name']}-{n}",
                    category=runner,
                    symptom="syntax" if one["name"] == "syntax" else "logic",
                    buggy=source.replace(old, new),
                    tests="",
                    failing=(),
                    runner=runner,
                    suffix="ts" if is_typescript else "js",
                    is_module=is_module,
                    setup=one.get("setup", ""),
                    cases=tuple((name, body) for name, body in one["tests"]),
                )
            )
    if not MODULES.is_dir():
        raise FileNotFoundError("tests/runners has no node_modules: run scripts/setup-runners")
    return with_failing(items)


def with_failing(items: list[Program]) -> list[Program]:
    """Return the items with the tests that fail in each; each has a process and limits."""
    done = subprocess.run(
        ["node", str(HERE / "failing-tests.cjs"), str(MODULES / "x")],
        input=json.dumps([asdict(item) for item in items]),
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    if done.returncode:
        raise OSError(f"the tests of the items could not be run: {done.stderr[-300:]}")
    failing = json.loads(done.stdout)
    if sound := [item.id for item in items if not failing[item.id]]:
        raise ValueError(f"no test fails: {', '.join(sound)}")
    return [replace(item, failing=tuple(failing[item.id])) for item in items]


def write(item: Program, project: Path, names: Collection[str] | None) -> None:
    """Write an item's project, with the tests of these names; with all of them for None."""
    project.mkdir(parents=True, exist_ok=True)
    package: dict[str, Any] = {"name": item.id, "scripts": {"test": SCRIPTS[item.runner]}}
    if item.is_module:
        package["type"] = "module"
    (project / "package.json").write_text(json.dumps(package))
    program = project / f"program.{item.suffix}"
    if not program.exists():
        program.write_text(item.buggy)
    chosen = [(name, body) for name, body in item.cases if names is None or name in names]
    from_vitest = item.runner == "vitest"
    imported = f"./program.{item.suffix}"
    if item.is_module or from_vitest:
        head = [
            "import assert from 'node:assert';",
            IMPORTED.get(item.runner, "const test = it;"),
            f"import * as loaded from '{imported}';",
            "const m = loaded.default ?? loaded;",
        ]
    else:
        head = ["const assert = require('node:assert');", f"const m = require('{imported}');"]
        if item.runner == "node":
            head.insert(0, "const { test } = require('node:test');")
        elif item.runner == "mocha":
            head.insert(0, "const test = it;")
    lines = [*head, item.setup, *(f"test('{n}', async () => {{ {b} }});" for n, b in chosen)]
    test_suffix = item.suffix if not from_vitest or item.is_module else "mjs"
    folder = project / "test" if item.runner == "mocha" else project
    folder.mkdir(exist_ok=True)
    text = "\n".join(lines) + "\n"
    if item.runner == "mocha":
        text = text.replace("'./program.", "'../program.")
    (folder / f"program.test.{test_suffix}").write_text(text)


def passes(project: Path) -> bool:
    return succeeds(["npm", "test", "--silent"], project)


def repair(item: Item, held_back: str | None = None) -> Outcome:
    """Run the tool on one item, and its original tests on what the tool has left."""
    assert isinstance(item, Program)
    names = [name for name, _ in item.cases]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        project, home = Path(place, "project"), Path(place, "home")
        home.mkdir()
        shown = [name for name in names if name != held_back]
        write(item, project, shown)
        (project / ".gitignore").write_text("node_modules\n")
        (project / "node_modules").symlink_to(MODULES)
        git = ["git", "-c", "user.name=bench", "-c", "user.email=bench@example.com"]
        for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "as it is"]):
            subprocess.run([*git, *command], cwd=project, check=True)
        begin = time.perf_counter()
        report = run_tool(project, home, check=None)
        seconds = time.perf_counter() - begin
        proposed = take_proposal(project, report or {})
        program = project / f"program.{item.suffix}"
        left = program.read_text() if program.is_file() else ""
        write(item, project, None)
        fixed = left != item.buggy and passes(project)
        plausible = fixed
        if not fixed and left != item.buggy:
            write(item, project, shown)
            plausible = held_back is not None and passes(project)
            write(item, project, [name for name in names if name not in item.failing])
        regressed = not fixed and left != item.buggy and not passes(project)
    return outcome_of(
        item, held_back, report, seconds, proposed, plausible, fixed, regressed, program=left
    )
