"""Prompts: the files beside this module, and the facts that fill their blanks.

What others have said or sent (tools of servers, responses, messages) is fenced.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any, TypeVar

from runtrue.fields import SURE
from runtrue.loop import Finding
from runtrue.models import fence
from runtrue.planner.bounds import changes_between
from runtrue.planner.findings import as_object, outer_node, references_in
from runtrue.planner.model.redaction import as_json, structure
from runtrue.planner.seams import Doubt, FixedWorkflow, FixRequest, NoFix, SavedWorkflow, Suggestion
from runtrue.workflow import Interface, describe_type

_BLANK = re.compile(r"\{\{(\w+)\}\}")
T = TypeVar("T")

#: Characters for a description, for that of a param or output, and for a whole component.
_ABOUT, _DETAIL, _WHOLE = 400, 160, 2_500
_FENCED = 60_000
_WORD = re.compile(r"[^\W_]{2,}")
_MESSAGE, _SAMPLE, _SCHEMA, _STRUCTURE = 1_500, 2_000, 6_000, 14_000
_MOST_FINDINGS, _MOST_NAMES, _MOST_STRUCTURES = 20, 60, 6
_LONGEST_NAME = 80
#: Findings about what came back, which is drawn whole: its names are not listed again.
_EXTRACT, _REFERENCE = "missing_extract_path", "missing_template_path"


def prompt(name: str, **values: str) -> str:
    """Return the prompt of that name with its blanks filled in; values are taken as they are."""
    return _BLANK.sub(lambda blank: values[blank[1]], _text(name)).rstrip()


def quoted(task: str) -> str:
    """Quote the user's words, so that nothing else can be taken for them."""
    return "\n".join(f"> {line}" for line in task.splitlines())


@cache
def _text(name: str) -> str:
    return resources.files(__package__).joinpath(f"prompts/{name}.md").read_text("utf-8")


# -- components ---------------------------------------------------------------------------------


def components_text(components: Sequence[Interface]) -> str:
    """Describe what each node type takes and gives."""
    own = "\n".join(_component(one) for one in components if one.server is None)
    tools = "\n".join(_component(one) for one in components if one.server is not None)
    title = "Tools of MCP servers and operations of APIs, as they describe themselves:"
    fenced = f"{title}\n\n{fence(tools, limit=_FENCED)}" if tools else ""
    return "\n\n".join(filter(None, (own, fenced))) or "None."


def brief_text(components: Iterable[Interface]) -> str:
    """List the node types to choose from, one line each."""
    lines = (f"- {one.type}: {_line(one.description)}" for one in components)
    return fence("\n".join(lines), limit=_FENCED)


def saved_text(saved: Iterable[SavedWorkflow]) -> str:
    """List the saved workflows with their inputs."""
    lines = [f"- {one.name}: {_line(one.description)}{_inputs(one)}" for one in saved]
    return fence("\n".join(lines), limit=_FENCED) if lines else "None."


def nearest(task: str, things: Sequence[T], text: Callable[[T], str], most: int) -> list[T]:
    """Return, of more things than can be shown, those that share most words with the task."""
    if len(things) <= most:
        return list(things)
    words = _words(task)
    shared = {at: len(words & _words(text(thing))) for at, thing in enumerate(things)}
    nearest = sorted(shared, key=lambda at: -shared[at])[:most]
    return [things[at] for at in sorted(nearest)]


def _component(one: Interface) -> str:
    lines = [f"- {one.type}: {_line(one.description)}"]
    for name, schema in one.params.items():
        # Not every server declares its params as it should.
        about = as_object(schema).get("description")
        must = ", required" if name in one.required else ""
        lines.append(f"  - {name} ({_type(schema)}{must}){_about(about)}")
    outputs = [f"{name} ({output.type})" for name, output in one.outputs.items() if name != "error"]
    outputs += ["others"] if one.open_outputs else []
    lines.append(f"  outputs: {', '.join(outputs) or 'none'}")
    return _cut("\n".join(lines), _WHOLE)


def _type(schema: Any) -> str:
    try:
        return _cut(describe_type(schema), _DETAIL)
    except (AttributeError, TypeError):
        return "any"


def _inputs(one: SavedWorkflow) -> str:
    names = [f"{name}{_about(spec.get('description'))}" for name, spec in one.inputs.items()]
    return f" (inputs: {'; '.join(names)})" if names else ""


def _about(text: object) -> str:
    return f": {_cut(' '.join(str(text).split()), _DETAIL)}" if text else ""


def _line(text: str) -> str:
    return _cut(" ".join(text.split()), _ABOUT)


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[:length]}…"


def _words(text: str) -> set[str]:
    return {word.removesuffix("s") for word in _WORD.findall(text.casefold())}


# -- evidence -----------------------------------------------------------------------------------


