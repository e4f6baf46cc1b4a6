"""Foreign: what is meant in another language, said in Python.

A program written by someone who thinks in JavaScript, Java, C or Go may well parse, and then
misses a name or an attribute. The tables below say what such a name means; `{0}` is what it hangs
on, `{1}` and `{2}` are arguments, and `{*}` are all of them.
"""

from __future__ import annotations

import ast
from typing import TypeVar

from runtrue.fixers.search.edit import Edit, Splice
from runtrue.fixers.search.operators.imports import place_of_imports
from runtrue.fixers.search.operators.layout import free, is_known, undefined
from runtrue.fixers.search.operators.nodes import walk
from runtrue.fixers.search.operators.seam import EditSite, Ways, edits
from runtrue.fixers.search.program import Program

Meaning = TypeVar("Meaning")


def _by_word(rows: dict[str, Meaning]) -> dict[str, Meaning]:
    return {word: meaning for words, meaning in rows.items() for word in words.split()}


#: What names mean, as alternatives; several names that mean the same share a row.
_NAMES = _by_word(
    {
        "null nil NULL nullptr undefined none": ("None",),
        "true TRUE": ("True",),
        "false FALSE": ("False",),
        "this Self me": ("self",),
        "NaN": ('float("nan")',),
        "Infinity INFINITY": ('float("inf")',),
        "INT_MAX": ("2**31 - 1", 'float("inf")'),
        "INT_MIN": ("-(2**31)", 'float("-inf")'),
        "string String unicode": ("str",),
        "boolean Boolean": ("bool",),
        "integer Integer long": ("int",),
        "double": ("float",),
        "Array": ("list",),
        "ArrayList Vector vector": ("list", "List"),
        "HashMap Map": ("dict", "Dict"),
        "HashSet Set": ("set",),
        "unichr": ("chr",),
        "xrange": ("range",),
        "raw_input": ("input",),
    }
)
#: Attributes that are not called.
_ATTRIBUTES = _by_word(
    {
        "length Length size Count": ("len({0})",),
        "MAX_VALUE": ('float("inf")', "2**31 - 1"),
        "MIN_VALUE": ('float("-inf")', "-(2**31)"),
        "MAX_SAFE_INTEGER POSITIVE_INFINITY": ('float("inf")',),
        "NEGATIVE_INFINITY": ('float("-inf")',),
        "PI": ("math.pi",),
    }
)
#: Methods, each with how many arguments they are given: `push/1`.
_METHODS = _by_word(
    {
        "push/1 offer/1": ("{0}.append({1})", "heapq.heappush({0}, {1})"),
        "push_back/1": ("{0}.append({1})",),
        "add/1": ("{0}.append({1})", "{0}.add({1})"),
        "append/1": ("{0}.add({1})", "{0}.update({1})"),
        "addAll/1": ("{0}.extend({1})", "{0}.update({1})"),
        "enqueue/1": ("{0}.append({1})", "{0}.put({1})"),
        "dequeue/0 pop_front/0": ("{0}.popleft()", "{0}.pop(0)"),
        "poll/0": ("{0}.popleft()", "{0}.pop(0)", "heapq.heappop({0})"),
        "pop_back/0 remove/0 removeLast/0": ("{0}.pop()",),
        "shift/0 removeFirst/0": ("{0}.pop(0)", "{0}.popleft()"),
        "unshift/1": ("{0}.insert(0, {1})", "{0}.appendleft({1})"),
        "push_front/1": ("{0}.appendleft({1})", "{0}.insert(0, {1})"),
        "peek/0 top/0": ("{0}[-1]", "{0}[0]"),
        "front/0": ("{0}[0]",),
        "back/0": ("{0}[-1]",),
        "length/0 len/0 size/0 count/0": ("len({0})",),
        "isEmpty/0 is_empty/0 empty/0": ("not {0}",),
        "contains/1 includes/1 containsKey/1 has_key/1 has/1 hasOwnProperty/1": ("{1} in {0}",),
        "containsValue/1": ("{1} in {0}.values()",),
        "indexOf/1": ("{0}.index({1})", "{0}.find({1})"),
        "lastIndexOf/1": ("{0}.rfind({1})", "{0}.rindex({1})"),
        "charAt/1 at/1 get/1": ("{0}[{1}]",),
        "put/2": ("{0}.__setitem__({1}, {2})", "{0}.update({{{1}: {2}}})"),
        "set/2": ("{0}.__setitem__({1}, {2})",),
        "getOrDefault/2": ("{0}.get({1}, {2})",),
        "keySet/0 iterkeys/0": ("{0}.keys()",),
        "entrySet/0 iteritems/0": ("{0}.items()",),
        "itervalues/0": ("{0}.values()",),
        "toLowerCase/0 toLower/0": ("{0}.lower()",),
        "toUpperCase/0 toUpper/0": ("{0}.upper()",),
        "trim/0": ("{0}.strip()",),
        "trimStart/0": ("{0}.lstrip()",),
        "trimEnd/0": ("{0}.rstrip()",),
        "startsWith/1": ("{0}.startswith({1})",),
        "endsWith/1": ("{0}.endswith({1})",),
        "replaceAll/2": ("{0}.replace({1}, {2})",),
        "equals/1": ("{0} == {1}",),
        "equalsIgnoreCase/1": ("{0}.lower() == {1}.lower()",),
        "toString/0 to_string/0": ("str({0})",),
        "parseInt/1": ("int({1})",),
        "parseFloat/1": ("float({1})",),
        "valueOf/1": ("str({1})", "int({1})"),
        "toCharArray/0": ("list({0})",),
        "substring/2 slice/2": ("{0}[{1}:{2}]",),
        "substring/1 slice/1": ("{0}[{1}:]",),
        "substr/2": ("{0}[{1}:{1} + {2}]", "{0}[{1}:{2}]"),
        "slice/0": ("{0}[:]",),
        "splice/2": ("{0}[{1}:{1} + {2}]",),
        "concat/1": ("{0} + {1}",),
        "clone/0": ("{0}.copy()",),
        "join/1": ("{1}.join({0})",),
        "join/0": ('"".join({0})',),
        "reverse/0": ("{0}[::-1]", "list(reversed({0}))"),
        "reversed/0": ("{0}[::-1]",),
        "sorted/0 sort/0": ("sorted({0})",),
        "sum/0": ("sum({0})",),
        "max/0": ("max({0})",),
        "min/0": ("min({0})",),
        "map/1": ("list(map({1}, {0}))",),
        "filter/1": ("list(filter({1}, {0}))",),
        "forEach/1": ("[({1})(each) for each in {0}]",),
        "some/1": ("any(map({1}, {0}))",),
        "every/1": ("all(map({1}, {0}))",),
        "reduce/2": ("functools.reduce({1}, {0}, {2})",),
        "fill/1": ("[{1}] * len({0})",),
        "delete/1": ("{0}.discard({1})", "{0}.pop({1}, None)"),
        "toFixed/1": ("round({0}, {1})",),
        "isNumeric/0": ("{0}.isdigit()",),
    }
)
#: What belongs to a class or a module of the other language: `Math.max(…)`.
_STATIC = _by_word(
    {
        "Math.max": "max({*})",
        "Math.min": "min({*})",
        "Math.abs": "abs({*})",
        "Math.pow": "pow({*})",
        "Math.round": "round({*})",
        "Math.floor": "math.floor({*})",
        "Math.ceil": "math.ceil({*})",
        "Math.sqrt": "math.sqrt({*})",
        "Math.trunc Integer.parseInt Integer.valueOf": "int({*})",
        "Array.from Object.keys": "list({*})",
        "Array.isArray": "isinstance({*}, list)",
        "Arrays.sort Collections.sort": "{*}.sort()",
        "Arrays.asList": "list(({*}))",
        "Arrays.toString String.valueOf Integer.toString strconv.Itoa": "str({*})",
        "Object.values": "list({*}.values())",
        "Object.entries": "list({*}.items())",
        "JSON.parse": "json.loads({*})",
        "JSON.stringify": "json.dumps({*})",
        "String.fromCharCode": "chr({*})",
        "Number.isInteger": "isinstance({*}, int)",
        "console.log console.error System.out.println fmt.Println": "print({*})",
        "strings.ToLower": "str.lower({*})",
        "strings.ToUpper": "str.upper({*})",
        "strings.Split": "str.split({*})",
    }
)
#: Functions that Python does not have, or has under another name.
_FUNCTIONS = _by_word(
    {
        "parseInt": "int({*})",
        "parseFloat Number": "float({*})",
        "String toString": "str({*})",
        "Boolean": "bool({*})",
        "printf println echo": "print({*})",
        "strlen length size count": "len({*})",
        "append": "{0} + [{1}]",
        "cmp": "({0} > {1}) - ({0} < {1})",
        "isinstanceof": "isinstance({*})",
        "typeof": "type({*})",
        "Error": "Exception({*})",
        "isNaN": "math.isnan({*})",
        "sqrt": "({0}) ** 0.5",
    }
)
_NEEDS = ("math", "json", "heapq", "functools")
_PRINTING = ("console", "System", "fmt", "printf", "println", "echo", "cout", "puts")


