"""Names: flat names with a description each, compared with a wrong one."""

from __future__ import annotations

from collections.abc import Mapping
from heapq import nlargest
from itertools import islice

from runtrue.fields.body import LONGEST_NAME
from runtrue.fields.comparison import Comparison, joined
from runtrue.fields.evidence import Evidence, of_name
from runtrue.fields.question import Question, read_question
from runtrue.fields.thesaurus import kindred, terms_of
from runtrue.fields.words import LONGEST_TEXT

__all__ = ["compare_names"]

#: What a description says counts less than the name itself.
_DESCRIBED = 0.7
#: No more names than the first are looked at, and of those no more than the second compared.
_MOST_SEEN, _MOST_COMPARED = 2_000, 30
#: Names that begin alike may be misspelt or shortened.
_BEGINNING = 3


def compare_names(guess: str, intent: str, names: Mapping[str, str]) -> list[tuple[str, Evidence]]:
    """What speaks for and against each of the names; of very many, of the likeliest."""
    # The name as one quoted step: a dot in it is no path.
    question = read_question("$['" + guess.replace("'", " ") + "']", intent, "")
    comparison = Comparison(question)
    found = []
    for name in _likely(question, names):
        own = comparison.name(name[:LONGEST_NAME])
        described = comparison.name(names[name][:LONGEST_TEXT])
        hits = joined(own.hits, described.hits, _DESCRIBED)
        found.append((name, of_name(comparison, own, hits)))
    return found


def _likely(question: Question, names: Mapping[str, str]) -> list[str]:
    """Of many names, those that share a word, a meaning or a beginning with what was said."""
    if len(names) <= _MOST_COMPARED:
        return list(names)
    said = {term.text for term in question.leaf}
    meant = frozenset().union(*map(kindred, said))
    heard = {term.text for term in (*question.head, *question.rest)}
    beginnings = {term[:_BEGINNING] for term in said}

    def rank(name: str) -> int:
        terms = terms_of(name[:LONGEST_NAME])[0]
        return (
            8 * (not said.isdisjoint(terms))
            + 4 * (not meant.isdisjoint(terms))
            + 2 * any(term[:_BEGINNING] in beginnings for term in terms)
            + (not heard.isdisjoint(terms))
        )

    return nlargest(_MOST_COMPARED, islice(names, _MOST_SEEN), key=rank)
