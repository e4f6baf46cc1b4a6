"""The pages, their code blocks, and the parts of them that are written by the program."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
DOCS = ROOT / "docs"

_BLOCK = re.compile(
    r"^(?P<fence>`{3,})(?P<language>[\w-]*)[^\n]*\n(?P<text>.*?)^(?P=fence)[ ]*$", re.M | re.S
)


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block of code."""

    page: Path
    line: int
    language: str
    text: str
    #: What comes right after it, up to the next block and including that.
    after: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def pages() -> list[Path]:
    """Every page, the README first."""
    return [README, *sorted(DOCS.rglob("*.md"))]


def blocks(page: Path, *languages: str) -> Iterator[Block]:
    """The code blocks of a page in these languages."""
    text = page.read_text(encoding="utf-8")
    for match in _BLOCK.finditer(text):
        if match["language"] in languages:
            line = text.count("\n", 0, match.start()) + 1
            following = _BLOCK.search(text, match.end())
            after = text[match.end() : following.end() if following else len(text)]
            yield Block(page, line, match["language"], match["text"], after)


def all_blocks(*languages: str) -> list[Block]:
    """The code blocks of all pages in these languages."""
    return [block for page in pages() for block in blocks(page, *languages)]


def region(text: str, name: str) -> str:
    """The part of a page between its two markers."""
    match = _region(name).search(text)
    if match is None:
        raise LookupError(f"there are no markers <!-- begin {name} --> and <!-- end {name} -->")
    return match["content"]


def with_region(text: str, name: str, content: str) -> str:
    """The page with another content between the two markers."""
    region(text, name)
    return _region(name).sub(lambda match: f"{match['begin']}{content}{match['end']}", text)


def _region(name: str) -> re.Pattern[str]:
    name = re.escape(name)
    return re.compile(
        rf"(?P<begin><!-- begin {name} -->\n)(?P<content>.*?)(?P<end><!-- end {name} -->)", re.S
    )
