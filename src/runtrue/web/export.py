"""One run as one file: the page without a server, for CI to keep."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from pathlib import Path

from markupsafe import Markup

from runtrue.flow import Journal, RunRow
from runtrue.web.page import Pages
from runtrue.web.run_view import view_run
from runtrue.web.service import Report


def write_run_page(
    path: Path, journal: Journal, run: RunRow, report: Report, reasons: dict[str, str]
) -> None:
    """Write the page of a run to a file that needs nothing but itself."""
    style = files("runtrue.web").joinpath("static/style.css").read_text("utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    view = view_run(journal, run, report, reasons=reasons)
    text = Pages(alone=True).render(
        "run.html",
        view=view,
        notice=None,
        busy="",
        section="runs",
        # Our own file: nothing of a run is in it.
        style=Markup(style),  # noqa: S704
        style_digest=digest,
    )
    path.write_text(text, encoding="utf-8")
