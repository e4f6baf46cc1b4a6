"""API documents: Swagger 2, OpenAPI 3.0 and 3.1, as data with resolved references."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import urldefrag, urljoin, urlsplit

import msgspec

from runtrue.documents import parse_document
from runtrue.errors import UsageError

if TYPE_CHECKING:
    from referencing import Registry as Resources
    from referencing._core import Resolver

METHODS = ("get", "put", "post", "delete", "options", "head", "patch")
#: The root of a document that is kept by itself.
ROOT = "api:"
_MOST_RESOURCES = 200

Data: TypeAlias = dict[str, Any]
#: Returns the text of another document, by its address.
Fetch: TypeAlias = Callable[[str], str]


class ApiError(UsageError):
    """A document is no description of an API, or cannot be used as one."""


@dataclass(frozen=True, slots=True)
class Located:
    """A part of a document, and where its references begin."""

    data: Data
    resolver: Resolver[Any]

    def part(self, value: object) -> Located:
        """Return what a part of this is: the target, where it is a reference."""
        at, resolver = value, self.resolver
        for _ in range(20):
            if not (isinstance(at, dict) and isinstance(at.get("$ref"), str)):
                break
            found = _lookup(resolver, at["$ref"])
            if found is None:
                return Located({}, resolver)
            at, resolver = found
        return Located(at if isinstance(at, dict) else {}, resolver)


def _lookup(resolver: Resolver[Any], reference: str) -> tuple[Any, Resolver[Any]] | None:
    from referencing.exceptions import Unresolvable

    try:
        found = resolver.lookup(reference)
    except (Unresolvable, ValueError, TypeError, KeyError):
        # A reference that leads nowhere says nothing of what would be there.
        return None
    return found.contents, found.resolver


class ApiDocument:
    """One document, with the others that it refers to."""

    def __init__(self, resources: Mapping[str, Any]) -> None:
        """`resources` are the documents by their addresses; the first one is the API's own."""
        self.resources = dict(resources)
        self.address = next(iter(self.resources))
        data = self.resources[self.address]
        self.data: Data = data if isinstance(data, dict) else {}

    @cached_property
    def version(self) -> str:
        """Return `2.0`, `3.0` or `3.1`. Raises ApiError for anything else."""
        written = self.data.get("swagger", self.data.get("openapi"))
        version = ".".join(str(written).split(".")[:2])
        if written is None:
            raise ApiError("it is not an OpenAPI document: it has neither 'openapi' nor 'swagger'")
        if version not in ("2.0", "3.0", "3.1", "3.2"):
            raise ApiError(f"its version {written!r} is not one of 2.0, 3.0 and 3.1")
        if not isinstance(self.data.get("paths", {}), dict):
            raise ApiError("its 'paths' are no object")
        return version

    @property
    def is_swagger(self) -> bool:
        """True for Swagger 2."""
        return self.version == "2.0"

    @cached_property
    def _registry(self) -> Resources[Any]:
        from referencing import Registry, Resource

        pairs = ((uri, Resource.opaque(data)) for uri, data in self.resources.items())
        return Registry().with_resources(pairs)

    @cached_property
    def root(self) -> Located:
        """The document itself."""
        return Located(self.data, self._registry.resolver(self.address))

    def resolve(self, reference: str, resolver: Resolver[Any]) -> tuple[Any, Resolver[Any]] | None:
        """Return what a reference leads to, with where its own begin; None for nothing."""
        return _lookup(resolver, reference)

    @property
    def title(self) -> str:
        """The name that the document gives its API."""
        info = self.data.get("info")
        return str(info.get("title", "")) if isinstance(info, dict) else ""

    def entries(self) -> Iterator[tuple[str, str, Located, Data]]:
        """Yield path, method, path item and data of each operation."""
        for path, written in self.data.get("paths", {}).items():
            item = self.root.part(written)
            for method in METHODS:
                operation = item.data.get(method)
                if isinstance(operation, dict):
                    yield str(path), method, item, operation

    def base_urls(self, *levels: Data) -> list[str]:
        """Return the addresses of the server: those of the innermost level that names any."""
        if self.is_swagger:
            return self._swagger_urls()
        for level in (*levels, self.data):
            servers = level.get("servers")
            if isinstance(servers, list) and servers:
                written = [_server_url(one) for one in servers if isinstance(one, dict)]
                return [urljoin(self._web_address, url) for url in written]
        return [urljoin(self._web_address, "/")] if self._web_address else []

    @property
    def _web_address(self) -> str:
        return self.address if self.address.startswith(("http://", "https://")) else ""

    def _swagger_urls(self) -> list[str]:
        near = urlsplit(self._web_address)
        host = self.data.get("host") or near.netloc
        if not isinstance(host, str) or not host:
            return []
        schemes = self.data.get("schemes")
        known = [s for s in schemes if s in ("https", "http")] if isinstance(schemes, list) else []
        path = str(self.data.get("basePath") or "").rstrip("/")
        known = known or [near.scheme or "https"]
        return [f"{scheme}://{host}{path}" for scheme in sorted(known, reverse=True)]


def _server_url(server: Data) -> str:
    url = str(server.get("url", ""))
    variables = server.get("variables")
    for name, one in variables.items() if isinstance(variables, dict) else ():
        default = one.get("default", "") if isinstance(one, dict) else ""
        url = url.replace(f"{{{name}}}", str(default))
    return url


def read_api_text(text: str, name: str) -> Any:
    """Return the data of a JSON or YAML text. Raises DocumentError."""
    if text.lstrip()[:1] == "{":
        try:
            # Large ones are common, and this is ten times as quick as what also knows lines.
            return msgspec.json.decode(text)
        except (msgspec.DecodeError, RecursionError):
            pass
    if text.lstrip()[:1] in {"{", "["}:
        return parse_document(text, name=name, format="json").data
    return parse_document(text, name=name, format="yaml").data


def gather(text: str, address: str, fetch: Fetch) -> ApiDocument:
    """Return a document with all others that it refers to, each fetched once."""
    resources = {address: read_api_text(text, address)}
    waiting = [address]
    while waiting:
        base = waiting.pop()
        for reference in _references(resources[base]):
            target = urldefrag(urljoin(base, reference)).url
            if target in resources or reference.startswith("#"):
                continue
            if len(resources) >= _MOST_RESOURCES:
                raise ApiError(f"it refers to more than {_MOST_RESOURCES} other documents")
            resources[target] = read_api_text(fetch(target), target)
            waiting.append(target)
    document = ApiDocument(resources)
    _ = document.version
    return document


def _references(data: Any) -> Iterator[str]:
    waiting = [data]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            reference = one.get("$ref")
            if isinstance(reference, str):
                yield reference
            waiting.extend(one.values())
        elif isinstance(one, list):
            waiting.extend(one)
