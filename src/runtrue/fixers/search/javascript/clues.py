"""Clues: what the source of the failing tests says about the code that they call."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from tree_sitter import Node

from runtrue.fixers.search.evidence import Failure
from runtrue.fixers.search.javascript.scope import Scope
from runtrue.fixers.search.javascript.site import Clues
from runtrue.fixers.search.javascript.syntax_tree import JavascriptProgram, walk
from runtrue.fixers.search.localise import Suspicion

#: Longer strings of tests are no names, and more of them help nobody.
_LONGEST, _MOST = 40, 30
#: The worth of lines in functions that the failing test names, in others, and outside of any.
_NAMED, _OTHER, _OUTSIDE = 0.9, 0.4, 0.15
_WORD = re.compile(r"[A-Za-z_$][\w$]*")


def clues_of(targets: Sequence[str], sources: Iterable[str], failures: Sequence[Failure]) -> Clues:
    """Return the strings, numbers and words of the failing tests."""
    titles = [test.partition("::")[2] for test in targets]
    strings: dict[str, None] = {}
    numbers: dict[str, None] = {}
    words: set[str] = set()
    for text in sources:
        program = JavascriptProgram("tests.ts", text)
        for node in _bodies(program, titles):
            for one in walk(node):
                if one.type == "string":
                    strings.setdefault(program.source(one)[1:-1])
                elif one.type == "number":
                    numbers.setdefault(program.source(one))
            words |= set(_WORD.findall(program.source(node)))
    short = [one for one in strings if 0 < len(one) < _LONGEST]
    return Clues(
        failures=tuple(failures),
        strings=tuple(short[:_MOST]),
        numbers=tuple([*numbers][:_MOST]),
        words=frozenset(words),
    )


def _bodies(program: JavascriptProgram, titles: Sequence[str]) -> Iterator[Node]:
    """Yield the calls that define the tests of these titles; all of the file if none does."""
    found = []
    for node in program.nodes:
        if node.type != "call_expression":
            continue
        given = node.child_by_field_name("arguments")
        first = given.named_children[0] if given is not None and given.named_children else None
        if first is None or first.type not in ("string", "template_string"):
            continue
        title = program.source(first)[1:-1]
        given_more = first.next_named_sibling is not None
        if title and any(one.endswith(title) for one in titles) and given_more:
            found.append(node)
    yield from found or [program.root]


def suspicion_by_name(texts: Mapping[str, str], clues: Clues, known: Suspicion) -> Suspicion:
    """Return how suspect lines are where nothing was counted: by what the failing tests name."""
    lines: dict[str, dict[int, float]] = {}
    for rank, (file, text) in enumerate(texts.items()):
        program = JavascriptProgram(file, text)
        own = dict.fromkeys(range(1, text.count("\n") + 2), _OUTSIDE)
        for info in Scope(program).functions:
            worth = _NAMED if info.name in clues.words else _OTHER
            first, last = info.node.start_point.row + 1, info.node.end_point.row + 1
            for line in range(first, last + 1):
                own[line] = max(own[line], worth)
        for line, worth in known.lines.get(file, {}).items():
            own[line] = max(own.get(line, 0.0), worth)
        lines[file] = {line: worth * 0.8**rank for line, worth in own.items()}
    return Suspicion(lines=lines)
