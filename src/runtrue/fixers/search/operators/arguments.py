"""Arguments: one too many, one too few."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from runtrue.fixers.search.edit import Edit, Splice
from runtrue.fixers.search.messages import unordered_type
from runtrue.fixers.search.operators.clues import raised
from runtrue.fixers.search.operators.facts import program_facts
from runtrue.fixers.search.operators.names import candidates
from runtrue.fixers.search.operators.seam import EditSite, Ways, edits

_MOST_ADDED, _MOST_ORDERS, _MOST_ELSEWHERE = 5, 6, 5
_PLAIN = (ast.Constant, ast.Name, ast.Attribute)
_KEYS: dict[str, float] = {
    "key=lambda x: x[1]": 1.5,
    "key=len": 2,
    "key=lambda x: x[0]": 2.5,
    "key=lambda x: -x": 3,
    "key=str.lower": 4,
    "key=abs": 4,
    "key=lambda x: x[-1]": 4,
    "key=lambda x: (-x[1], x[0])": 4,
}
_OTHERWISE: dict[str, float] = {"0": 2, "[]": 2.5, '""': 2.5, "{}": 3, "1": 4}
#: What a function, called with so many arguments by position, is often meant to be given too.
_OFTEN: dict[tuple[str, int], dict[str, float]] = {
    ("sorted", 1): {"reverse=True": 1, **_KEYS},
    ("sort", 0): {"reverse=True": 1, **_KEYS},
    ("min", 1): {"default=0": 2, "default=None": 2, **_KEYS},
    ("max", 1): {"default=0": 2, "default=None": 2, **_KEYS},
    ("max", 2): {"0": 2.5, "key=len": 4},
    ("min", 2): {"key=len": 4},
    ("get", 1): _OTHERWISE,
    ("getattr", 2): {"None": 1, **_OTHERWISE},
    ("next", 1): {"None": 1, **_OTHERWISE},
    ("pop", 0): {"0": 2, "-1": 3},
    ("popitem", 0): {"last=False": 1.5},
    ("pop", 1): {"None": 2, "0": 4},
    ("enumerate", 1): {"1": 1.5, "start=1": 3},
    ("split", 0): {'" "': 2, '","': 2},
    ("split", 1): {"1": 1},
    ("rsplit", 1): {"1": 1},
    ("replace", 2): {"1": 3},
    ("round", 1): {"2": 1.5, "1": 3},
    ("int", 1): {"2": 3, "16": 4},
    ("sum", 1): {"[]": 3},
    ("defaultdict", 0): {"int": 1, "list": 1, "set": 2},
    ("print", 1): {'end=""': 2},
    ("open", 1): {'"w"': 3, 'encoding="utf-8"': 2},
    ("dumps", 1): {"sort_keys=True": 2, "indent=2": 3, "ensure_ascii=False": 3},
    ("zip", 2): {"strict=True": 4},
}
#: Functions and methods that are given things one by one, however many.
_TAKE_MANY = frozenset(
    {
        *("gather", "zip", "zip_longest", "chain", "product", "union", "intersection"),
        *("difference", "format", "join", "joinpath", "gcd", "lcm"),
    }
)
_MAY_BE_MANY = (ast.Name, ast.Attribute, ast.Subscript, ast.Call, ast.List, ast.ListComp)


@edits("argument_drop")
def dropped_argument(site: EditSite, node: ast.Call) -> Ways:
    """An argument too many."""
    program = site.program
    given: list[ast.expr | ast.keyword] = [*node.args, *node.keywords]
    if not given or (len(given) == 1 and isinstance(given[0], ast.GeneratorExp)):
        return
    spans = [program.span(one) for one in given]
    for place, one in enumerate(given):
        if len(given) == 1:
            start, end = spans[0]
        elif place:
            start, end = spans[place - 1][1], spans[place][1]
        else:
            start, end = spans[0][0], spans[1][0]
        gone = program.text[start:end]
        if gone.count("(") != gone.count(")") or "#" in gone or "\n" in gone:
            continue
        says = f"`{program.source(one)[:50]}` dropped from the call"
        rare = 1.5 if isinstance(one, ast.keyword) or len(given) > 1 else 2.5
        edit = program.edit("argument_drop", node, says, Splice(start, end, ""), unlikely=rare)
        yield edit


def added_argument(site: EditSite) -> Iterator[Edit]:
    """An argument too few: what the function asks for, or what its kind often takes."""
    node = site.node
    match node:
        case ast.Call(func=ast.Name(id=name)) | ast.Call(func=ast.Attribute(attr=name)):
            if any(isinstance(one, ast.Starred) for one in node.args):
                return
        case _:
            return
    given = {one.arg for one in node.keywords}
    for argument, unlikely in _OFTEN.get((name, len(node.args)), {}).items():
        keyword, named, _ = argument.partition("=")
        if (named and keyword not in given) or (not named and not given):
            yield _with_argument(site, node, argument, unlikely)
    if name in ("sorted", "sort", "min", "max") and "key" not in given:
        for n, key in enumerate(_sort_keys(site)):
            yield _with_argument(site, node, f"key=lambda one: {key}", 1.0 + n / 2)
    yield from _unused_imports(site, node)
    yield from _keywords_of_other_calls(site, node, name)
    yield from _missing_arguments(site, node, name)


def _keywords_of_other_calls(site: EditSite, node: ast.Call, name: str) -> Iterator[Edit]:
    given = {one.arg for one in node.keywords}
    found: Counter[str] = Counter()
    for call in program_facts(site.program).calls.get(name, ()):
        for one in call.keywords if call is not node else ():
            if one.arg not in (None, *given) and isinstance(one.value, _PLAIN):
                found[site.program.source(one)] += 1
    for n, (text, _) in enumerate(found.most_common(_MOST_ELSEWHERE)):
        yield _with_argument(site, node, text, 1.5 + 0.3 * n)


def _unused_imports(site: EditSite, node: ast.Call) -> Iterator[Edit]:
    """A constant or class that is imported, and used nowhere: perhaps it was forgotten here."""
    if node.args and not node.keywords:
        for name in program_facts(site.program).unused:
            if name[:1].isupper():
                yield _with_argument(site, node, name, 1.5)


def _sort_keys(site: EditSite) -> list[str]:
    """Return what things without an order may be sorted by, where a test failed for that."""
    message = next((one.message for one in raised(site, "TypeError")), "")
    if not (kind := unordered_type(message)):
        return []
    keys: list[str] = []
    for program in (site.program, *site.others):
        for node in ast.walk(program.tree):
            match node:
                case ast.Subscript(slice=ast.Constant(value=str(text))) if kind == "dict":
                    keys.append(f"one[{text!r}]")
                case ast.ClassDef(name=name) if name == kind:
                    known = program_facts(program)
                    fields = [one for one in known.members[node] if one not in known.defined(node)]
                    keys += [f"one.{field}" for field in fields if not field.startswith("_")]
    return list(dict.fromkeys(keys))[:_MOST_ORDERS]


def _with_argument(site: EditSite, node: ast.Call, text: str, unlikely: float) -> Edit:
    """A call with one more argument at its end."""
    program = site.program
    given: list[ast.expr | ast.keyword] = [*node.args, *node.keywords]
    end = program.span(node)[1] - 1
    if given:
        last = max(program.span(one)[1] for one in given)
        alone = len(given) == 1 and isinstance(given[0], ast.GeneratorExp)
        if alone:  # a generator alone in a call has to have parentheses of its own
            start, last = program.span(given[0])
            if program.text[start] != "(" or start == program.span(node.func)[1]:
                made = f"{program.source(node.func)}({program.source(given[0])}, {text})"
                return program.replace("argument_add", node, made, unlikely=unlikely)
        # Behind what closes the last one's own parentheses.
        tail = program.text[last:end]
        at = last + len(tail) - len(tail.lstrip(") \n\t")) if ")" in tail else last
        splice = Splice(at, at, f", {text}")
    else:
        splice = Splice(end, end, text)
    says = f"`{text}` added to the call of `{program.source(node.func)[:40]}`"
    return program.edit("argument_add", node, says, splice, unlikely=unlikely)


def _missing_arguments(site: EditSite, node: ast.Call, name: str) -> Iterator[Edit]:
    """Arguments that the function in this file still takes: names in scope, likeliest first."""
    program = site.program
    function = program_facts(program).functions.get(name)
    if function is None:
        return
    wanted = [one.arg for one in [*function.args.posonlyargs, *function.args.args]]
    if wanted and wanted[0] in ("self", "cls"):
        wanted = wanted[1:]
    given = {one.arg for one in node.keywords}
    if len(node.args) + len(given) >= len(wanted) or None in given:
        return
    missing = [one for one in wanted[len(node.args) :] if one not in given]
    needed = len(wanted) - len(function.args.defaults) > len(node.args) + len(given)
    rare = 1.0 if needed else 2.5
    target = missing[0]
    likely = ast.copy_location(ast.Name(id=target, ctx=ast.Load()), node)
    program.parents[likely] = node
    try:
        names = [other for other, _ in candidates(site, likely)]
        if target in program_facts(program).visible(node):
            names.insert(0, target)
    finally:
        del program.parents[likely]
    values = dict.fromkeys([*names[:_MOST_ADDED], "0", "1", "None", "True", "False"])
    for place, text in enumerate(values):
        written = text if not given and len(missing) == len(wanted) - len(node.args) else None
        argument = written or f"{target}={text}"
        yield _with_argument(site, node, argument, rare + 0.3 * place)
        if written and node.args and text.isidentifier() and place < 3 and needed:
            at = program.span(node.args[0])[0]
            says = f"`{text}` added before the arguments of `{name}`"
            splice = Splice(at, at, f"{text}, ")
            yield program.edit(
                "argument_add", node, says, splice, unlikely=rare + 0.5 + 0.3 * place
            )


@edits("star")
def starred(site: EditSite, node: ast.Call) -> Ways:
    """`f(xs)` → `f(*xs)` where the function takes any number of things, and back."""
    program = site.program
    if not node.args:
        return
    name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
    last = node.args[-1]
    if isinstance(last, ast.Starred):
        text = program.source(last.value)
        yield last, text, 1.5
        return
    own = site.known.functions.get(name)
    takes_many = name in _TAKE_MANY or (own is not None and own.args.vararg is not None)
    refused = any(raised(site, "TypeError"))
    if isinstance(last, _MAY_BE_MANY) and (takes_many or refused):
        unlikely = 1.0 if takes_many else 2.0
        yield last, f"*{program.source(last)}", unlikely


ARGUMENTS = (dropped_argument, added_argument, starred)
