"""Comments: V8 knows nothing of them, so that reports made from what it says count their lines."""

from __future__ import annotations

from pathlib import Path


def lines_without_code(file: Path) -> set[int]:
    """The lines of a file in JavaScript or TypeScript that hold a comment or nothing."""
    found = set()
    is_comment = False
    text = file.read_text(encoding="utf-8", errors="replace")
    for number, line in enumerate(text.splitlines(), 1):
        code = line.strip()
        is_comment = is_comment or code.startswith("/*")
        if is_comment:
            _, end, after = code.partition("*/")
            is_comment = not end
            code = after.strip() if end else ""
        if not code or code.startswith("//"):
            found.add(number)
    return found
