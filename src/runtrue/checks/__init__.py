"""Checks: run a command, read its report, give a verdict with structured findings."""

from runtrue.checks.case_info import CaseInfo, load_cases
from runtrue.checks.check import CommandCheck, find_program, reader_of
from runtrue.checks.coverage import MEASURED, Coverage, FileCoverage, Measured, lines_with_code
from runtrue.checks.detect import Detected, detect_checks, own_checks
from runtrue.checks.framework import Framework, Language, framework_of, language_of, tool_of
from runtrue.checks.line import files_named, is_shell
from runtrue.checks.locations import relative
from runtrue.checks.reader import output_of, trim
from runtrue.checks.totals import Totals, totals

load_measured = MEASURED.load

__all__ = [
    "CaseInfo",
    "CommandCheck",
    "Coverage",
    "Detected",
    "FileCoverage",
    "Framework",
    "Language",
    "Measured",
    "Totals",
    "detect_checks",
    "files_named",
    "find_program",
    "framework_of",
    "is_shell",
    "language_of",
    "lines_with_code",
    "load_cases",
    "load_measured",
    "output_of",
    "own_checks",
    "reader_of",
    "relative",
    "tool_of",
    "totals",
    "trim",
]
