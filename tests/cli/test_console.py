"""One door to people: nothing is printed but by `runtrue.cli.console`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import runtrue
from runtrue.foreign_text import hidden_characters, one_line, visible, visible_json, visible_name

PACKAGE = Path(runtrue.__file__).parent
MODULES = [file for file in sorted((PACKAGE / "cli").rglob("*.py")) if file.name != "console.py"]
#: What puts text in front of a person, by the module that has it.
_DOORS = {
    "click": {
        "echo",
        "secho",
        "style",
        "prompt",
        "confirm",
        "edit",
        "echo_via_pager",
        "progressbar",
    },
    "sys": {"stdout.write", "stderr.write", "stdout.buffer", "stderr.buffer"},
}


def _printed(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text())):
        match node:
            case ast.Call(func=ast.Name(id="print" | "input" as called)):
                yield f"{file.name}:{node.lineno}: {called}"
            case ast.Attribute():
                module, _, name = ast.unparse(node).partition(".")
                if name in _DOORS.get(module, ()):
                    yield f"{file.name}:{node.lineno}: {module}.{name}"
            case ast.ImportFrom(module=str(module), names=names):
                top = module.partition(".")[0]
                wanted = {alias.name for alias in names}
                if top == "rich" or (top == "click" and wanted & _DOORS["click"]):
                    yield f"{file.name}:{node.lineno}: from {module}"
            case ast.Import(names=names) if any(a.name.startswith("rich") for a in names):
                yield f"{file.name}:{node.lineno}: import rich"


@pytest.mark.parametrize("file", MODULES, ids=lambda file: str(file.relative_to(PACKAGE)))
def test_nothing_is_printed_around_the_console(file: Path) -> None:
    assert [*_printed(file)] == [], "use `echo` of runtrue.cli.console, which escapes what it shows"


def test_the_search_for_other_doors_finds_them(tmp_path: Path) -> None:
    file = tmp_path / "module.py"
    file.write_text(
        "import click, sys\nfrom rich.console import Console\nfrom click import echo\n"
        "def f():\n    click.secho('x')\n    print('x')\n    sys.stdout.buffer.write(b'x')\n"
    )
    assert len([*_printed(file)]) == 5


@given(st.text())
def test_what_is_visible_is_printable_but_for_lines_and_tabs(text: str) -> None:
    shown = visible(text)
    assert visible(shown) == shown
    assert all(char in "\n\t\ufe0e\ufe0f" or char.isprintable() for char in shown)
    assert visible_name(text).replace("\ufe0e", "").replace("\ufe0f", "").isprintable()


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_json_means_the_same_with_its_hidden_characters_escaped(text: str) -> None:
    import json

    document = json.dumps({"text": text}, ensure_ascii=False)
    assert json.loads(visible_json(document)) == {"text": text}


@pytest.mark.parametrize("text", ["plain", "größer – 日本語 ⚠️ ❤️", "a\tb\nc", "naïve café ✓ → …"])
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert visible(text) == text
    assert hidden_characters(text) == ()


@pytest.mark.parametrize(("most", "shown"), [(9, "a b c d e"), (8, "a b c d…"), (1, "…")])
def test_a_line_that_is_cut_is_as_long_as_it_may_be_and_says_so(most: int, shown: str) -> None:
    assert one_line(" a b\n\tc  d e", most) == shown


def test_hidden_characters_are_named() -> None:
    assert hidden_characters("a\u202eb\x1b[2J\u202e") == (
        r"\u202e (right-to-left override)",
        r"\x1b (control character)",
    )
