"""The tests of a JavaScript project: its script `test`, else a runner that it has settings for."""

from __future__ import annotations

import itertools
import re
import shlex
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from runtrue.checks.framework import Framework, framework_of
from runtrue.checks.line import Word, commands_of
from runtrue.checks.locations import files_below
from runtrue.checks.own_command import OwnCommand
from runtrue.checks.reach import scripts_of
from runtrue.checks.recipes.make import make_target
from runtrue.checks.recipes.recipe import line_of
from runtrue.settings_file import read_settings, subtable

#: The script that `npm init` writes for a project without tests.
_NO_TEST = "no test specified"
#: The lock file of each package manager other than npm.
_LOCKS = {"pnpm-lock.yaml": "pnpm", "yarn.lock": "yarn", "bun.lock": "bun", "bun.lockb": "bun"}
#: Runners: the beginnings of their configuration files, and how they are run once.
_RUNNERS = {
    "vitest": (("vitest.config.", "vitest.workspace."), "vitest run"),
    "jest": (("jest.config.",), "jest"),
    "mocha": ((".mocharc.",), "mocha"),
    "ava": (("ava.config.",), "ava"),
    "tap": ((".taprc",), "tap"),
}
#: Programs that run tests, as a script names them.
_TESTING = frozenset(
    {
        *("jest", "vitest", "mocha", "_mocha", "ava", "tap", "tape", "uvu", "jasmine", "qunit"),
        *("lab", "ts-mocha", "zora", "pta", "borp", "best-tape-runner", "tapd", "brittle"),
    }
)
#: Programs that look at code, types or sizes without running anything of it.
_LOOKING = frozenset(
    {
        *("eslint", "xo", "standard", "ts-standard", "semistandard", "prettier", "tslint", "biome"),
        *("tsd", "dtslint", "attw", "publint", "size-limit", "installed-check", "knip", "oxlint"),
        *("lockfile-lint", "type-coverage", "check-dts", "depcheck", "jshint", "markdownlint"),
        *("dpdm", "madge", "ls-lint", "expect-type", "remark", "markdownlint-cli2", "tsd-lite"),
        *("tstyche", "aud", "npmignore", "evalmd", "echo", "printf"),
        # They make TAP pleasant to read for people.
        *("faucet", "tap-spec", "tap-dot", "tap-min", "tap-difflet", "tap-diff", "tap-nyan"),
        *("tap-summary", "tap-arc", "tap-nirvana", "tap-set-exit", "tap-pessimist"),
    }
)
_COVERAGE = frozenset({"nyc", "c8", "istanbul"})
_COMPILERS = frozenset({"tsc", "vue-tsc"})
_MANAGERS = frozenset({"npm", "yarn", "pnpm", "bun"})
_TEST_FILE = re.compile(r".*[.-](test|spec)\.[cm]?js|test[.-].*\.[cm]?js|test\.[cm]?js")
#: Scripts that call scripts: further down than this is a circle.
_DEPTH = 5


def javascript_tests(directory: Path) -> list[OwnCommand]:
    """Return how the tests in a directory are run; nothing if it has none."""
    return _of_script(directory) or [*_of_runners(directory)] or [*_of_node(directory)]


def delegates(found: OwnCommand, directory: Path) -> bool:
    """True if a command's report cannot be read: it may run the tests of other packages."""
    return framework_of(found.command, directory) is Framework.OTHER


