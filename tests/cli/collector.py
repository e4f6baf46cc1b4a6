"""A collector of traces and metrics, which speaks OTLP over loopback."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


class Collector(ThreadingHTTPServer):
    """Keeps what it is sent, decoded by OpenTelemetry's own messages."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.raw = b""
        self.spans: dict[str, Any] = {}
        self.services: set[str] = set()
        self.metrics: set[str] = set()

    @property
    def environment(self) -> dict[str, str]:
        return {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{self.server_port}"}

    def parent(self, name: str) -> str:
        """Return the name of the span above one."""
        above = self.spans[name].parent_span_id
        return next((one for one, span in self.spans.items() if span.span_id == above), "")

    def attributes(self, name: str) -> dict[str, Any]:
        return {one.key: _value(one.value) for one in self.spans[name].attributes}


class _Handler(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            import gzip

            body = gzip.decompress(body)
        self.server.raw += body
        if self.path == "/v1/traces":
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                self.server.services |= {
                    one.value.string_value
                    for one in resource.resource.attributes
                    if one.key == "service.name"
                }
                for scope in resource.scope_spans:
                    self.server.spans |= {span.name: span for span in scope.spans}
        elif self.path == "/v1/metrics":
            for measured in ExportMetricsServiceRequest.FromString(body).resource_metrics:
                for group in measured.scope_metrics:
                    self.server.metrics |= {one.name for one in group.metrics}
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


def _value(value: Any) -> Any:
    return getattr(value, value.WhichOneof("value"))


@contextmanager
def running_collector() -> Iterator[Collector]:
    server = Collector()
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()
