"""The generator without a model: a small grammar, and a rule for each thing that a task can name.

`clauses` takes a clause apart, `steps` decides what it is about, and `http`, `files`, `commands`,
`operations` and `tools` add the nodes to the `draft`. `saved` finds and fills saved workflows.
"""

from runtrue.planner.built_in.generator import BuiltInGenerator

__all__ = ["BuiltInGenerator"]
