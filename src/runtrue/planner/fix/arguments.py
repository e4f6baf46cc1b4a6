"""Arguments: what an argument that a tool or a server does not take was meant to be called."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any

from runtrue.fields import Ranked, rank_names
from runtrue.loop import Finding
from runtrue.memory import Scope
from runtrue.planner.findings import as_object
from runtrue.planner.fix.draft import SHOWN, Correction, FixDraft, params_of, suggestions
from runtrue.planner.fix.paths import assign
from runtrue.planner.fix.requests import SENT
from runtrue.planner.fix.values import fitted, resolved, takes_type, type_of, types_of, zone
from runtrue.planner.seams import Doubt, Suggestion
from runtrue.workflow import TemplateSyntaxError, Unresolved, compile_template

#: More names are not compared with one another: all with all would take for ever.
_MOST_NAMES, _MOST_PROPERTIES = 50, 500


# -- tools --------------------------------------------------------------------------------------


def fix_arguments(finding: Finding, draft: FixDraft) -> Correction | None:
    """Fix the names and values of arguments that break the schema of a tool."""
    node = draft.node(finding.location.symbol)
    if node is None:
        return None
    schema = draft.schema_of(node, finding)
    if not isinstance(schema.get("properties"), dict):
        return None
    names = _Names(finding, draft, draft.scope(node))
    given, renamed = names.rename(params_of(node), schema)
    if renamed:
        node["params"] = given
    values = fix_values(finding, draft) or Correction()
    if not renamed and not names.doubts and values == Correction():
        return None
    return Correction(
        (*renamed, *values.fixed),
        (*names.doubts, *values.doubts),
        frozenset(names.fixers) | values.fixers,
    )


def fix_values(finding: Finding, draft: FixDraft) -> Correction | None:
    """Convert the arguments of a tool that failed to the types that its schema wants."""
    node = draft.node(finding.location.symbol)
    if node is None:
        return None
    given, schema = params_of(node), draft.schema_of(node, finding)
    fixed, doubts = [], []
    for name, value in given.items():
        wanted = resolved(as_object(schema.get("properties")).get(name), schema)
        filled = _filled(value, draft.request.store)
        new = zone(fitted(filled, wanted), name, wanted)
        if new is filled or (type(new) is type(filled) and new == filled):
            continue
        if _refers(value):
            # It comes from elsewhere, and has to be changed there.
            meant = Suggestion(text=str(new), confidence=1.0)
            attempted = f"{name}: {filled}"
            doubts.append(Doubt(node_id=node["id"], attempted=attempted, candidates=(meant,)))
        else:
            fixed.append(f"{name}: {value} → {new}")
            given[name] = new
    if not fixed and not doubts:
        return None
    return Correction(tuple(fixed), tuple(doubts), frozenset({"fields"} if fixed else ()))


class _Names:
    """Renames arguments to what the schema knows, and collects what is in doubt."""

    def __init__(self, finding: Finding, draft: FixDraft, scope: Scope | None) -> None:
        self.finding = finding
        self.draft = draft
        self.scope = scope
        self.doubts: list[Doubt] = []
        self.fixers: set[str] = set()

    def rename(
        self, given: dict[str, Any], schema: Mapping[str, Any]
    ) -> tuple[dict[str, Any], list[str]]:
        """Return the arguments under the names that the schema knows."""
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
                # Nothing is invented: the user has to say it.
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
                shown = tuple(map(_unranked, islice(free, _MOST_NAMES)))
                self._doubt(name, suggestions(options[:SHOWN]) or shown)
        return assigned

    def _doubt(self, attempted: str, found: tuple[Suggestion, ...] = ()) -> None:
        node_id = self.finding.location.symbol or ""
        self.doubts.append(Doubt(node_id=node_id, attempted=attempted, candidates=found))


def _unranked(name: str) -> Suggestion:
    return Suggestion(text=name, confidence=0.0)


def _takes(schema: Mapping[str, Any], value: Any) -> bool:
    """True if an argument of this schema could be given that value, as it is or converted."""
    types = types_of(schema)
    return not types or _refers(value) or takes_type(types, type_of(fitted(value, schema)))


def _filled(value: Any, store: Mapping[str, Any]) -> Any:
    try:
        return compile_template(value).render(store)
    except (TemplateSyntaxError, Unresolved):
        return value


def _refers(value: Any) -> bool:
    try:
        return bool(compile_template(value).references)
    except TemplateSyntaxError:
        return True


# -- requests -----------------------------------------------------------------------------------


def fix_sent_names(finding: Finding, draft: FixDraft) -> Correction | None:
    """Rename what a request sends to the field that its server misses."""
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
            candidates=suggestions(options[:SHOWN]) or tuple(map(_unranked, free[:SHOWN])),
        )
        for name, options in ranked.items()
        if name not in assigned
    )
    fixed = tuple(f"{old} → {name}" for old, name in new.items())
    return Correction(fixed, doubts, frozenset(fixers))
