"""The server that tasks are tried with: the data and the habits of public APIs, on the loopback.

Static answers come from `tasks.toml`. What has a habit is here: pages by link, cursor, number and
offset, logins, keys, and collections that can be changed. Every request is logged.
"""

from __future__ import annotations

import base64
import copy
import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

Answer = tuple[int, Any, dict[str, str]]
TOKEN, API_KEY = "tok-42", "key-7"


@dataclass(frozen=True)
class Asked:
    """One request as it came."""

    method: str
    path: str
    query: dict[str, str]
    headers: Message
    body: Any
    base: str

    def __str__(self) -> str:
        query = "&".join(f"{key}={value}" for key, value in self.query.items())
        sent = "" if self.body in (None, "") else f" {json.dumps(self.body)}"
        return f"{self.method} {self.path}{'?' if query else ''}{query}{sent}"

    def number(self, name: str, default: int) -> int:
        """Return a number out of the query."""
        return int(self.query.get(name, default))


@dataclass
class TaskServer:
    """Answers from a table and from the routes of this module."""

    answers: dict[str, Any]
    log: list[str] = field(default_factory=list)
    stored: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    base: str = ""

    def reset(self) -> None:
        """Forget what was asked and changed."""
        self.log.clear()
        self.stored = copy.deepcopy(COLLECTIONS)

    def answer(self, asked: Asked) -> Answer:
        """Answer a request."""
        self.log.append(str(asked))
        for pattern, route in ROUTES:
            if found := re.fullmatch(pattern, asked.path):
                return route(self, asked, *found.groups())
        found_here = self.answers.get(asked.path)
        if asked.method not in ("GET", "HEAD") or found_here is None:
            return 404, {"message": "Not Found"}, {}
        return 200, found_here, {}


@contextmanager
def serve_tasks(answers: dict[str, Any]) -> Iterator[TaskServer]:
    """Serve on the loopback until the block ends."""
    tasks = TaskServer(answers)
    tasks.reset()

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            split = urlsplit(self.path)
            query = {key: values[-1] for key, values in parse_qs(split.query).items()}
            text = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
            try:
                body = json.loads(text) if text else None
            except ValueError:
                body = text
            asked = Asked(self.command, split.path, query, self.headers, body, tasks.base)
            status, answer, headers = tasks.answer(asked)
            content = answer.encode() if isinstance(answer, str) else json.dumps(answer).encode()
            content = b"" if status == 204 else content
            self.send_response(status)
            plain = isinstance(answer, str)
            self.send_header("Content-Type", "text/plain" if plain else "application/json")
            self.send_header("Content-Length", str(len(content)))
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = _answer  # noqa: N815

        def log_message(self, format: str, *args: Any) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    tasks.base = f"http://127.0.0.1:{server.server_port}"
    try:
        yield tasks
    finally:
        server.shutdown()
        server.server_close()


# -- pages -----------------------------------------------------------------------------------------

COMMITS = [
    {"sha": f"c{n:02}", "message": f"change {n}", "author": {"login": "ann" if n % 3 else "bob"}}
    for n in range(1, 26)
]
CUSTOMERS = [
    {"id": f"cus_{n}", "email": f"c{n}@shop.test", "balance": n * 10, "delinquent": n % 4 == 0}
    for n in range(1, 13)
]
MONSTERS = [{"name": f"monster{n}", "url": f"/monster/{n}/"} for n in range(1, 26)]
RECIPES = [
    {"id": n, "name": f"Recipe {n}", "difficulty": "Easy" if n % 2 else "Medium", "rating": n / 5}
    for n in range(1, 24)
]
MEMBERS = [{"id": n, "first_name": f"M{n}", "email": f"m{n}@x.test"} for n in range(1, 14)]
PAGES = [{"id": f"p{n}", "title": f"Page {n}", "archived": n % 5 == 0} for n in range(1, 12)]
BOOKS = [
    {"type": "books", "id": str(n), "attributes": {"title": f"Book {n}", "pages": 100 + n}}
    for n in range(1, 8)
]
FILES = [{"kind": "drive#file", "id": f"d{n}", "name": f"f{n}.txt"} for n in range(1, 9)]
ORDERS = [{"number": f"A{n}", "total": n * 10, "currency": "EUR"} for n in range(1, 6)]


