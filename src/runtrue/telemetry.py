"""OpenTelemetry: traces and metrics of runs, where `OTEL_*` variables or the program ask for it.

A run is a trace: run, attempts, checks and fixers, and the calls of models below them. Nothing of
OpenTelemetry is imported unless it is asked for, and nothing that a run reads or writes is sent.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from runtrue import __version__

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.metrics import Meter, MeterProvider
    from opentelemetry.trace import Span, TracerProvider
    from pydantic_ai.models.instrumented import InstrumentationSettings

#: How to get what this module needs.
INSTALL = "pip install 'runtrue[otel]'"
#: Prompts and answers are sent only if this is `true`.
_CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
#: Seconds for a collector that does not answer, unless OTEL_EXPORTER_OTLP_TIMEOUT says more.
_PATIENCE = 2
#: Events that open a span, by their kind: how its name begins, and the field that completes it.
_OPENED_BY = {
    "attempt_started": ("attempt", "number"),
    "check_started": ("check", "check"),
    "fixer_started": ("fixer", "fixer"),
    "step_started": ("step", "step"),
}
_CLOSED_BY = {
    "check_finished": ("check", "check"),
    "fixer_finished": ("fixer", "fixer"),
    "step_done": ("step", "step"),
    "step_failed": ("step", "step"),
}
#: The fields of events that spans take over: numbers, names and verdicts, no text of the project.
_ATTRIBUTES = ("number", "limit", "mode", "passed", "findings", "cases", "failed_cases", "partial")


@dataclass(frozen=True, slots=True)
class Telemetry:
    """The providers that spans and metrics go to; None where a signal is not asked for."""

    tracers: TracerProvider | None
    meters: MeterProvider | None


class RunTrace:
    """The trace of a run in the making."""

    def __init__(self, telemetry: Telemetry, run_id: str, kind: str) -> None:
        from opentelemetry import metrics, trace
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        tracers = telemetry.tracers or trace.NoOpTracerProvider()
        meters = telemetry.meters or metrics.NoOpMeterProvider()
        meter = meters.get_meter("runtrue", __version__)
        self._telemetry = telemetry
        self._tracer = tracers.get_tracer("runtrue", __version__)
        self._runs = meter.create_histogram("runtrue.run.duration", "s", "How long runs took.")
        self._parts = {
            "check": meter.create_histogram("runtrue.check.duration", "s", "How long checks took."),
            "fixer": meter.create_histogram("runtrue.fixer.duration", "s", "How long fixers took."),
        }
        self._begun = time.monotonic()
        self._kind = kind
        #: The status of the run, set by what runs it when it ends.
        self.status = "interrupted"
        # The pipeline that runs this may be a trace itself.
        above = TraceContextTextMapPropagator().extract(
            {"traceparent": os.environ.get("TRACEPARENT", "")}
        )
        attributes = {"runtrue.run.id": run_id, "runtrue.run.kind": kind}
        self._root = self._tracer.start_span(f"run {kind}", above, attributes=attributes)
        #: The spans that are open below it, outermost first, with their beginnings.
        self._open: list[tuple[str, Span, float]] = []

    def hear(self, event: Any) -> None:
        """Open or close the span that an event is about."""
        if (opens := _OPENED_BY.get(event.kind)) is not None:
            prefix, field = opens
            if prefix == "attempt":
                self._close_from(0)
            self._start(f"{prefix} {getattr(event, field)}", event)
        elif (closes := _CLOSED_BY.get(event.kind)) is not None:
            prefix, field = closes
            self._finish(f"{prefix} {getattr(event, field)}", event)

    @property
    def context(self) -> Context:
        """The context of the innermost open span."""
        from opentelemetry.trace import set_span_in_context

        return set_span_in_context(self._open[-1][1] if self._open else self._root)

    def model_settings(self) -> InstrumentationSettings:
        """Return how the calls of models are traced: by the conventions for generative AI."""
        from pydantic_ai.models.instrumented import InstrumentationSettings

        return InstrumentationSettings(
            tracer_provider=self._telemetry.tracers,
            meter_provider=self._telemetry.meters,
            include_content=os.environ.get(_CONTENT, "").lower() == "true",
            include_model_request_parameters=False,
        )

    def end(self) -> None:
        """Close everything, with how the run is now."""
        status = self.status
        self._close_from(0)
        self._root.set_attribute("runtrue.run.status", status)
        if status in ("failed", "aborted"):
            from opentelemetry.trace import StatusCode

            self._root.set_status(StatusCode.ERROR, status)
        self._root.end()
        facts = {"runtrue.run.kind": self._kind, "runtrue.run.status": status}
        self._runs.record(time.monotonic() - self._begun, facts)

    def _start(self, name: str, event: Any) -> None:
        span = self._tracer.start_span(name, self.context, attributes=_attributes(event))
        self._open.append((name, span, time.monotonic()))

    def _finish(self, name: str, event: Any) -> None:
        place = next((at for at, one in enumerate(self._open) if one[0] == name), None)
        if place is None:
            return
        _, span, begun = self._open[place]
        facts = _attributes(event)
        # Names of checks may be whole commands: metrics get none.
        if failed := facts.get("runtrue.passed") is False or bool(getattr(event, "failure", None)):
            from opentelemetry.trace import StatusCode

            span.set_status(StatusCode.ERROR)
        span.set_attributes(facts)
        self._close_from(place)
        if (histogram := self._parts.get(name.partition(" ")[0])) is not None:
            histogram.record(time.monotonic() - begun, {"runtrue.passed": not failed})

    def _close_from(self, place: int) -> None:
        for _, span, _ in reversed(self._open[place:]):
            span.end()
        del self._open[place:]


_current: ContextVar[RunTrace | None] = ContextVar("current_trace", default=None)


@contextmanager
def traced(run_id: str, kind: str) -> Iterator[RunTrace | None]:
    """Trace the run that goes on inside; yields None where nobody asks for traces or metrics."""
    telemetry = _telemetry()
    if telemetry is None:
        yield None
        return
    trace = RunTrace(telemetry, run_id, kind)
    token = _current.set(trace)
    try:
        yield trace
    finally:
        _current.reset(token)
        trace.end()


@contextmanager
def model_call() -> Iterator[InstrumentationSettings | bool]:
    """Yield how a call of a model is traced, below what goes on in the current run."""
    trace = _current.get()
    if trace is None:
        yield False
        return
    from opentelemetry import context

    token = context.attach(trace.context)
    try:
        yield trace.model_settings()
    finally:
        context.detach(token)


def meter() -> Meter | None:
    """Return what makes metrics that belong to no run, where somebody asks for metrics."""
    telemetry = _telemetry()
    if telemetry is None or telemetry.meters is None:
        return None
    return telemetry.meters.get_meter("runtrue", __version__)


def asked_for(environment: Mapping[str, str], signal: str) -> str | None:
    """Return the exporter that the variables name for `TRACES` or `METRICS`, if they name one."""
    if environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return None
    exporter = environment.get(f"OTEL_{signal}_EXPORTER", "").strip().lower()
    endpoints = ("OTEL_EXPORTER_OTLP_ENDPOINT", f"OTEL_EXPORTER_OTLP_{signal}_ENDPOINT")
    if not exporter and any(environment.get(name) for name in endpoints):
        exporter = "otlp"
    if exporter != "otlp":
        return None if exporter in ("", "none") else exporter
    protocol = environment.get(f"OTEL_EXPORTER_OTLP_{signal}_PROTOCOL") or environment.get(
        "OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf"
    )
    return "otlp_proto_grpc" if protocol == "grpc" else "otlp_proto_http"


def why_off(environment: Mapping[str, str]) -> str | None:
    """Return why nothing is sent although the variables ask for it, if that is so."""
    for signal in ("TRACES", "METRICS"):
        name = asked_for(environment, signal)
        if name is None:
            continue
        if find_spec("opentelemetry") is None or find_spec("opentelemetry.sdk") is None:
            return f"OpenTelemetry is not installed; {INSTALL}"
        if not _exporters(signal, name):
            return f"there is no exporter {name!r} for {signal.lower()}; {INSTALL}"
    return None


def _telemetry() -> Telemetry | None:
    """Return the providers: those of the program that imports runtrue, or what variables say."""
    if "opentelemetry.sdk.trace" in sys.modules:
        from opentelemetry import metrics, trace
        from opentelemetry.sdk.trace import TracerProvider

        if isinstance(trace.get_tracer_provider(), TracerProvider):
            return Telemetry(trace.get_tracer_provider(), metrics.get_meter_provider())
    if not any(asked_for(os.environ, signal) for signal in ("TRACES", "METRICS")):
        return None
    return _own()


@cache
def _own() -> Telemetry | None:
    if why_off(os.environ) is not None:
        return None
    import logging

    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
    from opentelemetry.sdk.resources import OTELResourceDetector, Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    # A collector that is away is no concern of the person who waits for a run.
    logging.getLogger("opentelemetry").addHandler(logging.NullHandler())
    logging.getLogger("opentelemetry").propagate = False
    # OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES win.
    resource = Resource({"service.name": "runtrue", "service.version": __version__}).merge(
        OTELResourceDetector().detect()
    )
    tracers = meters = None
    if (exporter := _exporter("TRACES")) is not None:
        tracers = TracerProvider(resource=resource)
        tracers.add_span_processor(BatchSpanProcessor(exporter))
    if (exporter := _exporter("METRICS")) is not None:
        meters = MeterProvider([PeriodicExportingMetricReader(exporter)], resource=resource)
    return Telemetry(tracers, meters)


def _exporter(signal: str) -> Any:
    name = asked_for(os.environ, signal)
    if name is None:
        return None
    made = _exporters(signal, name)[0].load()
    if name.startswith("otlp") and not os.environ.get("OTEL_EXPORTER_OTLP_TIMEOUT"):
        return made(timeout=_PATIENCE)
    return made()


def _exporters(signal: str, name: str) -> list[metadata.EntryPoint]:
    group = f"opentelemetry_{signal.lower()}_exporter"
    return list(metadata.entry_points(group=group, name=name))


def _attributes(event: Any) -> dict[str, Any]:
    found = {name: getattr(event, name, None) for name in _ATTRIBUTES}
    return {f"runtrue.{name}": value for name, value in found.items() if value is not None}
