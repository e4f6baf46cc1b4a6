"""Places: where the before side of a template is found in a text, and the text it would give.

A place is found by the lines that are to be replaced, or, where there are none, by those around the
gap. The lines around also tell places apart, and what the holes hold.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

from runtrue.memory.patch import Segment
from runtrue.memory.template import FileTemplate, Template
from runtrue.memory.tokens import Kind, Token, read_line

#: Where a template fits in more places than these, it fits nowhere.
_MOST_PLACES = 200
#: As many lines may be tried for the segments of one template.
_MOST_STEPS = 50_000

#: What each hole holds.
Bindings = Mapping[str, str]
#: How far a line is indented in the template, and how far it is in the text.
Origin = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a template fits, and the text that it makes there.

    `exact` means that it fits with the very names it was made from. `weight` says how much of what
    fits is not a hole, in `tokens` tokens; `likeness` how much of what is around is as it was.
    """

    lines: tuple[tuple[int, int], ...]
    text: str
    exact: bool
    weight: int
    tokens: int
    likeness: int
    bindings: dict[str, str]

    def covers(self, line: int) -> bool:
        """Whether a line of the text, counted from 1, is among those that the place is about."""
        return any(
            begin < line <= end or (begin == end and line in (begin, begin + 1))
            for begin, end in self.lines
        )


def apply(
    template: Template, file: FileTemplate, text: str, bindings: Bindings | None = None
) -> list[Place]:
    """Every place of `text` where what the template does to `file` can be done."""
    holes = frozenset(template.holes)
    if not all(word in text for word in _literals(file, holes)):
        return []
    newline = "\r\n" if "\r\n" in text else "\n"
    raw = text.split("\n")
    lines = [line.removesuffix("\r") for line in raw] if newline == "\r\n" else raw
    search = _Search(lines, holes)
    needed = {
        token.text
        for segment in file.segments
        for line in segment.after
        for token in read_line(line).tokens
        if token.text in holes
    }
    places: list[Place] = []
    for found in search.all_of(file.segments, 0, dict(bindings or {})):
        made = _made(lines, file.segments, found)
        place = _place(found, newline.join(made or ()))
        # A name that is to be filled in, and that nothing here tells, can only be the old one.
        if made is not None and (place.exact or needed <= place.bindings.keys()):
            places.append(place)
        if len(places) > _MOST_PLACES:
            break
    return places if search.steps_left >= 0 else []


def _literals(file: FileTemplate, holes: frozenset[str]) -> set[str]:
    """What must be in a text for there to be any place: what is replaced and may not vary."""
    lines = (line for segment in file.segments for line in segment.before)
    return {t.text for line in lines for t in read_line(line).tokens if t.text not in holes}


def the_one(places: Sequence[Place], blamed: Collection[int] = ()) -> Place | None:
    """The only place that is meant: exact before varied, blamed before others, the most alike."""
    places = [place for place in places if place.exact] or places
    if len(places) > _MOST_PLACES:
        return None
    blame = [place for place in places if any(map(place.covers, blamed))]
    for some in (blame, places):
        most = max((place.likeness for place in some), default=0)
        best = [place for place in some if place.likeness == most]
        if len({place.text for place in best}) == 1:
            return best[0]
    return None


# -- finding ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Found:
    """One segment at one place: the lines it replaces, and what was learned there."""

    begin: int
    end: int
    origin: Origin
    bindings: dict[str, str]
    weight: int
    tokens: int
    likeness: int


class _Search:
    """Looks for segments in the lines of a text, and not for ever."""

    def __init__(self, lines: list[str], holes: frozenset[str]) -> None:
        self.lines = lines
        self.holes = holes
        self.steps_left = _MOST_STEPS
        self._lengths = [_length(line) for line in lines]

    def all_of(
        self, segments: Sequence[Segment], start: int, bindings: dict[str, str]
    ) -> Iterator[tuple[_Found, ...]]:
        """Every way to place all segments, one below the other, with holes that agree."""
        if not segments:
            yield ()
            return
        for found in self._one(segments[0], start, bindings):
            for rest in self.all_of(segments[1:], found.end, found.bindings):
                yield (found, *rest)

    def _one(self, segment: Segment, start: int, bindings: dict[str, str]) -> Iterator[_Found]:
        height = len(segment.before)
        for begin in self._likely(segment, start):
            self.steps_left -= 1
            if self.steps_left < 0:
                return
            fit = _Fit(self.lines, self.holes, dict(bindings))
            if not all(fit.takes(line, begin + n) for n, line in enumerate(segment.before)):
                continue
            required = fit.anchored
            above = reversed(segment.above)
            fit.outward(above, range(begin - 1, -1, -1))
            fit.outward(segment.below, range(begin + height, len(self.lines)))
            if required or fit.anchored:
                yield _Found(
                    begin=begin,
                    end=begin + height,
                    origin=fit.origin or ("", ""),
                    bindings=fit.bindings,
                    weight=fit.weight,
                    tokens=fit.tokens,
                    likeness=fit.likeness,
                )

    def _likely(self, segment: Segment, start: int) -> Iterator[int]:
        """Where a segment may begin, told from nothing but the number of tokens on a line."""
        lengths = self._lengths
        places = range(start, len(lengths) - len(segment.before) + 1)
        if segment.before:
            first = _length(segment.before[0])
            yield from (begin for begin in places if lengths[begin] == first)
            return
        above = _length(segment.above[-1]) if segment.above else -1
        below = _length(segment.below[0]) if segment.below else -1
        for begin in places:
            is_below = begin < len(lengths) and lengths[begin] == below
            if is_below or (begin > 0 and lengths[begin - 1] == above):
                yield begin


