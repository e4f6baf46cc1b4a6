"""Matches: where the before side of a template is found in a text, and the text it would give.

A match is found by the lines that are to be replaced, or, where there are none, by those around the
gap. The lines around also tell matches apart, and the values of the holes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

from runtrue.memory.patch import ChangedLines
from runtrue.memory.style import (
    FileStyle,
    LinePair,
    deeper,
    rendered_tokens,
    same_string,
    style_of,
)
from runtrue.memory.template import FileTemplate, FixTemplate
from runtrue.memory.tokens import CodeToken, CodeTokenType, read_line

#: A template that matches more often than this matches nowhere.
_MOST_MATCHES = 200
#: The number of lines that may be tried for the segments of one template.
_MOST_STEPS = 50_000
_STRUCTURE = frozenset("()[]{},;:.")

#: The value of each hole.
Bindings = Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateMatch:
    """The lines that a template fits, and the text that it makes of them.

    `exact` means that it fits with the very names it was made from. `weight` says how much of what
    fits is not a hole, in `tokens` tokens; `names` how many names are the same, wherever they
    occur; `likeness` how much of the surroundings is unchanged.
    """

    lines: tuple[tuple[int, int], ...]
    text: str
    exact: bool
    weight: int
    tokens: int
    names: int
    likeness: int
    bindings: dict[str, str]

    def covers(self, line: int) -> bool:
        """Return whether a line of the text, counted from 1, is among those of the match."""
        return any(
            begin < line <= end or (begin == end and line in (begin, begin + 1))
            for begin, end in self.lines
        )


def find_matches(
    template: FixTemplate, file: FileTemplate, text: str, bindings: Bindings | None = None
) -> list[TemplateMatch]:
    """Return every match in `text` of what the template does to `file`."""
    holes = frozenset(template.holes)
    before = _tokens(line for segment in file.segments for line in segment.before)
    if not all(token in text for token in before - holes if token[0] not in "\"'"):
        return []
    newline = "\r\n" if "\r\n" in text else "\n"
    raw = text.split("\n")
    lines = [line.removesuffix("\r") for line in raw] if newline == "\r\n" else raw
    search = _SegmentSearch(lines, holes)
    needed = holes & _tokens(line for segment in file.segments for line in segment.after)
    matches: list[TemplateMatch] = []
    for fits in search.all_of(file.segments, 0, dict(bindings or {})):
        made = _replaced(lines, file.segments, fits)
        match = _match(fits, newline.join(made or ()))
        # A name that is to be filled in, and that nothing here tells, can only be the old one.
        if made is not None and (match.exact or needed <= match.bindings.keys()):
            matches.append(match)
        if len(matches) > _MOST_MATCHES:
            break
    return matches if search.steps_left >= 0 else []


def _tokens(lines: Iterable[str]) -> set[str]:
    return {token.text for line in lines for token in read_line(line).tokens}


def unique_match(
    matches: Sequence[TemplateMatch], blamed: Collection[int] = ()
) -> TemplateMatch | None:
    """Return the match that is meant: exact before varied, blamed before others, the most alike."""
    matches = [match for match in matches if match.exact] or matches
    if len(matches) > _MOST_MATCHES:
        return None
    for some in ([match for match in matches if any(map(match.covers, blamed))], matches):
        most = max((match.likeness for match in some), default=0)
        best = [match for match in some if match.likeness == most]
        if len({match.text for match in best}) == 1:
            return best[0]
    return None


class _SegmentSearch:
    """Looks for segments in the lines of a text, for a limited number of steps."""

    def __init__(self, lines: list[str], holes: frozenset[str]) -> None:
        self._lines = lines
        self._holes = holes
        self._lengths = [_length(line) for line in lines]
        self.steps_left = _MOST_STEPS

    def all_of(
        self, segments: Sequence[ChangedLines], start: int, bindings: dict[str, str]
    ) -> Iterator[tuple[_Fit, ...]]:
        """Yield every way to fit all segments, one below the other, with holes that agree."""
        if not segments:
            yield ()
            return
        for fit in self._one(segments[0], start, bindings):
            for rest in self.all_of(segments[1:], fit.end, fit.bindings):
                yield (fit, *rest)

    def _one(self, segment: ChangedLines, start: int, bindings: dict[str, str]) -> Iterator[_Fit]:
        for begin in self._likely(segment, start):
            self.steps_left -= 1
            if self.steps_left < 0:
                return
            fit = _Fit(self._lines, self._holes, dict(bindings), begin, len(segment.before))
            if not all(fit.takes(line, begin + n) for n, line in enumerate(segment.before)):
                continue
            fit.compare_around(reversed(segment.above), range(begin - 1, -1, -1))
            fit.compare_around(segment.below, range(fit.end, len(self._lines)))
            if fit.is_anchored:
                yield fit

    def _likely(self, segment: ChangedLines, start: int) -> Iterator[int]:
        """Yield where a segment may begin, by nothing but the number of tokens on a line."""
        lengths = self._lengths
        begins = range(start, len(lengths) - len(segment.before) + 1)
        if segment.before:
            first = _length(segment.before[0])
            yield from (begin for begin in begins if lengths[begin] == first)
            return
        above = _length(segment.above[-1]) if segment.above else -1
        below = _length(segment.below[0]) if segment.below else -1
        for begin in begins:
            is_below = begin < len(lengths) and lengths[begin] == below
            if is_below or (begin > 0 and lengths[begin - 1] == above):
                yield begin


def _length(line: str) -> int:
    return len(read_line(line).tokens)


class _Fit:
    """One segment at some lines of a text, compared line by line."""

    def __init__(
        self,
        lines: list[str],
        holes: frozenset[str],
        bindings: dict[str, str],
        begin: int,
        height: int,
    ) -> None:
        self._lines = lines
        self._holes = holes
        self.bindings = bindings
        self.begin = begin
        self.end = begin + height
        #: The indentation of a line in the template, and in the text.
        self.origin = ("", "")
        #: True once a line that is not blank has fitted.
        self.is_anchored = False
        self.weight = 0
        self.tokens = 0
        self.names: set[str] = set()
        self.likeness = 0

    def takes(self, pattern: str, at: int) -> bool:
        """Return whether a line fits; if so, take the values of its holes."""
        if not pattern.strip():
            return not self._lines[at].strip()
        wanted, line = read_line(pattern), read_line(self._lines[at])
        origin = self.origin if self.is_anchored else (wanted.indent, line.indent)
        if _indent(wanted.indent, origin) != line.indent:
            return False
        bindings = _bound(wanted.tokens, line.tokens, self._holes, self.bindings)
        if bindings is None:
            return False
        self.origin, self.bindings, self.is_anchored = origin, bindings, True
        for token in wanted.tokens:
            # A hole with its old value is as good as what may not vary.
            weight = _weight(token) if bindings.get(token.text, token.text) == token.text else 0
            self.weight += weight
            self.tokens += weight > 0
            if weight and token.kind is CodeTokenType.WORD:
                self.names.add(token.text)
        return True

    def compare_around(self, patterns: Iterable[str], numbers: range) -> None:
        """Compare the lines around, from near to far, as long as they fit."""
        for pattern, at in zip(patterns, numbers, strict=False):
            if not self.takes(pattern, at):
                return
            is_same = pattern.strip() == self._lines[at].strip()
            self.likeness += (2 if is_same else 1) if pattern.strip() else 0


def _indent(indent: str, origin: tuple[str, str]) -> str | None:
    """Return an indentation of the template as it is in the text; None if there is no such."""
    mine, its = origin
    pairs = zip(mine, indent, strict=False)
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    if not its.endswith(mine[shared:]):
        return None
    return its[: len(its) - len(mine[shared:])] + indent[shared:]


def _bound(
    wanted: Sequence[CodeToken],
    tokens: Sequence[CodeToken],
    holes: frozenset[str],
    known: Bindings,
) -> dict[str, str] | None:
    """Return the values of the holes if these tokens are those; None if they are not."""
    if len(wanted) != len(tokens):
        return None
    bindings = dict(known)
    for mine, its in zip(wanted, tokens, strict=True):
        if mine.kind is not its.kind:
            return None
        if mine.kind in (CodeTokenType.SIGN, CodeTokenType.KEYWORD) or mine.text not in holes:
            if mine.text != its.text and not same_string(mine.text, its.text):
                return None
        elif bindings.setdefault(mine.text, its.text) != its.text:
            return None
    # Two different names stay different.
    return bindings if len(set(bindings.values())) == len(bindings) else None


def _weight(token: CodeToken) -> int:
    if token.kind in (CodeTokenType.KEYWORD, CodeTokenType.SIGN):
        return 0 if token.text in _STRUCTURE else 1
    return 3


def _match(fits: tuple[_Fit, ...], text: str) -> TemplateMatch:
    bindings = fits[-1].bindings
    return TemplateMatch(
        lines=tuple((fit.begin, fit.end) for fit in fits),
        text=text,
        exact=all(name == value for name, value in bindings.items()),
        weight=sum(fit.weight for fit in fits),
        tokens=sum(fit.tokens for fit in fits),
        names=len(set[str]().union(*(fit.names for fit in fits))),
        likeness=sum(fit.likeness for fit in fits),
        bindings=bindings,
    )


def _replaced(
    lines: list[str], segments: Sequence[ChangedLines], fits: tuple[_Fit, ...]
) -> list[str] | None:
    """Return the lines with all segments replaced; None if they cannot be indented rightly."""
    made = list(lines)
    is_exact = all(name == value for name, value in fits[-1].bindings.items())
    # Where it was made, what it was made of is right.
    style = FileStyle() if is_exact else style_of(lines)
    # From the last to the first, so that the numbers of the lines above stay true.
    for segment, fit in reversed(list(zip(segments, fits, strict=True))):
        pairs = [
            (read_line(mine), read_line(its))
            for mine, its in zip(segment.before, lines[fit.begin : fit.end], strict=True)
        ]
        bindings = fits[-1].bindings
        new = [_rendered(line, fit.origin, bindings, pairs, style) for line in segment.after]
        whole = [line for line in new if line is not None]
        if len(whole) < len(new):
            return None
        made[fit.begin : fit.end] = whole
    return made


def _rendered(
    pattern: str,
    origin: tuple[str, str],
    bindings: Bindings,
    pairs: Sequence[LinePair],
    style: FileStyle,
) -> str | None:
    if not pattern.strip():
        return pattern
    line = read_line(pattern)
    mine, its = origin
    if line.indent.startswith(mine):
        indent: str | None = deeper(its, line.indent[len(mine) :], style)
    else:
        indent = _indent(line.indent, origin)
    if indent is None:
        return None
    return f"{indent}{rendered_tokens(line, pairs, bindings, style)}{line.tail}"
