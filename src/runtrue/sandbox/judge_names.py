"""Names of judges: files that decide about a candidate wherever they are, whatever they contain."""

from __future__ import annotations

import re
from fnmatch import translate

JAVASCRIPT = ("js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts")

#: Tests, by file name.
TESTS = (
    *("test_*.py", "*_test.py", "tests.py"),
    *(f"*.{word}.{end}" for word in ("test", "spec", "cy", "e2e") for end in JAVASCRIPT),
    *(f"*{join}{word}.{end}" for join in "-_" for word in ("test", "spec") for end in JAVASCRIPT),
    *("*_test.go", "*Test.java", "*Tests.java", "*IT.java", "*TestCase.java", "*Test.kt"),
    *("*_test.rs", "*_tests.rs", "tests.rs", "*_test.exs", "*_spec.rb", "*_test.rb"),
    *("*Test.php", "*.bats", "*.feature", "*.robot", "*Test.cs", "*Tests.cs", "*Spec.groovy"),
    *("*_test.dart", "*Tests.swift", "*Test.swift", "*_spec.lua", "*Spec.scala", "*Test.scala"),
    *("*_test.cc", "*_test.cpp", "*_unittest.cc", "*Spec.kt", "*Spec.hs", "*_test.clj"),
)

_PYTHON = (
    *("conftest.py", "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml"),
    *("tox.ini", "tox.toml", "setup.cfg", "pyproject.toml", "noxfile.py", "hatch.toml"),
    *(".coveragerc", "nose.cfg", ".noserc", "unittest.cfg", "nose2.cfg", "behave.ini"),
    *(".stestr.conf", ".testr.conf", "robot.toml", ".flake8", ".pylintrc", "pylintrc"),
    *("pylintrc.toml", ".pylintrc.toml", ".pycodestyle", ".pydocstyle", ".pep8", ".isort.cfg"),
    *(".style.yapf", ".bandit", "bandit.yaml", "bandit.yml", ".prospector.y*ml"),
    *("ruff.toml", ".ruff.toml", "mypy.ini", ".mypy.ini", "pyrightconfig.json", "ty.toml"),
    *("coverage.toml", ".coveragerc.toml", "pyrefly.toml", ".yamllint*", ".behaverc", ".condarc"),
    *("basedpyright.json", ".pyre_configuration", "pytype.cfg", ".python-version", "uv.toml"),
    # Imported by every Python interpreter that starts, before anything else.
    *("sitecustomize.py", "usercustomize.py", "*.pth", "pyvenv.cfg"),
    # Would be imported in place of pytest, or of what runtrue reads its verdict from.
    *("pytest.py", "_pytest.py", "runtrue_report.py", "entry_points.txt"),
)
_NODE = (
    *(".eslintrc*", "eslint.config.*", ".prettierrc*", "prettier.config.*", "biome.json*"),
    *(".oxlintrc.json", ".stylelintrc*", "stylelint.config.*", ".jshintrc", "tslint.json"),
    *("xo.config.*", ".xo-config*", ".remarkrc*", ".markdownlint*", "dprint.json*"),
    *("jest.config.*", "jest.setup.*", "jest.preset.*", "jest-*.config.*", "setupTests.*"),
    *("vitest.config.*", "vitest.workspace.*", "vitest.setup.*", "vite.config.*"),
    *(".mocharc*", "ava.config.*", ".taprc", "jasmine.json", ".c8rc*", ".nycrc*"),
    *("nyc.config.*", "karma.conf.*", "cypress.config.*", "cypress.json", "playwright.config.*"),
    *("wdio.conf.*", ".testcaferc*", "nightwatch.conf.*", "nightwatch.json", "protractor.conf.*"),
    *("web-test-runner.config.*", "wtr.config.*", "stryker.conf*", ".bun-test*"),
    *(".babelrc*", "babel.config.*", ".swcrc", "tsconfig.json", "tsconfig.*.json"),
    *("tsconfig-*.json", "jsconfig.json", "deno.json*", "bunfig.toml", "lerna.json", "nx.json"),
    *("project.json", "turbo.json", ".npmrc", ".yarnrc", ".yarnrc.yml", "pnpm-workspace.yaml"),
    *("jest.*.json", "jest-*.json", "jest.*.config.*", "jest[-_.]setup.*", "setup[-_.]jest.*"),
    *("setupJest.*", "jestSetup.*", "vitest[-_.]setup.*", "setup[-_.]vitest.*", "vitest.*.ts"),
    *(
        "vitest.*.js",
        "vitest.*.mts",
        "vitest.*.mjs",
        "test[-_]setup.*[jt]s",
        "setup[-_]tests.*[jt]s",
    ),
    *("mocha.opts", "cypress.env.json", "angular.json", "rstest.config.*", "commitlint.config.*"),
    *("knip.json*", "knip.config.*", ".dependency-cruiser.*", ".lintstagedrc*", "nodemon.json"),
    *("import_map.json", "*.snap", ".eslintcache", ".stylelintcache", "*.tsbuildinfo"),
    *(".pnpmfile.*", "pnpmfile.js", ".pnp.*js", ".nvmrc", ".node-version"),
)
_OTHERS = (
    *("clippy.toml", ".clippy.toml", "rustfmt.toml", ".rustfmt.toml", "rust-toolchain*"),
    *("nextest.toml", "build.rs", "go.work", ".golangci.*", "staticcheck.conf"),
    *("build.gradle*", "settings.gradle*", "init.gradle*", "gradle.properties", "gradlew*"),
    *("mvnw*", "testng*.xml", "junit-platform.properties", "checkstyle*.xml", "pmd*.xml"),
    *("spotbugs*.xml", "phpunit.xml*", "phpstan.neon*", ".rspec", ".rubocop.yml"),
    *("CTestTestfile.cmake", "CTestConfig.cmake", ".tool-versions", "mise.toml", ".mise.toml"),
    *("psalm.xml*", ".php-cs-fixer*", "pest.php", ".rubocop*", ".simplecov", ".hadolint.y*ml"),
    *(".shellcheckrc", ".clang-tidy", ".clang-format", ".bazelrc", ".swiftlint.yml", ".hlint.yaml"),
    *("xunit.runner.json", "*.runsettings", "Directory.Build.*", "nuget.config", "global.json"),
    *(".credo.exs", ".formatter.exs", "dart_test.yaml", "analysis_options.yaml", ".busted"),
    *(".luacheckrc", ".proverc", ".scalafmt.conf", ".scalafix.conf", ".ghci"),
    *("runtrue.toml", ".pre-commit-config.yaml", "lefthook.y*ml", ".semgrep*", ".editorconfig"),
    # Loaded by runners before the tests.
    *(".env", ".env.*", ".flaskenv"),
    # Tools such as ruff leave out what they name.
    *(".gitignore", ".ignore", ".*ignore", ".gitattributes"),
)
#: What runs before and around tests, and the configuration of checks, by file name.
AROUND = (*_PYTHON, *_NODE, *_OTHERS)
#: Templates for people, which no runner loads.
_EXAMPLES = re.compile(r"\.env\.(?:example|sample|template|dist)")

