"""A program that does not parse gets its readings, the likeliest first, and each of them parses."""

from __future__ import annotations

import ast
import importlib.util
import io
import random
import re
import tokenize
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from textwrap import dedent

import pytest

from runtrue.fixers.search.edit import splice
from runtrue.fixers.search.session import _DROPS
from runtrue.fixers.search.syntax import parses, repairs

#: By damage: the program as it is, as it is meant, and up to which place that must come.
PAIRS = {
    "missing colon": ("if a > 1\n    b()\n", "if a > 1:\n    b()\n", 1),
    "missing colon before a comment": ("while a  # go\n    b()\n", "while a:  # go\n    b()\n", 1),
    "missing colon, body on the line": ("if a: b()\nelse c()\n", "if a: b()\nelse: c()\n", 1),
    "semicolon for a colon": ("def f(a);\n    return a\n", "def f(a):\n    return a\n", 1),
    "missing bracket": ("a = f(g(1)\nb = 2\n", "a = f(g(1))\nb = 2\n", 1),
    "missing bracket in a head": (
        "for i in range(n:\n    f(i)\n",
        "for i in range(n):\n    f(i)\n",
        1,
    ),
    "missing brackets": ("a.add(sum(b[:1]\nb = 2\n", "a.add(sum(b[:1]))\nb = 2\n", 1),
    "bracket missing over lines": (
        "a = [\n    1,\n    2,\nb = 3\n",
        "a = [\n    1,\n    2,\n]\nb = 3\n",
        5,
    ),
    "bracket missing in an f-string": ("a = f'{len(b} of {c}'\n", "a = f'{len(b)} of {c}'\n", 1),
    "brace missing in an f-string": ("a = f'{b'\n", "a = f'{b}'\n", 1),
    "brace missing in the midst": ("a = f'{b.c has {d}'\n", "a = f'{b.c} has {d}'\n", 3),
    "comma missing at the end of a line": (
        "a = {\n    'b': 1\n    'c': 2,\n}\n",
        "a = {\n    'b': 1,\n    'c': 2,\n}\n",
        1,
    ),
    "comma missing before a comment": (
        "f(\n    a  # the first\n    b,\n)\n",
        "f(\n    a,  # the first\n    b,\n)\n",
        1,
    ),
    "superfluous bracket": ("if f(a)):\n    b()\n", "if f(a):\n    b()\n", 1),
    "wrong bracket": ("a = b[-1) - c[1]\n", "a = b[-1] - c[1]\n", 1),
    "bracket missing within": ("a = f([(0, 1])\n", "a = f([(0, 1)])\n", 2),
    "missing opening bracket": ("a = f b, c)\n", "a = f (b, c)\n", 3),
    "unclosed string": ('a.add("Fizz)\nb = 2\n', 'a.add("Fizz")\nb = 2\n', 1),
    "unclosed string in a head": ("if a == 'D:\n    b()\n", "if a == 'D':\n    b()\n", 1),
    "name behind a quote": ("def f(res):\n    return 'res\n", "def f(res):\n    return res\n", 1),
    "superfluous quote": ('a = b.upper()"\n', "a = b.upper()\n", 1),
    "other quote": ("if a == 'C\":\n    b()\n", "if a == 'C':\n    b()\n", 3),
    "unclosed string and bracket": (
        "print('All of them: \na = 1\n",
        "print('All of them: ')\na = 1\n",
        2,
    ),
    "missing opening quote": ("a = hello'\n", "a = 'hello'\n", 3),
    "unclosed f-string": ("a = f'{b} of {c}\nd = 1\n", "a = f'{b} of {c}'\nd = 1\n", 1),
    "unclosed docstring": (
        'def f(a):\n    """Give it back.\n    b = a\n    return b\n',
        'def f(a):\n    """Give it back."""\n    b = a\n    return b\n',
        1,
    ),
    "unclosed docstring among others": (
        'def f(a):\n    """One.\n    return a\n\n\ndef g(a):\n    """Don\'t."""\n    return a\n',
        'def f(a):\n    """One."""\n    return a\n\n\ndef g(a):\n    """Don\'t."""\n    return a\n',
        1,
    ),
    "= for ==": ("if a = 1 and b == 2:\n    c()\n", "if a == 1 and b == 2:\n    c()\n", 1),
    "= for == in a call": (
        "a = [b for b in c if b % 2 = 0]\n",
        "a = [b for b in c if b % 2 == 0]\n",
        1,
    ),
    "== for =": ("def f(a==1):\n    return a\n", "def f(a=1):\n    return a\n", 1),
    "=<": ("if a =< 1:\n    b()\n", "if a <= 1:\n    b()\n", 1),
    "===": ("if a === 1:\n    b()\n", "if a == 1:\n    b()\n", 1),
    "<>": ("if a <> 1:\n    b()\n", "if a != 1:\n    b()\n", 1),
    "&&, ||": ("if a && b || c:\n    d()\n", "if a and b or c:\n    d()\n", 1),
    "!": ("if !a:\n    b()\n", "if not a:\n    b()\n", 1),
    "++": ("while a:\n    b++\n", "while a:\n    b += 1\n", 1),
    "? :": ("a = b > 1 ? c : d\n", "a = c if b > 1 else d\n", 1),
    "arrow function": ("a = map(x => x + 1, b)\n", "a = map(lambda x: x + 1, b)\n", 1),
    "body not indented": (
        "def f(a):\nb = a\nreturn b\n",
        "def f(a):\n    b = a\n    return b\n",
        1,
    ),
    "class body not indented": (
        "class A:\ndef f(self):\n    return 1\n\ndef g(self):\n    return 2\n",
        "class A:\n    def f(self):\n        return 1\n\n    def g(self):\n        return 2\n",
        1,
    ),
    "line too far": (
        "def f(a):\n    b = a\n        c = b\n    return c\n",
        "def f(a):\n    b = a\n    c = b\n    return c\n",
        1,
    ),
    "line between": ("if a:\n    b()\n  c()\nd()\n", "if a:\n    b()\n    c()\nd()\n", 3),
    "rest of a function out": (
        "class A:\n    def f(self, a):\n        b = []\n    for c in a:\n        b.append(c)\n"
        "    return b\n",
        "class A:\n    def f(self, a):\n        b = []\n        for c in a:\n"
        "            b.append(c)\n        return b\n",
        1,
    ),
    "else elsewhere": (
        "def f(a):\n    if a:\n        return 1\nelse:\n        return 2\n",
        "def f(a):\n    if a:\n        return 1\n    else:\n        return 2\n",
        2,
    ),
    "guard not indented": (
        "def f(a):\n    for b in a:\n        if not b:\n        continue\n        print(b)\n",
        "def f(a):\n    for b in a:\n        if not b:\n            continue\n        print(b)\n",
        1,
    ),
    "tabs and spaces": ("if a:\n        b()\n\tc()\n", "if a:\n        b()\n        c()\n", 1),
    "empty body": (
        "def f(a):\n\n\ndef g(a):\n    return a\n",
        "def f(a):\n    pass\n\n\ndef g(a):\n    return a\n",
        2,
    ),
    "comment //": ("a = 1  // the first\nb = 2\n", "a = 1  # the first\nb = 2\n", 1),
    "comments //": ("// one\na = 1\n// two\nb = 2\n", "# one\na = 1\n# two\nb = 2\n", 1),
    "code behind //": (
        "def f(a):\n    if a:\n        //return 1\n    return 2\n",
        "def f(a):\n    if a:\n        return 1\n    return 2\n",
        3,
    ),
    "comment /* */": ("/* one\n   two */\na = 1\n", "# one\n# two\na = 1\n", 1),
    "code in /* */": (
        "def f(a):\n    if a:\n        /*return 1*/\n    return 2\n",
        "def f(a):\n    if a:\n        return 1\n    return 2\n",
        3,
    ),
    "comment <!-- -->": ("<!-- all of it -->\na = 1\n", "a = 1\n", 1),
    "comment without a mark": ("this is the first of them\na = 1\n", "a = 1\n", 1),
    "comment behind code without a mark": (
        "a = 1  the first of them\nb = 2\n",
        "a = 1\nb = 2\n",
        2,
    ),
    "else if": ("if a:\n    b()\nelse if c:\n    d()\n", "if a:\n    b()\nelif c:\n    d()\n", 1),
    "function": ("function f(a):\n    return a\n", "def f(a):\n    return a\n", 1),
    "declarations": (
        "var a = 1\nlet b = 2\nconst c = 3\nint d = 4\n",
        "a = 1\nb = 2\nc = 3\nd = 4\n",
        1,
    ),
    "then": ("if a then\n    b()\n", "if a:\n    b()\n", 1),
    "end": ("if a:\n    b()\nend if\n", "if a:\n    b()\n", 1),
    "catch": (
        "try:\n    a()\ncatch ValueError:\n    b()\n",
        "try:\n    a()\nexcept ValueError:\n    b()\n",
        1,
    ),
    "new": ("a = new List()\n", "a = List()\n", 1),
    "print statement": ("print a, b\n", "print(a, b)\n", 1),
    "except X, e": (
        "try:\n    a()\nexcept E, e:\n    b(e)\n",
        "try:\n    a()\nexcept E as e:\n    b(e)\n",
        1,
    ),
    "generics": (
        "def f(a: List<int>) -> int:\n    return 1\n",
        "def f(a: List[int]) -> int:\n    return 1\n",
        1,
    ),
    "foreign import": ("import java.util.*;\na = 1\n", "a = 1\n", 5),
    "C's for": ("for (int i = 0; i < n; i++):\n    f(i)\n", "for i in range(0, n):\n    f(i)\n", 1),
    "foreach": ("foreach a in b:\n    c(a)\n", "for a in b:\n    c(a)\n", 1),
    "unless": ("unless a:\n    b()\n", "if not a:\n    b()\n", 1),
    "semicolons": ("a = 1;;\nb = 2;;\n", "a = 1\nb = 2\n", 1),
    "braces": (
        "function f(a) {\n    if (a > 1) {\n        return a;\n    } else {\n"
        "        return null;\n    }\n}\n",
        "def f(a):\n    if (a > 1):\n        return a\n    else:\n        return None\n",
        2,
    ),
    "retrun": ("def f(a):\n    retrun a\n", "def f(a):\n    return a\n", 1),
    "whlie": ("whlie a:\n    b()\n", "while a:\n    b()\n", 1),
    "esle": ("if a:\n    b()\nesle:\n    c()\n", "if a:\n    b()\nelse:\n    c()\n", 1),
    "improt": ("improt os\n", "import os\n", 1),
    "fro": ("fro a in b:\n    c(a)\n", "for a in b:\n    c(a)\n", 3),
    "missing for": ("a in b:\n    c(a)\n", "for a in b:\n    c(a)\n", 2),
    "missing if": ("a > 1:\n    b()\n", "if a > 1:\n    b()\n", 2),
    "missing in": ("for a b:\n    c(a)\n", "for a in b:\n    c(a)\n", 1),
    "missing def": ("f(a, b):\n    return a\n", "def f(a, b):\n    return a\n", 2),
    "doubled keyword": (
        "if a:\n    return return a\n".replace("if a", "def f(a)"),
        "def f(a):\n    return a\n",
        1,
    ),
    "reserved word": ("class = 1\nprint(class)\n", "class_ = 1\nprint(class_)\n", 2),
    "missing comma": ("a = [1, 2 3]\n", "a = [1, 2, 3]\n", 1),
    "missing operator": ("a = b c\n", "a = b + c\n", 5),
    "missing right side": ("a = {}\na[1] += \nb = 2\n", "a = {}\na[1] += 1\nb = 2\n", 1),
    "missing iterable": (
        "def f(nums):\n    for n in \n        print(n)\n",
        "def f(nums):\n    for n in nums:\n        print(n)\n",
        5,
    ),
    "def without brackets": ("def f:\n    return 1\n", "def f():\n    return 1\n", 1),
    "digit at a name": ("a = len(0rec) - 1\n", "a = len(rec) - 1\n", 1),
    "await outside async": ("def f(a):\n    await a\n", "async def f(a):\n    await a\n", 1),
    "merge conflict": (
        "a = 1\n<<<<<<< HEAD\nb = 2\n=======\nb = 3\n>>>>>>> other\nc = 4\n",
        "a = 1\nb = 3\nc = 4\n",
        2,
    ),
    "typographic quotes": ("a = \u201cb\u201d\nc = \u2018d\u2019\n", "a = 'b'\nc = 'd'\n", 1),
    "spaces that do not break": ("a\u00a0=\u00a01\n", "a = 1\n", 1),
    "diff": (" a = 1\n-b = 2\n+b = 3\n c = 4\n", "a = 1\nb = 3\nc = 4\n", 1),
    "fence": ("```python\na = 1\n```\n", "a = 1\n", 1),
    "fence with prose": ("Here it is:\n\n```python\na = 1\n```\n\nIt's short.\n", "a = 1\n", 1),
    "prompts": (">>> a = 1\n>>> b = 2\n", "a = 1\nb = 2\n", 1),
    "several damages": (
        "def f(a)\n    b = [a, 1\n    if a = 1:\n        retrun b\n",
        "def f(a):\n    b = [a, 1]\n    if a == 1:\n        return b\n",
        2,
    ),
    "the same mistake many times": (
        "".join(f"def f{n}(a)\n    return a\n" for n in range(12)),
        "".join(f"def f{n}(a):\n    return a\n" for n in range(12)),
        1,
    ),
}


