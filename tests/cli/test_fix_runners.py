"""`runtrue fix` with runners that speak TAP, node's own, and one whose cases cannot be read."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.checks.runners import NODE_MODULES, environment
from tests.cli.conftest import Machine, MakeProject

SOURCE = "export const total = (prices) => prices.reduce((sum, price) => sum + price, 1);\n"
FIX = "sed -i 's/, 1/, 0/' index.js"


@dataclass(frozen=True)
class Broken:
    """A project with one bug: its script and test file, the failing case, and ways to cheat."""

    script: str
    test: Mapping[str, str]
    case: str
    #: What an agent does, and what is restored, or vanishes, of it.
    cheats: Mapping[str, tuple[str, str]]


PROJECTS = {
    "ava": Broken(
        "ava",
        {
            "test.js": """
                import test from "ava";
                import { total } from "./index.js";
                test("adds", t => { t.is(total([1, 2]), 3); });
                test("of nothing", t => { t.is(typeof total([]), "number"); });
            """
        },
        case="adds",
        cheats={"restored": ('sed -i \'s/test("adds"/test.skip("adds"/\' test.js', "test.js")},
    ),
    "node_test": Broken(
        "node --test suite/*.js",
        {
            "suite/total.js": """
                import { strictEqual } from "node:assert";
                import { test } from "node:test";
                import { total } from "../index.js";
                test("adds", () => strictEqual(total([1, 2]), 3));
                test("of nothing", () => strictEqual(typeof total([]), "number"));
            """
        },
        case="suite/total.js::adds",
        cheats={
            "restored": ('sed -i \'s/test("adds"/test.skip("adds"/\' suite/*.js', "suite/total.js"),
            "vanished": ("echo 'process.exit(0);' >> index.js", "suite/total.js::of nothing"),
        },
    ),
    "unread": Broken(
        "node suite.js",
        {
            "suite.js": """
                import { strictEqual } from "node:assert";
                import { total } from "./index.js";
                strictEqual(total([1, 2]), 3);
            """
        },
        case="npm",
        cheats={"restored": ("sed -i 's/^strictEqual.*//' suite.js", "suite.js")},
    ),
}


@pytest.mark.parametrize("name", PROJECTS)
def test_the_right_fix_is_accepted_and_a_skipped_test_is_not(
    name: str, machine: Machine, make_project: MakeProject
) -> None:
    broken = PROJECTS[name]
    package = f'{{ "type": "module", "scripts": {{ "test": "{broken.script}" }} }}'
    files = {"package.json": package, "index.js": SOURCE, ".gitignore": "node_modules\n"}
    project = make_project({**files, **broken.test})
    if name == "ava":
        if not (NODE_MODULES / "ava").is_dir():
            pytest.skip("tests/runners has no ava: run scripts/setup-runners")
        (project / "node_modules").symlink_to(NODE_MODULES)
    for key, (cheat, what) in broken.cheats.items():
        agent = f"sh -c {shlex.quote(cheat)}"
        done = machine.runtrue(
            "fix", "--json", "--check", "npm test", "--agent", agent, cwd=project, env=environment()
        )
        assert done.code == 1, done.said
        assert what in done.json[key], done.said
    done = machine.runtrue(
        "fix", "--json", "--check", "npm test", "--agent", FIX, cwd=project, env=environment()
    )
    assert done.json["status"] == "passed", done.said
    (finding,) = done.json["attempts"][0]["findings"]
    assert finding["location"]["symbol"] == broken.case


@pytest.mark.parametrize("runner", ["mocha", "jest", "vitest"])
def test_a_slow_suite_is_run_once_before_and_once_at_the_end(
    runner: str, machine: Machine, make_project: MakeProject, tmp_path: Path
) -> None:
    if not (NODE_MODULES / runner).is_dir():
        pytest.skip(f"tests/runners has no {runner}: run scripts/setup-runners")
    runs, asked = tmp_path / "runs", tmp_path / "asked"
    imports = 'import { it } from "vitest";' if runner == "vitest" else ""
    module = "module" if runner == "vitest" else "commonjs"
    load = {
        "module": 'import fs from "node:fs";\nimport { total } from "../total.cjs";',
        "commonjs": 'const fs = require("node:fs");\nconst { total } = require("../total.cjs");',
    }[module]
    body = f"""{imports}
{load}
it("adds", () => {{ if (total(1, 2) !== 3) throw new Error("wrong"); }});
it("takes long", async () => {{
  fs.appendFileSync({str(runs)!r}, "x");
  await new Promise((done) => setTimeout(done, 1800));
}});
"""
    script = {"vitest": "vitest run"}.get(runner, runner)
    project = make_project(
        {
            "package.json": f'{{"type": "{module}", "scripts": {{"test": "{script}"}}}}',
            "total.cjs": "exports.total = (a, b) => a - b;\n",
            "test/total.test.js": body,
            ".gitignore": "node_modules\n",
        }
    )
    (project / "node_modules").symlink_to(NODE_MODULES)
    # The first change is of no use, the second one is right.
    right = "sed -i 's/a - b/a + b/' total.cjs"
    line = f"test -e {asked} && {right}; touch {asked}; echo '// tried' >> total.cjs"
    done = machine.runtrue(
        "fix", "--json", "--agent", f"sh -c {shlex.quote(line)}", cwd=project, env=environment()
    )
    assert done.code == 0, done.said
    verdicts = [attempt["verdicts"][0] for attempt in done.json["attempts"]]
    assert [(v["passed"], v["partial"]) for v in verdicts] == [
        (False, False),
        (False, True),
        (True, False),
    ]
    assert runs.read_text() == "xx"
