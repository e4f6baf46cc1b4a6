"""Mismatch: values of the wrong type, and calls with the wrong arguments."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from runtrue.fixers.search.edit import Edit, Splice
from runtrue.fixers.search.evidence import Failure
from runtrue.fixers.search.operators.clues import closest, raised
from runtrue.fixers.search.operators.layout import parameters
from runtrue.fixers.search.operators.nodes import walk
from runtrue.fixers.search.operators.rules import replacements
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


@edits("convert", read=True)
def convert_operand(site: EditSite, node: ast.expr) -> Ways:
    """An operand, an argument or an iterable, made to be what the place it is in needs."""
    program = site.program
    parent = program.parents[node]
    for failure in raised(site, "TypeError"):
        for n, form in enumerate(_forms(failure.message, node, parent)):
            text = _bracketed(program, node)
            yield form.format(text), 1.0 + n / 4
            break_even = isinstance(node, ast.Constant)
            if break_even:
                break


def _forms(message: str, node: ast.expr, parent: ast.AST) -> list[str]:
    """Return ways to convert an expression, by what a TypeError says."""
    is_operand = isinstance(parent, ast.BinOp | ast.AugAssign | ast.Compare) and not (
        isinstance(parent, ast.AugAssign) and parent.target is node
    )
    if is_operand and ("concatenate" in message or "unsupported operand" in message):
        named = re.findall(r"'(\w+)'|not \"(\w+)\"|to (\w+)", message)
        kinds = [next(filter(None, one)) for one in named]
        forms = {"str": "str({0})", "int": "int({0})", "list": "[{0}]", "tuple": "({0},)"}
        found = [forms[kind] for kind in dict.fromkeys(kinds) if kind in forms]
        return [*found, *(["list({0})"] if "list" in kinds else []), "len({0})", "float({0})"]
    if is_operand and "not supported between" in message:
        return ["int({0})", "str({0})", "len({0})", "float({0})"]
    iterated = isinstance(parent, ast.For | ast.comprehension) and parent.iter is node
    is_argument = isinstance(parent, ast.Call) and node in parent.args
    if "not iterable" in message and (iterated or is_argument):
        return ["range({0})", "[{0}]", "str({0})", "range(len({0}))"]
    if "unpack" in message and iterated:
        return ["{0}.items()", "enumerate({0})", "zip({0})"]
    if "unhashable" in message and (
        is_argument
        or (isinstance(parent, ast.Subscript) and parent.slice is node)
        or isinstance(parent, ast.Compare | ast.Tuple | ast.Dict | ast.Set)
    ):
        return ["tuple({0})", "frozenset({0})", "str({0})"]
    if "integer" in message and (is_argument or isinstance(parent, ast.Subscript | ast.Slice)):
        return ["int({0})", "len({0})"]
    if "expected str" in message and (
        is_argument or isinstance(parent, ast.ListComp | ast.GeneratorExp)
    ):
        return ["map(str, {0})", "str({0})"]
    if "len()" in message and is_argument:
        return ["str({0})", "list({0})"]
    if "subscriptable" in message and isinstance(parent, ast.Subscript) and parent.value is node:
        return ["list({0})", "str({0})"]
    if "string" in message and is_argument:
        return ["str({0})"]
    if "bytes-like" in message and is_argument:
        return ["{0}.encode()"]
    return []


@edits("convert")
def unpack(site: EditSite, node: ast.For | ast.AsyncFor) -> Ways:
    """`.items()` or `enumerate` where a loop takes apart what has no parts; or a part less."""
    program = site.program
    if not isinstance(node.target, ast.Tuple):
        return
    if not any("unpack" in one.message for one in site.failures):
        return
    text = _bracketed(program, node.iter)
    for n, form in enumerate(("{0}.items()", "enumerate({0})")):
        yield node.iter, form.format(text), 1.0 + n / 2


def use(site: EditSite) -> Iterator[Edit]:
    """`x(i)` for `x[i]` and back, or no brackets at all, where an object says it cannot."""
    node, program = site.node, site.program
    messages = [one.message for one in raised(site, "TypeError")]
    if isinstance(node, ast.Call) and any("not callable" in one for one in messages):
        owner = program.source(node.func)
        inside = ", ".join(program.source(one) for one in node.args)
        ways = {"{x}[{i}]": 1.0, "{x}": 2.0, "{x} * ({i})": 2.5} if inside else {"{x}": 1.0}
        yield from replacements(site, "use", node, ways, x=owner, i=inside)
    if (
        isinstance(node, ast.Subscript)
        and isinstance(node.ctx, ast.Load)
        and any("not subscriptable" in one for one in messages)
    ):
        owner = program.source(node.value)
        if not isinstance(node.slice, ast.Slice):
            yield program.replace("use", node, f"{owner}({program.source(node.slice)})")
        yield program.replace("use", node, owner, unlikely=1.5)


@edits("arguments")
def arguments(site: EditSite, node: ast.Call) -> Ways:
    """One argument less, or more, where a call needs it; a keyword by its real name."""
    program = site.program
    for failure in raised(site, "TypeError"):
        message = failure.message
        if "argument" not in message:
            continue
        unexpected = re.search(r"unexpected keyword argument '(\w+)'", message)
        if unexpected:
            yield from _rename_keyword(program, node, unexpected[1])
        elif "missing" in message:
            yield from _add_argument(program, node, message)
        elif "positional argument" in message or "at most" in message or "takes" in message:
            for n, _ in enumerate(node.args):
                yield _without_argument(program, node, n)
            yield from _parameter(program, node)


def _without_argument(program: Program, node: ast.Call, at: int) -> Edit:
    kept = [program.source(one) for n, one in enumerate(node.args) if n != at]
    kept += [program.source(one) for one in node.keywords]
    text = f"{program.source(node.func)}({', '.join(kept)})"
    return program.replace("arguments", node, text, unlikely=1.0 + (len(node.args) - at) / 4)


def _add_argument(program: Program, node: ast.Call, message: str) -> Iterator[Edit]:
    lacking = re.findall(r"'(\w+)'", message)
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
        if function is not None and given is function.args.args[-1] and given is not None:
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
