"""Edits of expressions that a rule cannot say: they need the names, values and texts around."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

from tree_sitter import Node

from runtrue.fixers.search.edit import Edit
from runtrue.fixers.search.javascript.rules import FAMILIES, RULES, TYPE_NAMES
from runtrue.fixers.search.javascript.site import Site
from runtrue.fixers.search.javascript.syntax_tree import FUNCTIONS, JavascriptProgram

_CONDITIONED = frozenset(
    ("if_statement", "while_statement", "do_statement", "for_statement", "ternary_expression")
)
_REFERENCES = frozenset(("identifier", "shorthand_property_identifier"))
#: Other names of the scope that are tried in the place of one.
_MOST_NAMES, _MOST_PROPERTIES, _MOST_STRINGS = 14, 10, 8
#: Starting values that people take for one another.
_STARTS = ("0", "1", "''", "[]", "{}", "null", "-Infinity", "Infinity", "true", "false")
_WRAPS = ("Math.abs({})", "String({})", "Number({})", "{}.trim()", "{}.toLowerCase()")
_ESCAPED = re.compile(r"\\(.)")


def by_rules(site: Site) -> Iterator[Edit]:
    """Try what the rules say."""
    for rule, text, unlikely in RULES.applied(site.program, site.node):
        if rule.kind == "await" and not _may_await(site):
            continue
        yield site.replace(rule.kind, text, unlikely, doubt=rule.doubt)


def family_names(site: Site) -> Iterator[Edit]:
    """Try a method, or a function, that is taken for this one."""
    if site.node.type not in ("property_identifier", "identifier"):
        return
    name = site.text
    for family in FAMILIES:
        if name in family:
            for other in family:
                if other != name:
                    yield site.replace("attribute", other, 1.5)


def variables(site: Site) -> Iterator[Edit]:
    """Try another name of the scope; the likest first."""
    node, name = site.node, site.text
    if node.type not in _REFERENCES or _is_declared(node):
        return
    shorthand = f"{name}: " if node.type == "shorthand_property_identifier" else ""
    is_called = _is_called(node)
    functions = {one.name for one in site.scope.functions}
    near = [one for one in site.scope.names_at(node) if one != name]
    is_known = name in site.scope.names_at(node) or name in _GLOBALS
    same_kind = [one for one in near if (one in functions) == is_called]
    ranked = sorted(same_kind, key=lambda one: -_likeness(name, one))[:_MOST_NAMES]
    for other in ranked:
        unlikely = 4.0 - 2.5 * _likeness(name, other)
        unlikely = unlikely if is_known else unlikely / 10
        yield site.replace("variable", f"{shorthand}{other}", unlikely)
    if not is_known or not is_called:
        for member in sorted(site.scope.members, key=lambda one: -_likeness(name, one)):
            if member == name:
                yield site.replace("self", f"{shorthand}this.{name}", 0.5 if not is_known else 3.0)


def properties(site: Site) -> Iterator[Edit]:
    """Try another property: those used of the same thing, then those that are spelt alike."""
    node = site.node
    if node.type != "property_identifier" or node.parent is None:
        return
    name = site.text
    parent = node.parent
    own: Counter[str] = Counter()
    if parent.type == "member_expression":
        holder = parent.child_by_field_name("object")
        if holder is not None:
            own = Counter(site.scope.properties.get(site.program.source(holder), {}))
            if holder.type == "this":
                own.update(site.scope.members)
        if holder is not None and holder.type == "this" and name in site.scope.names_at(node):
            yield site.replace("self", name, 4.0, node=parent)
    elif parent.type not in ("pair", "method_definition"):
        return
    every: Counter[str] = Counter(site.scope.properties.get("", {}))
    for scope in site.others:
        every.update(scope.properties.get("", {}))
    every.update(dict.fromkeys(site.clues.words, 1))
    alike = [one for one in every if one != name and _likeness(name, one) > 0.6]
    ranked = sorted(own, key=lambda one: -_likeness(name, one))[:_MOST_PROPERTIES]
    is_rare = every[name] <= 1
    for other in dict.fromkeys(
        (*sorted(alike, key=lambda one: -_likeness(name, one))[:5], *ranked)
    ):
        if other != name:
            unlikely = 4.0 - 3.0 * _likeness(name, other)
            yield site.replace("attribute", other, unlikely / 2 if is_rare else unlikely)


def numbers(site: Site) -> Iterator[Edit]:
    """Try another number: its neighbours, and those of the failing tests."""
    if site.node.type != "number":
        return
    text = site.text
    tried: dict[str, float] = {}
    if re.fullmatch(r"\d+", text):
        value = int(text)
        tried = {str(value + 1): 1.0, str(value - 1): 1.0, str(value * 10): 4.0}
        tried |= {"0": 2.0, "1": 2.0, "2": 4.0, f"-{value}": 4.0, str(value // 10): 5.0}
        if value in (24, 60, 100, 1000, 365, 7, 12, 10, 1024):
            tried |= dict.fromkeys(("24", "60", "100", "1000", "365", "7", "12", "1024"), 3.0)
        tried |= {str(value * 2): 6.0}
    for number in site.clues.numbers:
        tried.setdefault(number, 6.0)
    for other in _numbers_of(site.program):
        tried.setdefault(other, 5.0)
    tried.pop(text, None)
    for other, unlikely in tried.items():
        yield site.replace("constant", other, unlikely)


def strings(site: Site) -> Iterator[Edit]:
    """Try another string: those that are like it, those of the tests, a type's name."""
    node = site.node
    if node.type != "string":
        return
    text = site.text
    quote, value = text[0], text[1:-1]
    parent = node.parent
    tried: dict[str, float] = {}
    is_type = parent is not None and "typeof" in site.program.source(parent)
    if is_type and value in TYPE_NAMES:
        tried |= dict.fromkeys(TYPE_NAMES, 2.0)
    elif len(value) <= 2:
        tried |= dict.fromkeys(("", " ", ",", ", ", "-", "_", "\\n", ".", "/", ": ", "0"), 3.0)
        for sign in dict.fromkeys("".join(site.clues.strings)):
            if not sign.isalnum():
                tried.setdefault(sign, 2.5)
    else:
        tried[""] = 8.0
    if value != value.strip():
        tried[value.strip()] = 3.0
    elif value:
        tried |= {f"{value} ": 5.0, f" {value}": 5.0}
    known = dict.fromkeys((*_strings_of(site.program), *site.clues.strings))
    alike = sorted(known, key=lambda one: -_likeness(value, one))[:_MOST_STRINGS]
    for other in alike:
        tried.setdefault(other, 5.0 - 4.0 * _likeness(value, other))
    for cased in (value.lower(), value.upper(), value[:1].upper() + value[1:]):
        tried.setdefault(cased, 4.0)
    for other, unlikely in tried.items():
        if other != value and quote not in other and "\n" not in other:
            yield site.replace("string", f"{quote}{other}{quote}", unlikely)


