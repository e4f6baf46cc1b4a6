"""Lines that hold code, for reports that do not say: V8's, and those of unmeasured files."""

from __future__ import annotations

from pathlib import Path

from runtrue.checks.framework import Language, language_of


def lines_with_code(file: Path) -> set[int]:
    """Return the lines of a file that could run; none for a file that does not exist."""
    if not file.is_file():
        return set()
    text = file.read_text(encoding="utf-8", errors="replace")
    return set(range(1, len(text.splitlines()) + 1)) - lines_without_code(file)


def lines_without_code(file: Path) -> set[int]:
    """Return the lines of a file that hold a comment, a docstring, or nothing."""
    text = file.read_text(encoding="utf-8", errors="replace")
    return _in_python(text) if language_of(file.name) is Language.PYTHON else _in_others(text)


def _in_python(text: str) -> set[int]:
    import ast

    lines = text.split("\n")
    found = {n for n, line in enumerate(lines, 1) if not line.strip() or line.lstrip()[0] == "#"}
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError):
        return found
    for node in nodes:
        match node:
            case ast.Expr(value=ast.Constant(value=str()), lineno=first, end_lineno=last):
                # Not that of a function on the same line.
                if not lines[first - 1][: node.col_offset].strip():
                    found.update(range(first, (last or first) + 1))
    return found


def _in_others(text: str) -> set[int]:
    found = set()
    is_comment = False
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
