"""Words: a name or a sentence as a few plain words, whatever their spelling, number or tense."""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = ["root", "stem", "word_set", "words_of"]

#: Of a longer text only the beginning is looked at, and no more words than this.
LONGEST_TEXT, MOST_WORDS = 400, 40

#: `camelCase`, `HTTPServer`, `snake_case`, `with4digits` and plain prose, all in one.
_WORD = re.compile(r"[A-Z]+(?![^\W\d_A-Z])|[A-Z]?[^\W\d_A-Z]+|\d+")

_IRREGULAR = {
    "people": "person",
    "persons": "person",
    "children": "child",
    "men": "man",
    "women": "woman",
    "feet": "foot",
    "lives": "life",
    "indices": "index",
    "indexes": "index",
    "vertices": "vertex",
    "criteria": "criterion",
    "addresses": "address",
    "statuses": "status",
    "news": "news",
    "series": "series",
    "species": "species",
    "lyrics": "lyrics",
    "has": "has",
    "is": "is",
    "was": "is",
    "gas": "gas",
    "lens": "lens",
    # What one gets by doing is another thing than the doing.
    "rating": "rating",
    "ratings": "rating",
    "rated": "rating",
    "booking": "booking",
    "bookings": "booking",
    "listing": "listing",
    "listings": "listing",
    "setting": "setting",
    "settings": "setting",
    "parking": "parking",
    "recording": "recording",
    "recordings": "recording",
    "training": "training",
    "trainings": "training",
    "sent": "send",
    "paid": "pay",
    "built": "build",
    "bought": "buy",
    "sold": "sell",
    "won": "win",
    "lost": "lose",
    "held": "hold",
    "spent": "spend",
    "made": "make",
    "began": "begin",
    "begun": "begin",
    "beginning": "begin",
    "wrote": "write",
    "written": "write",
    "ran": "run",
    "running": "run",
    "took": "take",
    "taken": "take",
    "shown": "show",
    "seen": "see",
    "gave": "give",
    "given": "give",
    "grew": "grow",
    "grown": "grow",
    "came": "come",
    "went": "go",
    "gone": "go",
    "found": "find",
    "said": "say",
    "sang": "sing",
    "sung": "sing",
    "drew": "draw",
    "drawn": "draw",
    "drove": "drive",
    "driven": "drive",
    "flew": "fly",
    "flown": "fly",
    "spoke": "speak",
    "spoken": "speak",
    "broke": "break",
    "broken": "break",
    "chose": "choose",
    "chosen": "choose",
    "met": "meet",
    "taught": "teach",
    "died": "die",
    "dies": "die",
    "tied": "tie",
    "used": "use",
    "uses": "use",
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
    """The words of a text that has nothing but them."""
    return frozenset(text.split())


def words_of(text: str) -> list[str]:
    """The words of a name or a sentence, in lower case: `publicRepos` is `public repos`."""
    return [word.lower() for word in _WORD.findall(text[:LONGEST_TEXT])[:MOST_WORDS]]


@lru_cache(maxsize=16384)
def stem(word: str) -> str:
    """The word without its number and tense: `cities` and `city`, `created` and `create`."""
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
    """`shipp` is `ship`, while `bill` and `pass` stay."""
    doubled = len(word) > 3 and word[-1] == word[-2]
    return word[:-1] if doubled and word[-1] in "bdgmnprt" else word


@lru_cache(maxsize=16384)
def root(stemmed: str) -> str:
    """What the words of one family share: `creat` of creator and creation, `cloud` of cloudy."""
    if len(stemmed) <= 4 or not stemmed.isascii():
        return stemmed
    for ending in _FAMILY:
        if stemmed.endswith(ending) and len(stemmed) - len(ending) >= 4:
            return stemmed[: -len(ending)]
    return stemmed
