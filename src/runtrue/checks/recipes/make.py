"""Makefiles and justfiles: what their targets for tests run."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from runtrue.checks.recipes.recipe import (
    UNKNOWN,
    Group,
    Recipe,
    by_test_name,
    substitute,
    text_of,
)

_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
_JUSTFILES = ("justfile", "Justfile", ".justfile")
_MAKE_VARIABLE = re.compile(r"^(?:(export|override)\s+)?([\w.]+)\s*(\?|:{1,3}|\+|)=\s*(.*)$")
_MAKE_RULE = re.compile(r"^([\w./ %-]+?)\s*::?(?!=)\s*(.*)$")
_MAKE_USE = re.compile(r"\$\(([^()$]*)\)|\$\{([^{}$]*)\}")
_JUST_VARIABLE = re.compile(r"^(export\s+)?(\w+)\s*:=\s*(['\"])(.*)\3\s*$")
_JUST_RULE = re.compile(r"^@?([\w-]+)((?:\s+[^:]*)?):(?!=)\s*(.*)$")
_JUST_USE = re.compile(r"\{\{\s*([^{}]*?)\s*\}\}")
#: Targets that are run by targets: further down than this is a circle.
_DEPTH = 5


@dataclass(slots=True)
class _Target:
    line: int
    before: list[str] = field(default_factory=list)
    #: Each with the number of its line.
    commands: list[tuple[int, str]] = field(default_factory=list)
    variables: dict[str, str] = field(default_factory=dict)
    #: Those of its variables that its commands get.
    exported: set[str] = field(default_factory=set)


@dataclass(slots=True)
class _TargetFile:
    """The targets of a Makefile or justfile, and how their lines are expanded."""

    name: str
    #: What the program calls its targets.
    noun: str
    expand: Callable[[str, dict[str, str]], str]
    rules: dict[str, _Target] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    exported: set[str] = field(default_factory=set)

    def recipes(self, target: str, depth: int = 0) -> Iterator[Recipe]:
        """Yield what a target runs: first what it depends on, then its own lines."""
        rule = self.rules.get(target)
        if rule is None or depth > _DEPTH:
            return
        for name in rule.before:
            yield from self.recipes(name, depth + 1)
        known = {**self.variables, **rule.variables}
        set_ = [*self.exported, *rule.exported]
        env = {name: self.expand(known.get(name, ""), known) for name in set_}
        for number, command in rule.commands:
            if command.startswith("#!"):
                return  # a script of its own
            line = self.expand(command, known).lstrip("@-+ ")
            called = re.fullmatch(rf"(?:make|just|{UNKNOWN})\s+([\w-]+)", line)
            if called and called[1] in self.rules:
                yield from self.recipes(called[1], depth + 1)
            else:
                where = f"{self.name}:{number} {self.noun} {target}"
                yield Recipe(line=line, where=where, env=env)


def recipes_of_make(project: Path) -> Iterator[Group]:
    """Yield what the targets of a Makefile run that are named after tests."""
    yield from _by_test_name(_makefile(project))


def recipes_of_just(project: Path) -> Iterator[Group]:
    """Yield what the recipes of a justfile run that are named after tests."""
    yield from _by_test_name(_justfile(project))


def make_target(project: Path, target: str) -> Group:
    """Return what a target of the Makefile runs; nothing if there is none."""
    file = _makefile(project)
    return tuple(file.recipes(target)) if file else ()


def _by_test_name(file: _TargetFile | None) -> Iterator[Group]:
    if file is not None:
        for target in by_test_name(file.rules):
            yield tuple(file.recipes(target))


def _makefile(project: Path) -> _TargetFile | None:
    found = _first_text(project, _MAKEFILES)
    return _read_makefile(*found) if found else None


def _justfile(project: Path) -> _TargetFile | None:
    found = _first_text(project, _JUSTFILES)
    return _read_justfile(*found) if found else None


def _first_text(project: Path, names: Sequence[str]) -> tuple[str, str] | None:
    """Return the text of the first of some files that has one, and its name."""
    texts = ((text_of(project / name), name) for name in names)
    return next((found for found in texts if found[0]), None)


# -- make ---------------------------------------------------------------------------------------


def _read_makefile(text: str, name: str) -> _TargetFile:
    file = _TargetFile(name, "target", _expand_make)
    current: list[_Target] = []
    # A continued line keeps its number: its breaks are counted as one line each.
    joined = re.sub(r"\\\n[ \t]*", "\x01", text)
    number = 1
    for raw in joined.splitlines():
        here, number = number, number + 1 + raw.count("\x01")
        line = raw.replace("\x01", " ")
        if line.startswith("\t"):
            for rule in current:
                rule.commands.append((here, line.strip()))
            continue
        line = re.sub(r"(^|\s)#.*", "", line).rstrip()
        if not line:
            continue
        if set_ := _MAKE_VARIABLE.match(line):
            _set_variable(file, *set_.groups(default=""))
        elif rule_line := _MAKE_RULE.match(line):
            current = _begin_rules(file, rule_line[1].split(), rule_line[2], here)
        elif exported := re.match(r"^export\s+([\w ]+)$", line):
            file.exported |= set(exported[1].split())
    return file


def _set_variable(file: _TargetFile, export: str, name: str, sign: str, value: str) -> None:
    if export == "export":
        file.exported.add(name)
    if sign == "+" and name in file.variables:
        value = f"{file.variables[name]} {value}"
    if sign != "?" or name not in file.variables:
        file.variables[name] = value.strip()


def _begin_rules(file: _TargetFile, targets: list[str], rest: str, line: int) -> list[_Target]:
    rules = [file.rules.setdefault(target, _Target(line)) for target in targets]
    before, is_command, command = rest.partition(";")
    own = _MAKE_VARIABLE.match(before)
    for rule in rules:
        if own:
            rule.variables[own[2]] = own[4].strip()
            rule.exported.add(own[2])
            continue
        rule.before += [word for word in before.split() if word != "|"]
        if is_command:
            rule.commands.append((line, command.strip()))
    return rules


def _expand_make(text: str, variables: dict[str, str]) -> str:
    def value(match: re.Match[str]) -> str:
        name = (match[1] or match[2] or "").strip()
        if name == "MAKE":
            return "make"
        if name in variables:
            return variables[name]
        if name in ("PYTHON", "PYTHON3", "PY", "python"):
            return "python"
        # A variable that is set nowhere is empty, and meant for the command line.
        return "" if re.fullmatch(r"\w+", name) else UNKNOWN

    text = text.replace("$$", "\x02")
    text = substitute(text, _MAKE_USE, value)
    text = re.sub(r"\$[@<^*?%+|(]", UNKNOWN, text)
    return text.replace("\x02", "$")


# -- just ---------------------------------------------------------------------------------------


def _read_justfile(text: str, name: str) -> _TargetFile:
    file = _TargetFile(name, "recipe", _expand_just)
    current: _Target | None = None
    for number, line in enumerate(text.splitlines(), 1):
        if line[:1] in (" ", "\t"):
            if current and line.strip() and not line.strip().startswith("#"):
                current.commands.append((number, line.strip()))
            continue
        if set_ := _JUST_VARIABLE.match(line):
            file.variables[set_[2]] = set_[4]
            if set_[1]:
                file.exported.add(set_[2])
        elif (rule := _JUST_RULE.match(line)) and not line.startswith(("#", "set ", "alias ")):
            current = file.rules.setdefault(rule[1], _Target(number))
            current.before = [word for word in rule[3].split() if word != "&&"]
            # What a person may give is left out; a default is what runs without.
            for parameter in rule[2].split():
                given, _, default = parameter.lstrip("*+$").partition("=")
                current.variables[given] = default.strip("'\"")
    return file


def _expand_just(text: str, variables: dict[str, str]) -> str:
    return substitute(text, _JUST_USE, lambda use: variables.get(use[1], UNKNOWN))
