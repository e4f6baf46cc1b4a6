"""A generated document of the size and shape of Kubernetes' API: groups, kinds, deep schemas."""

from __future__ import annotations

from typing import Any

_VERBS = ("get", "put", "patch", "delete")


def kubernetes_shaped(base: str, *, kinds: int = 260) -> dict[str, Any]:
    """Return a Swagger 2 document with eight operations for each kind, on a server at `base`."""
    host = base.removeprefix("http://")
    definitions: dict[str, Any] = {
        "ObjectMeta": {
            "type": "object",
            "description": "ObjectMeta is metadata that all persisted resources must have.",
            "properties": {
                "name": {"type": "string", "description": "Name must be unique in a namespace."},
                "namespace": {"type": "string"},
                "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                "ownerReferences": {"type": "array", "items": {"$ref": "#/definitions/Owner"}},
            },
        },
        "Owner": {
            "type": "object",
            "properties": {"uid": {"type": "string"}, "of": {"$ref": "#/definitions/Owner"}},
        },
        "Status": {"type": "object", "properties": {"message": {"type": "string"}}},
    }
    paths: dict[str, Any] = {}
    for number in range(kinds):
        kind = "Pod" if number == 0 else f"Kind{number:03}"
        _add_kind(kind, f"group{number % 20}", paths, definitions)
    return {
        "swagger": "2.0",
        "info": {"title": "Kubernetes shaped", "version": "v1.34.0"},
        "host": host,
        "schemes": ["http"],
        "basePath": "/",
        "consumes": ["application/json"],
        "produces": ["application/json"],
        "paths": paths,
        "definitions": definitions,
        "securityDefinitions": {
            "BearerToken": {"type": "apiKey", "name": "authorization", "in": "header"}
        },
        "security": [{"BearerToken": []}],
    }


def _add_kind(kind: str, group: str, paths: dict[str, Any], definitions: dict[str, Any]) -> None:
    definitions[f"{kind}Spec"] = {
        "type": "object",
        "properties": {
            f"field{n}": {"type": "string", "description": "Some field of it. " * 8}
            for n in range(20)
        },
    }
    definitions[kind] = {
        "type": "object",
        "description": f"{kind} is one of the things that run in a cluster.",
        "required": ["metadata"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"$ref": "#/definitions/ObjectMeta"},
            "spec": {"$ref": f"#/definitions/{kind}Spec"},
            "status": {"$ref": "#/definitions/Status"},
        },
    }
    definitions[f"{kind}List"] = {
        "type": "object",
        "properties": {"items": {"type": "array", "items": {"$ref": f"#/definitions/{kind}"}}},
    }
    path = f"/apis/{group}/v1/namespaces/{{namespace}}/{kind.lower()}s"
    namespace = {"name": "namespace", "in": "path", "required": True, "type": "string"}
    name = {"name": "name", "in": "path", "required": True, "type": "string"}
    limit = {"name": "limit", "in": "query", "type": "integer", "description": "At most so many."}
    paths[path] = {
        "parameters": [namespace],
        "get": _operation("list", kind, f"{kind}List", [limit]),
        "post": _operation("create", kind, kind, [_body(kind)]),
        "delete": _operation("deletecollection", kind, "Status", [limit]),
    }
    one = {"parameters": [namespace, name]}
    for verb, word in zip(_VERBS, ("read", "replace", "patch", "delete"), strict=True):
        parameters = [_body(kind)] if verb in ("put", "patch") else []
        one[verb] = _operation(word, kind, kind, parameters)  # type: ignore[assignment]
    paths[f"{path}/{{name}}"] = one
    read = _operation("read", kind, kind, [])
    read["operationId"] += "Status"
    read["description"] = f"read status of the specified {kind}"
    paths[f"{path}/{{name}}/status"] = {"parameters": [namespace, name], "get": read}


def _body(kind: str) -> dict[str, Any]:
    return {"name": "body", "in": "body", "required": True, "schema": {"$ref": _ref(kind)}}


def _ref(name: str) -> str:
    return f"#/definitions/{name}"


def _operation(
    word: str, kind: str, answer: str, parameters: list[dict[str, Any]]
) -> dict[str, Any]:
    return {
        "operationId": f"{word}V1Namespaced{kind}",
        "description": f"{word} objects of the type {kind} in a namespace",
        "parameters": parameters,
        "responses": {
            "200": {"description": "OK", "schema": {"$ref": _ref(answer)}},
            "401": {"description": "Unauthorized"},
        },
    }
