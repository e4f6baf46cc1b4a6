"""nox: what the sessions of a noxfile.py run, read without running it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

from runtrue.checks.recipes.recipe import UNKNOWN, Group, Recipe, by_test_name, line_from

#: The values of names, as words; a text is one word, a list or tuple several.
_Values = Mapping[str, tuple[str, ...]]
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def recipes_of_nox(project: Path) -> Iterator[Group]:
    """Yield what each session runs: those that are named after tests first."""
    try:
        tree = ast.parse((project / "noxfile.py").read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return
    sessions = {
        name: node
        for node in tree.body
        if isinstance(node, _Function) and node.args.args
        for name in _session_names(node)
    }
    known = _assigned(tree.body, {})
    others = [name for name in sessions if name not in by_test_name(sessions)]
    for name in [*by_test_name(sessions), *others]:
        yield tuple(_Session(sessions[name], known, _tables(tree.body)).recipes(name))


def _session_names(node: _Function) -> Iterator[str]:
    for decorator in node.decorator_list:
        call = decorator if isinstance(decorator, ast.Call) else None
        called = call.func if call else decorator
        if ast.unparse(called) in ("nox.session", "session"):
            given = {word.arg: word.value for word in call.keywords} if call else {}
            name = given.get("name")
            yield str(name.value) if isinstance(name, ast.Constant) else node.name


def _assigned(
    body: list[ast.stmt], known: _Values, session: str = ""
) -> dict[str, tuple[str, ...]]:
    """Return the names that are given constants, once each, and never changed."""
    found: dict[str, tuple[str, ...]] = dict(known)
    seen: set[str] = set()
    for node in (inner for statement in body for inner in ast.walk(statement)):
        match node:
            case (
                ast.AugAssign(target=ast.Name(id=name))
                | ast.Call(
                    func=ast.Attribute(value=ast.Name(id=name), attr="append" | "extend" | "insert")
                )
            ):
                seen.add(name)
                found[name] = (UNKNOWN,)
    for node in body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target, value = node.targets[0], node.value
        elif isinstance(node, ast.AnnAssign) and node.value:
            target, value = node.target, node.value
        else:
            continue
        if isinstance(target, ast.Name):
            words = _words(value, found, session)
            found[target.id] = words if target.id not in seen else (UNKNOWN,)
            seen.add(target.id)
    return found


def _words(node: ast.expr, known: _Values, session: str) -> tuple[str, ...]:
    """Return the words that an argument stands for; UNKNOWN for one that only running tells."""
    match node:
        case ast.Constant(value=str(text)):
            return (text,)
        case ast.Constant(value=int() | float()):
            return (str(node.value),)
        case ast.Name(id=name):
            return known.get(name, (UNKNOWN,))
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            return tuple(word for part in parts for word in _words(part, known, session))
        case ast.Starred(value=value):
            return _words(value, known, session)
        case ast.Attribute(value=ast.Name(id=owner), attr="posargs") if owner == session:
            return ()
        case ast.BoolOp(op=ast.Or(), values=[first, second]) if not _words(first, known, session):
            return _words(second, known, session)
        case ast.IfExp(test=test, orelse=otherwise) if not _words(
            test, known, session
        ) or _is_for_windows(test):
            return _words(otherwise, known, session)
        case ast.BinOp(left=left, op=ast.Add(), right=right) if not isinstance(left, ast.Constant):
            return (*_words(left, known, session), *_words(right, known, session))
        case ast.Call(func=ast.Name(id="str" | "list" | "tuple"), args=[inner]):
            return _words(inner, known, session)
        case ast.JoinedStr(values=parts):
            return ("".join(_piece(part, known, session) for part in parts),)
        case _:
            return (UNKNOWN,)


def _is_for_windows(test: ast.expr) -> bool:
    text = ast.unparse(test)
    return "win" in text and "platform" in text and "not " not in text and "!=" not in text


def _tables(body: list[ast.stmt]) -> dict[str, ast.Dict]:
    """Return the dictionaries that are given names."""
    return {
        node.targets[0].id: node.value
        for node in body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Dict)
    }


def _piece(node: ast.expr, known: _Values, session: str) -> str:
    inner = node.value if isinstance(node, ast.FormattedValue) else node
    words = _words(inner, known, session)
    return words[0] if len(words) == 1 else UNKNOWN


class _Session:
    """One session's function."""

    def __init__(self, node: _Function, known: _Values, tables: Mapping[str, ast.Dict]) -> None:
        self._node = node
        self._name = node.args.args[0].arg
        self._known = _assigned(node.body, known, self._name)
        self._tables = {**tables, **_tables(node.body)}

    def recipes(self, name: str) -> Iterator[Recipe]:
        directory = "."
        env: dict[str, str] = {}
        for statement in self._node.body:
            env |= self._variables(statement)
            for call in self._calls(statement):
                method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
                words = self._arguments(call)
                if method in ("chdir", "cd"):
                    directory = words[0] if len(words) == 1 else UNKNOWN
                elif method in ("run", "run_always") and words:
                    yield Recipe(
                        line=line_from(words),
                        where=f"noxfile.py:{call.lineno} session {name}",
                        env={**env, **self._env(call)},
                        directory=directory,
                    )

    def _calls(self, statement: ast.stmt) -> Iterator[ast.Call]:
        """Yield the calls of the session's methods, in the order in which they are written."""
        found = [
            node
            for node in ast.walk(statement)
            if isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id == self._name
        ]
        yield from sorted(found, key=lambda call: (call.lineno, call.col_offset))

    def _arguments(self, call: ast.Call) -> tuple[str, ...]:
        return tuple(word for arg in call.args for word in _words(arg, self._known, self._name))

    def _env(self, call: ast.Call) -> dict[str, str]:
        given = next((word.value for word in call.keywords if word.arg == "env"), None)
        if isinstance(given, ast.Name):
            given = self._tables.get(given.id, given)
        if given is None:
            return {}
        if not isinstance(given, ast.Dict):
            return {"": UNKNOWN}
        found: dict[str, str] = {}
        for key, value in zip(given.keys, given.values, strict=True):
            name = key.value if isinstance(key, ast.Constant) else UNKNOWN
            words = _words(value, self._known, self._name)
            found[str(name)] = words[0] if len(words) == 1 else UNKNOWN
        return found

    def _variables(self, statement: ast.stmt) -> dict[str, str]:
        """Return what `session.env["NAME"] = "value"` sets."""
        match statement:
            case ast.Assign(
                targets=[ast.Subscript(value=ast.Attribute(attr="env"), slice=ast.Constant(key))],
                value=value,
            ):
                words = _words(value, self._known, self._name)
                return {str(key): words[0] if len(words) == 1 else UNKNOWN}
        return {}
