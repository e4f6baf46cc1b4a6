"""Which test runner a command comes to, and how options get to it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from runtrue.checks import Framework, framework_of, language_of, tool_of
from runtrue.checks.reach import reach_of

SHELL = ("/bin/sh", "-c")
SCRIPTS = {
    "test": "jest --coverage",
    "vitest": "cross-env CI=1 vitest run",
    "unit": "npm run vitest",
    "yarned": "yarn vitest",
    "built": "tsc && mocha 'test/*.js'",
    "piped": "mocha | tee log",
    "bar": "jest -- total",
    "round": "npm run round",
    "go": "go test ./...",
    "empty": "",
}


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "package.json").write_text(json.dumps({"scripts": SCRIPTS}))
    inner = tmp_path / "web"
    inner.mkdir()
    (inner / "package.json").write_text(json.dumps({"scripts": {"test": "mocha"}}))
    return tmp_path


@pytest.mark.parametrize(
    ("command", "framework", "argv"),
    [
        ("jest", "jest", "jest -x"),
        ("jest src -- total", "jest", "jest src -x -- total"),
        ("npx jest -t 'a b'", "jest", ["npx", "jest", "-t", "a b", "-x"]),
        ("node node_modules/jest/bin/jest.js", "jest", "node node_modules/jest/bin/jest.js -x"),
        ("node_modules/.bin/vitest run", "vitest", "node_modules/.bin/vitest run -x"),
        ("npx -p vitest vitest", "vitest", "npx -p vitest vitest -x"),
        ("timeout 60 npx mocha", "mocha", "timeout 60 npx mocha -x"),
        ("nyc --reporter=lcov mocha", "mocha", "nyc --reporter=lcov mocha -x"),
        ("npm test", "jest", "npm test -- -x"),
        ("npm t", "jest", "npm t -- -x"),
        ("npm test -- --runInBand", "jest", "npm test -- --runInBand -x"),
        ("npm run vitest", "vitest", "npm run vitest -- -x"),
        ("npm run unit", "vitest", "npm run unit -- -- -x"),
        ("npm run yarned", "vitest", "npm run yarned -- -x"),
        ("npm run built", "mocha", "npm run built -- -x"),
        ("npm run go", "go_test", "npm run go -- -x"),
        ("npm exec -- jest", "jest", "npm exec -- jest -x"),
        ("npm exec jest", "jest", "npm exec jest -- -x"),
        ("yarn test", "jest", "yarn test -x"),
        ("yarn run vitest", "vitest", "yarn run vitest -x"),
        ("yarn mocha", "mocha", "yarn mocha -x"),
        ("pnpm test", "jest", "pnpm test -x"),
        ("pnpm exec mocha", "mocha", "pnpm exec mocha -x"),
        ("bun run vitest", "vitest", "bun run vitest -x"),
        ("go test ./... -args -v", "go_test", "go test -x ./... -args -v"),
        ("go '' test", "other", None),
        ("cargo test -- --nocapture", "cargo_test", "cargo test -x -- --nocapture"),
        ("cargo +nightly t", "cargo_test", "cargo +nightly t -x"),
        ("./gradlew check", "junit", "./gradlew check -x"),
        ("mvn -B verify", "junit", "mvn -B verify -x"),
        ("mvn surefire:test", "junit", "mvn surefire:test -x"),
        ("java -jar lib/junit-platform-console-standalone-1.9.1.jar -p a", "junit", None),
        ("CI=1 npx jest", "jest", [*SHELL, "CI=1 npx jest -x"]),
        ("cd web && npm test", "mocha", [*SHELL, "cd web && npm test -- -x"]),
        ("eslint; npx jest > log 2>&1", "jest", [*SHELL, "eslint; npx jest > log 2>&1 -x"]),
        ("(cd web && npx mocha)", "mocha", [*SHELL, "(cd web && npx mocha -x)"]),
        ("go vet && go test . | tee log", "go_test", [*SHELL, "go vet && go test -x . | tee log"]),
        ("python -m pytest", "pytest", None),
        # What follows the runner in a script would get its options, or they would not be options.
        ("npm run piped", "other", None),
        ("npm run bar", "other", None),
        ("npm run round", "other", None),
        ("npm run empty", "other", None),
        ("npm run nothing", "other", None),
        ("npm run", "other", None),
        ("npm", "other", None),
        ("bun test", "other", None),
        ("make test", "other", None),
        ("go build ./...", "other", None),
        ("cargo build", "other", None),
        ("cargo nextest run test", "other", None),
        ("mvn clean", "other", None),
        ("java -jar app.jar", "other", None),
        ("cat jest", "other", None),
        ("cd jest && ls", "other", None),
        ("npx jest-junit", "other", None),
        ("echo 'npx jest", "other", None),
        ("ruff check .", "other", None),
        ("env", "other", None),
    ],
)  # fmt: skip
def test_a_command_comes_to_a_framework(
    directory: Path, command: str, framework: str, argv: str | list[str] | None
) -> None:
    if command != "echo 'npx jest":  # which cannot be started at all
        assert framework_of(command, directory) == framework
    reach = reach_of(command, directory)
    if framework in ("other", "pytest"):
        assert reach is None
    elif argv:
        assert reach
        assert reach.argv("-x") == tuple(argv.split() if isinstance(argv, str) else argv)


def test_without_a_directory_a_script_is_unknown() -> None:
    assert tool_of("npm test") is None
    assert tool_of("npx jest") == "jest"


@pytest.mark.parametrize("text", [None, "{", "[]", '{"scripts": 1}', '{"scripts": {"test": 1}}'])
def test_a_package_that_says_nothing_leads_nowhere(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "package.json").write_text(text)
    assert framework_of("npm test", tmp_path) is Framework.OTHER


@pytest.mark.parametrize(
    ("file", "language"),
    [
        ("src/app.ts", "typescript"),
        ("App.TSX", "typescript"),
        ("a.mjs", "javascript"),
        ("a.py", "python"),
        ("total_test.go", "go"),
        ("src/lib.rs", "rust"),
        ("Total.java", "java"),
        ("Makefile", "other"),
        ("a.rb", "other"),
    ],
)
def test_a_file_has_a_language(file: str, language: str) -> None:
    assert language_of(file) == language
    assert language_of(Path(file)) == language