def tree(text: str) -> str:
    """A program but for its layout, and for the white space in what only documents it."""
    parsed = ast.parse(text)
    for node in ast.walk(parsed):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            node.value.value = "".join(str(node.value.value).split())
    return ast.dump(parsed)


@pytest.mark.parametrize("damage", PAIRS)
def test_the_meant_program_is_among_the_first_readings(damage: str) -> None:
    damaged, meant, place = PAIRS[damage]
    assert parses(damaged) is not None
    found = list(islice(repairs(damaged, seconds=20), place))
    assert tree(meant) in [tree(one.text) for one in found], [one.text for one in found]


@pytest.mark.parametrize("damage", [*PAIRS][::4])
def test_each_reading_parses_and_is_told_by_its_splices(damage: str) -> None:
    damaged, _, _ = PAIRS[damage]
    texts = set()
    for one in islice(repairs(damaged, seconds=20), 4):
        assert parses(one.text) is None
        assert splice(damaged, one.splices) == one.text
        assert 1 <= one.line <= damaged.count("\n") + 1
        assert one.says
        assert one.kind
        texts.add(one.text)
    assert len(texts) in (1, 2, 3, 4)


def test_a_docstring_is_no_prose_to_be_dropped() -> None:
    damaged = '"""Numbers that people have."""\n\nform math import inf\n\nLIMIT = inf\n'
    found = list(islice(repairs(damaged, seconds=20), 20))
    assert found[0].text == damaged.replace("form", "from")
    assert all(one.text.startswith('"""Numbers') for one in found if one.kind == "prose")


