"""Constants: another number, another text, the other truth value."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from runtrue.fixers.search.edit import Edit, Splice
from runtrue.fixers.search.evidence import Failure
from runtrue.fixers.search.operators.clues import is_number, literal_of
from runtrue.fixers.search.operators.facts import facts_at, program_facts
from runtrue.fixers.search.operators.likeness import by_likeness
from runtrue.fixers.search.operators.nodes import walk
from runtrue.fixers.search.operators.precedence import ATOM, UNARY, Code
from runtrue.fixers.search.operators.seam import EditSite, Ways, edits

_MOST_STRINGS = 6
_MOST_NUMBERS = 6
#: Names that the tests use in place of one, and how much alike they have to be.
_MOST_STRINGS_OF_TESTS, _ALIKE = 4, 0.5
_NAME = re.compile(r"[\w.:-]+")
#: What may be meant in place of True or False, of None, and of an empty value.
_FOR_TRUTH = {"None": 3.0, "0": 5.0, "-1": 5.0, "[]": 5.0, '""': 5.0}
_FOR_NONE = {
    **{"0": 1.5, "False": 1.5, "[]": 1.5, '""': 2, "{}": 2, "True": 2, "-1": 2.5, "1": 3},
    "set()": 4,
}
_FOR_EMPTY = {
    **{"[]": 1.0, "{}": 1.0, "set()": 1.0, "dict()": 4.0, "0": 1.5, '""': 1.5, "()": 3.0},
    **{"None": 2, "[0]": 2, "[1]": 3, "[[]]": 2.5, "[-1]": 3},
}
_EMPTY = ("[]", "{}", "set()", "dict()", "list()", "0", '""', "''", "()", "tuple()")


@edits("constant")
def number(site: EditSite, node: ast.Constant) -> Ways:
    """A number near the one that is written, or one that is used nearby."""
    _program, parent, value = site.program, site.parent, node.value
    if isinstance(value, bool) or not isinstance(value, int | float):
        return
    target: ast.expr = node
    if isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.USub):
        target, value = parent, -value
    near: list[tuple[int | float, float]] = [(value + 1, 1), (value - 1, 1 if value else 1.2)]
    near += [(0, 1.5), (1, 1.5), (-1, 2), (2, 2.5)]
    if value:
        half = value // 2 if isinstance(value, int) else value / 2
        tenth = (value // 10, 3.5) if value % 10 == 0 else (value / 10, 6)
        near += [(-value, 2), (value * 2, 2.5), (half, 2.5), (value * 10, 3), tenth]
        near += [(value + 2, 3), (value - 2, 3)]
    near += [(one, 2 + n / 4) for n, one in enumerate(site.facts.numbers[:_MOST_NUMBERS])]
    near += [(one, 3) for one in _numbers_nearby(site)]
    meant: dict[int | float, float] = {}
    for other, unlikely in near:
        if other != value or isinstance(other, float) != isinstance(value, float):
            meant[other] = min(unlikely, meant.get(other, unlikely))
    answers = [literal_of(one.expected.repr) for one in site.failures if one.expected]
    for other, unlikely in meant.items():
        # The answer itself is seldom what was forgotten.
        is_answer = site.function is not None and abs(other - value) > 1 and other in answers
        text = _in_style_of(site.source(node), other)
        yield target, Code(text, UNARY if other < 0 else ATOM), unlikely * (3 if is_answer else 1)
    # An index or a limit may just as well be infinite.
    if isinstance(parent, ast.Assign) and value in (0, 1, -1) and _is_extreme(site, parent):
        yield target, Code('float("inf")'), 2.5
        yield target, Code('-float("inf")', UNARY), 2.5


def _is_extreme(site: EditSite, parent: ast.Assign) -> bool:
    """True if what is assigned is later compared by `min` or `max`."""
    names = {one.id for one in parent.targets if isinstance(one, ast.Name)}
    for node in facts_at(site.program, parent).nodes:
        match node:
            case ast.Call(func=ast.Name(id="min" | "max"), args=args):
                if any(isinstance(one, ast.Name) and one.id in names for one in args):
                    return True
    return False


def _numbers_nearby(site: EditSite) -> list[int | float]:
    """Numbers that the module gives names, or that a failing test expects."""
    found: list[int | float] = []
    for node in site.program.tree.body:
        match node:
            case ast.Assign(value=ast.Constant(value=int() | float() as value)):
                if not isinstance(value, bool):
                    found.append(value)
    return found[:4]


def _in_style_of(old: str, value: int | float) -> str:
    """A number as the one before it was written: with its base, its underscores."""
    if isinstance(value, int) and old[:2].lower() in ("0x", "0b", "0o"):
        return f"{value:#{old[1].lower()}}"
    return f"{value:_}" if "_" in old and isinstance(value, int) else repr(value)


@edits("constant")
def truth(site: EditSite, node: ast.Constant) -> Ways:
    """`True` for `False`, and what may stand for nothing."""
    if isinstance(site.parent, ast.Expr | ast.JoinedStr):
        return
    if isinstance(node.value, bool):
        yield str(not node.value), 1.0
        yield from _FOR_TRUTH.items()
    elif node.value is None:
        yield from _FOR_NONE.items()


@edits("constant")
def empty(site: EditSite, node: ast.expr) -> Ways:
    """One way to begin for another: `[]`, `{}`, `set()`, `0`, `""`, `None`, `[0]`, `[[]]`."""
    match site.parent:
        case ast.Return():
            rare = 2.0
        case ast.Assign() | ast.keyword() | ast.AnnAssign():
            rare = 1.0
        case ast.Call(args=[_, _, *_] as args) if node in args:
            rare = 1.0
        case _:
            return
    written = site.source(node)
    for text, unlikely in _FOR_EMPTY.items() if written in _EMPTY else ():
        if text != written and (text, written) != ('""', "''"):
            yield text, unlikely + rare


@edits("string")
def string(site: EditSite, node: ast.Constant) -> Ways:
    """Another text: other case, white space or punctuation, or one like it from the file."""
    parent, value, written = site.parent, node.value, site.source(node)
    if not isinstance(value, str) or isinstance(parent, ast.Expr | ast.JoinedStr):
        return
    if "\n" in written or not written or written[0] not in "\"'rfRF":
        return
    if written[-3:] in ('"""', "'''"):
        return
    near: list[tuple[str, float]] = []
    if value.strip():
        near += [(one, 2) for one in (value.lower(), value.upper(), value.capitalize())]
        near += [(value.title(), 2), (value.strip(), 1.5), (value.rstrip(".,:;!?"), 3)]
        near += [(value + sign, 3.5) for sign in " \n."]
        near += [(" " + value, 4), (value.replace("_", "-"), 2), (value.replace("-", "_"), 2)]
    if len(value) <= 2:
        rare = 2.5 if not value.strip() or not value.isalnum() else 4
        near += [(one, rare) for one in ("", " ", ",", ", ", "\n", "0", "1")]
    near += _similar_strings(site, value)
    near += [(one, 1.5) for one in _expected(site.failures, value)]
    if _NAME.fullmatch(value) and _is_key(parent, node):
        for other, alike in by_likeness(value, site.strings)[:_MOST_STRINGS_OF_TESTS]:
            if alike > _ALIKE and _NAME.fullmatch(other):
                near.append((other, 1.5))
    meant: dict[str, float] = {}
    for other, unlikely in near:
        if other != value:
            meant[other] = min(unlikely, meant.get(other, unlikely))
    for other, unlikely in meant.items():
        yield _quoted(other, written[-1]), unlikely


