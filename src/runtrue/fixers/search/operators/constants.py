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
from runtrue.fixers.search.operators.precedence import UNARY, Code, rewrite
from runtrue.fixers.search.operators.rules import replacements
from runtrue.fixers.search.operators.seam import EditSite, Ways, edits

_MOST_STRINGS = 6
_MOST_NUMBERS = 6
#: Names that the tests use in place of one, and how much alike they have to be.
_MOST_STRINGS_OF_TESTS, _ALIKE = 4, 0.5
_NAME = re.compile(r"[\w.:-]+")
#: What may be meant in place of True or False, of None, and of an empty value.
_FOR_TRUTH = {"None": 3.0, "0": 5.0, "-1": 5.0, "[]": 5.0, '""': 5.0}
_FOR_NONE = {
    **{"0": 1.5, "False": 1.5, "[]": 1.5, '""': 2, "{{}}": 2, "True": 2, "-1": 2.5, "1": 3},
    "set()": 4,
}
_FOR_EMPTY = {
    **{"[]": 1.0, "{}": 1.0, "set()": 1.0, "dict()": 4.0, "0": 1.5, '""': 1.5, "()": 3.0},
    **{"None": 2, "[0]": 2, "[1]": 3, "[[]]": 2.5, "[-1]": 3},
}
_EMPTY = ("[]", "{}", "set()", "dict()", "list()", "0", '""', "''", "()", "tuple()")


