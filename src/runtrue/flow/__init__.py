"""The kernel: loops and flows whose steps are recorded in a journal, so that they survive a crash.

It knows nothing of language models, code or workflows. A loop is a function of a `run`; `node` and
`flow` are nodes joined by actions; `journal` is what has happened, and `dispatch` who runs it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtrue._lazy import lazy_exports

if TYPE_CHECKING:
    from runtrue.flow.child_table import ChildRow
    from runtrue.flow.children import ChildDrive, drive_children
    from runtrue.flow.codec import unpacked
    from runtrue.flow.database import Location, location_name
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
    from runtrue.flow.migrations import MIGRATIONS
    from runtrue.flow.node import Ask, Node
    from runtrue.flow.owner import Owner
    from runtrue.flow.parts import EffectAwaited, current_parts, interrupted
    from runtrue.flow.postgres import PostgresDatabase
    from runtrue.flow.retention import RunRetention
    from runtrue.flow.rows import (
        Claim,
        NewRun,
        Question,
        ResultRow,
        RunRow,
        RunState,
        StepRow,
        to_json,
    )
    from runtrue.flow.run import Parked, Run, replay
    from runtrue.flow.run_list import RunFilter, RunSummary, TimedEvent
    from runtrue.flow.schedule_table import Missed, Schedule

__all__ = lazy_exports(__name__)
