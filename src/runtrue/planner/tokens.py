"""Tokens: a task as the pieces that it is written in: URLs, files, commands, pairs, words."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from urllib.parse import urlsplit

from runtrue.planner.verbs import POLITE, VERBS, listed


class Kind(StrEnum):
    """What a token is."""

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
class Token:
    """A piece of a task. `value` is what it stands for, `key` the name of a pair."""

    kind: Kind
    text: str
    value: Any = None
    key: str = ""

    @property
    def word(self) -> str:
        """What a word or a mark is in lower case; empty for everything else."""
        if self.kind not in (Kind.WORD, Kind.MARK):
            return ""
        return self.text.lower().replace("\u2019", "'")

    @property
    def is_file(self) -> bool:
        """Whether it can be the name of a file: quoted text can, when it looks like one."""
        return self.kind is Kind.FILE or (self.kind is Kind.QUOTED and looks_like_file(self.value))


@dataclass(frozen=True, slots=True)
class Variable:
    """An environment variable, as a value."""

    name: str


_EXTENSIONS = listed(
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
_AFTER_VALUE = re.compile(r"\s*(?:$|[,;.)]|(?:and|to|at|with)\b)")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?![\w:/-]|\.\d)")
_RUN = re.compile(r"[^\s,;()!?\"`“”«»]+")
_RELATION = re.compile(r"(?:[!<>=]=|[<>=])(?=\s)")
#: What a directory can follow: "in .", where a dot would else end a sentence.
_BEFORE_DIRECTORY = listed("of in at from to into on under repo repository directory folder path")
_DIRECTORY = re.compile(r"(?<!\S)\.{1,2}(?=[\s,;!?]|\Z)")
_SCHEME = re.compile(r"(?:bearer|basic|token|digest)[ \t]+(?=[^\s])", re.IGNORECASE)
_CONSTANTS = {"true": True, "false": False, "null": None}
_MARKS = ".:"
_APOSTROPHES = ("'", "\u2018", "\u2019")


def tokenise(text: str) -> Iterator[Token]:
    """Read a text from its beginning to its end; every character belongs to some token.

    Blanks part tokens, and are none, but for the end of a line.
    """
    at, before = 0, ""
    while at < len(text):
        if text[at].isspace():
            if text[at] == "\n":
                yield Token(Kind.MARK, "\n")
            at += 1
            continue
        token, at = _next(text, at, before)
        before = token.word
        yield token


def _next(text: str, at: int, before: str) -> tuple[Token, int]:
    if before in _BEFORE_DIRECTORY and (found := _DIRECTORY.match(text, at)):
        return Token(Kind.FILE, found[0], found[0]), found.end()
    for reader in _READERS:
        if read := reader(text, at):
            return read
    return Token(Kind.MARK, text[at]), at + 1


Read = tuple[Token, int] | None


def _command(text: str, at: int) -> Read:
    for fence in _FENCES:
        if (found := fence.match(text, at)) and found[1].strip():
            kind = Kind.URL if _is_url(found[1]) else Kind.COMMAND
            return Token(kind, found[0], found[1]), found.end()
    # Nothing is in it, and what follows is not either.
    return (Token(Kind.MARK, "``"), at + 2) if text.startswith("``", at) else None


def _url(text: str, at: int) -> Read:
    found = _URL.match(text, at + 1 if text[at] == "<" else at)
    if not found:
        return None
    url = found[0]
    while url and (url[-1] in ".,;:!?…*" or _unbalanced(url)):
        url = url[:-1]
    if not _is_url(url):
        return None
    end = found.start() + len(url)
    if found.start() > at and text[end : end + 1] == ">":
        end += 1
    return Token(Kind.URL, text[at:end], url), end


def _is_url(text: str) -> bool:
    try:
        return _URL.fullmatch(text) is not None and bool(urlsplit(text).hostname)
    except ValueError:
        return False


def _unbalanced(url: str) -> bool:
    opening = {")": "(", "]": "[", "}": "{"}.get(url[-1])
    return opening is not None and url.count(url[-1]) > url.count(opening)


def _json(text: str, at: int) -> Read:
    if text[at] not in "{[":
        return None
    try:
        value, end = json.JSONDecoder().raw_decode(text, at)
    except (ValueError, RecursionError):
        return None
    return Token(Kind.JSON, text[at:end], value), end


def _quoted(text: str, at: int) -> Read:
    closing = _QUOTES.get(text[at])
    end = text.find(closing, at + 1) if closing else -1
    # An apostrophe within a word closes nothing.
    while closing in _APOSTROPHES and end > 0 and text[end + 1 : end + 2].isalnum():
        end = text.find(closing, end + 1)
    if end <= at + 1:
        return None
    inner = text[at + 1 : end]
    kind = Kind.URL if _is_url(inner) else Kind.QUOTED
    return Token(kind, text[at : end + 1], inner), end + 1


def _variable(text: str, at: int) -> Read:
    found = _VARIABLE.match(text, at)
    if not found:
        return None
    return Token(Kind.VARIABLE, found[0], Variable(found[1] or found[2])), found.end()


def _pair(text: str, at: int) -> Read:
    if found := _KEY.match(text, at):
        value, end = _value(text, found.end())
        return Token(Kind.PAIR, text[at:end], value, key=found[1]), end
    found = _LABEL.match(text, at)
    if not found or found[1].lower() in VERBS | POLITE:
        return None
    scheme = _SCHEME.match(text, found.end()) if found[1].lower() == "authorization" else None
    value, end = _value(text, scheme.end() if scheme else found.end())
    value = f"{scheme[0]}{value}" if scheme else value
    # Only a value that stands alone belongs to a label: "note: do this" is a sentence.
    alone = end > found.end() and _AFTER_VALUE.match(text, end)
    if not alone or str(value).lower() in VERBS:
        return None
    return Token(Kind.PAIR, text[at:end], value, key=found[1]), end


def _value(text: str, at: int) -> tuple[Any, int]:
    for reader in (_quoted, _json, _variable, _url):
        if found := reader(text, at):
            return found[0].value, found[1]
    found_run = _RUN.match(text, at)
    run = found_run[0].rstrip(_MARKS) if found_run else ""
    return plain_value(run), at + len(run)


def plain_value(text: str) -> Any:
    """The number, boolean or null that a text spells, or the text."""
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    # With a plus or with leading zeros it is a phone number, a postcode: something to be kept.
    if re.fullmatch(r"-?(?:0|[1-9]\d{0,17})", text):
        return int(text)
    return float(text) if re.fullmatch(r"-?(?:0|[1-9]\d{0,17})\.\d{1,17}", text) else text


def _number(text: str, at: int) -> Read:
    found = _NUMBER.match(text, at)
    return (Token(Kind.NUMBER, found[0], plain_value(found[0])), found.end()) if found else None


def _relation(text: str, at: int) -> Read:
    found = _RELATION.match(text, at)
    return (Token(Kind.WORD, found[0], found[0]), found.end()) if found else None


def _word(text: str, at: int) -> Read:
    found = _RUN.match(text, at)
    run = found[0].rstrip(_MARKS) if found else ""
    if run[:1] in _APOSTROPHES:
        return None  # A quote that closes nothing.
    if not run.endswith(("s'", "s\u2019")):
        run = run.rstrip("".join(_APOSTROPHES))
    kind = Kind.FILE if looks_like_file(run) else Kind.WORD
    return (Token(kind, run, run), at + len(run)) if run else None


_READERS: tuple[Callable[[str, int], Read], ...] = (
    *(_command, _url, _json, _quoted, _variable, _pair, _number, _relation, _word),
)


def looks_like_file(text: str) -> bool:
    """Whether a text has the look of a path: where it begins, or how it ends."""
    if "\n" in text or "\0" in text or "://" in text:
        return False
    if text in _NAMES_OF_FILES or (text.startswith(("/", "./", "../", "~/")) and len(text) > 1):
        return True
    stem, dot, extension = text.rpartition(".")
    return bool(dot) and extension.lower() in _EXTENSIONS and not stem.endswith((".", " "))