def _linked(server: TaskServer, asked: Asked) -> Answer:
    page, size = asked.number("page", 1), asked.number("per_page", 10)
    rows = COMMITS[(page - 1) * size : page * size]
    headers = {}
    if page * size < len(COMMITS):
        last = -(-len(COMMITS) // size)
        url = f"{asked.base}{asked.path}?per_page={size}&page="
        headers["Link"] = f'<{url}{page + 1}>; rel="next", <{url}{last}>; rel="last"'
    return 200, rows, headers


def _after(server: TaskServer, asked: Asked) -> Answer:
    ids = [row["id"] for row in CUSTOMERS]
    begin = ids.index(asked.query["starting_after"]) + 1 if "starting_after" in asked.query else 0
    size = asked.number("limit", 5)
    rows = CUSTOMERS[begin : begin + size]
    more = begin + size < len(CUSTOMERS)
    return 200, {"object": "list", "url": asked.path, "has_more": more, "data": rows}, {}


def _next_url(server: TaskServer, asked: Asked) -> Answer:
    offset, size = asked.number("offset", 0), asked.number("limit", 10)
    following = None
    if offset + size < len(MONSTERS):
        following = f"{asked.base}{asked.path}?offset={offset + size}&limit={size}"
    rows = MONSTERS[offset : offset + size]
    return 200, {"count": len(MONSTERS), "next": following, "previous": None, "results": rows}, {}


def _skipped(server: TaskServer, asked: Asked) -> Answer:
    skip, size = asked.number("skip", 0), asked.number("limit", 10)
    rows = RECIPES[skip : skip + size]
    return 200, {"recipes": rows, "total": len(RECIPES), "skip": skip, "limit": len(rows)}, {}


def _numbered(server: TaskServer, asked: Asked) -> Answer:
    page, size = asked.number("page", 1), asked.number("per_page", 6)
    rows = MEMBERS[(page - 1) * size : page * size]
    pages = -(-len(MEMBERS) // size)
    facts = {"page": page, "per_page": size, "total": len(MEMBERS), "total_pages": pages}
    return 200, {**facts, "data": rows}, {}


def _by_cursor(server: TaskServer, asked: Asked) -> Answer:
    begin = int(asked.query.get("cursor", "cur0")[3:])
    end = begin + asked.number("page_size", 4)
    following = f"cur{end}" if end < len(PAGES) else None
    facts = {"has_more": following is not None, "next_cursor": following}
    return 200, {"results": PAGES[begin:end], **facts}, {}


def _in_links(server: TaskServer, asked: Asked) -> Answer:
    """Answer as JSON:API does: the next page is a link in the body."""
    page = asked.number("page[number]", 1)
    rows = BOOKS[(page - 1) * 3 : page * 3]
    url = f"{asked.base}{asked.path}?page[number]="
    following = f"{url}{page + 1}" if page * 3 < len(BOOKS) else None
    links = {"self": f"{url}{page}", "next": following}
    return 200, {"data": rows, "links": links, "meta": {"total": len(BOOKS)}}, {}


def _by_token(server: TaskServer, asked: Asked) -> Answer:
    """Answer as Google does: a token for the next page, and none on the last."""
    begin = int(asked.query.get("pageToken", "t0")[1:])
    more = {"nextPageToken": f"t{begin + 3}"} if begin + 3 < len(FILES) else {}
    return 200, {"kind": "drive#fileList", **more, "files": FILES[begin : begin + 3]}, {}


def _in_hal(server: TaskServer, asked: Asked) -> Answer:
    """Answer as HAL does: embedded rows, and links as objects."""
    page = asked.number("page", 1)
    rows = ORDERS[(page - 1) * 2 : page * 2]
    links: dict[str, Any] = {"self": {"href": f"{asked.path}?page={page}"}}
    if page * 2 < len(ORDERS):
        links["next"] = {"href": f"{asked.path}?page={page + 1}"}
    facts = {"total": len(ORDERS), "page": page}
    return 200, {"_links": links, "_embedded": {"orders": rows}, **facts}, {}


def _in_result_info(server: TaskServer, asked: Asked) -> Answer:
    """Say in an object of its own which page of how many this is."""
    page, names = asked.number("page", 1), [{"name": f"z{n}.test"} for n in range(1, 8)]
    info = {"page": page, "per_page": 3, "count": 3, "total_count": 7, "total_pages": 3}
    return (
        200,
        {"success": True, "result": names[(page - 1) * 3 : page * 3], "result_info": info},
        {},
    )


def _in_paging(server: TaskServer, asked: Asked) -> Answer:
    """Say the next page as a cursor and as an address, both in an object of its own."""
    begin, size = int(asked.query.get("after", "e0")[1:]), 4
    rows = [{"id": n, "actor": ("ida", "raj", "bot")[n % 3]} for n in range(3, 14)]
    paging: dict[str, Any] = {"cursors": {"after": f"e{begin + size}"}}
    if begin + size < len(rows):
        paging["next"] = f"{asked.base}{asked.path}?after=e{begin + size}"
    return 200, {"events": rows[begin : begin + size], "paging": paging}, {}


# -- logins and keys -------------------------------------------------------------------------------


def _login(server: TaskServer, asked: Asked) -> Answer:
    if asked.body != {"username": "emily", "password": "emilyspass"}:
        return 401, {"message": "Invalid credentials"}, {}
    return 200, {"id": 1, "username": "emily", "accessToken": TOKEN, "refreshToken": "r-1"}, {}


def _me(server: TaskServer, asked: Asked) -> Answer:
    if asked.headers.get("Authorization") != f"Bearer {TOKEN}":
        return 401, {"message": "Token required"}, {}
    return 200, {"id": 1, "firstName": "Emily", "email": "emily@x.test", "role": "admin"}, {}


def _keyed(server: TaskServer, asked: Asked) -> Answer:
    if asked.headers.get("X-Api-Key") != API_KEY:
        return 401, {"message": "key required"}, {}
    return 200, {"report": "Q1", "revenue": 1200, "currency": "EUR"}, {}


def _basic(server: TaskServer, asked: Asked) -> Answer:
    wanted = base64.b64encode(b"ops:hunter2").decode()
    if asked.headers.get("Authorization") != f"Basic {wanted}":
        return 401, {"message": "login required"}, {"WWW-Authenticate": "Basic"}
    return 200, {"uptime": 99.5, "version": "2.1"}, {}


def _account(server: TaskServer, asked: Asked) -> Answer:
    if asked.headers.get("Authorization") != f"Bearer {TOKEN}":
        return 401, {"error": {"code": 401, "status": "UNAUTHENTICATED"}}, {}
    owner = {"name": "Liv Aas", "email": "boss@x.test"}
    return 200, {"account": {"plan": "pro", "seats": 12, "owner": owner}}, {}


def _usage(server: TaskServer, asked: Asked) -> Answer:
    if API_KEY not in (asked.headers.get("X-Api-Key"), asked.query.get("api_key")):
        return 403, {"message": "Forbidden"}, {}
    return 200, {"quota": 1000, "quota_used": 360, "quota_left": 640}, {}


def _session(server: TaskServer, asked: Asked) -> Answer:
    """Answer a login by name or by mail, with the token inside another object."""
    body = asked.body if isinstance(asked.body, dict) else {}
    who = {value for name, value in body.items() if name != "password"}
    if body.get("password") != "s3cr3t-nils" or not who & {"nils", "nils@x.test"}:
        return 401, {"errors": [{"code": "bad_credentials"}]}, {}
    return 201, {"data": {"user": "nils", "auth": {"token": "tok-nils-1", "expires_in": 900}}}, {}


def _basket(server: TaskServer, asked: Asked) -> Answer:
    if asked.headers.get("Authorization") != "Bearer tok-nils-1":
        return 401, {"errors": [{"code": "no_token"}]}, {}
    items = [{"title": "Rope", "quantity": 2}, {"title": "Hook", "quantity": 1}]
    return 200, {"items": items, "total": 31.5, "currency": "EUR"}, {}


def _zones(server: TaskServer, asked: Asked) -> Answer:
    if asked.headers.get("X-Auth-Key") != "zone-key-5":
        return 403, {"success": False, "errors": [{"code": 9103}]}, {}
    return 200, {"success": True, "result": [{"name": "a.test"}, {"name": "b.test"}]}, {}


def _echo(server: TaskServer, asked: Asked) -> Answer:
    named = {k: v for k, v in asked.headers.items() if k.lower().startswith(("x-", "accept-l"))}
    return 200, {"method": asked.method, "args": asked.query, "headers": named}, {}


# -- collections that can be changed ---------------------------------------------------------------

COLLECTIONS: dict[str, list[dict[str, Any]]] = {
    "tickets": [
        {"id": 1, "subject": "Printer jam", "status": "open", "priority": "low"},
        {"id": 2, "subject": "No sound", "status": "open", "priority": "high"},
        {"id": 3, "subject": "Spam", "status": "closed", "priority": "low"},
    ],
    "notes": [{"id": 5, "text": "buy milk", "done": False}],
    "members": [
        {"id": 7, "name": "Jo", "role": "viewer"},
        {"id": 8, "name": "Al", "role": "admin"},
    ],
    "subscribers": [],
    "webhooks": [],
    "coupons": [{"id": 3, "code": "OLD", "percent": 10}],
    "statuses": [],
    "deployments": [{"id": 3, "name": "api", "replicas": 2}],
    "bookings": [{"id": 12, "email": "jan@x.test", "seats": 1, "note": ""}],
    "issues": [{"id": 31, "title": "Login loops", "labels": ["bug"]}],
    "pets": [
        {"id": 1, "name": "Rex", "species": "dog", "adopted": False},
        {"id": 2, "name": "Mia", "species": "cat", "adopted": True},
        {"id": 3, "name": "Bob", "species": "dog", "adopted": True},
    ],
}


def _collection(server: TaskServer, asked: Asked, name: str) -> Answer:
    rows = server.stored[name]
    if asked.method == "GET":
        wanted = asked.query.items()
        return 200, [r for r in rows if all(str(r.get(k)) == v for k, v in wanted)], {}
    if asked.method == "POST" and isinstance(asked.body, dict):
        made = {"id": 100 + len(rows), **asked.body}
        rows.append(made)
        return 201, made, {"Location": f"{asked.path}/{made['id']}"}
    return (400, {"message": "a JSON object is needed"}, {}) if asked.method == "POST" else _NO


def _member(server: TaskServer, asked: Asked, name: str, id_: str) -> Answer:
    rows = server.stored[name]
    row = next((row for row in rows if str(row["id"]) == id_), None)
    if row is None:
        return 404, {"message": "Not Found"}, {}
    if asked.method == "DELETE":
        rows.remove(row)
        return 204, "", {}
    if asked.method in ("PUT", "PATCH") and isinstance(asked.body, dict):
        if asked.method == "PUT":
            row.clear()
        row |= {"id": int(id_), **asked.body}
    return 200, row, {}


_NO: Answer = (405, {"message": "Method Not Allowed"}, {})
_NAMES = "|".join(COLLECTIONS)
ROUTES: tuple[tuple[str, Callable[..., Answer]], ...] = (
    (r"/repos/octo/hello/commits", _linked),
    (r"/v1/customers", _after),
    (r"/api/v2/monster", _next_url),
    (r"/recipes", _skipped),
    (r"/reqres/users", _numbered),
    (r"/v1/pages", _by_cursor),
    (r"/auth/login", _login),
    (r"/auth/me", _me),
    (r"/secure/report", _keyed),
    (r"/admin/health", _basic),
    (r"/anything", _echo),
    (r"/jsonapi/books", _in_links),
    (r"/v1beta/files", _by_token),
    (r"/hal/orders", _in_hal),
    (r"/v3/account", _account),
    (r"/keyed/usage", _usage),
    (r"/session", _session),
    (r"/basket", _basket),
    (r"/client/v4/zones", _zones),
    (r"/open/zones", _in_result_info),
    (r"/audit/events", _in_paging),
    (rf"/(?:api|shelter)/({_NAMES})", _collection),
    (rf"/(?:api|shelter)/({_NAMES})/(\w+)", _member),
)
