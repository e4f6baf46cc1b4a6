"""How a secret may be spelled: patterns that find it as it is, escaped, and encoded."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator

#: Base64 of more than the secret itself is looked for from this many characters on.
_SHORTEST_CORE = 8
#: A backslash, which may be percent-encoded itself. Each encoding doubles them, here up to three
#: times; the bound keeps a search through a long row of them linear.
_SLASHES = (r"\\", "%(?:25)*5[cC]")
_SLASH = f"(?:{'|'.join(_SLASHES)})"
_MOST = 8
_LETTERS = {"\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t", "\v": "v", "\a": "a"}
_UNITS = re.compile(r"\\+|[^\\]", re.S)


def spellings(secret: str) -> Iterator[str]:
    """Yield patterns that match a secret in all its encodings."""
    yield re.escape(secret)
    yield from _patterns(secret)
    data = _utf8(secret)
    yield from (data.hex(), data.hex().upper())
    for signs in (b"+/", b"-_"):
        # The secret may be in the middle of what was encoded, as in `user:password`: the
        # characters that depend on nothing but the secret are the same whatever is around it.
        for before in range(3):
            encoded = base64.b64encode(bytes(before) + data, signs).decode().rstrip("=")
            begin, end = -(-before * 8 // 6), (before + len(data)) * 8 // 6
            if end - begin >= _SHORTEST_CORE:
                last = f"(?:{re.escape(encoded[end:])})?" if before == 0 else ""
                yield from _patterns(encoded[begin:end], last)
            elif before == 0:
                yield from _patterns(encoded)


def _patterns(text: str, tail: str = "") -> Iterator[str]:
    """Yield one pattern for each way in which the first character may be written.

    Patterns that begin with a plain character let `re` pass quickly over what cannot match.
    """
    first, *others = _UNITS.findall(text)
    rest = "".join(map(_anyhow, others)) + tail
    if first.startswith("\\"):
        more = f"{_SLASH}{{{len(first) - 1},{len(first) * _MOST}}}+"
        leads = [slash + more for slash in _SLASHES]
    else:
        plain, signs = _plain(first), _signs(first)
        after = f"{_SLASH}{{0,{_MOST}}}(?:{'|'.join([*plain, *signs])})"
        leads = [*plain, *(slash + after for slash in _SLASHES if signs)]
    for lead in leads:
        yield lead + rest


def _anyhow(unit: str) -> str:
    """Return a pattern of a character, or of a row of backslashes, within a secret."""
    if unit.startswith("\\"):
        # A row gives none back: there would be too many ways to share them with what follows.
        return f"{_SLASH}{{{len(unit)},{len(unit) * _MOST}}}+"
    plain, signs = _plain(unit), _signs(unit)
    if not signs:
        return plain[0]
    # A row of backslashes before it may have taken those of its own.
    return f"{_SLASH}{{0,{_MOST}}}(?:{'|'.join([*plain, *signs])})"


def _plain(char: str) -> list[str]:
    """Return the ways to write a character without a backslash."""
    if _is_safe(char):
        return [re.escape(char)]
    percent = "".join(f"%(?:25)*{_hex(byte)}" for byte in _utf8(char))
    return [re.escape(char), percent, *([r"\+"] if char == " " else [])]


def _signs(char: str) -> list[str]:
    """Return what may follow a backslash to represent a character."""
    if _is_safe(char):
        return []
    escape = f"{_SLASH}{{1,{_MOST}}}+"
    code = ord(char)
    signs = [escape.join(f"u{_hex(unit, 4)}" for unit in _utf16(char))]
    if code > 0xFFFF:
        signs.append(f"U{_hex(code, 8)}")
    if code <= 0xFF and not 0x20 <= code < 0x7F:
        signs.append(f"x{_hex(code)}")
    if code >= 0x80:
        signs.append(escape.join(f"x{_hex(byte)}" for byte in _utf8(char)))
    if char in _LETTERS:
        signs.append(_LETTERS[char])
    return signs


def _is_safe(char: str) -> bool:
    """True if no encoding changes the character."""
    return char.isascii() and (char.isalnum() or char in "-_.~")


def _hex(number: int, width: int = 2) -> str:
    digits = f"{number:0{width}x}"
    return "".join(f"[{digit}{digit.upper()}]" if digit.isalpha() else digit for digit in digits)


def _utf8(text: str) -> bytes:
    return text.encode(errors="surrogatepass")


def _utf16(char: str) -> list[int]:
    data = char.encode("utf-16-be", errors="surrogatepass")
    return [int.from_bytes(data[at : at + 2]) for at in range(0, len(data), 2)]
