"""Operations out of documents of every version, and the requests that they make."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from runtrue.errors import RuntimeValidationError
from runtrue.home import Home
from runtrue.workflow import ApiStore, Registry, nearest_operations, open_api
from runtrue.workflow.apis.request import request_params
from tests.workflow.apis.kubernetes_shape import kubernetes_shaped

BASE = "http://api.example"


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    return Registry(Home(tmp_path / "home"), tmp_path)


def add(registry: Registry, document: dict[str, Any], **options: Any) -> Registry:
    file = registry.directory / "api.json"
    file.write_text(json.dumps(document))
    opened, settings = open_api("x", str(file), **options)
    ApiStore(registry.home).add("x", settings, opened)
    return registry


def operation(**parts: Any) -> dict[str, Any]:
    return {"operationId": "op", "responses": {}, **parts}


def openapi(one: dict[str, Any], *, version: str = "3.1.0", path: str = "/a") -> dict[str, Any]:
    return {"openapi": version, "servers": [{"url": BASE}], "paths": {path: {"post": one}}}


def sent(registry: Registry, arguments: dict[str, Any]) -> dict[str, Any]:
    found = registry.apis["x"].operation("op")
    assert found is not None
    return request_params(found, arguments)


def parameter(name: str, place: str, **parts: Any) -> dict[str, Any]:
    return {"name": name, "in": place, "schema": {}, **parts}


@pytest.mark.parametrize(
    ("written", "value", "query"),
    [
        ({}, ["a", "b"], {"q": ["a", "b"]}),
        ({"explode": False}, ["a", "b"], {"q": "a,b"}),
        ({"style": "pipeDelimited", "explode": False}, ["a", "b"], {"q": "a|b"}),
        ({"style": "spaceDelimited", "explode": False}, ["a", 1], {"q": "a 1"}),
        ({"style": "deepObject"}, {"a": {"b": 1}, "c": [2]}, {"q[a][b]": 1, "q[c][0]": 2}),
        ({}, {"a": 1}, {"a": 1}),
        ({}, True, {"q": True}),
    ],
)
def test_a_query_is_written_in_the_style_of_the_document(
    registry: Registry, written: dict[str, Any], value: Any, query: dict[str, Any]
) -> None:
    document = openapi(operation(parameters=[parameter("q", "query", **written)]))
    assert sent(add(registry, document), {"q": value})["params"] == query


@pytest.mark.parametrize(
    ("format_", "query"), [("csv", "a,b"), ("multi", ["a", "b"]), ("pipes", "a|b"), ("ssv", "a b")]
)
def test_swagger_2_has_its_own_words_for_lists(
    registry: Registry, format_: str, query: Any
) -> None:
    one = {"name": "q", "in": "query", "type": "array", "collectionFormat": format_}
    document = {
        "swagger": "2.0",
        "host": "api.example",
        "basePath": "/v1",
        "schemes": ["http", "https"],
        "paths": {"/a": {"get": operation(parameters=[one])}},
    }
    request = sent(add(registry, document), {"q": ["a", "b"]})
    assert request["params"] == {"q": query}
    assert request["url"] == "https://api.example/v1/a"


def test_a_path_cannot_be_left_by_a_value(registry: Registry) -> None:
    one = operation(parameters=[parameter("id", "path")])
    add(registry, openapi(one, path="/users/{id}"))
    assert sent(registry, {"id": "a/../b?c#d"})["url"] == f"{BASE}/users/a%2F..%2Fb%3Fc%23d"
    for value in ("..", ".", ""):
        with pytest.raises(RuntimeValidationError):
            sent(registry, {"id": value})


def test_headers_and_cookies_go_where_they_belong(registry: Registry) -> None:
    places = [parameter("X-Trace", "header"), parameter("session", "cookie")]
    add(registry, openapi(operation(parameters=[*places, parameter("accept", "header")])))
    request = sent(registry, {"X_Trace": "1", "session": "s"})
    assert request["headers"] == {"X-Trace": "1", "Cookie": "session=s"}


def body(schema: dict[str, Any], content: str = "application/json", **parts: Any) -> Any:
    return {"required": True, "content": {content: {"schema": schema, **parts}}}


def test_names_that_clash_get_their_place(registry: Registry) -> None:
    schema = {"properties": {"id": {"type": "string"}, "auth": {"type": "string"}}}
    one = operation(parameters=[parameter("id", "path")], requestBody=body(schema))
    add(registry, openapi(one, path="/a/{id}"))
    request = sent(registry, {"id": "1", "id_body": "2", "auth_body": "3"})
    assert request["url"] == f"{BASE}/a/1"
    assert request["json"] == {"id": "2", "auth": "3"}


def test_a_body_that_is_no_object_is_one_param(registry: Registry) -> None:
    schema = {"type": "array", "items": {"type": "string"}}
    add(registry, openapi(operation(requestBody=body(schema, "application/merge-patch+json"))))
    request = sent(registry, {"body": ["a"]})
    assert request["json"] == ["a"]
    assert request["headers"]["Content-Type"] == "application/merge-patch+json"


def test_members_of_all_parts_of_a_body_are_params(registry: Registry) -> None:
    named = {"required": ["name"], "properties": {"name": {"type": "string"}}}
    schema = {"allOf": [named, {"properties": {"age": {"type": ["integer", "null"]}}}]}
    add(registry, openapi(operation(requestBody=body(schema))))
    node = registry.node("api-x-op")
    assert node is not None
    assert list(node.interface.params) == ["name", "age"]
    assert node.interface.required == ("name",)
    assert sent(registry, {"name": "a", "age": None})["json"] == {"name": "a", "age": None}


def test_schemas_that_refer_to_themselves_or_to_nothing_end(registry: Registry) -> None:
    document = openapi(
        operation(
            requestBody=body({"$ref": "#/components/schemas/Tree"}),
            parameters=[{"$ref": "#/components/parameters/gone"}],
        )
    )
    tree = {"type": "object", "properties": {"left": {"$ref": "#/components/schemas/Tree"}}}
    document["components"] = {"schemas": {"Tree": tree, "Loop": {"$ref": "#/nowhere"}}}
    node = add(registry, document).node("api-x-op")
    assert node is not None
    Draft202012Validator.check_schema(node.interface.params_schema)
    assert list(node.interface.params) == ["left"]


@pytest.mark.parametrize(
    "broken",
    [
        {"type": "strnig", "minimum": "3", "pattern": r"\p{L}", "required": True},
        {"type": ["string", 7], "enum": "no list", "properties": []},
        {"exclusiveMinimum": True, "minimum": 1, "items": [], "allOf": {}},
        True,
        None,
    ],
)
def test_a_broken_schema_allows_anything_and_breaks_nothing(
    registry: Registry, broken: object
) -> None:
    document = openapi(operation(parameters=[{"name": "q", "in": "query", "schema": broken}]))
    node = add(registry, document).node("api-x-op")
    assert node is not None
    Draft202012Validator.check_schema(node.interface.params_schema)


def test_every_operation_of_a_large_document_has_a_valid_interface(registry: Registry) -> None:
    add(registry, kubernetes_shaped(BASE, kinds=3))
    interfaces = [one for one in registry.interfaces() if one.server == "x"]
    assert len(interfaces) == 24
    for one in interfaces:
        Draft202012Validator.check_schema(one.params_schema)


def test_operations_are_found_by_rare_words_first(registry: Registry) -> None:
    add(registry, kubernetes_shaped(BASE))
    found = nearest_operations("delete the pod web in default", registry.apis.values(), 5)
    assert [entry.name for _, entry in found][:1] == ["deleteV1NamespacedPod"]


def test_a_document_of_several_files_is_read_whole(registry: Registry) -> None:
    folder = registry.directory / "spec"
    (folder / "parts").mkdir(parents=True)
    (folder / "api.yaml").write_text(
        f"openapi: 3.0.0\nservers: [{{url: {BASE}}}]\npaths:\n  /a: {{$ref: parts/a.yaml}}\n"
    )
    (folder / "parts" / "a.yaml").write_text(
        "get:\n  operationId: op\n  parameters: [{$ref: 'common.yaml#/limit'}]\n  responses: {}\n"
    )
    (folder / "parts" / "common.yaml").write_text(
        "limit: {name: limit, in: query, schema: {type: integer}}\n"
    )
    document, settings = open_api("x", str(folder / "api.yaml"))
    ApiStore(registry.home).add("x", settings, document)
    node = registry.node("api-x-op")
    assert node is not None
    assert node.interface.params == {"limit": {"type": "integer"}}


def test_a_secret_is_sent_as_the_scheme_says_and_only_where_it_is_needed(
    registry: Registry,
) -> None:
    document = openapi(operation())
    document["paths"]["/open"] = {"get": {"operationId": "open", "security": []}}
    document["security"] = [{"key": []}]
    key = {"type": "apiKey", "in": "query", "name": "k"}
    document["components"] = {"securitySchemes": {"key": key}}
    add(registry, document)
    closed, opened = registry.node("api-x-op"), registry.node("api-x-open")
    assert closed is not None
    assert opened is not None
    assert closed.implied({}) == {"auth": {"key": "${env.X_API_KEY}"}}
    assert closed.implied({"auth": "${env.OTHER}"}) == {}
    assert opened.implied({}) == {}
    assert closed.convert({"auth": {"key": "secret"}}).params == {"k": "secret"}
