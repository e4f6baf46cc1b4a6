"""Style: write a remembered line as the file at hand is written: its blanks, quotes, indentation.

Tokens that a new line shares with a replaced one are spaced as they are in the file. Operators and
commas that are new are spaced as those of the replaced lines are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from runtrue.memory.tokens import CodeLine, CodeToken, CodeTokenType, read_line

_OPERATORS = frozenset("+-*/%&|^")
_PLAIN_STRING = re.compile(r"""(["'])([^"'\\]*)\1""")
_VALUES = (CodeTokenType.WORD, CodeTokenType.NUMBER, CodeTokenType.STRING)


@dataclass(frozen=True, slots=True)
class FileStyle:
    """How a file is written: the quotation mark of all its strings, and its indentation."""

    quote: str | None = None
    #: Two blanks are a level of indentation.
    is_narrow: bool = False


#: A line of a template, and the line of the file that it fits.
LinePair = tuple[CodeLine, CodeLine]


def style_of(lines: Iterable[str]) -> FileStyle:
    """Return the style of a file, as far as it has one."""
    read = [read_line(line) for line in lines if line.strip()]
    strings = [t.text for line in read for t in line.tokens if t.kind is CodeTokenType.STRING]
    quotes = {text[0] for text in strings}
    quote = quotes.pop() if len(quotes) == 1 and quotes <= {"'", '"'} else None
    widths = {len(line.indent) for line in read if set(line.indent) == {" "}}
    is_narrow = any(width % 4 for width in widths) and not any(width % 2 for width in widths)
    return FileStyle(quote, is_narrow)


def same_string(one: str, other: str) -> bool:
    """Return whether two strings of code differ in nothing but their quotation marks."""
    mine, its = _PLAIN_STRING.fullmatch(one), _PLAIN_STRING.fullmatch(other)
    return bool(mine and its and mine[2] == its[2])


def rendered_tokens(
    line: CodeLine, pairs: Sequence[LinePair], bindings: Mapping[str, str], style: FileStyle
) -> str:
    """Return the tokens of a new line of a template as the file would have them."""
    tokens = [
        CodeToken(token.kind, bindings.get(token.text, token.text), token.space)
        for token in line.tokens
    ]
    shared = _shared(line, pairs)
    around, after_comma = _other_blank(pairs, _is_binary), _other_blank(pairs, _is_after_comma)
    for at, token in enumerate(line.tokens):
        one = shared.get(at)
        if one is not None:
            # Behind another token than before, another blank may be needed.
            is_respaced = one.follows and one.mine.space != one.its.space
            space = one.its.space if is_respaced else token.space
            text = one.its.text if token.kind is CodeTokenType.STRING else tokens[at].text
            tokens[at] = CodeToken(token.kind, text, space)
        elif token.text not in bindings:
            tokens[at] = CodeToken(token.kind, _quoted(token.text, style), token.space)
        if one is not None and one.follows:
            continue
        if around is not None and (_is_binary(tokens, at) or _is_binary(tokens, at - 1)):
            tokens[at] = CodeToken(tokens[at].kind, tokens[at].text, around)
        elif after_comma is not None and _is_after_comma(tokens, at):
            tokens[at] = CodeToken(tokens[at].kind, tokens[at].text, after_comma)
    return _joined(tokens)


def _joined(tokens: Sequence[CodeToken]) -> str:
    """Return tokens as text; two words never become one."""
    text = ""
    for token in tokens:
        is_glued = text and token.text and not token.space and _is_word(text[-1], token.text[0])
        text += f"{' ' if is_glued else token.space}{token.text}"
    return text


def _is_word(*characters: str) -> bool:
    return all(one.isalnum() or one in "_$" for one in characters)


def deeper(indent: str, extra: str, style: FileStyle) -> str:
    """Return a line's indentation and further levels, of four blanks each, as the file has them."""
    if set(extra) != {" "} or len(extra) % 4:
        return indent + extra
    if indent and set(indent) == {"\t"}:
        return indent + "\t" * (len(extra) // 4)
    return indent + (" " * (len(extra) // 2) if style.is_narrow else extra)


@dataclass(frozen=True, slots=True)
class _SharedToken:
    """A token of a replaced line that is also in the new one: the template's, and the file's."""

    mine: CodeToken
    its: CodeToken
    #: The token before it is the same in both lines.
    follows: bool


def _shared(line: CodeLine, pairs: Sequence[LinePair]) -> dict[int, _SharedToken]:
    """Return what a line shares with the replaced line most like it, by the tokens' numbers."""
    wanted = [token.text for token in line.tokens]
    best: float = 0.0
    found: dict[int, _SharedToken] = {}
    for mine, its in pairs:
        matcher = SequenceMatcher(None, [t.text for t in mine.tokens], wanted, autojunk=False)
        if matcher.ratio() > best:
            best = matcher.ratio()
            found = {
                block.b + n: _SharedToken(
                    mine.tokens[block.a + n], its.tokens[block.a + n], follows=n > 0
                )
                for block in matcher.get_matching_blocks()
                for n in range(block.size)
            }
    return found


def _other_blank(
    pairs: Sequence[LinePair], is_one: Callable[[Sequence[CodeToken], int], bool]
) -> str | None:
    """Return what the file's lines have before some tokens, if it is not what the template has."""
    seen = [
        (mine.tokens[at].space, its.tokens[at].space)
        for mine, its in pairs
        for at in range(len(its.tokens))
        if is_one(its.tokens, at)
    ]
    own = {its for _, its in seen}
    return own.pop() if len(own) == 1 and any(mine != its for mine, its in seen) else None


def _is_after_comma(tokens: Sequence[CodeToken], at: int) -> bool:
    return at > 0 and tokens[at - 1].text == ","


def _is_binary(tokens: Sequence[CodeToken], at: int) -> bool:
    """Return whether a token is an operator of one sign between two values."""
    if not 0 < at < len(tokens) - 1 or tokens[at].text not in _OPERATORS:
        return False
    before, after = tokens[at - 1], tokens[at + 1]
    is_value = before.kind in _VALUES or before.text in (")", "]")
    return is_value and (after.kind in _VALUES or after.text == "(")


def _quoted(text: str, style: FileStyle) -> str:
    match = _PLAIN_STRING.fullmatch(text)
    return f"{style.quote}{match[2]}{style.quote}" if match and style.quote else text
