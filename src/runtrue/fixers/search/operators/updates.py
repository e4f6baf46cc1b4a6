"""Updates: what is kept from one call, or one round of a loop, to the next, and was not changed."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from runtrue.fixers.search.edit import Edit
from runtrue.fixers.search.operators.layout import (
    LOOPS,
    after,
    before,
    free,
    is_elif,
    line_after,
    loop_of,
    own_statements,
    rigid,
    without,
)
from runtrue.fixers.search.operators.nodes import walk
from runtrue.fixers.search.operators.seam import EditSite, Ways, edits
from runtrue.fixers.search.program import Function, Program

_MOST_UPDATES = 4
#: What becomes of a variable that begins so, and is never changed.
_NEXT = {"0": "+= 1", "1": "+= 1", "False": "= True", "True": "= False"}


def remember(site: EditSite) -> Iterator[Edit]:
    """A value of this call kept for the next: `self.last = now` behind `now - self.last`."""
    node, program = site.node, site.program
    function = program.function_of(node)
    if not isinstance(node, ast.stmt) or function is None or not _can_follow(program, node):
        return
    owner = program.parents.get(function)
    if not isinstance(owner, ast.ClassDef) or function.name == "__init__":
        return
    own = set(program.names_in(function)) - {"self", "cls"}
    changed = _attributes_bound(function)
    elsewhere = set().union(
        *(_attributes_bound(one) for one in owner.body if getattr(one, "name", "") != "__init__")
    )
    found: dict[tuple[str, str], None] = {}
    for one in walk(node, ast.BinOp, ast.Compare):
        attributes = _attributes_read(one)
        names = [part.id for part in walk(one, ast.Name)]
        found |= {(a, n): None for a in attributes for n in names if n in own}
    places = [node, program.block_of(node)[-1]]
    for attribute, name in list(found)[:_MOST_UPDATES]:
        if attribute in changed:
            continue
        rare = 3.0 if attribute in elsewhere else 1.0
        text = f"self.{attribute} = {name}"
        for n, place in enumerate(dict.fromkeys(places)):
            if _can_follow(program, place):
                yield line_after(program, "update", place, "behind it", text, unlikely=rare + n / 4)


@edits("update")
def reset_in_other_branch(site: EditSite, node: ast.If) -> Ways:
    """Reset in one branch what the other counts: `column = 1` where a line ends."""
    program = site.program
    if not node.orelse or is_elif(program, node.orelse[0]):
        return  # the branches of an `elif` are looked at by themselves
    function = site.function
    if function is None:
        return
    for counting, other in ((node.orelse, node.body), (node.body, node.orelse)):
        done = {ast.dump(one) for block in other for one in ast.walk(block)}
        for one in (part for block in counting for part in ast.walk(block)):
            if not isinstance(one, ast.AugAssign) or not isinstance(one.op, ast.Add):
                continue
            target = program.source(one.target)
            if ast.dump(one.target) in done or not _can_follow(program, other[-1]):
                continue
            for n, value in enumerate(_initial_values(program, function, target)[:2]):
                text = f"{target} = {value}"
                where = "in the other branch"
                yield line_after(program, "update", other[-1], where, text, unlikely=1.5 + n)


def never_changed(site: EditSite) -> Iterator[Edit]:
    """A variable that begins with a constant, and stays so, changed in the loop that it is for."""
    node, program = site.node, site.program
    function = program.function_of(node)
    if not isinstance(node, ast.stmt) or function is None or loop_of(program, node) is None:
        return
    if not _can_follow(program, node):
        return
    bound = list(_bindings(function))
    for name, value in bound:
        begun = program.source(value) if isinstance(value, ast.Constant) else ""
        if begun in _NEXT and sum(one == name for one, _ in bound) == 1:
            text = f"{name} {_NEXT[begun]}"
            yield line_after(program, "update", node, "behind it", text, unlikely=2.0)


def flip_sign(site: EditSite) -> Iterator[Edit]:
    """The sign of a product that is turned round: `sign = -sign`."""
    node, program = site.node, site.program
    function = program.function_of(node)
    if not isinstance(node, ast.Assign | ast.AugAssign) or function is None:
        return
    if loop_of(program, node) is None or not _can_follow(program, node):
        return
    for name in dict.fromkeys(_factors(function)):
        text = f"{name} = -{name}"
        yield line_after(program, "update", node, "behind it", text, unlikely=3.0)


def flush(site: EditSite) -> Iterator[Edit]:
    """Give what a loop has gathered and not yet given, behind the loop."""
    node, program = site.node, site.program
    if not isinstance(node, LOOPS) or not free(program, node) or node.orelse:
        return
    assigned = {
        part.id
        for one in ast.walk(node)
        if isinstance(one, ast.Assign | ast.AugAssign | ast.Expr)
        for part in walk(one, ast.Name)
    }
    for one in walk(node, ast.Expr):
        if not _gives(one) or rigid(one):
            continue
        inside = [part.id for part in walk(one, ast.Name)]
        gathered = [name for name in dict.fromkeys(inside) if name in assigned]
        given, step = program.source(one), program.step
        if not gathered or "\n" in given:
            continue
        around = program.parents[one]
        ways: list[tuple[str, ...]] = []
        if isinstance(around, ast.If) and "\n" not in program.source(around.test):
            ways.append((f"if {program.source(around.test)}:", step + given))
        ways += [(f"if {name}:", step + given) for name in reversed(gathered)]
        ways.append((given,))
        for n, lines in enumerate(dict.fromkeys(ways)):
            says = f"`{' '.join(' '.join(lines).split())}` behind the loop"
            made = after(program, node, *lines)
            yield program.edit("flush", node, says, made, unlikely=1.0 + n / 3)


def begin_each_round(site: EditSite) -> Iterator[Edit]:
    """A beginning for each round of a loop, where there is one for all of them."""
    node, program = site.node, site.program
    match node:
        case ast.Assign(
            targets=[ast.Name(id=name)],
            value=ast.Constant() | ast.List(elts=[]) | ast.Dict(keys=[]) | ast.Call(args=[]),
        ) if free(program, node):
            pass
        case _:
            return
    block = program.block_of(node)
    loops = [one for one in block[block.index(node) + 1 :] if isinstance(one, LOOPS)]
    for loop in loops:
        first = loop.body[0]
        if name in _names_added_to(loop) and free(program, loop) and free(program, first):
            text = program.source(node)
            says = f"`{text}` in each round of the loop"
            made = (without(program, node), before(program, first, text))
            yield program.edit("move_in", node, says, *made, unlikely=1.2)


def _names_added_to(loop: ast.stmt) -> set[str]:
    found = set()
    for one in ast.walk(loop):
        match one:
            case ast.AugAssign(target=ast.Name(id=name)):
                found.add(name)
            case ast.Attribute(value=ast.Name(id=name), attr="append" | "add" | "extend"):
                found.add(name)
            case ast.Subscript(value=ast.Name(id=name), ctx=ast.Store()):
                found.add(name)
    return found


def _can_follow(program: Program, node: ast.stmt) -> bool:
    """True if another statement can be written behind a simple one."""
    simple = isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Expr)
    return simple and free(program, node)


def _attributes_read(node: ast.AST) -> list[str]:
    found = []
    for one in ast.walk(node):
        match one:
            case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Load()):
                found.append(name)
    return found


def _attributes_bound(function: ast.AST) -> set[str]:
    return {
        one.attr
        for one in walk(function, ast.Attribute)
        if isinstance(one.ctx, ast.Store)
        and isinstance(one.value, ast.Name)
        and one.value.id == "self"
    }


def _bindings(function: Function) -> Iterator[tuple[str, ast.expr | None]]:
    """The names that a function binds, and what to, where that is written."""
    for statement in own_statements(function):
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                yield name, value
            case ast.AnnAssign(target=ast.Name(id=name), value=value):
                yield name, value
            case ast.AugAssign(target=ast.Name(id=name)):
                yield name, None
            case ast.For(target=target) | ast.AsyncFor(target=target):
                yield from ((one.id, None) for one in walk(target, ast.Name))
            case ast.Assign(targets=targets):
                for one in (part for target in targets for part in ast.walk(target)):
                    if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store):
                        yield one.id, None


def _initial_values(program: Program, function: Function, target: str) -> list[str]:
    """Return what a variable, or an attribute of the object, begins with."""
    scope: ast.AST = function
    if target.startswith("self.") and (owner := program.class_of(function)) is not None:
        scope = owner
    found = [
        program.source(one.value)
        for one in walk(scope, ast.Assign)
        if isinstance(one.value, ast.Constant)
        and any(program.source(aim) == target for aim in one.targets)
    ]
    return list(dict.fromkeys([*found, "0"]))


def _factors(function: Function) -> Iterator[str]:
    """The variables that others are multiplied into, or that begin as 1 or -1 for that."""
    multiplied = {
        part.id
        for one in walk(function, ast.BinOp)
        if isinstance(one.op, ast.Mult)
        for part in (one.left, one.right)
        if isinstance(part, ast.Name)
    }
    for one in ast.walk(function):
        match one:
            case ast.AugAssign(target=ast.Name(id=name), op=ast.Mult()):
                yield name
            case ast.Assign(
                targets=[ast.Name(id=name)],
                value=ast.Constant(value=1) | ast.UnaryOp(operand=ast.Constant(value=1)),
            ) if name in multiplied:
                yield name


def _gives(node: ast.Expr) -> bool:
    match node.value:
        case ast.Yield(value=ast.expr()):
            return True
        case ast.Call(func=ast.Attribute(attr="append" | "add" | "extend"), args=[_]):
            return True
        case _:
            return False
