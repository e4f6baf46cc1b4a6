"""Shell text: references in a command become variables, so that no value can become syntax.

What has to be written for a variable depends on the quotes around it, so the command is read the
way a shell reads it: POSIX syntax, and of bash's what matters where `/bin/sh` is bash.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Generic, TypeVar

Ref = TypeVar("Ref", bound=Hashable)

PREFIX = "RUNTRUE_VALUE_"

#: Stands for a reference while the command is read. No command can hold this character itself.
_MARK = "\0"
#: Words after which another command begins.
_LEADING = frozenset({"if", "then", "else", "elif", "while", "until", "do", "!", "{"})

_WORD = re.compile(r"""[^\s;&|()<>\\'"$`\0]+(?=[\s;&|()<>]|\Z)""")
_HERE = re.compile(r"""<<(-?)[ \t]*((?:'[^']*'|"[^"]*"|\\.|[^\s;&|()<>'"\\])+)""")
_NAME = re.compile(r"\$\{[#!]?(?:\w+|[-@*#?$!])", re.ASCII)
_DEFAULT = re.compile(r":?[-=?+]")
_BACKQUOTED = re.compile(r"`((?:[^`\\]|\\.)*)`", re.DOTALL)
_TEST = re.compile(r"\[\[\s.*?\s\]\]", re.DOTALL)
_COMPARES = re.compile(r"\s-(?:eq|ne|lt|le|gt|ge)\s")


@dataclass(frozen=True, slots=True)
class CommandText(Generic[Ref]):
    """A command with variables instead of references.

    `names` holds the variable of each reference. `numbers` are those that the shell computes with:
    arithmetic runs commands within text, so they may only be numbers. `problems` are references
    that no variable can replace where they are, and why.
    """

    text: str
    names: dict[Ref, str]
    numbers: frozenset[Ref]
    problems: tuple[tuple[Ref, str], ...]


def with_variables(parts: Sequence[str | Ref]) -> CommandText[Ref]:
    """Write variables for the references of a command, which is given as text and references."""
    if any(isinstance(part, str) and _MARK in part for part in parts):
        raise ValueError("a command cannot hold a NUL character")
    text = "".join(part if isinstance(part, str) else _MARK for part in parts)
    references = [part for part in parts if not isinstance(part, str)]
    found = _References(iter(references), numbers=_compared(text, references))
    written = _ShellReader(text, _In.COMMAND, found).read()
    return CommandText(written, found.names, frozenset(found.numbers), tuple(found.problems))


def _compared(text: str, references: Sequence[Ref]) -> set[Ref]:
    """Return the references that `[[ … ]]` compares as numbers, and so computes."""
    numbers: set[Ref] = set()
    for test in _TEST.finditer(text):
        at = text.count(_MARK, 0, test.start())
        for piece in re.split(r"&&|\|\|", test[0]):
            count = piece.count(_MARK)
            if _COMPARES.search(piece):
                numbers.update(references[at : at + count])
            at += count
    return numbers


@dataclass(slots=True)
class _References(Generic[Ref]):
    """The references of a command; those that are `left` come in the order of the text."""

    left: Iterator[Ref]
    numbers: set[Ref]
    names: dict[Ref, str] = field(default_factory=dict)
    problems: list[tuple[Ref, str]] = field(default_factory=list)


class _In(Enum):
    """The part of the syntax that a character belongs to."""

    COMMAND = auto()
    SINGLE = auto()
    #: `$'…'`, where backslashes count.
    ANSI = auto()
    DOUBLE = auto()
    #: The body of a here-document whose delimiter is not quoted.
    HERE = auto()
    ARITHMETIC = auto()
    #: Behind the name in `${name…}`, where the operator comes.
    BRACE = auto()
    #: Behind the operator, where quotes are as in a command.
    WORD = auto()
    #: Behind the operator, where single quotes are plain characters.
    QUOTED_WORD = auto()


#: Where a value stays whole without quotes of its own.
_QUOTED = frozenset({_In.DOUBLE, _In.HERE, _In.ARITHMETIC, _In.QUOTED_WORD})


@dataclass(slots=True)
class _Frame:
    """One level of the syntax, which `end` closes."""

    state: _In
    end: str = ""
    #: What is open within it: `(`, `[`, `case`.
    openers: list[str] = field(default_factory=list)
    #: Of a command: whether a word begins here, and whether that may be a command's name.
    fresh: bool = True
    leading: bool = True


@dataclass(frozen=True, slots=True)
class _Here:
    """A here-document whose body is still to come."""

    delimiter: str
    quoted: bool
    strips_tabs: bool


class _ShellReader(Generic[Ref]):
    """Reads a text from beginning to end and writes it again, with its references replaced."""

    def __init__(self, text: str, state: _In, found: _References[Ref]) -> None:
        self._text = text
        self._at = 0
        self._frames = [_Frame(state)]
        self._found = found
        self._written: list[str] = []
        self._heres: list[_Here] = []

    def read(self) -> str:
        while self._at < len(self._text):
            frame = self._frames[-1]
            if frame.state is _In.COMMAND:
                self._in_command(frame)
            elif frame.state is _In.BRACE:
                self._in_brace(frame)
            else:
                self._in_quotes(frame)
        return "".join(self._written)

    # -- states --------------------------------------------------------------------

    def _in_command(self, frame: _Frame) -> None:
        char = self._text[self._at]
        if char in " \t":
            self._copy(1)
            frame.fresh = True
        elif char in "\n;&|":
            self._copy(1)
            frame.fresh = frame.leading = True
            if char == "\n":
                self._bodies()
        elif self._text.startswith("((", self._at):
            self._open(_In.ARITHMETIC, 2, "))")
        elif char == "(":
            self._copy(1)
            frame.openers.append("(")
            frame.fresh = frame.leading = True
        elif char == ")":
            self._close_parenthesis(frame)
        elif char in "<>":
            self._redirection()
            frame.fresh = True
        elif char == "#" and frame.fresh:
            self._comment()
        elif self._text.startswith("\\\n", self._at):
            self._copy(2)
        else:
            if frame.fresh:
                self._begin_word(frame)
            self._in_quotes(frame)

    def _in_quotes(self, frame: _Frame) -> None:
        """Read on where only quotes, expansions and the end of the frame mean something."""
        char, state = self._text[self._at], frame.state
        if frame.end and not frame.openers and self._text.startswith(frame.end, self._at):
            self._copy(len(frame.end))
            self._frames.pop()
        elif char == _MARK:
            self._reference(state)
        elif state is _In.SINGLE:
            self._copy(1)
        elif char == "\\":
            self._escape()
        elif state is _In.ANSI:
            self._copy(1)
        elif char in "$`":
            self._expansion(state)
        elif char == '"' and state not in {_In.DOUBLE, _In.HERE}:
            self._open(_In.DOUBLE, 1, '"')
        elif char == "'" and state in {_In.COMMAND, _In.WORD, _In.ARITHMETIC}:
            self._open(_In.SINGLE, 1, "'")
        else:
            if state is _In.ARITHMETIC:
                _count(frame, char)
            self._copy(1)

    def _in_brace(self, frame: _Frame) -> None:
        """Read the operator of `${name…}`, which decides what the rest of it is."""
        default = _DEFAULT.match(self._text, self._at)
        char = self._text[self._at]
        if char == _MARK:
            self._refuse("it would name a shell variable; write the name itself")
        elif char == "}":
            self._copy(1)
            self._frames.pop()
        elif char == "[":
            self._open(_In.ARITHMETIC, 1, "]")
        elif default is not None:
            quoted = self._frames[-2].state in _QUOTED
            frame.state = _In.QUOTED_WORD if quoted else _In.WORD
            self._copy(len(default[0]))
        elif char == ":":
            frame.state = _In.ARITHMETIC
            self._copy(1)
        else:
            frame.state = _In.WORD
            self._copy(1)

    # -- commands ---------------------------------------------------------------------------

    def _begin_word(self, frame: _Frame) -> None:
        match = _WORD.match(self._text, self._at)
        word = match[0] if match and frame.leading else ""
        if word == "case":
            frame.openers.append("case")
        elif word == "esac" and frame.openers[-1:] == ["case"]:
            frame.openers.pop()
        frame.fresh = False
        frame.leading = word in _LEADING

    def _close_parenthesis(self, frame: _Frame) -> None:
        self._copy(1)
        frame.fresh = frame.leading = True
        if frame.openers[-1:] == ["("]:
            frame.openers.pop()
        # Behind a pattern of `case` there is one that closes nothing.
        elif not frame.openers and frame.end == ")":
            self._frames.pop()

    def _comment(self) -> None:
        end = self._text.find("\n", self._at)
        comment = self._text[self._at : end if end >= 0 else len(self._text)]
        for _ in range(comment.count(_MARK)):
            next(self._found.left)
        self._at += len(comment)
        self._written.append(comment.replace(_MARK, ""))

    def _redirection(self) -> None:
        here = _HERE.match(self._text, self._at)
        if self._text.startswith("<<<", self._at):
            self._copy(3)
        elif here is None:
            self._copy(1)
        else:
            word = here[2]
            self._at = here.end()
            self._written.append(here[0].replace(_MARK, ""))
            for _ in range(word.count(_MARK)):
                self._take("it would be the delimiter of a here-document; write that itself")
            delimiter = re.sub(r"\\(.)|['\"]", r"\1", word)
            self._heres.append(_Here(delimiter, delimiter != word, bool(here[1])))

    def _bodies(self) -> None:
        heres, self._heres = self._heres, []
        for here in heres:
            start, end = self._at, self._end_of(here)
            body = self._text[start:end]
            self._at = end
            if here.quoted:
                self._written.append(body.replace(_MARK, ""))
                for _ in range(body.count(_MARK)):
                    self._take(
                        "nothing is filled in where the delimiter of a here-document is quoted; "
                        "use stdin, or leave the delimiter unquoted"
                    )
            else:
                self._written.append(_ShellReader(body, _In.HERE, self._found).read())
            line_end = self._text.find("\n", end)
            self._copy((line_end if line_end >= 0 else len(self._text)) - end)

    def _end_of(self, here: _Here) -> int:
        """Return where the line with the delimiter begins."""
        at, continued = self._at, False
        for line in self._text[at:].split("\n"):
            bare = line.lstrip("\t") if here.strips_tabs else line
            if bare == here.delimiter and not continued:
                return at
            backslashes = len(line) - len(line.rstrip("\\"))
            continued = not here.quoted and backslashes % 2 == 1
            at += len(line) + 1
        return len(self._text)

    # -- expansions -------------------------------------------------------------------------

    def _expansion(self, state: _In) -> None:
        text, at = self._text, self._at
        if text[at] == "`":
            self._backquoted(state)
        elif text.startswith("$((", at):
            self._open(_In.ARITHMETIC, 3, "))")
        elif text.startswith("$(", at):
            self._open(_In.COMMAND, 2, ")")
        elif text.startswith("$[", at):
            self._open(_In.ARITHMETIC, 2, "]")
        elif text.startswith("${", at):
            name = _NAME.match(text, at)
            self._open(_In.BRACE, len(name[0]) if name else 2, "}")
        elif text.startswith("$'", at) and state in {_In.COMMAND, _In.WORD}:
            self._open(_In.ANSI, 2, "'")
        elif text.startswith(f"${_MARK}", at):
            self._copy(1)
            self._refuse("there is a $ right before it; remove it, or write \\$ for it")
        else:
            self._copy(2 if text.startswith("$$", at) else 1)

    def _backquoted(self, state: _In) -> None:
        """Write `…` with a reference in it as $(…), where no backslash is lost."""
        match = _BACKQUOTED.match(self._text, self._at)
        if match is None or _MARK not in match[0]:
            self._copy(len(match[0]) if match else 1)
            return
        quoted = state in {_In.DOUBLE, _In.QUOTED_WORD}
        escaped = r'\\([$`\\"])' if quoted else r"\\([$`\\])"
        inner = re.sub(escaped, r"\1", match[1])
        # The line end is for a comment that the backquote would have ended.
        self._written.append(f"$( {_ShellReader(inner, _In.COMMAND, self._found).read()}\n)")
        self._at = match.end()

    def _escape(self) -> None:
        if self._text.startswith(f"\\{_MARK}", self._at):
            self._copy(1)
            self._refuse("there is a backslash right before it; remove it, or write $${ for ${")
        else:
            self._copy(2)

    # -- references -------------------------------------------------------------------------

    def _reference(self, state: _In) -> None:
        if state is _In.ANSI:
            self._refuse("nothing is filled in within $'…'; use double quotes")
            return
        reference = next(self._found.left)
        names = self._found.names
        name = names.setdefault(reference, f"{PREFIX}{len(names) + 1}")
        if self._computes():
            self._found.numbers.add(reference)
        if state is _In.SINGLE:
            self._written.append(f"""'"${name}"'""")
        elif state in _QUOTED:
            self._written.append(f"${{{name}}}")
        else:
            self._written.append(f'"${name}"')
        self._at += 1

    def _computes(self) -> bool:
        for frame in reversed(self._frames):
            if frame.state is _In.COMMAND:
                break
            if frame.state is _In.ARITHMETIC:
                return True
        return False

    def _refuse(self, why: str) -> None:
        self._at += 1
        self._take(why)

    def _take(self, why: str) -> None:
        self._found.problems.append((next(self._found.left), why))

    # -- moving on --------------------------------------------------------------------------

    def _copy(self, count: int) -> None:
        self._written.append(self._text[self._at : self._at + count])
        self._at += count

    def _open(self, state: _In, count: int, end: str) -> None:
        self._copy(count)
        self._frames.append(_Frame(state, end))


def _count(frame: _Frame, char: str) -> None:
    """Keep track of the brackets in arithmetic, one of which could look like its end."""
    opener = {"))": "(", "]": "["}.get(frame.end)
    if char == opener:
        frame.openers.append(char)
    elif char == frame.end[0] and frame.openers:
        frame.openers.pop()
    elif char == ")" and frame.end == "))":
        # It was no arithmetic: `((` began a subshell within another one.
        frame.state, frame.end = _In.COMMAND, ")"
