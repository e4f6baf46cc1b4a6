"""Redaction: what must not be kept, shown or sent, taken out of texts.

There is one way for all: the values of variables that are known to be somebody's own, and whatever
looks like a key, a token or a password.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

#: What every mark begins with that stands for something hidden.
MARK = "[redacted"
REDACTED = f"{MARK}]"

#: Shorter values are words that every text is full of: `1`, `true`, `8080`.
_SHORTEST = 6
#: Of a value with several lines, each that is as long as this is hidden by itself, too.
_LONG_LINE = 20
_SECRET_NAME = re.compile(r"(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$", re.IGNORECASE)
#: What a terminal takes as commands, and signs that make a text look like another one.
_CONTROL = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b.?"
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]"
)

#: Names whose value is a secret, at the end of a longer name or alone.
_NAMES = (
    r"(?:pass(?:word|wd|phrase)|pwd|secret|token|credentials?|authorization|cookie|jwt"
    r"|(?:api|access|secret|private|signing|encryption|auth|account|master|ssh)[-_]?key)"
)
#: Forms that stand for themselves: the keys of known services, private keys, passwords in URLs.
_FORMS = (
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
    r"|\b(?:gh[pousr]_|github_pat_|glpat-|xox[abposr]-|sk-|sk_live_|rk_live_|pypi-|npm_|hf_|AIza)"
    r"[\w-]{12,}"
    r"|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"
    r"|\beyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?"
)
_WHOLE = re.compile(_FORMS, re.DOTALL)
_IN_URL = re.compile(r"(?<=://)[^\s/:@'\"]*:[^\s/@'\"]+(?=@)")
_SCHEME = re.compile(r"\b((?:Bearer|Basic)\s+)[\w.~+/=-]{8,}", re.IGNORECASE)
#: `password = "…"`, `"api_key": "…"`, `TOKEN='…'`: a literal of some length, not a call or a name.
_QUOTED = re.compile(
    rf"""({_NAMES}["']?\s*(?::=|=>|[=:])\s*[rbfu]?)"""
    rf"""(["'`])(?!\2|{re.escape(MARK)})((?:(?!\2).){{4,}})\2""",
    re.IGNORECASE,
)
#: `TOKEN=abc123…` without quotes, as in a shell or a log: only what cannot be a word of code.
_BARE = re.compile(
    rf"({_NAMES}\s*[=:]\s*)(?=[\w.~+/-]*\d)(?=[\w.~+/-]*[A-Za-z])[\w.~+/-]{{12,}}=*", re.IGNORECASE
)
#: Long rows of letters and digits in both cases: keys, and some long names and paths.
_ROW = re.compile(
    r"(?<![\w/+-])(?=[\w+/-]*\d)(?=[\w+/-]*[a-z])(?=[\w+/-]*[A-Z])(?:[A-Za-z0-9+/_-]){32,}={0,2}"
)
#: How often, for a letter, the next one is of another kind: at random six times in ten, in words
#: three times.
_TURNS = re.compile(r"(?=[a-z][A-Z0-9]|[A-Z][a-z0-9]|[0-9][A-Za-z])")
_AT_RANDOM = 0.4


class Redactor:
    """Takes out the values of some variables, and what looks like a secret.

    There may be several environments: a variable can have another value for each command.
    """

    def __init__(self, *environments: Mapping[str, str]) -> None:
        self._names = {
            spelling: name
            for environment in environments
            for name, value in environment.items()
            for spelling in _spellings(value.strip())
        }
        # A value that holds another one goes first.
        spelled = sorted(self._names, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, spelled))) if spelled else None

    def __call__(self, text: str) -> str:
        """The text without either."""
        text = _WHOLE.sub(REDACTED, self.values(text))
        text = _IN_URL.sub(REDACTED, text)
        text = _SCHEME.sub(rf"\1{REDACTED}", text)
        text = _QUOTED.sub(rf"\1\2{REDACTED}\2", text)
        text = _BARE.sub(rf"\1{REDACTED}", text)
        return _ROW.sub(lambda match: REDACTED if _is_random(match[0]) else match[0], text)

    def values(self, text: str) -> str:
        """The text without the values alone: for names, by which things are found again."""
        if self._pattern is None:
            return text
        return self._pattern.sub(lambda match: f"{MARK}: {self._names[match[0]]}]", text)


def secrets_in(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables whose names say that they are secret."""
    return {name: value for name, value in environment.items() if _SECRET_NAME.search(name)}


def plain(text: str) -> str:
    """A text of nothing but what can be read."""
    return _CONTROL.sub("", text).encode("utf-8", "replace").decode()


def _spellings(value: str) -> Iterator[str]:
    """A value as it is, as it can be read, and as it stands in JSON and in what Python prints."""
    for text in {value, plain(value)}:
        if len(text) < _SHORTEST:
            continue
        yield text
        yield from (line for line in text.splitlines() if len(line) >= _LONG_LINE)
        yield json.dumps(text)[1:-1]
        yield json.dumps(text, ensure_ascii=False)[1:-1]
        yield repr(text)[1:-1]


def _is_random(row: str) -> bool:
    return len(_TURNS.findall(row)) >= _AT_RANDOM * len(row)
