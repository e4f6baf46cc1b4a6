"""Every sentence that a user can see, found in the source: `python -m tests.sentences` lists them.

What is shown, raised, or said in help is text in the code: any string of three words or more that
is not a docstring, and the docstrings of commands. A review of the words begins with this list.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "src" / "runtrue"
#: What is no sentence for a user: word lists of the planner, edits of programs, generated code.
_OTHER = ("fixers/search", "planner/built_in/words", "fields/query.py", "planner/words.py")
_STATEMENTS = ("SELECT ", "INSERT ", "UPDATE ", "DELETE ", "CREATE ", "PRAGMA ", "WITH ", "ALTER ")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A text in the source; `{}` stands for what is filled in."""

    file: Path
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.file.relative_to(SOURCE.parents[1])}:{self.line}: {self.text}"


def sentences() -> Iterator[Sentence]:
    """Yield every sentence, file by file."""
    for file in sorted(SOURCE.rglob("*.py")):
        name = file.relative_to(SOURCE).as_posix()
        if not name.startswith(_OTHER):
            yield from _of_file(file, is_command=name.startswith("cli/"))


def _of_file(file: Path, *, is_command: bool) -> Iterator[Sentence]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    helps, other = _docstrings(tree)
    parts = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        for part in ast.walk(node)
        if part is not node
    }
    for node in ast.walk(tree):
        if id(node) in other or id(node) in parts or (id(node) in helps and not is_command):
            continue
        text = _text(node)
        if text.count(" ") >= 2 and not text.lstrip().startswith(_STATEMENTS):
            yield Sentence(file, getattr(node, "lineno", 0), " ".join(text.split()))


def _docstrings(tree: ast.Module) -> tuple[set[int], set[int]]:
    """Return the docstrings of commands, and all others."""
    helps: set[int] = set()
    other: set[int] = set()
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(tree):
        if isinstance(node, kinds) and node.body and isinstance(node.body[0], ast.Expr):
            is_help = isinstance(node, ast.FunctionDef) and any(
                "command" in ast.unparse(one) or "group" in ast.unparse(one)
                for one in node.decorator_list
            )
            (helps if is_help else other).add(id(node.body[0].value))
    return helps, other


def _text(node: ast.AST) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        parts = node.values
        return "".join(str(one.value) if isinstance(one, ast.Constant) else "{}" for one in parts)
    return ""


if __name__ == "__main__":
    for sentence in sentences():
        print(sentence)
