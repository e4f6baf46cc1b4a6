"""The closure of the judges: what judges name, load and import judges as well.

Everything is read from the project as it is before the first fix. Where a file is a part of the
program too, since other code imports it or it has tests of its own, a fix must be able to change
it, and it is none of the judges.
"""

from __future__ import annotations

import json
import posixpath
import re
import tomllib
from collections.abc import Iterable, Iterator
from configparser import ConfigParser
from configparser import Error as ConfigParserError
from pathlib import PurePosixPath
from typing import Any

from runtrue.sandbox.baseline_files import CODE, BaselineFiles
from runtrue.sandbox.configured_tests import entry_points
from runtrue.sandbox.judge_names import AROUND, JAVASCRIPT, is_judge_by_name
from runtrue.sandbox.judge_scripts import scripts_of
from runtrue.settings_file import read_settings

#: Keys of settings, in small letters and without dashes, whose values are loaded or run.
_LOADING = frozenset(
    {
        *("extend", "extends", "plugin", "plugins", "preset", "presets", "transform", "transforms"),
        *("reporter", "reporters", "require", "import", "loader", "loaders", "config", "file"),
        *("setup", "setupfiles", "setupfilesafterenv", "globalsetup", "globalteardown", "before"),
        *("environment", "runner", "testrunner", "testsequencer", "resolver", "snapshotresolver"),
        *("snapshotserializers", "watchplugins", "moduleloader", "testenvironment", "after"),
        *("dependencyextractor", "testresultsprocessor", "prettierpath", "rulesdir", "helpers"),
        *("loadplugins", "inithook", "localplugins", "configfile", "rcfile", "envfiles", "envfile"),
        *("dotenv", "nodearguments", "execargv", "nodeoption", "pytest11", "addopts", "processor"),
        *("supportfile", "parser", "modulenamemapper", "alias"),
    }
)
#: Tables of pyproject.toml that make a distribution, and load nothing into a check.
_NOT_TOOLS = frozenset({"poetry", "setuptools", "hatch", "pdm", "flit", "runtrue", "commitizen"})
#: Tables of package.json that configure checks.
_PACKAGE_TABLES = (
    *("jest", "mocha", "ava", "tap", "nyc", "c8", "babel", "eslintConfig", "prettier", "xo"),
    *("vitest", "stylelint", "lint-staged", "wireit", "nx"),
)
_ASSIGNED = re.compile(r"""["']?([\w-]+)["']?\s*[:=]\s*(?=[\[{"'`(])""")
_COMMENT = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', re.S)
_QUOTED = re.compile(r"""["'`]([^"'`\n]{1,300})["'`]""")
_PLUGINS = re.compile(r"^pytest_plugins\s*(?::[^=]*)?=\s*(\([^)]*\)|\[[^\]]*\]|.+)", re.M)
#: Names of modules that are there for tests.
_SUPPORT = re.compile(
    r"(?:^|[_.-])(?:tests?|testing|test_?(?:utils?|kit|helpers?|support|lib|case|base)|helpers?"
    r"|fixtures?|factories|mocks?|fakes?|stubs?|doubles|golden|harness|assert(?:ions?|s)?"
    r"|matchers?|expectations?)(?:[_.-]|$)",
    re.I,
)
_FRAMEWORK = re.compile(
    r"^\s*(?:from|import)\s+(?:pytest|unittest|hypothesis|nose2?|mock|factory|testtools)\b"
    r"|[\"'](?:vitest|jest|@jest/globals|mocha|chai|sinon|ava|tap|tape|node:test"
    r"|@testing-library/[\w-]+|github\.com/stretchr/testify/[\w/]+|testing)[\"']",
    re.M,
)
_ASSERTS = re.compile(
    r"^\s*(?:export\s+)?(?:async\s+)?(?:def|function|const|let|func)\s+(?:assert|expect)_?[A-Za-z]\w*"
    r"|exports\.(?:assert|expect)[A-Z_]\w*\s*=",
    re.M,
)
_DATA = frozenset({"golden", "goldens", "fixtures", "snapshots", "expected", "cassettes"})
#: These lead to the program as well: only what is there for tests counts.
_MAPPING = frozenset({"modulenamemapper", "alias"})
_SUPPORT_DIRECTORY = re.compile(
    r"tests?|testing|test[_-]?(?:utils?|helpers?|support)|mocks?|fakes?"
)
_AROUND = re.compile("|".join(re.escape(name).replace(r"\*", ".*") for name in AROUND))


