"""Redaction: what looks like a key, a token or a password is not kept."""

from __future__ import annotations

import re

REDACTED = "[redacted]"

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
    rf"""({_NAMES}["']?\s*(?::=|=>|[=:])\s*[rbfu]?)(["'`])(?!\2)((?:(?!\2).){{4,}})\2""",
    re.IGNORECASE,
)
#: `TOKEN=abc123…` without quotes, as in a shell or a log: only what cannot be a word of code.
_BARE = re.compile(
    rf"({_NAMES}\s*[=:]\s*)(?=[\w.~+/-]*\d)(?=[\w.~+/-]*[A-Za-z])[\w.~+/-]{{12,}}=*", re.IGNORECASE
)
#: Long rows of letters and digits in both cases, as keys are and words are not.
_RANDOM = re.compile(
    r"(?<![\w/+-])(?=[\w+/-]*\d)(?=[\w+/-]*[a-z])(?=[\w+/-]*[A-Z])(?:[A-Za-z0-9+/_-]){32,}={0,2}"
)


def redacted(text: str) -> str:
    """`text` with `[redacted]` for what looks like a secret."""
    text = _WHOLE.sub(REDACTED, text)
    text = _IN_URL.sub(REDACTED, text)
    text = _SCHEME.sub(rf"\1{REDACTED}", text)
    text = _QUOTED.sub(rf"\1\2{REDACTED}\2", text)
    text = _BARE.sub(rf"\1{REDACTED}", text)
    return _RANDOM.sub(REDACTED, text)
