"""Draft: the workflow that is being fixed, and the corrections of its findings."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from msgspec import UnsetType

from runtrue.fields import Ranked
from runtrue.loop import Finding
from runtrue.memory import Memory, OperationScope
from runtrue.planner.findings import Object, as_object, as_template
from runtrue.planner.lessons import scope_of_node
from runtrue.planner.seams import Doubt, FixRequest, Suggestion
from runtrue.workflow import TemplateSyntaxError, Unresolved, compile_template, sample_text

_LONGEST_SAMPLE = 60
#: How many suggestions people are shown for one doubt.
SHOWN = 3


@dataclass(frozen=True, slots=True)
class Correction:
    """The fixes for one finding, the doubts about it, and who fixed it."""

    fixed: tuple[str, ...] = ()
    doubts: tuple[Doubt, ...] = ()
    fixers: frozenset[str] = frozenset()


class FixDraft:
    """A copy of the workflow that failed, to be changed in place.

    `extracted` has, by node, the values of an extraction that lacks others.
    """

    def __init__(self, request: FixRequest, memory: Memory | None) -> None:
        self.request = request
        self.workflow: dict[str, Any] = _copy_without_aliases(request.workflow)
        self._memory = memory
        self._seen: set[tuple[str, str | None]] = set()
        self._fields: dict[str, str] = {}
        self.extracted: dict[str, dict[str, Any]] = {}

    def node(self, name: str | None) -> dict[str, Any] | None:
        """Return the node of that id, if there is one."""
        nodes: list[dict[str, Any]] = self.workflow.get("nodes", [])
        return next((node for node in nodes if node.get("id") == name), None)

    def first_sight(self, attempted: str, node_id: str | None) -> bool:
        """True the first time: findings of several nodes may report the same reference."""
        is_new = (attempted, node_id) not in self._seen
        self._seen.add((attempted, node_id))
        return is_new

    def field(self, node_id: str, name: str) -> str:
        """Return the name that a person sets a field's path by: its own, if that is unique."""
        return name if self._fields.setdefault(name, node_id) == node_id else f"{node_id}.{name}"

    def path_of(self, field: str) -> str | None:
        """Return the path that a person has set for a field."""
        paths = self.request.paths
        return None if isinstance(paths, UnsetType) else paths.get(field)

    def sure_outputs(self) -> dict[str, Any]:
        """Return the outputs that can be read although the workflow has failed."""
        store = dict(self.request.store)
        for name, values in self.extracted.items():
            store[name] = {**as_object(store.get(name)), "extracted": values}
        found: dict[str, Any] = {}
        for name, output in as_object(self.workflow.get("outputs")).items():
            with suppress(TemplateSyntaxError, Unresolved):
                source = as_template(as_object(output).get("source"))
                if source is not None:
                    found[name] = compile_template(source).render(store)
        return found

    def schema_of(self, node: Object, finding: Finding) -> dict[str, Any]:
        """Return the schema that a tool's server declares for its arguments."""
        known = [c.params_schema for c in self.request.components if c.type == node.get("type")]
        schema = finding.data.get("schema") or next(iter(known), None)
        return schema if isinstance(schema, dict) else {}

    def scope(self, node: Object, item: Any = None) -> OperationScope | None:
        """Return the scope of fixes to what a node does."""
        return scope_of_node(node, self.request.store, self.request.components, item=item)

    def recall(self, scope: OperationScope | None, wanted: str, kind: str = "path") -> str | None:
        """Return what memory knows for `wanted`."""
        if self._memory is None or scope is None:
            return None
        return self._memory.recall(scope, wanted, kind=kind)


def params_of(node: Object) -> dict[str, Any]:
    """Return the params of a node, or an empty object that is not the node's."""
    params = node.get("params")
    return params if isinstance(params, dict) else {}


def _copy_without_aliases(value: Any) -> Any:
    """Copy a value so that nothing is in two places at once, as YAML anchors would have it."""
    if isinstance(value, Mapping):
        return {key: _copy_without_aliases(inner) for key, inner in value.items()}
    return [_copy_without_aliases(inner) for inner in value] if isinstance(value, list) else value


class Intents:
    """The task as it concerns each of several wanted things: without the words for the others.

    Those would speak for fields that are not this one.
    """

    def __init__(self, task: str, wanted: Iterable[str]) -> None:
        self._task = task
        # Several spellings of one name are one name.
        self._spans = {
            words: [match.span() for match in _spelled(words).finditer(task)]
            for words in {_words(name) for name in wanted}
        }

    def of(self, wanted: str) -> str:
        """Return the task as far as it is about this one."""
        own = _words(wanted)
        own_spans = self._spans.get(own, [])
        # Blanks, so that the other positions stay right.
        text = list(self._task)
        for words, spans in self._spans.items():
            for begin, end in spans if words != own else ():
                if not any(begin < last and first < end for first, last in own_spans):
                    text[begin:end] = " " * (end - begin)
        return " ".join("".join(text).split())


def _words(name: str) -> tuple[str, ...]:
    return tuple(word.casefold() for word in re.findall(r"[^\W_]+", name))


def _spelled(words: tuple[str, ...]) -> re.Pattern[str]:
    """Match a name as people write it: `display_name`, `display name`, `Display-Name`."""
    joined = r"[\s_-]*".join(map(re.escape, words))
    return re.compile(rf"(?<!\w){joined}(?!\w)" if joined else r"(?!)", re.IGNORECASE)


def suggestions(ranked: Sequence[Ranked], prefix: str = "") -> tuple[Suggestion, ...]:
    """Return what could be meant, for people: `prefix` replaces the `$` of a path."""
    return tuple(
        Suggestion(
            text=f"{prefix}{one.path[1:]}" if prefix else one.path,
            confidence=round(one.confidence, 3),
            sample=_sample(one.path, one.value),
        )
        for one in ranked[:SHOWN]
    )


def _sample(path: str, value: object) -> str:
    """Return a piece of a value; that of a secret, by its name, is not shown."""
    name = re.split(r"[.\[\]']+", path.rstrip("]'"))[-1]
    (shown,) = json.loads(sample_text({name: value}, limit=10_000)).values()
    text = json.dumps(shown, ensure_ascii=False)
    return text if len(text) <= _LONGEST_SAMPLE else f"{text[: _LONGEST_SAMPLE - 1]}…"