def _length(line: str) -> int:
    return len(read_line(line).tokens)


class _Fit:
    """How well a segment fits at one place, line by line."""

    def __init__(self, lines: list[str], holes: frozenset[str], bindings: dict[str, str]) -> None:
        self._lines = lines
        self._holes = holes
        self.bindings = bindings
        self.origin: Origin | None = None
        self.weight = 0
        self.tokens = 0
        self.likeness = 0

    @property
    def anchored(self) -> bool:
        """Whether a line that is not blank has fitted."""
        return self.origin is not None

    def takes(self, pattern: str, at: int) -> bool:
        """Whether a line fits here; if so, what it tells is kept."""
        if not pattern.strip():
            return not self._lines[at].strip()
        wanted, line = read_line(pattern), read_line(self._lines[at])
        origin = self.origin or (wanted.indent, line.indent)
        if _indent(wanted.indent, origin) != line.indent:
            return False
        bindings = _bound(wanted.tokens, line.tokens, self._holes, self.bindings)
        if bindings is None:
            return False
        self.origin, self.bindings = origin, bindings
        for token in wanted.tokens:
            # A hole that holds what it held is as good as what may not vary.
            weight = _weight(token) if bindings.get(token.text, token.text) == token.text else 0
            self.weight += weight
            self.tokens += weight > 0
        return True

    def outward(self, patterns: Iterator[str] | Sequence[str], places: Sequence[int]) -> None:
        """Compare the lines around, from near to far, as long as they fit."""
        for pattern, at in zip(patterns, places, strict=False):
            if not self.takes(pattern, at):
                return
            is_same = pattern.strip() == self._lines[at].strip()
            self.likeness += (2 if is_same else 1) if pattern.strip() else 0


def _indent(indent: str, origin: Origin) -> str | None:
    """An indentation of the template as it is in the text; None when there is no such."""
    mine, its = origin
    signs = zip(mine, indent, strict=False)
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], signs))
    if not its.endswith(mine[shared:]):
        return None
    return its[: len(its) - len(mine[shared:])] + indent[shared:]


def _bound(
    wanted: Sequence[Token], tokens: Sequence[Token], holes: frozenset[str], held: Bindings
) -> dict[str, str] | None:
    """What the holes hold when these tokens are those; None when they are not."""
    if len(wanted) != len(tokens):
        return None
    bindings = dict(held)
    for mine, its in zip(wanted, tokens, strict=True):
        if mine.kind is not its.kind:
            return None
        if mine.kind in (Kind.SIGN, Kind.KEYWORD) or mine.text not in holes:
            if mine.text != its.text:
                return None
        elif bindings.setdefault(mine.text, its.text) != its.text:
            return None
    # Two names that were kept apart stay apart.
    return bindings if len(set(bindings.values())) == len(bindings) else None


_STRUCTURE = frozenset("()[]{},;:.")


def _weight(token: Token) -> int:
    if token.kind in (Kind.KEYWORD, Kind.SIGN):
        return 0 if token.text in _STRUCTURE else 1
    return 3


# -- making -------------------------------------------------------------------------------------


def _place(found: tuple[_Found, ...], text: str) -> Place:
    bindings = found[-1].bindings
    return Place(
        lines=tuple((one.begin, one.end) for one in found),
        text=text,
        exact=all(name == held for name, held in bindings.items()),
        weight=sum(one.weight for one in found),
        tokens=sum(one.tokens for one in found),
        likeness=sum(one.likeness for one in found),
        bindings=bindings,
    )


def _made(
    lines: list[str], segments: Sequence[Segment], found: tuple[_Found, ...]
) -> list[str] | None:
    """The lines with all segments replaced; None when they cannot be indented as they should."""
    made = list(lines)
    # From the last to the first, so that the numbers of the lines above stay true.
    for segment, one in reversed(list(zip(segments, found, strict=True))):
        new = [_rendered(line, one.origin, found[-1].bindings) for line in segment.after]
        whole = [line for line in new if line is not None]
        if len(whole) < len(new):
            return None
        made[one.begin : one.end] = whole
    return made


def _rendered(pattern: str, origin: Origin, bindings: Bindings) -> str | None:
    if not pattern.strip():
        return pattern
    line = read_line(pattern)
    indent = _indent(line.indent, origin)
    if indent is None:
        return None
    text = "".join(t.space + bindings.get(t.text, t.text) for t in line.tokens)
    return f"{indent}{text}{line.tail}"
