"""The Generator with a language model: prompts as files, answers as data, each checked here.

`generator` asks; `forms` is what may be answered, `prompts` what is asked with; `components`,
`structure`, `evidence` and `redaction` put facts into words; `edits` and `values` read answers.
"""

from runtrue.planner.model.generator import ModelGenerator

__all__ = ["ModelGenerator"]
