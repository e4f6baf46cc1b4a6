"""Values: what a model says that the task gives. What the task does not say is not taken."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from runtrue.workflow import InputError, prepare_inputs

_WORD = re.compile(r"\w+")


def given_values(
    task: str,
    inputs: Mapping[str, Mapping[str, Any]],
    values: Mapping[str, Any],
    said: Mapping[str, str],
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The values that fit their declared inputs, and a sentence for each that was not taken.

    `said` quotes the task where its words differ from the value; null is what it does not say.
    """
    taken: dict[str, Any] = {}
    notes: list[str] = []
    for name, value in values.items():
        if value is None:
            continue
        if name not in inputs:
            notes.append(f"a value for {name!r} was not taken: there is no such input")
        elif not (_says(task, value) or _quotes(task, said.get(name, ""))):
            notes.append(f"a value for {name!r} was not taken: the task does not say it")
        else:
            try:
                given = {name: value}
                taken |= prepare_inputs({name: inputs[name]}, given, stdin=None, from_text=True)
            except InputError as error:
                notes.append(f"a value for {name!r} was not taken: {error}")
    return taken, tuple(notes)


def _says(task: str, value: Any) -> bool:
    """Whether all of a value stands in the task. Yes and no are said in too many ways."""
    words = set(_WORD.findall(task.casefold()))
    return all(
        leaf.strip() and (leaf in task.casefold() or _all_in(leaf, words))
        for leaf in _leaves(value)
    )


def _all_in(text: str, words: set[str]) -> bool:
    own = _WORD.findall(text)
    return bool(own) and words.issuperset(own)


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            yield from _leaves(inner)
    elif isinstance(value, float) and value.is_integer():
        yield str(int(value))
    elif not isinstance(value, bool) and value is not None:
        yield str(value).casefold()


def _quotes(task: str, words: str) -> bool:
    quote = " ".join(words.casefold().split())
    return bool(quote) and quote in " ".join(task.casefold().split())
