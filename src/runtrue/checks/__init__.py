"""Checks: run a command, read its report, give a verdict with structured findings."""

from runtrue.checks.check import CommandCheck, find_program, is_shell, tool_of
from runtrue.checks.detect import Detected, detect_checks
from runtrue.checks.reader import output_of, trim

__all__ = [
    "CommandCheck",
    "Detected",
    "detect_checks",
    "find_program",
    "is_shell",
    "output_of",
    "tool_of",
    "trim",
]
