"""Splicing: what two texts differ in, as splices of the one."""

from __future__ import annotations

import difflib

from runtrue.fixers.search.edit import Splice


def splices_between(old: str, new: str) -> tuple[Splice, ...]:
    """Splices, no larger than they need be, that make one text of another."""
    a, b = old.splitlines(keepends=True), new.splitlines(keepends=True)
    first = 0
    while first < min(len(a), len(b)) and a[first] == b[first]:
        first += 1
    last = 0
    while last < min(len(a), len(b)) - first and a[-1 - last] == b[-1 - last]:
        last += 1
    at = sum(map(len, a[:first]))
    a, b = a[first : len(a) - last], b[first : len(b) - last]
    starts = [at]
    for line in a:
        starts.append(starts[-1] + len(line))
    found = []
    matcher = difflib.SequenceMatcher(None, a, b, autojunk=False)
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag == "replace" and i2 - i1 == j2 - j1:
            found += [_trimmed(starts[i1 + n], a[i1 + n], b[j1 + n]) for n in range(i2 - i1)]
        elif tag != "equal":
            found.append(_trimmed(starts[i1], "".join(a[i1:i2]), "".join(b[j1:j2])))
    return tuple(found)


def _trimmed(at: int, old: str, new: str) -> Splice:
    first = 0
    while first < min(len(old), len(new)) and old[first] == new[first]:
        first += 1
    last = 0
    while last < min(len(old), len(new)) - first and old[-1 - last] == new[-1 - last]:
        last += 1
    return Splice(at + first, at + len(old) - last, new[first : len(new) - last])
