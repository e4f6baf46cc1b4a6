"""Go: the profile of `go test -coverprofile`, which counts blocks from one place to another."""

from __future__ import annotations

import re
from collections.abc import Iterator

from runtrue.checks.coverage.files import Collected
from runtrue.checks.go_modules import Modules

_BLOCK = re.compile(
    r"^(?P<package>.+)/(?P<file>[^/]+\.go):(?P<first>\d+)\.(?P<from>\d+),(?P<last>\d+)\.(?P<to>\d+)"
    r" (?P<statements>\d+) (?P<count>\d+)$"
)
_COMMENT = re.compile(rb"//.*")


def read_go_profile(data: bytes, collected: Collected) -> None:
    """Collect what a profile says. Raises ValueError when a line of it is none."""
    modules = Modules(collected.workplace)
    texts: dict[str, list[bytes]] = {}
    for line in data.decode(errors="replace").splitlines():
        if not line or line.startswith("mode: "):
            continue
        block = _BLOCK.match(line)
        if block is None:
            raise ValueError(f"{line!r} is no line of a profile")
        place = modules.place(block["package"], block["file"])
        name = place and collected.own(str(collected.workplace.root / place.file))
        if name and int(block["statements"]):
            if name not in texts:
                texts[name] = (collected.workplace.root / name).read_bytes().splitlines()
            count = int(block["count"])
            collected.add(name, ((number, count) for number in _code(block, texts[name])))


def _code(block: re.Match[str], text: list[bytes]) -> Iterator[int]:
    """The lines of a block that hold some of its code: not the brace before it, say."""
    first, last = int(block["first"]), int(block["last"])
    for number in range(first, min(last, len(text)) + 1):
        # Columns count bytes, and the block ends before the last.
        end = int(block["to"]) - 1 if number == last else None
        start = int(block["from"]) - 1 if number == first else 0
        if _COMMENT.sub(b"", text[number - 1][start:end]).strip(b"{}() \t"):
            yield number
