"""The generator with a language model: prompts as files, answers as data, each checked here.

`generator` asks; `prompts`, `structure` and `redaction` say what is asked, `answers` and `edits`
what may be answered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtrue._lazy import lazy_exports

if TYPE_CHECKING:
    from runtrue.planner.model.generator import ModelWorkflowGenerator

__all__ = lazy_exports(__name__)
