"""Small JavaScript and TypeScript projects, repaired by `runtrue fix` without a model."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.checks.runners import NODE_MODULES
from tests.cli.conftest import Machine

#: A net for slow machines: none of them takes as long as what is given by default.
PATIENT = {"RUNTRUE_SEARCH_SECONDS": "60"}
PROGRAM = """\
const FREE_FROM = 50;

function shipping(total, express = false) {
  const cost = total > FREE_FROM ? 0 : 4;
  return express ? cost + 5 : cost;
}

module.exports = { shipping };
"""
CASES = """\
test('small orders pay', () => { assert.equal(shipping(12), 4); });
test('express is more', () => { assert.equal(shipping(12, true), 9); });
test('free from fifty', () => { assert.equal(shipping(50), 0); });
test('express from fifty', () => { assert.equal(shipping(50, true), 5); });
"""
HEAD = "const assert = require('node:assert');\nconst { shipping } = require('{}shipping.js');\n"
TESTS = {
    "node --test": ("shipping.test.js", "const { test } = require('node:test');\n" + HEAD),
    "node test.js": ("test.js", "const test = (name, run) => run();\n" + HEAD),
    "mocha": ("test/shipping.js", "const test = it;\n" + HEAD),
    "jest": ("shipping.test.js", HEAD),
    "vitest run": (
        "shipping.test.mjs",
        "import { test } from 'vitest';\nimport assert from 'node:assert';\n"
        "import { shipping } from './shipping.js';\n",
    ),
    "ava": (
        "shipping.test.mjs",
        "import test from 'ava';\nimport assert from 'node:assert';\n"
        "import { shipping } from './shipping.js';\n",
    ),
}
#: The tests of all runners say what they want with node's own assertions.
AVA = {"failWithoutAssertions": False}


def make(project: Path, files: dict[str, str], script: str, **package: str) -> Path:
    settings = {"name": "shop", "scripts": {"test": script}, "ava": AVA, **package}
    files = {**files, "package.json": json.dumps(settings), ".gitignore": "node_modules\n"}
    for name, text in files.items():
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (project / "node_modules").symlink_to(NODE_MODULES)
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.com"]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "as it is"]):
        subprocess.run([*git, *command], cwd=project, check=True)
    return project


@pytest.mark.parametrize("script", TESTS)
def test_a_wrong_boundary_is_repaired_under_each_runner(script: str, tmp_path: Path) -> None:
    name, head = TESTS[script]
    head = head.replace("{}", "../" if "/" in name else "./")
    project = make(tmp_path / "shop", {"shipping.js": PROGRAM, name: head + CASES}, script)
    done = Machine(tmp_path).runtrue("fix", project, "--apply", "--json", env=PATIENT)
    # Where the tests are one script, other edits may be as good.
    assert done.code in (0, 3), done.said
    parts = [part for a in done.json["attempts"] if a["fix"] for part in a["fix"]["parts"]]
    assert [(part["fixer"], part["files"]) for part in parts] == [("search", ["shipping.js"])]
    steps = parts[0]["trace"]["steps"]
    assert steps[0]["step"] == "warm", steps
    assert "+  const cost = total >= FREE_FROM ? 0 : 4;" in done.json["diff"]


# What ava reports of a file that cannot be loaded counts as tests, which are gone once it can.
@pytest.mark.parametrize("script", [name for name in TESTS if name != "ava"])
def test_a_missing_bracket_is_put_back(script: str, tmp_path: Path) -> None:
    name, head = TESTS[script]
    head = head.replace("{}", "../" if "/" in name else "./")
    broken = PROGRAM.replace("> FREE_FROM", ">= FREE_FROM").replace("false) {", "false {")
    project = make(tmp_path / "shop", {"shipping.js": broken, name: head + CASES}, script)
    done = Machine(tmp_path).runtrue("fix", project, "--json", env=PATIENT)
    assert done.code in (0, 3), done.said
    assert "+function shipping(total, express = false) {" in done.json["diff"]


def test_typescript_is_repaired(tmp_path: Path) -> None:
    program = """\
export interface Item {
  price: number;
  count: number;
}

export function total(items: Item[]): number {
  return items.reduce((sum: number, item: Item): number => sum + item.price + item.count, 0);
}
"""
    tests = """\
import { expect, test } from 'vitest';
import { total } from './total';

