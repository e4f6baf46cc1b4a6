"""Shapes: what a failure says, whichever test says it, and the words that it is found by."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable

from runtrue.loop import Finding, fingerprint, normalise
from runtrue.memory.store import storable
from runtrue.redaction import Redactor

#: What is kept of a message.
_LONGEST = 1_000
#: The words of a message that are looked at; what comes later is detail.
_MOST_WORDS = 24

_WORD = re.compile(r"[^\W\d_]\w+")


def shape_of(finding: Finding) -> str:
    """The fingerprint of a failure without the name of the test that found it."""
    return fingerprint(finding.category, _without_test(finding))


def message_of(finding: Finding, hide: Redactor) -> str:
    """The message as it is kept: without what varies, and without secrets; trimmed."""
    # Normalising takes the line breaks that tell where a private key ends, so that comes later.
    return storable(normalise(hide(_without_test(finding)))[:_LONGEST])


def _without_test(finding: Finding) -> str:
    test = (finding.location.symbol or "").rpartition("::")[2].partition("[")[0]
    # A short name may be any word of the message.
    return finding.message.replace(test, "<test>") if len(test) > 5 else finding.message


def words_of(error_type: str, message: str) -> frozenset[int]:
    """The words by which a failure is found again, as numbers; two words may share one."""
    words = _WORD.findall(f"{error_type} {message}".casefold())
    return frozenset(map(_number, _first(words)))


def _first(words: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(words))[:_MOST_WORDS]


def _number(word: str) -> int:
    # 31 bits: SQLite keeps them in four bytes.
    return zlib.crc32(word.encode(errors="replace")) >> 1