def template_texts(site: Site) -> Iterator[Edit]:
    """Try the fixed parts of a template without, or with, blanks and signs at their ends."""
    if site.node.type != "string_fragment" or site.node.parent is None:
        return
    if site.node.parent.type != "template_string":
        return
    text = site.text
    for other in (text.strip(), f"{text} ", f" {text}", text.replace(" ", ""), text[1:], text[:-1]):
        if other != text:
            yield site.replace("string", other, 4.0)
    expected = [one.expected.repr for one in site.clues.failures if one.expected]
    for shown in filter(None, expected):
        for piece in re.findall(r"[^\w\s'\"]+\s?|\s", shown[:200]):
            if piece != text and len(text) <= 3:
                yield site.replace("string", piece, 5.0)


def regexes(site: Site) -> Iterator[Edit]:
    """Try other flags, anchors and repetitions of a regular expression."""
    if site.node.type != "regex":
        return
    pattern = site.program.source(site.node.child_by_field_name("pattern") or site.node)
    found = site.node.child_by_field_name("flags")
    flags = site.program.source(found) if found is not None else ""
    tried: dict[str, float] = {}
    for flag in "gims":
        other = flags.replace(flag, "") if flag in flags else flags + flag
        tried[f"/{pattern}/{other}"] = 1.0 if flag in "gi" else 2.5
    for changed, unlikely in _patterns(pattern):
        if changed:
            tried.setdefault(f"/{changed}/{flags}", unlikely)
    for other, unlikely in tried.items():
        if other != site.text and _is_regex(other):
            yield site.replace("pattern", other, unlikely)


