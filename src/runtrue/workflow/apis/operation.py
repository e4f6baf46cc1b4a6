"""Operations: what one call of an API takes and gives, read from its document."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from runtrue.workflow.apis.document import ApiDocument, Data, Located
from runtrue.workflow.apis.schemas import SchemaWriter
from runtrue.workflow.apis.security import ApiScheme, Security, read_security

ParameterPlace: TypeAlias = Literal["path", "query", "header", "cookie", "body"]
FORM, MULTIPART = "application/x-www-form-urlencoded", "multipart/form-data"
#: The param of a node that says how to authenticate.
AUTH = "auth"
_PLACES: tuple[ParameterPlace, ...] = ("path", "query", "header", "cookie")
#: Headers that are made from something else.
_OWN_HEADERS = frozenset({"accept", "content-type", "authorization"})
_TAG = re.compile(r"</?[a-zA-Z][^<>]{0,200}>")
_STYLES = {"ssv": "spaceDelimited", "pipes": "pipeDelimited", "csv": "form", "multi": "form"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiParameter:
    """One argument: `name` is the node's param, `wire_name` what the server calls it."""

    name: str
    wire_name: str
    place: ParameterPlace
    schema: Data
    required: bool
    style: str = "form"
    explode: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiBody:
    """What is sent: an object of the parameters in the body, or `whole`, one param."""

    content_type: str
    required: bool
    whole: str | None = None
    #: Further members than the declared ones may be sent.
    is_open: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiOperation:
    """One operation of an API."""

    method: str
    path: str
    base_url: str
    description: str
    parameters: tuple[ApiParameter, ...]
    body: ApiBody | None
    accept: str
    #: The JSON Schema of an answer, where one is declared.
    result_schema: Data | None
    security: Security
    definitions: Data = field(default_factory=dict)

    @property
    def reads(self) -> bool:
        """True if the operation changes nothing."""
        return self.method in ("GET", "HEAD", "OPTIONS")


def operation_name(path: str, method: str, data: Data) -> str:
    """Return the name of an operation: its id, or else its method and path."""
    written = data.get("operationId")
    text = written if isinstance(written, str) and written.strip() else f"{method} {path}"
    return re.sub(r"[^A-Za-z0-9_.]+", "-", text).strip("-.") or method


def describe(data: Data, method: str, path: str) -> str:
    """Return what an operation does, in a line, with its method and path."""
    texts = (data.get("summary"), data.get("description"))
    about = next((_plain(text) for text in texts if isinstance(text, str) and text.strip()), "")
    return f"{about.rstrip('.')} ({method.upper()} {path})".lstrip()


def _plain(text: str) -> str:
    """Return the first line of a text that may be HTML or Markdown."""
    without = _TAG.sub(" ", text).strip()
    return " ".join(without.partition("\n")[0].split())


def read_operation(
    document: ApiDocument,
    path: str,
    method: str,
    *,
    base_url: str,
    schemes: dict[str, ApiScheme],
) -> ApiOperation:
    """Read one operation whole."""
    item = document.root.part(document.data["paths"][path])
    data = item.data[method]
    reader = _OperationReader(document, item, data)
    body = reader.body()
    accept, schema, definitions = reader.answer()
    return ApiOperation(
        method=method.upper(),
        path=path,
        base_url=base_url or next(iter(document.base_urls(data, item.data)), ""),
        description=describe(data, method, path),
        parameters=tuple(reader.parameters),
        body=body,
        accept=accept,
        result_schema=None if schema is None else {**schema, "$defs": definitions},
        security=read_security(data.get("security", document.data.get("security")), schemes),
        definitions=reader.writer.definitions,
    )


