"""Components: node types and saved workflows in few words, those of others in a fence."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from runtrue.models import fence
from runtrue.planner.seams import SavedWorkflow
from runtrue.workflow import Interface, describe_type

T = TypeVar("T")

#: Characters for a description, for that of a param or output, and for a whole component.
_ABOUT, _DETAIL, _WHOLE = 400, 160, 2_500
_FENCED = 60_000
_WORD = re.compile(r"[^\W_]{2,}")


def components_text(components: Sequence[Interface]) -> str:
    """What each node type takes and gives. What MCP servers say of their tools is fenced."""
    own = [_component(one) for one in components if one.server is None]
    tools = [_component(one) for one in components if one.server is not None]
    parts = ["\n".join(own)] if own else []
    if tools:
        parts += ["Tools of MCP servers, as the servers describe them:"]
        parts += [fence("\n".join(tools), limit=_FENCED)]
    return "\n\n".join(parts) or "None."


def brief_text(components: Iterable[Interface]) -> str:
    """One line for each node type, to choose from."""
    return fence(
        "\n".join(f"- {one.type}: {_line(one.description)}" for one in components), limit=_FENCED
    )


def saved_text(saved: Iterable[SavedWorkflow]) -> str:
    """The saved workflows with their inputs."""
    lines = [f"- {one.name}: {_line(one.description)}{_inputs(one)}" for one in saved]
    return fence("\n".join(lines), limit=_FENCED) if lines else "None."


def nearest(task: str, things: Sequence[T], text: Callable[[T], str], most: int) -> list[T]:
    """The things that share most words with the task, if they are more than can be shown."""
    if len(things) <= most:
        return list(things)
    words = _words(task)
    shared = {at: len(words & _words(text(thing))) for at, thing in enumerate(things)}
    kept = sorted(sorted(shared, key=lambda at: -shared[at])[:most])
    return [things[at] for at in kept]


def _component(one: Interface) -> str:
    lines = [f"- {one.type}: {_line(one.description)}"]
    for name, declared in one.params.items():
        # What a server declares need not be what it should be.
        schema: Any = declared
        about = schema.get("description") if isinstance(schema, dict) else None
        must = ", required" if name in one.required else ""
        lines.append(f"  - {name} ({_type(schema)}{must}){_about(about)}")
    outputs = [f"{name} ({output.type})" for name, output in one.outputs.items() if name != "error"]
    more = ["others"] if one.open_outputs else []
    lines.append(f"  outputs: {', '.join([*outputs, *more]) or 'none'}")
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
