"""Redaction: remove from texts what must not be stored, shown or sent.

That is: the values of variables that are known to be secret, those that were read from a store of
secrets, and everything that looks like a key, a token or a password.
"""

from __future__ import annotations

import base64
import html
import json
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from urllib.parse import quote, quote_plus, unquote

#: The beginning of every mark that stands for something redacted.
MARK = "[redacted"
REDACTED = f"{MARK}]"

#: Shorter values are words that every text is full of: `1`, `true`, `8080`.
_SHORTEST = 6
#: Of a value with several lines, each line of this length is redacted by itself, too.
_LONG_LINE = 20
#: Base64 of a value within something longer is looked for from this many signs on.
_SHORTEST_CORE = 8
#: Where the middle of a long text was taken out, perhaps in the middle of a value.
_CUT = re.compile(r"\n?\[… [0-9,]+ (?:characters|bytes) left out …\]\n?")
_MOST_CUT = 400
_SECRET_NAME = re.compile(
    r"(?:KEYS?|TOKENS?|SECRETS?|PASS(?:WORD|WD|PHRASE)|CREDENTIALS?|COOKIE|JWT|WEBHOOK(?:_URL)?"
    r"|(?<=_)(?:PASS|PWD|PW|PAT|AUTH|DSN)|CONNECTION_?STRING|AUTH_CONFIG)"
    # With such an ending it is still a secret: `API_KEY_2`, `TOKEN_BASE64`.
    r"(?:_?[0-9]+|_(?:BASE64|B64|RAW|OLD|NEW|PROD|DEV|TEST|STAGING))*$",
    re.IGNORECASE,
)
_URL_PASSWORD = re.compile(r"[a-z][a-z0-9+.-]*://[^\s/:@]*:(?P<password>[^\s/@]+)@", re.IGNORECASE)
#: Commands of a terminal, and characters that make a text look like another one.
_CONTROL = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b.?"
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]"
)

#: Files that are likely to hold a secret, by their name or by where they are.
_SECRET_FILE = re.compile(
    r"\.env(?!\.(?:example|sample|template|dist)$).*|\.envrc"
    r"|.*\.(?:pem|key|p12|pfx|jks|keystore|kdbx|ppk|tfstate|tfvars)|id_(?:rsa|dsa|ecdsa|ed25519).*"
    r"|[._]netrc|\.(?:npmrc|yarnrc|yarnrc\.yml|pypirc|pgpass|my\.cnf|htpasswd|dockercfg)"
    r"|\.?git-credentials|\.vault-token|service[-_]?account.*\.json|secrets?\.(?:json|ya?ml|toml|ini)",
    re.IGNORECASE,
)
#: `credentials.py` is code, and redacted as all text is.
_CREDENTIALS = re.compile(
    r"\.?credentials(?!.*\.(?:pyi?|pyw|[mc]?[jt]s|[jt]sx|go|rs|java|rb|php|cs|kt)$).*",
    re.IGNORECASE,
)
_SECRET_DIRECTORIES = frozenset({".ssh", ".aws", ".gnupg", ".kube", ".docker", ".azure", ".gcloud"})

#: Names whose value is a secret, at the end of a longer name or alone.
_NAMES = (
    r"(?:pass(?:word|wd|phrase)|pwd|secret|token|credentials?|authorization|cookie|jwt"
    r"|(?:api|access|secret|private|signing|encryption|auth|account|master|ssh)[-_]?key)"
)
#: One of these is in each of the names; to look for them first is many times as fast.
_PARTS = ("pass", "pwd", "secret", "token", "credential", "authorization", "cookie", "jwt", "key")
#: Forms that are secret by themselves: keys of known services, private keys, web tokens.
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
#: Characters whose next one is of another class: at random six in ten, in words three.
_TURNS = re.compile(r"(?=[a-z][A-Z0-9]|[A-Z][a-z0-9]|[0-9][A-Za-z])")
_AT_RANDOM = 0.4


#: Values that this process has read from stores of secrets, with their names.
_REMEMBERED: dict[str, str] = {}


def remember(name: str, value: str) -> None:
    """Have every redactor of this process, also existing ones, redact a value from now on."""
    _REMEMBERED[value] = name