def _patterns(pattern: str) -> Iterator[tuple[str, float]]:
    yield (pattern[1:] if pattern.startswith("^") else f"^{pattern}"), 1.5
    for old, new in ((r"\n", r"\r?\n"), (r"\d+", r"\d+(?:\.\d+)?"), (" ", r"\s+"), (" ", r"\s*")):
        if old in pattern and new not in pattern:
            yield pattern.replace(old, new, 1), 2.0
    yield (pattern[:-1] if pattern.endswith("$") else f"{pattern}$"), 1.5
    if not pattern.startswith("^") and not pattern.endswith("$"):
        yield f"^{pattern}$", 1.5
    if pattern.startswith("^") and pattern.endswith("$") and "|" in pattern:
        yield f"^(?:{pattern[1:-1]})$", 1.5
    for at, sign in enumerate(pattern):
        before, after = pattern[:at], pattern[at + 1 :]
        escaped = before.endswith("\\") and not before.endswith("\\\\")
        if escaped:
            if sign in "dswDSWbB":
                yield before + sign.swapcase() + after, 3.0
                if not after.startswith(("+", "*", "{", "?")):
                    yield f"{before}{sign}+{after}", 2.0
                    yield f"{before}{sign}*{after}", 3.0
            continue
        match sign:
            case "+":
                yield f"{before}*{after}", 1.5
                yield before + after, 2.5
                if not after.startswith("?"):
                    yield f"{before}+?{after}", 2.0
            case "*":
                yield f"{before}+{after}", 1.5
                yield before + after, 3.0
                if not after.startswith("?"):
                    yield f"{before}*?{after}", 1.5
            case "?":
                yield before + after, 2.5
                yield f"{before}*{after}", 3.0
            case ".":
                yield f"{before}\\.{after}", 1.5
                yield f"{before}[^]{after}", 4.0
            case "]" if not after.startswith(("+", "*", "{", "?")):
                yield f"{before}]+{after}", 2.0
                yield f"{before}]*{after}", 3.0
            case "[" if not after.startswith("^"):
                yield f"{before}[^{after}", 4.0
                if "_" not in after:
                    yield f"{before}[_{after}", 5.0
            case "^" if before.endswith("["):
                yield before + after, 3.0
            case ")" if not after.startswith(("+", "*", "{", "?")):
                yield f"{before})?{after}", 2.5
                yield f"{before})+{after}", 3.0
    for old, new in (("a-z", "a-zA-Z"), ("A-Z", "a-zA-Z"), ("0-9", "0-9a-f"), ("a-z", "a-z0-9")):
        if old in pattern and new not in pattern:
            yield pattern.replace(old, new), 2.0
    for repeated in re.finditer(r"\{(\d+)(,?)(\d*)\}", pattern):
        low, comma, high = repeated.groups()
        start, end = repeated.span()
        for other in (
            f"{{{int(low) + 1}{comma}{high}}}",
            f"{{{max(0, int(low) - 1)}{comma}{high}}}",
            f"{{{low},}}",
            f"{{{low}}}",
            f"{{{low},{int(high) + 1}}}" if high else f"{{1,{low}}}",
        ):
            yield pattern[:start] + other + pattern[end:], 2.0


