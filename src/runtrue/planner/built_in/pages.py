"""Pages: how a list goes on behind its first page, recognised from the answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from runtrue.planner.built_in.draft import CannotPlan, DataForm, Draft, NeedsData, Topic
from runtrue.planner.built_in.entries import find_lists
from runtrue.planner.task import Clause, TaskToken
from runtrue.planner.words import split_name, word_set
from runtrue.workflow import Path

_ALL = word_set("all every each across over through the")
_BEFORE = word_set("follow go across over on of from in through through. and , ( get")
#: Query parameters by which a task itself chooses a page.
_CHOOSING = word_set("page offset skip start cursor after before limit per_page page_size")
_URL_NAMES = ("next", "next url", "next page url", "next link", "odata next link")
_CURSORS = {
    **{"next cursor": "cursor", "next page token": "page_token", "end cursor": "cursor"},
    **{"next token": "next_token", "continuation token": "continuation_token"},
}
_PAGE_COUNTS = ("total pages", "pages", "last page", "page count")
_TOTALS = ("total", "total count", "count", "total results", "num found")
#: Words by which a task asks for the whole of a list.
_WHOLE = word_set("all every each")
#: So many pages are read where the task does not ask for all of them.
_MOST_UNASKED = 10
_OFFSETS = ("skip", "offset", "start", "start index")


def read_pages(clause: Clause, draft: Draft) -> Clause | None:
    """Return a clause without "all pages", which the draft remembers; None if nothing is left."""
    tokens = list(clause.tokens)
    for at, token in enumerate(tokens):
        before = tokens[at - 1].word if at else ""
        if token.word not in ("page", "pages") or before not in _ALL - {"the"}:
            continue
        begin, end = at, at + 1
        while begin and tokens[begin - 1].word in _ALL | _BEFORE:
            begin -= 1
        if end < len(tokens) and tokens[end].word == ")":
            end += 1
        draft.all_pages = True
        rest = (*tokens[:begin], *tokens[end:])
        is_empty = not any(t.word not in ("follow", "go", "please", ",") for t in rest)
        return None if is_empty else replace(clause, tokens=rest)
    return clause


def follow(topic: Topic, words: list[TaskToken], draft: Draft) -> Topic:
    """Return the entries of all pages, if the answer says that there are more."""
    node = topic.node
    if node is None or node["params"].get("method", "GET") != "GET" or "batch" in node:
        return topic
    chosen = {*node["params"].get("params", {}), *_query(str(node["params"]["url"]))} & _CHOOSING
    said = {token.word for token in words}
    is_first = bool({"first", "1st"} & said) and not draft.all_pages
    if is_first or (chosen and not draft.all_pages):
        return topic
    body = draft.data(topic.reference, " ".join(token.text for token in words) or "all pages")
    headers = draft.data(f"${{{node['id']}.response_headers}}", "all pages")
    found = _recognise(body, headers if isinstance(headers, Mapping) else {})
    if found is None:
        if draft.all_pages and not isinstance(body, list) and not list(find_lists(body)):
            raise CannotPlan("'all pages': the answer is not a list with pages")
        return topic
    kept = {key: value for key, value in node["params"].items() if key != "extract"}
    params = {
        **kept,
        "response": topic.reference,
        "response_headers": f"${{{node['id']}.response_headers}}",
        **found,
    }
    if not (draft.all_pages or said & _WHOLE):
        params["most"] = _MOST_UNASKED
        draft.notes.append(
            f"the list has more pages; at most {_MOST_UNASKED} are read, and more are a "
            "failure: say 'all pages' for up to 50"
        )
    made = draft.node("pages", "pages", params)
    draft.drop(topic.results)
    reference = f"${{{made['id']}.items}}"
    list_name = found["items"].rpartition(".")[2]
    nouns = topic.nouns | ({list_name.rstrip("s")} if list_name != "$" else set())
    draft.set_topic(
        "items", reference, DataForm.DATA,
        nouns=nouns, own=topic.own, collection=True, entries=True, origin=topic.origin,
    )  # fmt: skip
    if reference_missing(reference, draft):
        raise NeedsData("all pages")
    assert draft.topic is not None  # noqa: S101 - it was set
    return draft.topic


def reference_missing(reference: str, draft: Draft) -> bool:
    """True if what a reference leads to has not run yet."""
    try:
        draft.data(reference, "")
    except NeedsData:
        return True
    return False


def _query(url: str) -> set[str]:
    return {key for key, _ in parse_qsl(urlsplit(url).query)}


def _recognise(body: Any, headers: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the params of a `pages` node, or None for a list that is all there."""
    rows = _rows(body)
    if rows is None:
        return None
    items, entries = rows
    link = str(headers.get("link", ""))
    if 'rel="next"' in link or "rel=next" in link:
        return {"items": items, "follow": "link"}
    if not isinstance(body, Mapping):
        return None
    values = dict(_scalars(body, ()))
    for steps, value in values.items():
        name = " ".join(split_name(steps[-1]))
        owner = " ".join(split_name(steps[-2])) if len(steps) > 1 else ""
        path = str(Path(steps))
        is_href = name == "href" and owner == "next"
        leads_on = isinstance(value, str) and value.startswith(("http://", "https://", "/", "?"))
        if leads_on and (name in _URL_NAMES or is_href):
            return {"items": items, "follow": "url", "next": path}
        if value and name in _CURSORS:
            camel = steps[-1] != steps[-1].lower()
            parameter = _CURSORS[name]
            first, *others = parameter.split("_")
            spelled = first + "".join(map(str.title, others)) if camel else parameter
            return {"items": items, "follow": "cursor", "next": path, "parameter": spelled}
    return _counted(body, values, items, entries)


def _counted(
    body: Mapping[str, Any], values: dict[tuple[str, ...], Any], items: str, entries: list[Any]
) -> dict[str, Any] | None:
    named = {" ".join(split_name(steps[-1])): (steps, value) for steps, value in values.items()}

    def first(names: tuple[str, ...]) -> tuple[tuple[str, ...], int] | None:
        found = (named[name] for name in names if name in named)
        return next((one for one in found if type(one[1]) is int), None)

    page, pages = first(("page", "current page")), first(_PAGE_COUNTS)
    if page and pages and page[1] < pages[1]:
        path = str(Path(pages[0]))
        return {"items": items, "follow": "page", "next": path, "parameter": page[0][-1]}
    offset, total = first(_OFFSETS), first(_TOTALS)
    if offset and total and offset[1] + len(entries) < total[1]:
        path = str(Path(total[0]))
        return {"items": items, "follow": "offset", "next": path, "parameter": offset[0][-1]}
    has_ids = bool(entries) and isinstance(entries[-1], Mapping) and "id" in entries[-1]
    if body.get("object") == "list" and body.get("has_more") is True and has_ids:
        return {
            "items": items, "follow": "last_id", "next": "$.has_more",
            "parameter": "starting_after",
        }  # fmt: skip
    return None


def _rows(body: Any) -> tuple[str, list[Any]] | None:
    if isinstance(body, list):
        return "$", body
    lists = list(find_lists(body)) if isinstance(body, Mapping) else []
    shortest = [one for one in lists if len(one[0]) == min(len(steps) for steps, _ in lists)]
    return (str(Path(shortest[0][0])), shortest[0][1]) if len(shortest) == 1 else None


def _scalars(body: Mapping[str, Any], steps: tuple[str, ...]) -> Any:
    for name, value in body.items():
        here = (*steps, str(name))
        if isinstance(value, Mapping):
            if len(here) < 3:
                yield from _scalars(value, here)
        elif not isinstance(value, list):
            yield here, value
