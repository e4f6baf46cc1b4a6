"""Place: what speaks for and against each place of a body, seen in its surroundings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from runtrue.fields.body import LONGEST_LABEL, VALUES, Spot, is_named, is_pair
from runtrue.fields.comparison import WEIGHTY, Comparison, Group, joined
from runtrue.fields.evidence import Evidence, harmonic, is_same, off_kind, unmet
from runtrue.fields.question import WRAPPERS, Question
from runtrue.fields.shapes import Shape, Wanted, fit, shape_of
from runtrue.fields.thesaurus import likeness, terms_of
from runtrue.fields.words import stem

__all__ = ["gather"]

#: Values that stand for what they are in by their looks, where such a value is asked for.
_CARRIES = {Shape.URL: 0.8, Shape.DATE: 0.7, Shape.EPOCH: 0.6}
#: A parent's name says less about a value than its own.
_FROM_PARENT = 0.85


def gather(question: Question, spots: Iterable[Spot]) -> list[tuple[Spot, Evidence]]:
    """Compare every place with the question."""
    comparison = Comparison(question)
    every = list(spots)
    comparison.look_around(every)
    # What the guess goes through is not what it looks for, unless there is nothing within it.
    passed = {question.steps[:n] for n in range(len(question.steps))}
    return [
        (spot, _weigh(question, comparison, spot))
        for spot in every
        if spot.steps not in passed or not isinstance(spot.value, (dict, list))
    ]


def _weigh(question: Question, comparison: Comparison, spot: Spot) -> Evidence:
    leaf, parents, head, _ = comparison.groups
    names = [step for step in spot.steps if isinstance(step, str)]
    own = comparison.name(names[-1] if names else "")
    holder = spot.parent
    if not isinstance(spot.steps[-1], str) and holder is not None:
        holder = holder.parent
    above, strays, told_above = comparison.path(holder)
    hits = joined(own.hits, above, _FROM_PARENT)
    shape = shape_of(spot.value)
    fits = fit(question.wanted, shape)
    met = _by_shape(leaf, hits[0], shape)
    by_name = harmonic(leaf.covered(_by_shape(leaf, own.hits[0], shape)), own.by_guess)
    carries = max(own.carries, _CARRIES.get(shape, 0.0) if fits > 0 else 0.0)
    carrier = carries * _stands_for(comparison, spot, names, met) if carries else 0.0
    alike = max(by_name, 0.92 * carrier)
    through = spot.steps == question.steps[: len(spot.steps)]
    is_container = shape in (Shape.LIST, Shape.OBJECT)
    held = _held(leaf, parents, hits[1])
    # The user may just as well name one thing and ask for another.
    confirms = (
        alike > 0.6
        and held > 0.7
        and strays < 0.5
        and (fits > 0 or shape in (Shape.WORD, Shape.TEXT))
    )
    return Evidence(
        same=max(1.0 - strays, 0.0) if is_same(own) else 0.0,
        leaf=alike,
        reach=leaf.covered(met),
        told=own.told,
        extra=own.extra,
        head=head.covered(hits[2]),
        headleaf=head.covered(own.hits[2]),
        parents=parents.covered(list(map(max, hits[1], comparison.about_parents)))
        if parents.terms
        else 0.8,
        stray=strays,
        shadowed=1.0 - told_above if _is_shadowed(spot) else 0.0,
        fit=max(fits, 0.0),
        misfit=max(-fits, 0.0),
        unlike=float(fit(question.guessed, shape) < 0 or (shape is Shape.CODE and _is_title(leaf))),
        odd=float(shape in _ODD and _ODD[shape] not in question.wanted),
        offkind=off_kind(question, own.kinds),
        unheld=1.0 - held,
        container=float(is_container and not (shape is Shape.LIST and _wants_list(question))),
        entry=_entry_fit(question, spot),
        entries=_entries(question, spot),
        housekeeping=float(own.housekeeping or _is_label(spot, names)),
        named=alike if is_named(spot.value, question.named) and confirms else 0.0,
        null=1.0 if shape is Shape.NULL else 0.5 * (shape is Shape.EMPTY),
        machine=float(shape is Shape.URL and _is_machine_link(str(spot.value), question.host)),
        carrier=carrier,
        echo=_echo(comparison, spot.value, shape),
        unmet=unmet(leaf, met),
        left=float(comparison.has_left(spot)),
        offaspect=float(own.off_aspect),
        outside=_outside(spot.steps, comparison.passed),
        missed=comparison.missed(met, hits[1]),
        unindexed=float(bool(question.indexes) and not any(isinstance(s, int) for s in spot.steps)),
        unlisted=float(
            _wants_list(question)
            and isinstance(spot.value, str)
            and isinstance(spot.steps[-1], str)
            and shape is not Shape.DIGITS
        ),
        through=float(through),
    )


def _is_label(spot: Spot, names: Sequence[str]) -> bool:
    """Whether a text only repeats what it is in, or labels the value beside it."""
    if not isinstance(spot.value, str) or spot.parent is None or len(spot.value) > LONGEST_LABEL:
        return False
    if spot.value == spot.parent.label and names and names[-1].lower() not in VALUES:
        return is_pair(spot.parent.value)
    return len(names) > 1 and terms_of(spot.value)[0] == terms_of(names[-2])[0]


def _outside(steps: Sequence[str | int], passed: Sequence[str | int]) -> float:
    """How much of a way some steps do not share."""
    shared = 0
    for one, other in zip(steps, passed, strict=False):
        if one != other:
            break
        shared += 1
    return 1.0 - shared / len(passed) if passed else 0.0


_TITLES = {stem("name"), stem("title")}


def _is_title(leaf: Group) -> bool:
    """Whether the guess ends with a word for what people, not machines, call something."""
    return bool(leaf.terms) and leaf.terms[-1] in _TITLES


def _wants_list(question: Question) -> bool:
    return question.plural and not question.wanted & {Wanted.COUNT, Wanted.NUMBER}


def _stands_for(
    comparison: Comparison, spot: Spot, names: Sequence[str], met: Sequence[float]
) -> float:
    """How much the guess's last name is like what the place is in, by name or by label."""
    leaf = comparison.groups[0]
    label = spot.parent.label if spot.parent is not None else None
    best = 0.0
    for text in (names[-2] if len(names) > 1 else None, label):
        if text is not None and text != spot.value and text.lower() not in WRAPPERS:
            holder = comparison.name(text)
            hits = [max(a, b) for a, b in zip(holder.hits[0], met, strict=True)]
            best = max(best, harmonic(leaf.covered(hits), holder.told_leaf))
    return best


