"""The `api-<name>-<operation>` nodes: every operation of an API that was added."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar

from runtrue.errors import NodeFailed, RuntimeValidationError
from runtrue.workflow.apis.document import Data
from runtrue.workflow.apis.files import Api
from runtrue.workflow.apis.operation import AUTH, MULTIPART, ApiOperation
from runtrue.workflow.apis.request import (
    MULTIPART_PROBLEM,
    authenticate,
    path_problem,
    request_params,
)
from runtrue.workflow.context import Context
from runtrue.workflow.effect import Effect
from runtrue.workflow.fill import leaves
from runtrue.workflow.node import Interface, Output, Pointer, Result, WorkflowNode, describe_type
from runtrue.workflow.nodes.http import HttpNode
from runtrue.workflow.nodes.http_effect import request_effect
from runtrue.workflow.nodes.http_params import HttpParams, url_problem
from runtrue.workflow.templates import has_reference

PREFIX = "api-"
_FACTS = ("status_code", "response_headers", "response_time", "response_is_binary")
_MOST_FIELDS, _DEEPEST = 40, 2


def find_operation(name: str, apis: Mapping[str, Api]) -> ApiNode | None:
    """Return the node type of an operation, or None."""
    rest = name.removeprefix(PREFIX)
    # Names of APIs and operations may both contain dashes.
    for api in sorted(apis, key=len, reverse=True):
        if rest.startswith(f"{api}-"):
            found = apis[api].operation(rest[len(api) + 1 :])
            if found is not None:
                return ApiNode(name, apis[api], found)
    return None


class ApiNode(WorkflowNode[HttpParams]):
    """One operation. Its params are those of the document, those of a body among them."""

    secret_params: ClassVar[frozenset[str]] = frozenset({AUTH})
    purpose: ClassVar[frozenset[str]] = frozenset({AUTH})

    def __init__(self, name: str, api: Api, operation: ApiOperation) -> None:
        self._name = name
        self._api = api
        self._operation = operation
        self._http = HttpNode()

    @cached_property
    def _secrets(self) -> dict[str, str]:
        return self._api.secrets_for(self._operation.security)

    @cached_property
    def interface(self) -> Interface:
        """The params and outputs, as the document declares them."""
        operation = self._operation
        properties: Data = {one.name: one.schema for one in operation.parameters}
        if self._secrets:
            properties[AUTH] = self._auth_schema()
        schema: Data = {
            "type": "object",
            "properties": properties,
            "required": [one.name for one in operation.parameters if one.required],
            "additionalProperties": bool(operation.body and operation.body.is_open),
        }
        if operation.definitions:
            schema["$defs"] = operation.definitions
        result = operation.result_schema
        fields = _properties(result or {}, result or {})
        outputs = {
            name: Output(describe_type(_target(one, result or {})), _about(one))
            for name, one in fields.items()
        }
        outputs["result"] = Output(_drawn(result), "The whole answer; its fields are outputs too.")
        outputs["status_code"] = Output("integer", "The status, such as 200.")
        outputs["response_headers"] = Output("object", "The headers, by names in lower case.")
        outputs["error"] = Output("string", "Why the call failed.")
        return Interface(
            type=self._name,
            description=operation.description,
            params_schema=schema,
            outputs=outputs,
            # A schema that names fields is taken at its word: a guessed field is found early.
            open_outputs=not fields or bool((result or {}).get("additionalProperties")),
            server=self._api.name,
            reads=operation.reads,
            fields=tuple(_field_names(result or {})),
        )

    def _auth_schema(self) -> Data:
        names = ", ".join(self._secrets.values())
        return {
            "type": ["string", "object"],
            "description": f"The secret to send instead of {names}, as ${{env.NAME}}.",
        }

    def implied(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the secret that the API was added with, unless another is given."""
        if AUTH in params or not self._secrets:
            return {}
        return {AUTH: {scheme: f"${{env.{name}}}" for scheme, name in self._secrets.items()}}

    def has_side_effect(self, params: Mapping[str, Any]) -> bool:
        """True for all methods but those that only read."""
        return not self._operation.reads

    def effects(self, params: Mapping[str, Any]) -> Iterator[Effect]:
        """Yield the request: its host and method are the document's."""
        sent = {name: value for name, value in params.items() if name != AUTH}
        try:
            request = request_params(self._operation, sent)
        except RuntimeValidationError:
            # It cannot be sent either.
            request = {"method": self._operation.method, "url": self._operation.base_url}
        effect = request_effect(request)
        given = () if effect.reads else (v for v in leaves(sent) if v not in (None, False, ""))
        yield replace(effect, via=self._name, values=tuple(map(str, given)))

    def check(self, params: Mapping[str, Any]) -> Iterator[tuple[Pointer, str]]:
        """Yield what is wrong with params as written."""
        operation = self._operation
        if operation.body is not None and operation.body.content_type == MULTIPART:
            yield (), f"{self._name!r} cannot be used: {MULTIPART_PROBLEM}"
        if wrong := url_problem(operation.base_url):
            yield (), f"{self._name!r} has no server to send to: {wrong}"
        for one in operation.parameters:
            value = params.get(one.name, "-")
            if one.place == "path" and not has_reference(value) and (bad := path_problem(value)):
                yield (one.name,), bad

    def convert(self, params: dict[str, Any]) -> HttpParams:
        """Return the request that the arguments make."""
        sent = {name: value for name, value in params.items() if name != AUTH}
        request = request_params(self._operation, sent)
        for scheme, secret in self._given(params.get(AUTH)):
            name = self._secrets.get(scheme, AUTH)
            request = authenticate(request, self._api.settings.schemes[scheme], secret, name=name)
        return self._http.convert(
            {name: value for name, value in request.items() if value is not None or name == "json"}
        )

    def _given(self, auth: object) -> Iterator[tuple[str, str]]:
        if isinstance(auth, str):
            auth = dict.fromkeys(list(self._secrets)[:1], auth)
        for scheme, secret in auth.items() if isinstance(auth, dict) else ():
            if scheme not in self._api.settings.schemes:
                raise RuntimeValidationError(
                    f"param 'auth': the API has no scheme {scheme!r}",
                    category="bad_param",
                    attempted=(str(scheme),),
                    available=tuple(self._api.settings.schemes),
                )
            yield str(scheme), str(secret)

    async def run(self, params: HttpParams, context: Context) -> Result:
        """Send the request and read the answer."""
        try:
            answered = await self._http.run(params, context)
        except NodeFailed as failed:
            failed.outputs = _outputs(failed.outputs)
            raise
        return Result(_outputs(answered.outputs))