@pytest.mark.parametrize("damaged", ["Sure, here it is for you\n\na = 1\n", "a = 1  as you said\n"])
def test_a_reading_that_drops_what_may_be_code_is_told_as_such(damaged: str) -> None:
    found = repairs(damaged, seconds=20)
    dropping = next(one for one in found if tree(one.text) == tree("a = 1\n"))
    assert dropping.kind in _DROPS


def test_what_parses_has_no_readings() -> None:
    assert parses("a = 1\n") is None
    assert list(repairs("a = 1\n")) == []
    assert list(repairs("a = 1\n" * 1000)) == []


def test_text_that_is_no_program_at_all_ends() -> None:
    assert parses("a\0b") is not None
    assert parses("(" * 5000) is not None
    for text in ("\0", "(" * 300, "'''", "\\", "}" * 50, "\ufeff{", "é" * 20 + "("):
        for one in islice(repairs(text, seconds=0.3), 5):
            assert parses(one.text) is None


def test_the_same_text_has_the_same_readings() -> None:
    damaged = PAIRS["several damages"][0]
    first, second = (list(islice(repairs(damaged, seconds=60), 4)) for _ in range(2))
    assert first == second


def test_no_more_readings_are_given_than_asked_for() -> None:
    assert len(list(repairs("a = f(b c d\n", limit=3, seconds=20))) == 3


