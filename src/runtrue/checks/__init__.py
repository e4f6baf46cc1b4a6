"""Checks: run a command, read its report, give a verdict with structured findings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtrue._lazy import lazy_exports

if TYPE_CHECKING:
    from runtrue.checks.case_info import CaseInfo, load_cases
    from runtrue.checks.check import CommandCheck, find_program, reader_of
    from runtrue.checks.coverage import (
        Coverage,
        FileCoverage,
        Measured,
        lines_with_code,
        load_measured,
    )
    from runtrue.checks.detect import Detected, detect_checks, may_define_checks, own_checks
    from runtrue.checks.framework import (
        Framework,
        Language,
        framework_of,
        is_linter,
        language_of,
        tool_of,
    )
    from runtrue.checks.line import commands_of, files_named, is_shell
    from runtrue.checks.locations import is_installed, plain, relative
    from runtrue.checks.reach import reach_of, scripts_of
    from runtrue.checks.reader import Reader, Reading, output_of, trim
    from runtrue.checks.totals import Totals, totals

__all__ = lazy_exports(__name__)
