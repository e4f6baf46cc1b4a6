"""Word forms: words that are one and the same for a reader, or the opposite of each other."""

from __future__ import annotations

from itertools import takewhile

from runtrue.planner.words import singular, split_name

_SHORT = 5
#: What adjectives say of a field that is true or false: the opposite of its name, or the same.
_OPPOSITES = {
    **dict.fromkeys(("failed", "failing", "unsuccessful"), "success"),
    **{"closed": "open", "disabled": "enabl", "public": "privat", "private": "public"},
    **{"hidden": "visibl", "offline": "onlin", "absent": "present", "unfinished": "don"},
    **{"open": "closed", "unfinished": "complet", "pending": "complet", "unread": "read"},
}
_MEANS = {
    **dict.fromkeys(("done", "finished"), "completed"),
    **{"completed": "done", "finished": "done", "available": "instock"},
}
_NEGATIONS = ("un", "in", "non", "not", "dis")


def agrees(word: str, name: str) -> bool | None:
    """Return True if an adjective says that a flag of this name is set, False if it is not."""
    if _alike(word, name) or _derived(word, name) or _MEANS.get(word) == name:
        return True
    negated = (f"{prefix}{name}" for prefix in _NEGATIONS)
    opposite = _OPPOSITES.get(word) == stem(name)
    opposite |= _OPPOSITES.get(word) == "success" and stem(name) in ("pass", "succeed", "ok")
    return False if opposite or any(_alike(word, n) or _derived(word, n) for n in negated) else None


def _common(one: str, other: str) -> int:
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def one_letter_apart(one: str, other: str) -> bool:
    """True for two long words of which one is a slip of the other."""
    if min(len(one), len(other)) <= _SHORT:
        return False
    shorter, longer = sorted((one, other), key=len)
    if len(longer) - len(shorter) > 1:
        return False
    at = _common(one, other)
    swapped = one[:at] + one[at : at + 2][::-1] + one[at + 2 :] == other
    return swapped or longer[at + 1 :] == shorter[at + (len(one) == len(other)) :]


def _derived(one: str, other: str) -> bool:
    """True if one word is made from the other: `remotely` and `remote`, `succeeded`, `success`."""
    common = _common(one, other)
    return common > _SHORT - 1 and common >= min(len(one), len(other)) - 2


def is_akin(word: str, name: str) -> bool:
    """True if a participle is made of a name's word: `assigned` and `assignee`, `labels`."""
    if any(word in (f"{part}d", f"{part}ed") for part in split_name(name)):
        return True
    base = stem(word)
    base = base[:-1] if base[-2:-1] == base[-1:] and len(base) > _SHORT else base
    return any(
        _common(base, part) >= min(len(base), _SHORT) and len(base) >= _SHORT - 1
        for part in split_name(name)
    )


def _alike(one: str, other: str) -> bool:
    return stem(one) == stem(other) and len(one) > 2


def stem(word: str) -> str:
    """Return a word without the ending of a plural or a participle."""
    word = singular(word.lower())
    for ending in ("ing", "ed", "d"):
        if len(word) > len(ending) + 3 and word.endswith(ending) and ending != "d":
            word = word.removesuffix(ending)
            break
    return word.removesuffix("e") if len(word) > 3 else word
