"""The closure of the judges: what judges name, load and import judges as well.

Everything is read from the project as it is before the first fix. Where a file is a part of the
program too, since other code imports it or it has tests of its own, a fix must be able to change
it, and it is none of the judges.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

from runtrue.sandbox.baseline_files import CODE, BaselineFiles
from runtrue.sandbox.configured_tests import entry_points
from runtrue.sandbox.judge_names import AROUND, is_judge_by_name
from runtrue.sandbox.judge_scripts import scripts_of
from runtrue.sandbox.judge_settings import QUOTED, is_support, loaded_by, module_stem
from runtrue.settings_file import read_settings

_PLUGINS = re.compile(
    r"\bpytest_plugins\b(?:\s*(?::[^=\n]*)?\+?=|\.(?:append|extend))\s*(\([^)]*\)|\[[^\]]*\]|.+)"
)
_CONFTEST = "conftest.py"
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
#: Descriptions of builds, in which only what they name for checks judges.
_BUILDS = re.compile(
    r"package\.json|(?:.*/)?(?:Cargo\.toml|pom\.xml|[Tt]askfile.*\.ya?ml|\.cargo/config(?:\.toml)?)"
)
_AROUND = re.compile("|".join(re.escape(name).replace(r"\*", ".*") for name in AROUND))


def judge_closure(command: str, files: BaselineFiles) -> frozenset[str]:
    """Return the files that judge though their names do not say so."""
    named = set(files.judges)
    scripts = scripts_of(command, files)
    settings = [name for name in files.names if name in named and _is_settings(name)]
    settings += [name for name in files.names if _BUILDS.fullmatch(name)]
    loaded: set[str] = set(scripts)
    pending = [*settings, *scripts]
    seen: set[str] = set()
    while pending:
        file = pending.pop()
        if file in seen or file not in files.names:
            continue
        seen.add(file)
        more = {*loaded_by(file, files)}
        # What a program of settings imports is a part of it; tests also import what they test.
        if _is_settings(file):
            more |= files.imports(file) if PurePosixPath(file).name != _CONFTEST else set()
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
    before_tests = {name for name in tests if PurePosixPath(name).name == _CONFTEST}
    before_tests |= {name for name in loaded - program - scripts if name in files.names}
    judges = (loaded - program) | _support(tests | (loaded - program), files, every)
    judges |= _set_up(before_tests, tests - before_tests, files, every)
    return frozenset(judges | _data(tests | judges, files, every)) - named


def _is_settings(file: str) -> bool:
    return _AROUND.fullmatch(PurePosixPath(file).name) is not None


def _plugins(test: str, files: BaselineFiles) -> Iterator[str]:
    for value in _PLUGINS.findall(files.text(test)):
        for name in QUOTED.findall(value):
            if found := files.module(name, test):
                yield found


# -- what tests use ---------------------------------------------------------------------------


def _program(loaded: Iterable[str], files: BaselineFiles, judges: frozenset[str]) -> set[str]:
    """Return those of some files that the program imports, or that are its entries."""
    stems = {file: module_stem(file) for file in loaded}
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
            if not (is_sure or is_support(file)) or _has_tests(file, files):
                under_test += 1
                continue
            found.add(file)
            pending.append(file)
    found -= _program(found, files, judges | frozenset(found))
    # Where tests import nothing else, this is what they test.
    return found if under_test else {file for file in found if _FRAMEWORK.search(files.text(file))}


def _set_up(
    users: set[str], tests: set[str], files: BaselineFiles, judges: frozenset[str]
) -> set[str]:
    """Return the modules that only prepare tests: neither they nor the program import them.

    Where tests import nothing themselves, what prepares them also brings what they test.
    """
    tested = frozenset().union(*map(files.imports, tests)) - judges
    packages = {_package(file) for file in tested}
    found: set[str] = set()
    pending = [*users] if tested else []
    while pending:
        for file in files.imports(pending.pop()) - found - judges - tested:
            if _package(file) not in packages and not _has_tests(file, files):
                found.add(file)
                pending.append(file)
    return found - _program(found, files, judges | frozenset(found))


def _package(file: str) -> str:
    parts = file.split("/")
    return parts[1] if parts[0] in ("src", "lib") and len(parts) > 2 else parts[0]


def _has_tests(file: str, files: BaselineFiles) -> bool:
    stem = re.escape(module_stem(file))
    named = re.compile(rf"(?:test_{stem}|{stem}[._-](?:test|spec)s?|{stem}Tests?)\.\w+")
    return any(named.fullmatch(PurePosixPath(name).name) for name in files.judges)


def _data(users: set[str], files: BaselineFiles, judges: frozenset[str]) -> set[str]:
    """Return the files that tests read by name, and that no program names."""
    found: dict[str, str] = {}
    for user in users:
        if PurePosixPath(user).suffix not in CODE:
            continue
        for word in set(QUOTED.findall(files.text(user))):
            plain = word.removeprefix("./").strip("/")
            for place in ("", posixpath.dirname(user)):
                path = posixpath.normpath(posixpath.join(place, plain))
                if path in files.names and PurePosixPath(path).suffix not in CODE:
                    found[path] = PurePosixPath(path).name
                elif "/" not in plain and len(same := files.called(plain)) == 1:
                    found |= dict.fromkeys(same, plain)
                elif path in files.directories and posixpath.basename(path) in _DATA:
                    inside = (name for name in files.names if name.startswith(f"{path}/"))
                    found |= dict.fromkeys(inside, posixpath.basename(path))
    used = files.mentioned(found.values(), judges)
    return {file for file, word in found.items() if word not in used and not is_judge_by_name(file)}