def number(site: EditSite) -> Iterator[Edit]:
    """A number near the one that is written, or one that is used nearby."""
    program, node = site.program, site.node
    if not (isinstance(node, ast.Constant) and type(node.value) in (int, float)):
        return
    value = node.value
    if not isinstance(value, int | float):
        return
    parent = program.parents.get(node)
    target: ast.expr = node
    if isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.USub):
        target, value = parent, -value
    meant: dict[int | float, float] = {}

    def add(other: int | float, unlikely: float) -> None:
        if other != value or isinstance(other, float) != isinstance(value, float):
            meant[other] = min(unlikely, meant.get(other, unlikely))

    add(value + 1, 1)
    add(value - 1, 1 if value != 0 else 1.2)
    add(0, 1.5)
    add(1, 1.5)
    add(-1, 2)
    add(2, 2.5)
    if value:
        add(-value, 2)
        add(value * 2, 2.5)
        add(value // 2 if isinstance(value, int) else value / 2, 2.5)
        add(value * 10, 3)
        add(value // 10 if value % 10 == 0 else value / 10, 3.5 if value % 10 == 0 else 6)
        add(value + 2, 3)
        add(value - 2, 3)
    facts, function = facts_at(program, node), program.function_of(node)
    for place, other in enumerate(facts.numbers[:_MOST_NUMBERS]):
        add(other, 2 + place / 4)
    for other in _numbers_nearby(site):
        add(other, 3)
    answers = [literal_of(one.expected.repr) for one in site.failures if one.expected]
    for other, unlikely in meant.items():
        # The answer itself is seldom what was forgotten.
        is_answer = function is not None and abs(other - value) > 1 and other in answers
        one = Code(_in_style_of(program.text[slice(*program.span(node))], other))
        if other < 0:
            one = Code(one.text, UNARY)
        rare = unlikely * (3 if is_answer else 1)
        yield rewrite(program, "constant", target, one, unlikely=rare)
    # An index or a limit may just as well be infinite.
    if isinstance(parent, ast.Assign) and value in (0, 1, -1) and _is_extreme(site, parent):
        for text in ('float("inf")', '-float("inf")'):
            level = UNARY if text.startswith("-") else 17
            yield rewrite(program, "constant", target, Code(text, level), unlikely=2.5)


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
        yield from replacements(site, "constant", node, _FOR_TRUTH)
    elif node.value is None:
        yield from replacements(site, "constant", node, _FOR_NONE)


def empty(site: EditSite) -> Iterator[Edit]:
    """One way to begin for another: `[]`, `{}`, `set()`, `0`, `""`, `None`, `[0]`, `[[]]`."""
    program, node = site.program, site.node
    parent = program.parents.get(node)
    if not isinstance(parent, ast.Assign | ast.Return | ast.keyword | ast.AnnAssign | ast.Call):
        return
    if isinstance(parent, ast.Call) and not (node in parent.args and len(parent.args) > 1):
        return
    written = program.source(node) if isinstance(node, ast.expr) else ""
    if written not in _EMPTY:
        return
    for text, unlikely in _FOR_EMPTY.items():
        if text != written and (text, written) != ('""', "''"):
            rare = 2.0 if isinstance(parent, ast.Return) else 1.0
            yield program.replace("constant", node, text, unlikely=unlikely + rare)


def string(site: EditSite) -> Iterator[Edit]:
    """Another text: other case, white space or punctuation, or one like it from the file."""
    program, node = site.program, site.node
    if not (isinstance(node, ast.Constant) and isinstance(node.value, str)):
        return
    parent = program.parents.get(node)
    written = program.source(node)
    if isinstance(parent, ast.Expr | ast.JoinedStr) or written[-3:] in ('"""', "'''"):
        return
    if "\n" in written or not written or written[0] not in "\"'rfRF":
        return
    value = node.value
    meant: dict[str, float] = {}

    def add(other: str, unlikely: float) -> None:
        if other != value:
            meant[other] = min(unlikely, meant.get(other, unlikely))

    if value.strip():
        for other in (value.lower(), value.upper(), value.capitalize(), value.title()):
            add(other, 2)
        add(value.strip(), 1.5)
        add(value.rstrip(".,:;!?"), 3)
        for sign in " \n.":
            add(value + sign, 3.5)
        add(" " + value, 4)
        if "_" in value:
            add(value.replace("_", "-"), 2)
        if "-" in value:
            add(value.replace("-", "_"), 2)
    if len(value) <= 2:
        for other in ("", " ", ",", ", ", "\n", "0", "1"):
            add(other, 2.5 if not value.strip() or not value.isalnum() else 4)
    for other, unlikely in _similar_strings(site, value):
        add(other, unlikely)
    for other in _expected(site.failures, value):
        add(other, 1.5)
    if _NAME.fullmatch(value) and _is_key(parent, node):
        for other, alike in by_likeness(value, site.strings)[:_MOST_STRINGS_OF_TESTS]:
            if alike > _ALIKE and _NAME.fullmatch(other):
                add(other, 1.5)
    quote = written[-1]
    for other, unlikely in meant.items():
        yield program.replace("string", node, _quoted(other, quote), unlikely=unlikely)


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


def returned(site: EditSite) -> Iterator[Edit]:
    """A returned expression given up for what the test expects, ranked last."""
    program, node = site.program, site.node
    if not isinstance(program.parents.get(node), ast.Return) or isinstance(node, ast.Constant):
        return
    for failure in site.failures[:2]:
        wanted = failure.expected.repr if failure.expected else None
        if wanted and literal_of(wanted) in (True, False, None, 0, 1, -1, ""):
            doubt = "gives the value that a test expects in place of working it out"
            yield program.replace("expected", node, wanted, unlikely=6, doubt=doubt)


def fixed(site: EditSite) -> Iterator[Edit]:
    """A plain value where something is worked out: `True`, where the function tells yes or no."""
    program, node = site.program, site.node
    parent = program.parents.get(node)
    if isinstance(parent, ast.Return) and isinstance(node, ast.expr):
        if isinstance(node, ast.Constant):
            return
        others = [one for one in facts_at(program, node).returned if one is not node]
        if any(isinstance(one, ast.Constant) and isinstance(one.value, bool) for one in others):
            for text in ("True", "False"):
                yield program.replace("constant", node, text, unlikely=3.5)
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        if facts_at(program, node).type_of(node) not in (None, "int"):
            return
        given = isinstance(parent, ast.Call) and node in parent.args and len(parent.args) <= 2
        if given or isinstance(parent, ast.Assign | ast.AugAssign | ast.IfExp | ast.Compare):
            for text in ("0", "1", "-1"):
                one = Code(text, UNARY)
                yield rewrite(program, "constant", node, one, unlikely=4)


def interpolated(site: EditSite) -> Iterator[Edit]:
    """A text with names in braces that is not marked as one to be filled in."""
    program, node = site.program, site.node
    if not (isinstance(node, ast.Constant) and isinstance(node.value, str)):
        return
    parent = program.parents.get(node)
    if isinstance(parent, ast.Expr | ast.JoinedStr | ast.Attribute) or "{" not in node.value:
        return
    written = program.source(node)
    if written[0] not in "\"'" or "\\" in written:
        return
    try:
        tree = ast.parse("f" + written, mode="eval").body
    except SyntaxError:
        return
    if not isinstance(tree, ast.JoinedStr):
        return
    names = {one.id for one in walk(tree, ast.Name)}
    if names and names <= set(program_facts(program).visible(node)):
        start, _ = program.span(node)
        says = f"`f` before {written if len(written) < 60 else 'the text'}"
        yield program.edit("interpolation", node, says, Splice(start, start, "f"))


CONSTANTS = (number, truth, empty, string, expected, returned, fixed, interpolated)