def judge_closure(command: str, files: BaselineFiles) -> frozenset[str]:
    """Return the files that judge though their names do not say so."""
    named = set(files.judges)
    scripts = scripts_of(command, files)
    settings = [name for name in named if _is_settings(name)] + ["package.json"]
    loaded: set[str] = set(scripts)
    pending = [*settings, *scripts]
    seen: set[str] = set()
    while pending:
        file = pending.pop()
        if file in seen or file not in files.names:
            continue
        seen.add(file)
        more = {*_loaded_by(file, files)}
        # What a program of settings imports is a part of it; tests also import what they test.
        if _is_settings(file):
            more |= files.imports(file) if PurePosixPath(file).name != "conftest.py" else set()
        elif place := posixpath.dirname(file):
            more |= {name for name in files.imports(file) if name.startswith(f"{place}/")}
        loaded |= more
        pending += more
    tests = {name for name in named if PurePosixPath(name).suffix in CODE}
    for test in tests:
        if "pytest_plugins" in files.text(test):
            loaded |= {*_plugins(test, files)}
    every = frozenset(named | loaded)
    program = _program(loaded - scripts - named, files, every)
    judges = (loaded - program) | _support(tests | (loaded - program), files, every)
    return frozenset(judges | _data(tests | judges, files, every)) - named


def _is_settings(file: str) -> bool:
    return _AROUND.fullmatch(PurePosixPath(file).name) is not None


# -- settings --------------------------------------------------------------------------------


def _loaded_by(file: str, files: BaselineFiles) -> Iterator[str]:
    """Yield the project's files that a file of settings has loaded."""
    suffix, text = PurePosixPath(file).suffix, files.text(file)
    if suffix[1:] in JAVASCRIPT:
        words = _words_in_program(text)
    elif suffix == ".py":
        words = iter(())
    else:
        words = _loading_words(_parsed(file, text))
    for word in words:
        for part in (word, *re.findall(r"(?<=-p )[\w.]+|[\w./-]+", word)):
            if found := _resolved(part, file, files):
                yield found


def _resolved(word: str, near: str, files: BaselineFiles) -> str | None:
    path = word.split(":", maxsplit=1)[0] if "/" not in word else word
    if found := files.script(word, near):
        return found
    return files.module(path) if re.fullmatch(r"[A-Za-z_][\w.]*", path) else None


def _words_in_program(text: str) -> Iterator[str]:
    """Yield the quoted words behind the keys that load, in settings that are a program."""
    for found in _ASSIGNED.finditer(text):
        if _plain(found[1]) in _LOADING:
            words = _QUOTED.findall(_value(text[found.end() : found.end() + 4_000]))
            yield from _mapped(found[1], words)


def _mapped(key: str, words: list[str]) -> list[str]:
    return [w for w in words if _is_support(w)] if _plain(key) in _MAPPING else words


def _value(text: str) -> str:
    """Return the beginning of a text up to where its first bracket, or line, is closed."""
    if text[:1] in "\"'`":
        return text.split("\n", 1)[0].split(",", 1)[0]
    depth = 0
    for index, char in enumerate(text):
        depth += (char in "[{(") - (char in "]})")
        if depth <= 0:
            return text[: index + 1]
    return text


def _plain(key: str) -> str:
    return re.sub(r"[-_]", "", key).lower()


def _parsed(file: str, text: str) -> Any:
    name = PurePosixPath(file).name
    try:
        if name.endswith(".toml"):
            table = tomllib.loads(text)
            tools = table.get("tool", {}) if name == "pyproject.toml" else table
            entries = table.get("project", {}).get("entry-points", {}).get("pytest11", {})
            return [{k: v for k, v in tools.items() if k not in _NOT_TOOLS}, {"plugins": entries}]
        if name == "package.json":
            package = json.loads(text)
            return [package.get(table) for table in _PACKAGE_TABLES]
        if name.endswith((".json", ".json5", ".jsonc")) or text.lstrip()[:1] == "{":
            bare = _COMMENT.sub(lambda found: found[1] or "", text)
            return json.loads(re.sub(r",(\s*[\]}])", r"\1", bare))
        if name.endswith((".yml", ".yaml")) or name in (".taprc", ".eslintrc"):
            import yaml

            return yaml.safe_load(text)
        parser = ConfigParser(interpolation=None, strict=False)
        parser.read_string(text)
        return {name: dict(parser[name]) for name in parser.sections()}
    except (ValueError, AttributeError, ConfigParserError, RecursionError):
        return None
    except Exception as error:
        if type(error).__module__.startswith("yaml"):
            return None
        raise