MANY = "".join(
    f'def f{n}(a, b):\n    """Add {n}."""\n    if a == {n}:\n        return [a, b]\n'
    f"    return a + b\n\n\n"
    for n in range(700)
)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("if a == 350:", "if a == 350"),
        ('"""Add 350."""', '"""Add 350.'),
        ("    if a == 350:\n        return [a, b]", "    if a == 350:\n        return [a, b"),
    ],
)
def test_of_a_large_file_only_the_damaged_part_is_looked_at(old: str, new: str) -> None:
    damaged = MANY.replace(old, new)
    found = list(islice(repairs(damaged, seconds=20), 3))
    assert MANY in [one.text for one in found]
    assert all(splice(damaged, one.splices) == one.text for one in found)
    assert found[0].line > 7 * 349


def test_damage_in_several_parts_of_a_large_file_is_mended() -> None:
    damaged = MANY.replace("if a == 100:", "if a = 100:").replace("if a == 600:", "if a == 600")
    found = next(repairs(damaged, seconds=20))
    assert found.text == MANY


def test_of_a_large_class_only_the_damaged_method_is_looked_at() -> None:
    # Functions within methods are no methods.
    inner = "    def key(c):\n        return c\n"
    lines = MANY.replace("(a, b):\n", f"(self, a, b):\n{inner}").splitlines(keepends=True)
    whole = "class Large:\n" + "".join(f"    {line}" if line.strip() else line for line in lines)
    damaged = whole.replace("if a == 350:", "if a == 350")
    assert next(repairs(damaged, seconds=20)).text == whole


