"""Transforms: what turns a value that a test got into the one that it expects.

Each way of a table is worked out on the values of the failing test, and proposed only if it gives
what is expected there: few are, and these are likely.
"""

from __future__ import annotations

import ast
import html
import inspect
import posixpath
import re
import textwrap
import urllib.parse
from collections import Counter
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from runtrue.fixers.search.edit import Edit
from runtrue.fixers.search.evidence import Failure
from runtrue.fixers.search.operators.differences import changes, differences, for_failures
from runtrue.fixers.search.operators.facts import program_facts
from runtrue.fixers.search.operators.layout import before, free
from runtrue.fixers.search.operators.nodes import walk
from runtrue.fixers.search.operators.precedence import code
from runtrue.fixers.search.operators.rules import rewrites
from runtrue.fixers.search.operators.seam import EditSite
from runtrue.fixers.search.program import Program

#: How a value becomes another one: as it is written, and as it is worked out.
_WAYS: dict[type, dict[str, Callable[[Any], Any]]] = {
    str: {
        "{a}.strip()": str.strip,
        "{a}.rstrip()": str.rstrip,
        "{a}.lstrip()": str.lstrip,
        "{a}.lower()": str.lower,
        "{a}.upper()": str.upper,
        "{a}.casefold()": str.casefold,
        "{a}.capitalize()": str.capitalize,
        "{a}.title()": str.title,
        "{a}.encode()": str.encode,
        "{a}.split()": str.split,
        "{a}.splitlines()": str.splitlines,
        "{a}[::-1]": lambda a: a[::-1],
        "{a}[1:]": lambda a: a[1:],
        "{a}[:-1]": lambda a: a[:-1],
        "{a}[1:-1]": lambda a: a[1:-1],
        '" ".join({a}.split())': lambda a: " ".join(a.split()),
        "{a} or None": lambda a: a or None,
        "int({a})": int,
        "float({a})": float,
        "list({a})": list,
        "[{a}]": lambda a: [a],
        "({a},)": lambda a: (a,),
        "inspect.cleandoc({a})": inspect.cleandoc,
        "textwrap.dedent({a})": textwrap.dedent,
        "html.escape({a})": html.escape,
        "html.unescape({a})": html.unescape,
        "quote({a})": urllib.parse.quote,
        "unquote({a})": urllib.parse.unquote,
        "urllib.parse.quote({a})": urllib.parse.quote,
        "urllib.parse.unquote({a})": urllib.parse.unquote,
        "re.escape({a})": re.escape,
        "os.path.normpath({a})": posixpath.normpath,
        "os.path.basename({a})": posixpath.basename,
        "os.path.dirname({a})": posixpath.dirname,
    },
    bytes: {"{a}.decode()": bytes.decode, "str({a})": str, "{a}.strip()": bytes.strip},
    int: {
        "str({a})": str,
        "float({a})": float,
        "bool({a})": bool,
        "abs({a})": abs,
        "-{a}": lambda a: -a,
        "{a} or None": lambda a: a or None,
    },
    float: {
        "int({a})": int,
        "round({a})": round,
        "round({a}, 2)": lambda a: round(a, 2),
        "abs({a})": abs,
        "-{a}": lambda a: -a,
        "str({a})": str,
    },
    bool: {"not {a}": lambda a: not a, "int({a})": int, "str({a})": str},
    list: {
        "tuple({a})": tuple,
        "set({a})": set,
        "sorted({a})": sorted,
        "{a}[::-1]": lambda a: a[::-1],
        "{a}[1:]": lambda a: a[1:],
        "{a}[:-1]": lambda a: a[:-1],
        "{a}[0]": lambda a: a[0],
        "{a}[-1]": lambda a: a[-1],
        "len({a})": len,
        "list(dict.fromkeys({a}))": lambda a: list(dict.fromkeys(a)),
        "[one for one in {a} if one]": lambda a: [one for one in a if one],
        '"".join({a})': "".join,
        "{a} or None": lambda a: a or None,
        "[{a}]": lambda a: [a],
    },
    tuple: {
        "list({a})": list,
        "sorted({a})": sorted,
        "{a}[0]": lambda a: a[0],
        "{a}[-1]": lambda a: a[-1],
        "{a}[::-1]": lambda a: a[::-1],
        "len({a})": len,
    },
    set: {"sorted({a})": sorted, "list({a})": list, "len({a})": len},
    dict: {
        "list({a})": list,
        "list({a}.values())": lambda a: list(a.values()),
        "list({a}.items())": lambda a: list(a.items()),
        "{a} or None": lambda a: a or None,
    },
    type(None): {
        '{a} or ""': lambda a: "",
        "{a} or []": lambda a: [],
        "{a} or {}": lambda a: {},
        "{a} or 0": lambda a: 0,
        "bool({a})": bool,
    },
}
#: Where a value is passed on; elsewhere it is only looked at.
_HOLDERS = (ast.Return, ast.Assign, ast.AnnAssign, ast.keyword, ast.Dict, ast.Yield, ast.IfExp)
_VALUES = (ast.Name, ast.Attribute, ast.Subscript, ast.Call, ast.BinOp, ast.JoinedStr, ast.IfExp)
_MODULE = re.compile(r"(?<![\w.}])([a-z]+)\.[a-z.]+\(")
_FUNCTION = re.compile(r"^(quote|unquote)\(")
_LONGEST = 12
#: How likely these are beside others; less where the test may have named its sides the other way.
_LIKELY, _TURNED = 0.3, 1.5
#: The same for a part of a text, which cannot be worked out, and how many of these are proposed.
_IN_PART, _MOST_PARTS = 1.5, 4


