"""What is kept for the next call or round is changed, copied, bound and given away in time."""

from __future__ import annotations

import pytest

from runtrue.fixers.search.evidence import Failure
from tests.fixers.search.trying import offers

BUCKET = (
    "class Bucket:\n"
    "    def __init__(self, clock):\n        self.clock = clock\n        self.updated = clock()\n\n"
    "    def refill(self):\n        now = self.clock()\n"
    "        self.tokens += (now - self.updated) * self.rate\n"
)
READER = (
    "class Reader:\n    def __init__(self):\n        self.line = 1\n        self.column = 1\n\n"
    "    def read(self, sign):\n        if sign == '\\n':\n            self.line += 1\n"
)
TABLE = {
    "a time is kept for the next call": ("update", BUCKET, BUCKET + "        self.updated = now\n"),
    "a count begins anew in the other branch": (
        "update",
        READER + "        else:\n            self.column += 1\n",
        READER + "            self.column = 1\n        else:\n            self.column += 1\n",
    ),
    "a counter that never counts": (
        "update",
        "def size(rows):\n    count = 0\n    for row in rows:\n        use(row)\n"
        "    return count\n",
        "def size(rows):\n    count = 0\n    for row in rows:\n        use(row)\n"
        "        count += 1\n    return count\n",
    ),
    "a mark that is never made": (
        "update",
        "def has(rows):\n    found = False\n    for row in rows:\n        if row.ok:\n"
        "            use(row)\n    return found\n",
        "def has(rows):\n    found = False\n    for row in rows:\n        if row.ok:\n"
        "            use(row)\n            found = True\n    return found\n",
    ),
    "a sign that is turned": (
        "update",
        "def det(rows):\n    factor = 1\n    for r in rows:\n        a, b = b, a\n"
        "        factor *= r\n    return factor\n",
        "def det(rows):\n    factor = 1\n    for r in rows:\n        a, b = b, a\n"
        "        factor = -factor\n        factor *= r\n    return factor\n",
    ),
    "a sum for each group": (
        "move_in",
        "def report(groups):\n    total = 0\n    lines = []\n    for group in groups:\n"
        "        for one in group:\n            total += one\n        lines.append(total)\n",
        "def report(groups):\n    lines = []\n    for group in groups:\n        total = 0\n"
        "        for one in group:\n            total += one\n        lines.append(total)\n",
    ),
    "the last group is given, too": (
        "flush",
        "def groups(rows):\n    group = []\n    for row in rows:\n        if row.new and group:\n"
        "            yield group\n            group = []\n        group.append(row)\n",
        "def groups(rows):\n    group = []\n    for row in rows:\n        if row.new and group:\n"
        "            yield group\n            group = []\n        group.append(row)\n"
        "    if group:\n        yield group\n",
    ),
    "the last record under the same condition": (
        "flush",
        "def records(lines):\n    last = None\n    for line in lines:\n"
        "        if last is not None:\n            yield last\n        last = line\n",
        "def records(lines):\n    last = None\n    for line in lines:\n"
        "        if last is not None:\n            yield last\n        last = line\n"
        "    if last is not None:\n        yield last\n",
    ),
    "what comes under a key is added up": (
        "augment",
        "def sums(rows):\n    found = {}\n    for row in rows:\n        found[row.key] = row.net\n",
        "def sums(rows):\n    found = {}\n    for row in rows:\n"
        "        found[row.key] = found.get(row.key, 0) + row.net\n",
    ),
    "what comes under a key is gathered": (
        "augment",
        "def by(rows):\n    found = {}\n    for row in rows:\n        found[row.key] = row\n",
        "def by(rows):\n    found = {}\n    for row in rows:\n"
        "        found.setdefault(row.key, []).append(row)\n",
    ),
    "a scope of one's own": (
        "copy",
        "def render(context):\n    scope = context\n    scope['loop'] = 1\n    return scope\n",
        "def render(context):\n    scope = dict(context)\n    scope['loop'] = 1\n"
        "    return scope\n",
    ),
    "each function has the value of its round": (
        "bind",
        "def units(scales):\n    for scale in scales:\n"
        "        add(lambda v: v * scale, lambda v: v / scale)\n",
        "def units(scales):\n    for scale in scales:\n"
        "        add(lambda v, scale=scale: v * scale, lambda v, scale=scale: v / scale)\n",
    ),
    "and so has one without parameters": (
        "bind",
        "for name in names:\n    later(lambda: open(name))\n",
        "for name in names:\n    later(lambda name=name: open(name))\n",
    ),
    "a function that is defined in a loop": (
        "bind",
        "for name in names:\n    def show():\n        print(name)\n    later(show)\n",
        "for name in names:\n    def show(name=name):\n        print(name)\n    later(show)\n",
    ),
    "not only the first is asked": (
        "keep_looking",
        "def any_allows(roles):\n    for role in roles:\n        return role.allows()\n"
        "    return False\n",
        "def any_allows(roles):\n    for role in roles:\n        if role.allows():\n"
        "            return True\n    return False\n",
    ),
    "not only the first is asked for all": (
        "keep_looking",
        "def all_allow(roles):\n    for role in roles:\n        return role.allows()\n"
        "    return True\n",
        "def all_allow(roles):\n    for role in roles:\n        if not (role.allows()):\n"
        "            return False\n    return True\n",
    ),
    "a resource is given back whatever happens": (
        "finally",
        "@contextmanager\ndef lease(pool):\n    one = pool.take()\n    yield one\n"
        "    pool.put(one)\n",
        "@contextmanager\ndef lease(pool):\n    one = pool.take()\n    try:\n        yield one\n"
        "    finally:\n        pool.put(one)\n",
    ),
    "a program ends with what it found": (
        "exit",
        'import sys\n\nif __name__ == "__main__":\n    main()\n',
        'import sys\n\nif __name__ == "__main__":\n    sys.exit(main())\n',
    ),
    "and needs no import for it": (
        "exit",
        'if __name__ == "__main__":\n    main()\n',
        'if __name__ == "__main__":\n    raise SystemExit(main())\n',
    ),
    "a question that is a method": (
        "call",
        "def entry(info):\n    return info.name, info.is_dir\n",
        "def entry(info):\n    return info.name, info.is_dir()\n",
    ),
}


@pytest.mark.parametrize(("kind", "before", "after"), TABLE.values(), ids=TABLE)
def test_one_edit_mends_it(kind: str, before: str, after: str) -> None:
    offers(kind, before, after)


@pytest.mark.parametrize(
    ("message", "before", "after"),
    [
        (
            "'<' not supported between instances of 'Stop' and 'Stop'",
            "@dataclass(frozen=True)\nclass Stop:\n    name: str\n",
            "@dataclass(frozen=True, order=True)\nclass Stop:\n    name: str\n",
        ),
        (
            "unhashable type: 'Stop'",
            "@dataclasses.dataclass\nclass Stop:\n    name: str\n",
            "@dataclasses.dataclass(frozen=True)\nclass Stop:\n    name: str\n",
        ),
    ],
    ids=["order", "frozen"],
)
def test_a_dataclass_is_made_what_it_is_used_as(message: str, before: str, after: str) -> None:
    failure = Failure(test="t", exception="TypeError", message=message)
    offers("decorate", before, after, failure)
