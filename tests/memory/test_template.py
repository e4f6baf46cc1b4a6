"""Templates: a fix can be made again where it was made, and where other names are used."""

from __future__ import annotations

import difflib
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtrue.memory import FixTemplate, TemplateMatch, find_matches, template_of, unique_match
from runtrue.memory.template import dump_template, load_template
from runtrue.memory.tokens import read_line


def diff(old: str, new: str, file: str = "app.py") -> str:
    lines = difflib.unified_diff(
        old.split("\n"), new.split("\n"), f"a/{file}", f"b/{file}", lineterm=""
    )
    return "\n".join(lines)


def template(old: str, new: str) -> FixTemplate:
    made = template_of(diff(old, new))
    assert made is not None
    return made


def places(made: FixTemplate, text: str) -> list[TemplateMatch]:
    return find_matches(made, made.files[0], text)


def result(made: FixTemplate, text: str, *blamed: int) -> str | None:
    place = unique_match(places(made, text), blamed)
    return place.text if place else None


# -- what holds for every diff ------------------------------------------------------------------

NAMES = ["alpha", "beta", "gamma"]
SPELLED = (*NAMES, "return", "if", "7", '"text"', "+", "(", ")", "=", ".")


@st.composite
def edits(draw: st.DrawFn, spelled: tuple[str, ...] = (*SPELLED, "'")) -> tuple[str, str]:
    """A text, and the same with one or two runs of lines replaced."""
    indents = st.sampled_from(["", "    ", "        ", "\t"])
    words = st.lists(st.sampled_from(spelled), max_size=5)
    line = st.tuples(indents, words).map(lambda parts: parts[0] + " ".join(parts[1]))
    lines = draw(st.lists(line, min_size=1, max_size=10))
    new = list(lines)
    for _ in range(draw(st.integers(1, 2))):
        begin = draw(st.integers(0, len(new)))
        end = draw(st.integers(begin, min(len(new), begin + 3)))
        new[begin:end] = draw(st.lists(line, max_size=3))
    return "\n".join(lines), "\n".join(new)


@given(edits())
def test_made_again_in_the_old_text_it_gives_the_new_one(pair: tuple[str, str]) -> None:
    old, new = pair
    made = template_of(diff(old, new))
    if made is not None:
        found = places(made, old)
        assert new in {place.text for place in found if place.exact}


@given(edits(SPELLED), st.permutations(["one", "two", "three"]))
def test_made_again_under_other_names_it_gives_the_new_text_under_those(
    pair: tuple[str, str], others: list[str]
) -> None:
    old, new = pair
    made = template_of(diff(old, new))
    if made is None:
        return
    renamed = {name: other for name, other in zip(NAMES, others, strict=True) if name in made.holes}

    def under_others(text: str) -> str:
        for name, other in renamed.items():
            text = text.replace(name, other)
        return text

    assert under_others(new) in {place.text for place in places(made, under_others(old))}


@given(edits())
def test_it_survives_being_kept(pair: tuple[str, str]) -> None:
    made = template_of(diff(*pair))
    if made is not None:
        kept = load_template(dump_template(made))
        assert kept == made
        assert kept.key == made.key


@given(st.text(st.characters(exclude_characters="\n")))
def test_a_line_is_its_tokens(text: str) -> None:
    line = read_line(text)
    joined = "".join(token.space + token.text for token in line.tokens)
    assert line.indent + joined + line.tail == text


@given(edits(), st.text())
def test_any_text_can_be_looked_at(pair: tuple[str, str], text: str) -> None:
    made = template_of(diff(*pair))
    if made is not None:
        unique_match(places(made, text))


@given(st.text())
def test_any_text_can_be_taken_for_a_diff(text: str) -> None:
    template_of(text)
    template_of(f"--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n{text}")


# -- examples -----------------------------------------------------------------------------------

TAX = "def with_tax(net):\n    rate = 1.9\n    return net * rate\n"
TAX_MENDED = TAX.replace("1.9", "1.19")


