"""Web pages: what happened in runs, what waits for a person, and the answers to it.

They show and ask; everything that changes something is done by the functions and commands that the
command line uses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtrue._lazy import lazy_exports

if TYPE_CHECKING:
    from runtrue.web.app import make_app
    from runtrue.web.export import write_run_page
    from runtrue.web.guard import TrustedProxy
    from runtrue.web.serve import WebAddress, serve_pages
    from runtrue.web.service import PersonAnswer, Report, WebService

__all__ = lazy_exports(__name__)
