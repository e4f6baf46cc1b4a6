"""What is never read is put to use, and what is never set is set."""

from __future__ import annotations

from tests.fixers.search.trying import failed, offers, proposed

KEY = """\
def key(version):
    parts = split(version)
    build = parts[-1]
    return (parts[0], parts[1])
"""


def test_it_is_a_further_element_or_argument() -> None:
    offers("unread", KEY, KEY.replace("parts[1])", "parts[1], build)"))
    call = KEY.replace("(parts[0], parts[1])", "join(parts[0])")
    offers("unread", call, call.replace("parts[0])", "parts[0], build)"))


def test_it_is_read_in_place_of_another_name() -> None:
    source = """\
    def clean(text):
        short = text.strip()
        return [text]
    """
    offers("unread", source, source.replace("[text]", "[short]"))


def test_what_is_read_or_left_out_on_purpose_is_not() -> None:
    for read in ("print(build)", "_ = build", "locals()", "lambda: build"):
        source = KEY.replace("    return", f"    {read}\n    return")
        assert "unread" not in {edit.kind for edit in proposed(source).values()}, read


TABLE = """\
class Table:
    def widen(self, widths):
        self._given = widths

    def draw(self):
        if hasattr(self, "_widths"):
            return self._widths
        return self.measure()

    def measure(self):
        return self._given
"""


def test_an_attribute_that_is_read_and_never_set_is_set() -> None:
    offers("unread", TABLE, TABLE.replace("self._given = widths", "self._widths = widths"))


def test_a_private_attribute_that_is_set_and_never_read_is_read() -> None:
    source = """\
    class Total:
        def __init__(self, prices):
            self._prices = prices
            self._net = sum(prices)

        def net(self):
            return self._prices
    """
    offers("unread", source, source.replace("return self._prices", "return self._net"))


def test_a_parent_may_set_and_read_attributes() -> None:
    source = TABLE.replace("class Table:", "class Table(Base):")
    assert "unread" not in {edit.kind for edit in proposed(source).values()}


def test_a_function_that_nothing_calls_is_called() -> None:
    source = """\
    def can_hash(item):
        return hash(item) is not None

    def allowed(item):
        return not (isinstance(item, Hashable) and item in REFUSED)
    """
    wanted = source.replace("isinstance(item, Hashable)", "can_hash(item)")
    offers("unread", source, wanted)


def test_a_local_function_that_nothing_calls_is_called() -> None:
    source = """\
    def combine(pairs, how):
        _how = how or add
        return [how(one, other) for one, other in pairs]
    """
    offers("unread", source, source.replace("how(one", "_how(one"))


def test_it_is_asked_for_where_nothing_asks_for_it() -> None:
    source = """\
    def safe(name):
        plain = name.isascii()
        if name.isidentifier():
            return name
    """
    wanted = source.replace("if name.is", "if plain and name.is")
    offers("unread", source, wanted)


LINK = """\
class Link:
    def __init__(self, host, port):
        self.host = host

    def target(self):
        return self.host, self._port
"""


def test_an_attribute_that_nothing_sets_is_what_an_object_is_made_with() -> None:
    line = "        self.host = host\n"
    offers("unread", LINK, LINK.replace(line, line + "        self._port = port\n"))


def test_an_attribute_that_is_set_too_late_has_a_beginning() -> None:
    source = (
        LINK.replace("self._port", "self.open") + "\n    def begin(self):\n        self.open = 1\n"
    )
    line = "        self.host = host\n"
    missed = failed("AttributeError", "", 6, attribute="open")
    offers("unread", source, source.replace(line, line + "        self.open = None\n"), missed)
    assert not [one for one in proposed(source).values() if "self.open = None" in one.says]