@pytest.mark.parametrize(
    ("old", "new", "elsewhere", "mended"),
    [
        pytest.param(
            *(TAX, TAX_MENDED),
            "class Till:\n\tdef gross(sum):\n\t\tr = 1.9\n\t\treturn sum\n",
            "class Till:\n\tdef gross(sum):\n\t\tr = 1.19\n\t\treturn sum\n",
            id="deeper, with other blanks",
        ),
        pytest.param(
            *("a = get(user)\nb = a.size\n", "a = get(user)\nb = a.size if a else 0\n"),
            "row = get(item)\n\nn  =  row.size\n",
            "row = get(item)\n\nn  =  row.size if row else 0\n",
            id="names",
        ),
        pytest.param(
            "function check(input) {\n  return input.length > 0;\n}\n",
            "function check(input) {\n  if (!input) return false;\n  return input.length > 0;\n}\n",
            "function valid(text) {\n  return text.length > 0;\n}\n",
            "function valid(text) {\n  if (!text) return false;\n  return text.length > 0;\n}\n",
            id="an added line",
        ),
        pytest.param(
            *("x = 1\nlog(x)\ny = 2\n", "x = 1\ny = 2\n"),
            *("q = 5\nlog(q)\nr = 6\n", "q = 5\nr = 6\n"),
            id="a line that goes",
        ),
        pytest.param(
            *("if a:\n    if b:\n        go(a, b)\n", "if a and b:\n    go(a, b)\n"),
            "    if x:\n        if y:\n            go(x, y)\n",
            "    if x and y:\n        go(x, y)\n",
            id="a change of depth",
        ),
        pytest.param(
            *("total = a - b\n", "total = a + b\n"),
            *("total = a - b\r\nother = 1\r\n", "total = a + b\r\nother = 1\r\n"),
            id="other line ends",
        ),
        pytest.param(
            *('say("hi", name)\n', 'say("hi", name or "hi")\n'),
            *("say('ho', who)\n", "say('ho', who or 'ho')\n"),
            id="a string",
        ),
        pytest.param(
            *("return add(price, rate)\n", "return add(price, price * rate, 1)\n"),
            *("return add(cost,rate)\n", "return add(cost,cost * rate,1)\n"),
            id="commas as they are there",
        ),
        pytest.param(
            *("total = price * rate\n", "total = price * rate / 100\n"),
            *("sum = price*tax\n", "sum = price*tax/100\n"),
            id="operators as they are there",
        ),
        pytest.param(
            *("x = read(name)\n", 'x = read(name, mode="r")\n'),
            *("a = 'one'\nb = read(path)\n", "a = 'one'\nb = read(path, mode='r')\n"),
            id="quotes as they are there",
        ),
        pytest.param(
            *("def f(a):\n    go(a)\n", "def f(a):\n    if a:\n        go(a)\n"),
            *("def g(b):\n  go(b)\n", "def g(b):\n  if b:\n    go(b)\n"),
            id="depth as it is there",
        ),
    ],
)
def test_it_is_made_again_elsewhere(old: str, new: str, elsewhere: str, mended: str) -> None:
    assert result(template(old, new), elsewhere) == mended


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("rate = 1.7\n", id="what is replaced is another"),
        pytest.param("rate = rate\n", id="of another kind"),
        pytest.param("rate = 1.9 + 1\n", id="there is more on the line"),
        pytest.param("for = 1.9\n", id="a word of the language is not a name"),
        pytest.param(TAX_MENDED, id="it is mended already"),
        pytest.param("", id="nothing there"),
    ],
)
def test_it_fits_nowhere_else(text: str) -> None:
    assert places(template("rate = 1.9\n", "rate = 1.19\n"), text) == []


def test_names_that_were_two_are_not_one_elsewhere() -> None:
    made = template("area = a * b\n", "area = a + b\n")
    assert result(made, "area = x * y\n") == "area = x + y\n"
    assert result(made, "area = x * x\n") is None


def test_a_name_that_is_to_be_filled_in_must_be_known() -> None:
    made = template("def area(a, b):\n    return a\n", "def area(a, b):\n    return a * b\n")
    assert result(made, "def size(x, y):\n    return x\n") == "def size(x, y):\n    return x * y\n"
    assert result(made, "lambda x, y:\n    return x\n") is None


# -- the one place ------------------------------------------------------------------------------

TWICE = "def f(a):\n    n = a - 1\n\ndef g(b):\n    m = b - 1\n"
MINUS = ("def h(c):\n    k = c - 1\n", "def h(c):\n    k = c + 1\n")


def test_of_two_places_neither_is_meant_unless_one_is_blamed() -> None:
    made = template(*MINUS)
    assert len(places(made, TWICE)) == 2
    assert result(made, TWICE) is None
    assert result(made, TWICE, 5) == TWICE.replace("b - 1", "b + 1")
    assert result(made, TWICE, 2) == TWICE.replace("a - 1", "a + 1")
    assert result(made, TWICE, 4) is None