_SHAPE_OF_TERM: dict[str, set[Shape]] = {
    stem(word): shapes
    for words, shapes in {
        "count total quantity": {Shape.WHOLE, Shape.YEAR, Shape.DIGITS},
        "at date time timestamp": {Shape.DATE, Shape.EPOCH, Shape.YEAR},
        "is has can": {Shape.FLAG},
        "url link": {Shape.URL},
        "text name title": {Shape.WORD, Shape.TEXT},
        "id": {Shape.WHOLE, Shape.CODE, Shape.DIGITS},
        "email": {Shape.EMAIL},
    }.items()
    for word in words.split()
}


def _by_shape(group: Group, hits: Sequence[float], shape: Shape) -> list[float]:
    """A word such as `count` or `url` is also met by a value that looks like one."""
    return [
        max(hit, 0.8) if shape in _SHAPE_OF_TERM.get(term, ()) else hit
        for term, hit in zip(group.terms, hits, strict=True)
    ]


#: Values that nobody wants who did not ask for them.
_ODD = {Shape.FLAG: Wanted.FLAG, Shape.DATE: Wanted.DATE}


def _held(leaf: Group, parents: Group, hits: Sequence[float]) -> float:
    """Where the guess ends with a word like `name`, how far what has the name is met."""
    if not parents.terms or max(leaf.weights, default=0.0) >= WEIGHTY:
        return 1.0
    return hits[-1]


def _is_shadowed(spot: Spot) -> bool:
    """Whether something above has the same name, and nearer to the top."""
    last = spot.steps[-1]
    above = spot.parent.parent if spot.parent is not None else None
    while above is not None:
        if isinstance(above.value, dict) and last in above.value:
            return True
        above = above.parent
    return False


def _entry_fit(question: Question, spot: Spot) -> float:
    """Below 0 where the place is in another entry of a list than the one asked for."""
    if spot.is_named is not None and not any(question.indexes):
        return 0.5 if spot.is_named else -0.5
    missed = {index for index in question.indexes if index}
    wrong = 0
    here: Spot | None = spot
    while here is not None and here.steps:
        index = here.steps[-1]
        if isinstance(index, int):
            held = here.parent.value if here.parent is not None else None
            length = len(held) if isinstance(held, list) else 0
            asked = {index, index - length}.intersection(question.indexes)
            wrong += bool(index) and not asked
            missed -= asked
        here = here.parent
    labelled = spot.parent is not None and spot.parent.label is not None
    return -wrong * (0.5 if labelled else 1.0) - 3.0 * len(missed)


def _entries(question: Question, spot: Spot) -> float:
    """How many lists are entered that neither the guess nor the sentence goes into."""
    indexes = sum(isinstance(step, int) for step in spot.steps)
    asked = len(question.indexes)
    if question.plural and isinstance(spot.steps[-1], int):
        indexes += 1
    more = max(0, indexes - max(asked, int(question.one_of)))
    return min(more, 1) + 0.4 * max(more - 1, 0)


def _is_machine_link(value: str, host: str) -> bool:
    """Whether a link leads to the API itself rather than to what people read."""
    return bool(host) and value[:200].lower().partition("://")[2].startswith(host + "/")


def _echo(comparison: Comparison, value: object, shape: Shape) -> float:
    """How far a short text repeats what the sentence says: `visa` of "was it visa or …"."""
    if not isinstance(value, str) or shape not in (Shape.WORD, Shape.TEXT) or len(value) > 30:
        return 0.0
    terms = terms_of(value)[0]
    said = (*comparison.groups[2].terms, *comparison.groups[3].terms)
    if not terms or len(terms) > 3 or not said:
        return 0.0
    return sum(max(likeness(t, s) for s in said) >= 0.75 for t in terms) / len(terms)
