"""Edits: the parts of a workflow that may be fixed, and what a model changes there.

A model names a part from a list and gives its new value: there is no way to say anything else.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runtrue.loop import Finding
from runtrue.planner.findings import as_object, outer_node, references_in
from runtrue.planner.fix import redirect
from runtrue.planner.model.redaction import redact_workflow
from runtrue.workflow import REDACTED, Path, TemplateSyntaxError, compile_template

Steps = tuple[str | int, ...]

_MOST_PLACES, _LONGEST_LABEL, _LONGEST_VALUE = 150, 200, 300


class ImpossibleEdit(Exception):
    """An edit that cannot be made; the message says why."""


@dataclass(frozen=True, slots=True)
class EditTargets:
    """The parts that may be changed, by the label that a model is shown for each.

    `references` are changed wherever they occur; `missing` are arguments that can be added.
    """

    workflow: dict[str, Any]
    references: tuple[str, ...]
    present: dict[str, Steps]
    missing: dict[str, Steps]

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of all of them."""
        return (*self.references, *self.present, *self.missing)

    def text(self) -> str:
        """List each label with its value now."""
        seen = redact_workflow(self.workflow)
        lines = [f"- {label}" for label in self.references]
        lines += [f"- {label} = {_short(_at(seen, at))}" for label, at in self.present.items()]
        lines += [f"- {label} (not given yet)" for label in self.missing]
        return "\n".join(lines)

    def apply(self, edits: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Return the workflow with the edits made. Raises ImpossibleEdit."""
        fixed = copy.deepcopy(self.workflow)
        for edit in edits:
            label, name = edit["at"], edit.get("name")
            if label in self.references:
                _redirect(fixed, label, edit.get("value"))
            elif name is None or edit.get("value") is not None:
                _set(fixed, self._steps(label), label, edit)
        # Names come last, and the innermost first: until then every part is where it was.
        renamed = [(self._steps(e["at"]), e) for e in edits if e.get("name") is not None]
        for steps, edit in sorted(renamed, key=lambda pair: -len(pair[0])):
            _rename(fixed, steps, edit["at"], edit["name"])
        if fixed == self.workflow:
            raise ImpossibleEdit("the edits change nothing")
        return fixed

    def _steps(self, label: str) -> Steps:
        steps = self.present.get(label) or self.missing.get(label)
        if steps is None:
            raise ImpossibleEdit(f"{label} is a reference and has no name that could be changed")
        return steps


def edit_targets(
    workflow: dict[str, Any],
    findings: Sequence[Finding],
    purpose_of: Callable[[str], Collection[str]] = lambda type_: (),
) -> EditTargets:
    """Return the parts that may be changed, those of nodes with findings first.

    What a node is for, by `purpose_of` its type, is not offered: only its references may change.
    """
    nodes = {node["id"]: at for at, node in enumerate(workflow["nodes"])}
    wrong = dict.fromkeys(outer_node(f.location.symbol) for f in findings)
    order = [*(name for name in wrong if name in nodes), *(n for n in nodes if n not in wrong)]
    targets = [
        pair for name in order for pair in _params_of_node(workflow, nodes[name], purpose_of)
    ]
    targets += [
        (f"outputs{_spelled(name)}.source", ("outputs", name, "source"))
        for name, output in workflow.get("outputs", {}).items()
        if "source" in output
    ]
    present = {label: p for label, p in targets if len(label) <= _LONGEST_LABEL}
    return EditTargets(
        workflow,
        tuple(_references(workflow, findings)),
        dict(list(present.items())[:_MOST_PLACES]),
        {label: steps for f in findings for label, steps in _missing(workflow, nodes, f)},
    )


def _params_of_node(
    workflow: Mapping[str, Any], at: int, purpose_of: Callable[[str], Collection[str]]
) -> Iterator[tuple[str, Steps]]:
    node = workflow["nodes"][at]
    params, purpose = node.get("params", {}), purpose_of(str(node.get("type")))
    fixed = {name for name in purpose if name in params and not references_in(params[name])}
    root = f"nodes{_spelled(node['id'])}"
    if "batch" in node:
        yield f"{root}.batch.items", ("nodes", at, "batch", "items")
    for steps in _within({name: one for name, one in params.items() if name not in fixed}):
        yield f"{root}.params{_spelled(*steps)}", ("nodes", at, "params", *steps)


def _within(value: Any) -> Iterator[Steps]:
    """Yield all steps below, the upper ones first. Not recursive: params may be nested deeply."""
    waiting: list[tuple[Steps, Any]] = [((), value)]
    for steps, here in waiting:
        pairs = here.items() if isinstance(here, dict) else enumerate(here)
        for key, inner in pairs:
            yield (*steps, key)
            if isinstance(inner, dict | list):
                waiting.append(((*steps, key), inner))
        if len(waiting) > _MOST_PLACES:
            return


def _missing(
    workflow: Mapping[str, Any], nodes: Mapping[str, int], finding: Finding
) -> Iterator[tuple[str, Steps]]:
    name = finding.location.symbol or ""
    known = as_object(as_object(finding.data.get("schema")).get("properties"))
    if name not in nodes:
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


def _references(workflow: dict[str, Any], findings: Sequence[Finding]) -> Iterator[str]:
    unchanged = copy.deepcopy(workflow)
    for text in dict.fromkeys(text for finding in findings for text in finding.attempted):
        inner = _inner(text)
        if inner and len(text) <= _LONGEST_LABEL and redirect(unchanged, inner, inner):
            yield text


def _redirect(fixed: dict[str, Any], old: str, value: Any) -> None:
    text = value.strip() if isinstance(value, str) else ""
    new = _inner(text if text.startswith("${") else f"${{{text}}}")
    if new is None:
        raise ImpossibleEdit(f"{value!r} is not one reference, and {old} is")
    redirect(fixed, old[2:-1], new)


def _inner(text: str) -> str | None:
    """Return what is between the braces, if the text is one reference and nothing else."""
    try:
        parts = compile_template(text).split()
    except TemplateSyntaxError:
        return None
    only = parts[0] if len(parts) == 1 else ""
    return None if isinstance(only, str) else only.text


def _at(value: Any, steps: Steps) -> Any:
    for step in steps:
        value = value[step]
    return value


def _set(fixed: dict[str, Any], steps: Steps, label: str, edit: Mapping[str, Any]) -> None:
    if "value" not in edit:
        raise ImpossibleEdit(f"the edit at {label!r} has neither a value nor a name")
    if edit["value"] == REDACTED:
        raise ImpossibleEdit(f"the value at {label!r} is a secret, and cannot be changed")
    try:
        _at(fixed, steps[:-1])[steps[-1]] = edit["value"]
    except (LookupError, TypeError):
        raise ImpossibleEdit(f"{label!r} was removed by another edit") from None


def _rename(fixed: dict[str, Any], steps: Steps, label: str, name: str) -> None:
    holder = _at(fixed, steps[:-1])
    old = steps[-1]
    if not isinstance(holder, dict) or old not in holder:
        raise ImpossibleEdit(f"{label!r} has no name that could be changed")
    if name in holder:
        raise ImpossibleEdit(f"{label!r} cannot be named {name!r}: that is given already")
    renamed = {name if key == old else key: value for key, value in holder.items()}
    holder.clear()
    holder.update(renamed)
