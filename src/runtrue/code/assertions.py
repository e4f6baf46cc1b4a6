"""Assertions: whether a test, as it is written, can fail for any other reason than a crash.

Python is read by its own grammar. For the other languages a test's body is found by its braces,
with comments and strings out of the way, and searched for what their frameworks assert with.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from runtrue.checks import Language

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
#: How names of functions begin that assert something, wherever they come from.
_ASSERTING_WORDS = frozenset({"assert", "check", "verify", "expect", "fail"})
#: Of pytest's, and of the standard library's what only sounds like it.
_PYTEST = frozenset({"raises", "warns", "deprecated_call"})
_NOT_ASSERTING = frozenset({"check_output", "check_call"})


def asserts_something(
    text: str, language: Language | str, test_name: str, line: int | None = None
) -> bool | None:
    """True if a test of a file asserts anything; None where that is unknown.

    `test_name` is the test's name without its file, as the framework reports it, and `line` where
    it begins, if that is known.
    """
    if language == Language.PYTHON:
        return _python(text, test_name, line)
    if language in _SYNTAXES:
        return _braces(text, Language(language)).judge(test_name)
    return None


# -- Python ---------------------------------------------------------------------------------------


def _python(text: str, test_name: str, line: int | None) -> bool | None:
    tree = _parsed(text)
    if tree is None:
        return None
    path = test_name.partition("[")[0].split("::")
    functions = [node for node in ast.walk(tree) if isinstance(node, _FUNCTIONS)]
    test = _python_test(tree, path) or next((f for f in functions if f.lineno == line), None)
    if test is None:
        return None
    named: dict[str, list[ast.AST]] = {}
    for function in functions:
        named.setdefault(function.name, []).append(function)
    return _asserts(test, named, {test})


# All tests of a file are asked about one after the other.
@lru_cache(maxsize=4)
def _parsed(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _python_test(tree: ast.Module, path: list[str]) -> ast.AST | None:
    """The function at the end of a path of classes; of several with one name the last counts."""
    scope: ast.AST = tree
    for name in path:
        kinds = _FUNCTIONS if name is path[-1] else (ast.ClassDef,)
        found = [n for n in _members(scope) if isinstance(n, kinds) and n.name == name]
        if not found:
            return None
        scope = found[-1]
    return scope


def _members(scope: ast.AST) -> Iterator[ast.AST]:
    """Return what is defined in a scope, behind an `if` or `try` as well."""
    for node in ast.iter_child_nodes(scope):
        if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            yield node
        elif isinstance(node, ast.stmt | ast.ExceptHandler):
            yield from _members(node)


def _asserts(scope: ast.AST, named: dict[str, list[ast.AST]], seen: set[ast.AST]) -> bool:
    for node in ast.walk(scope):
        if isinstance(node, ast.Raise):
            return True
        if isinstance(node, ast.Assert) and not _is_trivial(node.test):
            return True
        if isinstance(node, ast.Call) and _call_asserts(node.func, named, seen):
            return True
    return False


def _is_trivial(condition: ast.expr) -> bool:
    """True if a condition holds whatever the code does: `True`, `1 == 1`, `(x, "message")`."""
    if isinstance(condition, ast.Tuple):
        return bool(condition.elts)
    if isinstance(condition, ast.Constant):
        return bool(condition.value)
    tells = (ast.Name, ast.Call, ast.Attribute)
    return not any(isinstance(node, tells) for node in ast.walk(condition))


def _call_asserts(called: ast.expr, named: dict[str, list[ast.AST]], seen: set[ast.AST]) -> bool:
    is_own = True
    if isinstance(called, ast.Attribute):
        name, of = called.attr, called.value
        is_own = isinstance(of, ast.Name) and of.id in ("self", "cls")
    elif isinstance(called, ast.Name):
        name = called.id
    else:
        return False
    if is_own and name in named:
        unseen = [function for function in named[name] if function not in seen]
        seen.update(unseen)
        return any(_asserts(function, named, seen) for function in unseen)
    if name in _PYTEST:
        return True
    return name not in _NOT_ASSERTING and _first_word(name) in _ASSERTING_WORDS


def _first_word(name: str) -> str:
    """`assert` of `assert_called` and of `assertEqual`, `checkout` of `checkout`."""
    found = re.match(r"_*([A-Z]?[a-z]+|[A-Z]+)", name)
    return found[1].lower() if found else ""


# -- languages with braces ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Syntax:
    """What is to be known of a language.

    `hidden` matches comments and texts, `asserts` what asserts, `trivial` what only looks so,
    `defines` the beginning of a function NAME, and `signs` what says it before the body.
    """

    hidden: re.Pattern[str]
    asserts: re.Pattern[str]
    defines: str
    trivial: re.Pattern[str] = re.compile(r"(?!)")
    signs: re.Pattern[str] = re.compile(r"(?!)")
    #: What hands the test over to another function.
    hands_over: re.Pattern[str] = re.compile(r"(?!)")
    titles: bool = False


_COMMENTS = r"//[^\n]*|/\*.*?\*/"
_TEXT = r'"(?:\\.|[^"\\\n])*"'
_WORDS = r"(?:[aA]ssert|[cC]heck|[vV]erify|[eE]xpect)(?![a-z])\w*\s*\("

#: What node's `assert` is called with, under names that nothing else has, and with any.
_NODE = (
    r"\b(?:(?:not)?(?:[dD]eep)?(?:[sS]trict)?(?:Equal)|partialDeepStrictEqual|doesNot(?:Throw|Reject"
    r"|Match)|ifError)\s*\("
    r"|\brequire\s*\(\s*\)\s*(?:\.\s*strict\s*)?(?:\.\s*(?:ok|equal|throws|rejects|match|fail)\s*)\("
)

_SCRIPT = _Syntax(
    hidden=re.compile(
        rf"{_COMMENTS}|{_TEXT}|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`"
        # A regular expression: a slash where a value is due.
        r"|(?:(?<=[(,=:\[!&|?{};])|(?<=return)) ?/(?![*/])"
        r"(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n\[])+/",
        re.DOTALL,
    ),
    asserts=re.compile(
        rf"\b{_WORDS}|\b(?:expect|assert)\s*\.|\.\s*should\b|\bshould\s*[.(]|\bfail\s*\(|\bthrow\b"
        rf"|{_NODE}"
    ),
    trivial=re.compile(
        r"\bexpect\s*\(\s*(?:true|false|\d+)\s*\)(?:\s*\.\s*\w+)+\s*\(\s*(?:true|false|\d+)?\s*\)"
        r"|\bassert(?:\s*\.\s*\w+)?\s*\(\s*(?:true|1)\s*[,)]"
    ),
    defines=(
        r"(?:\bfunction\s*\*?\s*NAME\s*\(|\b(?:const|let|var)\s+NAME\s*=\s*(?:async\b\s*)?"
        r"(?:function\b|\w+\s*=>|\([^()]*\)[^=;{}]*=>))"
    ),
    titles=True,
)
_SYNTAXES = {
    Language.JAVASCRIPT: _SCRIPT,
    Language.TYPESCRIPT: _SCRIPT,
    Language.GO: _Syntax(
        hidden=re.compile(rf"{_COMMENTS}|{_TEXT}|'(?:\\.|[^'\\\n])+'|`[^`]*`", re.DOTALL),
        # Not `err.Error()` and not `fmt.Errorf()`, which only make a text and an error.
        asserts=re.compile(
            r"\b[tb]{1,2}\.Error\s*\(|\b(?!fmt\.|log\.)\w+\.(?:Errorf|Fatalf?|Fail(?:Now)?)\s*\("
            rf"|\b(?:require|assert)\.|\b{_WORDS}|\bpanic\s*\("
        ),
        defines=r"\bfunc\s+(?:\([^)]*\)\s*)?NAME\s*(?:\[[^\]]*\])?\(",
        hands_over=re.compile(r"\b((?!func\b)[\w.]+)\s*\(\s*[tb]{1,2}\s*[,)]"),
    ),
    Language.RUST: _Syntax(
        hidden=re.compile(
            rf"{_COMMENTS}|\br(#*)\".*?\"\1|\"(?:\\.|[^\"\\])*\"|'(?:\\[^']*|[^'\\\n])'", re.DOTALL
        ),
        asserts=re.compile(
            r"\b\w*assert\w*\s*!|\b(?:panic|unreachable|todo|unimplemented)\s*!"
            r"|\b(?:assert|check|verify)(?:_\w+)?\s*\("
        ),
        trivial=re.compile(r"\bassert\s*!\s*\(\s*true\s*[,)]"),
        defines=r"\bfn\s+NAME\s*(?:<[^>]*>)?\s*\(",
        signs=re.compile(r"#\[\s*should_panic|->\s*(?:[\w:]+::)?Result\b.*\?", re.DOTALL),
    ),
    Language.JAVA: _Syntax(
        hidden=re.compile(
            rf'{_COMMENTS}|"""(?:\\.|.)*?"""|{_TEXT}|' r"'(?:\\.|[^'\\\n])+'", re.DOTALL
        ),
        asserts=re.compile(rf"\b{_WORDS}|\.\s*and{_WORDS}|\bassert\b|\bfail\s*\(|\bthrow\b"),
        trivial=re.compile(r"\bassert(?:True|False)\s*\(\s*(?:true|false)\s*[,)]"),
        defines=r"(?<=[\w>\]])\s+NAME\s*\((?=[^;{}]*\{)",
        signs=re.compile(r"\bexpected\s*="),
    ),
}


class _Braces:
    """A file of a language with braces."""

    def __init__(self, text: str, syntax: _Syntax) -> None:
        self._text = text
        self._syntax = syntax
        self._code = syntax.hidden.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)

    def judge(self, test_name: str) -> bool | None:
        titles = self._syntax.titles
        found = list(self._titled(test_name) if titles else self._defined(_function(test_name)))
        answers = {self._asserts(part, set()) for part in found}
        # Of several tests with one name nobody knows which one ran.
        return answers.pop() if len(answers) == 1 else None

    def _asserts(self, part: str, seen: set[str]) -> bool | None:
        syntax = self._syntax
        if syntax.asserts.search(syntax.trivial.sub(" ", part)) or syntax.signs.search(part):
            return True
        handed_to = syntax.hands_over.findall(part)
        answers: set[bool | None] = {None for name in handed_to if not any(self._defined(name))}
        for name in dict.fromkeys(re.findall(r"\b([A-Za-z_]\w*)\s*!?\s*\(", part)):
            if name in seen:
                continue
            seen.add(name)
            answers |= {self._asserts(inner, seen) for inner in self._defined(name)}
        if True in answers:
            return True
        return None if None in answers else False

    def _defined(self, name: str) -> Iterator[str]:
        """The functions of a name, each with what stands before it and belongs to it."""
        if not re.fullmatch(r"[A-Za-z_]\w*", name):
            return
        for start in re.finditer(self._syntax.defines.replace("NAME", name), self._code):
            begin = max(self._code.rfind(sign, 0, start.start()) for sign in ";}{") + 1
            before = self._code[begin : start.start()]
            short = re.compile(r"\s*[^\s{][^;\n]*").match(self._code, start.end())
            if start[0].endswith("=>") and short:
                yield before + short[0]
                continue
            closed = self._closing(self._code.find("{", start.end()))
            if closed is not None:
                yield before + self._code[start.end() : closed + 1]

    def _titled(self, test_name: str) -> Iterator[str]:
        """The calls that make a test of this title, which may be within others' titles."""
        found: dict[int, list[str]] = {}
        for start in re.finditer(r"\b(?:it|test|specify)\b(?:\s*\.\s*\w+)*\s*(?=\()", self._code):
            at: int | None = start.end()
            is_table = "`" in self._text[start.start() : start.end()]
            if re.search(r"\.\s*each\s*$", start[0]) and not is_table:
                # What the cases are is in a call of its own before that with the title.
                at = self._closing(start.end())
                at = self._code.find("(", at + 1) if at is not None else None
            closed = self._closing(at) if at is not None else None
            if at is None or closed is None:
                continue
            title = _title(self._text[at + 1 :])
            if title is not None and re.search(rf"(?:^|\s){title}$", test_name, re.DOTALL):
                found.setdefault(len(title), []).append(self._code[at : closed + 1])
        yield from found[max(found)] if found else ()

    def _closing(self, opened: int) -> int | None:
        """Return where the bracket that is opened there is closed."""
        pair = {"{": "{}", "(": "()"}.get(self._code[opened : opened + 1]) if opened >= 0 else None
        if pair is None:
            return None
        depth = 0
        for match in re.finditer(rf"[{re.escape(pair)}]", self._code[opened:]):
            depth += 1 if match[0] == pair[0] else -1
            if depth == 0:
                return opened + match.start()
        return None


@lru_cache(maxsize=4)
def _braces(text: str, language: Language) -> _Braces:
    return _Braces(text, _SYNTAXES[language])


def _function(test_name: str) -> str:
    """The function behind `tests::adds`, `TestParts/some`, `Outer$Inner.adds(int)[1]`."""
    name = re.split(r"[(\[/]", test_name, maxsplit=1)[0]
    return re.split(r"::|[.$]", name)[-1].strip()


def _title(text: str) -> str | None:
    """A pattern of the title that a text begins with; what is filled in may be anything."""
    quoted = re.match(r"""\s*(["'`])((?:\\.|(?!\1).)*)\1""", text, re.DOTALL)
    if quoted is None:
        return None
    title = re.sub(r"\\(.)", r"\1", quoted[2])
    parts = re.split(r"%[a-zA-Z#%]|\$\{[^}]*\}|\$\w+(?:\.\w+)*", title)
    return ".*".join(re.escape(part) for part in parts)