class Redactor:
    """Redacts the values of some variables, and what looks like a secret.

    There may be several environments: a variable can have another value for each command. Values
    are found as they are, escaped, percent-encoded, in hexadecimal and in base64, also in the
    middle of what was encoded.
    """

    def __init__(self, *environments: Mapping[str, str], shortest: int = _SHORTEST) -> None:
        self._shortest = shortest
        self._names: dict[str, str] = {}
        self._spelled: list[str] = []
        self._seen = 0
        self._learn((name, value) for one in environments for name, value in one.items())

    def __call__(self, text: str) -> str:
        """Return the text without either."""
        text = _WHOLE.sub(REDACTED, self.values(text))
        text = _IN_URL.sub(REDACTED, text)
        text = _SCHEME.sub(rf"\1{REDACTED}", text)
        lower = text.lower()
        if any(part in lower for part in _PARTS):
            text = _QUOTED.sub(rf"\1\2{REDACTED}\2", text)
            text = _BARE.sub(rf"\1{REDACTED}", text)
        return _ROW.sub(lambda match: REDACTED if _is_random(match[0]) else match[0], text)

    def values(self, text: str) -> str:
        """Return the text without the values alone: for names, by which things are found again."""
        if len(_REMEMBERED) > self._seen:
            known = list(_REMEMBERED.items())
            self._learn((name, value) for value, name in known[self._seen :])
            self._seen = len(known)
        # Hundreds of spellings in one pattern would be tried at every character of a long text.
        there = [spelling for spelling in self._spelled if spelling in text]
        if there:
            pattern = re.compile("|".join(map(re.escape, there)))
            text = pattern.sub(lambda match: self._mark(match[0]), text)
        for cut in reversed(list(_CUT.finditer(text))):
            head, tail = text[: cut.start()], text[cut.end() :]
            text = f"{self._without_end(head)}{cut[0]}{self._without_begin(tail)}"
        return text

    def secrets(self, text: str) -> tuple[str, ...]:
        """Return the names of the secrets whose values are in a text.

        Not all that is redacted: settings that are let through to commands are words of code.
        """
        self.values("")  # what was remembered meanwhile is known from now on
        names = {self._names[spelling] for spelling in self._spelled if spelling in text}
        remembered = set(_REMEMBERED.values())
        return tuple(sorted(n for n in names if n in remembered or _SECRET_NAME.search(n)))

    def _mark(self, spelling: str) -> str:
        return f"{MARK}: {self._names[spelling]}]"

    def _without_end(self, head: str) -> str:
        """Redact the first half of a value before a cut."""
        end = head[-_MOST_CUT:]
        for spelling in self._spelled:
            for size in range(min(len(spelling) - 1, len(end)), self._shortest - 1, -1):
                if end.endswith(spelling[:size]):
                    return f"{head[:-size]}{self._mark(spelling)}"
        return head

    def _without_begin(self, tail: str) -> str:
        """Redact the second half of a value after a cut."""
        for spelling in self._spelled:
            for size in range(min(len(spelling) - 1, _MOST_CUT), self._shortest - 1, -1):
                if tail.startswith(spelling[-size:]):
                    return f"{self._mark(spelling)}{tail[size:]}"
        return tail

    def _learn(self, values: Iterator[tuple[str, str]]) -> None:
        for name, value in values:
            for spelling in _spellings(value.strip(), self._shortest):
                self._names.setdefault(spelling, name)
        # A value that contains another one goes first.
        self._spelled = sorted(self._names, key=len, reverse=True)


def secrets_in(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that are secret by their names; of a URL, its password."""
    found = {}
    for name, value in environment.items():
        if _SECRET_NAME.search(name):
            found[name] = value
        elif match := _URL_PASSWORD.match(value):
            found[name] = match["password"]
    return found


def is_secret_file(path: str) -> bool:
    """Return whether a file is likely to contain a secret: `.env`, `id_rsa`, `server.pem`."""
    *parents, name = PurePosixPath(path.casefold()).parts or ("",)
    if not _SECRET_DIRECTORIES.isdisjoint(parents):
        return True
    return bool(_SECRET_FILE.fullmatch(name) or _CREDENTIALS.fullmatch(name))


def plain(text: str) -> str:
    """Return a text without control characters."""
    return _CONTROL.sub("", text).encode("utf-8", "replace").decode()


def _spellings(value: str, shortest: int) -> Iterator[str]:
    """Yield a value as it is, as people read it, and as programs encode it."""
    for text in {value, plain(value)}:
        if len(text) < shortest:
            continue
        yield text
        yield from (line for line in text.splitlines() if len(line) >= _LONG_LINE)
        yield from _escaped(text)
        yield from _encoded(text.encode(errors="surrogatepass"))


def _escaped(text: str) -> Iterator[str]:
    """Yield a text as it is written in JSON, in Python, in a URL, in HTML and in a shell."""
    for ascii_only in (True, False):
        once = json.dumps(text, ensure_ascii=ascii_only)[1:-1]
        yield once
        yield json.dumps(once, ensure_ascii=ascii_only)[1:-1]
    yield repr(text)[1:-1]
    # A password out of a URL is used without its escapes.
    yield unquote(text) or text
    for safe in ("", "/"):
        once = quote(text, safe=safe, errors="surrogatepass")
        yield from (once, _ESCAPE.sub(lambda match: match[0].lower(), once), quote(once, safe=safe))
    yield quote_plus(text, errors="surrogatepass")
    yield from (html.escape(text), html.escape(text, quote=False))
    yield shlex.quote(text).strip("'")


_ESCAPE = re.compile("%[0-9A-F]{2}")


def _encoded(data: bytes) -> Iterator[str]:
    yield from (data.hex(), data.hex().upper())
    for signs in (b"+/", b"-_"):
        # In the middle of what was encoded, as in `user:password`, the signs that depend on
        # nothing but the value are the same whatever is around it.
        for before in range(3):
            encoded = base64.b64encode(bytes(before) + data, signs).decode()
            begin, end = -(-before * 8 // 6), (before + len(data)) * 8 // 6
            if end - begin >= _SHORTEST_CORE:
                yield encoded[begin:end]


def _is_random(row: str) -> bool:
    return len(_TURNS.findall(row)) >= _AT_RANDOM * len(row)
