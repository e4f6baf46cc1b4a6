"""Edits: the places of a workflow that may be mended, and what a model changes there.

A model names a place from a list and gives what is to stand there: there is no way to say
anything else.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runtrue.loop import Finding
from runtrue.planner.model.redaction import hidden
from runtrue.planner.repair import redirect
from runtrue.workflow import REDACTED, Path, TemplateSyntaxError, compile_template

Place = tuple[str | int, ...]

_MOST_PLACES, _LONGEST_LABEL, _LONGEST_VALUE = 150, 200, 300


class BadEdit(Exception):
    """An edit that cannot be made; the message says why."""


@dataclass(frozen=True, slots=True)
class Places:
    """What may be changed, by the label that a model is shown for it.

    `references` are changed wherever they stand; `missing` are arguments that can be added.
    """

    workflow: dict[str, Any]
    references: tuple[str, ...]
    standing: dict[str, Place]
    missing: dict[str, Place]

    @property
    def labels(self) -> tuple[str, ...]:
        """All of them."""
        return (*self.references, *self.standing, *self.missing)

    def text(self) -> str:
        """Each label with what stands there now."""
        seen = hidden(self.workflow)
        lines = [f"- {label}" for label in self.references]
        lines += [f"- {label} = {_short(_at(seen, at))}" for label, at in self.standing.items()]
        lines += [f"- {label} (not given yet)" for label in self.missing]
        return "\n".join(lines)

    def apply(self, edits: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """The workflow with the edits made. Raises BadEdit."""
        mended = copy.deepcopy(self.workflow)
        for edit in edits:
            label, name = edit["at"], edit.get("name")
            if label in self.references:
                _refer(mended, label, edit.get("value"))
            elif name is None or edit.get("value") is not None:
                _set(mended, self._place(label), label, edit)
        # Names come last, and the innermost first: until then every place is where it was.
        renamed = [(self._place(e["at"]), e) for e in edits if e.get("name") is not None]
        for place, edit in sorted(renamed, key=lambda pair: -len(pair[0])):
            _rename(mended, place, edit["at"], edit["name"])
        if mended == self.workflow:
            raise BadEdit("the edits leave the workflow as it was")
        return mended

    def _place(self, label: str) -> Place:
        place = self.standing.get(label) or self.missing.get(label)
        if place is None:
            raise BadEdit(f"{label} is a reference and has no name that could be changed")
        return place


def editable(workflow: dict[str, Any], findings: Sequence[Finding]) -> Places:
    """The places that may be changed, those of nodes with findings first."""
    nodes = {node["id"]: at for at, node in enumerate(workflow["nodes"])}
    wrong = dict.fromkeys((f.location.symbol or "").partition(".")[0] for f in findings)
    order = [*(name for name in wrong if name in nodes), *(n for n in nodes if n not in wrong)]
    places = [p for name in order for p in _of_node(workflow["nodes"][nodes[name]], nodes[name])]
    places += [
        (f"outputs{_spelled(name)}.source", ("outputs", name, "source"))
        for name, output in workflow.get("outputs", {}).items()
        if "source" in output
    ]
    standing = {label: p for label, p in places if len(label) <= _LONGEST_LABEL}
    return Places(
        workflow,
        tuple(_references(workflow, findings)),
        dict(list(standing.items())[:_MOST_PLACES]),
        {label: place for f in findings for label, place in _missing(workflow, nodes, f)},
    )


def _of_node(node: Mapping[str, Any], at: int) -> Iterator[tuple[str, Place]]:
    root = f"nodes{_spelled(node['id'])}"
    if "batch" in node:
        yield f"{root}.batch.items", ("nodes", at, "batch", "items")
    for steps in _within(node.get("params", {})):
        yield f"{root}.params{_spelled(*steps)}", ("nodes", at, "params", *steps)


def _within(value: Any) -> Iterator[Place]:
    """Every place below, what is above first. Not recursive: params may be nested deeply."""
    waiting: list[tuple[Place, Any]] = [((), value)]
    for place, here in waiting:
        pairs = here.items() if isinstance(here, dict) else enumerate(here)
        for key, inner in pairs:
            yield (*place, key)
            if isinstance(inner, dict | list):
                waiting.append(((*place, key), inner))
        if len(waiting) > _MOST_PLACES:
            return


def _missing(
    workflow: Mapping[str, Any], nodes: Mapping[str, int], finding: Finding
) -> Iterator[tuple[str, Place]]:
    """The arguments that a tool takes and was not given."""
    name = finding.location.symbol or ""
    schema = finding.data.get("schema")
    known = schema.get("properties") if isinstance(schema, dict) else None
    if name not in nodes or not isinstance(known, dict):
        return
    given = workflow["nodes"][nodes[name]].get("params", {})
    for argument in list(known)[:_MOST_PLACES]:
        label = f"nodes{_spelled(name)}.params{_spelled(argument)}"
        if argument not in given and len(label) <= _LONGEST_LABEL:
            yield label, ("nodes", nodes[name], "params", argument)


def _spelled(*steps: str | int) -> str:
    return str(Path(steps))[1:]


def _short(value: Any) -> str:
    if isinstance(value, dict | list) and value:
        return "an object" if isinstance(value, dict) else "a list"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}… (cut)"


# -- references ---------------------------------------------------------------------------------


def _references(workflow: dict[str, Any], findings: Sequence[Finding]) -> Iterator[str]:
    """The references that led nowhere and stand in the workflow."""
    unchanged = copy.deepcopy(workflow)
    for text in dict.fromkeys(text for finding in findings for text in finding.attempted):
        inner = _inner(text)
        if inner and len(text) <= _LONGEST_LABEL and redirect(unchanged, inner, inner):
            yield text


def _refer(mended: dict[str, Any], old: str, value: Any) -> None:
    """Put another reference in the place of one, wherever that stands."""
    text = value.strip() if isinstance(value, str) else ""
    new = _inner(text if text.startswith("${") else f"${{{text}}}")
    if new is None:
        raise BadEdit(f"{value!r} is not one reference, and {old} is")
    redirect(mended, old[2:-1], new)


def _inner(text: str) -> str | None:
    """What is between the braces, if the text is one reference and nothing else."""
    try:
        parts = compile_template(text).split()
    except TemplateSyntaxError:
        return None
    only = parts[0] if len(parts) == 1 else ""
    return None if isinstance(only, str) else only.text


# -- places -------------------------------------------------------------------------------------


def _at(value: Any, place: Place) -> Any:
    for step in place:
        value = value[step]
    return value


def _set(mended: dict[str, Any], place: Place, label: str, edit: Mapping[str, Any]) -> None:
    if "value" not in edit:
        raise BadEdit(f"the edit at {label!r} has neither a value nor a name")
    if edit["value"] == REDACTED:
        raise BadEdit(f"what stands at {label!r} is a secret, and cannot be given anew")
    try:
        _holder(mended, place)[place[-1]] = edit["value"]
    except (LookupError, TypeError):
        raise BadEdit(f"{label!r} is gone, by another edit of what is around it") from None


def _rename(mended: dict[str, Any], place: Place, label: str, name: str) -> None:
    holder = _holder(mended, place)
    old = place[-1]
    if not isinstance(holder, dict) or old not in holder:
        raise BadEdit(f"{label!r} has no name that could be changed")
    if name in holder:
        raise BadEdit(f"{label!r} cannot be named {name!r}: that is given already")
    renamed = {name if key == old else key: value for key, value in holder.items()}
    holder.clear()
    holder.update(renamed)


def _holder(mended: dict[str, Any], place: Place) -> Any:
    return _at(mended, place[:-1])