def transformed(site: EditSite) -> Iterator[Edit]:
    """A value turned into what a test expects, where it is passed on."""
    program, node = site.program, site.node
    if not isinstance(node, _VALUES) or not site.failures or not _is_passed_on(program, node):
        return
    if isinstance(node, ast.Name) and node.id in ("self", "cls"):
        return
    ways = {
        way: rare + (0.0 if isinstance(program.parents.get(node), ast.Return) else 0.2)
        for way, rare in transforms(site.failures).items()
        if _is_at_hand(program, way)
    }
    yield from rewrites(site, "transform", node, ways, a=code(program, node))


def _is_passed_on(program: Program, node: ast.expr) -> bool:
    parent = program.parents.get(node)
    if not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
        return False
    if isinstance(parent, ast.Call):
        return node in parent.args and len(parent.args) <= 3
    if isinstance(parent, ast.IfExp):
        return node is not parent.test
    return isinstance(parent, _HOLDERS)


@for_failures
def transforms(failures: tuple[Failure, ...]) -> dict[str, float]:
    """Return the ways to write what turns values that tests got into those that they expect."""
    found: dict[str, float] = {}
    parts: list[str] = []
    for got, wanted, is_as_written in differences(failures):
        rare = _LIKELY if is_as_written else _TURNED
        ways = [way for way, work in _WAYS.get(type(got), {}).items() if _gives(work, got, wanted)]
        if isinstance(got, str) and isinstance(wanted, str):
            ways += [way for way, made in _text_ways(got, wanted) if made == wanted]
            # A text is often put together from parts: one of these may be what is to change.
            parts += [way for way, _ in _text_ways(got, wanted) if ".replace(" in way]
        for way in ways:
            found.setdefault(way, rare + 0.05 * len(found))
    for way, count in Counter(parts).most_common(_MOST_PARTS):
        found.setdefault(way, _IN_PART if count < 3 else _LIKELY + 0.3)
    return found


def _gives(work: Callable[[Any], Any], got: object, wanted: object) -> bool:
    try:
        made = work(got)
    except (TypeError, ValueError, LookupError, ArithmeticError, RecursionError):
        return False
    return type(made) is type(wanted) and bool(made == wanted) and made is not got


def _text_ways(got: str, wanted: str) -> Iterator[tuple[str, str]]:
    """Yield ways with texts of their own, each with what it makes: replaced, added, taken off."""
    for before_, old, new, after_ in changes(got, wanted):
        if "{" in old + new or max(len(old), len(new)) > _LONGEST:
            continue  # a template would take it for a hole; a long text copies the answer
        for left, right in ((before_[-1:], ""), ("", after_[:1]), ("", "")):
            one, other = left + old + right, left + new + right
            if one and "{" not in one:
                yield f"{{a}}.replace({one!r}, {other!r})", got.replace(one, other)
        if not old and not before_:
            yield f"{new!r} + {{a}}", new + got
        if not old and not after_:
            yield f"{{a}} + {new!r}", got + new
        if old and not new and not before_:
            yield f"{{a}}.removeprefix({old!r})", got.removeprefix(old)
            yield f"{{a}}.lstrip({old[0]!r})", got.lstrip(old[0])
        if old and not new and not after_:
            yield f"{{a}}.removesuffix({old!r})", got.removesuffix(old)
            yield f"{{a}}.rstrip({old[0]!r})", got.rstrip(old[0])


