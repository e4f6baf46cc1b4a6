"""Arguments: which words of a task are the value of which, by name, type and preposition.

What the task does not say is left out. Nothing is invented, and no word is used twice.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from functools import cache
from typing import Any

from runtrue.planner.task import TaskToken, TokenType, Variable, plain_value
from runtrue.planner.words import DETERMINERS, VERBS, name_of, singular, split_name, word_set


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """An argument of a tool, or an input of a workflow."""

    name: str
    schema: Mapping[str, Any]
    required: bool = True

    @property
    def words(self) -> tuple[str, ...]:
        """The words of its name."""
        return split_name(self.name)

    @property
    def type(self) -> str:
        """The JSON type of its values, as far as that is one."""
        options = self.schema.get("anyOf") or self.schema.get("oneOf") or ()
        types = [self.schema.get("type"), *(o.get("type") for o in options if isinstance(o, dict))]
        flat = [t for entry in types for t in (entry if isinstance(entry, list) else [entry])]
        known = {"str": "string", "int": "integer", "float": "number", "bool": "boolean"}
        return next((known.get(t, t) for t in flat if isinstance(t, str) and t != "null"), "string")

    @property
    def description(self) -> str:
        """Its description, if there is one."""
        described = self.schema.get("description")
        return described if isinstance(described, str) else ""

    def says(self, *words: str) -> bool:
        """True if its name or its description has one of these words."""
        text = self.description.lower()
        return any(word in self.words or re.search(rf"\b{word}\b", text) for word in words)


@dataclass(slots=True)
class Wording:
    """The words of a clause or a task, and which of them have been used as values."""

    tokens: Sequence[TaskToken]
    used: set[int] = field(default_factory=set)

    def free(self) -> Iterator[tuple[int, TaskToken]]:
        """Return the tokens that have not been used."""
        return ((at, token) for at, token in enumerate(self.tokens) if at not in self.used)

    def of_type(self, type_: TokenType) -> Iterator[tuple[int, TaskToken]]:
        """Return the tokens of a type that have not been used."""
        return ((at, token) for at, token in self.free() if token.type is type_)

    def before(self, at: int) -> str:
        """Return the word before a token, determiners left aside."""
        words = (token.word for token in reversed(self.tokens[:at]))
        return next((word for word in words if word not in DETERMINERS), "")

    def after(self, at: int, skipped: Container[str]) -> int:
        """Return the index of the token after one, some words left aside."""
        at += 1
        while at < len(self.tokens) and self.tokens[at].word in skipped:
            at += 1
        return at

    def take(self, at: int, count: int = 1) -> None:
        """Mark tokens as used."""
        self.used |= set(range(at, at + count))


PREPOSITIONS = word_set(
    "in at for of on from to into about with by between near until since as against"
)
#: Names of arguments that the words after a preposition may be for.
_ROLES = {
    "from": word_set("from source src origin start begin since base sender old"),
    "to": word_set("to target dest destination end recipient receiver until new into language"),
    "in": word_set("location city place country region area timezone where zone language lang"),
    "for": word_set("location city place query topic subject user name id target for"),
    "at": word_set("location place time address at host"),
    "about": word_set("topic query subject about question search text"),
    "by": word_set("author by user owner sort order"),
    "of": word_set("location city place name id user path of"),
    "against": word_set("target base other against reference"),
    "near": word_set("location city place near"),
    "since": word_set("since start from after"),
    "until": word_set("until end to before"),
}
_PATHS = word_set("path file dir directory folder repo repository filename")
_ENDS = word_set("source destination src dest")
_DATES = word_set("date day timestamp")
_COUNTS = word_set("count limit max maximum n num number size top amount results")
#: Words of a name that say nothing of what is meant.
_EMPTY = word_set("name path id type value param the of a input output string text")
_LONGEST_PHRASE = 3


def fill(arguments: Sequence[Argument], wording: Wording) -> dict[str, Any]:
    """Return the values that the words give for arguments, and mark those words as used."""
    found: dict[str, Any] = {}
    ordered = sorted(arguments, key=lambda argument: not argument.required)
    # The surest ways first for all, so that no argument takes what another one is named for.
    for way in (_by_pair, _by_label, _by_choice, _by_meaning, _by_role, _by_type):
        for argument in ordered:
            if argument.name not in found:
                value = way(argument, wording, arguments)
                if value is not None:
                    found[argument.name] = value
    return {argument.name: found[argument.name] for argument in arguments if argument.name in found}


def _by_pair(argument: Argument, wording: Wording, others: Sequence[Argument]) -> Any:
    for at, token in wording.of_type(TokenType.PAIR):
        is_meant = _same_name(token.key, argument, others)
        value = _converted(token.value, argument) if is_meant else None
        if value is not None:
            wording.take(at)
            return value
    return None


def _same_name(key: str, argument: Argument, others: Sequence[Argument]) -> bool:
    if name_of([key]) == name_of(argument.words):
        return True
    # Part of a name will do when only one argument has it.
    having = [other for other in others if key.lower() in other.words]
    exact = any(name_of([key]) == name_of(other.words) for other in others)
    return not exact and len(having) == 1 and having[0] is argument


def _by_label(argument: Argument, wording: Wording, others: Sequence[Argument]) -> Any:
    """Read `branch main`, `message "done"`, `repo /x`."""
    labels = {w for w in argument.words if w not in _EMPTY} or set(argument.words)
    labels |= {"named", "called"} if argument.words in (["name"], ("name",)) else set()
    for at, token in wording.free():
        if token.word not in labels or at + 1 >= len(wording.tokens):
            continue
        after = min(wording.after(at, {"is", ":", "named"}), len(wording.tokens) - 1)
        value_token = wording.tokens[after]
        if after in wording.used or not _can_be_labelled(value_token, argument):
            continue
        value = _converted(value_token.value, argument)
        if value is not None and _means(argument, value_token.text):
            wording.take(at, after - at + 1)
            return value
    return None


def _can_be_labelled(token: TaskToken, argument: Argument) -> bool:
    if token.type is not TokenType.WORD:
        return token.type in (TokenType.FILE, TokenType.QUOTED, TokenType.NUMBER, TokenType.URL)
    is_plain = token.word not in PREPOSITIONS | DETERMINERS | {"and", "then", "server", "tool"}
    return is_plain and argument.type == "string" and not choices_of(argument)


def _by_choice(argument: Argument, wording: Wording, others: Sequence[Argument]) -> Any:
    for choice in choices_of(argument):
        words = str(choice).lower().split()
        for at, _ in wording.free():
            tokens = wording.tokens[at : at + len(words)]
            if [_spelled(token).lower() for token in tokens] == words:
                wording.take(at, len(words))
                return choice
    return None


def choices_of(argument: Argument) -> list[Any]:
    """Return the values to choose from, by the schema or by what the description quotes."""
    enum, described = argument.schema.get("enum"), argument.description
    if isinstance(enum, list):
        return enum
    quoted = re.findall(r"'([A-Za-z][\w-]*)'", described)
    examples = re.search(r"\be\.g\.|\bsuch as\b|\bexample|\blike\b", described)
    return quoted if argument.type == "string" and len(quoted) > 1 and not examples else []


def _by_meaning(argument: Argument, wording: Wording, others: Sequence[Argument]) -> Any:
    """Read values that show by themselves what they are: zones, dates, times, paths."""
    if argument.type not in ("string", "array"):
        return None
    if argument.says("timezone", "time zone", "iana"):
        return _found(argument, wording, zone_of)
    if _DATES & set(argument.words) or argument.schema.get("format") == "date":
        return _found(argument, wording, date_of)
    if "time" in argument.words:
        return _found(argument, wording, time_of)
    if _singulars(argument) & (_PATHS | _ENDS):
        paths = [(at, token) for at, token in wording.free() if token.is_file]
        if argument.type == "array":
            for at, _ in paths:
                wording.take(at)
            return [token.value for _, token in paths] or None
        for at, token in paths:
            if _role_fits(argument, wording.before(at)):
                wording.take(at)
                return token.value
    return None


def _found(argument: Argument, wording: Wording, read: Callable[[str], str | None]) -> str | None:
    """Return the first words that `read` takes, where no preposition says otherwise."""
    for at, _ in wording.free():
        for count in range(_LONGEST_PHRASE, 0, -1):
            tokens = wording.tokens[at : at + count]
            if len(tokens) < count or any(i in wording.used for i in range(at, at + count)):
                continue
            value = read(" ".join(_spelled(token) for token in tokens))
            fits = _role_fits(argument, wording.before(at)) or _starts(argument, wording, at)
            if value is not None and fits:
                wording.take(at, count)
                return value
    return None


def _spelled(token: TaskToken) -> str:
    return str(token.value) if token.type is TokenType.QUOTED else token.text


def _role_fits(argument: Argument, preposition: str) -> bool:
    """True unless a preposition says that the words are for another argument."""
    own = [way for way in ("from", "to") if set(argument.words) & _ROLES[way]]
    # "in Tokyo" says neither where from nor where to.
    return not own or preposition in own or preposition not in PREPOSITIONS


def _starts(argument: Argument, wording: Wording, at: int) -> bool:
    """True if words are where something starts from: "in A to B" is "from A to B"."""
    goes_on = any(token.word == "to" for token in wording.tokens[at + 1 :])
    starts = bool(set(argument.words) & _ROLES["from"])
    return starts and goes_on and wording.before(at) == "in"


def _by_role(argument: Argument, wording: Wording, others: Sequence[Argument]) -> Any:
    """Read the words after a preposition: `in Paris`, `about cats`, `from A to B`."""
    if argument.type != "string" or choices_of(argument) or _has_meaning(argument):
        return None
    for at, token in wording.free():
        roles = _ROLES.get(token.word)
        if roles is None or not roles & set(argument.words):
            continue
        start = end = wording.after(at, DETERMINERS)
        tokens = wording.tokens
        while end < len(tokens) and end not in wording.used and _goes_on(tokens[end]):
            end += 1
        # "to show" is no direction.
        if end > start and tokens[start].word not in VERBS:
            wording.take(at, end - at)
            return " ".join(_spelled(token) for token in tokens[start:end])
    return None


def _goes_on(token: TaskToken) -> bool:
    is_text = token.type in (TokenType.WORD, TokenType.QUOTED)
    return is_text and token.word not in PREPOSITIONS | {",", ".", ";", "and", "?", "!"}


def _by_type(argument: Argument, wording: Wording, others: Sequence[Argument]) -> Any:
    if argument.type in ("integer", "number"):
        return _number(argument, wording, others)
    if argument.type == "boolean":
        words = [w for w in argument.words if w not in _EMPTY]
        spoken = {singular(token.word) for _, token in wording.free()}
        return True if len(words) > 1 and {*map(singular, words)} <= spoken else None
    if argument.type == "string" and not _has_meaning(argument) and argument.required:
        at, token = next(wording.of_type(TokenType.QUOTED), (0, None))
        if token is not None and not choices_of(argument):
            wording.take(at)
            return token.value
    return None


def _has_meaning(argument: Argument) -> bool:
    words = set(argument.words)
    return argument.says("timezone", "iana") or bool(words & (_DATES | {"time"} | _PATHS))


def _number(argument: Argument, wording: Wording, others: Sequence[Argument]) -> Any:
    numeric = [other for other in others if other.type in ("integer", "number")]
    for at, token in wording.of_type(TokenType.NUMBER):
        following = wording.tokens[at + 1].word if at + 1 < len(wording.tokens) else ""
        named = [o for o in numeric if following and singular(following) in _singulars(o)]
        counting = [o for o in numeric if following and set(o.words) & _COUNTS]
        meant = named or counting or [o for o in numeric if o.required]
        value = _converted(token.value, argument) if argument in meant else None
        if value is not None:
            wording.take(at)
            return value
    return None


def _singulars(argument: Argument) -> set[str]:
    return {singular(word) for word in argument.words}


def _means(argument: Argument, text: str) -> bool:
    """True if a text can be the value of an argument that wants a zone, a time or a date."""
    if argument.says("timezone", "iana"):
        return zone_of(text) is not None
    if "time" in argument.words:
        return time_of(text) is not None
    return not _DATES & set(argument.words) or date_of(text) is not None


def _converted(value: Any, argument: Argument) -> Any:
    if isinstance(value, Variable):
        return None
    type_ = argument.type
    if type_ == "string":
        text = str(value) if not isinstance(value, bool) else str(value).lower()
        return zone_of(text) or text if argument.says("timezone", "iana") else text
    if isinstance(value, str):
        value = plain_value(value)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    fits = {
        "integer": is_number and isinstance(value, int),
        "number": is_number,
        "boolean": isinstance(value, bool),
        "object": isinstance(value, dict),
        "array": isinstance(value, list),
    }
    return value if fits.get(type_, True) else None


# -- time zones, times of day, dates ---------------------------------------------------------------

_DAYS = {"today": 0, "tomorrow": 1, "yesterday": -1}
_CLOCK = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)(?::[0-5]\d)?")
_HALF_DAY = re.compile(r"(1[0-2]|0?[1-9])(?::([0-5]\d))?(am|pm)", re.IGNORECASE)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?:T[\d:.]+(?:Z|[+-]\d{2}:?\d{2})?)?")


@cache
def _zones() -> dict[str, str]:
    """Return IANA names by what people call them: the name itself, or the city."""
    from zoneinfo import available_timezones

    zones: dict[str, str] = {}
    # Where several have a city, the plainest is meant: America/Louisville, not …/Kentucky/….
    for name in sorted(available_timezones(), key=lambda name: (name.count("/"), name)):
        zones.setdefault(name.lower(), name)
        if "/" in name and not name.startswith("Etc/"):
            zones.setdefault(name.rpartition("/")[2].replace("_", " ").lower(), name)
    return zones


def zone_of(text: str) -> str | None:
    """Return the IANA name of a zone or a city."""
    return _zones().get(text.lower().replace(" ", "_")) or _zones().get(text.lower())


def time_of(text: str) -> str | None:
    """Return a time of day as HH:MM."""
    if found := _CLOCK.fullmatch(text):
        return f"{int(found[1]):02}:{found[2]}"
    if text.lower() in {"noon", "midnight"}:
        return "12:00" if text.lower() == "noon" else "00:00"
    found = _HALF_DAY.fullmatch(text.replace(" ", ""))
    if not found:
        return None
    hour = int(found[1]) % 12 + (12 if found[3].lower() == "pm" else 0)
    return f"{hour:02}:{found[2] or '00'}"


def date_of(text: str) -> str | None:
    """Return a day as ISO text; `today` is that of this machine."""
    if text.lower() in _DAYS:
        today = datetime.now().astimezone().date()
        return (today + timedelta(days=_DAYS[text.lower()])).isoformat()
    if not _DATE.fullmatch(text):
        return None
    try:
        date.fromisoformat(text[:10])
    except ValueError:
        return None
    return text
