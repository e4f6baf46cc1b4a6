"""Drafts: the workflow that is being mended, and what mending one finding of it came to."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from runtrue.fields import Ranked
from runtrue.loop import Finding
from runtrue.memory import Memory, Scope
from runtrue.planner.repair.requests import scope_of_node
from runtrue.planner.seams import Candidate, Doubt, FixRequest
from runtrue.workflow import sample_text

_LONGEST_SAMPLE = 60


@dataclass(frozen=True, slots=True)
class Mended:
    """What a finding came to: what was settled, by whom, and what could not be."""

    settled: tuple[str, ...] = ()
    doubts: tuple[Doubt, ...] = ()
    fixers: frozenset[str] = frozenset()


class Draft:
    """A copy of the workflow that failed, to be changed in place."""

    def __init__(self, request: FixRequest, memory: Memory | None) -> None:
        self.request = request
        self.workflow: dict[str, Any] = _copied(request.workflow)
        self._memory = memory
        self._seen: set[tuple[str, str | None]] = set()

    def node(self, name: str | None) -> dict[str, Any] | None:
        """The node of that id, where there is one."""
        nodes: list[dict[str, Any]] = self.workflow.get("nodes", [])
        return next((node for node in nodes if node.get("id") == name), None)

    def first_sight(self, attempted: str, node_id: str | None) -> bool:
        """Whether this has not been looked at before: findings of several nodes may tell of it."""
        is_new = (attempted, node_id) not in self._seen
        self._seen.add((attempted, node_id))
        return is_new

    def schema_of(self, node: Mapping[str, Any], finding: Finding) -> dict[str, Any]:
        """What the arguments of a tool have to be, as its server declares it."""
        known = [c.params_schema for c in self.request.components if c.type == node.get("type")]
        schema = finding.data.get("schema") or next(iter(known), None)
        return schema if isinstance(schema, dict) else {}

    def scope(self, node: Mapping[str, Any], item: Any = None) -> Scope | None:
        """Where repairs of what a node does hold."""
        return scope_of_node(node, self.request.store, self.request.components, item=item)

    def recall(self, scope: Scope | None, wanted: str, kind: str = "path") -> str | None:
        """What memory says of it."""
        if self._memory is None or scope is None:
            return None
        return self._memory.recall(scope, wanted, kind=kind)


def params_of(node: Mapping[str, Any]) -> dict[str, Any]:
    """The params of a node; those that are not there are empty, and are not put there."""
    params = node.get("params")
    return params if isinstance(params, dict) else {}


def _copied(value: Any) -> Any:
    """A copy in which nothing is in two places at once, as the anchors of a YAML file have it."""
    if isinstance(value, Mapping):
        return {key: _copied(inner) for key, inner in value.items()}
    return [_copied(inner) for inner in value] if isinstance(value, list) else value


class Intents:
    """What each of several things is wanted for: the task without the others.

    Their words would speak for fields that are not this one.
    """

    def __init__(self, task: str, wanted: Iterable[str]) -> None:
        self._task = task
        # Several spellings of one name are one name.
        self._spans = {
            words: [match.span() for match in _spelled(words).finditer(task)]
            for words in {_words(name) for name in wanted}
        }

    def of(self, wanted: str) -> str:
        """The task as far as it is about this one."""
        own = _words(wanted)
        kept = self._spans.get(own, [])
        # Blanks, so that what is kept stays where it is.
        text = list(self._task)
        for words, spans in self._spans.items():
            for begin, end in spans if words != own else ():
                if not any(begin < last and first < end for first, last in kept):
                    text[begin:end] = " " * (end - begin)
        return " ".join("".join(text).split())


def _words(name: str) -> tuple[str, ...]:
    return tuple(word.casefold() for word in re.findall(r"[^\W_]+", name))


def _spelled(words: tuple[str, ...]) -> re.Pattern[str]:
    """A name as people write it: `display_name`, `display name`, `Display-Name`."""
    joined = r"[\s_-]*".join(map(re.escape, words))
    return re.compile(rf"(?<!\w){joined}(?!\w)" if joined else r"(?!)", re.IGNORECASE)


def candidates(ranked: Iterable[Ranked], prefix: str = "") -> tuple[Candidate, ...]:
    """What could be meant, for people: `prefix` takes the place of the `$` of a path."""
    return tuple(
        Candidate(
            text=f"{prefix}{one.path[1:]}" if prefix else one.path,
            confidence=round(one.confidence, 3),
            sample=sample(one.path, one.value),
        )
        for one in ranked
    )


def sample(path: str, value: object) -> str:
    """A piece of a value; that of a secret, by the name of the place, is not shown."""
    name = re.split(r"[.\[\]']+", path.rstrip("]'"))[-1]
    (shown,) = json.loads(sample_text({name: value}, limit=10_000)).values()
    text = json.dumps(shown, ensure_ascii=False)
    return text if len(text) <= _LONGEST_SAMPLE else f"{text[: _LONGEST_SAMPLE - 1]}…"
