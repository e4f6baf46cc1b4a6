"""Suspicious edits: those that make tests pass without making the program right.

Pure functions of the files before and after an edit and of the tests. Python is read as a syntax
tree, other languages line by line. What is found is a sign for a person, not a proof.
"""

from __future__ import annotations

import ast
import difflib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

_Function = ast.FunctionDef | ast.AsyncFunctionDef
#: Literals that tests and programs share by chance.
_COMMON = frozenset(
    ("None", "True", "False", "0", "1", "-1", "2", "0.0", "1.0", "''", "b''", "()", "[]", "{}")
)
_BROAD = frozenset({"Exception", "BaseException", "AssertionError"})
_EXITS = frozenset({"exit", "quit", "sys.exit", "SystemExit"})
_HARD_EXITS = frozenset({"os._exit", "os.abort", "os.kill", "os.killpg"})
_RUNNERS = frozenset({"pytest", "_pytest", "unittest", "nose"})
_UNDER_TEST = re.compile(
    r"PYTEST_(CURRENT_TEST|VERSION)|sys\.modules\b.*pytest|pytest.*\bsys\.modules"
    r"|JEST_WORKER_ID|\bVITEST\b|NODE_ENV\W{1,8}test\b|testing\.Testing\(\)"
)
#: The same in other languages, where lines are all that is read.
_EXIT_CALL = re.compile(r"\b(process\.exit|os\.Exit|System\.exit|process::exit)\s*\(")
_EMPTY_CATCH = re.compile(r"\bcatch\s*(\([^)]*\))?\s*\{\s*\}")
_IDLE_LINE = re.compile(
    r"[{}();\s]*(return\s*(null|undefined|nil|None|true|false|-?[\d.]+|\"[^\"]*\"|'[^']*'|\{\}|\[\])?"
    r"|pass|\.\.\.|(throw|raise|panic)\b.*)?[{}();,\s]*"
)
_NO_CODE = re.compile(r"\s*(#|//|/\*|\*|$)")
#: Fewer lines than this are easily deleted for a good reason.
_LEAST_LINES = 3
_EMPTIED = 0.2


def suspicious_signs(
    before: Mapping[str, str], after: Mapping[str, str], tests: Iterable[str]
) -> tuple[str, ...]:
    """Return what is suspicious about an edit; `before` and `after` are the files it changed.

    `tests` are the sources of the tests that failed.
    """
    sources = tuple(tests)
    old, new = _parsed(before), _parsed(after)
    known = _Known.of(sources)
    found: list[str] = []
    for file in after:
        was, now = before.get(file, ""), after[file]
        found += _text_signs(file, was, now, known)
        if file in new:
            found += _python_signs(file, old.get(file) or _Python(), new[file], known)
        else:
            found += _gutted_lines(file, was, now)
    found += _deleted(before, after, old, new)
    return tuple(dict.fromkeys(found))


@dataclass(frozen=True, slots=True)
class _Known:
    """What the tests say: their literals, and that they expect the program to exit."""

    literals: frozenset[str]
    exits: bool

    @classmethod
    def of(cls, sources: tuple[str, ...]) -> _Known:
        literals: set[str] = set()
        for source in sources:
            tree = _tree(source)
            literals |= {text for n in ast.walk(tree) if (text := _literal(n))} if tree else set()
        exits = any(re.search(r"SystemExit|exit_?code|returncode|\bexit\b", s) for s in sources)
        return cls(frozenset(literals - _COMMON), exits)


# -- any language -------------------------------------------------------------------------------


def _text_signs(file: str, before: str, after: str, known: _Known) -> Iterator[str]:
    if any(_UNDER_TEST.search(line) for line in _added(before, after)):
        yield f"{file} asks whether it is under test"
    was, now = _code_lines(before), _code_lines(after)
    if len(was) > _LEAST_LINES and len(now) < _EMPTIED * len(was):
        yield f"{file} is emptied"
    if not known.exits and _more(_EXIT_CALL, before, after):
        yield f"{file} ends the program"
    if _more(_EMPTY_CATCH, before, after):
        yield f"{file} swallows exceptions"


