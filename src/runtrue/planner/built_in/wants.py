"""Wants: what a task wants out of data, by name, and a first guess of its path."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import groupby

from runtrue.planner.built_in.draft import CannotPlan
from runtrue.planner.task import TaskToken, TokenType
from runtrue.planner.words import DETERMINERS, GENERIC, name_of, plural, singular, word_set

#: Words for one entry of a list.
_ENTRIES = word_set("item entry element result record one row object")
_ORDINALS = {"first": 0, "second": 1, "third": 2, "fourth": 3, "fifth": 4, "last": -1}
#: More words than this are no name of a field.
_MOST_WORDS = 4
_LEADING = DETERMINERS | {"only", "just", "value", "values", "field", "fields", "key", "keys"}
_LEADING |= {"property", "properties", "attribute", "attributes", "me", "us", "also"}
_TRAILING = frozenset({"field", "fields", "value", "property", "attribute", "key", "only", "too"})
#: Marks, and what people add for politeness.
_NO_WORDS = frozenset({"(", ")", ":", "please", "pls", "plz", "thanks"})
_QUESTION = frozenset({"is", "are", "does", "do", "has", "have", "there", "was", "were"})
_PRONOUNS = frozenset({"it", "they", "he", "she"})
#: Words that no name of a field has in it.
NO_NAME = word_set(
    "that which who whose where those such than with without for by on in into at to about "
    "against between per via if not or but so because every each a an the how why should would "
    "could can will shall i you we instead"
)
_USUAL = re.compile(r"[\w .'\u2019/-]*[^\W_][\w .'\u2019/-]*")
_PATH = re.compile(r"\$?\.?[\w-]+(?:\.[\w-]+|\[-?\d+\])*")
_LISTS = (("list", "of"), ("all",), ("every",), ("each",), ("lists", "of"))
_COUNTS = (("number", "of"), ("count", "of"), ("how", "many"), ("many",))


@dataclass(frozen=True, slots=True, kw_only=True)
class Want:
    """One value that is wanted. With `each`, it is wanted of every entry of a list."""

    name: str
    path: str
    each: bool = False
    count: bool = False
    #: True if the response itself is the list that is wanted.
    whole: bool = False


def read_wants(tokens: list[TaskToken], nouns: frozenset[str], collection: bool) -> list[Want]:
    """Return what is wanted of a response that `nouns` name; CannotPlan if that is unclear.

    `collection` says that the response should be a list.
    """
    items = (list(group) for joins, group in groupby(tokens, _joins) if not joins)
    wants = (_want(item, nouns, collection) for item in items)
    return [want for want in wants if want is not None]


def _joins(token: TaskToken) -> bool:
    return token.word in {",", "and", "&", "plus"}


def _want(item: list[TaskToken], nouns: frozenset[str], collection: bool) -> Want | None:
    said = " ".join(token.text for token in item)
    tokens, alias = _alias([token for token in item if token.word not in _NO_WORDS])
    if len(tokens) == 1 and (explicit := _explicit(tokens[0])):
        return Want(name=alias or explicit[0], path=explicit[1])
    words = [_text(token, said) for token in tokens]
    while len(words) > 1 and words[-1] in _TRAILING | _QUESTION | _PRONOUNS:
        words.pop()
    count, words = _begin(_lead(words), _COUNTS)
    each, words = _begin(_lead(words), _LISTS)
    words = _lead(words)
    if not each and words and words[0] not in _ORDINALS:
        each, words = _of_each(words)
    owners, words = _owners(words)
    sole = words[-1] if len(words) == 1 and not owners and not alias else ""
    whole = each and not count and collection and singular(sole) in nouns
    if not words or sole in GENERIC or whole:
        return None
    usual = all(_USUAL.fullmatch(word) for word in words)
    if not usual or set(words) & NO_NAME or len(words) > _MOST_WORDS:
        raise CannotPlan(f"{said!r} is not a clear field name")
    if count and collection and len(words) == 1 and singular(words[0]) in nouns | _ENTRIES:
        return Want(name=alias or "count", path="$", count=True, whole=True)
    if each:
        field = [*words[:-1], singular(words[-1])]
        name = alias or name_of([*words[:-1], plural(field[-1])])
        return Want(name=name, path=name_of(field), each=True)
    path, names = "$", []
    for part in (*owners, words):
        if part[0] in _ORDINALS:
            path += _entry(part, nouns, collection and path == "$")
        elif part is words or len(part) > 1 or part[0] not in nouns | GENERIC:
            path += f".{name_of(part)}"
            names += part if part is not words else []
    return Want(name=alias or name_of([*names, *words]), path=path, count=count)


def _entry(words: list[str], nouns: frozenset[str], is_list: bool) -> str:
    """Return the path of an entry of a list, such as "first item"."""
    index, noun = _ORDINALS[words[0]], words[1:] or ["item"]
    if is_list and len(noun) == 1 and singular(noun[0]) in nouns | _ENTRIES:
        return f"[{index}]"
    return f".{name_of([*noun[:-1], plural(noun[-1])])}[{index}]"


def _alias(tokens: list[TaskToken]) -> tuple[list[TaskToken], str]:
    for at, token in enumerate(tokens):
        if token.word in {"as", "named", "called"} and 0 < at < len(tokens) - 1:
            after = [t.text for t in tokens[at + 1 :] if t.word not in DETERMINERS]
            return tokens[:at], name_of(after)
    return tokens, ""


def _explicit(token: TaskToken) -> tuple[str, str] | None:
    text = token.text if token.type in (TokenType.WORD, TokenType.FILE) else str(token.value)
    is_path = any(sign in text for sign in "._[") or text.startswith("$")
    if (
        token.type not in (TokenType.WORD, TokenType.FILE)
        or not is_path
        or not _PATH.fullmatch(text)
    ):
        return None
    path = text if text.startswith("$") else f"$.{text}"
    return name_of([re.sub(r"\[-?\d+\]", "", text).rpartition(".")[2]]) or "value", path


def _text(token: TaskToken, said: str) -> str:
    if token.type is TokenType.QUOTED:
        return str(token.value)
    if token.type is TokenType.WORD:
        # `displayName` is the name of a field as it is.
        return token.text if re.search(r"[a-z][A-Z]", token.text) else token.word
    raise CannotPlan(f"{token.text!r} in {said!r} has no clear meaning here")


def _begin(words: list[str], beginnings: tuple[tuple[str, ...], ...]) -> tuple[bool, list[str]]:
    for beginning in beginnings:
        if tuple(words[: len(beginning)]) == beginning and len(words) > len(beginning):
            return True, words[len(beginning) :]
    return False, words


def _lead(words: list[str]) -> list[str]:
    at = 0
    while at < len(words) - 1 and words[at] in _LEADING | _QUESTION:
        at += 1
    return _lead(words[at + 1 :]) if at and words[at : at + 1] == ["of"] else words[at:]


def _of_each(words: list[str]) -> tuple[bool, list[str]]:
    """Read `title of each post`, `titles of all posts`."""
    for at in range(1, len(words) - 1):
        if words[at] == "of" and words[at + 1] in {"each", "every", "all"}:
            return True, words[:at]
    return False, words


def _owners(words: list[str]) -> tuple[list[list[str]], list[str]]:
    """Return what the wanted thing is a part of, outermost first, and the thing itself."""
    if "of" in words:
        at = words.index("of")
        inner, outer = words[:at], _lead(words[at + 1 :])
        further, owner = _owners(outer)
        before, thing = _owners(inner)
        return [*further, *filter(None, [owner]), *before], thing
    for at, word in enumerate(words):
        if word.endswith("'s") or word.endswith("s'"):
            owner = [*words[:at], word[:-2] if word.endswith("'s") else word[:-1]]
            before, thing = _owners(words[at + 1 :])
            return [owner, *before], thing
    return [], words
