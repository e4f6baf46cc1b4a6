"""Edits of literals: another number, string, template text or regular expression."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

from runtrue.fixers.search.edit import Edit
from runtrue.fixers.search.javascript.names import likeness
from runtrue.fixers.search.javascript.rules import TYPE_NAMES
from runtrue.fixers.search.javascript.site import Site
from runtrue.fixers.search.javascript.syntax_tree import JavascriptProgram

_MOST_STRINGS = 8
#: Starting values that people take for one another.
_STARTS = ("0", "1", "''", "[]", "{}", "null", "-Infinity", "Infinity", "true", "false")


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
    alike = sorted(known, key=lambda one: -likeness(value, one))[:_MOST_STRINGS]
    for other in alike:
        tried.setdefault(other, 5.0 - 4.0 * likeness(value, other))
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


def _is_regex(text: str) -> bool:
    return "//" not in text[:2] and "[]" not in text and "(?)" not in text and "(*" not in text


OPERATORS = (numbers, strings, template_texts, regexes, starts)
