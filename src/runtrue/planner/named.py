"""Named: what a task itself names, and by that agrees to. Pure, apart from where paths lead.

A word is not enough: "get the latest post" posts nothing, and "count the words in notes.txt"
writes nothing. Where it is not clear what a task means, it names nothing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from runtrue.planner.task import Clause, Task, TaskToken, TokenType, looks_like_file, read_task
from runtrue.planner.words import ASK, RUN, SAVE, word_set

#: The methods that a verb asks for.
_METHODS: dict[str, frozenset[str]] = {
    **dict.fromkeys(
        word_set("post create send submit add register insert publish upload login"),
        frozenset({"POST"}),
    ),
    "put": frozenset({"PUT"}),
    "replace": frozenset({"PUT"}),
    "patch": frozenset({"PATCH"}),
    **dict.fromkeys(("update", "change", "modify", "edit", "set"), frozenset({"PUT", "PATCH"})),
    **dict.fromkeys(("delete", "remove", "erase"), frozenset({"DELETE"})),
}
_SPELLED = frozenset({"POST", "PUT", "PATCH", "DELETE"})
#: Verbs whose object is what is sent: where it goes follows a preposition.
_GIVING = word_set("send submit add register insert publish upload")
_TOWARDS = word_set("to into onto at on via with using against")
_DESTINATION = word_set("to into onto as")
_WRITING = SAVE | word_set(
    "put create copy update edit change modify replace generate make download"
)
_NEGATIONS = word_set("not no never without don't dont doesn't cannot can't won't avoid")
_POINTING = word_set("it them that this those these")
_OUTPUT = word_set("output outputs result results stdout")
_DEFAULT_PORTS = {"http": 80, "https": 443}
_HOST = re.compile(r"(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,}(?::\d+)?", re.IGNORECASE)
_URL = re.compile(r"https?://[^\s<>\"'`]+", re.IGNORECASE)
_PLACEHOLDER = re.compile(r"\{[^{}]*\}|:\w+|<\w+>")
_END_OF_COMMAND = r"(?=\s*(?:$|[.,;!?](?:\s|$)|\b(?:and|then)\b))"


@dataclass(frozen=True)
class NamedByTask:
    """What one task names. `locate` returns the path that a word would be."""

    text: str
    locate: Callable[[str], Path]

    @cached_property
    def _task(self) -> Task:
        return read_task(self.text)

    @cached_property
    def _clauses(self) -> tuple[Clause, ...]:
        """The clauses that say to do something."""
        clauses = self._task.clauses
        return tuple(one for one in clauses if not _NEGATIONS & {t.word for t in one.tokens})

    # -- requests -----------------------------------------------------------------------------

    def host(self, origin: str) -> bool:
        """True if the task names the host of an origin, with its port."""
        wanted = urlsplit(origin)
        return any(_is_same_host(one, wanted) for one in self._origins)

    def request(self, method: str, url: str) -> bool:
        """True if the task says to send this method to this URL, or to what is below it."""
        wanted = urlsplit(url)
        values = (value for _, value in parse_qsl(wanted.query, keep_blank_values=True))
        return any(
            method in methods and _is_within(urlsplit(named), wanted)
            for methods, named in self._requests
        ) and all(map(self.value, values))

    @cached_property
    def _origins(self) -> tuple[SplitResult, ...]:
        texts = [found.rstrip(".,;:!?…*)]}'\"") for found in _URL.findall(self.text)]
        words = (word.strip(".,;:!?()'\"`") for word in self.text.split())
        texts += [f"//{w}" for w in words if _HOST.fullmatch(w) and not looks_like_file(w)]
        return tuple(filter(None, map(_split, texts)))

    @cached_property
    def _requests(self) -> tuple[tuple[frozenset[str], str], ...]:
        return tuple(self._find_requests())

    def _find_requests(self) -> Iterator[tuple[frozenset[str], str]]:
        seen: list[str] = []
        for clause in self._clauses:
            urls = [(at, t) for at, t in enumerate(clause.tokens) if t.type is TokenType.URL]
            seen += [str(token.value) for _, token in urls]
            verb = _verb(clause)
            spelled = frozenset(token.text for token in clause.tokens) & _SPELLED
            methods = spelled or _METHODS.get(verb, frozenset())
            if not methods:
                continue
            towards = [t for at, t in urls if at and clause.tokens[at - 1].word in _TOWARDS]
            meant = towards or ([] if verb in _GIVING else [token for _, token in urls])
            yield from ((methods, str(token.value)) for token in meant)
            if not urls and _POINTING & {token.word for token in clause.tokens[:2]}:
                yield from ((methods, url) for url in seen)

    # -- files --------------------------------------------------------------------------------

    def written_file(self, path: Path) -> bool:
        """True if the task says to write this file, or files into its directory."""
        return any(self._is_file(token, path) for token in self._written)

    def _is_file(self, token: TaskToken, path: Path) -> bool:
        text = str(token.value)
        try:
            named = Path(os.path.realpath(self.locate(text)))
        except (RuntimeError, ValueError):
            return False
        # A directory is meant where it is spelled as one, and never one that holds all there is.
        here = Path(os.path.realpath(self.locate(".")))
        is_directory = "/" in text and not here.is_relative_to(named)
        return named == path or (is_directory and named in path.parents)

    @cached_property
    def _written(self) -> tuple[TaskToken, ...]:
        return tuple(token for clause in self._clauses for token in _written(clause))

    # -- the rest -----------------------------------------------------------------------------

    def command(self, text: str, given: Iterable[str] = ()) -> bool:
        """True if the task says to run this very command, with nothing to read but what it says."""
        wanted = text.strip()
        if not wanted or not all(one.strip() in self.text for one in given):
            return False
        quoted = any(
            token.type is TokenType.COMMAND and str(token.value).strip() == wanted
            for clause in self._clauses
            if _runs(clause)
            for token in clause.tokens
        )
        begin = r"(?:^|[\s,;.:])(?:run|execute)\s+(?:the\s+command\s+)?"
        plain = f"{begin}{re.escape(wanted)}{_END_OF_COMMAND}"
        return quoted or re.search(plain, self.text, re.IGNORECASE) is not None

    def code(self, text: str) -> bool:
        """True if the task holds this code."""
        return any(
            str(value).strip() == text.strip() for value in self._task.values(TokenType.COMMAND)
        )

    def value(self, text: str) -> bool:
        """True if the task says a value, as words of its own."""
        return bool(text) and is_said(text, self.text)


def names_workflow(task: str, name: str) -> bool:
    """True if a task names a saved workflow, or the file of one."""
    return is_said(name, task)


def is_said(text: str, task: str) -> bool:
    """True if a task says a text, as words of its own."""
    words = re.escape(text.strip())
    return re.search(rf"(?<![\w-]){words}(?![\w-])", task, re.IGNORECASE) is not None


def _verb(clause: Clause) -> str:
    return clause.verb or (clause.tokens[0].word if clause.tokens else "")


def _runs(clause: Clause) -> bool:
    """True if the commands of a clause are run, and not only spoken of."""
    if clause.verb in RUN | ASK | {""} and not clause.is_question:
        return True
    return bool(_OUTPUT & {token.word for token in clause.tokens})


def _written(clause: Clause) -> list[TaskToken]:
    tokens = clause.tokens
    after = [t for at, t in enumerate(tokens) if at and tokens[at - 1].word in _DESTINATION]
    files = [token for token in after if isinstance(token.value, str)]
    if files:
        return files
    return [t for t in tokens if t.is_file] if _verb(clause) in _WRITING else []


# -- URLs ---------------------------------------------------------------------------------------


def _split(text: str) -> SplitResult | None:
    try:
        parts = urlsplit(text)
        return parts if parts.hostname and parts.port != 0 else None
    except ValueError:
        return None


def _is_same_host(named: SplitResult, wanted: SplitResult) -> bool:
    """True for the same host and port, or their upgrade to https."""
    if (named.hostname or "").rstrip(".") != (wanted.hostname or "").rstrip("."):
        return False
    schemes = {"": ("http", "https"), "http": ("http", "https"), "https": ("https",)}
    if wanted.scheme not in schemes.get(named.scheme, ()):
        return False
    own = wanted.port or _DEFAULT_PORTS[wanted.scheme]
    if named.port is not None:
        is_upgrade = named.port == 80 and named.scheme == "http" and wanted.scheme == "https"
        return own == named.port or (is_upgrade and own == 443)
    return own == _DEFAULT_PORTS[wanted.scheme]


def _is_within(named: SplitResult, wanted: SplitResult) -> bool:
    """True for a URL or what is below it; `{id}` in a path that a task names is any one part."""
    if not _is_same_host(named, wanted):
        return False
    have, want = _segments(named.path), _segments(wanted.path)
    if {".", ".."} & set(want) or len(have) > len(want):
        return False
    pairs = zip(have, want, strict=False)
    return all(a == b or _PLACEHOLDER.fullmatch(a) for a, b in pairs)


def _segments(path: str) -> list[str]:
    return [unquote(part) for part in path.split("/") if part]
