"""The test command of package.json leads to the runner that is kept loaded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from runtrue.checks import CommandCheck
from runtrue.fixers.search.javascript.runner import runners_of

SCRIPTS = {"unit": "ava", "lint": "eslint .", "spec": "mocha"}


@pytest.mark.parametrize(
    ("script", "name", "files"),
    [
        ("xo && ava", "ava", ["test/a.test.js", "test/index.js"]),
        ("c8 ava test/a.test.js", "ava", ["test/a.test.js"]),
        ("yarn run unit", "ava", ["test/a.test.js", "test/index.js"]),
        ("uvu test", "script", ["test/a.test.js", "test/index.js"]),
        ("brittle test/*.test.js", "script", ["test/a.test.js"]),
        ("nyc --reporter=lcov tape test/a.test.js", "script", ["test/a.test.js"]),
        ("nyc node test/index.js", "script", ["test/index.js"]),
        ("cross-env CI=1 node test", "script", ["test/index.js"]),
        ("run-s lint spec", "mocha", ["test/a.test.js", "test/index.js"]),
        ("npm-run-all lint unit", "ava", ["test/a.test.js", "test/index.js"]),
    ],
)
def test_the_script_leads_to_a_runner(
    script: str, name: str, files: list[str], tmp_path: Path
) -> None:
    settings = {"name": "one", "scripts": {**SCRIPTS, "test": script}}
    (tmp_path / "package.json").write_text(json.dumps(settings))
    for file in ("test/a.test.js", "test/index.js", "test/helpers/fake.js", "index.js"):
        path = tmp_path / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    [found] = runners_of(CommandCheck(name="npm-test", command="npm test"), tmp_path)
    assert (found.name, [*found.files]) == (name, files)


def test_ava_takes_its_files_and_options_from_package_json(tmp_path: Path) -> None:
    ava = {"files": ["checks/*.ts"], "nodeArguments": ["--import=tsx"]}
    (tmp_path / "package.json").write_text(json.dumps({"scripts": {"test": "ava"}, "ava": ava}))
    (tmp_path / "checks").mkdir()
    (tmp_path / "checks" / "one.ts").write_text("")
    [found] = runners_of(CommandCheck(name="npm-test", command="npm test"), tmp_path)
    assert (found.files, found.options) == (("checks/one.ts",), ("--import=tsx",))
