"""Gates: what a candidate that passes its tests is held to beyond them, coverage and security."""

from runtrue.gates.coverage import CoverageGate, is_source
from runtrue.gates.security import SecurityGate, Severity

__all__ = ["CoverageGate", "SecurityGate", "Severity", "is_source"]