def _outputs(answered: Mapping[str, Any]) -> dict[str, Any]:
    """Return what an http node gave as the outputs of an operation."""
    result = answered.get("response")
    fields = result if isinstance(result, dict) else {}
    facts = {name: answered[name] for name in (*_FACTS, "error") if name in answered}
    own = {"result": result} if "response" in answered else {}
    return {**fields, **facts, **own}


# -- what an answer holds ---------------------------------------------------------------------


def _target(schema: object, root: Data) -> Data:
    for _ in range(10):
        if not isinstance(schema, dict) or not isinstance(schema.get("$ref"), str):
            break
        schema = root.get("$defs", {}).get(schema["$ref"].rpartition("/")[2], {})
    return schema if isinstance(schema, dict) else {}


def _properties(schema: object, root: Data, depth: int = 0) -> dict[str, Data]:
    """Return the fields of an object, also those of what it is made of."""
    target = _target(schema, root)
    found: dict[str, Data] = dict(target.get("properties", {}))
    for one in target.get("allOf", ()) if depth < 5 else ():
        found = {**_properties(one, root, depth + 1), **found}
    return found


def _about(schema: Data) -> str:
    return " ".join(str(schema.get("description", "")).split())[:160]


def _drawn(schema: Data | None) -> str:
    """Return what an answer looks like, its fields included, in a line."""
    return "any" if schema is None else _draw(schema, schema, 0)


def _draw(schema: object, root: Data, depth: int) -> str:
    target = _target(schema, root)
    if isinstance(target.get("items"), dict):
        return f"array of {_draw(target['items'], root, depth)}"
    fields = _properties(target, root)
    if not fields or depth >= _DEEPEST:
        return describe_type(target)
    drawn = []
    for name, one in list(fields.items())[:_MOST_FIELDS]:
        inner = _target(one, root)
        nested = _properties(inner, root) or isinstance(inner.get("items"), dict)
        shown = nested and depth + 1 < _DEEPEST
        drawn.append(f"{name}: {_draw(one, root, depth + 1)}" if shown else name)
    more = ", …" if len(fields) > _MOST_FIELDS else ""
    return f"{{{', '.join(drawn)}{more}}}"


def _field_names(schema: Data) -> Iterator[str]:
    """Yield the names of the fields of an answer, or of the items of one."""
    target = _target(schema, schema)
    if isinstance(target.get("items"), dict):
        target = _target(target["items"], schema)
    fields = _properties(target, schema)
    yield from fields
    for one in fields.values():
        inner = _target(one, schema)
        if isinstance(inner.get("items"), dict):
            yield from _properties(_target(inner["items"], schema), schema)
