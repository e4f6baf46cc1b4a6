"""Arguments: what an argument that a tool or a server does not take was meant to be called."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any

from runtrue.fields import Ranked, rank_names
from runtrue.loop import Finding
from runtrue.memory import OperationScope
from runtrue.planner.repair.draft import Draft, Mended, candidates, params_of
from runtrue.planner.repair.paths import assign
from runtrue.planner.repair.requests import SENT
from runtrue.planner.repair.values import fitted, kind_of, kinds_of, resolved, zone
from runtrue.planner.seams import Candidate, Doubt
from runtrue.workflow import TemplateSyntaxError, Unresolved, compile_template

_SHOWN = 3
#: More names than these are not compared with one another: all with all would take for ever.
_MOST_NAMES, _MOST_PROPERTIES = 50, 500


# -- tools --------------------------------------------------------------------------------------


def mend_arguments(finding: Finding, draft: Draft) -> Mended | None:
    """Mend the names and values of arguments that break the schema of a tool."""
    node = draft.node(finding.location.symbol)
    if node is None:
        return None
    schema = draft.schema_of(node, finding)
    if not isinstance(schema.get("properties"), dict):
        return None
    names = _Names(finding, draft, draft.scope(node))
    given, renamed = names.mend(params_of(node), schema)
    if renamed:
        node["params"] = given
    values = mend_values(finding, draft) or Mended()
    if not renamed and not names.doubts and values == Mended():
        return None
    return Mended(
        (*renamed, *values.settled),
        (*names.doubts, *values.doubts),
        frozenset(names.fixers) | values.fixers,
    )


def mend_values(finding: Finding, draft: Draft) -> Mended | None:
    """Bring the arguments of a tool that failed into the form that its schema speaks of."""
    node = draft.node(finding.location.symbol)
    if node is None:
        return None
    given, schema = params_of(node), draft.schema_of(node, finding)
    settled, doubts = [], []
    for name, value in given.items():
        wanted = resolved(_object(schema.get("properties")).get(name), schema)
        filled = _filled(value, draft.request.store)
        new = zone(fitted(filled, wanted), name, wanted)
        if new is filled or (type(new) is type(filled) and new == filled):
            continue
        if _refers(value):
            # It comes from elsewhere: whoever gives it has to give it in another way.
            meant = Candidate(text=str(new), confidence=1.0)
            attempted = f"{name}: {filled}"
            doubts.append(Doubt(node_id=node["id"], attempted=attempted, candidates=(meant,)))
        else:
            settled.append(f"{name}: {value} → {new}")
            given[name] = new
    if not settled and not doubts:
        return None
    return Mended(tuple(settled), tuple(doubts), frozenset({"fields"} if settled else ()))


class _Names:
    """Renames arguments by what the schema knows, and collects what is in doubt."""

    def __init__(self, finding: Finding, draft: Draft, scope: OperationScope | None) -> None:
        self.finding = finding
        self.draft = draft
        self.scope = scope
        self.doubts: list[Doubt] = []
        self.fixers: set[str] = set()

    def mend(
        self, given: dict[str, Any], schema: Mapping[str, Any]
    ) -> tuple[dict[str, Any], list[str]]:
        """The arguments under the names that the schema knows."""
        properties: Mapping[str, Any] = schema["properties"]
        unknown = [name for name in given if name not in properties]
        free = {
            name: resolved(one, schema) for name, one in properties.items() if name not in given
        }
        needed = [name for name in schema.get("required", ()) if name in free]
        if not needed and schema.get("additionalProperties", True) is not False:
            # They may be unknown and welcome all the same.
            return given, []
        found = {
            name: known
            for name in unknown
            if (known := self.draft.recall(self.scope, name, "argument")) in free
        }
        if found:
            self.fixers.add("memory")
        found |= self._ranked(
            {name: given[name] for name in unknown if name not in found},
            {name: one for name, one in free.items() if name not in found.values()},
            needed,
        )
        for name in needed:
            if name not in found.values() and not self.doubts:
                # Nothing is invented: whoever asks has to say it.
                self._doubt(name)
        renamed = {found.get(name, name): value for name, value in given.items()}
        return renamed, [f"{name} → {known}" for name, known in found.items()]

    def _ranked(
        self, unknown: Mapping[str, Any], free: Mapping[str, Mapping[str, Any]], needed: list[str]
    ) -> dict[str, str]:
        ranked: dict[str, list[Ranked]] = {name: [] for name in unknown}
        for name, value in islice(unknown.items(), _MOST_NAMES):
            fitting = {
                one: str(schema.get("description", ""))
                for one, schema in islice(free.items(), _MOST_PROPERTIES)
                if _takes(schema, value)
            }
            ranked[name] = rank_names(name, self.draft.request.task, fitting) if fitting else []
        if len(unknown) == 1 and len(needed) == len(free) == 1:
            # One is too many, one is missing, and there is nothing else that either could be.
            ((name, value),) = unknown.items()
            if _takes(free[needed[0]], value):
                self.fixers.add("fields")
                return {name: needed[0]}
        assigned = assign({name: name for name in unknown}, ranked)
        if assigned:
            self.fixers.add("fields")
        for name, options in ranked.items():
            if name not in assigned:
                shown = tuple(map(_plain, islice(free, _MOST_NAMES)))
                self._doubt(name, candidates(options[:_SHOWN]) or shown)
        return assigned

    def _doubt(self, attempted: str, found: tuple[Candidate, ...] = ()) -> None:
        node_id = self.finding.location.symbol or ""
        self.doubts.append(Doubt(node_id=node_id, attempted=attempted, candidates=found))


def _plain(name: str) -> Candidate:
    return Candidate(text=name, confidence=0.0)


def _takes(schema: Mapping[str, Any], value: Any) -> bool:
    """Whether an argument of this schema could be given that value, as it is or converted."""
    kinds = kinds_of(schema)
    if not kinds or _refers(value):
        return True
    kind = kind_of(fitted(value, schema))
    return kind in kinds or (kind == "integer" and "number" in kinds)


def _filled(value: Any, store: Mapping[str, Any]) -> Any:
    try:
        return compile_template(value).render(store)
    except (TemplateSyntaxError, Unresolved):
        return value


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _refers(value: Any) -> bool:
    try:
        return bool(compile_template(value).references)
    except TemplateSyntaxError:
        return True


# -- requests -----------------------------------------------------------------------------------


def mend_sent(finding: Finding, draft: Draft) -> Mended | None:
    """Rename what a request sends to the name of the field that its server said it lacks."""
    node = draft.node(finding.location.symbol)
    fields = finding.data.get("fields")
    if node is None or not isinstance(fields, list):
        return None
    parts = [part for name in SENT if isinstance(part := params_of(node).get(name), dict)]
    sent = [name for part in parts for name in part]
    needed = [str(name) for name in fields if name not in sent]
    # Where it complains of names that it was sent, one of these is meant, and else any.
    free = [name for name in sent if name in fields] or sent
    if not needed or not free:
        return None
    scope = draft.scope(node)
    found: dict[str, str] = {}
    fixers: set[str] = set()
    for name in free:
        if (known := draft.recall(scope, name, "argument")) in needed and known is not None:
            found[known] = name
            fixers.add("memory")
    ranked = {
        name: rank_names(name, draft.request.task, dict.fromkeys(free[:_MOST_PROPERTIES], ""))
        for name in needed[:_MOST_NAMES]
        if name not in found
    }
    assigned = assign({name: name for name in ranked}, ranked, found.values())
    if assigned:
        fixers.add("fields")
    new = {old: name for name, old in {**found, **assigned}.items()}
    for part in parts:
        renamed = {new.get(name, name): value for name, value in part.items()}
        part.clear()
        part.update(renamed)
    doubts = tuple(
        Doubt(
            node_id=node["id"],
            attempted=name,
            candidates=candidates(options[:_SHOWN]) or tuple(map(_plain, free[:_SHOWN])),
        )
        for name, options in ranked.items()
        if name not in assigned
    )
    settled = tuple(f"{old} → {name}" for old, name in new.items())
    return Mended(settled, doubts, frozenset(fixers))
