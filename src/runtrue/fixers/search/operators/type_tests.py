"""Types: one more type that is let in, or a value of another type made to fit first."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

from runtrue.fixers.search.edit import Edit
from runtrue.fixers.search.evidence import Failure
from runtrue.fixers.search.operators.clues import raised
from runtrue.fixers.search.operators.facts import program_facts
from runtrue.fixers.search.operators.layout import before, free, parameters
from runtrue.fixers.search.operators.likeness import likeness
from runtrue.fixers.search.operators.nodes import walk
from runtrue.fixers.search.operators.seam import EditSite
from runtrue.fixers.search.program import BUILTINS, Program

#: Types that are often meant together.
_TOGETHER = {
    "str": ("bytes",),
    "bytes": ("str", "bytearray"),
    "list": ("tuple", "set"),
    "tuple": ("list",),
    "set": ("frozenset",),
    "int": ("float",),
    "float": ("int",),
    "dict": ("Mapping",),
    "Mapping": ("dict",),
}
#: How a value of a type is written as a text, a list or a number.
_CONVERSIONS = ("str({a})", "list({a})", "dict({a})", "tuple({a})", "{a}.decode()", "int({a})")
#: The type of what was found where another was needed.
_FOUND = re.compile(r"expected \w+ instance, (\w+) found")
_MOST = 5


def wider_isinstance(site: EditSite) -> Iterator[Edit]:
    """One more type in an `isinstance`: one that values had, or that goes with it."""
    program, node = site.program, site.node
    match node:
        case ast.Call(
            func=ast.Name(id="isinstance" | "issubclass"), args=[value, kinds], keywords=[]
        ):
            pass
        case _:
            return
    own = [program.source(one) for one in (kinds.elts if isinstance(kinds, ast.Tuple) else [kinds])]
    names = set(program.names_in(program.tree)) | BUILTINS
    seen = [
        frame.values[name].type
        for failure in site.failures
        for frame in failure.frames
        for name in (program.source(value),)
        if frame.file == program.file and name in frame.values
    ]
    others = [kind for one in own for kind in _TOGETHER.get(one, ())]
    others += [kind for one in (program, *site.others) for kind in _types_asked_for(one)]
    found = [
        one
        for one in dict.fromkeys([*seen, *others])
        if one.partition(".")[0] in names and one not in own
    ]
    for n, kind in enumerate(found[:_MOST]):
        text = f"({', '.join([*own, kind])})"
        yield program.replace("isinstance", kinds, text, unlikely=0.8 + 0.3 * n)
    if isinstance(kinds, ast.Tuple) and len(own) > 1:
        for one in own:
            rest = [other for other in own if other != one]
            text = rest[0] if len(rest) == 1 else f"({', '.join(rest)})"
            yield program.replace("isinstance", kinds, text, unlikely=2.5)


@lru_cache(maxsize=256)
def _types_asked_for(program: Program) -> tuple[str, ...]:
    """Return the types that values are checked for in a file, the usual one first."""
    found: Counter[str] = Counter()
    for call in program_facts(program).calls.get("isinstance", ()):
        for one in walk(call.args[-1], ast.Name, ast.Attribute) if call.args else ():
            found[program.source(one)] += 1
    return tuple(kind for kind, _ in found.most_common())


def converted_if(site: EditSite) -> Iterator[Edit]:
    """A value of another type made to fit before it is used: `if isinstance(x, T): x = f(x)`."""
    program, node = site.program, site.node
    if not isinstance(node, ast.stmt) or not free(program, node):
        return
    names = program.names_in(program.tree)
    read = dict.fromkeys(one.id for one in walk(node, ast.Name) if isinstance(one.ctx, ast.Load))
    for failure in (*raised(site, "TypeError", "AttributeError", "ValueError"), *_found(site)):
        values = failure.frames[-1].values
        wrong = _FOUND.search(failure.message)
        for one in read:
            value = values.get(one)
            if value is None or one in ("self", "cls") or value.type not in {*BUILTINS, *names}:
                continue
            if wrong is not None and value.type != wrong[1]:
                continue
            kind = "Mapping" if value.type == "dict" and "Mapping" in names else value.type
            for n, way in enumerate(_ways(program, one, value.type)):
                made = way.replace("{a}", one)
                lines = (f"if isinstance({one}, {kind}):", f"{program.step}{one} = {made}")
                says = f"`{lines[0]} {one} = {made}`"
                put = before(program, node, *lines)
                yield program.edit("convert", node, says, put, unlikely=1.0 + 0.3 * n)


def _found(site: EditSite) -> Iterator[Failure]:
    """Yield the failures, in the function around, at a value of a type that they name."""
    function = site.program.function_of(site.node)
    for failure in site.failures if function is not None else ():
        frame = failure.frames[-1] if failure.frames else None
        if frame is None or function is None or not _FOUND.search(failure.message):
            continue
        if (frame.file, frame.function) == (site.program.file, function.name):
            yield failure


def _ways(program: Program, name: str, kind: str) -> list[str]:
    """Return how a value may be converted: by functions of the file that are named after it."""
    functions = program_facts(program).functions.values()
    own = [
        (likeness(one.name, name), one.name)
        for one in functions
        if len(one.args.args) - len(one.args.defaults) <= 1 <= len(parameters(one))
        and program.parents.get(one) is program.tree
    ]
    named = [f"{text}({{a}})" for alike, text in sorted(own, reverse=True)[:3] if alike > 0.3]
    usual = [way for way in _CONVERSIONS if not way.startswith(f"{kind}(")]
    return [*named, *usual][:_MOST]


TYPES = (wider_isinstance,)