def _of_script(directory: Path) -> list[OwnCommand]:
    scripts = scripts_of(directory)
    script = scripts.get("test", _NO_TEST)
    if _NO_TEST in script:
        return []
    manager = _manager(directory)
    text = (directory / "package.json").read_text(encoding="utf-8")
    line = line_of(text, '"scripts"', '"test"')
    where = f"package.json:{line} script test"
    whole = OwnCommand(name="", command=f"{manager} test", because=where)
    parts = [*_without_needless_build(_parts(script, scripts, directory))]
    tests = [part for part in parts if part.is_test]
    looks = [part for part in parts if part.is_look]
    is_plain = len(parts) == 1 and not parts[0].where
    is_tested_only = bool(tests) and all(part.is_test or part.is_look for part in parts)
    # Several runners in one script are one check each only where something else must be left out.
    if is_tested_only and not is_plain and (looks or len(tests) == 1):
        return [_named(_of_part(part, where, looks, manager), manager, directory) for part in tests]
    if any(_only_looks(scripts, name, directory) for name in ("pretest", "posttest")):
        whole = replace(whole, command=f"{manager} test --ignore-scripts")
        whole = replace(whole, because=f"{where}; without pretest and posttest, which run no test")
    return [_named(whole, manager, directory)]


def _of_part(
    part: _ScriptCommand, where: str, looks: Sequence[_ScriptCommand], manager: str
) -> OwnCommand:
    """Return a part of a script as a command of its own."""
    is_found = part.program == "node" or "/" in part.line.partition(" ")[0]
    direct = part.line if is_found else f"npx --no-install {part.line}"
    left_out = ", ".join(dict.fromkeys(one.program for one in looks))
    notes = [where, part.where, left_out and f"without {left_out}, which runs no test"]
    return OwnCommand(
        name="node-test" if part.program == "node" else part.program,
        command=f"{manager} run {part.script}" if part.script else direct,
        because="; ".join(filter(None, notes)),
        env=part.env,
    )


def _named(found: OwnCommand, manager: str, directory: Path) -> OwnCommand:
    """Return a command under the name of its framework, where that is known."""
    framework = framework_of(found.command, directory)
    known = found.name or f"{manager}-test"
    return replace(found, name=known if framework is Framework.OTHER else framework.value)


def _manager(directory: Path) -> str:
    """Return the package manager; npm runs scripts as well where another is not installed."""
    named = read_settings(directory / "package.json").get("packageManager")
    names = [named.partition("@")[0]] if isinstance(named, str) else []
    for place in (directory, *directory.parents):
        names += [manager for lock, manager in _LOCKS.items() if (place / lock).is_file()]
        if (place / ".git").exists() or (place / "package-lock.json").is_file():
            break
    wanted = next((name for name in names if name in _LOCKS.values()), "npm")
    return wanted if shutil.which(wanted) else "npm"


@dataclass(frozen=True, slots=True)
class _ScriptCommand:
    """One command of a script, and the script that it is the whole of, if that is another."""

    program: str
    line: str
    is_test: bool
    is_look: bool
    env: dict[str, str]
    script: str | None = None
    #: The line of a Makefile that it is on.
    where: str = ""


def _parts(
    script: str, scripts: dict[str, str], directory: Path, depth: int = 0
) -> Iterator[_ScriptCommand]:
    """Yield the commands of a script, those of the scripts and targets that it calls included."""
    for words in commands_of(script):
        part = _part(words)
        called = _called(part.line.split())
        if called in scripts and depth < _DEPTH:
            inner = [
                replace(
                    one,
                    env={**part.env, **one.env},
                    is_look=one.is_look or _checks_types(called, one),
                )
                for one in _parts(scripts[called], scripts, directory, depth + 1)
            ]
            if len(inner) == 1 and not inner[0].where:
                yield replace(inner[0], script=inner[0].script or called)
            else:
                yield from inner
            continue
        target = re.fullmatch(r"make( [\w-]+)?", part.line)
        recipes = make_target(directory, (target[1] or " test").strip()) if target else ()
        if not recipes:
            yield part
        for recipe in recipes:
            for one in commands_of(recipe.line):
                made = _part(one)
                env = {**part.env, **recipe.env, **made.env}
                yield replace(made, env=env, where=recipe.where)


def _checks_types(script: str, part: _ScriptCommand) -> bool:
    """True for a compiler in a script that says by its name that it only checks types."""
    return part.program in _COMPILERS and re.search(r"type|lint", script) is not None