@edits("foreign")
def foreign_name(site: EditSite, node: ast.Name) -> Ways:
    """`null`, `true`, `this`: here, and everywhere in the file."""
    program = site.program
    if node.id not in undefined(program):
        return
    if is_known(program, node):
        return
    same = [
        one
        for one in walk(program.tree, ast.Name)
        if one.id == node.id and isinstance(one.ctx, ast.Load)
    ]
    for n, text in enumerate(_NAMES.get(node.id, ())):
        if text.islower() and text == "self" and program.class_of(node) is None:
            continue
        splices = [Splice(*program.span(one), text) for one in same]
        says = f"`{node.id}` is `{text}`"
        yield program.edit("foreign", node, says, *splices, unlikely=1.0 + n / 4)
        if len(same) > 1:
            yield text, 1.5 + n / 4


@edits("foreign", read=True)
def foreign_attribute(site: EditSite, node: ast.Attribute) -> Ways:
    """`xs.length` → `len(xs)`."""
    program = site.program
    parent = program.parents[node]
    if isinstance(parent, ast.Call) and parent.func is node:
        return
    owner = program.source(node.value)
    if owner in ("self", "cls"):
        return
    for n, form in enumerate(_ATTRIBUTES.get(node.attr, ())):
        text = form.format(owner)
        yield _with_import(program, node, text, 1.0 + n / 4)
    if isinstance(parent, ast.Expr) and node.attr in ("sort", "reverse", "pop", "clear"):
        yield f"{owner}.{node.attr}()", 1.0


