"""Words: the little English that the grammar needs. Names out of words, and one out of many."""

from __future__ import annotations

import re
from collections.abc import Iterable

from runtrue.planner.verbs import listed

#: Words that carry no meaning of their own in a task.
FILLERS = listed(
    "the a an it its their them his her my our your me us please just only kindly also then of "
    "is are does do has have there i , ( ) : . and"
)
DETERMINERS = listed("the a an its their his her my our your this these")
#: Words for whatever there is to talk about.
GENERIC = listed(
    "all both everything it them this that result results response output outputs content "
    "contents data json answer body page document text reply info information details file "
    "everything value values one ones"
)
#: Words for one entry of a list.
ENTRIES = listed("item entry element result record one row object")
ORDINALS = {"first": 0, "second": 1, "third": 2, "fourth": 3, "fifth": 4, "last": -1}

_IRREGULAR = {"people": "person", "children": "child", "men": "man", "women": "woman"}
_INVARIABLE = listed("series news status address data species always this its")
_PLURALS = {singular: plural for plural, singular in _IRREGULAR.items()}


def singular(word: str) -> str:
    """One of what a plural names; a word that is no plural as it is."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if word in _INVARIABLE or len(word) < 3 or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    if word.endswith(("sses", "shes", "ches", "xes")):
        return word[:-2]
    return word.removesuffix("s")


def plural(word: str) -> str:
    """Many of what a word names."""
    if word in _INVARIABLE or singular(word) != word:
        return word
    if word in _PLURALS:
        return _PLURALS[word]
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return f"{word[:-1]}ies"
    return f"{word}es" if word.endswith(("s", "sh", "ch", "x")) else f"{word}s"


def is_plural(word: str) -> bool:
    """Whether a word names many."""
    return singular(word) != word


def name_of(words: Iterable[str], separator: str = "_") -> str:
    """The words as the one name that an API or a workflow would use."""
    parts = re.findall(r"[^\W_]+", " ".join(words))
    # `displayName` is a name already.
    name = separator.join(p if re.search(r"[a-z][A-Z]", p) else p.lower() for p in parts)
    return f"_{name}" if name[:1].isdigit() else name


def split_name(name: str) -> tuple[str, ...]:
    """The words of a name, however it joins them: `getCurrentTime`, `repo_path`, `git-log`."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    return tuple(part.lower() for part in re.findall(r"[^\W_]+", spaced))
