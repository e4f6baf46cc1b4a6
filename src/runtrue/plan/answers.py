"""Answers: what a person said to a plan, however it was given."""

from __future__ import annotations

from typing import Any


def answer_text(result: Any) -> str:
    """Return what a person said, however it was given."""
    text = result.get("text") if isinstance(result, dict) else result
    return str(text or "").strip()
