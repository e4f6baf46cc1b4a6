"""Gates: the requirements beyond passing tests, coverage and security."""

from runtrue.gates.coverage import CoverageGate, is_source
from runtrue.gates.security import SecurityGate, Severity

__all__ = ["CoverageGate", "SecurityGate", "Severity", "is_source"]
