"""The hunks between two versions of a file, what they are called, and files without them."""

from __future__ import annotations

import ast
import difflib
import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

#: A group of hunks that is more than this many lines is not a small fix.
LARGEST = 12
#: Hunks of JavaScript this close to each other are taken for parts of one change.
NEAR = 12
_IMPORT = re.compile(r"(import|from)\b|(const|let|var)\b.*\brequire\(")


@dataclass(frozen=True, slots=True, kw_only=True)
class Hunk:
    """Lines of the older version and the lines of the newer one that replaced them."""

    path: str
    #: Index of the first line in the newer version.
    start: int
    old: tuple[str, ...]
    new: tuple[str, ...]

    @property
    def digest(self) -> str:
        """What a manifest calls this hunk, so that it need not quote any of its text."""
        text = "\0".join((self.path, "".join(self.old), "".join(self.new)))
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    @property
    def lines(self) -> int:
        return max(len(self.old), len(self.new))


def source_of(file: Path) -> str:
    """Return a file's text with the line ends that it has."""
    return file.read_bytes().decode("utf-8")


def hunks_between(path: str, old: str, new: str) -> list[Hunk]:
    """Return the hunks that lead from `old` to `new`, in their order."""
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    return [
        Hunk(path=path, start=j1, old=tuple(before[i1:i2]), new=tuple(after[j1:j2]))
        for tag, i1, i2, j1, j2 in matcher.get_opcodes()
        if tag != "equal"
    ]


def revert(new: str, hunks: Iterable[Hunk]) -> str:
    """Return the newer version with these hunks as they were before."""
    lines = new.splitlines(keepends=True)
    for hunk in sorted(hunks, key=lambda one: one.start, reverse=True):
        lines[hunk.start : hunk.start + len(hunk.new)] = hunk.old
    return "".join(lines)


def pick(hunks: Sequence[Hunk], digests: Sequence[str]) -> list[Hunk]:
    """Return the hunks with these digests; raises LookupError where one is missing."""
    named = {hunk.digest: hunk for hunk in hunks}
    if missing := [digest for digest in digests if digest not in named]:
        raise LookupError(f"no hunk {missing[0]} between the two versions")
    return [named[digest] for digest in digests]


def groups(path: str, old: str, new: str) -> list[tuple[Hunk, ...]]:
    """Return what may be a fix: each small hunk, then the small hunks of one function together."""
    small = [hunk for hunk in hunks_between(path, old, new) if hunk.lines <= LARGEST]
    grouped: dict[int, list[Hunk]] = {}
    if path.endswith(".py"):
        spans = _function_spans(new)
        for hunk in small:
            inside = [begin for begin, end in spans if begin <= hunk.start + 1 <= end]
            if inside:
                grouped.setdefault(max(inside), []).append(hunk)
    else:
        previous: Hunk | None = None
        for hunk in small:
            near = previous is not None and hunk.start - previous.start <= NEAR
            key = max(grouped) if near and grouped else hunk.start
            grouped.setdefault(key, []).append(hunk)
            previous = hunk
    together = [
        tuple(group)
        for group in grouped.values()
        if len(group) > 1 and sum(hunk.lines for hunk in group) <= LARGEST
    ]
    return [(hunk,) for hunk in small] + together


def changes_code(new: str, group: tuple[Hunk, ...]) -> bool:
    """True if the newer version without these hunks is another program, imports apart.

    An import alone is what upstream never left out without the rest.
    """
    path, old = group[0].path, revert(new, group)
    return normalised(path, old, imports=False) != normalised(path, new, imports=False)


def same_code(path: str, one: str, other: str) -> bool:
    """True if two files differ in nothing that runs.

    That is comments, layout, docstrings, and annotations of names in functions.
    """
    return normalised(path, one) == normalised(path, other)


def normalised(path: str, text: str, *, imports: bool = True) -> str:
    """Return what of a file runs; a file that does not parse is its own text."""
    if not path.endswith(".py"):
        lines = text.splitlines(keepends=True)
        return _without_comments("".join(n for n in lines if imports or not _IMPORT.match(n)))
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return text
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            function.body = [_LocalAnnotations().visit(part) for part in function.body]
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                node.body = node.body[1:]
            if not imports:
                node.body = [n for n in node.body if not isinstance(n, ast.Import | ast.ImportFrom)]
    return ast.dump(tree)


class _LocalAnnotations(ast.NodeTransformer):
    """Drops the annotations of names that are given a value in a function: they never run."""

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is None or not isinstance(node.target, ast.Name):
            return node
        return ast.Assign(targets=[node.target], value=node.value)


def changed_functions(one: str, other: str) -> set[str]:
    """Return the qualified names of functions that two versions of a Python file do not share."""
    before, after = _functions(one), _functions(other)
    return {name for name in before | after if before.get(name) != after.get(name)}


def _functions(text: str) -> dict[str, str]:
    found = {}

    def visit(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                found[prefix + child.name] = ast.dump(child)
            elif isinstance(child, ast.ClassDef):
                visit(child, f"{prefix}{child.name}.")
            else:
                visit(child, prefix)

    visit(ast.parse(text), "")
    return found


def _without_comments(text: str) -> str:
    # A `//` inside a string is cut off on both sides alike, which is enough to compare.
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    text = re.sub(r"(?m)(^|\s)//.*$", "", text)
    return re.sub(r"\s+", " ", text).replace('"', "'").strip()


def _function_spans(text: str) -> list[tuple[int, int]]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return []
    return [
        (node.lineno, node.end_lineno or node.lineno)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
