"""What tests of plans begin with: a journal."""

from __future__ import annotations

from tests.loop.conftest import journal

__all__ = ["journal"]
