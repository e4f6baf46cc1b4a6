"""Shapes: the message of a failure without its test, and the words to find it by."""

from __future__ import annotations

import hashlib
import re
import zlib
from itertools import islice

from runtrue.loop import Finding, fingerprint, normalise
from runtrue.memory.store import storable
from runtrue.memory.tokens import CodeTokenType, read_line
from runtrue.redaction import Redactor

#: The characters of a message that are stored.
_LONGEST = 1_000
#: The words of a message that are looked at; what comes later is detail.
_MOST_WORDS = 24

_WORD = re.compile(r"[^\W\d_]\w+")
#: The line of a traceback that failed, as pytest marks it.
_FAILING_LINE = re.compile(r"^> +(.+)$", re.MULTILINE)


def shape_of(finding: Finding) -> str:
    """Return the fingerprint of a failure without the name of the test that found it."""
    return fingerprint(finding.category, _without_test(finding))


def message_of(finding: Finding, redact: Redactor) -> str:
    """Return the message as it is stored: without what varies, and without secrets; trimmed."""
    # Normalising removes the line breaks that show where a private key ends, so it comes later.
    return storable(normalise(redact(_without_test(finding)))[:_LONGEST])


def _without_test(finding: Finding) -> str:
    test = (finding.location.symbol or "").rpartition("::")[2].partition("[")[0]
    # A short name may be any word of the message.
    return finding.message.replace(test, "<test>") if len(test) > 5 else finding.message


def code_shape_of(finding: Finding) -> str:
    """Return a hash of the line of code that failed, whatever its names and values.

    Empty if the finding does not show the line.
    """
    found = _FAILING_LINE.findall(finding.sample or "")
    if not found:
        return ""
    tokens = read_line(found[-1]).tokens
    fixed = (CodeTokenType.SIGN, CodeTokenType.KEYWORD)
    form = " ".join(t.text if t.kind in fixed else t.kind for t in tokens)
    return hashlib.blake2b(form.encode(errors="replace"), digest_size=8).hexdigest()


def words_of(error_type: str, message: str) -> frozenset[int]:
    """Return the words to find a failure by, as numbers; two words may share one."""
    words = dict.fromkeys(_WORD.findall(f"{error_type} {message}".casefold()))
    # 31 bits: SQLite stores them in four bytes.
    numbers = (zlib.crc32(word.encode(errors="replace")) >> 1 for word in words)
    return frozenset(islice(numbers, _MOST_WORDS))