class _OperationReader:
    """Reads the parameters, the body and the answer of one operation."""

    def __init__(self, document: ApiDocument, item: Located, data: Data) -> None:
        self._document, self._item, self._data = document, item, data
        self.writer = SchemaWriter(writing=True)
        self.parameters: list[ApiParameter] = []
        self._taken = {AUTH}
        self._read_parameters()

    def _read_parameters(self) -> None:
        for part in self._declared():
            place = part.data.get("in")
            name = part.data.get("name")
            if place not in _PLACES or not isinstance(name, str):
                continue
            if place == "header" and name.lower() in _OWN_HEADERS:
                continue
            self.parameters.append(self._parameter(part, place, name))

    def _declared(self) -> list[Located]:
        """Return the parameters; those of the operation replace those of its path."""
        found: dict[tuple[object, object], Located] = {}
        for level in (self._item.data, self._data):
            written = level.get("parameters")
            for one in written if isinstance(written, list) else ():
                part = self._item.part(one)
                found[part.data.get("name"), part.data.get("in")] = part
        return list(found.values())

    def _parameter(self, part: Located, place: ParameterPlace, name: str) -> ApiParameter:
        data = part.data
        style = str(data.get("style") or ("simple" if place in ("path", "header") else "form"))
        explode = data.get("explode", style in ("form", "deepObject"))
        if self._document.is_swagger:
            schema = self.writer.convert(data, part.resolver)
            schema.pop("required", None)
            given = str(data.get("collectionFormat", "csv"))
            style, explode = _STYLES.get(given, "form"), given == "multi"
        else:
            schema = self._top(part, data.get("schema") or _schema_of_content(data))
        about = data.get("description")
        if isinstance(about, str) and about.strip():
            schema = {**schema, "description": _plain(about)}
        return ApiParameter(
            name=self._free(name, place),
            wire_name=name,
            place=place,
            schema=schema,
            required=place == "path" or data.get("required") is True,
            style=style,
            explode=explode is True,
        )

    def _top(self, base: Located, schema: object) -> Data:
        """Convert a schema so that its type shows, and not only a reference."""
        part = base.part(schema)
        own = schema.get("description") if isinstance(schema, dict) else None
        about = {"description": own} if isinstance(own, str) else {}
        return {**self.writer.convert(part.data, part.resolver), **about}

    def _free(self, name: str, place: str) -> str:
        plain = re.sub(r"[^A-Za-z0-9_]", "_", name).strip("_") or "value"
        free = plain if plain not in self._taken else f"{plain}_{place}"
        number = 2
        while free in self._taken:
            free, number = f"{plain}_{place}_{number}", number + 1
        self._taken.add(free)
        return free

    # -- body -------------------------------------------------------------------------------

    def body(self) -> ApiBody | None:
        """Return the body, and add the parameters that are its members."""
        return self._swagger_body() if self._document.is_swagger else self._request_body()

    def _swagger_body(self) -> ApiBody | None:
        fields = [p for p in self._declared() if p.data.get("in") == "formData"]
        consumes = self._data.get("consumes", self._document.data.get("consumes"))
        types = [str(one) for one in consumes] if isinstance(consumes, list) else []
        for part in self._declared():
            if part.data.get("in") == "body":
                content = _preferred(types) or "application/json"
                required = part.data.get("required") is True
                return self._members(part, part.data.get("schema"), content, required=required)
        if not fields:
            return None
        is_file = any(part.data.get("type") == "file" for part in fields)
        for part in fields:
            self.parameters.append(self._parameter(part, "body", str(part.data.get("name"))))
        content = MULTIPART if is_file or (types and FORM not in types) else FORM
        return ApiBody(content_type=content, required=False)

    def _request_body(self) -> ApiBody | None:
        part = self._item.part(self._data.get("requestBody"))
        content = part.data.get("content")
        if not isinstance(content, dict) or not content:
            return None
        chosen = _preferred(map(str, content)) or str(next(iter(content)))
        media = content[chosen] if isinstance(content[chosen], dict) else {}
        required = part.data.get("required") is True
        return self._members(
            part, media.get("schema"), chosen, required=required, encoding=media.get("encoding")
        )

    def _members(
        self,
        base: Located,
        schema: object,
        content: str,
        *,
        required: bool,
        encoding: object = None,
    ) -> ApiBody | None:
        part = base.part(schema)
        members = dict(_members(part))
        if not members:
            if content in (FORM, MULTIPART):
                return ApiBody(content_type=content, required=False, is_open=True)
            converted = self._top(base, schema)
            name = self._free("body", "content")
            whole = ApiParameter(
                name=name, wire_name="", place="body", schema=converted, required=required
            )
            self.parameters.append(whole)
            return ApiBody(content_type=content, required=required, whole=name)
        needed = set(_required(part)) if required else set()
        for name, member in members.items():
            if not self.writer.is_wanted(member, member.data):
                continue
            parameter = ApiParameter(
                name=self._free(name, "body"),
                wire_name=name,
                place="body",
                schema=self._top(member, member.data),
                required=name in needed,
                style=_style_of(encoding, name),
            )
            self.parameters.append(parameter)
        is_open = part.data.get("additionalProperties") not in (None, False)
        return ApiBody(content_type=content, required=required, is_open=is_open)

    # -- answer -----------------------------------------------------------------------------

    def answer(self) -> tuple[str, Data | None, Data]:
        """Return the content type to ask for, and the schema of what is answered."""
        responses = self._data.get("responses")
        known = responses if isinstance(responses, dict) else {}
        writer = SchemaWriter(writing=False)
        good = sorted((code for code in map(str, known) if code[:1] == "2"), key=_by_status)
        for code in [*good, "default"]:
            part = self._item.part(known.get(code, known.get(int(code) if code.isdigit() else 0)))
            if self._document.is_swagger:
                if isinstance(part.data.get("schema"), dict):
                    found = part.part(part.data["schema"])
                    schema = writer.convert(found.data, found.resolver)
                    return "application/json", schema, writer.definitions
                continue
            content = part.data.get("content")
            chosen = _preferred(map(str, content)) if isinstance(content, dict) else None
            if chosen is None or not isinstance(content, dict):
                continue
            media = content[chosen] if isinstance(content[chosen], dict) else {}
            if not isinstance(media.get("schema"), dict) or not is_json(chosen):
                return chosen, None, {}
            found = part.part(media["schema"])
            return chosen, writer.convert(found.data, found.resolver), writer.definitions
        return "", None, {}