def arguments(site: Site) -> Iterator[Edit]:
    """Try arguments in another order, one less, or one more."""
    node = site.node
    if node.type not in ("call_expression", "new_expression"):
        return
    given = node.child_by_field_name("arguments")
    if given is None or given.type != "arguments":
        return
    own = given.named_children
    for at in range(len(own) - 1):
        yield site.swap("argument_swap", own[at], own[at + 1], 1.0 + at)
    if len(own) == 3:
        yield site.swap("argument_swap", own[0], own[2], 3.0)
    if len(own) > 1:
        rest = ", ".join(site.program.source(one) for one in own[:-1])
        yield site.replace("arguments", f"({rest})", 5.0, node=given)
    function = node.child_by_field_name("function") or node.child_by_field_name("constructor")
    name = site.program.source(function).rpartition(".")[2] if function is not None else ""
    inside = ", ".join(site.program.source(one) for one in own)
    known = next(
        (f for s in (site.scope, *site.others) for f in s.functions if f.name == name), None
    )
    if known is not None and len(known.parameters) > len(own):
        wanted = known.parameters[len(own)]
        names = sorted(site.scope.names_at(node), key=lambda one: -_likeness(wanted, one))[:6]
        for other in (*names, "true", "false"):
            both = f"{inside}, {other}" if inside else other
            unlikely = 3.0 - 2.0 * _likeness(wanted, other)
            yield site.replace("arguments", f"({both})", unlikely, node=given)
    if len(own) == 1 and node.type == "call_expression":
        yield site.replace("unwrap", site.program.source(own[0]), 4.0)


def conditions(site: Site) -> Iterator[Edit]:
    """Try a condition turned round, and joined with another one."""
    parent = site.node.parent
    if parent is None or not _is_condition(site.node):
        return
    text = site.text
    inner = text[1:-1] if site.node.type == "parenthesized_expression" else text
    new = f"!({inner})"
    outer = "({})" if site.node.type == "parenthesized_expression" else "{}"
    yield site.replace("negation", outer.format(new), 1.5)
    function = site.program.function_of(site.node)
    names = site.scope.names_at(site.node)
    near = site.scope.parameters_of(function) if function is not None else ()
    if len(inner) < 60:
        if re.fullmatch(r"[\w$.]+", inner):
            for tail in (" !== undefined", " != null", ".length > 0", ".length"):
                yield site.replace("falsy", outer.format(f"{inner}{tail}"), 3.0)
        others: dict[str, float] = {}
        for name in dict.fromkeys((*_names_in(site, site.node), *near, *names[:4])):
            others |= {f"{name} != null": 4.0, f"!{name}": 5.0, name: 5.0}
            others |= {f"{name}.length > 0": 7.0, f"typeof {name} === 'object'": 8.0}
            others |= {f"!Array.isArray({name})": 8.0, f"Array.isArray({name})": 8.0}
            others |= {f"{name} > 0": 8.0, f"typeof {name} === 'string'": 9.0}
        for other in _conditions_near(site):
            others[other] = min(others.get(other, 9.0), 4.0)
        left = inner if _is_plain(site.node) else f"({inner})"
        for other, unlikely in others.items():
            if other.strip() != inner.strip():
                right = other if re.fullmatch(r"[^|?:=]*|[^|?:&]*", other) else f"({other})"
                before = " != null" in other or other.startswith(("typeof", "Array"))
                both = f"{right} && {left}" if before else f"{left} && {right}"
                yield site.replace("condition_add", outer.format(both), unlikely)
                yield site.replace("condition_add", outer.format(f"{left} || {right}"), unlikely)