def _is_key(parent: ast.AST | None, node: ast.Constant) -> bool:
    """True if something is looked up or stored by a text."""
    match parent:
        case ast.Subscript() | ast.Dict():
            return True
        case ast.Call(func=ast.Attribute(attr="get" | "pop" | "setdefault")):
            return parent.args[0] is node
        case ast.Call(func=ast.Name(id="getattr" | "setattr" | "hasattr")):
            return True
        case ast.Compare(ops=[ast.In() | ast.NotIn()]):
            return parent.left is node
        case _:
            return False


def _similar_strings(site: EditSite, value: str) -> Iterator[tuple[str, float]]:
    known = program_facts(site.program).strings
    if len(value) == 1:
        letters = [other for other in known if len(other) == 1][:_MOST_STRINGS]
        yield from ((other, 2.0) for other in letters)
        return
    for other, alike in by_likeness(value, list(known)[:400])[:_MOST_STRINGS]:
        yield other, 1.2 + 3 * (1 - alike)


def _expected(failures: tuple[Failure, ...], value: str) -> Iterator[str]:
    """Yield the part of the expected text that differs a little from a constant."""
    for failure in failures:
        if not failure.expected or not failure.actual:
            continue
        wanted, had = literal_of(failure.expected.repr), literal_of(failure.actual.repr)
        if isinstance(wanted, str) and isinstance(had, str) and value and value in had:
            before, _, after = had.partition(value)
            if wanted.startswith(before) and wanted.endswith(after):
                middle = wanted[len(before) : len(wanted) - len(after)]
                # Much more than was there is not a slip of the pen; it copies the answer.
                if middle and len(middle) <= 2 * len(value) + 3 and before + after:
                    yield middle


