"""Siblings: a function gets what others like it have."""

from __future__ import annotations

from tests.fixers.search.trying import offers, proposed

GUARDS = """\
    def spoiler(text, depth):
        if depth >= MOST:
            return None
        return text.upper()

    def ruby(text, depth):
        {guard}return text.lower()

    MOST = 3
    """


def test_the_guard_of_other_functions_is_added() -> None:
    wanted = "if depth >= MOST:\n            return None\n        "
    offers("sibling_code", GUARDS.format(guard=""), GUARDS.format(guard=wanted))


def test_a_guard_about_other_names_is_not() -> None:
    source = GUARDS.format(guard="").replace("def ruby(text, depth)", "def ruby(text)")
    assert not [one for one in proposed(source).values() if "as in `spoiler`" in one.says]


def test_a_branch_of_another_chain_is_added() -> None:
    source = """\
    def one(key, out, extra):
        if key in out:
            return 1
        elif extra == "keep":
            out[key] = 2
        return out

    def two(key, out, extra):
        if key in out:
            return 2
        return out
    """
    wanted = source.replace(
        "            return 2\n",
        '            return 2\n        elif extra == "keep":\n            out[key] = 2\n',
    )
    offers("sibling_code", source, wanted)


def test_the_same_is_done_for_a_parameter_that_nothing_uses() -> None:
    source = """\
    class Link:
        def clear(self, host=None, port=None):
            if host is True:
                self.host = ""
            return self
    """
    wanted = source.replace(
        "            return self",
        '            if port is True:\n                self.port = ""\n            return self',
    )
    offers("sibling_code", source, wanted)


def test_the_same_is_done_for_a_parameter_that_is_used_raw() -> None:
    source = """\
    class Span:
        def __init__(self, years=0, months=0, days=0):
            if not isinstance(years, Decimal):
                years = Decimal(str(years))
            self.years = years
            self.months = months
            self.rest = delta(days=days)
    """
    wanted = source.replace(
        "            self.years",
        "            if not isinstance(months, Decimal):\n"
        "                months = Decimal(str(months))\n"
        "            self.years",
    )
    offers("sibling_code", source, wanted)
    # Once for each: what is done already is not done again.
    assert not [one for one in proposed(wanted).values() if "`years` as for `months`" in one.says]


def test_a_call_gets_the_arguments_of_another_call() -> None:
    source = """\
    def load(read, text, salt):
        return read.loads(text, salt=salt)

    def load_unsafe(read, text, salt):
        return read.loads_unsafe(text)
    """
    wanted = source.replace("loads_unsafe(text)", "loads_unsafe(text, salt=salt)")
    assert wanted.replace("    def", "def").strip()
    offers("sibling_code", source, wanted)
