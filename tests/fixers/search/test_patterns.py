"""Regular expressions, roundings and defaults that say almost what was meant."""

from __future__ import annotations

import pytest

from tests.fixers.search.proposed import written

TABLE = {
    "less greedy": (
        "pattern",
        'import re\nBOLD = re.compile(r"\\*\\*(.+)\\*\\*")\n',
        'import re\nBOLD = re.compile(r"\\*\\*(.+?)\\*\\*")\n',
    ),
    "to the end": (
        "pattern",
        'import re\nok = re.match("[a-z]+", name)\n',
        'import re\nok = re.match("[a-z]+$", name)\n',
    ),
    "a dot that is a dot": (
        "pattern",
        'import re\nparts = re.split(r".", name)\n',
        'import re\nparts = re.split(r"\\.", name)\n',
    ),
    "a sign that must be there": (
        "pattern",
        'import re\nPREFIX = re.compile(r"(re|fw):?\\s*")\n',
        'import re\nPREFIX = re.compile(r"(re|fw):\\s*")\n',
    ),
    "all of the seconds": (
        "sibling",
        "def idle(due, now):\n    return (due - now).seconds\n",
        "def idle(due, now):\n    return (due - now).total_seconds()\n",
    ),
    "all that is divided by": (
        "term_add",
        "def groups(self, count):\n    return count // self.buy * self.free\n",
        "def groups(self, count):\n    return count // (self.buy + self.free) * self.free\n",
    ),
    "the second of three": (
        "grouping",
        "def on(a, b, c, d):\n    return a and b or c and d\n",
        "def on(a, b, c, d):\n    return a and (b or c) and d\n",
    ),
    "rounded up": (
        "round_up",
        "def pages(count, size):\n    return count // size\n",
        "def pages(count, size):\n    return (count + size - 1) // size\n",
    ),
    "round the week": (
        "term_add",
        "WEEK = range(7)\n\ndef blanks(day, start):\n    return day - start\n",
        "WEEK = range(7)\n\ndef blanks(day, start):\n    return (day - start) % 7\n",
    ),
    "a default for None alone": (
        "only_none",
        "def put(ttl, usual):\n    return ttl or usual\n",
        "def put(ttl, usual):\n    return usual if ttl is None else ttl\n",
    ),
    "None may be there": (
        "condition",
        "def find(store, key):\n    value = store.get(key)\n    if value is None:\n"
        "        raise A\n",
        "def find(store, key):\n    value = store.get(key)\n    if key not in store:\n"
        "        raise A\n",
    ),
    "a limit where it is exceeded": (
        "condition_add",
        "def pay(last, due, left):\n    if last:\n        due = left\n    return due\n",
        "def pay(last, due, left):\n    if last or due > left:\n        due = left\n"
        "    return due\n",
    ),
    "whatever the case": (
        "wrap",
        "def find(headers, name):\n    return [one for one in headers if one == name]\n",
        "def find(headers, name):\n"
        "    return [one for one in headers if one.lower() == name.lower()]\n",
    ),
    "the further end": (
        "clamp",
        "def merge(last, new):\n    if last.end > new.start:\n        add(last.start, new.end)\n",
        "def merge(last, new):\n    if last.end > new.start:\n"
        "        add(last.start, max(last.end, new.end))\n",
    ),
    "a keyword that others have": (
        "argument_add",
        'add("--top", default=5)\nadd("--least", type=int, default=1)\n',
        'add("--top", default=5, type=int)\nadd("--least", type=int, default=1)\n',
    ),
}


@pytest.mark.parametrize(("kind", "before", "after"), TABLE.values(), ids=TABLE)
def test_one_edit_mends_it(kind: str, before: str, after: str) -> None:
    made = written(before)
    assert after in made
    assert made[after].kind == kind


def test_a_key_is_what_the_tests_call_it() -> None:
    text = 'def cursor(data):\n    return data.get("next")\n'
    made = written(text, strings=("items", "next_cursor", "a sentence, not a name"))
    keys = [one.splices[0].text for one in made.values() if one.kind == "string"]
    assert '"next_cursor"' in keys
    assert '"a sentence, not a name"' not in keys


def test_a_text_that_is_no_pattern_is_not_taken_for_one() -> None:
    assert not [one for one in written('say("a.b+")\n').values() if one.kind == "pattern"]


@pytest.mark.parametrize("text", [r"(a+", r"[+*]", r"a\+b*", r"(?:x)+?", "", r"\\.+"])
def test_each_pattern_that_is_proposed_is_one(text: str) -> None:
    for made in written(f'import re\nre.compile(r"{text}")\n'):
        compile(made, "p", "exec")