def _without_needless_build(parts: Iterable[_ScriptCommand]) -> Iterator[_ScriptCommand]:
    """Yield the parts; a compiler that runs after the tests only looks: what it makes is late."""
    is_tested = False
    for part in parts:
        is_late = is_tested and part.program in _COMPILERS
        yield replace(part, is_look=True) if is_late else part
        is_tested = is_tested or part.is_test


def _called(texts: Sequence[str]) -> str:
    if len(texts) < 2 or texts[0] not in _MANAGERS:
        return ""
    if texts[1] in ("run", "run-script", "-s") and len(texts) == 3:
        return texts[2]
    return texts[1] if len(texts) == 2 else ""


def _part(words: Sequence[Word]) -> _ScriptCommand:
    env: dict[str, str] = {}
    rest = list(words)
    while rest:
        name, is_set, value = rest[0].text.partition("=")
        if is_set and re.fullmatch(r"\w+", name):
            env[name] = value
        elif rest[0].name not in ("cross-env", "npx", "env"):
            break
        rest = rest[1:]
    if rest and rest[0].name in _COVERAGE:
        if any(word.text in ("report", "check-coverage") for word in rest[1:2]):
            return _ScriptCommand(rest[0].name, "", is_test=False, is_look=True, env={})
        # Options of its own may have values, so that what it runs is known by name alone.
        known = _TESTING | _MANAGERS | {"node", "tsx", "make", "npx"}
        rest = [*itertools.dropwhile(lambda word: word.name not in known, rest[1:])]
        rest = rest[1:] if rest and rest[0].name == "npx" else rest
    if not rest:
        return _ScriptCommand("", "", is_test=False, is_look=False, env={})
    program, texts = rest[0].name, [word.text for word in rest]
    is_node = program in ("node", "tsx") and "--test" in texts
    is_types = program in _COMPILERS and not {"--noEmit", "--dry"}.isdisjoint(texts)
    line = " ".join(_quoted(word.text) for word in rest)
    is_look = program in _LOOKING or is_types
    return _ScriptCommand(
        program, line, is_test=program in _TESTING or is_node, is_look=is_look, env=env
    )


def _quoted(word: str) -> str:
    """Return a word for the shell; a pattern for files was one for the runner or the shell."""
    return word if re.fullmatch(r"[\w./*@:=-]+", word) else shlex.quote(word)


def _only_looks(scripts: dict[str, str], name: str, directory: Path) -> bool:
    parts = [*_parts(scripts[name], scripts, directory)] if name in scripts else []
    return bool(parts) and all(part.is_look for part in parts)


def _of_runners(directory: Path) -> Iterator[OwnCommand]:
    package = read_settings(directory / "package.json")
    known = {*package, *subtable(package, "dependencies"), *subtable(package, "devDependencies")}
    names = sorted(path.name for path in directory.iterdir()) if directory.is_dir() else []
    for tool, (beginnings, command) in _RUNNERS.items():
        because = next((name for name in names if name.startswith(beginnings)), None)
        if because is None and tool in known:
            text = (directory / "package.json").read_text(encoding="utf-8")
            line = line_of(text, f'"{tool}"')
            because = f'package.json:{line} "{tool}"'
        if because:
            yield OwnCommand(name=tool, command=f"npx --no-install {command}", because=because)


def _of_node(directory: Path) -> Iterator[OwnCommand]:
    """Find tests that Node's own runner finds as well."""
    if not (directory / "package.json").is_file():
        return
    for file in sorted(files_below(directory)):
        in_tests = "test" in file.relative_to(directory).parts[:-1]
        is_named = _TEST_FILE.fullmatch(file.name) or (in_tests and file.suffix[-2:] == "js")
        if is_named and "node:test" in file.read_text(encoding="utf-8", errors="replace"):
            because = f"{file.relative_to(directory).as_posix()} imports node:test"
            yield OwnCommand(name="node-test", command="node --test", because=because)
            return
