"""What a worker says of its queue, as OpenTelemetry metrics, where somebody asked for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from runtrue.errors import JournalError
from runtrue.scale.queue import Queue, QueueDepth

if TYPE_CHECKING:
    from opentelemetry.metrics import CallbackOptions, Meter, Observation


class QueueMetrics:
    """How much waits on a queue and for how long, and what a worker takes over and drives."""

    def __init__(self, meter: Meter, url: str, queue: str) -> None:
        self._url = url
        self._queue = queue
        self._facts = {"runtrue.queue": queue}
        meter.create_observable_gauge(
            "runtrue.queue.depth",
            [self._observed(lambda depth: depth.waiting)],
            "{run}",
            "How many runs wait on the queue.",
        )
        meter.create_observable_gauge(
            "runtrue.queue.age",
            [self._observed(lambda depth: depth.oldest or 0.0)],
            "s",
            "How long the first of the runs on the queue has waited.",
        )
        self._takeovers = meter.create_counter(
            "runtrue.worker.takeovers", "{run}", "Runs of lost workers that went to others."
        )
        self._segments = meter.create_histogram(
            "runtrue.segment.duration", "s", "How long workers drove runs at a time."
        )

    def record_takeovers(self, count: int) -> None:
        """Count runs of a lost worker that this one returns to their queue."""
        self._takeovers.add(count, self._facts)

    def record_segment(self, kind: str, seconds: float) -> None:
        """Record for how long a run was driven, until it ended, waited or was let go of."""
        self._segments.record(seconds, {**self._facts, "runtrue.run.kind": kind})

    def _observed(
        self, value: Callable[[QueueDepth], float]
    ) -> Callable[[CallbackOptions], Iterable[Observation]]:
        def observe(_: CallbackOptions) -> Iterable[Observation]:
            from opentelemetry.metrics import Observation

            try:
                with Queue(self._url) as queue:
                    depth = queue.depths().get(self._queue, QueueDepth())
            except JournalError:
                return []  # the worker itself says that the database is away
            return [Observation(value(depth), self._facts)]

        return observe
