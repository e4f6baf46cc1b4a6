"""Damage: a text that does not parse, where Python stumbles over it, and edits that may fix it."""

from __future__ import annotations

import ast
import re
import warnings
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from runtrue.fixers.search.edit import Splice, parsed
from runtrue.fixers.search.messages import Sign
from runtrue.fixers.search.program import BUILTINS
from runtrue.fixers.search.syntax.tokens import CLOSING, HEADERS, OPENING, Lexeme, tokens


def parses(text: str) -> SyntaxError | None:
    """Return why a text is not a Python program; None if it is one."""
    return judged(text)[0]


def judged(text: str) -> tuple[SyntaxError | None, ast.Module | None]:
    """Return why a text is not a Python program, and its tree, if there is one even so."""
    tree = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # odd escapes and the like are no reason
        try:
            tree = parsed(text)
            compile(tree, "<text>", "exec", dont_inherit=True)
        except SyntaxError as error:
            return error, tree
        except (ValueError, RecursionError, MemoryError, OverflowError) as error:
            return SyntaxError(str(error), ("<text>", 1, 1, "")), tree
    return None, tree


@dataclass(frozen=True, slots=True)
class Patch:
    """One proposed change of a damaged text: what it costs to believe in it, from about 0.5 up."""

    splices: tuple[Splice, ...]
    cost: float
    kind: str
    says: str


#: Proposes steps for a damaged text. Whether they help is found out by parsing.
Rule = Callable[["Damage"], Iterator[Patch]]


