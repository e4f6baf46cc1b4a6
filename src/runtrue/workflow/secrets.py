"""Secrets: revealing them in params, and redacting them everywhere else."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from runtrue.redaction import REDACTED, Redactor, secrets_in
from runtrue.secrets import secret_of
from runtrue.workflow.paths import opened
from runtrue.workflow.secret_spellings import spellings

#: Secrets shorter than this are not looked for inside of text: half of it would match.
SHORTEST = 4
#: The same for variables that nothing refers to, and that are secrets by their name alone.
_SHORTEST_AROUND = 8


@dataclass(frozen=True, slots=True)
class EnvironmentName:
    """The name of an environment variable whose value is a secret."""

    name: str


@dataclass(frozen=True, slots=True)
class SecretText:
    """Text with secrets that are not filled in yet. Only `reveal` turns it into real text."""

    parts: tuple[str | EnvironmentName, ...]


class MissingSecret(Exception):
    """An environment variable that a secret comes from is not set, nor does a store have it."""

    def __init__(self, name: str) -> None:
        super().__init__(f"the environment variable {name!r} is not set; set it and run again")
        self.name = name


def reveal(value: Any, environment: Mapping[str, str], revealed: set[str]) -> Any:
    """Give `value` with real text for each SecretText, adding the secrets to `revealed`.

    A variable that is not set is looked up in the user's stores of secrets. What holds no secret is
    shared with `value`, not copied. Raises MissingSecret, and StoreRefused.
    """

    def shown(leaf: Any) -> Any:
        if not isinstance(leaf, SecretText):
            return leaf
        return "".join(p if isinstance(p, str) else secret(p.name) for p in leaf.parts)

    def secret(name: str) -> str:
        text = secret_of(name, environment)
        if text is None:
            raise MissingSecret(name)
        revealed.add(text)
        return text

    return _changed(value, shown)


#: Up to this length a text is likely to come again, and of so many it is remembered what they give.
_SHORT, _MOST_KNOWN = 64, 10_000


class SecretRedactor:
    """Takes secret values out of JSON data, however they are encoded there.

    A secret is found as it is, percent-encoded, escaped as in JSON or in a Python `repr`, in any
    mix of these, in hexadecimal and in base64. One shorter than four characters is only found
    where it is a whole string.
    """

    def __init__(self, values: Iterable[str]) -> None:
        self._values: set[str] = set()
        self._pattern: re.Pattern[str] | None = None
        self._environment: Mapping[str, str] | None = None
        self._around: Redactor | None = None
        self.add(*values)

    def surround(self, environment: Mapping[str, str]) -> None:
        """Look as well for what is secret by its name in the environment of nodes.

        Commands inherit it, and print what nothing in the workflow refers to.
        """
        if environment is not self._environment:
            self._environment = environment
            found = secrets_in(environment)
            secret = {name: value for name, value in found.items() if not _is_path(value)}
            self._around = Redactor(secret, shortest=_SHORTEST_AROUND)

    def add(self, *values: str) -> None:
        """Look for these as well."""
        # Programs drop blanks at the ends of a value, and print what is left.
        new = {v for value in values for v in (value, value.strip()) if v.strip()} - self._values
        if not new:
            return
        self._values |= new
        longest_first = sorted(self._values, key=lambda value: (-len(value), value))
        patterns = [p for v in longest_first if len(v) >= SHORTEST for p in spellings(v)]
        self._pattern = re.compile("|".join(dict.fromkeys(patterns))) if patterns else None

    def redact(self, value: Any) -> Any:
        """Give `value` with `[redacted]` for every secret, in keys as well.

        It is the very same object when there is none in it. What is nested too deeply to look
        through is replaced as a whole.
        """
        if not self._values and self._around is None:
            return value
        known: dict[str, Any] = {}

        def redacted(leaf: Any) -> Any:
            # The keys of rows, and many of their values, come again and again.
            if type(leaf) is not str or len(leaf) > _SHORT:
                return self._redacted(leaf)
            found = known.get(leaf)
            if found is None:
                found = self._redacted(leaf)
                if len(known) < _MOST_KNOWN:
                    known[leaf] = found
            # The very same object, not an equal one, says that nothing was changed.
            return leaf if found == leaf else found

        try:
            return _changed(value, redacted, keys=True)
        except RecursionError:
            return REDACTED

    def _redacted(self, leaf: Any) -> Any:
        if isinstance(leaf, int | float):
            text = str(leaf)
            return REDACTED if len(text) >= SHORTEST and text in self._values else leaf
        if not isinstance(leaf, str):
            return leaf
        if leaf.strip() in self._values:
            return REDACTED
        text = leaf
        if self._pattern is not None:
            text = self._pattern.sub(REDACTED, text)
        if self._around is not None:
            text = self._around.values(text)
        return leaf if text == leaf else text


def _is_path(value: str) -> bool:
    """True if a value only says where a secret is stored."""
    try:
        path = Path(value).expanduser()
        return path.is_absolute() and path.exists()
    except (OSError, ValueError, RuntimeError):
        return False


def _changed(value: Any, change: Callable[[Any], Any], *, keys: bool = False) -> Any:
    """Apply `change` to all leaves (and keys); what stays as it is, is shared."""
    if isinstance(value, dict):
        changed: dict[Any, Any] = {}
        same = True
        for key, inner in value.items():
            new_key = change(key) if keys else key
            new = _changed(inner, change, keys=keys)
            same = same and new is inner and new_key is key
            changed[new_key] = new
        return value if same else changed
    if isinstance(value, list | tuple):
        items = []
        same = True
        for inner in value:
            new = _changed(inner, change, keys=keys)
            same = same and new is inner
            items.append(new)
        if same:
            return value
        return items if isinstance(value, list) else tuple(items)
    return change(value)


# -- samples ------------------------------------------------------------------------------------

#: How the names of secrets end, without what separates their words.
_SECRET_NAMES = (
    *("password", "passwd", "passphrase", "pwd", "secret", "secrets", "credential", "credentials"),
    *("authorization", "bearer", "jwt", "cookie", "cookies", "sessionid", "connectionstring"),
    *("apikey", "accesskey", "secretkey", "privatekey", "signingkey", "encryptionkey", "authkey"),
    *("accountkey", "masterkey", "sshkey", "apikeys", "privatekeys"),
)
_TOKEN_NAMES = ("token", "tokens")
#: Words before `token` that make it a cursor, or a mark in text: nothing to hide.
_HARMLESS_TOKENS = {
    *("next", "prev", "previous", "page", "pagination", "continuation", "cursor", "resume", "sync"),
    *("bos", "eos", "pad", "sep", "start", "stop", "end"),
}
#: Words after the name of a secret that still leave it one.
_TRAILERS = {
    *("value", "text", "data", "raw", "plain", "plaintext", "encoded", "base", "hash", "header"),
    *("new", "old", "current", "confirm", "confirmation"),
}
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


def redact_by_name(value: Any) -> Any:
    """Return `value` with `[redacted]` for the values of names such as `password` or `token`.

    The shape stays: within an object or list of such a name, every string is replaced, and every
    number unless it is named a token (`tokens: 512` is a count). Names are compared by their
    ending: `client_secret` and `X-API-Key` name secrets, `token_count`, `password_changed_at`
    and `next_page_token` do not. Pairs such as `{"name": "API_KEY", "value": …}` count as names.
    """
    return _redacted(value, ())


def _redacted(value: Any, hidden: tuple[type, ...]) -> Any:
    if isinstance(value, dict):
        pair = str(value.get("name", value.get("key", "")))
        return {
            key: _redacted(inner, hidden or _hidden_by(pair if key == "value" else str(key)))
            for key, inner in value.items()
        }
    if isinstance(value, list | tuple):
        return [_redacted(inner, hidden) for inner in value]
    return REDACTED if isinstance(value, hidden) and not isinstance(value, bool) else value


def is_secret_name(name: str) -> bool:
    """True if a name says that its value is a secret."""
    return bool(_hidden_by(name))


def _hidden_by(name: str) -> tuple[type, ...]:
    """Return the types of values that this name makes secret."""
    words = [word.lower() for word in _WORD.findall(name)]
    while len(words) > 1 and (words[-1] in _TRAILERS or words[-1].isdigit()):
        words.pop()
    joined = "".join(words)
    if joined.endswith(_SECRET_NAMES) or words[-1:] == ["auth"]:
        return (str, int, float)
    if joined.endswith(_TOKEN_NAMES) and not _HARMLESS_TOKENS & set(words):
        return (str,)
    return ()


def sample_of(value: Any, *, depth: int = 3, items: int = 3, keys: int = 20, text: int = 80) -> Any:
    """Return a small picture of JSON data: its structure, little of its content, no secrets.

    Text that holds JSON is shown opened, as paths enter it.
    """

    def shown(value: Any, level: int) -> Any:
        if isinstance(value, str):
            value = opened(value)
        if isinstance(value, dict):
            if level == depth and value:
                return f"{{… {_counted(len(value), 'key')}}}"
            few = islice(value.items(), keys)
            sample = {cut(str(key), _LONGEST_KEY): shown(inner, level + 1) for key, inner in few}
            if len(value) > keys:
                sample["…"] = _counted(len(value) - keys, "more key")
            return sample
        if isinstance(value, list | tuple):
            if level == depth and value:
                return f"[… {_counted(len(value), 'entry')}]"
            entries = [shown(inner, level + 1) for inner in value[:items]]
            return entries + ([f"… {len(value) - items} more"] if len(value) > items else [])
        if isinstance(value, str):
            return cut(value, text)
        plain = value is None or isinstance(value, bool | int | float)
        return value if plain else f"({type(value).__name__})"

    def cut(full: str, length: int) -> str:
        return full if len(full) <= length else f"{full[:length]}… ({len(full):,} characters)"

    return redact_by_name(shown(value, 0))


#: Names are what a sample is for: they are not cut with the text.
_LONGEST_KEY = 80
#: Ever smaller samples: depth, items, keys, text.
_SIZES = [(3, 3, 20, 80), (3, 2, 20, 40), (3, 1, 12, 40), (2, 1, 12, 30), (1, 1, 20, 20)]


def sample_text(value: Any, limit: int = 2000) -> str:
    """Return the JSON text of the largest sample that fits."""
    for depth, items, keys, text in _SIZES:
        sample = sample_of(value, depth=depth, items=items, keys=keys, text=text)
        shown = json.dumps(sample, ensure_ascii=False)
        if len(shown) <= limit:
            return shown
    return f"{shown[: limit - 1]}…"


def _counted(count: int, noun: str) -> str:
    plural = noun[:-1] + "ies" if noun.endswith("ry") else noun + "s"
    return f"{count} {noun if count == 1 else plural}"
