"""Arguments: what those that a tool or a server does not take were meant to be."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from itertools import islice
from typing import Any

from runtrue.fields import SURE, Ranked, rank_names
from runtrue.loop import Finding
from runtrue.memory import OperationScope
from runtrue.planner.findings import SENT, Object, as_object
from runtrue.planner.fix.draft import SHOWN, Correction, FixDraft, params_of, suggestions
from runtrue.planner.fix.paths import assign
from runtrue.planner.seams import Doubt, Suggestion
from runtrue.workflow import TemplateSyntaxError, Unresolved, compile_template, opened

#: More names are not compared with one another: all with all would take forever.
_MOST_NAMES, _MOST_PROPERTIES = 50, 500


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

    def __init__(self, finding: Finding, draft: FixDraft, scope: OperationScope | None) -> None:
        self.node_id = finding.location.symbol or ""
        self.draft = draft
        self.scope = scope
        self.doubts: list[Doubt] = []
        self.fixers: set[str] = set()

    def rename(self, given: dict[str, Any], schema: Object) -> tuple[dict[str, Any], list[str]]:
        """Return the arguments under the names that the schema knows."""
        taken: Object = schema["properties"]
        unknown = [name for name in given if name not in taken]
        free = {name: resolved(one, schema) for name, one in taken.items() if name not in given}
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
        self, unknown: Object, free: Mapping[str, Object], needed: list[str]
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
                self._doubt(name, suggestions(options) or shown)
        return assigned

    def _doubt(self, attempted: str, found: tuple[Suggestion, ...] = ()) -> None:
        self.doubts.append(Doubt(node_id=self.node_id, attempted=attempted, candidates=found))


def _unranked(name: str) -> Suggestion:
    return Suggestion(text=name, confidence=0.0)


def _takes(schema: Object, value: Any) -> bool:
    """True if an argument of this schema could be given that value, as it is or converted."""
    types = _types_of(schema)
    return not types or _refers(value) or _takes_type(types, _type_of(fitted(value, schema)))


def _filled(value: Any, store: Object) -> Any:
    try:
        return compile_template(value).render(store)
    except (TemplateSyntaxError, Unresolved):
        return value


def _refers(value: Any) -> bool:
    try:
        return bool(compile_template(value).references)
    except TemplateSyntaxError:
        return True


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
            candidates=suggestions(options) or tuple(map(_unranked, free[:SHOWN])),
        )
        for name, options in ranked.items()
        if name not in assigned
    )
    fixed = tuple(f"{old} → {name}" for old, name in new.items())
    return Correction(fixed, doubts, frozenset(fixers))


# -- values, converted where nothing is lost -------------------------------------------------------

_ZONE_WORDS = re.compile(r"time ?zone|\btz\b|\biana\b", re.IGNORECASE)
_BOOLEANS = {"true": True, "false": False, "yes": True, "no": False}
_INTEGER = re.compile(r"[+-]?\d{1,15}")
_NUMBER = re.compile(r"[+-]?\d{1,15}(\.\d{1,15})?")


def resolved(schema: Any, whole: Object) -> dict[str, Any]:
    """Follow a schema's reference to a definition in the whole one."""
    for _ in range(10):
        reference = schema.get("$ref") if isinstance(schema, dict) else None
        if not isinstance(reference, str) or not reference.startswith("#/"):
            break
        schema = whole
        for part in reference[2:].split("/"):
            schema = schema.get(part) if isinstance(schema, Mapping) else None
    return schema if isinstance(schema, dict) else {}


def fitted(value: Any, schema: Object) -> Any:
    """Return the value as the schema wants it; itself if that is not sure, or it fits already."""
    types = _types_of(schema)
    options = schema.get("enum")
    if isinstance(options, list):
        return _option(value, options)
    if not types or _takes_type(types, _type_of(value)):
        return value
    converted = _converted(value, types)
    if "array" in types and converted is value and isinstance(value, str | int | float):
        items = schema.get("items")
        return [fitted(value, items if isinstance(items, dict) else {})]
    return converted


def zone(value: Any, name: str, schema: Object) -> Any:
    """Return the IANA name of a time zone given by its city, where a zone is wanted."""
    about = f"{re.sub('[_-]', ' ', name)} {schema.get('description', '')}"
    if not isinstance(value, str) or not _ZONE_WORDS.search(about):
        return value
    named = _zones().get(re.sub(r"[\s_-]+", "_", value.strip()).casefold(), ())
    return named[0] if len(named) == 1 else value


def _types_of(schema: Object) -> frozenset[str]:
    """Return the types that a schema takes; none when it does not say."""
    type_ = schema.get("type")
    if isinstance(type_, str | list):
        return frozenset({type_} if isinstance(type_, str) else map(str, type_))
    branches = schema.get("anyOf", schema.get("oneOf"))
    listed = branches if isinstance(branches, list) else []
    found = [_types_of(one) for one in listed if isinstance(one, Mapping)]
    return frozenset().union(*found) if found and all(found) else frozenset()


def _takes_type(types: frozenset[str], type_: str) -> bool:
    # An integer is a number.
    return type_ in types or ("number" in types and type_ == "integer")


def _type_of(value: Any) -> str:
    names = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array"}
    return "null" if value is None else names.get(type(value), "object")


def _converted(value: Any, types: frozenset[str]) -> Any:
    if isinstance(value, str):
        text = value.strip()
        if "integer" in types and _INTEGER.fullmatch(text):
            return int(text)
        if "number" in types and _NUMBER.fullmatch(text):
            return float(text) if "." in text else int(text)
        if "boolean" in types and text.casefold() in _BOOLEANS:
            return _BOOLEANS[text.casefold()]
        inner = opened(value)
        return inner if _type_of(inner) in types else value
    if "integer" in types and isinstance(value, float) and value.is_integer():
        return int(value)
    if "string" in types and isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value


def _option(value: Any, options: list[Any]) -> Any:
    """Return the option that was meant; the value itself where it is one, or none is."""
    if any(type(option) is type(value) and option == value for option in options):
        return value
    texts = {str(option).casefold(): option for option in options}
    folded = str(value).strip().casefold()
    if folded in texts:
        return texts[folded]
    ranked = rank_names(folded, folded, {str(o): "" for o in options if isinstance(o, str)})
    return ranked[0].path if ranked and ranked[0].confidence >= SURE else value


@cache
def _zones() -> dict[str, tuple[str, ...]]:
    """Return the time zones by the last part of their names, and by the whole of them."""
    from zoneinfo import available_timezones

    found: dict[str, tuple[str, ...]] = {}
    for name in sorted(available_timezones()):
        for key in {name.casefold(), name.rpartition("/")[2].casefold()}:
            found[key] = (*found.get(key, ()), name)
    # What is a name of its own is meant when it is given: `UTC` is also the end of `Etc/UTC`.
    whole = {name.casefold(): (name,) for name in available_timezones()}
    return {**found, **whole}