class Damage:
    """A text that does not parse. Lines count from 1, positions are characters of the text."""

    def __init__(self, text: str, error: SyntaxError, *, has_tree: bool = False) -> None:
        self.text = text
        self._has_tree = has_tree
        self.message = error.msg or ""
        self.lines = text.split("\n")
        self._starts = [0]
        for line in self.lines:
            self._starts.append(self._starts[-1] + len(line) + 1)
        self.line = max(1, min(error.lineno or 1, len(self.lines)))
        while self.line > 1 and self.message and not self.lines[self.line - 1].strip():
            self.line -= 1  # the end of the file: what is wrong stands before it
        column = (error.offset or 1) - 1 if self.line == error.lineno else 10**6
        self.at = self.start(self.line) + max(0, min(column, len(self.lines[self.line - 1])))
        #: Where what Python points at ends.
        self.until = self.at
        if error.end_lineno and error.end_offset and error.end_lineno <= len(self.lines):
            self.until = max(self.at, self.start(error.end_lineno) + error.end_offset - 1)

    def says(self, sign: Sign) -> bool:
        """True if Python's message says something."""
        return sign.is_in(self.message)

    # -- how far Python came --------------------------------------------------------------------

    @cached_property
    def phase(self) -> int:
        """Stage that the check reached: 0 strings, 1 brackets, 2 grammar, 3 scopes."""
        if self._has_tree:
            return 3
        if self.says(Sign.UNFINISHED):
            return 0
        return 1 if self.says(Sign.BRACKETS) else 2

    @property
    def left(self) -> int:
        """Length of the text that was not reached."""
        return len(self.text) - self.at

    # -- lines ----------------------------------------------------------------------------------

    def start(self, line: int) -> int:
        """Return where a line starts."""
        return self._starts[line - 1]

    def end(self, line: int) -> int:
        """Return where a line ends, without its line break."""
        return self._starts[line - 1] + len(self.lines[line - 1])

    def line_of(self, position: int) -> int:
        """The line of a position."""
        return min(bisect_right(self._starts, position), len(self.lines))

    def content(self, line: int) -> str:
        """A line without white space around it."""
        return self.lines[line - 1].strip()

    def width(self, line: int) -> int:
        """Return how far a line is indented, in characters."""
        content = self.lines[line - 1]
        return len(content) - len(content.lstrip())

    @cached_property
    def unit(self) -> str:
        """One level of indentation."""
        seen: Counter[str] = Counter()
        outer: int | None = None
        for line in self.statements:
            if outer is not None and self.width(line) > outer:
                seen[self.lines[line - 1][outer : self.width(line)]] += 1
            outer = self.width(line) if self.heads(line) else None
        common = [unit for unit, _ in seen.most_common(1) if unit in ("\t", "  ", "   ", "    ")]
        return common[0] if common else "    "

    def heads(self, line: int) -> bool:
        """True if a line looks like the head of a block, by how it begins and ends."""
        code = [token for token in self.on(line) if token.kind != "comment"]
        return bool(code) and (
            code[-1].text == ":" or (code[0].text in HEADERS and ":" in self.lines[line - 1])
        )

    @cached_property
    def statements(self) -> list[int]:
        """The lines on which statements begin: not blank, not only comments, not continued."""
        found = []
        for line, content in enumerate(self.lines, 1):
            stripped = content.lstrip()
            if stripped and not stripped.startswith("#") and line not in self._inside:
                found.append(line)
        return found

    @cached_property
    def _inside(self) -> set[int]:
        """Lines that begin within a string or brackets that were opened before."""
        inside: set[int] = set()
        stack: list[Lexeme] = []
        for token in self.tokens:
            if token.kind == "string" and "\n" in token.text:
                inside.update(range(self.line_of(token.start) + 1, self.line_of(token.end) + 1))
            elif token.text in OPENING:
                stack.append(token)
            elif token.text in CLOSING and stack and stack[-1].text == CLOSING[token.text]:
                opener = stack.pop()
                inside.update(range(self.line_of(opener.start) + 1, self.line_of(token.start) + 1))
        return inside

    @cached_property
    def texts(self) -> set[int]:
        """Lines that begin within a string: their white space is part of it."""
        return {
            line
            for token in self.tokens
            if token.kind == "string" and "\n" in token.text
            for line in range(self.line_of(token.start) + 1, self.line_of(token.end) + 1)
        }

    def before(self, line: int) -> int | None:
        """The statement line before a line."""
        index = bisect_right(self.statements, line - 1)
        return self.statements[index - 1] if index else None

    def after(self, line: int) -> int | None:
        """The statement line after a line."""
        index = bisect_right(self.statements, line)
        return self.statements[index] if index < len(self.statements) else None

    # -- tokens ---------------------------------------------------------------------------------

    @cached_property
    def tokens(self) -> list[Lexeme]:
        """The pieces of the whole text."""
        return tokens(self.text)

    @cached_property
    def _token_starts(self) -> list[int]:
        return [token.start for token in self.tokens]

    def on(self, line: int) -> list[Lexeme]:
        """The pieces that begin on a line, without its end."""
        first = bisect_right(self._token_starts, self.start(line) - 1)
        last = bisect_right(self._token_starts, self.end(line))
        return [token for token in self.tokens[first:last] if token.kind != "newline"]

    @cached_property
    def near(self) -> int:
        """The index of the token that Python stumbles over."""
        return min(bisect_right(self._token_starts, self.at), len(self.tokens)) - 1

    @cached_property
    def names(self) -> set[str]:
        """All words of the text that are not in strings or comments, and Python's own names."""
        used = {token.text for token in self.tokens if token.kind == "name"}
        return used | BUILTINS

    @cached_property
    def region(self) -> tuple[int, int]:
        """The first and the last line of the function around the error, roughly."""
        first = self.line
        while first > 1 and not re.match(r"\s*(async\s+def|def|class)\b", self.lines[first - 1]):
            first -= 1
        last = min(self.line + 25, len(self.lines))
        return max(first, self.line - 60), last

    # -- steps ----------------------------------------------------------------------------------

    def put(self, kind: str, position: int, text: str, cost: float) -> Patch:
        """A step that inserts something."""
        says = f"`{text.strip() or text}` put in"
        return Patch((Splice(position, position, text),), cost, kind, says)

    def swap(self, kind: str, start: int, end: int, text: str, cost: float) -> Patch:
        """A step that writes something else in the place of something."""
        old = " ".join(self.text[start:end].split())
        says = f"`{old[:60]}` → `{text.strip()[:60]}`" if text.strip() else f"`{old[:60]}` dropped"
        return Patch((Splice(start, end, text),), cost, kind, says)
