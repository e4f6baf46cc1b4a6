"""The kernel: loops and flows whose steps are recorded in a journal, so that they survive a crash.

It knows nothing of language models, code or workflows. A loop is a function of a `run`; `node` and
`flow` are nodes joined by actions; `journal` is what has happened, and `dispatch` who runs it.
"""

from runtrue.flow.dispatch import LocalDispatcher, Outcome, Segment
from runtrue.flow.events import (
    Emitter,
    Event,
    Listener,
    NodeFinished,
    NodeReplayed,
    NodeStarted,
    RunParked,
    UnknownEvent,
    bound_emit,
    emit,
)
from runtrue.flow.flow import Flow
from runtrue.flow.journal import Journal
from runtrue.flow.node import Ask, Node
from runtrue.flow.owner import Owner
from runtrue.flow.rows import Claim, Question, ResultRow, RunRow, RunState, StepRow
from runtrue.flow.run import Parked, Run, replay

__all__ = [
    "Ask",
    "Claim",
    "Emitter",
    "Event",
    "Flow",
    "Journal",
    "Listener",
    "LocalDispatcher",
    "Node",
    "NodeFinished",
    "NodeReplayed",
    "NodeStarted",
    "Outcome",
    "Owner",
    "Parked",
    "Question",
    "ResultRow",
    "Run",
    "RunParked",
    "RunRow",
    "RunState",
    "Segment",
    "StepRow",
    "UnknownEvent",
    "bound_emit",
    "emit",
    "replay",
]
