"""Changed tests: which tests a change moves or renames, and which go with the code they test.

A test that ran before a change must run after it, under whatever name. It may go only together with
what it tests.
"""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from runtrue.checks import Language, language_of
from runtrue.gates import is_source
from runtrue.loop import is_one_of
from runtrue.sandbox import is_test

#: How much of a test file, or of a test, must be in another one for it to have become that.
_ALIKE, _ALIKE_TEST = 0.5, 0.7
_TOKEN = re.compile(r"\w+|[^\w\s]")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
#: What begins a definition, by language; the group is its name. A test may have a title instead.
_SCRIPT = re.compile(
    r"\b(?:it|test|specify)\b(?:\s*\.\s*\w+)*\s*\(\s*"
    r"(?P<quote>[\"'`])(?P<title>(?:\\.|(?!(?P=quote)).)*)(?P=quote)"
    r"|\b(?:function\s*\*?|class|const|let|var|interface|type|enum)\s+(?P<name>[A-Za-z_$][\w$]*)"
    r"|\bexports\.(?P<export>[A-Za-z_$][\w$]*)\s*="
    r"|^[ \t]*(?:(?:async|static|get|set)\s+)*(?!(?:if|for|while|switch|catch|function)\b)"
    r"(?P<method>[A-Za-z_$][\w$]*)\s*\([^()]*\)\s*\{",
    re.M,
)
_BEGINNINGS = {
    Language.JAVASCRIPT: _SCRIPT,
    Language.TYPESCRIPT: _SCRIPT,
    Language.GO: re.compile(r"^(?:func\s+(?:\([^)]*\)\s*)?|type\s+)(?P<name>\w+)", re.M),
    Language.RUST: re.compile(r"\b(?:fn|struct|enum|trait|const|static)\s+(?P<name>\w+)"),
    Language.JAVA: re.compile(
        r"\b(?:class|interface|enum|record)\s+(?P<kind>\w+)"
        r"|^\s*(?:(?:public|private|protected|static|final)\s+)*[\w<>\[\], ?]+\s+"
        r"(?P<name>\w+)\s*\([^;{}]*\)[^;{}]*\{",
        re.M,
    ),
}

