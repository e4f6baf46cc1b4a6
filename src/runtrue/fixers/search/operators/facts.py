"""Facts: names, numbers and likely types of a function, collected once; names by class."""

from __future__ import annotations

import ast
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from runtrue.fixers.search.evidence import Failure
from runtrue.fixers.search.operators.nodes import walk
from runtrue.fixers.search.program import BUILTINS, Function, Program, own_nodes

_ANNOTATED = {"List": "list", "Dict": "dict", "Set": "set", "Tuple": "tuple"}
_CALLED = {
    **dict.fromkeys(("len", "int", "sum", "abs", "ord", "round", "count", "index", "find"), "int"),
    **dict.fromkeys(("bisect_left", "bisect_right", "bisect", "gcd", "floor", "ceil"), "int"),
    **dict.fromkeys(("str", "chr", "join", "lower", "upper", "strip", "replace"), "str"),
    **dict.fromkeys(("list", "sorted", "split", "splitlines"), "list"),
    **dict.fromkeys(("dict", "defaultdict", "Counter", "OrderedDict"), "dict"),
    **dict.fromkeys(("set", "frozenset"), "set"),
    **dict.fromkeys(("any", "all", "isinstance", "isdigit", "isalpha", "startswith"), "bool"),
    **dict.fromkeys(("endswith", "isalnum", "callable", "hasattr", "bool"), "bool"),
    "deque": "list",
    "tuple": "tuple",
    "float": "float",
}
_LITERAL: dict[type[ast.AST], str] = {
    ast.List: "list",
    ast.ListComp: "list",
    ast.Tuple: "tuple",
    ast.Dict: "dict",
    ast.DictComp: "dict",
    ast.Set: "set",
    ast.SetComp: "set",
    ast.JoinedStr: "str",
    ast.Compare: "bool",
    ast.Lambda: "function",
}
_LIKE_VALUES = frozenset({"property", "cached_property", "setter", "getter", "deleter"})
_ALWAYS = frozenset({"__name__", "__file__", "__class__"})

Placed = ast.expr | ast.stmt | ast.arg | ast.keyword | ast.excepthandler | ast.alias
_PLACED = (ast.expr, ast.stmt, ast.arg, ast.keyword, ast.excepthandler, ast.alias)


