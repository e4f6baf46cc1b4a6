"""`runtrue fix` with the real test runners: a test fails, an agent mends the code, it passes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.checks.runners import JUNIT_CONSOLE, NODE_MODULES, environment, require
from tests.cli.conftest import Machine, MakeProject

JAVASCRIPT = "exports.total = (prices) => prices.reduce((sum, price) => sum + price, 1);\n"
MENDS_JAVASCRIPT = "sed -i 's/, 1/, 0/' total.js"


@dataclass(frozen=True)
class Broken:
    """A project with one bug: its files, what mends it, the failing test and the check's name."""

    files: Mapping[str, str]
    agent: str
    test: str
    mended: str
    #: Given where the check is not found by itself.
    check: str | None = None
    ignored: tuple[str, ...] = field(default=("node_modules",))


PROJECTS = {
    "jest": Broken(
        {
            "package.json": '{ "devDependencies": { "jest": "*" } }',
            "total.js": JAVASCRIPT,
            "total.test.js": """
                const { total } = require("./total.js");
                test("adds", () => expect(total([1, 2])).toBe(3));
            """,
        },
        agent=MENDS_JAVASCRIPT,
        test="total.test.js::adds",
        mended="total.js",
    ),
    "vitest": Broken(
        {
            "package.json": '{ "type": "module", "scripts": { "test": "vitest" } }',
            # Reading it writes into node_modules, as do the caches of vitest.
            "vitest.config.ts": """
                import { defineConfig } from "vitest/config";
                export default defineConfig({ test: { include: ["total.test.ts"] } });
            """,
            "total.ts": """
                export const total = (prices: number[]) => prices.reduce((a, b) => a + b, 1);
            """,
            "total.test.ts": """
                import { expect, test } from "vitest";
                import { total } from "./total";
                test("adds", () => expect(total([1, 2])).toBe(3));
            """,
        },
        agent="sed -i 's/, 1/, 0/' total.ts",
        test="total.test.ts::adds",
        mended="total.ts",
    ),
    "mocha": Broken(
        {
            "package.json": '{ "scripts": { "test": "mocha spec" } }',
            "total.js": JAVASCRIPT,
            "spec/total.js": """
                const { total } = require("../total.js");
                it("adds", () => require("assert").strictEqual(total([1, 2]), 3));
            """,
        },
        agent=MENDS_JAVASCRIPT,
        test="spec/total.js::adds",
        mended="total.js",
    ),
    "go_test": Broken(
        {
            "go.mod": "module example.org/shop\n\ngo 1.19\n",
            "total.go": "package shop\n\nfunc Total(a, b int) int { return a - b }\n",
            "total_test.go": """
                package shop

                import "testing"

                func TestTotal(t *testing.T) {
                    if Total(1, 2) != 3 {
                        t.Error("wrong")
                    }
                }
            """,
        },
        agent="sed -i 's/a - b/a + b/' total.go",
        test="total_test.go::TestTotal",
        mended="total.go",
    ),
    "cargo_test": Broken(
        {
            "Cargo.toml": '[package]\nname = "shop"\nversion = "0.1.0"\nedition = "2021"\n',
            "Cargo.lock": 'version = 3\n\n[[package]]\nname = "shop"\nversion = "0.1.0"\n',
            "src/lib.rs": "pub fn total(a: i32, b: i32) -> i32 { a - b }\n",
            "tests/total.rs": "#[test]\nfn adds() { assert_eq!(shop::total(1, 2), 3) }\n",
        },
        agent="sed -i 's/a - b/a + b/' src/lib.rs",
        test="tests/total.rs::adds",
        mended="src/lib.rs",
        ignored=("target",),
    ),
    "junit": Broken(
        {
            "src/main/java/shop/Total.java": """
                package shop;
                class Total { static int total(int a, int b) { return a - b; } }
            """,
            "src/test/java/shop/TotalTest.java": """
                package shop;
                import org.junit.jupiter.api.Assertions;
                import org.junit.jupiter.api.Test;
                class TotalTest {
                    @Test void adds() { Assertions.assertEquals(3, Total.total(1, 2)); }
                }
            """,
        },
        agent="sed -i 's/a - b/a + b/' src/main/java/shop/Total.java",
        test="src/test/java/shop/TotalTest.java::adds",
        mended="src/main/java/shop/Total.java",
        check=JUNIT_CONSOLE,
        ignored=("target",),
    ),
    "other": Broken(
        {
            "Makefile": "test:\n\tnode --test --test-reporter=tap\n",
            "total.js": JAVASCRIPT,
            "total.test.js": """
                const { total } = require("./total.js");
                const { test } = require("node:test");
                test("adds", () => require("assert").strictEqual(total([1, 2]), 3));
            """,
        },
        agent=MENDS_JAVASCRIPT,
        test="adds",
        mended="total.js",
        check="make test",
    ),
}


@pytest.mark.parametrize("name", PROJECTS)
def test_a_failing_test_is_repaired(name: str, machine: Machine, make_project: MakeProject) -> None:
    runner, broken = require(name), PROJECTS[name]
    project: Path = make_project(
        {**broken.files, ".gitignore": "".join(f"{line}\n" for line in broken.ignored)}
    )
    if runner.package:
        (project / "node_modules").symlink_to(NODE_MODULES)
    check = ("--check", broken.check) if broken.check else ()
    done = machine.runtrue(
        "fix", "--apply", "--json", "--agent", broken.agent, *check, cwd=project, env=environment()
    )
    assert done.code == 0, done.said
    first, second = done.json["attempts"]
    (finding,) = first["findings"]
    assert finding["location"]["symbol"] == broken.test
    assert second["findings"] == []
    assert second["fix"]["parts"][-1]["files"] == [broken.mended]
    (verdict,) = second["verdicts"]
    assert verdict["cases"] == {"passed": 1}