def _by_status(code: str) -> tuple[bool, str]:
    # 200 and 201 hold the thing itself; 202 and 206 may hold less.
    return code not in ("200", "201"), code


def is_json(content_type: str) -> bool:
    """True for JSON and what is built on it."""
    plain = content_type.partition(";")[0].strip().lower()
    return plain in ("application/json", "*/*") or plain.endswith("+json")


def _preferred(types: Iterable[str]) -> str | None:
    """Return the content type that is easiest to send and read."""
    listed = list(types)
    plain = {one: one.partition(";")[0].strip().lower() for one in listed}
    ranks = (
        lambda one: plain[one] == "application/json",
        is_json,
        lambda one: plain[one] == FORM,
        lambda one: plain[one] != MULTIPART,
        lambda one: True,
    )
    return next((one for rank in ranks for one in listed if rank(one)), None)


def _style_of(encoding: object, name: str) -> str:
    one = encoding.get(name) if isinstance(encoding, dict) else None
    return str(one.get("style", "form")) if isinstance(one, dict) else "form"


def _schema_of_content(data: Data) -> object:
    content = data.get("content")
    media = next(iter(content.values()), None) if isinstance(content, dict) else None
    return media.get("schema") if isinstance(media, dict) else None


def _members(part: Located) -> Iterator[tuple[str, Located]]:
    """Yield the properties of an object, also those of what it is made of all of."""
    for one in _made_of(part):
        properties = one.data.get("properties")
        for name, member in properties.items() if isinstance(properties, dict) else ():
            yield str(name), Located(member if isinstance(member, dict) else {}, one.resolver)


def _required(part: Located) -> Iterator[str]:
    for one in _made_of(part):
        required = one.data.get("required")
        yield from required if isinstance(required, list) else ()


def _made_of(part: Located) -> Iterator[Located]:
    """Yield a schema and those that it is made of all of, each once however often it is named."""
    waiting, seen = [part], set[int]()
    while waiting:
        one = waiting.pop()
        if id(one.data) in seen:
            continue
        seen.add(id(one.data))
        yield one
        mixed = one.data.get("allOf")
        parts = mixed if isinstance(mixed, list) else []
        waiting += [one.part(inner) for inner in reversed(parts)]