def terms(site: Site) -> Iterator[Edit]:
    """Try a value with a term that is missing, or wrapped in a call."""
    node, parent = site.node, site.node.parent
    if parent is None or not _is_value(node):
        return
    text = site.text
    if len(text) > 60 or "\n" in text:
        return
    names = site.scope.names_at(node)[:6]
    plain = text if _is_plain(node) else f"({text})"
    for name in names:
        if name != text and not any(one.name == name for one in site.scope.functions):
            for sign, unlikely in (("+", 6.0), ("-", 7.0), ("*", 8.0)):
                yield site.replace("term_add", f"{plain} {sign} {name}", unlikely)
    for number in ("1",):
        yield site.replace("term_add", f"{plain} + {number}", 3.0)
        yield site.replace("term_add", f"{plain} - {number}", 3.0)
    for tail in (" || 0", " ?? 0", " || ''", " || []", " || {}", " ?? null", " || null"):
        yield site.replace("default", f"{plain}{tail}", 6.0)
    for wrap in _WRAPS:
        yield site.replace("wrap", wrap.format(text if wrap[0] != "{" else plain), 7.0)
    for info in site.scope.functions:
        if len(info.parameters) == 1 and info.name in site.scope.names_at(node):
            yield site.replace("wrap", f"{info.name}({text})", 6.0)


def starts(site: Site) -> Iterator[Edit]:
    """Try another value to start from."""
    node, parent = site.node, site.node.parent
    if parent is None or parent.type not in ("variable_declarator", "assignment_pattern"):
        return
    field = "value" if parent.type == "variable_declarator" else "right"
    if parent.child_by_field_name(field) != node or site.text not in _STARTS:
        return
    for other in _STARTS:
        if other != site.text:
            yield site.replace("constant", other, 3.0)


def parameters(site: Site) -> Iterator[Edit]:
    """Try parameters with a default, with all the rest, or in another order."""
    node, parent = site.node, site.node.parent
    if node.type == "formal_parameters":
        own = node.named_children
        for at in range(len(own) - 1):
            yield site.swap("argument_swap", own[at], own[at + 1], 3.0)
        return
    if node.type != "identifier" or parent is None or parent.type != "formal_parameters":
        return
    for value in ("0", "''", "[]", "{}", "1", "false", "true", "null", "Infinity"):
        yield site.replace("default", f"{site.text} = {value}", 4.0)
    if node.next_named_sibling is None:
        yield site.replace("star", f"...{site.text}", 4.0)


def objects(site: Site) -> Iterator[Edit]:
    """Try the same names as properties, and properties that are missing, of an object."""
    if site.node.type not in ("object", "object_pattern"):
        return
    own = {site.program.source(one).partition(":")[0] for one in site.node.named_children}
    names = [one for one in site.scope.names_at(site.node)[:8] if one not in own]
    inside = site.text[1:-1].strip().rstrip(",")
    if site.node.type == "object" and "\n" not in inside:
        for name in names:
            both = f"{inside}, {name}" if inside else name
            yield site.replace("term_add", f"{{ {both} }}", 6.0)
            yield site.replace("copy", f"{{ ...{name}{', ' if inside else ''}{inside} }}", 6.0)


_GLOBALS = frozenset(
    (
        *("Math", "Object", "Array", "String", "Number", "Boolean", "JSON", "Date", "Promise"),
        *(
            "Map",
            "Set",
            "WeakMap",
            "Symbol",
            "RegExp",
            "Error",
            "TypeError",
            "RangeError",
            "console",
        ),
        *("undefined", "NaN", "Infinity", "parseInt", "parseFloat", "isNaN", "isFinite", "require"),
        *("module", "exports", "process", "Buffer", "globalThis", "setTimeout", "clearTimeout"),
        *("arguments", "structuredClone", "BigInt", "Reflect", "Proxy", "setImmediate"),
    )
)
OPERATORS = (
    *(by_rules, family_names, variables, properties, numbers, strings, template_texts, regexes),
    *(arguments, conditions, terms, starts, parameters, objects),
)


# -- what a node is --------------------------------------------------------------------------------


def _may_await(site: Site) -> bool:
    function = site.program.function_of(site.node)
    if function is None:
        return True
    return any(one.type == "async" for one in function.children)


