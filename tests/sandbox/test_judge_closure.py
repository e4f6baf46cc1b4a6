"""What judges name, load and import judges as well; what the program uses does not."""

from __future__ import annotations

import textwrap
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from runtrue.sandbox import JudgeSearch, is_judge
from runtrue.sandbox.judged_parts import DOCTESTS, judges_differ, lost_tests
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
    "a variable of pytest": ("PYTEST_PLUGINS=plug,x pytest", {"plug.py": ""}, "plug.py"),
    "options in a variable": ("env PYTEST_ADDOPTS='-p plug' pytest", {"plug.py": ""}, "plug.py"),
    "a file that bash reads first": ("BASH_ENV=up.sh bash -c pytest", {"up.sh": ""}, "up.sh"),
    "a plugin on another path": (
        "pytest",
        {"pytest.ini": "[pytest]\npythonpath = qa\naddopts = -p plug\n", "qa/plug.py": ""},
        "qa/plug.py",
    ),
    "what a conftest imports": (
        "pytest",
        {
            "conftest.py": "from glue import start\n",
            "glue.py": "from deep import x\n",
            "deep.py": "",
            "shop.py": "",
            "test_shop.py": "import shop\n",
        },
        "deep.py",
    ),
    "what a conftest imports by a text": (
        "pytest",
        {
            "conftest.py": "import importlib\nimportlib.import_module('glue')\n",
            "glue.py": "",
            "shop.py": "",
            "test_shop.py": "import shop\n",
        },
        "glue.py",
    ),
    "plugins that are added": (
        "pytest",
        {"conftest.py": "if True:\n    pytest_plugins += ['plug']\n", "plug.py": ""},
        "plug.py",
    ),
    "declarations for mypy": (
        "mypy .",
        {"mypy.ini": "[mypy]\nmypy_path = stubs\n", "stubs/x.pyi": ""},
        "stubs/x.pyi",
    ),
    "a plugin of flake8": (
        "flake8",
        {
            ".flake8": "[flake8:local-plugins]\nextension =\n  X = part.own:Check\n",
            "tools/part/__init__.py": "",
            "tools/part/own.py": "",
        },
        "tools/part/own.py",
    ),
    "settings of Django": (
        "pytest",
        {"pytest.ini": "[pytest]\nDJANGO_SETTINGS_MODULE = site.up\n", "site/up.py": ""},
        "site/up.py",
    ),
    "a project of jest": (
        "npx jest",
        {
            "jest.config.js": "module.exports = {projects: ['<rootDir>/conf/unit.js']}",
            "conf/unit.js": "module.exports = {setupFiles: ['./up.js']}",
            "conf/up.js": "",
        },
        "conf/up.js",
    ),
    "a set-up file in a variable": (
        "npx vitest",
        {
            "vitest.config.ts": "const up = './conf/up.ts'\nexport default {setupFiles: [up]}",
            "conf/up.ts": "",
        },
        "conf/up.ts",
    ),
    "options of node in .npmrc": (
        "npm test",
        {".npmrc": "node-options=--require ./conf/up.js\n", "conf/up.js": ""},
        "conf/up.js",
    ),
    "options of node in a script": (
        "npm test",
        {
            "package.json": '{"scripts": {"test": "NODE_OPTIONS=--require=./up.js node --test"}}',
            "up.js": "",
        },
        "up.js",
    ),
    "a program before the script": (
        "npm test",
        {
            "package.json": '{"scripts": {"pretest": "node tools/up.js", "test": "mocha"}}',
            "tools/up.js": "",
        },
        "tools/up.js",
    ),
    "a file that rules may include": ("make x", {"Makefile": "-include local.mk\n"}, "local.mk"),
    "files that rules include": (
        "make x",
        {"Makefile": "D = rules\ninclude $(wildcard $(D)/*.mk)\n", "rules/a.mk": ""},
        "rules/a.mk",
    ),
    "a script of rules below": (
        "make -C part x",
        {"part/Makefile": "x:\n\tsh go.sh\n", "part/go.sh": ""},
        "part/go.sh",
    ),
    "rules that rules run": (
        "make x",
        {"Makefile": "x:\n\t$(MAKE) -f own.mk y\n", "own.mk": "y:\n\tsh z.sh\n", "z.sh": ""},
        "z.sh",
    ),
    "a script beside the script": (
        "sh part/all-tests.sh",
        {"part/all-tests.sh": '. "$(dirname "$0")/up.sh"\n', "part/up.sh": ""},
        "part/up.sh",
    ),
    "a program that runs tests": ("python go.py", {"go.py": "import pytest\n"}, "go.py"),
    "a package that runs tests": (
        "python -m qa",
        {"qa/__init__.py": "", "qa/__main__.py": "import pytest\n"},
        "qa/__main__.py",
    ),
    "a comparison that tests use": (
        "pytest",
        {"shop.py": "", "compare.py": "", "test_shop.py": "import shop\nimport compare\n"},
        "compare.py",
    ),
    "data by its name alone": (
        "pytest",
        {
            "data/values.csv": "",
            "test_shop.py": "DATA = ROOT / 'data'\nread(DATA / 'values.csv')\n",
        },
        "data/values.csv",
    ),
    "a test of cargo": (
        "cargo test",
        {"Cargo.toml": "[[test]]\nname = 'x'\npath = 'it/x.rs'\n", "it/x.rs": ""},
        "it/x.rs",
    ),
    "a package for tests of cargo": (
        "cargo test",
        {"Cargo.toml": "[dev-dependencies]\nh = {path = 'h'}\n", "h/src/lib.rs": ""},
        "h/src/lib.rs",
    ),
    "a runner of cargo": (
        "cargo test",
        {".cargo/config.toml": "[target.x]\nrunner = 'go.sh'\n", "go.sh": ""},
        "go.sh",
    ),
    "a hook of pre-commit": (
        "pre-commit run",
        {
            ".pre-commit-config.yaml": "repos: [{repo: local, hooks: [{entry: tools/go.sh}]}]\n",
            "tools/go.sh": "",
        },
        "tools/go.sh",
    ),
    "rules of eslint": ("npx eslint --rulesdir own .", {"own/mine.js": ""}, "own/mine.js"),
    "a parent of maven": (
        "mvn test",
        {"pom.xml": "<relativePath>up/own.xml</relativePath>", "up/own.xml": ""},
        "up/own.xml",
    ),
    "a script of gradle": (
        "gradle test",
        {"build.gradle": "apply from: 'conf/own.gradle'", "conf/own.gradle": ""},
        "conf/own.gradle",
    ),
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