def findings_text(findings: Sequence[Finding], store: Mapping[str, Any]) -> str:
    """Describe what was wrong, one part for each finding."""
    parts = [_finding(n, f, store) for n, f in enumerate(findings[:_MOST_FINDINGS], start=1)]
    more = len(findings) - len(parts)
    return "\n\n".join(parts) + (f"\n\nAnd {more} more." if more else "")


def structures_text(request: FixRequest) -> str:
    """Draw the outputs of the nodes that the findings are about."""
    parts = []
    for name, is_extract in list(_concerned(request))[:_MOST_STRUCTURES]:
        outputs = request.store[name]
        if is_extract:
            title = f"The response that `{name}` got; paths of its `extract` begin at `$`:"
            drawn = structure(outputs["response"])
        else:
            title = f"The outputs of `{name}`; references begin with `${{{name}.`:"
            drawn = structure(outputs, name)
        parts.append(f"{title}\n\n{fence(drawn, limit=_STRUCTURE)}")
    return "\n\n".join(parts) or "Nothing."


def suggestions_text(plain_fix: FixedWorkflow | NoFix, before: dict[str, Any]) -> str:
    """List what could be meant by what was not found, by the fix that needs no model."""
    if isinstance(plain_fix, FixedWorkflow):
        lines = [str(change) for change in changes_between(before, plain_fix.workflow)]
    else:
        lines = [_doubt_line(doubt) for doubt in plain_fix.doubts if doubt.candidates]
    return fence("\n".join(lines[:_MOST_FINDINGS]), limit=_SAMPLE) if lines else "Nothing."


def doubts_of(plain_fix: FixedWorkflow | NoFix, before: dict[str, Any]) -> tuple[Doubt, ...]:
    """Return the same for people, when nothing is proposed."""
    if isinstance(plain_fix, NoFix):
        return plain_fix.doubts
    return tuple(
        Doubt(
            node_id=change.node_id or "",
            attempted=change.before,
            candidates=(Suggestion(text=change.after, confidence=SURE),),
        )
        for change in changes_between(before, plain_fix.workflow)
        if isinstance(change.before, str) and isinstance(change.after, str)
    )


def _doubt_line(doubt: Doubt) -> str:
    found = (f"{one.text} {one.sample}".rstrip() for one in doubt.candidates)
    return f"{doubt.node_id}: {doubt.attempted} → {', '.join(found)}"


def _finding(number: int, finding: Finding, store: Mapping[str, Any]) -> str:
    lines = [f"## {number}. {finding.category} in `{finding.location.symbol}`"]
    lines.append(fence(_facts(finding), limit=_MESSAGE + _SAMPLE))
    if problems := finding.data.get("problems"):
        lines.append(f"Problems:\n{fence(_names(problems), limit=_SAMPLE)}")
    if finding.data.get("schema"):
        lines.append(f"What it takes:\n{as_json(finding.data['schema'], limit=_SCHEMA)}")
    if finding.sample and outer_node(finding.location.symbol) not in store:
        lines.append(f"A sample:\n{fence(finding.sample, limit=_SAMPLE)}")
    return "\n\n".join(lines)


def _facts(finding: Finding) -> str:
    facts = [_cut(finding.message, _MESSAGE)]
    facts += [f"{key}: {finding.data[key]}" for key in ("status", "method") if key in finding.data]
    for one in finding.data.get("missing", ())[:_MOST_FINDINGS]:
        facts.append(
            f"wanted {one['name']} at {one['path']}; there is something as far as {one['found']}"
        )
    if "missing" not in finding.data:
        facts.append(f"looked for: {_names(finding.attempted) or 'nothing in particular'}")
    if "missing" not in finding.data and finding.category != _REFERENCE:
        facts.append(f"available: {_names(finding.available) or 'nothing'}")
    return "\n".join(facts)


def _names(names: Sequence[Any]) -> str:
    few = [str(name)[:_LONGEST_NAME] for name in names[:_MOST_NAMES]]
    more = len(names) - len(few)
    return ", ".join(few) + (f" and {more} more" if more else "")


def _concerned(request: FixRequest) -> dict[tuple[str, bool], None]:
    """Return the nodes whose outputs matter, and whether it is their response alone that does."""
    found: dict[tuple[str, bool], None] = {}
    nodes = {node["id"]: node for node in request.workflow.get("nodes", ())}
    for finding in request.findings:
        roots = [one.root for text in finding.attempted for one in references_in(text)]
        if not any(root in request.store for root in roots) and finding.category != _EXTRACT:
            # What was wrong may be in what the node was given.
            node = nodes.get(outer_node(finding.location.symbol), {})
            items = as_object(node.get("batch")).get("items")
            roots = [
                one.root for value in (items, node.get("params")) for one in references_in(value)
            ]
        for name in (outer_node(finding.location.symbol), *roots):
            outputs = request.store.get(name)
            if isinstance(outputs, Mapping):
                found[name, finding.category == _EXTRACT and "response" in outputs] = None
    return found
