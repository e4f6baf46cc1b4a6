"""The APIs of a home: for each its settings, its document, and a list of its operations.

The list is made once, when a document is added, so that finding an operation among thousands
reads neither the document nor its schemas.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from runtrue.atomic_file import private_directory, write_atomically
from runtrue.documents import suggestion
from runtrue.errors import HostError
from runtrue.home import Home
from runtrue.typed_data import decode_json
from runtrue.workflow.apis.document import ApiDocument, ApiError, Data, Located
from runtrue.workflow.apis.operation import (
    ApiOperation,
    describe,
    operation_name,
    read_operation,
)
from runtrue.workflow.apis.security import ApiScheme, Security

#: Raised whenever what a listing holds changes: an older one is made again.
_FORMAT = 1
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")
_MOST_WORDS = 60


class ApiSettings(msgspec.Struct, frozen=True):
    """What a user said of an API when adding it."""

    source: str
    base_url: str = ""
    #: The schemes of its authentication, and the secrets for them, both by the scheme's name.
    schemes: dict[str, ApiScheme] = {}
    secrets: dict[str, str] = {}
    #: The user said how to authenticate, whatever the document says.
    is_given: bool = False


class OperationEntry(msgspec.Struct, frozen=True, array_like=True):
    """One operation in the list. `words` are those of its parameters and its answer."""

    name: str
    method: str
    path: str
    description: str
    words: str


class _OperationList(msgspec.Struct):
    format: int
    title: str
    base_url: str
    operations: list[OperationEntry]


class Api:
    """One API that was added."""

    def __init__(self, folder: Path, name: str, settings: ApiSettings) -> None:
        self._folder = folder
        self.name = name
        self.settings = settings

    @cached_property
    def entries(self) -> dict[str, OperationEntry]:
        """Its operations by name."""
        return {entry.name: entry for entry in self._listing.operations}

    @property
    def title(self) -> str:
        """The name that its document gives it."""
        return self._listing.title

    @property
    def base_url(self) -> str:
        """The server that its document names first."""
        return self._listing.base_url

    @cached_property
    def _listing(self) -> _OperationList:
        file = _listing_file(self._folder, self.name)
        with suppress(OSError, msgspec.MsgspecError):
            listing = decode_json(file.read_bytes(), _OperationList)
            if listing.format == _FORMAT:
                return listing
        listing = make_listing(self.document)
        with suppress(OSError):
            write_atomically(file, msgspec.json.encode(listing))
        return listing

    @cached_property
    def document(self) -> ApiDocument:
        """Its document, with the others that it refers to."""
        file = _document_file(self._folder, self.name)
        try:
            resources = decode_json(file.read_bytes(), dict[str, Any])
        except (OSError, msgspec.MsgspecError) as error:
            raise ApiError(f"{file} cannot be read; add the API again: {error}") from error
        return ApiDocument(resources)

    def operation(self, name: str) -> ApiOperation | None:
        """Read an operation whole; None if there is none of that name."""
        entry = self.entries.get(name)
        if entry is None:
            return None
        settings = self.settings
        return read_operation(
            self.document,
            entry.path,
            entry.method,
            base_url=settings.base_url,
            schemes=settings.schemes,
        )

    def secrets_for(self, security: Security) -> dict[str, str]:
        """Return the names of the secrets that an operation is sent with, by their schemes."""
        settings = self.settings
        if settings.is_given:
            return settings.secrets
        known = [way for way in security.ways if all(name in settings.secrets for name in way)]
        if not known or security.optional:
            return {}
        return {name: settings.secrets[name] for name in known[0]}


class ApiStore:
    """The APIs that were added to one home."""

    def __init__(self, home: Home) -> None:
        self.folder = home.path / "apis"

    def load(self) -> dict[str, Api]:
        """Return all APIs by name."""
        found = {}
        with suppress(FileNotFoundError, NotADirectoryError):
            for file in sorted(self.folder.iterdir()):
                name = file.name.removesuffix(".json")
                if _NAME.fullmatch(name) and name != file.name:
                    found[name] = Api(self.folder, name, _settings(file))
        return found

    def must_be_free(self, name: str, *, replace: bool = False) -> None:
        """Raise ApiError unless an API can be added under a name."""
        if not _NAME.fullmatch(name):
            raise ApiError(
                f"{name!r} cannot be the name of an API: it may hold letters, digits, '_' and '-'"
            )
        if not replace and _settings_file(self.folder, name).exists():
            raise ApiError(f"there is already an API {name!r}; --force replaces it")

    def add(self, name: str, settings: ApiSettings, document: ApiDocument) -> Api:
        """Write an API, its settings last, and return it."""
        listing = make_listing(document)
        files: dict[Path, bytes] = {
            _document_file(self.folder, name): msgspec.json.encode(document.resources),
            _listing_file(self.folder, name): msgspec.json.encode(listing),
            _settings_file(self.folder, name): msgspec.json.encode(settings),
        }
        try:
            private_directory(self.folder)
            for file, content in files.items():
                write_atomically(file, content)
        except OSError as error:
            raise HostError(f"{self.folder} cannot be written: {error.strerror}") from error
        return Api(self.folder, name, settings)

    def remove(self, name: str) -> Path:
        """Remove an API, and return the file of its settings."""
        known = self.load()
        if name not in known:
            raise unknown_api(name, known)
        file = _settings_file(self.folder, name)
        for one in (file, _listing_file(self.folder, name), _document_file(self.folder, name)):
            one.unlink(missing_ok=True)
        return file


def unknown_api(name: str, known: Mapping[str, Api]) -> ApiError:
    """Return the error about a name that no API has."""
    there = ", ".join(known) or "none; add one with `runtrue api add`"
    return ApiError(f"there is no API {name!r}{suggestion(name, known)}; available: {there}")


def _settings(file: Path) -> ApiSettings:
    try:
        return decode_json(file.read_bytes(), ApiSettings)
    except (OSError, msgspec.MsgspecError) as error:
        raise ApiError(f"{file} cannot be read: {error}") from error


def _settings_file(folder: Path, name: str) -> Path:
    return folder / f"{name}.json"


def _document_file(folder: Path, name: str) -> Path:
    return folder / f"{name}.document.json"


def _listing_file(folder: Path, name: str) -> Path:
    return folder / f"{name}.operations.json"


# -- listing --------------------------------------------------------------------------------------


def make_listing(document: ApiDocument) -> _OperationList:
    """List the operations of a document, each under a name of its own."""
    entries: dict[str, OperationEntry] = {}
    for path, method, item, data in document.entries():
        name = first = operation_name(path, method, data)
        number = 2
        while name in entries:
            name, number = f"{first}-{number}", number + 1
        words = " ".join(list(dict.fromkeys(_words(document, item, data)))[:_MOST_WORDS])
        about = describe(data, method, path)
        entries[name] = OperationEntry(name, method, path, about, words)
    if not entries:
        raise ApiError("it has no operations")
    server = next(iter(document.base_urls()), "")
    return _OperationList(_FORMAT, document.title, server, list(entries.values()))


def _words(document: ApiDocument, item: Located, data: Data) -> Iterator[str]:
    for level in (item.data, data):
        parameters = level.get("parameters")
        for one in parameters if isinstance(parameters, list) else ():
            name = item.part(one).data.get("name")
            yield from [name] if isinstance(name, str) else []
    tags = data.get("tags")
    yield from (tag for tag in (tags if isinstance(tags, list) else ()) if isinstance(tag, str))
    for schema in _schemas(document, item, data):
        yield from _fields(item, schema)


def _schemas(document: ApiDocument, item: Located, data: Data) -> Iterator[object]:
    responses = data.get("responses")
    known = responses if isinstance(responses, dict) else {}
    holders = [item.part(one).data for code, one in known.items() if str(code)[:1] == "2"]
    holders.append(item.part(data.get("requestBody")).data)
    for holder in holders:
        if document.is_swagger:
            yield holder.get("schema")
        content = holder.get("content")
        for media in content.values() if isinstance(content, dict) else ():
            yield media.get("schema") if isinstance(media, dict) else None


def _fields(item: Located, schema: object) -> Iterator[str]:
    part = item.part(schema)
    if isinstance(part.data.get("items"), dict):
        part = part.part(part.data["items"])
    properties = part.data.get("properties")
    yield from (map(str, properties) if isinstance(properties, dict) else ())