def test_examples_judge_where_doctests_are_run(tmp_path: Path) -> None:
    code = b'def f():\n    """Do it.\n\n    >>> f()\n    2\n    """\n    return 1\n'
    assert not lost_tests("a.py", code, code.replace(b"return 1", b"return 2"), doctests=True)
    assert not lost_tests("a.py", code, code.replace(b"Do it", b"Say it"), doctests=True)
    assert lost_tests("a.py", code, code.replace(b"\n    2", b"\n    1"), doctests=True)
    assert lost_tests("a.py", code, b"def f():\n    return 1\n", doctests=True)
    assert not lost_tests("a.py", code, b"def f():\n    return 1\n")
    assert lost_tests("a.md", b">>> f()\n2\n", b">>> f()\n1\n", doctests=True)
    assert DOCTESTS in JudgeSearch().of_command("python -m doctest a.py", tmp_path)
    assert DOCTESTS not in JudgeSearch().of_command("pytest", tmp_path)
    write(tmp_path, {"pytest.ini": "[pytest]\naddopts = --doctest-modules\n"})
    assert DOCTESTS in JudgeSearch().of_command("pytest", tmp_path)


def test_examples_of_rust_judge() -> None:
    code = b"/// ```\n/// assert_eq!(a::f(), 2);\n/// ```\npub fn f() -> i32 { 1 }\n"
    assert lost_tests("src/lib.rs", code, code.replace(b", 2", b", 1"))
    assert not lost_tests("src/lib.rs", code, code.replace(b"{ 1 }", b"{ 2 }"))


def test_what_set_up_and_tests_import_together_is_under_test(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "app/__init__.py": "",
            "app/models.py": "",
            "app/factory.py": "",
            "tests/conftest.py": "from app.factory import create\n",
            "tests/test_models.py": "from app.models import User\n",
        },
    )
    patterns = JudgeSearch().of_command("pytest", tmp_path)
    assert not is_judge("app/factory.py", patterns)