Contents = Mapping[str, bytes | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedTests:
    """What became of the tests of a change, by the file and the name that they had."""

    #: Files that have moved, and where to.
    moved: dict[str, str] = field(default_factory=dict)
    #: Tests with another file or name.
    renamed: dict[tuple[str, str], tuple[str, str]] = field(default_factory=dict)
    #: Tests that are gone together with what they test.
    dropped: frozenset[tuple[str, str]] = frozenset()

    def now(self, case: str) -> str | None:
        """Return what a case of before is called now; None for one that may be gone."""
        file, bar, test = case.partition("::")
        known = {*self.moved, *(one for one, _ in (*self.renamed, *self.dropped))}
        before = next((one for one in known if bar and is_one_of(one, (file,))), None)
        if before is None:
            return case
        prefix = before.removesuffix(file)
        # Its own name says more than that of the class it is in.
        for old_file, old in sorted(self.renamed, key=lambda one: -len(one[1])):
            if old_file == before and (place := _find(old, test)) is not None:
                new_file, new = self.renamed[old_file, old]
                renamed = f"{test[:place]}{new}{test[place + len(old) :]}"
                return f"{new_file.removeprefix(prefix)}::{renamed}"
        if any(one == before and _find(name, test) is not None for one, name in self.dropped):
            return None
        return f"{self.moved.get(before, before).removeprefix(prefix)}::{test}"


def changed_tests(before: Contents, now: Contents) -> ChangedTests:
    """Compare the tests of a change with those before it, by the contents of the changed files."""
    moved = moved_files(before, now)
    old = {file: _definitions(file, content) for file, content in before.items()}
    new = {file: _definitions(file, content) for file, content in now.items()}
    gone = {
        (file, name): body
        for file, known in old.items()
        if is_test(file)
        for name, body in known.items()
        if name not in new.get(moved.get(file, file), {})
    }
    came = {
        (file, name): body
        for file, known in new.items()
        if is_test(file)
        for name, body in known.items()
        if name not in old.get(_origin(file, moved), {})
    }
    renamed: dict[tuple[str, str], tuple[str, str]] = {}
    for place, body in gone.items():
        alike = {other: _likeness(place, body, other, text) for other, text in came.items()}
        best = max(alike, key=lambda other: alike[other], default=None)
        if best is not None and alike[best] >= _ALIKE_TEST:
            renamed[place] = best
            del came[best]
    removed = _removed_names(old, new, now)
    left = {place: body for place, body in gone.items() if place not in renamed}
    return ChangedTests(moved=moved, renamed=renamed, dropped=_using(left, removed))


def moved_files(before: Contents, now: Contents) -> dict[str, str]:
    """Return the test files that a change has moved, and where to: to a new one much like it."""
    gone = [file for file in before if is_test(file) and now[file] is None]
    new = [file for file in before if is_test(file) and before[file] is None]
    moved: dict[str, str] = {}
    for file in gone:
        alike = {other: _ratio(_lines(before[file]), _lines(now[other])) for other in new}
        best = max(alike, key=lambda other: alike[other], default=None)
        if best is not None and alike[best] >= _ALIKE:
            moved[file] = best
            new.remove(best)
    return moved


def _origin(file: str, moved: Mapping[str, str]) -> str:
    return next((old for old, new in moved.items() if new == file), file)


def _find(name: str, test: str) -> int | None:
    """Return where a test's own name is in the name that a runner gives it."""
    base = re.escape(name)
    # Parameters, or a test within, may follow; classes, modules or titles come before.
    found = re.search(rf"(?:^|::|[./ >$]){base}(?=$|\[|/|\(|::)", test)
    return found.end() - len(name) if found else None


def _likeness(place: tuple[str, str], body: str, other: tuple[str, str], text: str) -> float:
    same_name = place[1].rpartition("::")[2] == other[1].rpartition("::")[2]
    # Of several that are equally alike, the one of the same name, and then of the same file.
    hint = 0.02 * same_name + 0.01 * (place[0] == other[0])
    return _ratio(_TOKEN.findall(body), _TOKEN.findall(text)) + hint


def _ratio(one: list[str], other: list[str]) -> float:
    return difflib.SequenceMatcher(None, one, other, autojunk=False).ratio()


def _lines(content: bytes | None) -> list[str]:
    return (content or b"").decode(errors="replace").splitlines()


# -- what a change removes ----------------------------------------------------------------------


def _removed_names(
    old: Mapping[str, Mapping[str, str]], new: Mapping[str, Mapping[str, str]], now: Contents
) -> set[str]:
    """Return the names that sources defined before, and that none of them holds any more."""
    before = {_last(name) for file, known in old.items() if is_source(file) for name in known}
    after = {_last(name) for file, known in new.items() if is_source(file) for name in known}
    left = "\n".join(
        (content or b"").decode(errors="replace")
        for file, content in now.items()
        if is_source(file)
    )
    return {name for name in before - after if not _mentions(left, {name})}


def _using(gone: Mapping[tuple[str, str], str], removed: set[str]) -> frozenset[tuple[str, str]]:
    """Return what is gone and used a removed name, by itself or through what is gone as well."""
    removed, found = set(removed), set[tuple[str, str]]()
    while more := {
        place for place, body in gone.items() if place not in found and _mentions(body, removed)
    }:
        found |= more
        removed |= {_last(name) for _, name in more}
    return frozenset(found)


def _mentions(text: str, names: set[str]) -> bool:
    return any(word in names for word in re.findall(r"[A-Za-z_$][\w$]*", text))


def _last(name: str) -> str:
    return name.rpartition("::")[2]


# -- definitions --------------------------------------------------------------------------------


def _definitions(file: str, content: bytes | None) -> dict[str, str]:
    """Return the definitions of a file, by their names, with their texts but for the name."""
    text = (content or b"").decode(errors="replace")
    language = language_of(file)
    if language is Language.PYTHON:
        try:
            return dict(_python(ast.parse(text), ()))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return {}
    if language not in _BEGINNINGS:
        return {}
    return dict(_with_braces(text, _BEGINNINGS[language]))


def _python(scope: ast.AST, outer: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for node in ast.iter_child_nodes(scope):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                parts = (*node.decorator_list, node.args, *node.body)
                yield "::".join((*outer, node.name)), "\n".join(map(ast.unparse, parts))
            case ast.ClassDef():
                yield "::".join((*outer, node.name)), ast.unparse(node)
                yield from _python(node, (*outer, node.name))
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                yield "::".join((*outer, name)), ast.unparse(node)
            case ast.stmt() | ast.ExceptHandler():
                yield from _python(node, outer)


def _with_braces(text: str, beginning: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    """Yield each definition up to the next one: near enough to recognise it."""
    starts = list(beginning.finditer(text))
    for number, start in enumerate(starts):
        end = starts[number + 1].start() if number + 1 < len(starts) else len(text)
        found = start.groupdict()
        found.pop("quote", None)
        name = next((one for one in found.values() if one), "")
        body = (line.strip() for line in text[start.end() : end].splitlines())
        yield name, "\n".join(line for line in body if line)