@dataclass(eq=False)
class ScopeFacts:
    """The names, numbers, conditions and likely types in one function, or in the module."""

    program: Program
    scope: ast.AST
    types: dict[str, str | None] = field(default_factory=dict)
    _guessing: set[str] = field(default_factory=set)

    @cached_property
    def nodes(self) -> list[Placed]:
        """All nodes, in the order they are written."""
        found = [node for node in ast.walk(self.scope) if isinstance(node, _PLACED)]
        return sorted(found, key=lambda node: (node.lineno, node.col_offset))

    @cached_property
    def uses(self) -> Counter[str]:
        """Count of reads by name."""
        return Counter(
            node.id
            for node in self.nodes
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
        )

    @cached_property
    def numbers(self) -> list[int | float]:
        """The numbers it writes, in order, each once."""
        found = {
            node.value: None
            for node in self.nodes
            if isinstance(node, ast.Constant) and type(node.value) in (int, float)
        }
        return [value for value in found if isinstance(value, int | float)]

    @cached_property
    def conditions(self) -> list[ast.expr]:
        """The conditions it asks, whole and in their parts, each once."""
        found: dict[str, ast.expr] = {}
        for node in self.nodes:
            if isinstance(node, ast.If | ast.While | ast.IfExp | ast.Assert):
                test = node.test
                parts = test.values if isinstance(test, ast.BoolOp) else [test]
                for part in parts:
                    found.setdefault(ast.dump(part), part)
        return list(found.values())

    @cached_property
    def returned(self) -> list[ast.expr]:
        """The returned expressions."""
        return [n.value for n in self.nodes if isinstance(n, ast.Return) and n.value is not None]

    @cached_property
    def written(self) -> frozenset[str]:
        """The source of each expression in it."""
        return frozenset(ast.dump(n) for n in self.nodes if isinstance(n, ast.expr))

    @cached_property
    def _bindings(self) -> dict[str, list[ast.expr | str]]:
        """Bound expressions by name; the type instead where it is known at once."""
        found: dict[str, list[ast.expr | str]] = {}
        for node in self.nodes:
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    found.setdefault(name, []).append(value)
                case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)):
                    for target, value in zip(names, values, strict=False):
                        if isinstance(target, ast.Name):
                            found.setdefault(target.id, []).append(value)
                case ast.AnnAssign(target=ast.Name(id=name), annotation=note):
                    found.setdefault(name, []).append(_annotated_type(note) or note)
                case ast.arg(arg=name, annotation=ast.expr() as note):
                    found.setdefault(name, []).append(_annotated_type(note) or note)
                case ast.For(target=target, iter=ast.Call(func=ast.Name(id="range"))) if isinstance(
                    target, ast.Name
                ):
                    found.setdefault(target.id, []).append("int")
                case ast.For(
                    target=ast.Tuple(elts=[ast.Name(id=name), *_]),
                    iter=ast.Call(func=ast.Name(id="enumerate")),
                ):
                    found.setdefault(name, []).append("int")
        for one in ast.walk(self.scope):
            match one:
                case ast.comprehension(
                    target=ast.Name(id=name), iter=ast.Call(func=ast.Name(id="range"))
                ):
                    found.setdefault(name, []).append("int")
        return found

    def type_of(self, node: ast.AST) -> str | None:
        """Return the likely type of an expression, `int` or `str`, or None if it is not clear."""
        match node:
            case ast.Constant(value=value):
                return type(value).__name__
            case ast.Name(id=name):
                return self.type_of_name(name)
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
                return _CALLED.get(name)
            case ast.Attribute(attr="suffix" | "stem" | "name" | "text" | "title"):
                return "str"
            case ast.UnaryOp(op=ast.Not()):
                return "bool"
            case ast.UnaryOp(operand=operand):
                return self.type_of(operand)
            case ast.BinOp(op=ast.Div()):
                return "float"
            case ast.BinOp(op=ast.Add() | ast.Mult() | ast.Sub(), left=left, right=right):
                kinds = {self.type_of(left), self.type_of(right)}
                return next((k for k in ("str", "list", "float", "int", "set") if k in kinds), None)
            case ast.BinOp(op=ast.FloorDiv() | ast.Mod(), left=left):
                return "str" if self.type_of(left) == "str" else "int"
            case ast.Subscript(value=value, slice=ast.Slice()):
                return self.type_of(value)
            case ast.Subscript(value=value) if self.type_of(value) == "str":
                return "str"
            case ast.BoolOp(values=[first, *_]) | ast.IfExp(body=first):
                return self.type_of(first)
            case _:
                return _LITERAL.get(type(node))

    def type_of_name(self, name: str) -> str | None:
        """Return the likely type of what a name is bound to."""
        if name not in self.types:
            if name in self._guessing:
                return None
            self._guessing.add(name)
            kinds = [
                one if isinstance(one, str) else self.type_of(one)
                for one in self._bindings.get(name, [])
            ]
            self.types[name] = next(
                (kind for kind in kinds if kind not in (None, "NoneType")), None
            )
        return self.types[name]


