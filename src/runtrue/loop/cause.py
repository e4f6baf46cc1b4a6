"""Causes: what kind of mistake is behind a finding, by the type of the error alone."""

from __future__ import annotations

import re
from enum import StrEnum

from runtrue.loop.finding import Finding


class Cause(StrEnum):
    """The kinds of mistakes."""

    WRONG_VALUE = "wrong_value"
    MISSING_NAME = "missing_name"
    MISSING_MEMBER = "missing_member"
    TYPE_MISMATCH = "type_mismatch"
    NULL_ACCESS = "null_access"
    OUT_OF_RANGE = "out_of_range"
    BAD_ARGUMENT = "bad_argument"
    ARITHMETIC = "arithmetic"
    RECURSION = "recursion"
    SYNTAX = "syntax"
    STATIC_CHECK = "static_check"
    TIMEOUT = "timeout"
    CRASH = "crash"
    NOT_RUN = "not_run"
    COVERAGE = "coverage"
    MISSING_TESTS = "missing_tests"
    SECURITY = "security"
    OUTSIDE = "outside"
    #: Nothing says what went wrong.
    UNKNOWN = "unknown"


#: Categories that our own checks give to a finding.
COVERAGE_UNMET = "coverage_threshold_unmet"
TESTS_MISSING = "required_tests_missing"
TESTS_CANNOT_FAIL = "tests_cannot_fail"
SECURITY_ISSUE = "security_issue"
TIMEOUT = "timeout"
#: A run without a single test.
NOTHING_COLLECTED = "nothing_collected"
#: A limit other than that of time; the finding's data say which, and how much of it was used.
RESOURCE_LIMIT = "resource_limit"
#: A candidate that wanted to be its own judge.
TAMPERED = "tampered"
#: Fixed by a person's yes, and by nothing else.
NEEDS_APPROVAL = "needs_approval"

_BY_CATEGORY = {
    COVERAGE_UNMET: Cause.COVERAGE,
    TESTS_MISSING: Cause.MISSING_TESTS,
    TESTS_CANNOT_FAIL: Cause.MISSING_TESTS,
    SECURITY_ISSUE: Cause.SECURITY,
    TIMEOUT: Cause.TIMEOUT,
    "not_run": Cause.NOT_RUN,
    "depends_on_added_tests": Cause.NOT_RUN,
    **dict.fromkeys((RESOURCE_LIMIT, TAMPERED), Cause.CRASH),
    "signal": Cause.CRASH,
    "died": Cause.CRASH,
    "panic": Cause.CRASH,
    "assertion": Cause.WRONG_VALUE,
    "compile": Cause.SYNTAX,
    "syntax": Cause.SYNTAX,
    "invalid-syntax": Cause.SYNTAX,
    # Not the code's: what was to judge it did not get to it.
    **dict.fromkeys(
        (
            *("not_runnable", "no_report", NOTHING_COLLECTED, "contradiction"),
            *("coverage_unknown", "scanner_broken"),
        ),
        Cause.OUTSIDE,
    ),
}
#: By the name of an error's type, in any of the languages, without what is before its last dot.
_BY_TYPE = {
    # `Failed` is raised by `pytest.fail`, and where `pytest.raises` has waited in vain.
    Cause.WRONG_VALUE: r"Assert\w*|ComparisonFailure|Failed",
    Cause.MISSING_NAME: (
        r"NameError|UnboundLocalError|ReferenceError|ImportError|ModuleNotFoundError"
        r"|NoClassDefFoundError|ClassNotFoundException"
    ),
    Cause.MISSING_MEMBER: (
        r"AttributeError|KeyError|LookupError|NoSuch\w+|StopIteration|InputMismatchException"
    ),
    Cause.NULL_ACCESS: r"NullPointerException",
    Cause.TYPE_MISMATCH: r"TypeError|ClassCastException|ArrayStoreException",
    Cause.OUT_OF_RANGE: r"\w*IndexError|RangeError|\w*IndexOutOfBounds\w*|NegativeArraySize\w*",
    Cause.BAD_ARGUMENT: (
        r"ValueError|Unicode\w*Error|Illegal\w+|NumberFormatException|\w*DecodeError|URIError"
        r"|NotImplementedError|UnsupportedOperation\w*|DateTime\w*Exception"
    ),
    Cause.ARITHMETIC: r"ZeroDivisionError|OverflowError|FloatingPointError|Arithmetic\w+",
    Cause.RECURSION: r"RecursionError|StackOverflowError",
    Cause.SYNTAX: r"SyntaxError|IndentationError|TabError|ParseError",
    Cause.TIMEOUT: r"\w*Timeout\w*",
    Cause.CRASH: r"MemoryError|OutOfMemoryError|SystemExit|\w*Panic\w*",
    Cause.OUTSIDE: r"OSError|IOException|\w*Connection\w*|FileNotFoundError|PermissionError",
}
_TYPES = [(re.compile(pattern), cause) for cause, pattern in _BY_TYPE.items()]
#: Error types that say nothing but that there was one.
_SAYS_NOTHING = frozenset({"", "failure", "error", "exit_code", "Error", "Exception", "Throwable"})
_TYPE_NAME = re.compile(r"[A-Z]\w*(?:Error|Exception|Warning|Failure|Exit|Fault)")


def cause_of(finding: Finding) -> Cause:
    """The kind of mistake behind a finding."""
    category = finding.category
    if category in _BY_CATEGORY:
        return _BY_CATEGORY[category]
    return cause_of_type(category)


def cause_of_type(error: str) -> Cause:
    """The kind of mistake behind an error of some type, by the type's name."""
    name = error.rpartition(".")[2]
    if name in _SAYS_NOTHING:
        return Cause.UNKNOWN
    for pattern, cause in _TYPES:
        if pattern.fullmatch(name):
            return cause
    # A type of the project's own says what went wrong to its author.
    return Cause.BAD_ARGUMENT if _TYPE_NAME.fullmatch(name) else Cause.STATIC_CHECK
