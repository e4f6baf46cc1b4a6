"""The `pages` node: the entries of a list that a server hands out page by page.

It starts with the answer that an `http` node has got already, and asks for the pages behind it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal
from urllib.parse import urljoin

from msgspec import Meta

from runtrue.errors import RuntimeValidationError
from runtrue.flow import emit
from runtrue.workflow.events import ItemFinished
from runtrue.workflow.node import Pointer, Result, failure
from runtrue.workflow.nodes.extract import extract, path_problems
from runtrue.workflow.nodes.http import HttpNode
from runtrue.workflow.nodes.http_params import HttpParams
from runtrue.workflow.purpose import origin_of

if TYPE_CHECKING:
    from runtrue.workflow.context import Context

_NEXT_LINK = re.compile(r"<([^>]*)>[^,]*;\s*rel=\"?next\"?", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class PagesParams(HttpParams):
    """The request of the first page, its answer, and how the next page is found."""

    response: Annotated[Any, Meta(description="The body of the first page")]
    response_headers: Annotated[
        dict[str, str] | None, Meta(description="The headers of the first page")
    ] = None
    items: Annotated[str, Meta(description="Path of the list within a page")] = "$"
    follow: Annotated[
        Literal["link", "url", "cursor", "last_id", "page", "offset"],
        Meta(description="By the Link header, a URL, a cursor, the last id, or by counting"),
    ]
    next: Annotated[
        str, Meta(description="Path of that URL or cursor; of the last page, of the total")
    ] = "$"
    parameter: Annotated[str, Meta(description="The query parameter that says which page")] = ""
    most: Annotated[int, Meta(ge=1, description="The most pages; more are a failure")] = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class PagedEntries:
    """The entries of all pages."""

    items: Annotated[list[Any], Meta(description="The entries, in order")]
    count: Annotated[int, Meta(description="How many there are")]
    pages: Annotated[int, Meta(description="How many pages they were on")]


class PagesNode(HttpNode):
    """Fetch the pages behind a first one, and give the entries of all of them."""

    type = "pages"
    Params = PagesParams  # type: ignore[assignment]
    Outputs = PagedEntries  # type: ignore[assignment]
    reading: ClassVar[frozenset[str]] = frozenset()

    async def run(self, params: HttpParams, context: Context) -> Result:
        """Follow the pages to the last."""
        assert isinstance(params, PagesParams)  # noqa: S101 - it is the type of its params
        request = HttpParams(**{f.name: getattr(params, f.name) for f in fields(HttpParams)})
        answer = {"response": params.response, "response_headers": params.response_headers or {}}
        found = list(_entries(answer, params))
        pages = 1
        while following := _next(request, answer, found, pages, params):
            if pages == params.most:
                message = f"there are more than {params.most} pages; raise `most`, or take fewer"
                raise failure(message, "too_many_pages")
            answer = (await super().run(following, context)).outputs
            rows = _entries(answer, params)
            if not rows:
                break
            found += rows
            pages += 1
            emit(ItemFinished(done=pages, of=pages))
        return Result({"items": found, "count": len(found), "pages": pages})

    def finish(self, params: Mapping[str, Any], outputs: dict[str, Any]) -> dict[str, Any]:
        """Return the outputs as they are."""
        return outputs

    def check(self, params: Mapping[str, Any]) -> Iterable[tuple[Pointer, str]]:  # type: ignore[override]
        """Yield what is wrong with the request and the paths."""
        yield from super().check(params)
        paths = {name: params[name] for name in ("items", "next") if name in params}
        yield from (((name,), problem) for name, problem in path_problems(paths))


def _at(path: str, answer: Mapping[str, Any]) -> Any:
    """Return what is at a path; None on a last page that lacks it."""
    try:
        return extract({"found": path}, answer)["found"]
    except RuntimeValidationError:
        return None


def _entries(answer: Mapping[str, Any], params: PagesParams) -> list[Any]:
    rows = _at(params.items, answer)
    if not isinstance(rows, list):
        raise failure(f"there is no list at {params.items} of a page", "not_a_list")
    return rows


def _next(
    request: HttpParams,
    answer: Mapping[str, Any],
    found: list[Any],
    pages: int,
    params: PagesParams,
) -> HttpParams | None:
    """Return the request for the next page, or None behind the last."""
    if params.follow in ("link", "url"):
        return _linked(request, answer, params)
    value = _at(params.next, answer)
    more = {
        "cursor": bool(value),
        "last_id": value is True,
        "page": isinstance(value, int) and pages < value,
        "offset": isinstance(value, int) and len(found) < value,
    }[params.follow]
    if not more:
        return None
    which = {"cursor": value, "page": pages + 1, "offset": len(found)}.get(params.follow)
    if params.follow == "last_id":
        which = found[-1]["id"] if isinstance(found[-1], Mapping) else None
    return replace(request, params={**(request.params or {}), params.parameter: which})


def _linked(
    request: HttpParams, answer: Mapping[str, Any], params: PagesParams
) -> HttpParams | None:
    if params.follow == "link":
        match = _NEXT_LINK.search(answer["response_headers"].get("link", ""))
        url = match[1] if match else None
    else:
        url = _at(params.next, answer)
    if not url:
        return None
    following = urljoin(request.url, str(url))
    if origin_of(following) != origin_of(request.url):
        raise failure(f"the next page is on another host: {origin_of(following)}", "other_host")
    return replace(request, url=following, params=None)
