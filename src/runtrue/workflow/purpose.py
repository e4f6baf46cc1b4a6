"""Purpose: what params, as they are written, stay for when only their references are changed."""

from __future__ import annotations

import re
from typing import Any

from runtrue.workflow.templates import Reference, TemplateSyntaxError, compile_template

#: Stands for a reference in text that is taken apart by its characters.
_MARK = "\0"
_ORIGIN = re.compile(r"[^/?#]*?://[^/?#]+|[^/?#:]+(?=[/?#]|$)")


def same_text(before: Any, after: Any) -> bool:
    """True if two values differ only in what their `${…}` refer to.

    A secret is no mere reference: `${env.A}` and `${env.B}` are not the same.
    """
    # Not recursive: what is proposed may be nested as deep as it likes.
    waiting = [(before, after)]
    while waiting:
        old, new = waiting.pop()
        if isinstance(old, dict) and isinstance(new, dict):
            if old.keys() != new.keys():
                return False
            waiting.extend((old[key], new[key]) for key in old)
        elif isinstance(old, list) and isinstance(new, list):
            if len(old) != len(new):
                return False
            waiting.extend(zip(old, new, strict=True))
        elif isinstance(old, str) and isinstance(new, str):
            if list(map(_fixed, _parts(old))) != list(map(_fixed, _parts(new))):
                return False
        elif type(old) is not type(new) or old != new:
            return False
    return True


def origin_of(url: Any) -> Any:
    """Return what decides where a URL leads: its scheme, host and port, as written.

    Where these are not written but referred to, it is the references. All of a URL that cannot be
    taken apart counts.
    """
    if not isinstance(url, str) or _MARK in url:
        return url
    parts = _parts(url)
    found = _ORIGIN.match("".join(part if isinstance(part, str) else _MARK for part in parts))
    if found is None:
        return url
    references = [part.text for part in parts if isinstance(part, Reference)]
    return found[0], references[: found[0].count(_MARK)]


def _parts(text: str) -> tuple[str | Reference, ...]:
    try:
        return compile_template(text).split()
    except TemplateSyntaxError:
        return (text,)


def _fixed(part: str | Reference) -> tuple[bool, str]:
    if isinstance(part, str):
        return True, part
    return False, part.text if part.secret else ""