def test_the_same_words_are_meant_before_others() -> None:
    made = template(*MINUS)
    text = f"{TWICE}\n{MINUS[0]}"
    assert result(made, text) == f"{TWICE}\n{MINUS[1]}"


def test_the_lines_around_tell_places_apart() -> None:
    text = "open(door)\nlock = 0\nshut(door)\nlock = 0\nend()\n"
    made = template(text, "open(door)\nlock = 1\nshut(door)\nlock = 0\nend()\n")
    assert result(made, text) == text.replace("lock = 0", "lock = 1", 1)


def test_what_is_specific_weighs_more() -> None:
    made = template(*MINUS)
    (same,), (other,) = places(made, MINUS[0]), places(made, "z = w - 1\n")
    assert same.exact
    assert not other.exact
    assert same.weight > other.weight
    (lone,) = places(template("x\n", "y\n"), "x\n")
    assert lone.tokens == 1


# -- diffs --------------------------------------------------------------------------------------


def git_diff(directory: Path, old: dict[str, str], new: dict[str, str]) -> str:
    for name, files in (("a", old), ("b", new)):
        for file, text in files.items():
            path = directory / name / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())
    done = subprocess.run(
        ["git", "diff", "--no-index", "--no-color", "--no-prefix", "a", "b"],
        cwd=directory,
        capture_output=True,
        check=False,
    )
    return done.stdout.decode()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("x = 1\ny = 2", "x = 1\ny = 2\n"),
        ("x = 1\ny = 2\n", "x = 1\ny = 2"),
        ("x = 1\ny = 2", "x = 1\ny = 3"),
        ("x = 1\r\ny = 2\r\n", "x = 1\r\ny = 3\r\n"),
        ("x = 1\n-- y\n++ z\n", "x = 1\n-- y2\n++ z2\n"),
        ("a\n" * 3 + "".join(f"{n}\n" for n in range(20)) + "q = 1\n", "b\n" * 2 + "q = 2\n"),
    ],
)
def test_git_diffs_are_read_to_the_last_newline(tmp_path: Path, old: str, new: str) -> None:
    made = template_of(git_diff(tmp_path, {"über x.py": old}, {"über x.py": new}))
    assert made is not None
    assert made.files[0].file == "über x.py"
    assert new in {place.text for place in places(made, old)}


def test_a_template_can_be_of_several_files_and_leaves_out_what_is_not_wanted(
    tmp_path: Path,
) -> None:
    old = {"a.py": "x = 1\n", "tests/t.py": "t = 1\n", "z.py": "z = 1\n"}
    new = {file: text.replace("1", "2") for file, text in old.items()} | {"tests/n.py": "n = 1\n"}
    made = template_of(git_diff(tmp_path, old, new), keep=lambda file: "tests/" not in file)
    assert made is not None
    assert [file.file for file in made.files] == ["a.py", "z.py"]
    assert [part.files[0].file for part in made.parts()] == ["a.py", "z.py"]
    assert made.parts()[0].parts() == ()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param({}, {"a.py": "x = 1\n"}, id="a file that came"),
        pytest.param({"a.py": "x = 1\n"}, {}, id="a file that went"),
        pytest.param({"a.bin": "\0a"}, {"a.bin": "\0b"}, id="no text"),
        pytest.param({"a.py": "\n\n"}, {"a.py": "\nx\n\n"}, id="nothing to be found by"),
        pytest.param(
            {"a.py": "x\n"}, {"a.py": "".join(f"y{n}\n" for n in range(200))}, id="too much"
        ),
    ],
)
def test_what_is_more_than_changed_lines_has_no_template(
    tmp_path: Path, old: dict[str, str], new: dict[str, str]
) -> None:
    for side in ("a", "b"):
        (tmp_path / side).mkdir()
    assert template_of(git_diff(tmp_path, old, new)) is None


def test_fixes_that_differ_in_names_only_are_the_same() -> None:
    one = template("n = get(a) - 1\n", "n = get(a) + 1\n")
    same = template("m = get(b) - 1\n", "m = get(b) + 1\n")
    other = template("m = put(b) - 2\n", "m = put(b) + 1\n")
    assert one.key == same.key
    assert one.key != other.key


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"files": 3}', "no json"])
def test_what_is_no_template_is_none(text: str) -> None:
    assert load_template(text) is None
