"""Parallels: code beside the wrong one that does the same for something else."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from itertools import islice

from runtrue.fixers.search.edit import Edit, Splice
from runtrue.fixers.search.operators.clues import raised
from runtrue.fixers.search.operators.differences import mentioned_texts
from runtrue.fixers.search.operators.facts import facts_at, program_facts
from runtrue.fixers.search.operators.layout import defaults_of, indented, is_elif, loop_of, rigid
from runtrue.fixers.search.operators.likeness import likeness
from runtrue.fixers.search.operators.nodes import walk
from runtrue.fixers.search.operators.precedence import Code, level_of, rewrite
from runtrue.fixers.search.operators.seam import EditSite
from runtrue.fixers.search.program import Function, Program

_NEAR, _MOST, _LARGEST = 60, 4, 40
#: How much alike a name is that may be meant.
_ALIKE = 0.6
#: How a flag is joined with a condition.
_SWITCHES = (("and", "not "), ("and", ""), ("or", ""), ("or", "not "))
_UNBOUND = re.compile(r"local variable '(\w+)'")
_STATEMENTS = (ast.Return, ast.Assign, ast.AugAssign, ast.Expr)


def like_parallel(site: EditSite) -> Iterator[Edit]:
    """An expression written as the one of a like statement is, with its own names."""
    program, node = site.program, site.node
    parent = program.parents.get(node)
    if not isinstance(parent, _STATEMENTS) or node is not getattr(parent, "value", None):
        return
    function = program.function_of(node)
    if function is None or not isinstance(node, ast.expr):
        return
    own = ast.dump(node)
    made: dict[str, tuple[int, ast.expr]] = {}
    for other in _values(program, function, parent):
        for tree in _with_names_of(node, other):
            if ast.dump(tree) != own:
                made.setdefault(ast.unparse(tree), (abs(other.lineno - node.lineno), other))
    nearest = sorted(made.items(), key=lambda one: one[1][0])
    for n, (text, (_, other)) in enumerate(nearest[:_MOST]):
        whole = Code(text, level_of(other))
        yield rewrite(program, "parallel", node, whole, unlikely=0.8 + 0.4 * n)


def _values(program: Program, function: Function, parent: ast.stmt) -> Iterator[ast.expr]:
    """Yield the values of statements of the same form near by."""
    for one in walk(function, type(parent)):
        value = getattr(one, "value", None)
        near = abs(one.lineno - parent.lineno) <= _NEAR
        if one is not parent and near and isinstance(value, ast.expr):
            size = sum(1 for _ in islice(ast.walk(value), _LARGEST))
            if not isinstance(value, ast.Constant | ast.Name) and size < _LARGEST:
                yield value


def _with_names_of(own: ast.expr, other: ast.expr) -> Iterator[ast.expr]:
    """Yield another expression in which what only it names is what only our own one names."""
    ours, theirs = _words(own), _words(other)
    lacking = [one for one in theirs if one not in ours]
    left = [one for one in ours if one not in theirs]
    if not lacking:
        if not left and ours:
            yield other
        return
    if len(lacking) != len(left) or len(left) > 2:
        return
    if [kind for kind, _ in lacking] != [kind for kind, _ in left]:
        return
    renamed = dict(zip(lacking, left, strict=True))
    yield _Renamed(renamed).visit(ast.parse(ast.unparse(other), mode="eval").body)


def _words(node: ast.AST) -> list[tuple[str, object]]:
    """Return the names, attributes and texts of an expression, each once."""
    found: dict[tuple[str, object], None] = {}
    for one in ast.walk(node):
        match one:
            case ast.Name(id=name):
                found["name", name] = None
            case ast.Attribute(attr=name):
                found["attribute", name] = None
            case ast.Constant(value=str(text)):
                found["text", text] = None
    return list(found)


class _Renamed(ast.NodeTransformer):
    """Writes other names, attributes and texts."""

    def __init__(self, renamed: dict[tuple[str, object], tuple[str, object]]) -> None:
        self._renamed = renamed

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """Return the name that this one is to be."""
        return ast.Name(id=str(self._of("name", node.id)), ctx=node.ctx)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """Return the attribute that this one is to be."""
        self.generic_visit(node)
        return ast.Attribute(
            value=node.value, attr=str(self._of("attribute", node.attr)), ctx=node.ctx
        )

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        """Return the text that this one is to be; other constants stay."""
        if not isinstance(node.value, str):
            return node
        return ast.Constant(value=str(self._of("text", node.value)))

    def _of(self, kind: str, word: str) -> object:
        return self._renamed.get((kind, word), (kind, word))[1]


def other_target(site: EditSite) -> Iterator[Edit]:
    """Assign to the variable that had no value, and that other branches assign to."""
    program, node = site.program, site.node
    match node:
        case ast.Assign(targets=[ast.Name() as target]):
            pass
        case ast.AnnAssign(target=ast.Name() as target, value=ast.expr()):
            pass
        case _:
            return
    function = program.function_of(node)
    if function is None:
        return
    for name in _without_value(site):
        if name == target.id or name not in program.names_in(function):
            continue
        beside = any(
            one.id == name and isinstance(one.ctx, ast.Store)
            for branch in _branches(program, node)
            for one in walk(branch, ast.Name)
        )
        says = f"`{target.id} =` → `{name} =`"
        put = Splice(*program.span(target), name)
        yield program.edit("target", node, says, put, unlikely=0.5 if beside else 2.0)


def renamed_definition(site: EditSite) -> Iterator[Edit]:
    """A function or class that nothing uses, named as it is asked for."""
    program, node = site.program, site.node
    if not isinstance(node, ast.stmt):
        return
    for name in dict.fromkeys(one.name for one in raised(site, "NameError") if one.name):
        used = {one.id for one in walk(program.tree, ast.Name)}
        for one in program.tree.body:
            if not isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                continue
            if one.name not in used and likeness(one.name, name) > _ALIKE:
                at = program.text.index(one.name, program.span(one)[0])
                says = f"`{one.name}` → `{name}`, its definition"
                put = Splice(at, at + len(one.name), name)
                yield program.edit("target", node, says, put, unlikely=1.0)


def _without_value(site: EditSite) -> list[str]:
    found = [
        one.name or next(iter(_UNBOUND.findall(one.message)), None)
        for one in site.failures
        if one.exception in ("UnboundLocalError", "NameError")
    ]
    return list(dict.fromkeys(filter(None, found)))


def _branches(program: Program, node: ast.stmt) -> Iterator[ast.stmt]:
    """Yield the statements of the other branches of the `if` or `try` around a statement."""
    for around in program.ancestors(node):
        if isinstance(around, ast.If | ast.Try):
            blocks: list[Sequence[ast.stmt]] = [around.body, around.orelse]
            if isinstance(around, ast.Try):
                blocks += [one.body for one in around.handlers]
            yield from (one for block in blocks for one in block if node not in block)
        elif isinstance(around, ast.FunctionDef | ast.AsyncFunctionDef):
            return


def other_case(site: EditSite) -> Iterator[Edit]:
    """A branch for another constant than those that are asked for: `elif mode == OTHER:`."""
    program, node = site.program, site.node
    if not isinstance(node, ast.If) or not node.orelse or rigid(node):
        return
    match node.test:
        case ast.Compare(left=left, ops=[ast.Eq() | ast.Is()], comparators=[asked]):
            pass
        case _:
            return
    if not isinstance(left, ast.Name | ast.Attribute):
        return
    others = _compared(program, program.source(left)) | _constants_like(program, asked)
    others.pop(program.source(asked), None)
    word = program.source(left)
    operator = "is" if isinstance(node.test.ops[0], ast.Is) else "=="
    at = program.line_span(node.body[-1])[1]
    indent = program.indent_of(node.lineno)
    for n, other in enumerate(list(others)[:_MOST]):
        for m, body in enumerate(_bodies(program, node)):
            head = f"{indent}elif {word} {operator} {other}:\n"
            says = f"`elif {word} {operator} {other}: {body.strip().partition(chr(10))[0]}`"
            put = Splice(at, at, head + indented(body, "", indent + program.step))
            yield program.edit("case", node, says, put, unlikely=1.0 + 0.3 * (n + m))


def _compared(program: Program, word: str) -> dict[str, None]:
    """Return the constants that a file compares something with."""
    found: dict[str, None] = {}
    for one in walk(program.tree, ast.Compare):
        if len(one.ops) == 1 and _same(program.source(one.left), word):
            other = one.comparators[0]
            if isinstance(other, ast.Constant | ast.Name | ast.Attribute):
                found.setdefault(program.source(other))
    return found


def _constants_like(program: Program, asked: ast.expr) -> dict[str, None]:
    """Return the constants of the file that are of the same kind as one of them, by their names.

    `KEEP_EXTRA = 1` and `DROP_EXTRA = 2` share a word and a type.
    """
    if not isinstance(asked, ast.Name):
        return {}
    found = {
        one.targets[0].id: type(one.value.value)
        for one in program.tree.body
        if isinstance(one, ast.Assign)
        and isinstance(one.targets[0], ast.Name)
        and isinstance(one.value, ast.Constant)
    }
    kind, words = found.get(asked.id), set(asked.id.split("_"))
    return {
        name: None for name, its in found.items() if its is kind and words & set(name.split("_"))
    }


def _same(one: str, other: str) -> bool:
    return one.rpartition(".")[2] == other.rpartition(".")[2]


def _bodies(program: Program, node: ast.If) -> Iterator[str]:
    """Yield what may be done in a further branch."""
    if loop_of(program, node):
        yield "continue\n"
    yield "pass\n"
    branch: ast.stmt = node
    while isinstance(branch, ast.If):
        first = branch.body[0]
        if len(branch.body) == 1 and program.alone(first) and not rigid(first):
            text = program.source(first) + "\n"
            if text.count("\n") == 1 and text not in ("continue\n", "pass\n"):
                yield text
        if len(branch.orelse) != 1 or not is_elif(program, branch.orelse[0]):
            return
        branch = branch.orelse[0]


def another_text(site: EditSite) -> Iterator[Edit]:
    """A text that a failing test is about, beside those that a condition or a row lets in."""
    program, node = site.program, site.node
    match node:
        case ast.Compare(
            ops=[ast.Eq() | ast.NotEq()], comparators=[ast.Constant(value=str()) as own]
        ):
            sign = "in" if isinstance(node.ops[0], ast.Eq) else "not in"
            form = f"{program.source(node.left)} {sign} ({{own}}, {{other}})"
            place: ast.expr = node
        case ast.Call(
            func=ast.Attribute(attr="startswith" | "endswith"),
            args=[ast.Constant(value=str()) as own],
        ):
            form, place = "({own}, {other})", own
        case (
            ast.Tuple(elts=[_, *_, own]) | ast.List(elts=[_, *_, own]) | ast.Set(elts=[_, *_, own])
        ):
            form, place = "{own}, {other}", own
            if not all(isinstance(getattr(one, "value", None), str) for one in node.elts):
                return
        case _:
            return
    known = {getattr(one, "value", None) for one in ast.walk(node)}
    others = [text for text in mentioned_texts(site.failures) if text not in known]
    for n, text in enumerate(others[:_MOST]):
        made = form.format(own=program.source(own), other=repr(text))
        if "\n" not in made:
            yield program.replace("case", place, made, unlikely=2.0 + 0.4 * n)


def other_call(site: EditSite) -> Iterator[Edit]:
    """A call that the class, or the file, makes with the same arguments elsewhere."""
    program, node = site.program, site.node
    if not isinstance(node, ast.Call) or node.keywords or len(node.args) > 1:
        return
    if isinstance(program.parents.get(node), ast.Expr):
        return  # another call in its place would drop what this one does
    own, given = ast.dump(node.func), [ast.dump(one) for one in node.args]
    around = program.class_of(node) or program.tree
    visible = {*program_facts(program).visible(node), "self"}
    found: dict[str, int] = {}
    for one in walk(around, ast.Call):
        if one.keywords or [ast.dump(arg) for arg in one.args] != given:
            continue
        if ast.dump(one.func) == own or not isinstance(one.func, ast.Name | ast.Attribute):
            continue
        names = {part.id for part in walk(one.func, ast.Name)}
        if names <= visible and "\n" not in (text := program.source(one)):
            found.setdefault(text, abs(one.lineno - node.lineno))
    nearest = sorted(found, key=lambda text: found[text])
    for n, text in enumerate(nearest[:_MOST]):
        yield rewrite(program, "other_call", node, Code(text), unlikely=1.0 + 0.4 * n)


def longer_call(site: EditSite) -> Iterator[Edit]:
    """A call of what a like name means, with one more argument, as the function calls it elsewhere.

    `how(a, b)` beside `_how(x, y, n)` is written `_how(a, b, n)`.
    """
    program, node = site.program, site.node
    function = program.function_of(node)
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or function is None:
        return
    if node.keywords or not node.args:
        return
    name, given = node.func.id, [program.source(one) for one in node.args]
    made: dict[str, None] = {}
    for one in walk(function, ast.Call):
        match one:
            case ast.Call(func=ast.Name(id=other), args=[*most, last], keywords=[]) if (
                other != name and len(most) == len(given) and likeness(name, other) >= _ALIKE
            ):
                made.setdefault(f"{other}({', '.join([*given, program.source(last)])})")
    for n, text in enumerate(list(made)[:_MOST]):
        yield rewrite(program, "parallel", node, Code(text), unlikely=0.8 + 0.4 * n)


def flagged(site: EditSite) -> Iterator[Edit]:
    """A condition that a flag of the function switches on or off: `not strict and …`."""
    program, node = site.program, site.node
    parent = program.parents.get(node)
    if not isinstance(parent, ast.If | ast.While | ast.IfExp) or node is not parent.test:
        return
    function = program.function_of(node)
    if function is None or not isinstance(node, ast.expr):
        return
    asked = {one.id for one in walk(node, ast.Name)}
    flags = [name for name in _flags(function) if name not in asked]
    uses = facts_at(program, node).uses
    # A flag that nothing asks for is hardly ever meant.
    for n, name in enumerate(sorted(flags, key=lambda one: uses[one])[:_MOST]):
        rare = (0.4 if not uses[name] else 0.8) + 0.2 * n
        text = program.source(node)
        for m, (word, sign) in enumerate(_SWITCHES):
            loose = level_of(node) <= (4 if word == "and" else 3)
            inner = f"({text})" if loose or "\n" in text else text
            whole = Code(f"{sign}{name} {word} {inner}", 5 if word == "and" else 4)
            yield rewrite(program, "condition_add", node, whole, unlikely=rare + 0.2 * m)


def _flags(function: Function) -> list[str]:
    """Return the parameters of a function that are on or off."""
    return [
        name
        for name, value in defaults_of(function)
        if isinstance(value, ast.Constant) and isinstance(value.value, bool)
    ]


PARALLEL_STATEMENTS = (other_target, renamed_definition, other_case, another_text)
PARALLEL_EXPRESSIONS = (like_parallel, longer_call, other_call, flagged)
