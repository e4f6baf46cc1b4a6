"""Gates: the requirements beyond passing tests, coverage and security."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtrue._lazy import lazy_exports

if TYPE_CHECKING:
    from runtrue.gates.coverage import CoverageGate, is_source
    from runtrue.gates.security import SecurityGate, Severity

__all__ = lazy_exports(__name__)
