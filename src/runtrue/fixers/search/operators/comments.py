"""Comments: statements that are written as a comment or as a string, tried as code."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator
from functools import lru_cache
from inspect import cleandoc
from textwrap import dedent, indent

from runtrue.fixers.search.edit import Edit, Splice, parsed, splice
from runtrue.fixers.search.operators.layout import free, indented, is_docstring, lines_of, rigid
from runtrue.fixers.search.operators.seam import EditSite, Ways, edits
from runtrue.fixers.search.program import Program

_LONGEST_RUN = 12


@edits("uncomment")
def uncomment(site: EditSite, node: ast.stmt) -> Ways:
    """A comment beside a statement, as the code it was."""
    program = site.program
    if not program.alone(node):
        return
    yield from _trailing(program, node)
    noted = _comment_lines(program)
    for first in (
        (node.end_lineno or node.lineno) + 1,
        _first_of_run(noted, node.lineno - 1),
    ):
        run: list[int] = []
        line = first
        while line in noted and len(run) < _LONGEST_RUN:
            run.append(line)
            line += 1
        if run:
            yield from _comment_run(program, node, run)


def unquote(site: EditSite) -> Iterator[Edit]:
    """A string that stands alone, as the code it was."""
    node, program = site.node, site.program
    function = program.function_of(node)
    around = [program.parents[node]] if isinstance(node, ast.stmt) else []
    strings: list[ast.stmt] = [node] if isinstance(node, ast.Expr) else []
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        function, around = node, []
        strings = node.body[:2]
    # No line of a string is ever run: the statements beside it speak for it.
    for parent in around:
        block = program.block_of(node) if isinstance(node, ast.stmt) else []
        at = block.index(node) if node in block else 0
        strings += [one for one in block[max(at - 1, 0) : at + 2] if isinstance(one, ast.Expr)]
        if isinstance(parent, ast.For | ast.While | ast.If | ast.With):
            strings += [one for one in parent.body if isinstance(one, ast.Expr)]
    for one in dict.fromkeys(strings):
        if function is None or not isinstance(one, ast.Expr) or not free(program, one):
            continue
        if not is_docstring(one) or not isinstance(one.value, ast.Constant):
            continue
        code = cleandoc(str(one.value.value))
        start, end = program.line_span(one)
        yield from _as_code(program, one, code, start, end)


def _as_code(program: Program, node: ast.stmt, code: str, start: int, end: int) -> Iterator[Edit]:
    """Code in the place of some lines; if it is the head of a block, with what follows in it."""
    depth = program.indent_of(node.lineno)
    if _is_code(code):
        text = indent(code.rstrip() + "\n", depth)
        yield from _if_it_parses(program, node, Splice(start, end, text))
    elif code.rstrip().endswith(":"):
        head = indent(code.rstrip() + "\n", depth)
        if not _is_code(code.rstrip() + " pass"):
            return
        block = program.block_of(node)
        rest = [one for one in block if program.line_span(one)[0] >= end]
        for count in (1, 2, len(rest)):
            last = rest[count - 1] if 0 < count <= len(rest) else None
            if last is None or not all(free(program, x) and not rigid(x) for x in rest[:count]):
                continue
            inner = indented(lines_of(program, rest[0], last), depth, depth + program.step)
            between = program.text[end : program.line_span(rest[0])[0]]
            stop = program.line_span(last)[1]
            yield from _if_it_parses(program, node, Splice(start, stop, head + between + inner))


def _comment_run(program: Program, node: ast.stmt, run: list[int]) -> Iterator[Edit]:
    """Lines of comments one below the other: all of them, those from one on, each alone."""
    noted = _comment_lines(program)
    depth = program.indent_of(node.lineno)
    choices = [
        run,
        *([line] for line in run if len(run) > 1),
        *(run[n:] for n in range(1, len(run) - 1)),
    ]
    for chosen in choices:
        start = program.offset(chosen[0], 0)
        last = chosen[-1]
        end = min(program.offset(last, 0) + len(program.indent_of(last)), len(program.text))
        end = program.text.find("\n", end)
        end = len(program.text) if end < 0 else end + 1
        code = dedent("\n".join(noted[line] for line in chosen)).strip("\n")
        if not _is_code(code):
            if len(chosen) == 1 and code.endswith(":"):
                behind = [x for x in program.block_of(node) if program.line_span(x)[0] >= end]
                if behind:
                    yield from _as_code(program, behind[0], code, start, end)
            continue
        own = indent(code + "\n", depth)
        yield from _if_it_parses(program, node, Splice(start, end, own))


def _trailing(program: Program, node: ast.stmt) -> Iterator[Edit]:
    """A comment behind a statement: the rest of it, or another statement."""
    start, end = program.span(node)[1], program.line_span(node)[1]
    rest = program.text[start:end].rstrip("\n")
    said = rest.lstrip().lstrip("#").strip()
    if "#" not in rest or not said:
        return
    stop = start + len(rest)
    yield from _if_it_parses(program, node, Splice(start, stop, " " + said))
    if _is_code(said):
        depth = program.indent_of(node.lineno)
        yield from _if_it_parses(program, node, Splice(start, stop, f"\n{depth}{said}"))


def _if_it_parses(program: Program, node: ast.stmt, change: Splice) -> Iterator[Edit]:
    """The edit, if the file can be parsed with it and is another one."""
    text = splice(program.text, [change])
    try:
        tree = parsed(text)
    except (SyntaxError, ValueError):
        return
    if ast.dump(tree) != ast.dump(program.tree):
        yield program.edit("uncomment", node, "a comment as code", change, unlikely=1.0)


def _is_code(text: str) -> bool:
    """True if a text is statements, and not words that could be read as some."""
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError):
        return False
    return any(
        not isinstance(one, ast.Expr | ast.AnnAssign)
        or isinstance(getattr(one, "value", 0), ast.Call)
        for one in body
    )


@lru_cache(maxsize=16)
def _comment_lines(program: Program) -> dict[int, str]:
    """The lines that are nothing but a comment, without the sign, by number."""
    found = {}
    try:
        for token in tokenize.generate_tokens(io.StringIO(program.text).readline):
            if token.type == tokenize.COMMENT and not token.line[: token.start[1]].strip():
                text = token.string.lstrip("#")
                found[token.start[0]] = text.removeprefix(" ")
    except (tokenize.TokenError, SyntaxError):
        pass  # the tree could be built all the same; without comments nothing is tried
    return found


def _first_of_run(noted: dict[int, str], line: int) -> int:
    while line - 1 in noted and line in noted:
        line -= 1
    return line