def _is_at_hand(program: Program, way: str) -> bool:
    """Return whether the module or the function that a way calls is imported."""
    names = program.names_in(program.tree)
    if called := _FUNCTION.match(way):
        return called[1] in names
    module = _MODULE.search(way)
    return module is None or module[1] in names


def begins_with(site: EditSite) -> Iterator[Edit]:
    """A text made to begin, or end, with what the test expects: unless it does already."""
    program, node = site.program, site.node
    if not isinstance(node, ast.stmt) or not free(program, node) or not site.failures:
        return
    names = [one.id for one in walk(node, ast.Name) if isinstance(one.ctx, ast.Load)]
    for n, name in enumerate(dict.fromkeys(names)):
        if name in ("self", "cls") or name not in program.names_in(program.scope_of(node)):
            continue
        for text, is_as_written in _added(site.failures):
            for method, made in (
                ("startswith", f"{text} + {name}"),
                ("endswith", f"{name} + {text}"),
            ):
                lines = (
                    f"if not {name}.{method}({text}):",
                    f"{program.step}{name} = {made}",
                )
                says = f"`{lines[0]} {name} = {made}`"
                put = before(program, node, *lines)
                rare = 0.6 + 0.1 * n + (0.0 if is_as_written else 0.4)
                yield program.edit("transform", node, says, put, unlikely=rare)


@for_failures
def _added(failures: tuple[Failure, ...]) -> tuple[tuple[str, bool], ...]:
    """Return the short texts that lack somewhere in what tests got, as they are written."""
    found: dict[str, bool] = {}
    for got, wanted, is_as_written in differences(failures):
        if isinstance(got, str) and isinstance(wanted, str):
            parts = changes(got, wanted)
            if len(parts) == 1 and not parts[0].old and 0 < len(parts[0].new) <= _LONGEST:
                found.setdefault(repr(parts[0].new), is_as_written)
    return tuple(found.items())


def same_use(site: EditSite) -> Iterator[Edit]:
    """A value used as the same file uses one of the same name: `f(x)` or `x.m()`, not plain `x`."""
    program, node = site.program, site.node
    if not isinstance(node, ast.Name | ast.Attribute) or not _is_passed_on(program, node):
        return
    own = program.source(node)
    uses = _uses(program)
    alike = {way: 1.0 + 0.3 * n for n, (way, _) in enumerate(uses.get(_last(own), ()))}
    # What the file does to many a value, under whatever name.
    usual = {way: 2.0 + 0.3 * n for n, (way, _) in enumerate(uses.get("", ()))}
    yield from rewrites(site, "same_use", node, usual | alike, a=code(program, node))


_MOST_USES = 4


@lru_cache(maxsize=64)
def _uses(program: Program) -> dict[str, list[tuple[str, int]]]:
    """Return how values are wrapped in a file, by the last word of what they are called."""
    counted: dict[str, dict[str, int]] = {}
    own = program_facts(program).functions
    for one in ast.walk(program.tree):
        match one:
            case ast.Call(
                func=ast.Attribute(value=ast.Name() | ast.Attribute() as value, attr=name),
                args=given,
                keywords=[],
            ) if all(map(_is_fixed, given)):
                said = ", ".join(map(program.source, given))
                way = f"{{a}}.{name}({said})" if not {*"{\n"} & {*said} else ""
            case ast.Call(
                func=ast.Name() | ast.Attribute() as func,
                args=[ast.Name() | ast.Attribute() as value],
                keywords=[],
            ):
                name = program.source(func)
                way = f"{name}({{a}})" if "{" not in name and "\n" not in name else ""
            case _:
                continue
        if way and not isinstance(program.parents.get(one), ast.Expr):
            uses = counted.setdefault(_last(program.source(value)), {})
            uses[way] = uses.get(way, 0) + 1
            if isinstance(one.func, ast.Name | ast.Attribute) and _last(name) in own:
                usual = counted.setdefault("", {})
                usual[way] = usual.get(way, 0) + 1
    return {
        name: sorted(uses.items(), key=lambda one: -one[1])[:_MOST_USES]
        for name, uses in counted.items()
    }


def _is_fixed(node: ast.expr) -> bool:
    """Return whether an argument is the same everywhere in a file."""
    return isinstance(node, ast.Constant) or (isinstance(node, ast.Name) and node.id.isupper())


def _last(text: str) -> str:
    return text.rpartition(".")[2]


TRANSFORMS = (transformed, same_use)
