"""Requests of API operations: their arguments as the params of an `http` node."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

from runtrue.errors import NodeFailed, RuntimeValidationError
from runtrue.loop import Fault
from runtrue.workflow.apis.operation import FORM, MULTIPART, ApiOperation, ApiParameter, is_json
from runtrue.workflow.apis.security import ApiScheme
from runtrue.workflow.fill import PartialText, is_known
from runtrue.workflow.nodes.http_params import as_text

_SEPARATORS = {"spaceDelimited": " ", "pipeDelimited": "|"}


def request_params(operation: ApiOperation, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the params of the `http` node that sends an operation, without authentication."""
    given = [(p, arguments[p.name]) for p in operation.parameters if p.name in arguments]
    headers = {p.wire_name: _joined(v) for p, v in given if p.place == "header" and v is not None}
    if operation.accept:
        headers.setdefault("Accept", operation.accept)
    cookies = [f"{p.wire_name}={_joined(value)}" for p, value in given if p.place == "cookie"]
    query = dict(pair for p, v in given if p.place == "query" for pair in _query(p, v))
    params: dict[str, Any] = {
        "method": operation.method,
        "url": _url(operation, arguments),
        "params": query or None,
        **_body(operation, arguments, headers),
    }
    if cookies:
        headers["Cookie"] = "; ".join(cookies)
    return {**params, "headers": headers or None}


def authenticate(
    params: dict[str, Any], scheme: ApiScheme, secret: str, *, name: str
) -> dict[str, Any]:
    """Return a request with a secret in the place that its scheme says."""
    headers = dict(params.get("headers") or {})
    secret = secret.strip()
    if not secret:
        raise NodeFailed(
            f"{name} is empty",
            category="missing_secret",
            fault=Fault.CREDENTIALS,
            attempted=(name,),
        )
    match scheme.type:
        case "bearer":
            headers["Authorization"] = f"Bearer {secret}"
        case "basic":
            # `user:password`; a key alone is the user, as many APIs have it.
            pair = secret if ":" in secret else f"{secret}:"
            encoded = base64.b64encode(pair.encode("utf-8", "surrogateescape"))
            headers["Authorization"] = f"Basic {encoded.decode()}"
        case "header":
            headers[scheme.name] = secret
        case "cookie":
            before = headers.get("Cookie")
            cookie = f"{scheme.name}={secret}"
            headers["Cookie"] = f"{before}; {cookie}" if before else cookie
        case "query":
            query = {**(params.get("params") or {}), scheme.name: secret}
            return {**params, "params": query}
    return {**params, "headers": headers}


def path_problem(value: object) -> str | None:
    """Return what is wrong with the value of a parameter in a path."""
    if value in ("", None):
        return "it is empty, which would name something else"
    if value in (".", ".."):
        return f"{value!r} would lead to another resource"
    return None


def _url(operation: ApiOperation, arguments: Mapping[str, Any]) -> str:
    path, known = operation.path, True
    for parameter in operation.parameters:
        if parameter.place != "path":
            continue
        value = arguments.get(parameter.name)
        if isinstance(value, PartialText):
            known = known and is_known(value)
            part = str(value)
        else:
            if problem := path_problem(value):
                raise RuntimeValidationError(
                    f"param {parameter.name!r}: {problem}",
                    category="bad_param",
                    attempted=(parameter.name,),
                )
            part = quote(_joined(value), safe=",")
        path = path.replace(f"{{{parameter.wire_name}}}", part)
    # A path that does not begin so could make the server the name of a user at another one.
    url = f"{operation.base_url.rstrip('/')}/{path.removeprefix('/')}"
    return url if known else PartialText(url, known=False, secrets=())


def _joined(value: Any, separator: str = ",") -> str:
    if isinstance(value, list):
        return separator.join(_joined(one) for one in value)
    if isinstance(value, dict):
        return separator.join(f"{key},{_joined(one)}" for key, one in value.items())
    return value if isinstance(value, str) else as_text(value)


def _query(parameter: ApiParameter, value: Any) -> Iterator[tuple[str, Any]]:
    name = parameter.wire_name
    if isinstance(value, dict) and parameter.style == "deepObject":
        yield from _nested(name, value)
    elif isinstance(value, dict) and parameter.explode:
        yield from ((str(key), one) for key, one in value.items())
    elif isinstance(value, list) and any(isinstance(one, dict | list) for one in value):
        yield from _nested(name, value)
    elif isinstance(value, list) and parameter.explode:
        yield name, value
    elif isinstance(value, dict | list):
        yield name, _joined(value, _SEPARATORS.get(parameter.style, ","))
    else:
        yield name, value


def _nested(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the pairs of a form for a value within others: `a[b][0]`."""
    if isinstance(value, dict):
        for key, one in value.items():
            yield from _nested(f"{name}[{key}]", one)
    elif isinstance(value, list):
        for at, one in enumerate(value):
            yield from _nested(f"{name}[{at}]", one)
    else:
        yield name, value


def _body(
    operation: ApiOperation, arguments: Mapping[str, Any], headers: dict[str, str]
) -> dict[str, Any]:
    body = operation.body
    if body is None:
        return {}
    if body.content_type == MULTIPART:
        raise RuntimeValidationError(MULTIPART_PROBLEM, category="unsupported_body")
    if body.whole is not None:
        if body.whole not in arguments:
            return {}
        headers["Content-Type"] = body.content_type
        value = arguments[body.whole]
        return {"json": value} if is_json(body.content_type) else {"body": value}
    declared = {p.name: p.wire_name for p in operation.parameters if p.place == "body"}
    others = {p.name for p in operation.parameters if p.place != "body"} | {"auth"}
    sent = {
        declared.get(name, name): value for name, value in arguments.items() if name not in others
    }
    if not sent and not body.required:
        return {}
    headers["Content-Type"] = body.content_type
    if body.content_type.partition(";")[0].strip().lower() == FORM:
        styles = {p.wire_name: p.style for p in operation.parameters if p.place == "body"}
        nested = {name for name, style in styles.items() if style == "deepObject"}
        pairs = [_form_pairs(name, value, name in nested) for name, value in sent.items()]
        return {"body": dict(pair for some in pairs for pair in some)}
    return {"json": sent}


MULTIPART_PROBLEM = "it sends multipart/form-data, which runtrue cannot send yet"


def _form_pairs(name: str, value: Any, nested: bool) -> Iterator[tuple[str, Any]]:
    is_plain_list = isinstance(value, list) and not any(isinstance(v, dict | list) for v in value)
    # A list by itself repeats its name, unless the document says otherwise.
    yield from [(name, value)] if is_plain_list and not nested else _nested(name, value)
