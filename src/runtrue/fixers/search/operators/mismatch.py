"""Mismatch: values of the wrong type, and calls with the wrong arguments."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from runtrue.fixers.search.edit import Edit, Splice
from runtrue.fixers.search.evidence import Failure
from runtrue.fixers.search.messages import Sign, operand_types, quoted, unexpected_keyword
from runtrue.fixers.search.operators.clues import closest, raised
from runtrue.fixers.search.operators.layout import parameters
from runtrue.fixers.search.operators.nodes import walk
from runtrue.fixers.search.operators.seam import EditSite, Ways, edits
from runtrue.fixers.search.program import Function, Program

#: How a value of one type becomes one of another: what is expected, and what there was.
_CONVERSIONS: dict[str, tuple[str, ...]] = {
    "list": ("list({0})", "sorted({0})", "[{0}]", "list(map(list, {0}))", "{0}.tolist()"),
    "tuple": ("tuple({0})", "({0},)", "tuple(sorted({0}))"),
    "str": ("str({0})", '"".join({0})', '" ".join({0})', '", ".join({0})', "{0}.decode()"),
    "int": ("int({0})", "len({0})", "round({0})", "sum({0})"),
    "float": ("float({0})", "round({0}, 2)", "{0} / 1"),
    "bool": ("bool({0})", "not {0}", "{0} is not None", "{0} > 0"),
    "set": ("set({0})",),
    "dict": ("dict({0})",),
    "frozenset": ("frozenset({0})",),
    "bytes": ("{0}.encode()", "bytes({0})"),
}
_ATOMS = (ast.Name, ast.Call, ast.Attribute, ast.Subscript, ast.List, ast.Dict, ast.JoinedStr)


@edits("convert")
def convert_result(site: EditSite, node: ast.Return) -> Ways:
    """Convert what a function returns to the type that the test expects."""
    program = site.program
    if node.value is None:
        return
    for failure in site.failures:
        if failure.expected is None or failure.actual is None:
            continue
        wanted, had = failure.expected.type, failure.actual.type
        if wanted != had:
            yield from _converted(program, node.value, wanted, 1.0)
        elif wanted == "float":
            for digits in (2, 1, 3, 4, 0):
                text = f"round({program.source(node.value)}, {digits})"
                yield node.value, text, 2.0 + digits / 4
        elif wanted in ("list", "str") and _same_items(failure):
            text = _bracketed(program, node.value)
            forms = ("sorted({0})", "{0}[::-1]", "sorted({0}, reverse=True)")
            for n, form in enumerate(forms if wanted == "list" else forms[1:2]):
                made = form.format(text)
                yield node.value, made, 1.2 + n / 4


def _same_items(failure: Failure) -> bool:
    one = (failure.expected and failure.expected.repr) or ""
    other = (failure.actual and failure.actual.repr) or ""
    return bool(one) and sorted(one) == sorted(other)


def _converted(program: Program, node: ast.expr, wanted: str, unlikely: float) -> Iterator[Edit]:
    text = _bracketed(program, node)
    inner = program.source(node)
    for n, form in enumerate(_CONVERSIONS.get(wanted, ())):
        own = inner if form.endswith(("({0})", "[{0}]")) and _lone(node) else text
        yield program.replace("convert", node, form.format(own), unlikely=unlikely + n / 4)


def _lone(node: ast.expr) -> bool:
    return not isinstance(node, ast.Tuple | ast.GeneratorExp | ast.Yield | ast.NamedExpr)


def _bracketed(program: Program, node: ast.expr) -> str:
    text = program.source(node)
    if isinstance(node, ast.Tuple | ast.GeneratorExp) and text.startswith("("):
        return text
    return text if isinstance(node, _ATOMS) else f"({text})"


#: How to convert an operand, an argument or an iterable: by what a TypeError says, what the value
#: is used for, or the type of its parent.
_NEEDED: tuple[tuple[Sign, tuple[str, ...], tuple[type[ast.AST], ...], tuple[str, ...]], ...] = (
    (Sign.UNORDERED, ("operand", "added", "compared"), (), ("int", "str", "len", "float")),
    (Sign.NOT_ITERABLE, ("iterated", "argument"), (), ("range", "[{0}]", "str", "range(len({0}))")),
    (Sign.UNPACKED, ("iterated",), (), ("{0}.items()", "enumerate", "zip")),
    (
        *(Sign.UNHASHABLE, ("argument", "index"), (ast.Compare, ast.Tuple, ast.Dict, ast.Set)),
        ("tuple", "frozenset", "str"),
    ),
    (Sign.INTEGER_NEEDED, ("argument",), (ast.Subscript, ast.Slice), ("int", "len")),
    (
        Sign.STRINGS_NEEDED,
        ("argument",),
        (ast.ListComp, ast.GeneratorExp),
        ("map(str, {0})", "str"),
    ),
    (Sign.NO_LENGTH, ("argument",), (), ("str", "list")),
    (Sign.NOT_SUBSCRIPTABLE, ("owner",), (), ("list", "str")),
    (Sign.STRING_NEEDED, ("argument",), (), ("str",)),
    (Sign.BYTES_NEEDED, ("argument",), (), ("{0}.encode()",)),
)
#: The same for operands of two types that do not go together.
_OPERANDS = {"str": "str", "int": "int", "list": "[{0}]", "tuple": "({0},)"}


@edits("convert", read=True)
def convert_operand(site: EditSite, node: ast.expr) -> Ways:
    """An operand, an argument or an iterable, made to be what the place it is in needs."""
    text = _bracketed(site.program, node)
    for failure in raised(site, "TypeError"):
        forms = _forms(site, failure)
        for n, form in enumerate(forms[:1] if isinstance(node, ast.Constant) else forms):
            made = form.format(text) if "{0}" in form else f"{form}({text})"
            yield made, 1.0 + n / 4


def _forms(site: EditSite, failure: Failure) -> tuple[str, ...]:
    """Return ways to convert a value, by what a TypeError says."""
    role = site.role
    if role in ("operand", "added", "compared") and failure.says(Sign.OPERANDS):
        kinds = dict.fromkeys(operand_types(failure.message))
        found = [_OPERANDS[kind] for kind in kinds if kind in _OPERANDS]
        return (*found, *(["list"] if "list" in kinds else []), "len", "float")
    for sign, roles, parents, forms in _NEEDED:
        if failure.says(sign) and (role in roles or isinstance(site.parent, parents)):
            return forms
    return ()


@edits("convert")
def unpack(site: EditSite, node: ast.For | ast.AsyncFor) -> Ways:
    """`.items()` or `enumerate` where a loop takes apart what has no parts; or a part less."""
    program = site.program
    if not isinstance(node.target, ast.Tuple):
        return
    if not any(one.says(Sign.UNPACKED) for one in site.failures):
        return
    text = _bracketed(program, node.iter)
    for n, form in enumerate(("{0}.items()", "enumerate({0})")):
        yield node.iter, form.format(text), 1.0 + n / 2


@edits("use", read=True)
def use(site: EditSite, node: ast.Call | ast.Subscript) -> Ways:
    """`x(i)` for `x[i]` and back, or no brackets at all, where an object says it cannot."""
    cannot = Sign.NOT_CALLABLE if isinstance(node, ast.Call) else Sign.NOT_SUBSCRIPTABLE
    if not any(one.says(cannot) for one in raised(site, "TypeError")):
        return
    if isinstance(node, ast.Call):
        owner, inside = site.source(node.func), ", ".join(map(site.source, node.args))
        if inside:
            yield f"{owner}[{inside}]", 1.0
        yield owner, 2.0 if inside else 1.0
        if inside:
            yield f"{owner} * ({inside})", 2.5
    else:
        owner = site.source(node.value)
        if not isinstance(node.slice, ast.Slice):
            yield f"{owner}({site.source(node.slice)})", 1.0
        yield owner, 1.5


@edits("arguments")
def arguments(site: EditSite, node: ast.Call) -> Ways:
    """One argument less, or more, where a call needs it; a keyword by its real name."""
    program = site.program
    for failure in raised(site, "TypeError"):
        if not failure.says(Sign.ARGUMENT):
            continue
        if unexpected := unexpected_keyword(failure.message):
            yield from _rename_keyword(program, node, unexpected)
        elif failure.says(Sign.MISSING):
            yield from _add_argument(program, node, quoted(failure.message))
        elif failure.says(Sign.TOO_MANY):
            for n, _ in enumerate(node.args):
                yield _without_argument(program, node, n)
            yield from _parameter(program, node)


def _without_argument(program: Program, node: ast.Call, at: int) -> Edit:
    kept = [program.source(one) for n, one in enumerate(node.args) if n != at]
    kept += [program.source(one) for one in node.keywords]
    text = f"{program.source(node.func)}({', '.join(kept)})"
    return program.replace("arguments", node, text, unlikely=1.0 + (len(node.args) - at) / 4)


def _add_argument(program: Program, node: ast.Call, lacking: list[str]) -> Iterator[Edit]:
    # A tuple, or a list, that was meant to be taken apart.
    if len(node.args) == 1 and not isinstance(node.args[0], ast.Starred):
        start = program.span(node.args[0])[0]
        yield program.edit("arguments", node, "`*`", Splice(start, start, "*"), unlikely=2.0)
    end = program.span(node)[1] - 1
    some = bool(node.args or node.keywords)
    ready = program.text[:end].rstrip()
    comma = "" if not some or ready.endswith(",") else ", "
    seen = program.visible(node)
    for wanted in lacking[:1]:
        exact = [wanted] if wanted in seen else []
        for n, one in enumerate([*exact, *closest(wanted, tuple(seen), 6), "None", "0", '""']):
            text = f"{comma}{one}" if not node.keywords else f"{comma}{wanted}={one}"
            says = f"`{one}` as `{wanted}`"
            at = Splice(end, end, text)
            yield program.edit("arguments", node, says, at, unlikely=1.0 + n / 4)
    function = _called(program, node)
    for wanted in lacking[:1]:
        given = (
            None
            if function is None
            else next((one for one in function.args.args if one.arg == wanted), None)
        )
        if function is not None and given is not None and given is function.args.args[-1]:
            place = program.span(given)[1]
            at = Splice(place, place, "=None")
            yield program.edit("arguments", node, f"`{wanted}=None`", at, unlikely=2.5)


def _rename_keyword(program: Program, node: ast.Call, wrong: str) -> Iterator[Edit]:
    function = _called(program, node)
    real = parameters(function) if function is not None else []
    for one in node.keywords:
        if one.arg != wrong:
            continue
        start = program.span(one)[0]
        for n, name in enumerate(closest(wrong, tuple(real), 5)):
            says = f"`{wrong}=` → `{name}=`"
            at = Splice(start, start + len(wrong), name)
            yield program.edit("arguments", node, says, at, unlikely=1.0 + n / 3)
        kept = [program.source(x) for x in (*node.args, *node.keywords) if x is not one]
        text = f"{program.source(node.func)}({', '.join(kept)})"
        yield program.replace("arguments", node, text, unlikely=2.0)
        value = program.source(one.value)
        yield (
            program.replace("arguments", one, value, unlikely=2.0)
            if not any(x.arg for x in node.keywords[: node.keywords.index(one)])
            else program.replace("arguments", node, text, unlikely=2.0)
        )


def _parameter(program: Program, node: ast.Call) -> Iterator[Edit]:
    """A parameter for what a function is given and does not take: a name that it uses."""
    function = _called(program, node)
    if function is None:
        return
    spec = function.args
    if spec.vararg or spec.kwonlyargs or spec.kwarg or not spec.args:
        return
    last = spec.defaults[-1] if spec.defaults else spec.args[-1]
    place = program.span(last)[1]
    own = set(program.names_in(function)) | set(program.names_in(program.tree))
    free = [one.id for one in walk(function, ast.Name) if one.id not in own]
    for name in dict.fromkeys(free):
        text = f", {name}=None" if spec.defaults else f", {name}"
        at = Splice(place, place, text)
        yield program.edit("arguments", node, f"`{name}` as parameter", at, unlikely=1.5)


def _called(program: Program, node: ast.Call) -> Function | None:
    """The function of this file that a call means, by its name; a class means its `__init__`."""
    name = program.source(node.func).rpartition(".")[2]
    for one in ast.walk(program.tree):
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef) and one.name == name:
            return one
        if isinstance(one, ast.ClassDef) and one.name == name:
            for inner in one.body:
                if isinstance(inner, ast.FunctionDef) and inner.name == "__init__":
                    return inner
    return None
