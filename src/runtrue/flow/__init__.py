"""The kernel: loops and flows whose steps are recorded in a journal, so that they survive a crash.

It knows nothing of language models, code or workflows. A loop is a function of a `run`; `node` and
`flow` are nodes joined by actions; `journal` is what has happened, and `dispatch` who runs it.
"""

from runtrue.flow.dispatch import LocalDispatcher, Outcome, Segment
from runtrue.flow.events import Event, Listener, emit, held_emit, held_tell, tell
from runtrue.flow.flow import Flow
from runtrue.flow.journal import Journal
from runtrue.flow.node import Ask, Node
from runtrue.flow.owner import Owner
from runtrue.flow.rows import Claim, Question, ResultRow, RunRow, RunState, StepRow
from runtrue.flow.run import Parked, Run, replay

__all__ = [
    "Ask",
    "Claim",
    "Event",
    "Flow",
    "Journal",
    "Listener",
    "LocalDispatcher",
    "Node",
    "Outcome",
    "Owner",
    "Parked",
    "Question",
    "ResultRow",
    "Run",
    "RunRow",
    "RunState",
    "Segment",
    "StepRow",
    "emit",
    "held_emit",
    "held_tell",
    "replay",
    "tell",
]