def _quoted(value: str, quote: str) -> str:
    text = repr(value)
    if text[0] != quote and quote not in value and '"' not in text[1:-1] and "'" not in value:
        text = quote + text[1:-1] + quote
    return text


def expected(site: EditSite) -> Iterator[Edit]:
    """The number that a test expects, where the one it got is written. Hardly ever a fix."""
    program, node = site.program, site.node
    if not (isinstance(node, ast.Constant) and type(node.value) in (int, float, str)):
        return
    if isinstance(program.parents.get(node), ast.Expr | ast.JoinedStr):
        return
    for failure in site.failures[:4]:
        if not failure.expected or not failure.actual:
            continue
        wanted, had = literal_of(failure.expected.repr), literal_of(failure.actual.repr)
        if had == node.value and type(wanted) is type(had) and wanted != had:
            doubt = "writes the value that a test expects in place of the one it got"
            yield program.replace("expected", node, repr(wanted), unlikely=2, doubt=doubt)
        elif is_number(wanted) and is_number(had) and is_number(node.value) and wanted != had:
            for n, other in enumerate(_derived(node.value, wanted, had)):
                if 0 <= other < 10**6 and other != node.value:
                    yield program.replace("expected", node, repr(other), unlikely=2.5 + n / 2)


def _derived(value: int | float, wanted: int | float, had: int | float) -> list[int | float]:
    """A number as it would have to be if what it gives is off by as much, or as many times."""
    found: list[int | float] = [value + (wanted - had)]
    if had and wanted and value:
        found.append(value * wanted / had)
    if isinstance(value, int):
        return [int(one) for one in found if float(one).is_integer()]
    return [float(f"{one:.6g}") for one in found]


@edits("expected")
def returned(site: EditSite, node: ast.expr) -> Ways:
    """A returned expression given up for what the test expects, ranked last."""
    if site.role != "returned" or isinstance(node, ast.Constant):
        return
    for failure in site.failures[:2]:
        wanted = failure.expected.repr if failure.expected else None
        if wanted and literal_of(wanted) in (True, False, None, 0, 1, -1, ""):
            doubt = "gives the value that a test expects in place of working it out"
            yield site.program.replace("expected", node, wanted, unlikely=6, doubt=doubt)


@edits("constant")
def fixed(site: EditSite, node: ast.expr) -> Ways:
    """A plain value where something is worked out: `True`, where the function tells yes or no."""
    parent = site.parent
    if isinstance(parent, ast.Return):
        others = [one for one in site.facts.returned if one is not node]
        is_truth = any(
            isinstance(one, ast.Constant) and isinstance(one.value, bool) for one in others
        )
        if is_truth and not isinstance(node, ast.Constant):
            yield "True", 3.5
            yield "False", 3.5
    elif isinstance(node, ast.Name) and site.is_read:
        if site.facts.type_of(node) not in (None, "int"):
            return
        given = isinstance(parent, ast.Call) and node in parent.args and len(parent.args) <= 2
        if given or isinstance(parent, ast.Assign | ast.AugAssign | ast.IfExp | ast.Compare):
            yield from ((Code(text, UNARY), 4) for text in ("0", "1", "-1"))


@edits("interpolation")
def interpolated(site: EditSite, node: ast.Constant) -> Ways:
    """A text with names in braces that is not marked as one to be filled in."""
    if not isinstance(node.value, str) or "{" not in node.value:
        return
    written = site.source(node)
    if isinstance(site.parent, ast.Expr | ast.JoinedStr | ast.Attribute):
        return
    if written[0] not in "\"'" or "\\" in written:
        return
    try:
        tree = ast.parse("f" + written, mode="eval").body
    except SyntaxError:
        return
    names = {one.id for one in walk(tree, ast.Name)}
    if isinstance(tree, ast.JoinedStr) and names and names <= set(site.known.visible(node)):
        start, _ = site.program.span(node)
        says = f"`f` before {written if len(written) < 60 else 'the text'}"
        yield site.program.edit("interpolation", node, says, Splice(start, start, "f"))


CONSTANTS = (number, truth, empty, string, expected, returned, fixed, interpolated)