class ProgramFacts:
    """Facts by function, names by class and strings by use, of a whole program."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._facts: dict[ast.AST, ScopeFacts] = {}
        self._visible: dict[ast.AST, list[str]] = {}
        self._bound: dict[ast.AST, frozenset[str]] = {}
        self.functions: dict[str, Function] = {}
        self.attributes: dict[str, dict[str, None]] = {}
        self.members: dict[ast.ClassDef, dict[str, None]] = {}
        self._defined: dict[ast.AST, frozenset[str]] = {}
        self._is_function: dict[tuple[ast.AST, str], bool] = {}
        self.strings: Counter[str] = Counter()
        #: What is imported and never used: perhaps where it was forgotten.
        self.unused = _unused(program.tree)
        #: The calls of functions and methods, by name.
        self.calls: dict[str, list[ast.Call]] = {}
        docstrings = set()
        for node in ast.walk(program.tree):
            match node:
                case ast.Expr(value=ast.Constant(value=str())):
                    docstrings.add(node.value)
                case ast.FunctionDef() | ast.AsyncFunctionDef():
                    self.functions.setdefault(node.name, node)
                case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
                    self.calls.setdefault(name, []).append(node)
                case ast.Attribute(value=ast.Name(id=base), attr=name):
                    self.attributes.setdefault(base, {}).setdefault(name)
                case ast.ClassDef():
                    self.members[node] = _members(node)
                case ast.Constant(value=str(text)) if node not in docstrings and len(text) < 60:
                    self.strings[text] += 1

    def facts(self, node: ast.AST) -> ScopeFacts:
        """The facts of the outermost function around a node that is not a method's class."""
        scope: ast.AST = self.program.tree
        for one in self.program.ancestors(node):
            if isinstance(one, ast.ClassDef):
                break
            if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef):
                scope = one
        if scope not in self._facts:
            self._facts[scope] = ScopeFacts(self.program, scope)
        return self._facts[scope]

    def visible(self, node: ast.AST) -> list[str]:
        """The names that can be used at a node, gathered once for each of its scopes and lines."""
        scope = self.program.scope_of(node)
        key = scope if isinstance(scope, ast.Lambda) else self.program.statement_of(node)
        if key not in self._visible:
            self._visible[key] = self.program.visible(node)
        return self._visible[key]

    def is_function(self, node: ast.AST, name: str) -> bool:
        """True if a name is that of a function where a node sees it."""
        key = self.program.scope_of(node), name
        if key not in self._is_function:
            scopes = self.program.scopes_of(node)
            scope = next((one for one in scopes if name in self.program.names_in(one)), None)
            self._is_function[key] = scope is not None and name in self.defined(scope)
        return self._is_function[key]

    def defined(self, scope: ast.AST) -> frozenset[str]:
        """The functions of a scope, by their names; a property is none."""
        if scope not in self._defined:
            self._defined[scope] = frozenset(
                node.name
                for node in own_nodes(scope)
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
                and not is_property(node)
            )
        return self._defined[scope]

    def bound(self, node: ast.AST) -> frozenset[str]:
        """The names that a scope around a node binds, wherever it does."""
        scope = self.program.scope_of(node)
        if scope not in self._bound:
            names = frozenset(self.program.names_in(scope)) | _ALWAYS
            self._bound[scope] = names if scope is self.program.tree else names | self.bound(scope)
        return self._bound[scope]


@lru_cache(maxsize=256)
def program_facts(program: Program) -> ProgramFacts:
    """Return the facts of a program, collected once."""
    return ProgramFacts(program)


def facts_at(program: Program, node: ast.AST) -> ScopeFacts:
    """Return the facts of the function around a node."""
    return program_facts(program).facts(node)


def undefined(program: Program, node: ast.Name) -> bool:
    """True if nothing in the file binds a name where it is read."""
    return node.id not in BUILTINS and node.id not in program_facts(program).bound(node)


def is_property(function: Function) -> bool:
    """True if a method is read, or set, like a value."""
    for one in function.decorator_list:
        match one:
            case ast.Name(id=name) | ast.Attribute(attr=name):
                if name in _LIKE_VALUES:
                    return True
    return False


def missed(failures: tuple[Failure, ...], name: str) -> bool:
    """True if a failing test says that a name, or an attribute, is not there."""
    return any(name in (failure.name, failure.attribute) for failure in failures)


def _unused(tree: ast.Module) -> list[str]:
    imported = [
        one.asname or one.name
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.module != "__future__"
        for one in node.names
    ]
    used: set[object] = {node.id for node in walk(tree, ast.Name)}
    used |= {node.value for node in walk(tree, ast.Constant)}  # `__all__`
    return [name for name in imported if name not in used and name != "*"]


def _members(node: ast.ClassDef) -> dict[str, None]:
    """The methods and attributes that a class gives itself."""
    found: dict[str, None] = {}
    for one in ast.walk(node):
        match one:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                found.setdefault(name)
            case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name) if isinstance(
                one.ctx, ast.Store
            ):
                found.setdefault(name)
            case ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]):
                if one in node.body:
                    found.setdefault(name)
    return found


def _annotated_type(note: ast.expr) -> str | None:
    match note:
        case ast.Name(id=name) | ast.Subscript(value=ast.Name(id=name)):
            return _ANNOTATED.get(name, name)
        case _:
            return None
