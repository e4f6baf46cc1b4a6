"""Batches and workflows within workflows that stop in the middle: what is done stays done."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Lock
from typing import Any

import pytest

from tests.cli.conftest import Machine
from tests.cli.test_bad_input import one_sentence
from tests.workflow.nodes.scripted_server import Received, ScriptedServer, response

ITEMS = 40


class Ledger:
    """A server that notes what is posted; it can hold one post, or answer it with a status."""

    def __init__(self, fifo: Path) -> None:
        self._fifo = fifo
        self._lock = Lock()
        self.go_on = Event()
        self.hold: int | None = None
        self.answers: dict[int, str] = {}
        self.posted: list[int] = []
        self.keys: list[str | None] = []

    def answer(self, request: Received) -> bytes:
        number = int(json.loads(request.body)["n"])
        with self._lock:
            self.posted.append(number)
            self.keys.append(request.headers.get("idempotency-key"))
            held = self.hold == number
            status = self.answers.pop(number, "200 OK")
        if held:
            self.hold = None
            self._fifo.write_text("held")
            self.go_on.wait(60)
        body = json.dumps({"id": number})
        return response(body, "Content-Type: application/json", status=status)


@pytest.fixture
def here(tmp_path: Path) -> Path:
    directory = tmp_path / "here"
    directory.mkdir()
    os.mkfifo(directory / "held")
    return directory


@pytest.fixture
def ledger(here: Path) -> Ledger:
    return Ledger(here / "held")


@pytest.fixture
def server(ledger: Ledger) -> Iterator[ScriptedServer]:
    with ScriptedServer(ledger.answer) as running:
        yield running


def posting(server: ScriptedServer, number: str, **params: Any) -> dict[str, Any]:
    body = {"n": number}
    return {"url": server.url, "method": "POST", "json": body, "timeout": 60, **params}


def batch_of(server: ScriptedServer, *, batch: dict[str, Any] | None = None, **params: Any) -> Any:
    every = {"items": list(range(ITEMS)), **(batch or {})}
    node = {"id": "post", "type": "http", "params": posting(server, "${item}", **params)}
    return {"nodes": [{**node, "batch": every}]}


def save(here: Path, workflow: Any) -> None:
    (here / "w.json").write_text(json.dumps(workflow))


def kill_when_held(machine: Machine, here: Path, ledger: Ledger, number: int) -> None:
    """Kill a run while the server holds the post of this number."""
    stop_when_held(machine, here, ledger, number, signal.SIGKILL)
    ledger.go_on.set()


def stop_when_held(
    machine: Machine, here: Path, ledger: Ledger, number: int, sign: signal.Signals, *args: str
) -> subprocess.Popen[str]:
    ledger.hold = number
    command = subprocess.Popen(
        machine.argv("run", "w.json", *args),
        cwd=here,
        env=machine.env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert (here / "held").read_text() == "held"
    command.send_signal(sign)
    if sign is signal.SIGKILL:
        command.communicate(timeout=60)
    return command


def test_a_batch_that_was_killed_posts_only_the_rest(
    machine: Machine, here: Path, ledger: Ledger, server: ScriptedServer
) -> None:
    save(here, batch_of(server))
    kill_when_held(machine, here, ledger, 16)
    assert ledger.posted == list(range(17))
    refused = machine.runtrue("runs", "resume")
    assert refused.code == 1
    assert "stopped inside 'post[16]'" in one_sentence(refused)
    assert len(ledger.posted) == 17
    done = machine.runtrue(
        "runs", "resume", "--done", "post[16]", "--result", '{"response": {"id": 16}}', "--json"
    )
    assert done.code == 0, done.said
    assert ledger.posted == list(range(ITEMS))
    results = done.json["result"]["results"]
    assert [one["response"]["id"] for one in results] == list(range(ITEMS))


def test_a_batch_that_was_refused_at_an_item_keeps_the_good_answers(
    machine: Machine, here: Path, ledger: Ledger, server: ScriptedServer
) -> None:
    save(here, batch_of(server))
    ledger.answers[20] = "503 Service Unavailable"
    failed = machine.runtrue("run", "w.json", "--json", cwd=here)
    assert (failed.code, failed.json["begun"]) == (1, None)
    assert ledger.posted == list(range(21))
    resumed = machine.runtrue("runs", "resume", "--json")
    assert resumed.code == 0, resumed.said
    assert ledger.posted == [*range(21), *range(20, ITEMS)]
    assert resumed.json["result"]["success_count"] == ITEMS


def test_an_unclear_answer_is_settled_by_a_person(
    machine: Machine, here: Path, ledger: Ledger, server: ScriptedServer
) -> None:
    save(here, batch_of(server))
    ledger.answers[3] = "500 Internal Server Error"
    failed = machine.runtrue("run", "w.json", cwd=here)
    assert "runs resume" in failed.err
    assert "--skip 'post[3]'" in failed.err
    skipped = machine.runtrue("runs", "resume", "--skip", "post[3]", "--json")
    assert skipped.code == 0, skipped.said
    assert ledger.posted == list(range(ITEMS))
    assert skipped.json["result"]["error_count"] == 1
    assert skipped.json["result"]["errors"][0]["index"] == 3


def test_many_at_once_that_were_killed_lose_and_double_nothing(
    machine: Machine, here: Path, ledger: Ledger, server: ScriptedServer
) -> None:
    save(here, batch_of(server, batch={"parallel": True, "max_concurrent": 5}))
    kill_when_held(machine, here, ledger, 16)
    cut_off = machine.runtrue("runs", "show", "--json").json["cut_off"]
    assert "post[16]" in cut_off
    # What the server has not seen was cut off before it was sent.
    seen = [f"post[{number}]" for number in ledger.posted]
    settle = [word for name in cut_off if name in seen for word in ("--done", name)]
    done = machine.runtrue("runs", "resume", *settle, "--force", "--json")
    assert done.code == 0, done.said
    assert Counter(ledger.posted) == Counter(range(ITEMS))


def test_with_an_idempotency_key_a_killed_batch_goes_on_by_itself(
    machine: Machine, here: Path, ledger: Ledger, server: ScriptedServer
) -> None:
    save(here, batch_of(server, idempotency_key=True))
    kill_when_held(machine, here, ledger, 16)
    resumed = machine.runtrue("runs", "resume", "--json")
    assert resumed.code == 0, resumed.said
    assert ledger.posted == [*range(17), *range(16, ITEMS)]
    assert ledger.keys[16] == ledger.keys[17] is not None
    assert len(set(ledger.keys)) == ITEMS


def test_a_workflow_within_one_goes_on_at_its_node(
    machine: Machine, here: Path, ledger: Ledger, server: ScriptedServer
) -> None:
    inner = {
        "inputs": {"base": {"type": "integer"}},
        "nodes": [
            {"id": "first", "type": "http", "params": posting(server, "${base}1")},
            {"id": "second", "type": "http", "params": posting(server, "${base}2")},
            {"id": "third", "type": "http", "params": posting(server, "${base}3")},
        ],
    }
    (here / "inner.json").write_text(json.dumps(inner))
    params = {"workflow_ref": "inner.json", "param_mapping": {"base": "${item}"}}
    every = {"items": [1, 2, 3]}
    node = {"id": "orders", "type": "workflow", "params": params, "batch": every}
    save(here, {"nodes": [node]})
    kill_when_held(machine, here, ledger, 22)
    shown = machine.runtrue("runs", "show")
    assert "--done 'orders[1].second'" in shown.err
    done = machine.runtrue("runs", "resume", "--done", "orders[1].second", "--json")
    assert done.code == 0, done.said
    assert ledger.posted == [11, 12, 13, 21, 22, 23, 31, 32, 33]
    assert done.json["result"]["success_count"] == 3


def test_an_edited_inner_workflow_is_not_mixed_with_what_was_done(
    machine: Machine, here: Path, ledger: Ledger, server: ScriptedServer
) -> None:
    def write(*numbers: str) -> None:
        nodes = [
            {"id": f"n{index}", "type": "http", "params": posting(server, number)}
            for index, number in enumerate(numbers)
        ]
        (here / "inner.json").write_text(json.dumps({"nodes": nodes}))

    write("1", "2")
    params = {"workflow_ref": "inner.json"}
    save(here, {"nodes": [{"id": "in", "type": "workflow", "params": params}]})
    kill_when_held(machine, here, ledger, 2)
    write("7", "2")
    refused = machine.runtrue("runs", "resume", "--done", "in.n1")
    assert refused.code == 1
    assert "'in.n0' was recorded with other inputs" in one_sentence(refused)
    assert ledger.posted == [1, 2]


def test_a_stop_lets_a_short_effect_finish(
    machine: Machine, here: Path, ledger: Ledger, server: ScriptedServer
) -> None:
    save(here, batch_of(server))
    machine.env["RUNTRUE_GRACE_SECONDS"] = "60"
    command = stop_when_held(machine, here, ledger, 16, signal.SIGTERM, "--json")
    assert command.stderr is not None
    said = ""
    while "up to 60 s" not in said:
        line = command.stderr.readline()
        assert line, said
        said += line
    ledger.go_on.set()
    out, err = command.communicate(timeout=60)
    report = json.loads(out)
    assert (report["status"], report["begun"]) == ("interrupted", None)
    assert f"Continue with `runtrue runs resume {report['run_id']}`" in err
    resumed = machine.runtrue("runs", "resume", "--json")
    assert resumed.code == 0, resumed.said
    assert ledger.posted == list(range(ITEMS))


def test_what_was_not_cut_off_cannot_be_settled(
    machine: Machine, here: Path, ledger: Ledger, server: ScriptedServer
) -> None:
    save(here, batch_of(server))
    kill_when_held(machine, here, ledger, 2)
    unknown = machine.runtrue("runs", "resume", "--done", "post[9]")
    assert unknown.code == 2
    assert "post[2]" in one_sentence(unknown)
    no_json = machine.runtrue("runs", "resume", "--done", "post[2]", "--result", "{")
    assert no_json.code == 2
    assert "--result" in one_sentence(no_json)
    alone = machine.runtrue("runs", "resume", "--result", "{}")
    assert alone.code == 2
    assert ledger.posted == [0, 1, 2]


def test_a_node_that_is_skipped_follows_its_error_edge(
    machine: Machine, here: Path, ledger: Ledger, server: ScriptedServer
) -> None:
    nodes = [
        {"id": "post", "type": "http", "params": posting(server, "1")},
        {"id": "then", "type": "http", "params": posting(server, "2")},
        {"id": "else", "type": "http", "params": posting(server, "3")},
    ]
    edges = [{"from": "post", "to": "then"}, {"from": "post", "to": "else", "action": "error"}]
    save(here, {"nodes": nodes, "edges": edges})
    kill_when_held(machine, here, ledger, 1)
    skipped = machine.runtrue("runs", "resume", "--skip", "post", "--json")
    assert skipped.code == 0, skipped.said
    assert ledger.posted == [1, 3]
