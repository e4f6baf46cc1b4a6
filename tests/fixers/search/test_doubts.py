"""An edit that only gets a check out of the way is doubted."""

from __future__ import annotations

import pytest

from runtrue.fixers.search.doubts import (
    DROPS_A_CHECK,
    asks_nothing,
    copies_a_text,
    dodges,
    raises_by_accident,
    writes_none_out,
)
from runtrue.fixers.search.edit import Edit, Splice
from runtrue.fixers.search.evidence import Failure, Frame, Value
from runtrue.fixers.search.localise import Suspicion
from runtrue.fixers.search.priors import Priors
from runtrue.fixers.search.program import Program
from runtrue.fixers.search.proposals import Proposals

TAX = """\
def with_tax(net, kind="other"):
    if net < 0:
        raise ValueError("net amount")
    return round(net * 1.19, 2)
"""


def refused(test: str = "test_tax.py::test_refund", line: int = 3) -> Failure:
    frame = Frame(file="tax.py", line=line, function="with_tax")
    return Failure(test=test, exception="ValueError", message="net amount", frames=(frame,))


def doubts(text: str, *failures: Failure) -> dict[str, str | None]:
    """The programs that are proposed, with what is doubted of each."""
    lines = dict.fromkeys(range(1, text.count("\n") + 1), 0.5)
    priors = Priors.for_(failures, {})
    found = Proposals({"tax.py": text}, Suspicion(lines={"tax.py": lines}), failures, priors)
    return {one.texts({"tax.py": text})["tax.py"]: one.doubt for one in found.singles()}


@pytest.mark.parametrize(
    "condition", ["0 < 0", "abs(net) < 0", "net < 0 and not net", "net > 0", "net >= 0", "net == 0"]
)
def test_a_check_that_refuses_nothing_of_what_it_refused_is_dropped(condition: str) -> None:
    after = TAX.replace("net < 0", condition)
    assert doubts(TAX, refused())[after] == DROPS_A_CHECK


def test_a_check_behind_the_end_of_its_block_is_dropped() -> None:
    head, check, result = TAX.partition('    if net < 0:\n        raise ValueError("net amount")\n')
    assert doubts(TAX, refused())[head + result + check] == DROPS_A_CHECK


@pytest.mark.parametrize("condition", ["net < -1", "net <= 0", "net < 0 and not kind"])
def test_a_check_that_still_refuses_some_of_it_is_one(condition: str) -> None:
    assert doubts(TAX, refused()).get(TAX.replace("net < 0", condition)) is None


@pytest.mark.parametrize(
    "failures",
    [
        (refused("test_one"), refused("test_two")),
        (refused(), Failure(test="test_b", exception="Failed", message="DID NOT RAISE ValueError")),
    ],
)
def test_a_check_may_be_the_wrong_way_round_if_more_than_one_test_says_so(
    failures: tuple[Failure, ...],
) -> None:
    found = doubts(TAX, *failures)
    assert found[TAX.replace("<", ">")] is None
    assert found[TAX.replace("net < 0", "0 < 0")] == DROPS_A_CHECK


def test_a_check_that_has_refused_nothing_may_be_edited() -> None:
    elsewhere = refused(line=4)
    assert doubts(TAX, elsewhere)[TAX.replace("<", ">")] is None


def test_an_assertion_is_a_check_too() -> None:
    text = "def share(part, whole):\n    assert whole > 0\n    return part / whole\n"
    found = doubts(text, refused(line=2))
    assert found[text.replace("> 0", "<= 0")] == DROPS_A_CHECK
    assert found[text.replace("> 0", ">= 0")] is None


CACHE = """\
def put(cache, tokens, most):
    if len(cache) > most:
        free(cache)


def free(cache):
    for key in cache[0:1]:
        del cache[key]
"""


@pytest.mark.parametrize(
    ("old", "new", "kind", "is_dodging"),
    [
        ("len(cache)", "len(tokens)", "variable", True),
        ("> most", "< most", "comparison", True),
        ("len(cache) > most", "tokens and len(cache) > most", "condition_add", False),
        ("cache[key]", "cache[0]", "index", False),
    ],
)
def test_an_edit_dodges_where_the_code_that_raised_is_not_reached_any_more(
    old: str, new: str, kind: str, is_dodging: bool
) -> None:
    at = CACHE.index(old)
    splice = Splice(at, at + len(old), new)
    edit = Edit(file="cache.py", splices=(splice,), kind=kind, line=2, says="it")
    frames = tuple(
        Frame(file="cache.py", line=line, function=name) for line, name in ((3, "put"), (8, "free"))
    )
    failure = Failure(test="test_put", exception="TypeError", frames=frames)
    assert dodges(Program("cache.py", CACHE), edit, [failure]) is is_dodging


def test_a_check_that_refuses_too_much_may_be_changed() -> None:
    at = TAX.index("< 0")
    edit = Edit(
        file="tax.py", splices=(Splice(at, at + 3, "< -1"),), kind="constant", line=2, says="it"
    )
    assert not dodges(Program("tax.py", TAX), edit, [refused()])


