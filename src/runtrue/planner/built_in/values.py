"""Values: which words of a task are the value of which argument, by name, type and preposition.

What the task does not say is left out. Nothing is invented, and no word is used twice.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from runtrue.planner.built_in.meanings import date_of, time_of, zone_of
from runtrue.planner.built_in.speech import Argument, Speech
from runtrue.planner.built_in.words import DETERMINERS, name_of, singular
from runtrue.planner.tokens import Kind, Token, Variable, plain_value
from runtrue.planner.verbs import VERBS, listed

PREPOSITIONS = listed(
    "in at for of on from to into about with by between near until since as against"
)
#: What a preposition says of the argument that its words are for.
_ROLES = {
    "from": listed("from source src origin start begin since base sender old"),
    "to": listed("to target dest destination end recipient receiver until new into language"),
    "in": listed("location city place country region area timezone where zone language lang"),
    "for": listed("location city place query topic subject user name id target for"),
    "at": listed("location place time address at host"),
    "about": listed("topic query subject about question search text"),
    "by": listed("author by user owner sort order"),
    "of": listed("location city place name id user path of"),
    "against": listed("target base other against reference"),
    "near": listed("location city place near"),
    "since": listed("since start from after"),
    "until": listed("until end to before"),
}
_PATHS = listed("path file dir directory folder repo repository filename")
_ENDS = listed("source destination src dest")
_DATES = listed("date day timestamp")
_COUNTS = listed("count limit max maximum n num number size top amount results")
#: Words of a name that say nothing of what is meant.
_EMPTY = listed("name path id type value param the of a input output string text")
_LONGEST_PHRASE = 3


def fill(arguments: Sequence[Argument], speech: Speech) -> dict[str, Any]:
    """The values that a speech gives for arguments; its words are used up."""
    found: dict[str, Any] = {}
    ordered = sorted(arguments, key=lambda argument: not argument.required)
    # The surest ways first for all, so that no argument takes what another one is named for.
    for way in (_by_pair, _by_label, _by_choice, _by_meaning, _by_role, _by_type):
        for argument in ordered:
            if argument.name not in found:
                value = way(argument, speech, arguments)
                if value is not None:
                    found[argument.name] = value
    return {argument.name: found[argument.name] for argument in arguments if argument.name in found}


def _by_pair(argument: Argument, speech: Speech, others: Sequence[Argument]) -> Any:
    for at, token in speech.free():
        if token.kind is Kind.PAIR and _same_name(token.key, argument, others):
            value = _converted(token.value, argument)
            if value is not None:
                speech.take(at)
                return value
    return None


def _same_name(key: str, argument: Argument, others: Sequence[Argument]) -> bool:
    if name_of([key]) == name_of(argument.words):
        return True
    # Part of a name will do when only one argument has it.
    having = [other for other in others if key.lower() in other.words]
    exact = any(name_of([key]) == name_of(other.words) for other in others)
    return not exact and len(having) == 1 and having[0] is argument


def _by_label(argument: Argument, speech: Speech, others: Sequence[Argument]) -> Any:
    """`branch main`, `message "done"`, `repo /x`."""
    labels = {w for w in argument.words if w not in _EMPTY} or set(argument.words)
    for at, token in speech.free():
        if token.word not in labels or at + 1 >= len(speech.tokens):
            continue
        after = at + 1
        while after + 1 < len(speech.tokens) and speech.tokens[after].word in {"is", ":", "named"}:
            after += 1
        value_token = speech.tokens[after]
        if after in speech.used or not _can_be_labelled(value_token, argument, token):
            continue
        value = _converted(value_token.value, argument)
        if value is not None and _means(argument, value_token.text):
            speech.take(at, after - at + 1)
            return value
    return None


def _can_be_labelled(token: Token, argument: Argument, label: Token) -> bool:
    if token.kind is not Kind.WORD:
        return token.kind in (Kind.FILE, Kind.QUOTED, Kind.NUMBER, Kind.URL)
    is_plain = token.word not in PREPOSITIONS | DETERMINERS | {"and", "then", "server", "tool"}
    return is_plain and argument.type == "string" and not choices_of(argument)


def _by_choice(argument: Argument, speech: Speech, others: Sequence[Argument]) -> Any:
    for choice in choices_of(argument):
        words = str(choice).lower().split()
        for at, _ in speech.free():
            tokens = speech.tokens[at : at + len(words)]
            if [str(t.value if t.kind is Kind.QUOTED else t.text).lower() for t in tokens] == words:
                speech.take(at, len(words))
                return choice
    return None


def choices_of(argument: Argument) -> list[Any]:
    """The values that can be chosen from, by the schema or by what the description quotes."""
    listed_ones = argument.schema.get("enum")
    if isinstance(listed_ones, list):
        return listed_ones
    described = argument.description
    if argument.type != "string":
        return []
    quoted = re.findall(r"'([A-Za-z][\w-]*)'", described)
    examples = re.search(r"\be\.g\.|\bsuch as\b|\bexample|\blike\b", described)
    return quoted if len(quoted) > 1 and not examples else []


def _by_meaning(argument: Argument, speech: Speech, others: Sequence[Argument]) -> Any:
    """Values that show by themselves what they are: zones, dates, times, paths."""
    if argument.type not in ("string", "array"):
        return None
    if argument.says("timezone", "time zone", "iana"):
        return _found(argument, speech, zone_of)
    if _DATES & set(argument.words) or argument.schema.get("format") == "date":
        return _found(argument, speech, date_of)
    if "time" in argument.words:
        return _found(argument, speech, time_of)
    if {singular(word) for word in argument.words} & (_PATHS | _ENDS):
        paths = [(at, token) for at, token in speech.free() if token.is_file]
        if argument.type == "array":
            for at, _ in paths:
                speech.take(at)
            return [token.value for _, token in paths] or None
        fitting = [(at, t) for at, t in paths if _role_fits(argument, speech.before(at), others)]
        if fitting:
            speech.take(fitting[0][0])
            return fitting[0][1].value
    return None


def _found(argument: Argument, speech: Speech, read: Callable[[str], str | None]) -> str | None:
    """The first words that read as something, where no preposition says otherwise."""
    for at, _ in speech.free():
        for count in range(_LONGEST_PHRASE, 0, -1):
            tokens = speech.tokens[at : at + count]
            if len(tokens) < count or any(i in speech.used for i in range(at, at + count)):
                continue
            value = read(" ".join(_spelled(token) for token in tokens))
            fits = _role_fits(argument, speech.before(at), ()) or _starts(argument, speech, at)
            if value is not None and fits:
                speech.take(at, count)
                return value
    return None


def _spelled(token: Token) -> str:
    return str(token.value) if token.kind is Kind.QUOTED else token.text


def _role_fits(argument: Argument, preposition: str, others: Sequence[Argument]) -> bool:
    """Whether a preposition does not say that the words are for another argument."""
    directed = {"from": _ROLES["from"], "to": _ROLES["to"]}
    own = [way for way, words in directed.items() if set(argument.words) & words]
    if preposition in directed:
        return preposition in own or not own
    # "in Tokyo" says neither where from nor where to.
    return not own or preposition not in PREPOSITIONS


def _starts(argument: Argument, speech: Speech, at: int) -> bool:
    """Whether words are where something starts from: "in A to B" is "from A to B"."""
    goes_on = any(token.word == "to" for token in speech.tokens[at + 1 :])
    starts = bool(set(argument.words) & _ROLES["from"])
    return starts and goes_on and speech.before(at) == "in"


def _by_role(argument: Argument, speech: Speech, others: Sequence[Argument]) -> Any:
    """`in Paris`, `about cats`, `from A to B`: words after the preposition of an argument."""
    if argument.type != "string" or choices_of(argument) or _has_meaning(argument):
        return None
    for at, token in speech.free():
        roles = _ROLES.get(token.word)
        if roles is None or not roles & set(argument.words):
            continue
        start = at + 1
        while start < len(speech.tokens) and speech.tokens[start].word in DETERMINERS:
            start += 1
        end = start
        while end < len(speech.tokens) and end not in speech.used and _goes_on(speech.tokens[end]):
            end += 1
        # "to show" is no direction.
        if end > start and speech.tokens[start].word not in VERBS:
            speech.take(at, end - at)
            return " ".join(_spelled(token) for token in speech.tokens[start:end])
    return None


def _goes_on(token: Token) -> bool:
    return token.word not in PREPOSITIONS | {",", ".", ";", "and", "?", "!"} and token.kind in (
        *(Kind.WORD, Kind.QUOTED),
    )


def _by_type(argument: Argument, speech: Speech, others: Sequence[Argument]) -> Any:
    if argument.type in ("integer", "number"):
        return _number(argument, speech, others)
    if argument.type == "boolean":
        words = [w for w in argument.words if w not in _EMPTY]
        spoken = {singular(token.word) for _, token in speech.free()}
        return True if words and len(words) > 1 and {*map(singular, words)} <= spoken else None
    if argument.type == "string" and not _has_meaning(argument) and argument.required:
        quoted = [(at, token) for at, token in speech.free() if token.kind is Kind.QUOTED]
        open_ones = [o for o in others if o.required and o.type == "string"]
        if quoted and not choices_of(argument) and open_ones:
            speech.take(quoted[0][0])
            return quoted[0][1].value
    return None


def _has_meaning(argument: Argument) -> bool:
    words = set(argument.words)
    return argument.says("timezone", "iana") or bool(words & (_DATES | {"time"} | _PATHS))


def _number(argument: Argument, speech: Speech, others: Sequence[Argument]) -> Any:
    numeric = [other for other in others if other.type in ("integer", "number")]
    for at, token in speech.free():
        if token.kind is not Kind.NUMBER:
            continue
        following = speech.tokens[at + 1].word if at + 1 < len(speech.tokens) else ""
        named = [o for o in numeric if following and singular(following) in _singulars(o)]
        counting = [o for o in numeric if set(o.words) & _COUNTS]
        required = [o for o in numeric if o.required]
        meant = named or (counting if following else []) or required
        if argument in meant:
            value = _converted(token.value, argument)
            if value is not None:
                speech.take(at)
                return value
    return None


def _singulars(argument: Argument) -> set[str]:
    return {singular(word) for word in argument.words}


def _means(argument: Argument, text: str) -> bool:
    """Whether a text can be a value of an argument whose values have a meaning of their own."""
    if argument.says("timezone", "iana"):
        return zone_of(text) is not None
    if "time" in argument.words:
        return time_of(text) is not None
    return not _DATES & set(argument.words) or date_of(text) is not None


def _converted(value: Any, argument: Argument) -> Any:
    """A value as its argument takes it; None when it does not."""
    if isinstance(value, Variable):
        return None
    kind = argument.type
    if kind == "string":
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
    return value if fits.get(kind, True) else None