@edits("foreign")
def foreign_call(site: EditSite, node: ast.Call) -> Ways:
    """`xs.push(x)` → `xs.append(x)`, `Math.max(a, b)` → `max(a, b)`, `parseInt(x)` → `int(x)`."""
    program = site.program
    if node.keywords:
        return
    if any(isinstance(one, ast.Starred) for one in node.args):
        return
    called = program.source(node.func)
    given = [program.source(one) for one in node.args]
    everything = ", ".join(given)
    if isinstance(node.func, ast.Attribute):
        owner = program.source(node.func.value)
        root = owner.partition(".")[0]
        if (form := _STATIC.get(called)) and root in undefined(program):
            yield _with_import(program, node, form.replace("{*}", everything), 1.0)
        if owner == "self" or (root == "self" and owner.count(".") == 0):
            return
        forms = _METHODS.get(f"{node.func.attr}/{len(given)}", ())
        own = owner if isinstance(node.func.value, _PLAIN) else f"({owner})"
        args = [
            text if isinstance(one, _PLAIN) else f"({text})"
            for text, one in zip(given, node.args, strict=True)
        ]
        missed = any(node.func.attr in (one.attribute or one.message) for one in site.failures)
        for n, form in enumerate(forms):
            text = form.format(own, *args)
            if isinstance(program.parents[node], ast.expr) and not text.endswith((")", "]")):
                text = f"({text})"
            yield _with_import(program, node, text, (1.0 if missed else 3.0) + n / 4)
        if (
            ((node.func.attr == "put" and len(given) == 2) or node.func.attr == "set")
            and isinstance(program.parents[node], ast.Expr)
            and len(given) == 2
        ):
            yield f"{own}[{given[0]}] = {given[1]}", 1.0
    elif (
        isinstance(node.func, ast.Name)
        and node.func.id in undefined(program)
        and (form := _FUNCTIONS.get(called))
    ):
        if "{0}" not in form:
            yield _with_import(program, node, form.replace("{*}", everything), 1.0)
        elif len(given) == (2 if "{1}" in form else 1):
            text = form.format(*given)
            text = f"({text})" if form.count("{1}") == 1 else text
            yield text, 1.0


_PLAIN = (ast.Name, ast.Attribute, ast.Subscript, ast.Call, ast.Constant, ast.List, ast.Dict)


@edits("foreign")
def foreign_statement(site: EditSite, node: ast.Expr) -> Ways:
    """Statements that only print, declare, or count in another language's way."""
    program = site.program
    if isinstance(node.value, ast.UnaryOp) and isinstance(node.value.op, ast.UAdd | ast.USub):
        inner = node.value.operand  # `++i` parses, and does nothing
        if isinstance(inner, ast.UnaryOp) and isinstance(inner.operand, ast.Name | ast.Attribute):
            sign = "+=" if isinstance(inner.op, ast.UAdd) else "-="
            text = f"{program.source(inner.operand)} {sign} 1"
            yield text, 1.0
    root = program.source(node).partition(".")[0].partition("(")[0].partition(" ")[0]
    if root in _PRINTING and root in undefined(program):
        yield program.replace("foreign", node, "pass", says="without the printing", unlikely=1.5)
    if (
        isinstance(node.value, ast.Name)
        and node.value.id in undefined(program)
        and free(program, node)
    ):
        yield program.replace("foreign", node, "pass", says=f"without `{root}`", unlikely=1.2)


def _with_import(program: Program, node: ast.AST, text: str, unlikely: float) -> Edit:
    """Replace a node, and import the module that the new text needs."""
    start, end = program.span(node)
    splices = [Splice(start, end, text)]
    for module in _NEEDS:
        if f"{module}." in text and module not in program.names_in(program.tree):
            at = place_of_imports(program)
            splices.append(Splice(at, at, f"import {module}\n"))
    says = f"`{program.source(node)}` is `{text}`"
    return program.edit("foreign", node, says[:120], *splices, unlikely=unlikely)
