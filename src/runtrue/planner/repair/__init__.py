"""Runtime fixes without a model: the paths and arguments that were meant, by what is really there.

`repair` proposes a workflow where it is sure of every correction, and tells ranked candidates where
it is not. `learn` remembers what a run with the corrections has proven.
"""

from runtrue.planner.repair.learning import learn
from runtrue.planner.repair.mending import repair
from runtrue.planner.repair.references import redirect
from runtrue.planner.repair.requests import scope_of_node

__all__ = ["learn", "redirect", "repair", "scope_of_node"]
