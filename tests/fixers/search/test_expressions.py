"""Every edit of an expression is a program again, and another one; each is proposed once."""

from __future__ import annotations

import ast
import sys
import time
from collections import Counter

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from runtrue.fixers.search.operators.expressions import KINDS
from tests.fixers.search.proposed import in_body, proposed, written

HEAD = "async def fetch(client, urls, name, age=3, **options):\n    seen = {}\n"
ODD = [
    "lines = (\n        urls[0]  # the first\n        + urls[1]\n    ).strip()",
    "for url, (a, b) in zip(urls, seen.items()): seen[url] = a",
    "while(not urls)and name or age:break",
    'if 0 < age <= 120 and name[-1:] != "/" or name is not None: seen[0] = 1',
    "seen[name] = await client.get(name, timeout=30, **options)",
    "total = sum(x for x in range(age, 0, -1) if x % 2 == 0)",
    "text = f\"{name!r:>{age}} is {age + 1:,d} {'quoted' if name else ''}\"",
    "ordered = sorted(urls, key=lambda one: (len(one), one), reverse=True)[1:-1:2]",
    'data = {key: value for key, value in seen.items() if key.startswith("ä") if value}',
    "first, *rest = urls or [None]",
    "print(name, *urls, sep='\\n', end='') if urls else print('nothing')",
    "a = b = -age ** 2 if(age < 18)else ~age & 0xFF",
    "if (n := len(urls)) > 10: return",
    'age -= 1; name += "x" "y"',
    "with open(urls[0]) as file, open(urls[1]) as other: pass",
    'assert urls[0].read(), "empty"',
    "yield (urls, age)",
    "del seen[name]",
    "x = name if age else (yield)",
    "pairs = [[i, j] for i in urls for j in i if i if j]",
    "seen[name], age = age, (name),",
]


def broken(text: str) -> list[str]:
    """The edits that give no program, or the same one."""
    same = ast.dump(ast.parse(text))
    found = []
    for edit in proposed(text):
        try:
            if ast.dump(ast.parse(edit.applied(text))) == same:
                found.append(f"{edit.says} changes nothing")
        except SyntaxError as error:
            found.append(f"{edit.says} at {edit.line}: {error}")
    return found


@pytest.mark.parametrize("line", ODD)
def test_every_edit_of_odd_code_is_another_program(line: str) -> None:
    assert broken(f"{HEAD}    {line}\n") == []


# -- expressions as they come -----------------------------------------------------------------

names = st.sampled_from(["a", "b", "count", "items", "self.name", "items[0]", "limit"])
atoms = names | st.sampled_from(["0", "1", "-2", "3.5", '"x"', "True", "None", "[]", "{}", "()"])


SIGNS = [
    *("+", "-", "*", "/", "//", "%", "**", "<<", "&", "|", "^", "<", "<=", "==", "!="),
    *("in", "not in", "is", "is not", "and", "or"),
]


def grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    signs = st.sampled_from(SIGNS)
    calls = st.sampled_from(["len", "max", "min", "sorted", "a.append", "range", "str", "missing"])
    two = st.tuples(inner, inner)
    return st.one_of(
        st.tuples(inner, signs, inner).map(lambda p: f"{p[0]} {p[1]} {p[2]}"),
        inner.map(lambda one: f"({one})"),
        inner.map(lambda one: f"(\n    {one}  # why\n)"),
        inner.map(lambda one: f"not {one}"),
        inner.map(lambda one: f"-({one})"),
        st.tuples(calls, inner).map(lambda p: f"{p[0]}({p[1]})"),
        st.tuples(calls, inner, inner).map(lambda p: f"{p[0]}({p[1]}, {p[2]})"),
        two.map(lambda p: f"sorted({p[0]}, key=lambda x: {p[1]})"),
        two.map(lambda p: f"items[{p[0]}:{p[1]}]"),
        two.map(lambda p: f"items[({p[0]})][{p[1]}]"),
        two.map(lambda p: f"({p[0]}, {p[1]})"),
        two.map(lambda p: f"[{p[0]}, {p[1]}]"),
        two.map(lambda p: f"{{{p[0]}: {p[1]}}}"),
        st.tuples(inner, inner, inner).map(lambda p: f"({p[0]} if {p[1]} else {p[2]})"),
        two.map(lambda p: f"[{p[0]} for x in items if {p[1]}]"),
        two.map(lambda p: f"sum({p[0]} for x in ({p[1]}))"),
        inner.map(lambda one: f"(x := {one})"),
        two.map(lambda p: f"({p[0]})({p[1]})"),
        names.map(lambda one: f"f'{{{one}}} of {{{one}!r:>10}}'"),
    )


expressions = st.recursive(atoms, grown, max_leaves=5)
places = st.sampled_from(
    [
        *("count = {}", "return {}", "if {}: pass", "count += {}", "a.append({})", "a[{}] = b"),
        *("while({}):break", "assert {}, a", "for x in {}: b = x", "a, b = {}, b", "f(a)[0]({})"),
    ]
)


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(place=places, one=expressions)
def test_every_edit_of_any_expression_is_another_program(place: str, one: str) -> None:
    text = f"def f(self, a, b, items, limit=1):\n    count = 0\n    {place.format(one)}\n"
    try:
        ast.parse(text)
    except SyntaxError:
        assume(False)
    assert broken(text) == []


# -- how many, how fast -----------------------------------------------------------------------


def test_the_same_text_is_proposed_at_a_node_only_once() -> None:
    text = in_body("best = max(best, prices[i] - prices[j - 1])")
    made = Counter(edit.splices for edit in proposed(text) if len(edit.splices) == 1)
    assert [one for one, times in made.items() if times > 1] == []


def test_a_function_of_common_size_has_edits_enough_and_not_too_many_soon() -> None:
    text = in_body("best = max(best, prices[i] - prices[j - 1])")
    before = time.process_time()
    number = sum(1 for _ in proposed(text))
    assert 300 < number < 2500
    # Ten times what it takes, for a machine that has other things to do.
    assert time.process_time() - before < 1.5


def test_all_kinds_are_described_and_edits_say_what_they_do() -> None:
    for edit in proposed("".join([in_body("pass"), *(f"{HEAD}    {line}\n" for line in ODD)])):
        assert edit.kind in KINDS
        assert edit.says
        assert 1.0 <= edit.unlikely <= 10.0


def test_annotations_docstrings_and_the_fixed_parts_of_texts_are_left_alone() -> None:
    text = '''\
        def greet(name: str, times: int = 1) -> str:
            """Say hello 1 time."""
            return f"hello {name} 2"
    '''
    for made in written(text):
        assert "name: str" in made
        assert "-> str:" in made
        assert "Say hello 1 time." in made
        assert 'f"hello {' in made or 'return f"' not in made


@pytest.mark.skipif(sys.version_info < (3, 11), reason="f-strings are placed from here on")
def test_what_an_f_string_shows_can_be_put_right() -> None:
    text = 'def show(first, last):\n    return f"{first} {first}"\n'
    assert text.replace(" {first}", " {last}") in written(text)
