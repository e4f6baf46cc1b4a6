"""Guards: a case that was not thought of, dealt with before it does harm."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from runtrue.fixers.search.edit import Edit, Splice
from runtrue.fixers.search.messages import Sign
from runtrue.fixers.search.operators.clues import (
    EMPTY,
    defaults,
    expected_reprs,
    expected_types,
    raised,
    value_of,
)
from runtrue.fixers.search.operators.layout import (
    around,
    before,
    defaults_of,
    entered,
    first_of,
    free,
    line_before,
    loop_of,
    own_statements,
    parameters,
    rigid,
)
from runtrue.fixers.search.operators.seam import EditSite, Ways, edits
from runtrue.fixers.search.program import Function, Program

_CONSTANT = "it returns what a test expects"
_MOST_CASES = 6
_TAKES_OUT = ("pop", "popleft", "remove")
#: What a variable that is None may begin as.
_BEGINNINGS = ("[]", "{}", '""', "0", "set()")


def guard_entry(site: EditSite) -> Iterator[Edit]:
    """`if not xs: return …` as the first thing a function does."""
    function = entered(site.program, site.node)
    if function is None or not free(site.program, first := first_of(function)):
        return
    crashed = bool(site.failures) and any(
        one.exception != "AssertionError" for one in site.failures
    )
    for n, name in enumerate(parameters(function)[:3]):
        for m, test in enumerate((f"not {name}", f"{name} is None")):
            for k, text in enumerate(defaults(site, function)):
                rare = (1.5 if crashed else 3.0) + 0.3 * (n + m + k)
                lines = (f"if {test}:", f"return {text}")
                yield line_before(site.program, "guard", first, "first", *lines, unlikely=rare)


@edits("guard")
def guard_here(site: EditSite, node: ast.stmt) -> Ways:
    """Check before a statement for what it failed at, or run it only if it can succeed."""
    program = site.program
    if not free(program, node):
        return
    if not (cases := list(_failing_cases(site, node))):
        return
    function = site.function
    ways = [*(("continue", "break") if loop_of(program, node) else ())]
    ways += [f"return {text}" for text in defaults(site, function, 4)]
    for n, (bad, good) in enumerate(cases[:_MOST_CASES]):
        for m, way in enumerate(ways):
            lines, rare = (f"if {bad}:", way), 1.0 + 0.3 * (n + m)
            yield line_before(program, "guard", node, "before it", *lines, unlikely=rare)
        if rigid(node) or isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            continue
        says, rare = f"only `if {good}`", 1.2 + 0.3 * n
        yield around(program, "guard", node, says, f"if {good}:", unlikely=rare)


def _failing_cases(site: EditSite, node: ast.stmt) -> Iterator[tuple[str, str]]:
    """Yield what may be wrong where a statement failed, each with its contrary."""
    program = site.program
    parts = [one for one in _head_nodes(node) if isinstance(one, ast.expr)]
    for failure in raised(site):
        if failure.says(Sign.NONE) or failure.exception == "AttributeError":
            owners = [one.value for one in parts if isinstance(one, ast.Attribute | ast.Subscript)]
            others = [one for one in parts if isinstance(one, ast.Name | ast.Attribute)]
            texts = dict.fromkeys(_plain(program.source(one)) for one in (*owners, *others))
            texts.pop("", None)
            nothing = [text for text in texts if _is_none(value_of(failure, text))]
            for text in dict.fromkeys([*nothing, *texts]):
                value = value_of(failure, text)
                if value is None or value.type == "NoneType":
                    yield f"{text} is None", f"{text} is not None"
        if failure.exception in ("IndexError", "KeyError"):
            for one in parts:
                if not isinstance(one, ast.Subscript) or isinstance(one.slice, ast.Slice):
                    continue
                owner, key = program.source(one.value), program.source(one.slice)
                if failure.exception == "KeyError":
                    yield f"{key} not in {owner}", f"{key} in {owner}"
                else:
                    if not key.lstrip("-").isdigit():
                        yield f"{key} >= len({owner})", f"{key} < len({owner})"
                    yield f"not {owner}", owner
            for one in parts:
                match one:
                    case ast.Call(func=ast.Attribute(value=base, attr=attr)) if attr in _TAKES_OUT:
                        owner = program.source(base)
                        yield f"not {owner}", owner
        if failure.exception == "ZeroDivisionError":
            for one in parts:
                if isinstance(one, ast.BinOp) and isinstance(
                    one.op, ast.Div | ast.FloorDiv | ast.Mod
                ):
                    text = program.source(one.right)
                    yield f"{text} == 0", f"{text} != 0"
        if failure.exception in ("ValueError", "StopIteration"):
            for one in parts:
                if isinstance(one, ast.Call) and one.args:
                    text = program.source(one.args[0])
                    if isinstance(one.args[0], ast.Name | ast.Attribute):
                        yield f"not {text}", text


def _is_none(value: object) -> bool:
    return getattr(value, "type", None) == "NoneType"


def _plain(text: str) -> str:
    return text if text.replace(".", "").replace("_", "").isalnum() and text != "self" else ""


def _head_nodes(node: ast.stmt) -> Iterator[ast.AST]:
    """The nodes of a statement, without those of its blocks."""
    todo: list[ast.AST] = [node]
    while todo:
        one = todo.pop(0)
        yield one
        todo += [child for child in ast.iter_child_nodes(one) if not isinstance(child, ast.stmt)]


def base_case(site: EditSite) -> Iterator[Edit]:
    """End a recursion that nothing ends."""
    function = entered(site.program, site.node)
    if function is None or not free(site.program, first := first_of(function)):
        return
    if not _calls_itself(function):
        return
    program = site.program
    endless = any(one.exception == "RecursionError" or one.timed_out for one in site.failures)
    given = [
        text for text in defaults(site, function) if len(expected_types(site)) or text != "None"
    ]
    known = expected_reprs(site)
    for n, name in enumerate(parameters(function)[:4]):
        results = dict.fromkeys(
            [*given[:2], "1", "0", name, *given[2:], "True", "None", *known[:2]]
        )
        tests = (f"not {name}", f"{name} <= 1", f"{name} == 0", f"{name} <= 0", f"{name} == 1")
        for m, test in enumerate((*tests, f"{name} < 0", f"len({name}) <= 1")):
            for k, text in enumerate(results):
                if len(results) * len(tests) > 30 and m + k > 6:
                    continue
                special = text in known and text not in {*given, name, "0", "1", "True", "None"}
                lines = (f"if {test}:", f"return {text}")
                rare = (1.0 if endless else 3.0) + 0.2 * (n + m + k)
                doubt = _CONSTANT if special else None
                yield line_before(
                    program, "base_case", first, "first", *lines, unlikely=rare, doubt=doubt
                )


def _calls_itself(function: Function) -> bool:
    for one in ast.walk(function):
        if isinstance(one, ast.Call):
            func = one.func
            name = func.id if isinstance(func, ast.Name) else getattr(func, "attr", "")
            if name == function.name:
                return True
    return False


def default_value(site: EditSite) -> Iterator[Edit]:
    """A new list for each call, instead of one that all calls share; a default for None."""
    function = entered(site.program, site.node)
    if function is None or not free(site.program, first := first_of(function)):
        return
    program = site.program
    for name, value in defaults_of(function):
        text = program.source(value)
        if isinstance(value, ast.List | ast.Dict | ast.Set | ast.Call) and "\n" not in text:
            start, end = program.span(value)
            lines = _for_none(program, first, name, text)
            says = f"`{name}={text}` made for each call"
            # Hardly ever meant: a list that all calls share.
            rare = 1.0 if isinstance(value, ast.Call) else 0.4
            made = (Splice(start, end, "None"), lines)
            yield program.edit("default", first, says, *made, unlikely=rare)
        elif text == "None":
            for n, begin in enumerate(_BEGINNINGS):
                lines = _for_none(program, first, name, begin)
                says = f"`{name} = {begin}` for None"
                yield program.edit("default", first, says, lines, unlikely=1.5 + n / 4)


def _for_none(program: Program, place: ast.stmt, name: str, text: str) -> Splice:
    return before(program, place, f"if {name} is None:", f"{program.step}{name} = {text}")


@edits("default")
def instead_of_none(site: EditSite, node: ast.stmt) -> Ways:
    """`x = x or []` where `x` was None."""
    program = site.program
    if not free(program, node):
        return
    for failure in raised(site, "TypeError", "AttributeError"):
        values = failure.frames[-1].values
        for name in dict.fromkeys(one.id for one in _head_nodes(node) if isinstance(one, ast.Name)):
            for n, text in enumerate(_BEGINNINGS[:4] if _is_none(values.get(name)) else ()):
                says = f"`{text}` for `{name}` that is None"
                lines = _for_none(program, node, name, text)
                yield program.edit("default", node, says, lines, unlikely=2.0 + n / 4)


@edits("result")
def early_result(site: EditSite, node: ast.Return) -> Ways:
    """A result in place of another where a branch returns nothing of the right type."""
    program = site.program
    own = "None" if node.value is None else program.source(node.value)
    if own not in {*EMPTY.values(), "True", "1", "-1"}:
        return
    for n, kind in enumerate(expected_types(site)):
        if (text := EMPTY.get(kind, own)) != own:
            yield f"return {text}", 1.5 + n / 4
    function = site.function
    names = [] if function is None else parameters(function)
    others = [
        program.source(one.value)
        for one in ([] if function is None else own_statements(function))
        if isinstance(one, ast.Return) and one.value is not None
    ]
    for n, text in enumerate(dict.fromkeys([*others, *names])):
        if text != own and "\n" not in text and len(text) < 60:
            yield f"return {text}", 2.5 + n / 4