def _loading_words(value: Any, *, is_loading: bool = False) -> Iterator[str]:
    match value:
        case str() if is_loading:
            yield from (value, *value.split())
        case list():
            for inner in value:
                yield from _loading_words(inner, is_loading=is_loading)
        case dict():
            for key, inner in value.items():
                loads = is_loading or _plain(str(key)) in _LOADING
                yield from _mapped(str(key), [*_loading_words(inner, is_loading=loads)])


def _plugins(test: str, files: BaselineFiles) -> Iterator[str]:
    for value in _PLUGINS.findall(files.text(test)):
        for name in _QUOTED.findall(value):
            if found := files.module(name, test):
                yield found


# -- what tests use ---------------------------------------------------------------------------


def _program(loaded: Iterable[str], files: BaselineFiles, judges: frozenset[str]) -> set[str]:
    """Return those of some files that the program imports, or that are its entries."""
    stems = {file: _stem(file) for file in loaded}
    used = files.mentioned(stems.values(), judges)
    package = read_settings(files.directory / "package.json")
    entries = {files.script(name) for name in entry_points(package)}
    return {
        file
        for file, stem in stems.items()
        if file in entries or (stem in used and _is_imported(file, files, judges))
    }


def _is_imported(file: str, files: BaselineFiles, judges: frozenset[str]) -> bool:
    return any(
        file in files.imports(name)
        for name in files.names
        if name not in judges and PurePosixPath(name).suffix in CODE and name != file
    )


def _support(users: set[str], files: BaselineFiles, judges: frozenset[str]) -> set[str]:
    """Return the modules that only tests import, and that are there for tests."""
    found: set[str] = set()
    under_test = 0
    pending, seen = [*users], set(users)
    while pending:
        for file in files.imports(pending.pop()) - seen - judges:
            seen.add(file)
            text = files.text(file)
            is_sure = _FRAMEWORK.search(text) is not None or _ASSERTS.search(text) is not None
            if not (is_sure or _is_support(file)) or _has_tests(file, files):
                under_test += 1
                continue
            found.add(file)
            pending.append(file)
    found -= _program(found, files, judges | frozenset(found))
    # Where tests import nothing else, this is what they test.
    return found if under_test else {file for file in found if _FRAMEWORK.search(files.text(file))}


def _is_support(file: str) -> bool:
    directories = PurePosixPath(file).parts[:-1]
    return _SUPPORT.search(_stem(file)) is not None or any(
        _SUPPORT_DIRECTORY.fullmatch(part) for part in directories
    )


def _has_tests(file: str, files: BaselineFiles) -> bool:
    stem = re.escape(_stem(file))
    named = re.compile(rf"(?:test_{stem}|{stem}[._-](?:test|spec)s?|{stem}Tests?)\.\w+")
    return any(named.fullmatch(PurePosixPath(name).name) for name in files.judges)


def _stem(file: str) -> str:
    path = PurePosixPath(file)
    return path.parent.name or path.stem if path.stem in ("__init__", "index", "mod") else path.stem


def _data(users: set[str], files: BaselineFiles, judges: frozenset[str]) -> set[str]:
    """Return the files that tests read by name, and that no program names."""
    found: dict[str, str] = {}
    for user in users:
        if PurePosixPath(user).suffix not in CODE:
            continue
        for word in set(_QUOTED.findall(files.text(user))):
            plain = word.removeprefix("./").strip("/")
            for place in ("", posixpath.dirname(user)):
                path = posixpath.normpath(posixpath.join(place, plain))
                if path in files.names and PurePosixPath(path).suffix not in CODE:
                    found[path] = PurePosixPath(path).name
                elif path in files.directories and posixpath.basename(path) in _DATA:
                    inside = (name for name in files.names if name.startswith(f"{path}/"))
                    found |= dict.fromkeys(inside, posixpath.basename(path))
    used = files.mentioned(found.values(), judges)
    return {file for file, word in found.items() if word not in used and not is_judge_by_name(file)}
