"""Open an API's document, from a file or a URL, and what a user says of it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from urllib.parse import unquote, urlsplit

from runtrue.documents import suggestion
from runtrue.errors import HostError, NodeFailed
from runtrue.workflow.apis.document import ApiDocument, ApiError, Fetch, gather
from runtrue.workflow.apis.files import ApiSettings
from runtrue.workflow.apis.security import (
    GIVEN,
    ApiScheme,
    declared_schemes,
    read_scheme,
    secret_name,
)
from runtrue.workflow.event_loop import run_to_end
from runtrue.workflow.nodes.http_exchange import ExchangeLimits, exchange
from runtrue.workflow.nodes.http_params import HttpParams, url_problem
from runtrue.workflow.nodes.http_request import make_request

_MAX_BYTES = 50_000_000
_SECONDS = 60.0


def open_api(
    name: str,
    source: str,
    *,
    base_url: str = "",
    auth: str | None = None,
    secrets: Iterable[str] = (),
) -> tuple[ApiDocument, ApiSettings]:
    """Return the document of an API, and its settings. Raises UsageError or HostError."""
    if source.startswith(("http://", "https://")):
        address, fetch = source, _web_fetch(source)
    else:
        path = Path(source).expanduser().absolute()
        address, fetch = path.as_uri(), _file_fetch(path.parent)
    try:
        document = gather(fetch(address), address, fetch)
        schemes = {GIVEN: read_scheme(auth)} if auth else declared_schemes(document)
        if base_url and (wrong := url_problem(base_url)):
            raise ApiError(f"--base-url: {wrong}")
        server = base_url or next(iter(document.base_urls()), "")
        if wrong := url_problem(server):
            raise ApiError(f"it names no server ({wrong}): say which with --base-url URL")
    except ApiError as error:
        raise ApiError(f"{source}: {error}") from error
    named = dict(_named(secrets, schemes, source))
    return document, ApiSettings(
        source=source,
        base_url=base_url,
        schemes=schemes,
        secrets={one: named.get(one, secret_name(name, scheme)) for one, scheme in schemes.items()},
        is_given=bool(auth) or (len(schemes) == 1 and bool(named)),
    )


def _named(
    secrets: Iterable[str], schemes: dict[str, ApiScheme], source: str
) -> Iterable[tuple[str, str]]:
    for written in secrets:
        scheme, mark, name = written.rpartition("=")
        if not schemes:
            raise ApiError(
                f"{source}: it declares no authentication: say how {written!r} is sent, as with "
                "--auth bearer"
            )
        if not mark and len(schemes) > 1:
            raise ApiError(
                f"{source}: it has several schemes; say for which one {name!r} is: "
                + ", ".join(f"--secret {one}={name}" for one in schemes)
            )
        scheme = scheme if mark else next(iter(schemes))
        if scheme not in schemes:
            there = ", ".join(schemes)
            raise ApiError(
                f"{source}: there is no scheme {scheme!r}{suggestion(scheme, schemes)}; "
                f"available: {there}"
            )
        yield scheme, name


def _file_fetch(folder: Path) -> Fetch:
    """Return how files in a folder, and below it, are read."""

    def fetch(address: str) -> str:
        parts = urlsplit(address)
        path = Path(unquote(parts.path))
        if parts.scheme != "file" or not path.resolve().is_relative_to(folder.resolve()):
            raise ApiError(f"it refers to {address}, which is not in {folder}: bundle it first")
        try:
            # A pipe would be waited for.
            if path.exists() and not path.is_file():
                raise ApiError(f"{path} is not a file")
            with path.open("rb") as file:
                content = file.read(_MAX_BYTES + 1)
        except OSError as error:
            raise ApiError(f"{path} cannot be read: {error.strerror}") from error
        return _text(content, str(path))

    return fetch


def _web_fetch(source: str) -> Fetch:
    """Return how documents are fetched from the host of one, within the limits of requests."""
    origin = urlsplit(source)[:2]

    def fetch(address: str) -> str:
        if urlsplit(address)[:2] != origin:
            raise ApiError(f"it refers to {address}, which is on another host: bundle it first")
        limits = ExchangeLimits(
            timeout=_SECONDS,
            retries=2,
            max_bytes=_MAX_BYTES,
            follow_redirects=True,
            holds_secret=lambda body: False,
        )
        try:
            status, body = run_to_end(_get(address, limits))
        except NodeFailed as error:
            raise HostError(error.message) from error
        if not 200 <= status < 300:
            raise HostError(f"GET {address} answered {status}")
        return _text(body, address)

    return fetch


async def _get(address: str, limits: ExchangeLimits) -> tuple[int, bytes | bytearray]:
    from runtrue.workflow.nodes.http import make_client

    request = make_request(HttpParams(url=address))
    async with make_client() as client:
        answer = await exchange(client, request, limits)
    if not answer.complete:
        raise ApiError(f"{address} is larger than {_MAX_BYTES // 1_000_000} MB")
    return answer.status, bytes(answer.body)


def _text(content: bytes | bytearray, name: str) -> str:
    if len(content) > _MAX_BYTES:
        raise ApiError(f"{name} is larger than {_MAX_BYTES // 1_000_000} MB")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ApiError(f"{name} is not UTF-8 text") from error
