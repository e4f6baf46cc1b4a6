"""Values get the type, and calls the arguments, that are needed."""

from __future__ import annotations

import pytest

from runtrue.fixers.search.evidence import Failure, Value
from tests.fixers.search.trying import failed, offers


def wrong_type(actual: str, expected: str) -> Failure:
    return Failure(
        test="test_it",
        exception="AssertionError",
        expected=Value(type=expected),
        actual=Value(type=actual),
    )


RESULTS = {
    ("map", "list"): ("return map(str, xs)", "return list(map(str, xs))"),
    ("list", "str"): ("return parts", 'return "".join(parts)'),
    ("list", "tuple"): ("return parts", "return tuple(parts)"),
    ("float", "int"): ("return a / b", "return int(a / b)"),
    ("int", "str"): ("return n", "return str(n)"),
}


@pytest.mark.parametrize("kinds", RESULTS)
def test_a_result_is_of_the_type_that_is_expected(kinds: tuple[str, str]) -> None:
    before, after = (f"def f(xs, parts, a, b, n):\n    {text}\n" for text in RESULTS[kinds])
    offers("convert", before, after, wrong_type(*kinds))


OPERANDS = {
    "text and a number": (
        'can only concatenate str (not "int") to str',
        "x = 'n: ' + n\n",
        "x = 'n: ' + str(n)\n",
    ),
    "a list and an item": (
        'can only concatenate list (not "int") to list',
        "path = path + node\n",
        "path = path + [node]\n",
    ),
    "a number of times": (
        "'int' object is not iterable",
        "for i in n:\n    pass\n",
        "for i in range(n):\n    pass\n",
    ),
    "keys and values": (
        "cannot unpack non-iterable int object",
        "for k, v in prices:\n    pass\n",
        "for k, v in prices.items():\n    pass\n",
    ),
    "a list as a key": (
        "unhashable type: 'list'",
        "seen.add(row)\n",
        "seen.add(tuple(row))\n",
    ),
}


@pytest.mark.parametrize("rule", OPERANDS)
def test_an_operand_is_of_the_type_that_is_needed(rule: str) -> None:
    message, before, after = OPERANDS[rule]
    offers("convert", before, after, failed("TypeError", message, 1))


def test_what_cannot_be_called_is_looked_into() -> None:
    told = failed("TypeError", "'dict' object is not callable", 1)
    offers("use", "x = prices(name)\n", "x = prices[name]\n", told)


DEF = "def pay(amount, currency):\n    return amount\n\n\ndef f(amount, currency):\n"
ARGUMENTS = {
    "one too few": (
        "pay() missing 1 required positional argument: 'currency'",
        "    return pay(amount)\n",
        "    return pay(amount, currency)\n",
    ),
    "one too many": (
        "pay() takes 2 positional arguments but 3 were given",
        "    return pay(amount, currency, 1)\n",
        "    return pay(amount, currency)\n",
    ),
    "a wrong keyword": (
        "pay() got an unexpected keyword argument 'curency'",
        "    return pay(amount, curency=currency)\n",
        "    return pay(amount, currency=currency)\n",
    ),
}


@pytest.mark.parametrize("rule", ARGUMENTS)
def test_a_call_has_the_arguments_that_are_taken(rule: str) -> None:
    message, before, after = ARGUMENTS[rule]
    offers("arguments", DEF + before, DEF + after, failed("TypeError", message, 6))


def test_a_call_of_a_function_that_takes_only_keywords_gets_what_it_lacks() -> None:
    source = "def pay(*, amount):\n    return amount\n\n\ndef f(amount):\n    return pay()\n"
    message = "pay() missing 1 required keyword-only argument: 'amount'"
    offers(
        "arguments", source, source.replace("pay()", "pay(amount)"), failed("TypeError", message, 6)
    )