TEST_DIRECTORIES = frozenset({"tests", "test", "__tests__", "spec"})
#: Everything below a directory of these names: tests, what they compare with, what loads first.
DIRECTORIES = TEST_DIRECTORIES | {
    *("__snapshots__", "__fixtures__", "__mocks__", "testdata", "test_data", "test-data"),
    *("pytest", "_pytest", "node_modules", ".cargo", ".mvn", "buildSrc", ".yarn"),
    *("testFixtures", "integrationTest", "androidTest", "tap-snapshots", ".storybook"),
}
#: Everything below such a path, wherever it begins.
_BELOW = (
    *("gradle/wrapper/", ".config/nextest", "features/steps/", "features/environment.py"),
    *("cypress/support/", "spec/support/"),
)

_NAMED = re.compile("|".join(map(translate, (*TESTS, *AROUND))))
#: Imported by every Python from the first place that has it, before any hook.
_LOADED_FIRST = re.compile(r"(?:.*/)?encodings(?:/__init__)?\.[^/]+")
#: Tests, if they lie at the top of a project: below, they may be a part of the program.
AT_THE_TOP = re.compile(rf"(?:tests?|specs?)\.(?:{'|'.join((*JAVASCRIPT, 'py'))})")


def is_judge_by_name(file: str) -> bool:
    """True if a file (relative, with slashes) is a judge by its name or its directories."""
    *directories, name = file.split("/")
    return (
        (_NAMED.match(name) is not None and not _EXAMPLES.fullmatch(name))
        or AT_THE_TOP.fullmatch(file) is not None
        or not DIRECTORIES.isdisjoint(directories)
        or any(part in f"/{file}" for part in (f"/{below}" for below in _BELOW))
        or _LOADED_FIRST.fullmatch(file) is not None
    )
