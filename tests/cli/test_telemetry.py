"""Traces and metrics of real runs, received by a collector that speaks OTLP over loopback."""

from __future__ import annotations

import socket
import subprocess
import time
from pathlib import Path

import pytest

from runtrue.telemetry import asked_for
from tests.cli.collector import Collector
from tests.cli.conftest import Machine, MakeProject
from tests.models.openai_server import Call, OpenAIServer

BROKEN = {
    "total.py": "def total(net):\n    return net - net * 0.2\n",
    "test_total.py": "from total import total\n\n\ndef test_total():\n    assert total(10) == 12\n",
}
CONTENT = "assert total(10) == 12"


def fix(machine: Machine, project: Path, environment: dict[str, str]) -> tuple[int, str]:
    """Run in a process of its own: what is sent at its end counts too."""
    done = subprocess.run(
        machine.argv("fix", "--check", "python -m pytest -q", "--json"),
        cwd=project,
        env={**machine.env, **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return done.returncode, done.stderr


@pytest.fixture
def project(make_project: MakeProject) -> Path:
    return make_project(BROKEN)


def test_a_run_is_a_trace_down_to_the_call_of_the_model(
    machine: Machine, project: Path, collector: Collector
) -> None:
    edits = {"edits": [{"file": "total.py", "find": "net - net", "replace": "net + net"}]}
    with OpenAIServer() as model:
        model.script(*[Call(edits)] * 6)
        code, said = fix(machine, project, {**collector.environment, **model.environment})
    spans = collector.spans
    assert collector.services == {"runtrue"}, said
    assert collector.parent("attempt 1") == "run fix"
    check = next(name for name in spans if name.startswith("check "))
    assert collector.parent(check).startswith("attempt ")
    assert collector.parent("fixer model").startswith("attempt ")
    (chat,) = {name for name in spans if name.startswith("chat ")}
    assert collector.parent(chat) == "fixer model"
    asked = collector.attributes(chat)
    assert (asked["gen_ai.operation.name"], asked["gen_ai.request.model"]) == ("chat", "gpt-4o")
    assert asked["gen_ai.usage.input_tokens"] == 10
    run = collector.attributes("run fix")
    assert run["runtrue.run.status"] == ("passed" if code == 0 else "failed")
    assert {"runtrue.run.duration", "runtrue.check.duration"} <= collector.metrics
    assert "gen_ai.client.token.usage" in collector.metrics
    # No content unless asked.
    assert CONTENT.encode() not in collector.raw
    assert b"net - net" not in collector.raw


def test_content_is_sent_only_where_it_is_asked_for(
    machine: Machine, project: Path, collector: Collector
) -> None:
    with OpenAIServer() as model:
        model.script(*[Call({"edits": []})] * 6)
        environment = {
            **collector.environment,
            **model.environment,
            "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "true",
            "OTEL_SERVICE_NAME": "my-pipeline",
            "TRACEPARENT": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        }
        fix(machine, project, environment)
    assert CONTENT.encode() in collector.raw
    assert collector.services == {"my-pipeline"}
    assert collector.spans["run fix"].trace_id.hex() == "0af7651916cd43dd8448eb211c80319c"


def test_a_collector_that_is_away_changes_nothing(machine: Machine, project: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    started = time.monotonic()
    code, said = fix(machine, project, {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{port}"})
    assert code in (0, 1)
    assert "export" not in said
    assert "Traceback" not in said
    assert time.monotonic() - started < 120


@pytest.mark.parametrize(
    ("variables", "traces", "metrics"),
    [
        ({}, None, None),
        ({"OTEL_SERVICE_NAME": "x"}, None, None),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c"}, "otlp_proto_http", "otlp_proto_http"),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c"}, "otlp_proto_http", None),
        (
            {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c", "OTEL_METRICS_EXPORTER": "none"},
            "otlp_proto_http",
            None,
        ),
        ({"OTEL_TRACES_EXPORTER": "console"}, "console", None),
        (
            {"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
            "otlp_proto_grpc",
            None,
        ),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c", "OTEL_SDK_DISABLED": "true"}, None, None),
    ],
)
def test_the_variables_name_the_exporters(
    variables: dict[str, str], traces: str | None, metrics: str | None
) -> None:
    assert (asked_for(variables, "TRACES"), asked_for(variables, "METRICS")) == (traces, metrics)


def test_doctor_says_where_it_goes_or_why_not(machine: Machine) -> None:
    environment = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1",
        "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc",
    }
    done = machine.runtrue("doctor", "--json", env=environment)
    (fact,) = [one for one in done.json["facts"] if one["name"] == "telemetry"]
    assert not fact["ok"]
    assert "no exporter 'otlp_proto_grpc'" in fact["detail"]
