"""What judges name, load and import judges as well; what the program uses does not."""

from __future__ import annotations

import textwrap
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from runtrue.sandbox import JudgeSearch, is_judge
from runtrue.sandbox.judged_parts import judges_differ, lost_tests
from runtrue.sandbox.shadow import installed_modules, shadows


def write(directory: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(textwrap.dedent(text).lstrip("\n"))


#: By what loads it: the command, the files, and the one of them that judges for that reason.
LOADED = {
    "an option of pytest": ("pytest -p part.plug", {"part/plug.py": ""}, "part/plug.py"),
    "an option without a space": ("pytest -ppart.plug", {"part/plug.py": ""}, "part/plug.py"),
    "an option's file": ("pytest -c conf/own.ini", {"conf/own.ini": ""}, "conf/own.ini"),
    "an entry point of pytest": (
        "pytest",
        {
            "pyproject.toml": '[project.entry-points.pytest11]\nx = "part.plug"\n',
            "part/plug.py": "",
        },
        "part/plug.py",
    ),
    "ruff's extend": (
        "ruff check .",
        {"ruff.toml": 'extend = "conf/base.cfg"\n', "conf/base.cfg": ""},
        "conf/base.cfg",
    ),
    "a plugin of mypy": (
        "mypy .",
        {"mypy.ini": "[mypy]\nplugins = part.plug\n", "part/plug.py": ""},
        "part/plug.py",
    ),
    "tsconfig's extends": (
        "tsc",
        {"tsconfig.json": '{"extends": "./conf/base"} // x', "conf/base.json": "{}"},
        "conf/base.json",
    ),
    "a set-up file of jest": (
        "npx jest",
        {"package.json": '{"jest": {"setupFiles": ["<rootDir>/conf/up.js"]}}', "conf/up.js": ""},
        "conf/up.js",
    ),
    "a transform of jest": (
        "npx jest",
        {
            "jest.config.js": "module.exports = { transform: { '\\\\.x$': './conf/change.js' } }",
            "conf/change.js": "",
        },
        "conf/change.js",
    ),
    "what settings import": (
        "npx vitest",
        {"vitest.config.ts": 'import base from "./conf/base";\n', "conf/base.ts": ""},
        "conf/base.ts",
    ),
    "a reporter of vitest": (
        "npx vitest",
        {
            "vitest.config.ts": "export default {test: {reporters: ['./conf/say.ts']}}",
            "conf/say.ts": "",
        },
        "conf/say.ts",
    ),
    "a mapper to a stand-in": (
        "npx jest",
        {
            "jest.config.js": "module.exports = {moduleNameMapper: {'^x$': './conf/mock-x.js'}}",
            "conf/mock-x.js": "",
        },
        "conf/mock-x.js",
    ),
    "mocha's require": (
        "npx mocha",
        {".mocharc.json": '{"require": ["./conf/up.js"]}', "conf/up.js": ""},
        "conf/up.js",
    ),
    "node's import": ("node --import ./conf/up.mjs --test", {"conf/up.mjs": ""}, "conf/up.mjs"),
    "node's file of variables": (
        "node --env-file=conf/x.env --test",
        {"conf/x.env": ""},
        "conf/x.env",
    ),
    "a script before the script": (
        "npm test",
        {
            "package.json": '{"scripts": {"pretest": "sh tools/build.sh", "test": "mocha"}}',
            "tools/build.sh": "",
        },
        "tools/build.sh",
    ),
    "a recipe's script": (
        "make -C . check",
        {"Makefile": "check: all\nall:\n\t@./tools/go.sh\n", "tools/go.sh": ""},
        "tools/go.sh",
    ),
    "a justfile's import": (
        "just verify",
        {"justfile": "import 'part.just'\n\nverify:\n  true\n", "part.just": ""},
        "part.just",
    ),
    "a script by what it runs": ("sh go.sh", {"go.sh": "cd x && python -m pytest\n"}, "go.sh"),
    "tox's command": (
        "tox -e py",
        {"tox.ini": "[testenv]\ncommands = sh tools/go.sh\n", "tools/go.sh": ""},
        "tools/go.sh",
    ),
}


@pytest.mark.parametrize(("command", "files", "judge"), LOADED.values(), ids=LOADED)
def test_what_is_loaded_judges_by(
    command: str, files: dict[str, str], judge: str, tmp_path: Path
) -> None:
    write(tmp_path, {"app.py": "", "index.js": "", **files})
    patterns = JudgeSearch().of_command(command, tmp_path)
    assert is_judge(judge, patterns)
    assert not is_judge("app.py", patterns)
    assert not is_judge("index.js", patterns)


HELPERS = {
    "test_app.py": "from app import f\nfrom helpers import near\nfrom common import g\n",
    "app.py": "from common import g\n",
    "common.py": "",
    "helpers.py": "from more_fakes import x\n",
    "more_fakes.py": "",
}


def test_helpers_that_only_tests_import_judge_and_those_of_the_program_do_not(
    tmp_path: Path,
) -> None:
    write(tmp_path, HELPERS)
    patterns = JudgeSearch().of_command("pytest", tmp_path)
    judges = {name for name in HELPERS if is_judge(name, patterns)}
    assert judges == {"test_app.py", "helpers.py", "more_fakes.py"}


@pytest.mark.parametrize(
    "files",
    [
        {"calc.py": "", "test_calc.py": "from calc import f\n"},
        {"helpers.py": "", "test_all.py": "from helpers import f\n"},
        {"helpers.py": "", "a.py": "", "test_helpers.py": "import helpers\nimport a\n"},
        {"helpers.py": "", "a.py": "import helpers\n", "test_a.py": "import a\nimport helpers\n"},
        {"src/helpers/f.js": "", "src/a.js": "", "test/x.test.js": "require('../src/helpers/f')\n"},
        {"data.json": "", "a.py": "open('data.json')\n", "test_a.py": "import a\n'data.json'\n"},
    ],
    ids=["one module", "only helpers", "tested helpers", "used helpers", "a directory", "data"],
)
def test_what_is_under_test_is_no_judge(files: dict[str, str], tmp_path: Path) -> None:
    write(tmp_path, files)
    command = "npx jest" if any(name.endswith(".js") for name in files) else "pytest"
    patterns = JudgeSearch().of_command(command, tmp_path)
    program = [name for name in files if "test" not in name]
    assert [name for name in program if is_judge(name, patterns)] == []


@pytest.mark.parametrize("file", ["json.py", "src/json/__init__.py", "scripts/re.py", "yaml.py"])
def test_a_new_module_hides_an_installed_one(file: str) -> None:
    known = frozenset({"app.py", "scripts/run.py", "shop/__init__.py"})
    assert shadows(file, known, installed_modules([]))


@pytest.mark.parametrize("file", ["shop/json.py", "shop/types.py", "own.py", "docs/json.md"])
def test_a_module_in_a_package_hides_nothing(file: str) -> None:
    known = frozenset({"app.py", "shop/__init__.py", "scripts/run.py"})
    assert not shadows(file, known, installed_modules([]))


def test_a_module_that_was_there_may_be_changed() -> None:
    assert not shadows("json/more.py", frozenset({"json/__init__.py"}), installed_modules([]))


PYPROJECT = (
    b'[project]\nname = "a"\nversion = "1"\ndependencies = []\n[tool.ruff]\nline-length = 9\n'
)


@pytest.mark.parametrize(
    ("old", "new", "differs"),
    [
        (b'version = "1"', b'version = "2"', False),
        (b"line-length = 9", b"line-length = 99", True),
        (b"dependencies = []", b'dependencies = ["x"]', True),
        (b"[project]", b"[project", True),
    ],
)
def test_only_what_judges_in_a_project_file_is_protected(
    old: bytes, new: bytes, differs: bool
) -> None:
    assert judges_differ("pyproject.toml", PYPROJECT, PYPROJECT.replace(old, new)) is differs


@pytest.mark.parametrize("key", ["imports", "exports", "overrides", "scripts", "type", "jest"])
def test_what_decides_how_a_package_is_resolved_or_tested_is_protected(key: str) -> None:
    assert judges_differ(
        "package.json", b'{"main": "a"}', b'{"main": "a", "%s": {}}' % key.encode()
    )
    assert not judges_differ("package.json", b'{"main": "a"}', b'{"main": "b"}')


def test_a_test_beside_rust_code_may_not_be_changed_and_more_may_be_added() -> None:
    code = b"fn f() -> u8 { 1 }\n#[test]\nfn t() { assert_eq!(f(), 2); }\n"
    assert not lost_tests("src/lib.rs", code, code.replace(b"{ 1 }", b"{ 2 }"))
    assert lost_tests("src/lib.rs", code, code.replace(b"f(), 2", b"f(), 1"))
    assert not lost_tests("src/lib.rs", code, code + b"#[test]\nfn u() {}\n")


@pytest.mark.slow
def test_judges_of_ten_thousand_files_are_found_in_seconds(tmp_path: Path) -> None:
    body = "import os\nfrom pkg{0}.m{1} import f\n\n\ndef g():\n    return f()\n" + "x = 1\n" * 60
    for package in range(100):
        place = tmp_path / f"pkg{package}"
        place.mkdir()
        for module in range(75):
            (place / f"m{module}.py").write_text(body.format(package, (module + 1) % 75))
        for module in range(25):
            text = f"from pkg{package}.m{module} import g\nfrom pkg0.test_helpers import h\n"
            (place / f"test_m{module}.py").write_text(text)
    (tmp_path / "pkg0" / "test_helpers.py").write_text("import pytest\n")
    begun = time.process_time()
    search = JudgeSearch()
    for command in ("pytest", "ruff check .", "mypy ."):
        search.of_command(command, tmp_path)
    assert time.process_time() - begun < 20
