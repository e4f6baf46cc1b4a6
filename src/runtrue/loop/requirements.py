"""Requirements: what code of a type must bring along before it is handed over."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from msgspec import Meta

#: The minimum that means: as much as before.
MATCH = -1.0

#: Percent of lines, or -1 for as much as before.
Percent = Annotated[float, Meta(ge=-1, le=100)]


class CodeType(StrEnum):
    """What kind of change it is."""

    NEW_FUNCTION = "new_function"
    BUG_FIX = "bug_fix"
    REFACTOR = "refactor"
    API_ENDPOINT = "api_endpoint"
    INTEGRATION = "integration"


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """How much of the code its tests must run, and which kinds of tests there must be."""

    minimum_coverage: Percent = 0.0
    required_tests: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirements:
    """The requirement of each type of code; those of the seed by default."""

    new_function: Requirement = Requirement(
        minimum_coverage=80.0, required_tests=("happy_path", "edge_cases", "error_handling")
    )
    #: Of the lines that the fix changed.
    bug_fix: Requirement = Requirement(
        minimum_coverage=100.0, required_tests=("regression_test", "original_bug_reproduction")
    )
    refactor: Requirement = Requirement(
        minimum_coverage=MATCH, required_tests=("existing_tests_pass",)
    )
    api_endpoint: Requirement = Requirement(
        minimum_coverage=90.0,
        required_tests=("happy_path", "error_cases", "integration_test", "validation_test"),
    )
    integration: Requirement = Requirement()

    def of(self, code_type: CodeType) -> Requirement:
        """The requirement of one type."""
        requirement: Requirement = getattr(self, code_type.value)
        return requirement
