"""Many machines: runs are put on queues of a shared database, and workers take them from there.

DBOS schedules, and the journal records: one DBOS workflow is one segment of a run. Nothing else in
runtrue knows DBOS.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtrue._lazy import lazy_exports

if TYPE_CHECKING:
    from runtrue.scale.engine import migrate_engine
    from runtrue.scale.file_table import FileTable
    from runtrue.scale.large_files import large_files
    from runtrue.scale.queue import Queue, QueueDepth
    from runtrue.scale.worker import QueueLimits, Worker
    from runtrue.scale.worker_table import WorkerRow, WorkerTable

__all__ = lazy_exports(__name__)
