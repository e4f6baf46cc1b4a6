"""Answers: what a model said, and what that used up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What one question used up, over all requests that were sent for it.

    `cost` is in US dollars by the list prices that the library knows, and None where it does not
    know them all. Of a request that got no answer only the request itself is counted.
    """

    model: str
    input_tokens: int = 0
    output_tokens: int = 0
    requests: int = 0
    cost: float | None = 0.0

    def plus(self, other: Usage | None) -> Usage:
        """Both together, under the name of this one."""
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
        """The numbers, those that are known, by their names."""
        numbers = {
            "requests": self.requests,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "cost": self.cost,
        }
        return {name: number for name, number in numbers.items() if number is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a model said. `data` is there when a schema was given, and fits it."""

    text: str
    data: Any | None
    usage: Usage
