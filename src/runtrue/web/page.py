"""Pages: templates filled with what runs wrote, all of it escaped and made visible."""

from __future__ import annotations

import math
import time
from datetime import datetime
from functools import cache
from typing import Any

import msgspec
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from runtrue import __version__
from runtrue.foreign_text import visible

#: More of one text than this is not read on a page.
_LONGEST = 20_000
_UNITS = ((86_400, "d"), (3600, "h"), (60, "min"))


class Pages:
    """The templates, and what every page has around its own content."""

    def __init__(
        self, *, read_only: bool = False, alone: bool = False, has_workers: bool = False
    ) -> None:
        self._environment = _environment()
        #: `alone` is for a file, which has no server to ask.
        self._shared = {
            "read_only": read_only or alone,
            "alone": alone,
            "version": __version__,
            "has_workers": has_workers,
        }

    def render(self, template: str, **data: Any) -> str:
        """Return a filled template."""
        shared = {**self._shared, "now": time.time(), "session": None, "section": "", "waiting": 0}
        return self._environment.get_template(template).render({**shared, **data})

    def page(self, request: Request, template: str, code: int = 200, **data: Any) -> Response:
        """Return a page for a browser that was let in."""
        session = getattr(request.state, "session", None)
        return HTMLResponse(self.render(template, session=session, **data), status_code=code)

    def problem(self, request: Request, status: int, text: str) -> Response:
        """Return a page that says what went wrong, and what to do next."""
        return self.page(request, "problem.html", status, status=status, text=text)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("runtrue.web"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "ago": ago,
        "clock": clock,
        "iso": iso,
        "seconds": seconds,
        "pretty": pretty,
        "shorten": shorten,
        "words": words,
        "name_of": name_of,
        "many": many,
        "percent": percent,
        "inline": inline,
    }
    return environment


def _finalize(value: Any) -> Any:
    """Make what is shown visible: no mark turns the writing around, nothing is hidden."""
    if value is None:
        return ""
    return value if isinstance(value, Markup | int | float) else visible(str(value))


def ago(at: float | None, now: float) -> str:
    """Return how long ago something was, in the largest unit that fits."""
    if at is None:
        return ""
    past = max(0.0, now - at)
    for size, unit in _UNITS:
        if past >= size:
            return f"{past // size:.0f} {unit} ago"
    return "just now"


def clock(at: float | None) -> str:
    """Return a time as people write it, in the zone of this machine."""
    return (
        "" if at is None else datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    )


def iso(at: float | None) -> str:
    """Return a time for programs."""
    return "" if at is None else datetime.fromtimestamp(at).astimezone().isoformat("T", "seconds")


def seconds(value: float | None) -> str:
    """Return a duration in the units that people read."""
    if value is None or not math.isfinite(value):
        return "–"
    if value < 10:
        return f"{value:.1f} s"
    if value < 90:
        return f"{value:.0f} s"
    minutes, rest = divmod(round(value), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s"


def pretty(value: Any) -> str:
    """Return data as indented JSON, and text as it is; shortened."""
    if isinstance(value, str):
        return shorten(value)
    return shorten(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())


def shorten(text: str, most: int = _LONGEST) -> str:
    """Return a text without its middle, if it is too long to read."""
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n[… {len(text) - most:,} characters left out …]\n{text[-half:]}"


def words(name: str) -> str:
    """Return a name of the program's as words."""
    return str(name).replace("_", " ").replace("-", " ")


def name_of(path: str | None) -> str:
    """Return the last part of a path."""
    return (path or "").rstrip("/").rpartition("/")[2] or (path or "")


def many(number: int, noun: str) -> str:
    """Return a count with its noun."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def percent(value: float | None) -> str:
    """Return a share as a percentage."""
    return "–" if value is None else f"{value:.0%}"


def inline(text: str) -> Markup:
    """Return a text with what stands between backticks as code."""
    # Every second piece was between two of them; a last one without its partner is text.
    pieces = visible(text).split("`")
    if len(pieces) % 2 == 0:
        pieces[-2:] = ["`".join(pieces[-2:])]
    code = Markup('<code class="t">{}</code>')
    return Markup("").join(code.format(one) if n % 2 else one for n, one in enumerate(pieces))
