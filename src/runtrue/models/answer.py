"""Answers: the text and data of a model's answer, and its usage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """The tokens, requests and cost of one question.

    `cost` is in US dollars by the list prices that the library knows, and None if it does not
    know them all. Of a request without an answer only the request itself is counted.
    """

    model: str
    input_tokens: int = 0
    output_tokens: int = 0
    requests: int = 0
    cost: float | None = 0.0

    def plus(self, other: Usage | None) -> Usage:
        """Return the sum of both, under the name of this one."""
        if other is None:
            return self
        is_known = self.cost is not None and other.cost is not None
        return Usage(
            model=self.model,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            requests=self.requests + other.requests,
            cost=(self.cost or 0.0) + (other.cost or 0.0) if is_known else None,
        )

    def to_dict(self) -> dict[str, float]:
        """Return the known numbers by their names."""
        names = ("requests", "input_tokens", "output_tokens", "cost")
        return {name: n for name in names if (n := getattr(self, name)) is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAnswer:
    """A model's answer. If a schema was given, `data` is set and fits it."""

    text: str
    data: Any | None
    usage: Usage
