"""Derive the effects of a workflow from what it says.

This is done before anything runs, with the inputs filled in, and once more when a node is about to
run and all of its params are known.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from runtrue.errors import UsageError
from runtrue.workflow.effect import PATHS, Effect, EffectKind
from runtrue.workflow.file_access import locate
from runtrue.workflow.fill import fill, secrets_of_value
from runtrue.workflow.ir import Batch, NodeIR, WorkflowIR, parse_ir
from runtrue.workflow.paths import opened

if TYPE_CHECKING:
    from runtrue.workflow.context import Surroundings
    from runtrue.workflow.node import WorkflowNode


def effects_of(
    workflow: Mapping[str, Any], inputs: Mapping[str, Any], surroundings: Surroundings
) -> tuple[Effect, ...]:
    """Return the effects of a workflow, each once, those of workflows within it included."""
    parsed = parse_ir(workflow)
    found = _of_workflow(parsed, inputs, surroundings, "", 0)
    return tuple({effect.identity: effect for effect in reversed([*found])}.values())[::-1]


def effects_of_node(
    node: NodeIR,
    node_type: WorkflowNode[Any],
    store: Mapping[str, Any],
    surroundings: Surroundings,
) -> Iterator[Effect]:
    """Yield the effects of one node, for each item of its batch."""
    for scope in _scopes(node.batch, store):
        params = _filled(node, node_type, scope)
        found = [_located(effect, surroundings) for effect in node_type.effects(params)]
        within = surroundings.within
        yield from (replace(effect, node=node.id, within=within) for effect in found)
        if not node_type.is_call:
            # What it is made of is asked for its own effects.
            continue
        receiver = _receiver(node, found)
        implied = fill(dict(node_type.implied(params)), {})
        for name in secrets_of_value([params, implied]):
            yield Effect(
                kind=EffectKind.SECRET,
                node=node.id,
                within=within,
                target=name,
                detail=receiver.text,
                origin=receiver.origin,
                via=receiver.via if name in secrets_of_value(implied) else "",
                known=receiver.known,
            )


# -- workflows within workflows -------------------------------------------------------------------


def _of_workflow(
    parsed: WorkflowIR,
    inputs: Mapping[str, Any],
    surroundings: Surroundings,
    within: str,
    depth: int,
) -> Iterator[Effect]:
    for node in parsed.nodes:
        node_type = surroundings.registry.node(node.type)
        if node_type is None:
            # A server that was not asked for its tools, since nobody trusts it yet, say.
            kind = EffectKind.TOOL if node.type.startswith("mcp-") else EffectKind.NODE
            yield Effect(kind=kind, node=f"{within}{node.id}", target=node.type, known=False)
            continue
        found = (
            _of_inner(node, node_type, inputs, surroundings, depth)
            if node.type == "workflow"
            else effects_of_node(node, node_type, inputs, surroundings)
        )
        yield from (replace(effect, node=f"{within}{effect.node}") for effect in found)


def _of_inner(
    node: NodeIR,
    node_type: WorkflowNode[Any],
    store: Mapping[str, Any],
    surroundings: Surroundings,
    depth: int,
) -> Iterator[Effect]:
    from runtrue.workflow.nodes.subworkflow import MOST_DEPTH, inner_workflow

    for scope in _scopes(node.batch, store):
        params = _filled(node, node_type, scope)
        try:
            inner = inner_workflow(params, surroundings)
            parsed = None if inner is None or depth >= MOST_DEPTH else parse_ir(inner)
        except (UsageError, msgspec.MsgspecError, KeyError, TypeError):
            # It cannot be run either.
            continue
        if inner is None or parsed is None:
            yield Effect(
                kind=EffectKind.WORKFLOW, node=node.id, target=_name_of(params), known=False
            )
            continue
        yield from (_located(effect, surroundings) for effect in node_type.effects(params))
        here = within_workflow(surroundings, inner.folder, params)
        given = params.get("param_mapping")
        inputs = {
            **{n: spec["default"] for n, spec in parsed.inputs.items() if "default" in spec},
            **(given if isinstance(given, dict) else {}),
        }
        yield from _of_workflow(parsed, inputs, here, f"{node.id}.", depth + 1)


def within_workflow(
    surroundings: Surroundings, folder: Path | None, params: Mapping[str, Any]
) -> Surroundings:
    """Return the surroundings of a workflow that these params name, read from a folder or none."""
    within = surroundings.within or _name_of(params)
    return replace(surroundings, base=folder or surroundings.base, within=within)


def _name_of(params: Mapping[str, Any]) -> str:
    names = (params.get("workflow_name"), params.get("workflow_ref"))
    return next((name for name in names if isinstance(name, str)), "")


# -- params ---------------------------------------------------------------------------------------


def _scopes(batch: Batch | None, store: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield what the params of a node can refer to, for each item that is known."""
    if batch is None:
        yield store
        return
    outer = {name: value for name, value in store.items() if name != batch.alias}
    items = fill(batch.items, store)
    if isinstance(items, str):
        items = opened(items)
    if not isinstance(items, list):
        yield outer
        return
    for index, item in enumerate(items):
        yield {**outer, batch.alias: item, "__index__": index}


def _filled(node: NodeIR, node_type: WorkflowNode[Any], store: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: value if name in node_type.verbatim else fill(value, store)
        for name, value in node.params.items()
    }


def _located(effect: Effect, surroundings: Surroundings) -> Effect:
    """Return an effect on a file with where its path really leads."""
    if effect.kind not in PATHS or not effect.known or "\0" in effect.target:
        return effect
    try:
        path = locate(effect.target, surroundings.registry.directory, surroundings.environment)
    except RuntimeError:
        return effect
    return replace(effect, target=os.path.realpath(path))


@dataclass(frozen=True, slots=True)
class _Receiver:
    """Where the secrets of a node go."""

    text: str
    origin: str = ""
    known: bool = True
    via: str = ""


def _receiver(node: NodeIR, effects: list[Effect]) -> _Receiver:
    for effect in effects:
        if effect.kind is EffectKind.REQUEST:
            known = bool(effect.origin)
            return _Receiver(effect.origin or effect.target, effect.origin, known, effect.via)
        if effect.kind is EffectKind.COMMAND:
            return _Receiver(f"the command `{effect.target}`", known=effect.known)
        if effect.kind in (EffectKind.TOOL, EffectKind.WRITE):
            noun = "MCP tool" if effect.kind is EffectKind.TOOL else "file"
            return _Receiver(f"the {noun} {effect.target}", known=effect.known)
    return _Receiver(f"the node {node.id} ({node.type})")
