"""Words: a name or a sentence as a few plain words, whatever their spelling, number or tense."""

from __future__ import annotations

import re
from functools import lru_cache

#: Of a longer text only the beginning is looked at, and no more words than this.
LONGEST_TEXT, MOST_WORDS = 400, 40

#: `camelCase`, `HTTPServer`, `snake_case`, `with4digits` and plain prose, all in one.
_WORD = re.compile(r"[A-Z]+(?![^\W\d_A-Z])|[A-Z]?[^\W\d_A-Z]+|\d+")

#: Words that no ending gives away, as `word=form,form`. What one gets by doing, a `rating`, is
#: another thing than the doing.
_FORMS = """
person=people,persons child=children man=men woman=women foot=feet life=lives
index=indices,indexes vertex=vertices criterion=criteria address=addresses status=statuses
news=news series=series species=species lyrics=lyrics has=has is=is,was gas=gas lens=lens
rating=rating,ratings,rated booking=booking,bookings listing=listing,listings
setting=setting,settings parking=parking recording=recording,recordings
training=training,trainings send=sent pay=paid build=built buy=bought sell=sold win=won lose=lost
hold=held spend=spent make=made begin=began,begun,beginning write=wrote,written run=ran,running
take=took,taken show=shown see=seen give=gave,given grow=grew,grown come=came go=went,gone
find=found say=said sing=sang,sung draw=drew,drawn drive=drove,driven fly=flew,flown
speak=spoke,spoken break=broke,broken choose=chose,chosen meet=met teach=taught die=died,dies
tie=tied use=used,uses
"""
_IRREGULAR = {
    form: word
    for word, _, forms in (entry.partition("=") for entry in _FORMS.split())
    for form in forms.split(",")
}
#: Endings that make another word of the same family: `creator` and `creation` of `create`.
_FAMILY = (
    *("iness", "ication", "ization", "isation", "ability", "ibility"),
    *("ation", "ition", "ility", "ment", "ness", "ence", "ance", "ally"),
    *("ion", "ity", "abl", "ibl", "ful", "ist", "ism"),
    *("iv", "al", "ly", "er", "or", "ur"),
    *("y", "i"),
)
_VOWEL = re.compile(r"[aeiouy]")


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text as a set."""
    return frozenset(text.split())


def words_of(text: str) -> list[str]:
    """Return the words of a name or a sentence, in lower case: `publicRepos` is `public repos`."""
    return [word.lower() for word in _WORD.findall(text[:LONGEST_TEXT])[:MOST_WORDS]]


@lru_cache(maxsize=16384)
def stem(word: str) -> str:
    """Strip number and tense: `cities` is `city`, and `created` is `create`."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) <= 3 or not word.isascii():
        return word
    if word.endswith("ies") and len(word) > 4:
        word = word[:-3] + "y"
    elif word.endswith(("sses", "xes", "ches", "shes", "zzes")):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith(("ss", "us", "is", "ous")):
        word = word[:-1]
    if word.endswith("ied") and len(word) > 4:
        word = word[:-3] + "y"
    elif word.endswith("ed") and len(word) > 4 and _VOWEL.search(word[:-2]):
        word = _single(word[:-2])
    elif word.endswith("ing") and len(word) > 5 and _VOWEL.search(word[:-3]):
        word = _single(word[:-3])
    return word[:-1] if len(word) > 3 and word.endswith("e") else word


def _single(word: str) -> str:
    """Undouble the last letter: `shipp` is `ship`, while `bill` and `pass` stay."""
    doubled = len(word) > 3 and word[-1] == word[-2]
    return word[:-1] if doubled and word[-1] in "bdgmnprt" else word


@lru_cache(maxsize=16384)
def root(stemmed: str) -> str:
    """Return what the words of a family share: `creat` of creator and creation."""
    if len(stemmed) <= 4 or not stemmed.isascii():
        return stemmed
    for ending in _FAMILY:
        if stemmed.endswith(ending) and len(stemmed) - len(ending) >= 4:
            return stemmed[: -len(ending)]
    return stemmed