def _is_declared(node: Node) -> bool:
    """True for a name where it is declared, not used."""
    parent = node.parent
    if parent is None:
        return True
    if parent.type in ("variable_declarator", "function_declaration", "class_declaration"):
        return parent.child_by_field_name("name") == node
    if parent.type in FUNCTIONS:
        return parent.child_by_field_name("body") != node
    return parent.type in ("formal_parameters", "import_specifier", "rest_pattern", "import_clause")


def _is_called(node: Node) -> bool:
    parent = node.parent
    if parent is None or parent.type not in ("call_expression", "new_expression"):
        return False
    return node in (
        parent.child_by_field_name("function"),
        parent.child_by_field_name("constructor"),
    )


def _is_condition(node: Node) -> bool:
    parent = node.parent
    if parent is None or parent.type not in _CONDITIONED:
        return False
    return parent.child_by_field_name("condition") == node


def _is_value(node: Node) -> bool:
    """True for what is returned, assigned or given to a name."""
    parent = node.parent
    if parent is None or not node.is_named:
        return False
    match parent.type:
        case "return_statement":
            return True
        case "variable_declarator":
            return parent.child_by_field_name("value") == node
        case "assignment_expression" | "augmented_assignment_expression":
            return parent.child_by_field_name("right") == node
        case "arrow_function":
            return parent.child_by_field_name("body") == node and node.type != "statement_block"
        case "arguments" | "template_substitution" | "pair":
            return node.type != "property_identifier" and node.type not in FUNCTIONS
    return False


def _is_plain(node: Node) -> bool:
    return node.type in (
        *("identifier", "member_expression", "call_expression", "subscript_expression", "number"),
        *("string", "parenthesized_expression", "array", "template_string", "this"),
    )


def _names_in(site: Site, node: Node) -> list[str]:
    return re.findall(
        r"[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)*(?!\w|\()", site.program.source(node)
    )[:4]


def _conditions_near(site: Site) -> list[str]:
    """Return the other conditions of the program, which may be what is missing here."""
    names = set(site.scope.names_at(site.node)) | _GLOBALS | {"this", "typeof", "null", "true"}
    own = site.text.strip("()")
    every = _conditions_of(site.program)
    return [text for text, words in every if words <= names and text != own][:8]


@lru_cache(maxsize=64)
def _conditions_of(program: JavascriptProgram) -> tuple[tuple[str, frozenset[str]], ...]:
    """Return the short conditions of a program, each with the names that it uses."""
    found: dict[str, frozenset[str]] = {}
    for node in program.nodes:
        if _is_condition(node):
            text = program.source(node)
            inner = text[1:-1] if node.type == "parenthesized_expression" else text
            if len(inner) < 80:
                bare = re.sub(r"'[^']*'", "", inner)
                words = re.findall(r"(?<![\w.$'\"])[A-Za-z_$][\w$]*", bare)
                found[inner] = frozenset(words)
    return tuple(found.items())


@lru_cache(maxsize=64)
def _numbers_of(program: JavascriptProgram) -> tuple[str, ...]:
    every = Counter(program.source(one) for one in program.nodes if one.type == "number")
    return tuple(text for text, _ in every.most_common(6))


@lru_cache(maxsize=64)
def _strings_of(program: JavascriptProgram) -> tuple[str, ...]:
    found = (
        program.source(one)[1:-1]
        for one in program.nodes
        if one.type == "string" and one.end_byte - one.start_byte < 40
    )
    return tuple(dict.fromkeys(found))


@lru_cache(maxsize=65_536)
def _likeness(one: str, other: str) -> float:
    """Return how alike two names are, from 0 to 1."""
    if not one or not other:
        return 0.0
    ratio = difflib.SequenceMatcher(None, one.lower(), other.lower()).ratio()
    return float(ratio**1.5)


def _is_regex(text: str) -> bool:
    return "//" not in text[:2] and "[]" not in text and "(?)" not in text and "(*" not in text