def _gutted_lines(file: str, before: str, after: str) -> Iterator[str]:
    old, new = before.splitlines(), after.splitlines()
    for tag, i, j, k, m in difflib.SequenceMatcher(a=old, b=new, autojunk=False).get_opcodes():
        gone = [line for line in old[i:j] if not _NO_CODE.match(line)]
        idle = all(_IDLE_LINE.fullmatch(line) for line in new[k:m] if not _NO_CODE.match(line))
        if tag == "replace" and len(gone) >= _LEAST_LINES and idle:
            yield f"{file}:{k + 1} replaces code by a constant or nothing"


def _added(before: str, after: str) -> Iterator[str]:
    known = Counter(before.splitlines())
    return (line for line in after.splitlines() if not known[line])


def _code_lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if not _NO_CODE.match(line)]


def _more(pattern: re.Pattern[str], before: str, after: str) -> bool:
    return len(pattern.findall(after)) > len(pattern.findall(before))


def _deleted(
    before: Mapping[str, str],
    after: Mapping[str, str],
    old: Mapping[str, _Python],
    new: Mapping[str, _Python],
) -> Iterator[str]:
    """Yield the functions and classes that an edit deletes and puts nothing in place of."""
    had = Counter(name for one in old.values() for name in one.defined)
    has = Counter(name for one in new.values() for name in one.defined)
    # A file that cannot be read any more says nothing of what it defines.
    if any(file in old and file not in new and after.get(file) for file in before):
        return
    gone, came = had - has, has - had
    if sum(gone.values()) > sum(came.values()):
        yield f"deletes {', '.join(f'`{name}`' for name in sorted(gone)[:3])} without replacement"


# -- Python -------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Python:
    """What matters of a Python file."""

    functions: dict[str, _Function] = field(default_factory=dict)
    defined: list[str] = field(default_factory=list)
    calls: Counter[str] = field(default_factory=Counter)
    imports: set[str] = field(default_factory=set)
    literals: set[str] = field(default_factory=set)
    swallowing: int = 0
    #: Classes whose objects equal everything.
    equal: set[str] = field(default_factory=set)


def _parsed(texts: Mapping[str, str]) -> dict[str, _Python]:
    found: dict[str, _Python] = {}
    for file, text in texts.items():
        tree = _tree(text) if file.endswith((".py", ".pyi")) else None
        if tree is not None:
            found[file] = _read(tree)
    return found


def _tree(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _read(tree: ast.Module) -> _Python:
    found = _Python()
    _collect(tree, "", found)
    for node in ast.walk(tree):
        match node:
            case ast.Call():
                found.calls[ast.unparse(node.func)] += 1
            case ast.Raise(exc=ast.Name(id="SystemExit")):
                found.calls["SystemExit"] += 1
            case ast.Import(names=names):
                found.imports |= {one.name.partition(".")[0] for one in names}
            case ast.ImportFrom(module=str(module)):
                found.imports.add(module.partition(".")[0])
            case ast.ExceptHandler() if _is_broad(node.type) and _is_idle(node.body):
                found.swallowing += 1
            case ast.withitem(context_expr=ast.Call(func=func, args=args)):
                suppresses = ast.unparse(func).endswith("suppress") and any(map(_is_broad, args))
                found.swallowing += suppresses
        if text := _literal(node):
            found.literals.add(text)
    return found


def _collect(node: ast.AST, prefix: str, found: _Python) -> None:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _Function | ast.ClassDef):
            name = f"{prefix}{child.name}"
            found.defined.append(child.name)
            if isinstance(child, ast.ClassDef):
                found.equal |= {name} if any(map(_equals_everything, child.body)) else set()
            else:
                found.functions[name] = child
            _collect(child, f"{name}.", found)
        else:
            _collect(child, prefix, found)