# -- the property: a token of a real program is damaged, and the program comes back ---------------

MODULES = ("bisect", "fnmatch", "json.decoder", "shlex", "textwrap")
TOKEN_DAMAGE: dict[str, tuple[str, Callable[[str], str]]] = {
    "colon dropped": (":", lambda text: ""),
    "bracket dropped": (")", lambda text: ""),
    "bracket doubled": (")", lambda text: text * 2),
    "bracket of the other kind": ("]", lambda text: ")"),
    "comma dropped": (",", lambda text: ""),
    "comparison as assignment": ("==", lambda text: "="),
    "keyword misspelt": ("return", lambda text: "retrun"),
    "foreign keyword": ("elif", lambda text: "else if"),
    "foreign operator": ("and", lambda text: "&&"),
    "end of a string dropped": ("string", lambda text: text[:-1]),
    "end of a string of the other kind": (
        "string",
        lambda text: text[:-1] + ("'" if text[-1] == '"' else '"'),
    ),
}


def source(module: str) -> str:
    spec = importlib.util.find_spec(module)
    assert spec is not None
    return Path(str(spec.origin)).read_text()


def spots(text: str, wanted: str) -> list[tuple[int, int]]:
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        short = token.type == tokenize.STRING and not re.search(r"\n|\"\"\"|'''", token.string)
        if token.string == wanted or (wanted == "string" and short):
            (row, column), (_, end) = token.start, token.end
            found.append((starts[row - 1] + column, starts[row - 1] + end))
    return found


@pytest.mark.parametrize("damage", TOKEN_DAMAGE)
def test_real_programs_come_back_after_damage_to_one_token(damage: str) -> None:
    wanted, change = TOKEN_DAMAGE[damage]
    chance = random.Random(damage)  # noqa: S311  # no secret, only a place
    came = tried = 0
    for module in MODULES:
        text = source(module)
        places = spots(text, wanted)
        chance.shuffle(places)
        for start, end in places[:4]:
            damaged = text[:start] + change(text[start:end]) + text[end:]
            if parses(damaged) is None:
                continue
            tried += 1
            first = islice(repairs(damaged, seconds=20), 5)
            came += any(tree(one.text) == tree(text) for one in first)
            break
    assert came >= 0.8 * tried > 0


def test_lines_of_real_programs_come_back_to_their_place() -> None:
    text = source("textwrap")
    lines = text.splitlines(keepends=True)
    inside = [
        n for n, line in enumerate(lines) if re.match(r" {8,}(\w+ = |if |self\.|return)", line)
    ]
    chance = random.Random(7)  # noqa: S311  # no secret, only some lines
    came = tried = 0
    for number in chance.sample(inside, 6):
        for moved in ("    " + lines[number], lines[number][4:], " " + lines[number]):
            damaged = "".join([*lines[:number], moved, *lines[number + 1 :]])
            if parses(damaged) is not None:
                tried += 1
                first = islice(repairs(damaged, seconds=20), 5)
                came += any(tree(one.text) == tree(text) for one in first)
    assert came >= 0.75 * tried > 0


def test_a_text_of_windows_lines_keeps_its_line_ends() -> None:
    damaged = dedent("""\
        def f(a)
            return a
        """).replace("\n", "\r\n")
    assert next(repairs(damaged)).text == damaged.replace("(a)", "(a):")


def test_a_text_keeps_the_mark_of_its_byte_order() -> None:
    assert parses("\ufeffa = 1\n") is None
    damaged = "\ufeffdef f(a)\n    return a\n"
    assert next(repairs(damaged)).text == damaged.replace("(a)", "(a):")
