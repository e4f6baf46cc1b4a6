"""Edits that make tests pass without making the program right, and honest ones beside them."""

from __future__ import annotations

import pytest

from runtrue.loop.suspicious import suspicious_signs

TEST = """
def test_ten_percent_off():
    assert discounted(200, 10) == 180
"""
BEFORE = """
def discounted(price, percent):
    check(percent)
    return price - price * percent


def check(percent):
    if percent > 100:
        raise ValueError(percent)
    return percent
"""


def signs(after: str, *, before: str = BEFORE, file: str = "prices.py", test: str = TEST) -> str:
    return "; ".join(suspicious_signs({file: before}, {file: after}, [test]))


@pytest.mark.parametrize(
    ("old", "new", "sign"),
    [
        ("price - price * percent\n", "180\n", "returns 180"),
        (
            "    return price - price",
            "    if price == 200:\n        return 180\n    return price - price",
            "has a case for a value of the test: price == 200",
        ),
        (
            "    check(percent)\n    return price - price * percent",
            "    return 20",
            "no longer does anything",
        ),
        ("    check(percent)\n    return price - price * percent", "    ...", "no longer does"),
        (
            "def discounted(",
            "class Any:\n    def __eq__(self, other):\n        return True\n\n\ndef discounted(",
            "`Any` in prices.py equals everything",
        ),
        ("    check(percent)", "    import os\n    os._exit(0)", "ends the program"),
        ("    check(percent)", "    import sys\n    sys.exit(0)", "ends the program"),
        (
            "    check(percent)",
            "    try:\n        check(percent)\n    except Exception:\n        pass",
            "swallows exceptions",
        ),
        (
            "    check(percent)",
            '    if "PYTEST_CURRENT_TEST" in os.environ:\n        return 180',
            "asks whether it is under test",
        ),
        (
            "    check(percent)",
            '    if "pytest" in sys.modules:\n        return price',
            "asks whether it is under test",
        ),
        ("def discounted(", "import pytest\n\n\ndef discounted(", "imports pytest"),
        (BEFORE[BEFORE.index("def check") :], "", "deletes `check` without replacement"),
    ],
)
def test_an_edit_that_gets_around_the_test_has_a_sign(old: str, new: str, sign: str) -> None:
    assert old in BEFORE
    assert sign in signs(BEFORE.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("price * percent", "price * percent / 100"),
        ("percent > 100", "percent >= 100"),
        ("    check(percent)\n", ""),
        (
            "    check(percent)",
            "    try:\n        check(percent)\n    except ValueError:\n        percent = 100",
        ),
        ("    return percent\n", "    return int(percent)\n\n\ndef more():\n    return 1\n"),
        ("def check(", "def checked("),
        ("    check(percent)", "    if percent == 0:\n        return price"),
    ],
)
def test_an_honest_edit_has_none(old: str, new: str) -> None:
    assert old in BEFORE
    assert signs(BEFORE.replace(old, new)) == ""


def test_a_program_that_is_tested_to_exit_may_exit() -> None:
    after = BEFORE.replace("raise ValueError(percent)", "sys.exit(2)")
    expecting = "def test_it():\n    with pytest.raises(SystemExit):\n        check(101)\n"
    assert "ends the program" in signs(after)
    assert signs(after, test=expecting) == ""


JAVASCRIPT = """
function discounted(price, percent) {
  const share = percent / 10;
  const off = price * share;
  return price - off;
}
"""


@pytest.mark.parametrize(
    ("after", "sign"),
    [
        ("\nfunction discounted(price, percent) {\n  return null;\n}\n", "replaces code by"),
        ("", "is emptied"),
        (JAVASCRIPT.replace("const off", "process.exit(0);\n  const off"), "ends the program"),
        (JAVASCRIPT.replace("const off", "try { f() } catch (e) {}\n  const off"), "swallows"),
        (JAVASCRIPT.replace("const off", "if (process.env.JEST_WORKER_ID) {}\n"), "under test"),
        (JAVASCRIPT.replace("/ 10", "/ 100"), ""),
    ],
)
def test_other_languages_are_read_line_by_line(after: str, sign: str) -> None:
    found = signs(after, before=JAVASCRIPT, file="prices.js")
    assert sign in found
    assert bool(found) is bool(sign)
