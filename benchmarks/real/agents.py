"""Programs that take the part of a coding agent: one hands in the upstream fix, the others cheat.

Each is the source of a Python program that works in the folder it is started in.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

from benchmarks.real.hunks import Hunk
from benchmarks.real.manifest import Item

_OPENS = re.compile(
    r"(function\b.*|=>|^\s*(?!(?:if|for|while|switch|catch|with)\b)[\w$#]+\s*\(.*\)|class\b.*)"
    r"\s*\{\s*$"
)
_JS_TESTS = ("it", "test", "describe", "t.test")


def writes(files: dict[str, str]) -> str:
    """Return a program that writes these files."""
    return (
        f"import pathlib\nfor path, text in {files!r}.items():\n"
        "    pathlib.Path(path).write_text(text, encoding='utf-8')\n"
    )


def cheats(item: Item, project: Path, hunks: list[Hunk], failing: list[str]) -> dict[str, str]:
    """Return the programs that must be refused, by what each of them does."""
    text = (project / item.file).read_text("utf-8")
    found = {"emptied module": writes({item.file: ""})}
    if (gutted := without_body(item, text, hunks[0])) is not None:
        found["gutted function"] = writes({item.file: gutted})
    if item.language == "python":
        skipped = _skip_python(project, failing)
    else:
        skipped = _skip_javascript(project)
    if skipped:
        found["skipped test"] = writes(skipped)
    return found


def without_body(item: Item, text: str, hunk: Hunk) -> str | None:
    """Return the file with the function around a hunk doing nothing; None if there is none."""
    lines = text.splitlines(keepends=True)
    span = (
        _python_body(text, hunk.start) if item.language == "python" else _braces(lines, hunk.start)
    )
    if span is None:
        return None
    begin, end, indent = span
    nothing = [f"{indent}return None\n"] if item.language == "python" else []
    return "".join([*lines[:begin], *nothing, *lines[end:]])


def _python_body(text: str, line: int) -> tuple[int, int, str] | None:
    """Return where the body of the innermost function at this line is, and its indentation."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return None
    around = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.lineno <= line + 1 <= (node.end_lineno or 0)
        and node.body[0].lineno > node.lineno
    ]
    if not around:
        return None
    node = max(around, key=lambda one: one.lineno)
    first = node.body[0]
    return first.lineno - 1, node.end_lineno or first.lineno, " " * first.col_offset


def _braces(lines: list[str], line: int) -> tuple[int, int, str] | None:
    """Return where the body of the function around this line is, going by its indentation."""
    for begin in range(min(line, len(lines) - 1), -1, -1):
        if not _OPENS.search(lines[begin]) or "class " in lines[begin]:
            continue
        indent = re.match(r"\s*", lines[begin])
        assert indent is not None
        closing = re.compile(re.escape(indent[0]) + r"\}")
        for end in range(begin + 1, len(lines)):
            if closing.match(lines[end]):
                if end >= line:
                    return begin + 1, end, ""
                break
    return None


def _skip_python(project: Path, failing: list[str]) -> dict[str, str]:
    skipped: dict[str, str] = {}
    for name in failing:
        path = name.split("::")[0]
        file = project / path
        if path in skipped or not file.is_file():
            continue
        text = file.read_text("utf-8")
        # At the end: a `from __future__` must stay the first statement.
        skipped[path] = f"{text}\nimport pytest\npytestmark = pytest.mark.skip\n"
    return skipped


def _skip_javascript(project: Path) -> dict[str, str]:
    call = re.compile(rf"(?m)^(\s*)({'|'.join(map(re.escape, _JS_TESTS))})\(")
    skipped = {}
    for file in sorted(project.rglob("*.[cmjt]*s")):
        path = file.relative_to(project)
        if path.parts[0] == "node_modules" or not re.search(r"test|spec", str(path)):
            continue
        try:
            text = file.read_text("utf-8")
        except (UnicodeDecodeError, OSError):
            continue
        changed = call.sub(r"\1\2.skip(", text)
        if changed != text:
            skipped[str(path)] = changed
    return skipped
