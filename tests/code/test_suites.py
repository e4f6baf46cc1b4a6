"""The tests of a source file are found, and new ones are put where the project's runner looks."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from runtrue.checks import Framework, Language, framework_of, language_of
from runtrue.code import suites
from runtrue.sandbox import is_test

FRAMEWORKS = {
    Language.PYTHON: Framework.PYTEST,
    Language.GO: Framework.GO_TEST,
    Language.RUST: Framework.CARGO_TEST,
    Language.JAVA: Framework.JUNIT,
    Language.JAVASCRIPT: Framework.JEST,
    Language.TYPESCRIPT: Framework.VITEST,
}
PY, JS, TS = Language.PYTHON, Language.JAVASCRIPT, Language.TYPESCRIPT
GO, RUST, JAVA = Language.GO, Language.RUST, Language.JAVA


def make(project: Path, files: dict[str, str] | str) -> Path:
    for file, text in (
        files if isinstance(files, dict) else dict.fromkeys(files.split(), "")
    ).items():
        (project / file).parent.mkdir(parents=True, exist_ok=True)
        (project / file).write_text(text)
    return project


def found_for(project: Path, path: str, language: Language) -> set[str]:
    return set(suites.test_files_for(project, path, language, FRAMEWORKS[language]))


class TestExistingTests:
    @pytest.mark.parametrize(
        ("language", "path", "test"),
        [
            (PY, "cart.py", "test_cart.py"),
            (PY, "src/shop/cart.py", "tests/unit/cart_test.py"),
            (PY, "shop/__init__.py", "tests/test_shop.py"),
            (JS, "src/cart.js", "src/cart.test.js"),
            (JS, "src/cart.js", "src/__tests__/cart.js"),
            (JS, "lib/cart.js", "test/cart.js"),
            (JS, "src/index.js", "src/index.spec.js"),
            (TS, "src/utils/validate.ts", "test/unit/utils/validate.test.ts"),
            (TS, "src/View.tsx", "src/View.test.tsx"),
            (GO, "shop/cart.go", "shop/cart_test.go"),
            (RUST, "src/cart.rs", "tests/cart.rs"),
            (JAVA, "src/main/java/shop/Cart.java", "src/test/java/shop/CartTest.java"),
            (JAVA, "src/main/java/shop/Cart.java", "src/test/java/shop/CartIT.java"),
        ],
    )
    def test_those_named_after_it(
        self, tmp_path: Path, language: Language, path: str, test: str
    ) -> None:
        make(tmp_path, f"{path} {test} node_modules/x/{test} .venv/{test}")
        assert found_for(tmp_path, path, language) == {test}

    @pytest.mark.parametrize(
        ("language", "path", "test", "text"),
        [
            (PY, "shop/cart.py", "tests/test_all.py", "from shop import cart\n"),
            (PY, "shop/cart.py", "tests/test_all.py", "from shop.cart import (\n    total,\n)\n"),
            (PY, "src/shop/cart.py", "tests/test_all.py", "import shop.cart as c\n"),
            (PY, "src/shop/cart.py", "src/shop/test_all.py", "from .cart import total\n"),
            (PY, "shop/cart.py", "test_all.py", "mock.patch('shop.cart.now')\n"),
            (PY, "cart.py", "test_all.py", "run(['python', 'cart.py'])\n"),
            (JS, "src/cart.js", "test/all.js", "const c = require('../src/cart')\n"),
            (TS, "src/cart.ts", "src/all.test.ts", "import {\n  a\n} from './cart.js';\n"),
            (TS, "src/cart/index.ts", "src/all.test.ts", "import './cart'\n"),
            (TS, "src/shop/cart.ts", "tests/all.test.ts", "import c from '@/shop/cart'\n"),
            (GO, "shop/cart.go", "shop/all_test.go", "func TestAll() { Total() }\n"),
            (RUST, "src/cart.rs", "tests/all.rs", "use my_shop::cart::total;\n"),
            (RUST, "src/lib.rs", "tests/all.rs", "use my_shop::total;\n"),
            (JAVA, "src/main/java/Cart.java", "src/test/java/AllTest.java", "new Cart();\n"),
        ],
    )
    def test_those_that_use_it(
        self, tmp_path: Path, language: Language, path: str, test: str, text: str
    ) -> None:
        other = test.replace("all", "other").replace("All", "Other")
        files = {path: "func Total() {}\n", test: text, other: "from there import those\n"}
        make(tmp_path, {**files, "Cargo.toml": '[package]\nname = "my-shop"\n'})
        if language is PY:
            make(tmp_path, {f"{Path(path).parent.as_posix()}/x/__init__.py": ""})
            if path.count("/"):
                make(tmp_path, {f"{Path(path).parent.as_posix()}/__init__.py": ""})
        assert found_for(tmp_path, path, language) == {test}

    def test_of_two_sources_with_one_name_each_has_its_own(self, tmp_path: Path) -> None:
        make(tmp_path, "a/utils.py b/utils.py tests/a/test_utils.py tests/b/test_utils.py")
        assert found_for(tmp_path, "a/utils.py", PY) == {"tests/a/test_utils.py"}
        assert found_for(tmp_path, "b/utils.py", PY) == {"tests/b/test_utils.py"}

    def test_what_only_helps_tests_is_none(self, tmp_path: Path) -> None:
        text = "import cart\n"
        make(tmp_path, {"cart.py": "", "tests/conftest.py": text, "tests/support.py": text})
        make(tmp_path, {"tests/test_garbled.py": "import cart\nthis is no python"})
        assert found_for(tmp_path, "cart.py", PY) == set()

    def test_of_packages_in_go_each_has_its_own(self, tmp_path: Path) -> None:
        make(tmp_path, {"a/a.go": "func Total() {}\n", "b/b_test.go": "a.Total()\n"})
        assert found_for(tmp_path, "a/a.go", GO) == set()

    @pytest.mark.parametrize("manifest", ["", "garbled = ", "package = 1\n"])
    def test_a_crate_without_a_name_has_none_that_use_it(
        self, tmp_path: Path, manifest: str
    ) -> None:
        make(tmp_path, {"Cargo.toml": manifest, "tests/all.rs": "use my_shop::total;\n"})
        assert found_for(tmp_path, "src/lib.rs", RUST) == set()

    def test_a_program_in_another_language_has_those_of_the_framework(self, tmp_path: Path) -> None:
        make(tmp_path, {"bin/tool": "", "tests/test_tool.py": "run('bin/tool')\n"})
        found = suites.test_files_for(tmp_path, "bin/tool", Language.OTHER, Framework.PYTEST)
        assert found == ("tests/test_tool.py",)


class TestNewTests:
    @pytest.mark.parametrize(
        ("files", "path", "expected"),
        [
            # Nothing there yet.
            ("cart.py", "cart.py", "test_cart.py"),
            ("shop/__init__.py shop/cart.py", "shop/cart.py", "tests/test_cart.py"),
            ("src/shop/cart.py", "src/shop/cart.py", "tests/test_cart.py"),
            ("cart.py tests/__init__.py", "cart.py", "tests/test_cart.py"),
            ("src/cart.ts", "src/cart.ts", "src/cart.test.ts"),
            ("src/a.jsx src/__tests__/x", "src/a.jsx", "src/__tests__/a.test.jsx"),
            ("shop/cart.go", "shop/cart.go", "shop/cart_test.go"),
            ("Cargo.toml src/cart.rs", "src/cart.rs", "tests/cart.rs"),
            ("Cargo.toml src/setup.rs", "src/setup.rs", "tests/test_setup.rs"),
            ("api/Cargo.toml api/src/cart.rs", "api/src/cart.rs", "api/tests/cart.rs"),
            ("pom.xml", "src/main/java/a/Cart.java", "src/test/java/a/CartTest.java"),
            ("Cart.java", "Cart.java", "CartTest.java"),
            # Like those that are there.
            ("tests/shop/test_a.py tests/test_b.py", "shop/cart.py", "tests/shop/test_cart.py"),
            ("tests/unit/test_a.py", "src/shop/cart.py", "tests/unit/test_cart.py"),
            ("shop/a_test.py", "shop/cart.py", "shop/cart_test.py"),
            ("shop/test_a.py", "other/cart.py", "other/test_cart.py"),
            ("test_a.py", "other/cart.py", "test_cart.py"),
            ("src/a.spec.ts src/b.ts", "src/b.ts", "src/b.spec.ts"),
            ("src/x/a.test.js", "src/y/b.js", "src/y/b.test.js"),
            ("a/__tests__/a.js b/__tests__/b.js", "b/c.js", "b/__tests__/c.test.js"),
            ("src/x/__tests__/a.js", "src/y/b.js", "src/y/__tests__/b.test.js"),
            ("test/unit/utils/a.test.ts", "src/utils/b.ts", "test/unit/utils/b.test.ts"),
            # Never one that is there.
            ("cart.py test_cart.py", "cart.py", "test_cart_2.py"),
            ("src/a.ts src/a.test.ts src/a_2.test.ts", "src/a.ts", "src/a_3.test.ts"),
            ("a.go a_test.go", "a.go", "a_2_test.go"),
            ("src/test/java/ATest.java", "src/main/java/A.java", "src/test/java/A2Test.java"),
            # Nor two of one name that pytest cannot import together.
            ("tests/a/test_x.py tests/b/test_y.py a/x.py", "b/x.py", "tests/b/test_x_2.py"),
            (
                "tests/a/test_x.py tests/b/test_y.py tests/b/__init__.py a/x.py b/x.py",
                "b/x.py",
                "tests/b/test_x.py",
            ),
        ],
    )
    def test_their_place(self, tmp_path: Path, files: str, path: str, expected: str) -> None:
        make(tmp_path, files)
        language = language_of(path)
        found = suites.new_test_path(tmp_path, path, language, FRAMEWORKS[language])
        assert found == expected
        assert is_test(found)
        assert not (tmp_path / found).exists()

    def test_mocha_looks_only_into_its_own_directory(self, tmp_path: Path) -> None:
        make(tmp_path, "src/deep/cart.js")
        found = suites.new_test_path(tmp_path, "src/deep/cart.js", JS, Framework.MOCHA)
        assert found == "test/cart.test.js"

    def test_what_has_no_framework_has_a_place_as_well(self, tmp_path: Path) -> None:
        found = suites.new_test_path(tmp_path, "run.sh", Language.OTHER, Framework.OTHER)
        assert found == "tests/run_test.sh"


class TestCommands:
    @pytest.mark.parametrize(
        ("language", "package", "installed", "expected"),
        [
            (JS, {"devDependencies": {"jest": "1"}}, "", "npx --no-install jest"),
            (TS, {"dependencies": {"vitest": "1"}}, "", "npx --no-install vitest run"),
            (JS, {"scripts": {"test": "mocha"}}, "", "npm test"),
            (JS, {}, "mocha", "npx --no-install mocha"),
            (TS, {}, "vitest", "npx --no-install vitest run"),
            (JS, {}, "", "node --test"),
            (TS, {}, "", None),
        ],
    )
    def test_of_scripts(
        self,
        tmp_path: Path,
        language: Language,
        package: dict[str, dict[str, str]],
        installed: str,
        expected: str | None,
    ) -> None:
        make(tmp_path, {"package.json": json.dumps(package)})
        if installed:
            (tmp_path / "node_modules" / installed).mkdir(parents=True)
        assert suites.default_command(language, tmp_path) == expected

    @pytest.mark.parametrize(
        ("language", "files", "expected"),
        [
            (GO, "go.mod", "go test ./..."),
            (RUST, "Cargo.toml", "cargo test"),
            (JAVA, "pom.xml", "mvn -B test"),
            (JAVA, "Cart.java", None),
            (Language.OTHER, "run.sh", None),
        ],
    )
    def test_of_others(
        self, tmp_path: Path, language: Language, files: str, expected: str | None
    ) -> None:
        assert suites.default_command(language, make(tmp_path, files)) == expected

    @pytest.mark.parametrize("files", ["ruff.toml mypy.ini", "ruff.toml test_a.py"])
    def test_of_python_it_is_pytest_whatever_else_there_is(
        self, tmp_path: Path, files: str
    ) -> None:
        command = suites.default_command(PY, make(tmp_path, files))
        assert command is not None
        assert framework_of(command, tmp_path) is Framework.PYTEST


class TestTogether:
    """A first test, put where it belongs and run by the command, is really found and run."""

    def test_in_python(self, tmp_path: Path) -> None:
        make(tmp_path, {"shop/__init__.py": "", "shop/cart.py": "TOTAL = 3\n"})
        test = suites.new_test_path(tmp_path, "shop/cart.py", PY, Framework.PYTEST)
        make(tmp_path, {test: "from shop.cart import TOTAL\ndef test_it(): assert TOTAL == 4\n"})
        command = suites.default_command(PY, tmp_path) or ""
        arguments = [sys.executable, *shlex.split(command)[1:], "-p", "no:cacheprovider"]
        ended = subprocess.run(arguments, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert ended.returncode == 1, ended.stdout + ended.stderr
        assert "assert 3 == 4" in ended.stdout
        assert found_for(tmp_path, "shop/cart.py", PY) == {test}

    def test_in_node_alone(self, tmp_path: Path) -> None:
        make(tmp_path, {"src/cart.mjs": "export const total = 3\n"})
        test = suites.new_test_path(tmp_path, "src/cart.mjs", JS, Framework.OTHER)
        body = (
            "import test from 'node:test'\nimport assert from 'node:assert'\n"
            "import { total } from './cart.mjs'\ntest('it', () => assert.equal(total, 4))\n"
        )
        make(tmp_path, {test: body})
        command = shlex.split(suites.default_command(JS, tmp_path) or "")
        program = Path(sys.executable).parent / command[0]
        ended = subprocess.run(
            [str(program), *command[1:]], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert ended.returncode == 1, ended.stdout + ended.stderr
        assert "fail 1" in ended.stdout