test('nothing', () => expect(total([])).toBe(0));
test('one', () => expect(total([{ price: 3, count: 4 }])).toBe(12));
test('two', () => expect(total([{ price: 3, count: 4 }, { price: 5, count: 2 }])).toBe(22));
"""
    files = {"total.ts": program, "total.test.ts": tests}
    project = make(tmp_path / "shop", files, "vitest run", type="module")
    done = Machine(tmp_path).runtrue("fix", project, "--json", env=PATIENT)
    assert done.code in (0, 3), done.said
    assert "item.price * item.count" in done.json["diff"]


def test_es_modules_are_loaded_again_for_each_candidate_under_mocha(tmp_path: Path) -> None:
    program = PROGRAM.replace("module.exports =", "export")
    tests = (
        "import assert from 'node:assert';\nimport { shipping } from '../shipping.js';\n"
        f"const test = it;\n{CASES}"
    )
    files = {"shipping.js": program, "test/shipping.js": tests}
    project = make(tmp_path / "shop", files, "mocha", type="module")
    done = Machine(tmp_path).runtrue("fix", project, "--json", env=PATIENT)
    assert done.code in (0, 3), done.said
    assert "+  const cost = total >= FREE_FROM ? 0 : 4;" in done.json["diff"]


def test_the_tests_are_not_edited_and_the_project_stays_as_it_was(tmp_path: Path) -> None:
    name, head = TESTS["node --test"]
    wrong = CASES.replace("shipping(12), 4)", "shipping(12), 'never')")
    files = {"shipping.js": PROGRAM, name: head.replace("{}", "./") + wrong}
    project = make(tmp_path / "shop", files, "node --test")
    done = Machine(tmp_path).runtrue("fix", project, "--json", env={"RUNTRUE_SEARCH_SECONDS": "5"})
    assert done.code in (1, 3), done.said
    assert "shipping.test.js" not in done.json.get("diff", "")
    assert (project / "shipping.js").read_text() == PROGRAM


def test_an_endless_loop_is_ended_and_the_search_goes_on(tmp_path: Path) -> None:
    program = """\
function countTo(n) {
  const found = [];
  for (let i = 1; i < n; i++) {
    found.push(i);
  }
  return found;
}

module.exports = { countTo };
"""
    tests = """\
const assert = require('node:assert');
const { countTo } = require('../count.js');

it('three', () => assert.deepEqual(countTo(3), [1, 2, 3]));
it('one', () => assert.deepEqual(countTo(1), [1]));
it('none', () => assert.deepEqual(countTo(0), []));
"""
    project = make(tmp_path / "shop", {"count.js": program, "test/count.js": tests}, "mocha")
    done = Machine(tmp_path).runtrue("fix", project, "--json", env=PATIENT)
    assert done.code in (0, 3), done.said
    assert "+  for (let i = 1; i <= n; i++) {" in done.json["diff"]


def test_jest_starts_each_candidate_without_the_mocks_and_modules_of_the_one_before(
    tmp_path: Path,
) -> None:
    program = """\
let calls = 0;

function stamp(clock) {
  calls += 1;
  return `${calls}:${clock.now() - 1}`;
}

module.exports = { stamp };
"""
    tests = """\
const { stamp } = require('./stamp.js');
const clock = { now: () => 7 };
describe('stamp', () => {
  test('counts from one', () => {
    jest.spyOn(clock, 'now');
    expect(stamp(clock)).toBe('1:7');
    expect(clock.now).toHaveBeenCalledTimes(1);
  });
  test('goes on', () => { expect(stamp(clock)).toBe('2:7'); });
});
"""
    project = make(tmp_path / "stamp", {"stamp.js": program, "stamp.test.js": tests}, "jest")
    done = Machine(tmp_path).runtrue("fix", project, "--json", env=PATIENT)
    assert done.code in (0, 3), done.said
    assert "+  return `${calls}:${clock.now()}`;" in done.json["diff"]


def test_a_result_that_is_never_remembered_is_remembered_and_nobody_is_too_sure(
    tmp_path: Path,
) -> None:
    program = """\
function memoize(work) {
  const known = new Map();
  return (key) => {
    if (known.has(key)) return known.get(key);
    const value = work(key);
    return value;
  };
}

module.exports = { memoize };
"""
    tests = """\
const { test } = require('node:test');
const assert = require('node:assert');
const { memoize } = require('./memoize.js');
test('works', () => { assert.equal(memoize((x) => x + 1)(2), 3); });
test('works once', () => {
  let count = 0;
  const f = memoize((x) => { count += 1; return x * 2; });
  assert.deepEqual([f(2), f(2), f(3), f(3)], [4, 4, 6, 6]);
  assert.equal(count, 2);
});
"""
    files = {"memoize.js": program, "memoize.test.js": tests}
    project = make(tmp_path / "memoize", files, "node --test")
    done = Machine(tmp_path).runtrue("fix", project, "--json", env=PATIENT)
    assert done.code in (0, 3), done.said
    assert "+    known.set(key, value);" in done.json["diff"]
    assert done.json["confidence"] <= 0.85


def test_tests_with_other_names_in_each_run_are_no_hindrance(tmp_path: Path) -> None:
    name, head = TESTS["mocha"]
    head = head.replace("{}", "../")
    drawn = "test(`pays for ${Math.random()}`, () => { assert.equal(shipping(1), 4); });\n"
    files = {"shipping.js": PROGRAM, name: head + CASES + drawn}
    project = make(tmp_path / "shop", files, "mocha")
    done = Machine(tmp_path).runtrue("fix", project, "--json", env=PATIENT)
    assert done.code in (0, 3), done.said
    assert "+  const cost = total >= FREE_FROM ? 0 : 4;" in done.json["diff"]
