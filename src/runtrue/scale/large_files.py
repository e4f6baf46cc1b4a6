"""Where large files of runs are: a directory that the machines share, or a bucket."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

from runtrue.atomic_file import private_directory, write_atomically
from runtrue.errors import JournalError, UsageError
from runtrue.foreign_text import visible_name

#: What names the place, as errors say it.
_SETTING = "RUNTRUE_FILES or [database] files"
_HASH = re.compile(r"[0-9a-f]{64}")
_SCHEMES = ("s3", "gs", "az")


class LargeFiles(Protocol):
    """The seam to where large files are."""

    def write(self, digest: str, content: bytes) -> None:
        """Store a file, also over itself."""
        ...

    def read(self, digest: str) -> bytes:
        """Return a file. Raises JournalError if it is not there."""
        ...

    def delete(self, digest: str) -> None:
        """Delete a file, if it is there."""
        ...


def large_files(where: str | None) -> LargeFiles | None:
    """Return the store at a place: a directory, or the URL of a bucket."""
    if not where:
        return None
    scheme, is_url, _ = where.partition("://")
    if not is_url:
        return SharedDirectory(Path(where).expanduser())
    if scheme not in _SCHEMES:
        raise UsageError(
            f"{_SETTING} is {where!r}: write a directory, or s3://BUCKET/FOLDER "
            "(gs:// and az:// for Google's and Microsoft's)"
        )
    return Bucket(where)


class SharedDirectory:
    """Large files in a directory that the machines share."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def write(self, digest: str, content: bytes) -> None:
        """Store a file, also over itself."""
        file = self._file(digest)
        try:
            private_directory(file.parent)
            write_atomically(file, content)
        except OSError as error:
            raise JournalError(
                f"a file of {len(content)} bytes cannot be written below {self._directory} "
                f"({error.strerror}): {_SETTING} names that directory"
            ) from error

    def read(self, digest: str) -> bytes:
        """Return a file. Raises JournalError if it is not there."""
        try:
            return self._file(digest).read_bytes()
        except OSError as error:
            raise JournalError(
                f"a file of a run cannot be read below {self._directory} ({error.strerror}): all "
                f"machines need the same directory in {_SETTING}"
            ) from error

    def delete(self, digest: str) -> None:
        """Delete a file, if it is there."""
        self._file(digest).unlink(missing_ok=True)

    def _file(self, digest: str) -> Path:
        return self._directory / _key(digest)


class Bucket:
    """Large files in a bucket. Its keys are those of the environment, as in `AWS_*` variables."""

    def __init__(self, url: str) -> None:
        self._url = url
        try:
            from obstore.store import from_url
        except ModuleNotFoundError as error:
            raise UsageError(
                "files in a bucket need obstore: install it with `pip install 'runtrue[scale]'`"
            ) from error
        with self._explained("opened"):
            self._store = from_url(url)

    def write(self, digest: str, content: bytes) -> None:
        """Store a file, also over itself."""
        with self._explained("written to"):
            self._store.put(_key(digest), content)

    def read(self, digest: str) -> bytes:
        """Return a file. Raises JournalError if it is not there."""
        with self._explained("read from"):
            return bytes(self._store.get(_key(digest)).bytes())

    def delete(self, digest: str) -> None:
        """Delete a file, if it is there."""
        with self._explained("written to"), suppress(FileNotFoundError):
            self._store.delete(_key(digest))

    @contextmanager
    def _explained(self, verb: str) -> Iterator[None]:
        from obstore.exceptions import BaseError

        try:
            yield
        except FileNotFoundError as error:
            raise JournalError(
                f"a file of a run is not in {self._url}: all machines need the same bucket in "
                f"{_SETTING}"
            ) from error
        except (BaseError, OSError, ValueError) as error:
            raise JournalError(
                f"{self._url} cannot be {verb}: {_first_sentence(error)}; {_SETTING} names that "
                "bucket, and its keys are in the environment (AWS_ACCESS_KEY_ID and the like)"
            ) from error


def _key(digest: str) -> str:
    """Return the place of a file. A hash comes from the database, and could be any path."""
    if not _HASH.fullmatch(digest):
        raise JournalError(f"{visible_name(digest)!r} in the database is not the hash of a file")
    return f"{digest[:2]}/{digest}"


def _first_sentence(error: Exception) -> str:
    """Return what went wrong, without the library's own notes for its developers."""
    text = str(error).partition("\n\nDebug source")[0]
    return re.sub(r"\s+", " ", text).strip().rstrip(".")
