"""tox: the commands of a test environment in tox.ini, setup.cfg, tox.toml or pyproject.toml."""

from __future__ import annotations

import configparser
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from runtrue.checks.recipes.recipe import (
    UNKNOWN,
    Group,
    Recipe,
    by_test_name,
    joined_lines,
    line_from,
    line_of,
    substitute,
    text_of,
)
from runtrue.settings_file import read_settings, subtable

#: The innermost braces, which hold a substitution.
_BRACES = re.compile(r"(?<!\\)\{([^{}]*)\}")
_FACTORS = re.compile(r"^(!?[\w.]+(?:[-,]!?[\w.]+|\{[\w.,]+\})*)\s*:\s+(?=\S)")
_PYTHONS = {"envpython": "python", "env_python": "python", "basepython": "python"}
_ROOTS = frozenset({"toxinidir", "tox_root", "tox_ini_dir"})


def recipes_of_tox(project: Path) -> Iterator[Group]:
    """Yield what tox runs for tests: the general environment, then those named after tests."""
    for name in ("tox.ini", "setup.cfg"):
        yield from _of_ini(
            text_of(project / name), name, "testenv" if name == "tox.ini" else "tox:"
        )
    yield from _of_toml(read_settings(project / "tox.toml"), project / "tox.toml")
    own = subtable(read_settings(project / "pyproject.toml"), "tool", "tox")
    if isinstance(legacy := own.get("legacy_tox_ini"), str):
        yield from _of_ini(legacy, "pyproject.toml", "testenv")
    yield from _of_toml(own, project / "pyproject.toml")


# -- tox.ini ------------------------------------------------------------------------------------


def _of_ini(text: str, file: str, sign: str) -> Iterator[Group]:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(text)
    except configparser.Error:
        return
    if not any(section.startswith(sign) for section in parser.sections()):
        return
    sections = {name.removeprefix("tox:"): dict(parser[name]) for name in parser.sections()}
    listed = sections.get("tox", {})
    names = _environments(listed.get("envlist") or listed.get("env_list") or "")
    named = [name.partition(":")[2] for name in sections if name.startswith("testenv:")]
    pythons = [name for name in (*names, *named) if name.startswith("py")]
    for name in dict.fromkeys([_nearest(pythons), *by_test_name([*named, *names])]):
        if group := _group(sections, name, text, file):
            yield group


def _environments(text: str) -> list[str]:
    """Return the names of a list of environments: `py{38,39}-{a,b}` has four, in that order."""
    found: list[str] = []
    for word in re.findall(r"(?:[^\s,{}]|\{[^}]*\})+", text):
        expanded = [""]
        for part in re.findall(r"\{[^}]*\}|[^{}]+", word):
            choices = part[1:-1].split(",") if part.startswith("{") else [part]
            expanded = [begin + choice.strip() for begin in expanded for choice in choices]
        found += expanded
    return found


def _nearest(names: list[str]) -> str:
    """Return the environment for the Python at hand; `py` where none is named."""
    version = "".join(map(str, sys.version_info[:2]))
    wanted = (f"py{version}", f"py3.{sys.version_info[1]}", "py3", "py")
    plain = [name for name in wanted if name in names]
    begins = [name for name in names if name.split("-")[0] in wanted]
    return next(iter([*plain, *begins, *names]), "py")


def _group(
    sections: Mapping[str, Mapping[str, str]], name: str, text: str, file: str
) -> Group | None:
    own = sections.get(f"testenv:{name}", {})
    base = sections.get("testenv", {})
    factors = {*name.split("-"), name}
    is_own = "commands" in own
    header = f"testenv:{name}" if is_own else "testenv"

    def setting(*keys: str) -> str:
        return next((part[key] for part in (own, base) for key in keys if key in part), "")

    def resolved(value: str) -> str:
        return _resolve(value, sections, variables)

    variables: dict[str, str] = {}
    for line in joined_lines(resolved(setting("setenv", "set_env"))):
        key, is_set, value = _for_factors(line, factors).partition("=")
        if is_set and re.fullmatch(r"\w+", key.strip()):
            variables[key.strip()] = value.strip()
    directory = resolved(setting("changedir", "change_dir")) or "."
    lines = [_for_factors(line, factors) for line in joined_lines(setting("commands"))]
    return tuple(
        Recipe(
            line=resolved(line).removeprefix("-").strip(),
            where=f"{file}:{line_of(text, f'[{header}]', 'commands', line[:30])} [{header}]",
            env=variables,
            directory=directory,
        )
        for line in lines
        if line
    )


def _for_factors(line: str, factors: set[str]) -> str:
    """Return a line without its condition; an empty one where that does not hold."""
    condition = _FACTORS.match(line)
    if condition is None:
        return line

    def holds(word: str) -> bool:
        return word[1:] not in factors if word.startswith("!") else word in factors

    alternatives = _environments(condition[1])
    is_wanted = any(all(map(holds, one.split("-"))) for one in alternatives)
    return line[condition.end() :] if is_wanted else ""


def _resolve(
    text: str, sections: Mapping[str, Mapping[str, str]], variables: Mapping[str, str]
) -> str:
    def value(match: re.Match[str]) -> str:
        inner = match[1]
        name, _, default = inner.partition(":")
        if name in ("posargs", "tty"):
            return default
        if inner == "/":
            return "/"
        if name in _ROOTS:
            return "."
        if name in _PYTHONS:
            return _PYTHONS[name]
        if name in ("envbindir", "env_bin_dir"):
            return "env/bin"
        if name == "env":
            key, has_default, otherwise = default.partition(":")
            return variables.get(key, otherwise if has_default else UNKNOWN)
        if other := re.fullmatch(r"\[([^\]]+)\](\w+)", inner):
            return sections.get(other[1], {}).get(other[2], UNKNOWN)
        return UNKNOWN

    return substitute(text, _BRACES, value).replace("\\{", "{").replace("\\}", "}")


# -- tox.toml -----------------------------------------------------------------------------------


def _of_toml(table: Mapping[str, Any], file: Path) -> Iterator[Group]:
    base = subtable(table, "env_run_base")
    named = {name: {**base, **subtable(table, "env", name)} for name in subtable(table, "env")}
    text = text_of(file)
    listed = [name for name in named if name.startswith("py")]
    choices = [("env_run_base", base), *((f"env.{n}", named[n]) for n in by_test_name(named))]
    choices += [(f"env.{name}", named[name]) for name in listed if "commands" in named[name]]
    for header, environment in choices:
        commands = environment.get("commands")
        if not isinstance(commands, list):
            continue
        variables = {
            name: _resolve(value, {}, {})
            for name, value in subtable(environment, "set_env").items()
            if isinstance(value, str)
        }
        directory = environment.get("change_dir", ".")
        yield tuple(
            Recipe(
                line=_line(command, variables),
                where=f"{file.name}:{line_of(text, header, 'commands')} [{header}]",
                env=variables,
                directory=_resolve(directory, {}, {}) if isinstance(directory, str) else UNKNOWN,
            )
            for command in commands
            if isinstance(command, list)
        )


def _line(command: list[Any], variables: Mapping[str, str]) -> str:
    words: list[str] = []
    for part in command:
        if isinstance(part, str):
            words += [_resolve(part, {}, variables)] if part != "{posargs}" else []
        elif isinstance(part, dict) and part.get("replace") == "posargs":
            default = part.get("default", [])
            words += [_resolve(word, {}, variables) for word in default if isinstance(word, str)]
        else:
            words.append(UNKNOWN)
    return line_from(words)
