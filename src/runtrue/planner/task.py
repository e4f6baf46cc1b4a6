"""Tasks: what a sentence names (URLs, files, commands, quoted text, pairs), and its clauses.

Nothing is understood here: text becomes tokens, and tokens become clauses that begin with a verb.
What a clause means is for the generator to say.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any
from urllib.parse import urlsplit

from runtrue.planner.words import ALSO_NOUNS, PHRASAL, POLITE, VERBS, word_set


class TokenType(StrEnum):
    """The type of a token."""

    URL = "url"
    FILE = "file"
    COMMAND = "command"
    QUOTED = "text"
    PAIR = "pair"
    JSON = "json"
    NUMBER = "number"
    VARIABLE = "variable"
    WORD = "word"
    MARK = "mark"


@dataclass(frozen=True, slots=True)
class TaskToken:
    """A piece of a task, with the value that it means; `key` is the name of a pair."""

    type: TokenType
    text: str
    value: Any = None
    key: str = ""

    @property
    def word(self) -> str:
        """A word or a mark in lower case; empty for everything else."""
        if self.type not in (TokenType.WORD, TokenType.MARK):
            return ""
        return self.text.lower().replace("\u2019", "'")

    @property
    def is_file(self) -> bool:
        """True for the name of a file, also for quoted text that looks like one."""
        looks_so = self.type is TokenType.QUOTED and looks_like_file(self.value)
        return looks_so or self.type is TokenType.FILE


@dataclass(frozen=True, slots=True)
class Variable:
    """An environment variable, as a value."""

    name: str


_EXTENSIONS = word_set(
    "bin bz2 cfg conf css csv dat db doc docx env gif gz htm html ico ini ipynb jpeg jpg js "
    "json jsonl lock log md mp3 mp4 ndjson out parquet pdf png py rst sh sql sqlite svg tar tgz "
    "tmp toml ts tsv txt wav webp xls xlsx xml xz yaml yml zip"
)
_NAMES_OF_FILES = frozenset({"Makefile", "Dockerfile", "LICENSE", "README"})
_URL = re.compile(r"https?://[^\s<>\"'`]+", re.IGNORECASE)
#: Blanks within a command are part of it; the first line of a block may say what it is.
_FENCES = (
    re.compile(r"```(?:(?:sh|bash|shell|console)?[ \t]*\n)?(.+?)\s*```", re.DOTALL),
    re.compile(r"`([^`]+)`"),
)
_QUOTES = {'"': '"', "'": "'", "“": "”", "\u2018": "\u2019", "«": "»"}
_VARIABLE = re.compile(r"\$(?:([A-Z_][A-Z0-9_]*)|\{(?:env\.)?([A-Z_][A-Z0-9_]*)\})(?![\w.])")
_KEY = re.compile(r"([A-Za-z_][\w.-]*)=(?=[^\s=])")
_LABEL = re.compile(r"([A-Za-z_][\w.-]*):[ \t]+(?=[^\s])")
_NAME_OF_URL = re.compile(r"(?i)ur[li]|link|href|site|hook|callback|image|avatar|page$|endpoint")
_AFTER_VALUE = re.compile(r"\s*(?:$|[,;.)]|(?:and|to|at|with)\b)")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?![\w:/-]|\.\d)")
_RUN = re.compile(r"[^\s,;()!?\"`“”«»]+")
_RELATION = re.compile(r"(?:[!<>=]=|[<>=])(?=\s)")
#: What a directory can follow: "in .", where a dot would else end a sentence.
_BEFORE_DIRECTORY = word_set("of in at from to into on under repo repository directory folder path")
_DIRECTORY = re.compile(r"(?<!\S)\.{1,2}(?=[\s,;!?]|\Z)")
_SCHEME = re.compile(r"(?:bearer|basic|token|digest)[ \t]+(?=[^\s])", re.IGNORECASE)
_CONSTANTS = {"true": True, "false": False, "null": None}
_MARKS = ".:"
_APOSTROPHES = ("'", "\u2018", "\u2019")


def tokenise(text: str) -> Iterator[TaskToken]:
    """Split a text into tokens; of the blanks between them, only the end of a line is one."""
    at, before = 0, ""
    while at < len(text):
        if text[at].isspace():
            if text[at] == "\n":
                yield TaskToken(TokenType.MARK, "\n")
            at += 1
            continue
        token = _next(text, at, before)
        at, before = at + len(token.text), token.word
        yield token


def _next(text: str, at: int, before: str) -> TaskToken:
    if before in _BEFORE_DIRECTORY and (found := _DIRECTORY.match(text, at)):
        return TaskToken(TokenType.FILE, found[0], found[0])
    tokens = (reader(text, at) for reader in _READERS)
    return next(filter(None, tokens), None) or TaskToken(TokenType.MARK, text[at])


def _command(text: str, at: int) -> TaskToken | None:
    for fence in _FENCES:
        if (found := fence.match(text, at)) and found[1].strip():
            type_ = TokenType.URL if _is_url(found[1]) else TokenType.COMMAND
            return TaskToken(type_, found[0], found[1])
    # An empty command; what follows is not in it either.
    return TaskToken(TokenType.MARK, "``") if text.startswith("``", at) else None


def _url(text: str, at: int) -> TaskToken | None:
    found = _URL.match(text, at + 1 if text[at] == "<" else at)
    url = found[0] if found else ""
    while url and (url[-1] in ".,;:!?…*" or _unbalanced(url)):
        url = url[:-1]
    if not found or not _is_url(url):
        return None
    end = found.start() + len(url)
    if found.start() > at and text[end : end + 1] == ">":
        end += 1
    return TaskToken(TokenType.URL, text[at:end], url)


def _is_url(text: str) -> bool:
    try:
        return _URL.fullmatch(text) is not None and bool(urlsplit(text).hostname)
    except ValueError:
        return False


def _unbalanced(url: str) -> bool:
    opening = {")": "(", "]": "[", "}": "{"}.get(url[-1])
    return opening is not None and url.count(url[-1]) > url.count(opening)


def _json(text: str, at: int) -> TaskToken | None:
    if text[at] not in "{[":
        return None
    try:
        value, end = json.JSONDecoder().raw_decode(text, at)
    except (ValueError, RecursionError):
        return None
    return TaskToken(TokenType.JSON, text[at:end], value)


def _quoted(text: str, at: int) -> TaskToken | None:
    closing = _QUOTES.get(text[at])
    end = text.find(closing, at + 1) if closing else -1
    # An apostrophe within a word closes nothing.
    while closing in _APOSTROPHES and end > 0 and text[end + 1 : end + 2].isalnum():
        end = text.find(closing, end + 1)
    if end <= at + 1:
        return None
    inner = text[at + 1 : end]
    type_ = TokenType.URL if _is_url(inner) else TokenType.QUOTED
    return TaskToken(type_, text[at : end + 1], inner)


def _variable(text: str, at: int) -> TaskToken | None:
    found = _VARIABLE.match(text, at)
    variable = Variable(found[1] or found[2]) if found else None
    return TaskToken(TokenType.VARIABLE, found[0], variable) if found else None


def _pair(text: str, at: int) -> TaskToken | None:
    if found := _KEY.match(text, at):
        value, end = _value(text, found.end())
        return TaskToken(TokenType.PAIR, text[at:end], value, key=found[1])
    found = _LABEL.match(text, at)
    if not found or found[1].lower() in VERBS | POLITE:
        return None
    if _URL.match(text, found.end()) and not _NAME_OF_URL.search(found[1]):
        return None  # "on all pages: https://…" is no pair.
    scheme = _SCHEME.match(text, found.end()) if found[1].lower() == "authorization" else None
    value, end = _value(text, scheme.end() if scheme else found.end())
    if scheme:
        value = f"{scheme[0]}{f'${value.name}' if isinstance(value, Variable) else value}"
    # Only a value by itself belongs to a label: "note: do this" is a sentence.
    alone = end > found.end() and _AFTER_VALUE.match(text, end)
    if not alone or str(value).lower() in VERBS:
        return None
    return TaskToken(TokenType.PAIR, text[at:end], value, key=found[1])


def _value(text: str, at: int) -> tuple[Any, int]:
    for reader in (_quoted, _json, _variable, _url):
        if token := reader(text, at):
            return token.value, at + len(token.text)
    run = _run(text, at)
    return plain_value(run), at + len(run)


def _run(text: str, at: int) -> str:
    found = _RUN.match(text, at)
    return found[0].rstrip(_MARKS) if found else ""


def plain_value(text: str) -> Any:
    """Return the number, boolean or null that a text spells, or the text."""
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    # With a plus or with leading zeros it is a phone number, a postcode: it stays as it is.
    if re.fullmatch(r"-?(?:0|[1-9]\d{0,17})", text):
        return int(text)
    return float(text) if re.fullmatch(r"-?(?:0|[1-9]\d{0,17})\.\d{1,17}", text) else text


def _number(text: str, at: int) -> TaskToken | None:
    found = _NUMBER.match(text, at)
    return TaskToken(TokenType.NUMBER, found[0], plain_value(found[0])) if found else None


def _relation(text: str, at: int) -> TaskToken | None:
    found = _RELATION.match(text, at)
    return TaskToken(TokenType.WORD, found[0], found[0]) if found else None


def _word(text: str, at: int) -> TaskToken | None:
    run = _run(text, at)
    if run == "A" and text[:at].rstrip()[-1:] not in ("", ".", "!", "?", ":", "\n"):
        return TaskToken(TokenType.QUOTED, run, run)  # "the A records", and no article.
    if run[:1] in _APOSTROPHES:
        return None  # A quote that closes nothing.
    if not run.endswith(("s'", "s\u2019")):
        run = run.rstrip("".join(_APOSTROPHES))
    type_ = TokenType.FILE if looks_like_file(run) else TokenType.WORD
    return TaskToken(type_, run, run) if run else None


_READERS = (_command, _url, _json, _quoted, _variable, _pair, _number, _relation, _word)


def looks_like_file(text: str) -> bool:
    """True if a text begins or ends like a path."""
    if "\n" in text or "\0" in text or "://" in text:
        return False
    if text in _NAMES_OF_FILES or (text.startswith(("/", "./", "../", "~/")) and len(text) > 1):
        return True
    stem, dot, extension = text.rpartition(".")
    return bool(dot) and extension.lower() in _EXTENSIONS and not stem.endswith((".", " "))


#: Nobody writes longer tasks by hand; more than this is not read.
LONGEST_TASK = 20_000


@dataclass(frozen=True, slots=True)
class Clause:
    """One thing to do: its verb, which may be missing, and what follows."""

    verb: str
    tokens: tuple[TaskToken, ...]
    is_question: bool = False

    def __str__(self) -> str:
        return " ".join(filter(None, (self.verb, *(token.text for token in self.tokens))))


@dataclass(frozen=True, slots=True)
class Task:
    """A task, its tokens and its clauses."""

    text: str
    tokens: tuple[TaskToken, ...]
    clauses: tuple[Clause, ...]

    def values(self, type_: TokenType) -> list[Any]:
        """Return the values of all tokens of a type, in order."""
        return [token.value for token in self.tokens if token.type is type_]

    @property
    def pairs(self) -> dict[str, Any]:
        """The values that are given by name."""
        return {token.key: token.value for token in self.tokens if token.type is TokenType.PAIR}

    def named(self) -> dict[str, Any]:
        """Return what the task names: a list for each type of token, and `values` by name."""
        types = ("url", "file", "command", "text", "number", "json")
        found: dict[str, Any] = {name: self.values(TokenType(name)) for name in types}
        found["variable"] = [value.name for value in self.values(TokenType.VARIABLE)]
        found["values"] = {
            key: f"${value.name}" if isinstance(value, Variable) else value
            for key, value in self.pairs.items()
        }
        return {name: value for name, value in found.items() if value}


def read_task(text: str) -> Task:
    """Read what a task names, and its clauses."""
    text = text[:LONGEST_TASK]
    tokens = tuple(_without_dashes(tuple(tokenise(text))))
    return Task(text, _without_lines(tokens), tuple(_clauses(tokens)))


_DASHES = frozenset({"-", "\u2013", "\u2014", "->", "=>", "\u2192", "+"})


def _without_dashes(tokens: tuple[TaskToken, ...]) -> Iterator[TaskToken]:
    """Yield the tokens with a comma for each dash between words; a bullet stays one."""
    for at, token in enumerate(tokens):
        before = tokens[at - 1] if at else None
        begins = before is None or before.text == "\n" or before.word in _DASHES
        after = tokens[at + 1] if at + 1 < len(tokens) else None
        is_sum = any(t is not None and t.type is TokenType.NUMBER for t in (before, after))
        is_sum = is_sum and not (after is not None and after.word)
        if token.text in _DASHES and not begins and not is_sum:
            yield replace(token, type=TokenType.MARK, text=",", value=",")
        else:
            yield token


# -- clauses ------------------------------------------------------------------------------------

_OPENINGS = (
    *(("can", "you"), ("could", "you"), ("would", "you"), ("i", "want", "to"), ("i", "need", "to")),
    *(("i", "would", "like", "to"), ("i'd", "like", "to"), ("help", "me"), ("let", "us")),
    *(("let's",), ("i", "want"), ("i", "need"), ("and",), ("know",), ("see",)),
)
_WHICH = frozenset({"first", "next"})
_JOINTS = frozenset({",", "and", "\n", ":", "("})
_BULLETS = frozenset({"-", "*", "\u2022"})
_SENTENCE_ENDS = frozenset({";", ".", "!", "?"})
_POINTERS = word_set("the its their his her it them all only just each every both this")
_POINTERS_AFTER = _POINTERS | word_set("as to into in me how what out rows lines words")
_TARGETS = frozenset(map(TokenType, ("url", "file", "command", "text", "json", "pair")))


def _clauses(tokens: tuple[TaskToken, ...]) -> Iterator[Clause]:
    begins = _after_bullet(tokens, 0)
    start = at = begins if _verb_begins(tokens, begins) else 0
    while at < len(tokens):
        skipped = _boundary(tokens, at)
        if at > start and _follows_target(tokens, at):
            yield from _clause(tokens[start:at])
            start, at = at, at + 1
        elif skipped:
            yield from _clause(tokens[start:at], is_question=tokens[at].word == "?")
            start = at = at + skipped
        else:
            at += 1
    yield from _clause(tokens[start:])


def _follows_target(tokens: tuple[TaskToken, ...], at: int) -> bool:
    """True if a verb follows a URL or a file: "from URL give the names"."""
    word = tokens[at].word
    is_verb = word in VERBS - ALSO_NOUNS or tuple(t.word for t in tokens[at : at + 2]) in PHRASAL
    return is_verb and tokens[at - 1].type in (TokenType.URL, TokenType.FILE)


def _without_lines(tokens: tuple[TaskToken, ...]) -> tuple[TaskToken, ...]:
    return tuple(token for token in tokens if token.text != "\n")


def _boundary(tokens: tuple[TaskToken, ...], at: int) -> int:
    """Return how many tokens separate two clauses here; 0 when none begins."""
    if tokens[at].word in _SENTENCE_ENDS:
        return 1
    joining = at
    if at and tokens[at - 1].word in _JOINTS:
        return 0  # At the first of them, no clause has begun.
    while joining < len(tokens) and tokens[joining].word in _JOINTS:
        joining += 1
    if joining > at and tokens[joining - 1].word == "\n":
        joining = _after_bullet(tokens, joining)
    if joining < len(tokens) and tokens[joining].word == "then":
        return joining + 1 - at
    return joining - at if joining > at and _verb_begins(tokens, joining) else 0


def _after_bullet(tokens: tuple[TaskToken, ...], at: int) -> int:
    """Return where a line begins after the bullet of a list: `- `, `2. `."""
    words = [token.word for token in tokens[at : at + 2]]
    if words[:1] and words[0] in _BULLETS:
        return at + 1
    numbered = tokens[at : at + 1] and tokens[at].type is TokenType.NUMBER
    return at + 2 if numbered and words[1:] and words[1] in {".", ")"} else at


def _verb_begins(tokens: tuple[TaskToken, ...], at: int) -> bool:
    while at < len(tokens) and tokens[at].word in POLITE:
        at += 1
    if tuple(token.word for token in tokens[at : at + 2]) in PHRASAL:
        return True
    if at >= len(tokens) or tokens[at].word not in VERBS:
        return False
    if at and tokens[at - 1].word == "(" and [t.word for t in tokens[at + 1 : at + 2]] == [")"]:
        return False  # "(DELETE)" says how, and is no clause.
    is_object = [t.type in _TARGETS or t.word in _POINTERS_AFTER for t in tokens[at + 1 : at + 2]]
    return tokens[at].word not in ALSO_NOUNS or any(is_object)


def _clause(tokens: tuple[TaskToken, ...], *, is_question: bool = False) -> Iterator[Clause]:
    rest = list(_without_lines(tokens))
    while rest and (opening := _opening([token.word for token in rest[:4]])):
        del rest[:opening]
    phrasal = PHRASAL.get((rest[0].word, rest[1].word)) if len(rest) > 1 else None
    if phrasal:
        yield Clause(phrasal, tuple(rest[2:]), is_question)
    elif rest:
        first = rest[0].word.removesuffix("'s")
        is_noun = first == "login" and rest[1:2] and rest[1].word in {",", "&", "and", "of", "from"}
        has_verb = first in VERBS and not is_noun
        yield Clause(first if has_verb else "", tuple(rest[has_verb:]), is_question)


def _opening(words: list[str]) -> int:
    if words[0] in {",", ":"}:
        return 1
    if words[0] in POLITE:
        # "first" says when, or it says which: "first 3 lines".
        return int(words[0] not in _WHICH or words[1:2] == [","] or set(words[1:2]) <= VERBS)
    matching = (len(opening) for opening in _OPENINGS if tuple(words[: len(opening)]) == opening)
    return max(matching, default=0)
