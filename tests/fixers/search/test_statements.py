"""What holds for all operators of statements, and what they do for code as people write it."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtrue.fixers.search.evidence import Failure, Frame, Value
from runtrue.fixers.search.operators.statements import KINDS
from tests.fixers.search.trying import FILE, failed, offers, proposed

#: Statements of all sorts; `{0}` is a block, deeper by a step, `{n}` a name and `{e}` a value.
_SIMPLE = (
    "{n} = {e}",
    "{n} += {e}",
    "{n}.append({e})",
    "{n}[{e}] = {n}",
    "{n}.{n} = {e}  # kept",
    "{n}[{e}] += 1",
    "return {e}",
    "{e}",
    "pass",
    "yield {e}",
    "raise ValueError({e})",
    "assert {e}, '{n}'",
    "# {n} = {e}",
    "# if {e}:",
    "{n} = 1; {n} = {e}",
    "{n} = {n}.sort()",
    "'{n} = {e}'",
    "import {n}",
    "{n} = (\n    {e},\n    2,\n)",
    '{n} = """a\n    b"""',
)
_COMPOUND = (
    "if {e}:\n{0}",
    "if {e}:\n{0}else:\n{1}",
    "if {e}:\n{0}elif {e}:\n{1}else:\n{2}",
    "if {e}: {n} = {e}",
    "for {n} in {e}:\n{0}",
    "for {n} in {e}:\n{0}else:\n{1}",
    "while {e}:\n{0}",
    "while {e}:\n{0}    break\n",
    "try:\n{0}except ValueError:\n{1}",
    "try:\n{0}except (KeyError, OSError) as {n}:\n{1}finally:\n{2}",
    "with {e} as {n}:\n{0}",
    "def {n}({n}=[], *args):\n{0}",
    "class {n}(base):\n    def f(self, x=None):\n    {0}",
)
_VALUES = (
    "1",
    "'text'",
    "{n}",
    "{n}.{n}",
    "{n}[{n}]",
    "{n}['key']",
    "{n}({n}, 1)",
    "self.{n}({n})",
    "{n} + 1",
    "{n} == {n}",
    "null",
    "{n}.length",
    "{n}.push({n})",
    "Math.max({n}, 2)",
    "[x for x in {n}]",
    "({n},\n        2)",
    "not {n}",
    "lambda: {n}",
    "{n} / {n}",
    "f'{{{n}}}'",
    "é",
)
_NAMES = ("rows", "total", "name", "i", "node", "datetime", "this")


@st.composite
def _values(draw: st.DrawFn) -> str:
    return draw(st.sampled_from(_VALUES)).format(n=draw(st.sampled_from(_NAMES)))


@st.composite
def _blocks(draw: st.DrawFn, depth: int = 0) -> str:
    lines = []
    for _ in range(draw(st.integers(1, 4))):
        deep = depth < 2 and draw(st.booleans())
        form = draw(st.sampled_from(_COMPOUND if deep else _SIMPLE))
        inner = [_deeper(draw(_blocks(depth + 1))) if f"{{{n}}}" in form else "" for n in range(3)]
        text = form.format(*inner, n=draw(st.sampled_from(_NAMES)), e=draw(_values()))
        lines.append(text if text.endswith("\n") else text + "\n")
    return "".join(lines) + "pass\n" * all(line.startswith("#") for line in lines)


def _deeper(text: str) -> str:
    return "".join(f"    {line}" for line in text.splitlines(keepends=True))


@st.composite
def _programs(draw: st.DrawFn) -> str:
    head = draw(st.sampled_from(("def f(rows, i=None):\n", "async def f(name, *, node=[]):\n")))
    text = head + _deeper(draw(_blocks()))
    return text if draw(st.booleans()) else text.rstrip("\n")


_TOLD = (
    ("AttributeError", "'NoneType' object has no attribute 'total'"),
    ("AttributeError", "'list' object has no attribute 'length'"),
    ("TypeError", "'int' object is not iterable"),
    ("TypeError", 'can only concatenate str (not "int") to str'),
    ("TypeError", "f() missing 1 required positional argument: 'rows'"),
    ("TypeError", "f() takes 1 positional argument but 2 were given"),
    ("TypeError", "'dict' object is not callable"),
    ("KeyError", "'key'"),
    ("IndexError", "list index out of range"),
    ("ZeroDivisionError", "division by zero"),
    ("UnboundLocalError", "cannot access local variable 'total'"),
    ("RecursionError", "maximum recursion depth exceeded"),
)


@settings(max_examples=25, derandomize=True)
@given(source=_programs(), told=st.sampled_from(_TOLD), line=st.integers(2, 12))
def test_every_edit_parses_and_changes_the_program(
    source: str, told: tuple[str, str], line: int
) -> None:
    try:
        compile(source, FILE, "exec")
    except (SyntaxError, ValueError):
        return
    own = ast.dump(ast.parse(source))
    offered = Value(type="dict", keys=("'a'", "'b'"), attributes=("totals", "names"))
    failure = failed(*told, line, missing_from=offered, rows=Value(type="NoneType"))
    for text, edit in proposed(source, failure).items():
        try:
            tree = ast.parse(text)
        except SyntaxError as error:
            pytest.fail(f"{edit.kind}: {edit.says}: {error}\n{source}\n---\n{text}")
        assert ast.dump(tree) != own, f"{edit.kind}: {edit.says}\n{source}"


def test_every_kind_is_told_in_a_line() -> None:
    assert all(text and "\n" not in text for text in KINDS.values())


LEDGER = '''
"""A ledger of small sums."""


class Ledger:
    def __init__(self, owner, entries=[]):
        self.owner = owner
        self.entries = entries

    def book(self, amount, note):
        """Book a sum."""
        if amount == 0:
            return
        self.entries.append((note, amount))

    def balance(self):
        total = 0
        for note, amount in self.entries:
            total += amount
        return total

    def largest(self):
        best = None
        for note, amount in self.entries:
            if best is None or amount > best[1]:
                best = (note, amount)
        return best
'''


def test_an_ordinary_function_gets_a_bounded_number_of_edits() -> None:
    assert len(proposed(LEDGER)) < 1500


def test_a_ledger_that_shares_its_entries_gets_its_own() -> None:
    before = "    def __init__(self, owner, entries=[]):\n"
    after = (
        "    def __init__(self, owner, entries=None):\n        if entries is None:\n"
        "            entries = []\n"
    )
    offers("default", LEDGER, LEDGER.replace(before, after))


def _at(source: str, marked: str, exception: str, message: str, **values: Value) -> Failure:
    """A failure on the line of a program that has a text."""
    lines = dedent(source).split("\n")
    line = next(n for n, text in enumerate(lines, 1) if marked in text)
    frame = Frame(file=FILE, line=line, function="f", values=values)
    return Failure(test="test_it", exception=exception, message=message, frames=(frame,))


NONE = Value(type="NoneType", repr="None")


def _mended(kind: str, source: str, old: str, new: str, failure: Failure | None = None) -> None:
    assert dedent(source).count(old) == 1
    wanted = dedent(source).replace(old, new)
    offers(kind, source, wanted, *([failure] if failure else []))


def test_a_route_that_finds_no_user_says_so() -> None:
    source = """
    class App:
        def __init__(self, users):
            self.users = users

        def show(self, name):
            user = self.users.get(name)
            if not name:
                return None
            return {"name": user.name, "mail": user.mail}
    """
    told = _at(source, "user.mail", "AttributeError", "'NoneType' object has …", user=NONE)
    line = '        return {"name": user.name'
    new = f"        if user is None:\n            return None\n{line}"
    _mended("guard", source, line, new, told)


def test_a_tokenizer_moves_on_behind_a_space() -> None:
    source = """
    def tokens(text):
        found = []
        i = 0
        while i < len(text):
            if text[i].isdigit():
                found.append(int(text[i]))
                i += 1
            else:
                found.append(text[i])
        return found
    """
    old = "            found.append(text[i])\n"
    _mended("borrow", source, old, f"{old}            i += 1\n")


def test_a_pipeline_gives_what_it_cleaned() -> None:
    source = """
    def clean(rows):
        kept = []
        for row in rows:
            row = {key.strip(): value for key, value in row.items()}
            if row.get("id"):
                kept.append(row)
    """
    old = "            kept.append(row)\n"
    _mended("return", source, old, f"{old}    return kept\n")


def test_a_client_waits_for_its_answer() -> None:
    source = """
    class Client:
        async def _get(self, path):
            return await self.session.get(path)

        async def user(self, number):
            answer = self._get(f"/users/{number}")
            return answer["name"]
    """
    _mended("await", source, "= self._get", "= await self._get")


def test_a_command_line_counts_words_it_has_not_seen() -> None:
    source = """
    import sys

    def count(lines):
        seen = {}
        for line in lines:
            for word in line.split():
                seen[word] += 1
        return seen
    """
    told = _at(source, "+= 1", "KeyError", "'a'")
    _mended("get", source, "seen[word] += 1", "seen[word] = seen.get(word, 0) + 1", told)


def test_a_shape_tells_its_parent_its_name() -> None:
    source = """
    class Shape:
        def __init__(self, name):
            self.name = name

    class Circle(Shape):
        def __init__(self, name, radius):
            self.radius = radius
    """
    old = "        self.radius"
    _mended("super", source, old, f"        super().__init__(name)\n{old}")


def test_a_retry_stops_once_it_has_an_answer() -> None:
    source = """
    def fetch(get, tries):
        answer = None
        for _ in range(tries):
            try:
                answer = get()
            except OSError:
                continue
        return answer
    """
    old = "            answer = get()\n"
    _mended("end_block", source, old, f"{old}            break\n")


def test_a_config_reader_passes_over_what_is_no_number() -> None:
    source = """
    def read(lines):
        values = {}
        for line in lines:
            key, _, text = line.partition("=")
            try:
                values[key] = int(text)
            except KeyError:
                values[key] = text
        return values
    """
    told = _at(source, "int(text)", "ValueError", "invalid literal for int()")
    _mended("catch", source, "KeyError", "ValueError", told)


def test_a_cache_is_emptied_before_it_is_filled() -> None:
    source = """
    class Cache:
        def load(self, rows):
            for row in rows:
                self.items = {}
                self.items[row.key] = row
            return len(self.items)
    """
    old = "        for row in rows:\n            self.items = {}\n"
    _mended("move_out", source, old, "        self.items = {}\n        for row in rows:\n")
