"""Secrets in recorded runs: redacted before anything is recorded, restored when the run goes on.

`${env.NAME}` names a secret without holding it. A secret that is written into a workflow file, or
given as an input that a secret param takes, is replaced by a placeholder. The process that starts
the run still has it; to resume the run elsewhere, it must be given again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from runtrue.workflow.ir import Workflow, WorkflowIR
from runtrue.workflow.node import Pointer
from runtrue.workflow.registry import Registry
from runtrue.workflow.templates import compile_template

_PLACEHOLDER = "$sealed"


@dataclass(frozen=True, slots=True)
class RedactedWorkflow:
    """A workflow and its inputs as they may be recorded, and the secrets by their names."""

    ir: dict[str, Any]
    inputs: dict[str, Any]
    secrets: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Secret:
    """A value of a secret param, as written, and the roots of the references in it."""

    pointer: Pointer
    value: Any
    roots: frozenset[str]


def redact_workflow(
    ir: Mapping[str, Any], parsed: WorkflowIR, inputs: Mapping[str, Any], registry: Registry
) -> RedactedWorkflow:
    """Take the secrets out of a valid workflow and its inputs."""
    recorded: dict[str, Any] = _escaped(dict(ir))
    given: dict[str, Any] = _escaped(dict(inputs))
    secrets: dict[str, Any] = {}
    for secret in secrets_of(Workflow.of(ir), parsed, registry, inputs):
        if not secret.roots:
            secrets[_name(secret.pointer)] = secret.value
            _put(recorded, secret.pointer, _placeholder(secret.pointer))
        for name in secret.roots & inputs.keys():
            if inputs[name] is None:
                continue
            pointer: Pointer = ("inputs", name)
            if inputs[name] == parsed.inputs[name].get("default"):
                pointer = (*pointer, "default")
            secrets[_name(pointer)] = inputs[name]
            given[name] = _placeholder(pointer)
    return RedactedWorkflow(recorded, given, secrets)


def secrets_of(
    workflow: Workflow,
    parsed: WorkflowIR,
    registry: Registry,
    inputs: Mapping[str, Any] | None = None,
) -> Iterator[Secret]:
    """Yield the values of secret params in a valid workflow, and the defaults of their inputs.

    Where a param is nothing but an input, its value decides whether it is a secret.
    """
    taken: dict[str, None] = {}
    for n, node in enumerate(parsed.nodes):
        node_type = registry.node(node.type)
        verbatim = node_type.verbatim if node_type is not None else frozenset()
        shown = {
            name: value if name in verbatim else _given(value, inputs or {})
            for name, value in node.params.items()
        }
        pointers = (
            node_type.secret_places(shown, workflow, registry) if node_type is not None else ()
        )
        for inner in pointers:
            value, pointer = _written(node.params, inner)
            if value is None:
                continue
            part = value if node_type is None else node_type.secret_part(pointer, value)
            roots = frozenset(reference.root for reference in compile_template(part).references)
            taken.update(dict.fromkeys(sorted(roots & parsed.inputs.keys())))
            yield Secret(("nodes", n, "params", *pointer), value, roots)
    for name in taken:
        default = parsed.inputs[name].get("default")
        if default is not None:
            yield Secret(("inputs", name, "default"), default, frozenset())


def _given(value: Any, inputs: Mapping[str, Any]) -> Any:
    """Return a param as written or, where that is nothing but an input, the input's value."""
    template = compile_template(value)
    if len(template.references) == 1 and template.references[0].root in inputs:
        whole = isinstance(value, str) and len(template.split()) == 1
        return template.render(inputs) if whole and not template.references[0].steps else value
    return value


def _written(params: Mapping[str, Any], pointer: Pointer) -> tuple[Any, Pointer]:
    """Return what is written at a pointer of the params, or at the nearest one around it."""
    value: Any = params
    for depth, part in enumerate(pointer):
        if isinstance(value, str):
            return value, pointer[:depth]
        value = value[part]
    return value, pointer


def restore_secrets(value: Any, secrets: Mapping[str, Any]) -> Any:
    """Put the secrets back into a recorded value. Raises KeyError with the name of one."""
    if isinstance(value, dict):
        if value.keys() == {_PLACEHOLDER}:
            named = value[_PLACEHOLDER]
            # Anything but a name is data that looks like a placeholder.
            return secrets[named] if isinstance(named, str) else {_PLACEHOLDER: named[0]}
        return {key: restore_secrets(inner, secrets) for key, inner in value.items()}
    if isinstance(value, list):
        return [restore_secrets(inner, secrets) for inner in value]
    return value


def placeholders(recorded: Any, written: Any) -> Iterator[tuple[str, Any]]:
    """Yield the name of each placeholder, and what is written where it is recorded."""
    if isinstance(recorded, dict) and recorded.keys() == {_PLACEHOLDER}:
        if isinstance(recorded[_PLACEHOLDER], str):
            yield recorded[_PLACEHOLDER], written
    elif isinstance(recorded, dict) and isinstance(written, dict):
        for key in recorded.keys() & written.keys():
            yield from placeholders(recorded[key], written[key])
    elif isinstance(recorded, list) and isinstance(written, list):
        for inner, counterpart in zip(recorded, written, strict=False):
            yield from placeholders(inner, counterpart)


def _escaped(value: Any) -> Any:
    """Return a copy in which nothing that was given looks like a placeholder."""
    if isinstance(value, dict):
        if value.keys() == {_PLACEHOLDER}:
            return {_PLACEHOLDER: [deepcopy(value[_PLACEHOLDER])]}
        return {key: _escaped(inner) for key, inner in value.items()}
    return [_escaped(inner) for inner in value] if isinstance(value, list) else value


def secret_texts(secrets: Any) -> Iterator[str]:
    """Yield the pieces of text in secrets, which must appear nowhere."""
    if isinstance(secrets, str):
        yield secrets
    elif isinstance(secrets, dict | list):
        for inner in secrets.values() if isinstance(secrets, dict) else secrets:
            yield from secret_texts(inner)


def _name(pointer: Pointer) -> str:
    return ".".join(map(str, pointer))


def _placeholder(pointer: Pointer) -> dict[str, str]:
    return {_PLACEHOLDER: _name(pointer)}


def _put(data: Any, pointer: Pointer, value: Any) -> None:
    for part in pointer[:-1]:
        data = data[part]
    data[pointer[-1]] = value
