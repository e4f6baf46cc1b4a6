"""The generator with a language model: prompts as files, answers as data, each checked here.

`generator` asks; `prompts`, `structure` and `redaction` say what is asked, `answers` and `edits`
what may be answered.
"""

from runtrue.planner.model.generator import ModelWorkflowGenerator

__all__ = ["ModelWorkflowGenerator"]
