"""Search for operations by the words of a task: rare words count most."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable

from runtrue.workflow.apis.files import Api, OperationEntry

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
#: What a word counts for in the name or path, in the description, for the method, and as a field.
_NAME, _DESCRIPTION, _METHOD, _FIELD = 3.0, 2.0, 1.5, 1.0
_METHOD_WORDS = {
    "get": frozenset({"get", "read", "show", "list", "fetch", "find"}),
    "post": frozenset({"create", "add", "post", "send", "make", "new"}),
    "put": frozenset({"update", "replace", "put", "set", "change"}),
    "patch": frozenset({"update", "patch", "change", "edit", "modify"}),
    "delete": frozenset({"delete", "remove", "cancel"}),
}


def nearest_operations(
    task: str, apis: Iterable[Api], most: int, *, always: bool = False
) -> list[tuple[Api, OperationEntry]]:
    """Return the operations that fit a task best, best first, at most so many.

    Without `always`, all are returned as they are where they are no more than that.
    """
    found = [(api, entry) for api in apis for entry in api.entries.values()]
    if len(found) <= most and not always:
        return found
    wanted = set(_words(task))
    parts = [_Parts(api, entry) for api, entry in found]
    counted = Counter(word for one in parts for word in wanted & one.all)
    weights = {word: math.log(1 + len(parts) / count) for word, count in counted.items()}
    scores = [one.score(wanted, weights) for one in parts]
    ranked = sorted(range(len(found)), key=lambda at: -scores[at])
    return [found[at] for at in ranked[:most] if scores[at] > 0]


class _Parts:
    """The words of one operation, by where they are."""

    def __init__(self, api: Api, entry: OperationEntry) -> None:
        self.name = {*_words(f"{api.name} {entry.name} {entry.path}")}
        self.method = _METHOD_WORDS.get(entry.method, frozenset())
        self.description = {*_words(entry.description)}
        self.fields = {*_words(entry.words)}
        self.all = self.name | self.description | self.method | self.fields

    def score(self, wanted: set[str], weights: dict[str, float]) -> float:
        places = (
            (self.name, _NAME),
            (self.description, _DESCRIPTION),
            (self.method, _METHOD),
            (self.fields, _FIELD),
        )
        return sum(weight * weights[word] for words, weight in places for word in wanted & words)


def _words(text: str) -> Iterable[str]:
    return (_singular(word.lower()) for word in _WORD.findall(text))


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
