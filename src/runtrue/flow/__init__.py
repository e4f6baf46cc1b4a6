"""The kernel: nodes joined by actions, run as flows, recorded in a journal.

It knows nothing of language models, code or workflows. `node` and `flow` are what a flow is,
`run` is how one is driven, `journal` is what has happened, durably, and `dispatch` is who drives.
"""

from runtrue.flow.dispatch import LocalDispatcher, Segment
from runtrue.flow.events import Event, Listener, emit, held_emit, held_tell, tell
from runtrue.flow.flow import Flow
from runtrue.flow.journal import Journal
from runtrue.flow.node import Ask, Node
from runtrue.flow.owner import Owner
from runtrue.flow.rows import Claim, Question, ResultRow, RunRow, RunState, StepRow
from runtrue.flow.run import Parked, replay, run_segment

__all__ = [
    "Ask",
    "Claim",
    "Event",
    "Flow",
    "Journal",
    "Listener",
    "LocalDispatcher",
    "Node",
    "Owner",
    "Parked",
    "Question",
    "ResultRow",
    "RunRow",
    "RunState",
    "Segment",
    "StepRow",
    "emit",
    "held_emit",
    "held_tell",
    "replay",
    "run_segment",
    "tell",
]
