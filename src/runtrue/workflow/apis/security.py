"""Authentication of APIs: the schemes that a document declares, and the names of their secrets."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import msgspec

from runtrue.workflow.apis.document import ApiDocument, ApiError

SchemeType: TypeAlias = Literal["bearer", "basic", "header", "query", "cookie"]
_ENDINGS = {"bearer": "TOKEN", "basic": "LOGIN"}
#: The scheme of what a user says with --auth.
GIVEN = "auth"


class ApiScheme(msgspec.Struct, frozen=True):
    """How a secret is sent: `name` is that of the header, query parameter or cookie."""

    type: SchemeType
    name: str = ""


def declared_schemes(document: ApiDocument) -> dict[str, ApiScheme]:
    """Return the schemes of a document that can be used, by the names that it gives them."""
    data: Any = document.data
    if document.is_swagger:
        written = data.get("securityDefinitions")
    else:
        components = data.get("components")
        written = components.get("securitySchemes") if isinstance(components, dict) else None
    found = {}
    for name, one in written.items() if isinstance(written, dict) else ():
        scheme = _scheme(document.root.part(one).data)
        if scheme is not None:
            found[str(name)] = scheme
    return found


def _scheme(data: Mapping[str, Any]) -> ApiScheme | None:
    match data.get("type"):
        case "basic":
            return ApiScheme("basic")
        case "http" if str(data.get("scheme", "")).lower() == "basic":
            return ApiScheme("basic")
        case "http" if str(data.get("scheme", "")).lower() == "bearer":
            return ApiScheme("bearer")
        case "oauth2" | "openIdConnect":
            # How to get one is for people; how it is sent is the same for all.
            return ApiScheme("bearer")
        case "apiKey":
            places: dict[str, SchemeType] = {
                "header": "header",
                "query": "query",
                "cookie": "cookie",
            }
            place = places.get(str(data.get("in")))
            return ApiScheme(place, str(data.get("name"))) if place and data.get("name") else None
    return None


def read_scheme(text: str) -> ApiScheme:
    """Return the scheme that a user says: `bearer`, `basic`, `header:NAME`, `query:NAME`."""
    type_, _, name = text.partition(":")
    if type_ in ("bearer", "basic") and not name:
        return ApiScheme("bearer" if type_ == "bearer" else "basic")
    if type_ == "header" and name:
        return ApiScheme("header", name)
    if type_ == "query" and name:
        return ApiScheme("query", name)
    if type_ == "cookie" and name:
        return ApiScheme("cookie", name)
    raise ApiError(
        f"{text!r} is not a way to authenticate; available: bearer, basic, header:NAME, query:NAME "
        "and cookie:NAME"
    )


def secret_name(api: str, scheme: ApiScheme) -> str:
    """Return the name that the secret of an API is looked up by, unless the user says another."""
    words = re.sub(r"[^A-Z0-9]+", "_", api.upper()).strip("_")
    words = f"API_{words}" if words[:1].isdigit() else words
    return f"{words}_{_ENDINGS.get(scheme.type, 'API_KEY')}"


class Security(msgspec.Struct, frozen=True):
    """The ways to authenticate, each the schemes that are needed together."""

    ways: tuple[tuple[str, ...], ...] = ()
    optional: bool = False


def read_security(written: object, known: Mapping[str, ApiScheme]) -> Security:
    """Return what an operation needs, as far as it can be used."""
    if not isinstance(written, list) or not written:
        return Security()
    ways = [tuple(map(str, way)) for way in written if isinstance(way, dict)]
    usable = [way for way in ways if way and all(name in known for name in way)]
    return Security(tuple(usable), optional=() in ways)
