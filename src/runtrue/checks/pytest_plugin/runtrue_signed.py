"""The signed report of runtrue_report: lines that nobody else can write, change or leave out.

It runs inside the project's own Python, as a part of runtrue_report. The key is in a file beside
the report, which is read before anything of the project is imported; what stays there is the key
of the next session, from which this one's cannot be derived. Each line is signed together with all
lines before it, so that anyone who finds out how lines are signed cannot take back earlier ones: of
the hash of the key and the line, one half is the signature, and the other the key of the next line.
"""

from __future__ import annotations  # any Python may be the project's

import hashlib
import importlib.util
import json.encoder
import os
from collections.abc import Callable
from typing import Any

try:
    import fcntl
except ImportError:  # not on every system
    fcntl = None  # type: ignore[assignment]


def open_report(path: str) -> Callable[[dict[str, Any]], None]:
    """Open the report, take its key, and return a function that writes a line at once."""
    session, key = _take_key(path + ".key")
    sha512 = hashlib.sha512
    encode = _encoder()
    # Local names, not looked up again: a program may replace the functions.
    getpid, write, fstat, opened = os.getpid, os.write, os.fstat, os.open
    process = getpid()
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
    descriptor = opened(path, flags, 0o600)

    def identity(number: int) -> tuple[int, int]:
        status = fstat(number)
        return status.st_dev, status.st_ino

    file = identity(descriptor)

    def write_line(line: dict[str, Any]) -> None:
        nonlocal descriptor, file, key
        if getpid() != process:  # a fork of it that a test has made, and that has not ended
            return
        try:
            is_ours = identity(descriptor) == file
        except OSError:
            is_ours = False
        if not is_ours:  # a test has closed it, and may have got its number for another file
            descriptor = opened(path, flags, 0o600)
            file = identity(descriptor)
        # Half a surrogate pair, from a file name say, is no text: it must not get into the report.
        data = encode(line).encode("utf-8", "replace")
        digest = sha512(key + data).digest()
        key = digest[:32]
        left = b"%d %s %s\n" % (session, digest[32:].hex().encode(), data)
        while left:
            left = left[write(descriptor, left) :]

    return write_line


def _take_key(path: str) -> tuple[int, bytes]:
    """Return the number and the key of this session; leave those of the next in the file.

    Without a key, lines are signed with none: the reader then sees that somebody has taken it.
    """
    try:
        descriptor = os.open(path, os.O_RDWR)
    except OSError:
        return 0, b""
    try:
        if fcntl is not None:  # several may be started side by side
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        number, _, text = os.read(descriptor, 256).decode("ascii", "replace").partition(" ")
        session, key = int(number), bytes.fromhex(text)
        following = hashlib.sha512(key + b"session").hexdigest()[:64]
        os.lseek(descriptor, 0, os.SEEK_SET)
        os.ftruncate(descriptor, 0)
        os.write(descriptor, b"%d %s" % (session + 1, following.encode()))
        return session, key
    except (OSError, ValueError):
        return 0, b""
    finally:
        os.close(descriptor)


def _encoder() -> Callable[[Any], str]:
    """Return JSON's encoder from a module of our own: programs change the usual one."""
    spec = importlib.util.spec_from_file_location("runtrue_json", json.encoder.__file__)
    module = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]
    spec.loader.exec_module(module)  # type: ignore[union-attr]
    encode: Callable[[Any], str] = module.JSONEncoder(ensure_ascii=False).encode
    return encode