ADDRESS = """\
def address(host):
    parts = []
    if isinstance(host, str):
        parts.append(host.encode("utf-8"))
    else:
        parts.append(clean(host.text("utf-8")))
    return join(parts, sep=b".")
"""


@pytest.mark.parametrize(
    ("old", "new", "is_accident"),
    [
        ('host.text("utf-8")', '("utf-8")', True),
        ("parts, sep", "host, sep", True),
        ('parts.append(clean(host.text("utf-8")))', "raise TypeError(host)", False),
        ('host.text("utf-8")', "check(host.text)", False),
        ("join(parts,", "join(parts, strict=True,", False),
        ("isinstance(host, str)", "parts", False),
    ],
)
def test_an_exception_that_a_test_waits_for_is_raised_on_purpose(
    old: str, new: str, is_accident: bool
) -> None:
    at = ADDRESS.index(old)
    splice = Splice(at, at + len(old), new)
    edit = Edit(file="a.py", splices=(splice,), kind="k", line=6, says="it")
    missed = Failure(test="t", exception="Failed", message="DID NOT RAISE <class 'TypeError'>")
    program = Program("a.py", ADDRESS)
    assert raises_by_accident(program, edit, [missed]) is is_accident
    other = Failure(test="t", exception="AssertionError", message="assert 1 == 2")
    assert not raises_by_accident(program, edit, [other])


def test_a_none_that_becomes_a_text_is_doubted() -> None:
    text = "def table(rows):\n    return title() + lines(rows)\n"
    at = text.index("title()")
    none = Failure(
        test="t",
        exception="TypeError",
        message='can only concatenate str (not "NoneType") to str',
        frames=(Frame(file="a.py", line=2, function="table"),),
    )

    def is_doubted(new: str, failure: Failure) -> bool:
        made = Splice(at, at + len("title()"), new)
        edit = Edit(file="a.py", splices=(made,), kind="wrap", line=2, says="")
        return writes_none_out(Program("a.py", text), edit, [failure])

    assert is_doubted("str(title())", none)
    assert not is_doubted('(title() or "")', none)
    number = Failure(test="t", exception="TypeError", message='(not "int") to str')
    assert not is_doubted("str(title())", number)


KINDS = """\
class Rows:
    pass

def shown(value, other):
    if isinstance(list, value):
        return ", ".join(value)
    return [value for one in value if one == other]
"""


@pytest.mark.parametrize(
    ("old", "new", "nothing"),
    [
        ("isinstance(list, value)", "list", True),
        ("isinstance(list, value)", "Rows", True),
        ("isinstance(list, value)", "isinstance(value, list)", False),
        ("isinstance(list, value)", "not len", True),
        ("isinstance(list, value)", "1", True),
        ("one == other", "other == other", True),
        ("one == other", "one is other", False),
        ("isinstance(list, value)", "value or list", True),
        ("isinstance(list, value)", "value", False),
    ],
)
def test_a_condition_that_is_always_the_same_asks_nothing(
    old: str, new: str, *, nothing: bool
) -> None:
    start = KINDS.index(old)
    one = Splice(start, start + len(old), new)
    edit = Edit(file="tax.py", splices=(one,), kind="k", line=1, says="")
    assert asks_nothing(Program("tax.py", KINDS), edit) is nothing


def test_another_assertion_in_place_of_the_one_that_failed_proves_nothing() -> None:
    text = "def read(left):\n    size = left\n    assert size == 0\n    return size + 1\n"
    frame = Frame(file="tax.py", line=3, function="read")
    failure = Failure(test="test_read", exception="AssertionError", frames=(frame,))

    def seems(old: str, new: str) -> bool:
        one = Splice(text.index(old), text.index(old) + len(old), new)
        edit = Edit(file="tax.py", splices=(one,), kind="k", line=3, says="")
        return dodges(Program("tax.py", text), edit, [failure])

    assert seems("size == 0", "size != 0")
    assert seems("== 0", "== 1")
    assert not seems("= left", "= left - 1")


@pytest.mark.parametrize(
    ("new", "copies"),
    [
        ("word.replace('%p', '2W')", True),
        ("'2W'", True),
        # A sign, what the program has as well, what no test wants, and a slip of the pen.
        ("word.replace('%', '')", False),
        ("word.replace('%p', 'weeks')", False),
        ("word + 'never'", False),
        ("shown('P2%p')", False),
    ],
)
def test_a_text_that_only_the_failing_test_has_is_a_copied_answer(
    new: str, *, copies: bool
) -> None:
    text = "NAMES = {'weeks': 7}\n\ndef write(word):\n    return shown('P2%q', word)\n"
    old = "shown('P2%q', word)"
    got, wanted = Value(type="str", repr="'P%p'"), Value(type="str", repr="'P2W, P2%p'")
    failure = Failure(
        test="t", exception="AssertionError", actual=got, expected=wanted, operator="=="
    )
    at = text.index(old)
    splice = Splice(at, at + len(old), new)
    edit = Edit(file="a.py", splices=(splice,), kind="transform", line=4, says="it")
    assert copies_a_text(Program("a.py", text), edit, [failure]) is copies