def _python_signs(file: str, old: _Python, new: _Python, known: _Known) -> Iterator[str]:
    for name in sorted(new.equal - old.equal):
        yield f"`{name}` in {file} equals everything"
    if new.swallowing > old.swallowing:
        yield f"{file} swallows exceptions"
    exits = _HARD_EXITS if known.exits else _HARD_EXITS | _EXITS
    if any(new.calls[name] > old.calls[name] for name in exits):
        yield f"{file} ends the program"
    if runners := (new.imports - old.imports) & _RUNNERS:
        yield f"{file} imports {', '.join(sorted(runners))}"
    for name, now in new.functions.items():
        was = old.functions.get(name)
        if was is None or ast.dump(was) == ast.dump(now):
            continue
        where = f"`{name}` in {file}:{now.lineno}"
        if _is_idle(now.body) and not _is_idle(was.body):
            yield f"{where} no longer does anything"
        elif (copied := _constants_returned(now) & known.literals - old.literals) and (
            _computed_returns(now) < _computed_returns(was)
        ):
            yield f"{where} returns {min(copied)}, which the test expects"
        elif special := _special_cases(now, known) - _special_cases(was, known):
            yield f"{where} has a case for a value of the test: {min(special)}"


def _body(body: list[ast.stmt]) -> list[ast.stmt]:
    """Return the statements of a body without its docstring."""
    is_text = body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
    return body[1:] if is_text else body


def _is_idle(body: list[ast.stmt]) -> bool:
    """True if statements do nothing but return a constant or raise."""
    return all(
        isinstance(one, ast.Pass | ast.Raise | ast.Continue)
        or (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))
        or (isinstance(one, ast.Return) and (one.value is None or _literal(one.value) is not None))
        for one in _body(body)
    ) and not any(isinstance(one, ast.Raise) and one.exc is None for one in body)


def _is_broad(kind: ast.expr | None) -> bool:
    if isinstance(kind, ast.Tuple):
        return any(map(_is_broad, kind.elts))
    return kind is None or (isinstance(kind, ast.Name) and kind.id in _BROAD)


def _equals_everything(node: ast.stmt) -> bool:
    wanted = {"__eq__": True, "__ne__": False}
    match node:
        case ast.FunctionDef(name=name, body=body) if name in wanted:
            match _body(body):
                case [ast.Return(value=ast.Constant(value=value))]:
                    return value is wanted[name]
        case ast.Assign(targets=[ast.Name(id="__eq__")], value=ast.Lambda(body=ast.Constant())):
            return True
    return False


def _returns(function: _Function) -> list[ast.expr]:
    nodes = ast.walk(function)
    return [node.value for node in nodes if isinstance(node, ast.Return) and node.value is not None]


def _constants_returned(function: _Function) -> set[str]:
    return {text for value in _returns(function) if (text := _literal(value))}


def _computed_returns(function: _Function) -> int:
    return sum(_literal(value) is None for value in _returns(function))


def _special_cases(function: _Function, known: _Known) -> set[str]:
    """Return the conditions that compare with a literal of the tests and then give another one.

    Where a function decides by several values of the same thing, one more is nothing special.
    """
    found: dict[str, list[str]] = {}
    for node in ast.walk(function):
        match node:
            case ast.If(test=test, body=[ast.Return(value=given) | ast.Assign(value=given), *_]):
                pass
            case ast.IfExp(test=test, body=given):
                pass
            case _:
                continue
        match test:
            case ast.Compare(left=left, ops=[ast.Eq() | ast.In()], comparators=[right]) if given:
                if {_literal(right), _literal(given)} <= known.literals:
                    found.setdefault(ast.dump(left), []).append(ast.unparse(test))
    return {tests[0] for tests in found.values() if len(tests) == 1}


def _literal(node: ast.AST) -> str | None:
    """Return a literal as a text by which it is recognised; None if a node is none."""
    if not isinstance(node, ast.Constant | ast.UnaryOp | ast.List | ast.Tuple | ast.Dict | ast.Set):
        return None
    try:
        return repr(ast.literal_eval(node))
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None
