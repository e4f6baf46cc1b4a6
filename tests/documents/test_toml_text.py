"""TOML is read with the line of every key."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtrue.documents import Source, read_toml
from runtrue.errors import ConfigError

TEXT = """\
top = 1

[a."b.c"]
'd' = 2
e.f = [
    1,
]

[[list]]
name = "one"
[[list]]
name = "two"
text = \"\"\"
top = 3
\"\"\"
"""


@pytest.mark.parametrize(
    ("pointer", "line"),
    [
        ((), 1),
        (("top",), 1),
        (("a", "b.c"), 3),
        (("a", "b.c", "d"), 4),
        (("a", "b.c", "e", "f", 0), 5),
        (("list", 0, "name"), 10),
        (("list", 1), 11),
        (("list", 1, "missing"), 11),
        (("nowhere",), 1),
    ],
)
def test_lines(tmp_path: Path, pointer: tuple[str | int, ...], line: int) -> None:
    file = tmp_path / "f.toml"
    file.write_text(TEXT)
    assert read_toml(file).line(pointer) == line


def test_a_source_reports_file_line_and_whole_key(tmp_path: Path) -> None:
    file = tmp_path / "f.toml"
    file.write_text(TEXT)
    source = Source(read_toml(file), ConfigError, ("a", "b.c"))
    assert source.data == {"d": 2, "e": {"f": [1]}}
    error = source.error(("d",), "is\nwrong")
    assert isinstance(error, ConfigError)
    assert str(error) == rf"{file}:4: a.b.c.d: is\nwrong"


def test_below_keys_that_are_not_there_is_nothing(tmp_path: Path) -> None:
    file = tmp_path / "f.toml"
    file.write_text(TEXT)
    assert Source(read_toml(file), ConfigError, ("top", "of", "it")).data == {}
