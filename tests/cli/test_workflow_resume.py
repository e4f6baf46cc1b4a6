"""Workflows that are killed, interrupted, or fail, and go on where they were."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from tests.cli.conftest import Machine
from tests.cli.test_bad_input import one_sentence
from tests.cli.test_resume import wait_until_nothing_runs
from tests.workflow.nodes.scripted_server import Received, ScriptedServer, response

#: Says that it runs and stays there, the first time; then gives a result.
HOLD = """
import os, time
try:
    os.mkdir(place + "/first")
except FileExistsError:
    return [n * 2 for n in numbers]
with open(place + "/running", "w") as fifo:
    fifo.write(str(os.getpid()))
time.sleep(1000)
"""
#: The same for a command.
HOLD_SHELL = (
    "echo fired >> ${place}/fired; if mkdir ${place}/first 2>/dev/null; then "
    "echo $$ > ${place}/running; sleep 1000; fi; echo done"
)


def node(id: str, type: str, **params: Any) -> dict[str, Any]:
    return {"id": id, "type": type, "params": params}


@pytest.fixture
def here(tmp_path: Path) -> Path:
    directory = tmp_path / "here"
    directory.mkdir()
    os.mkfifo(directory / "running")
    return directory


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    def answer(request: Received) -> bytes:
        return response('{"numbers": [1, 2, 3]}', "Content-Type: application/json")

    with ScriptedServer(answer) as running:
        yield running


@pytest.fixture
def three(here: Path, server: ScriptedServer) -> Path:
    """http → python → write-file, which holds in the middle."""
    inputs = {"place": "${place}", "numbers": "${fetch.response.numbers}"}
    return save(
        here,
        node("fetch", "http", url=server.url),
        node("double", "python", code=HOLD, timeout=2000, inputs=inputs),
        node("keep", "write-file", file_path="${place}/out.json", content="${double.result}"),
    )


def save(here: Path, *nodes: dict[str, Any], **keys: Any) -> Path:
    path = here / "w.json"
    inputs = {"place": {"type": "string"}, **keys.pop("inputs", {})}
    path.write_text(json.dumps({"inputs": inputs, "nodes": nodes, **keys}))
    return path


def start(machine: Machine, here: Path, *args: str) -> subprocess.Popen[str]:
    """Start a run, and come back when it is held in its node."""
    command = subprocess.Popen(
        machine.argv("run", here / "w.json", f"place={here}", *args),
        cwd=here,
        env=machine.env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert (here / "running").read_text()
    return command


def end(command: subprocess.Popen[str], sign: signal.Signals) -> str:
    """Send a signal; what the run has printed on stderr."""
    command.send_signal(sign)
    out, err = command.communicate(timeout=60)
    assert out == "" or json.loads(out)["interrupted"] is True
    assert "Traceback" not in err
    return err


def answer_once(door: socket.socket, answer: bytes) -> None:
    guest, _ = door.accept()
    with guest:
        guest.recv(65536)
        guest.sendall(answer)


def statuses(report: dict[str, Any]) -> list[str]:
    return [node["status"] for node in report["nodes"]]


@pytest.mark.usefixtures("three")
def test_killed_in_the_middle_node_it_goes_on_there(
    machine: Machine, here: Path, server: ScriptedServer
) -> None:
    command = start(machine, here)
    end(command, signal.SIGKILL)
    listed = machine.runtrue("runs", "list").out
    assert "running (interrupted)" in listed
    assert listed.rstrip().endswith(f"workflow  {here}/w.json")
    shown = machine.runtrue("runs", "show")
    assert "✓ fetch (http)" in shown.out
    assert "· double (python)" in shown.out
    assert "continue: runtrue runs resume" in shown.err
    report = machine.runtrue("runs", "show", "--json").json
    assert (report["status"], report["driven"]) == ("interrupted", False)
    assert statuses(report) == ["passed", "not_run", "not_run"]

    resumed = machine.runtrue("runs", "resume", "--json")
    assert resumed.code == 0, resumed.said
    assert statuses(resumed.json) == ["passed", "passed", "passed"]
    assert resumed.json["result"]["file_path"] == f"{here}/out.json"
    assert json.loads((here / "out.json").read_text()) == [2, 4, 6]
    assert [request.line for request in server.received] == ["GET / HTTP/1.1"]
    # What the killed one had started is gone, and a run that is over gives its result again.
    wait_until_nothing_runs(machine)
    again = machine.runtrue("runs", "resume", "--json")
    assert (again.code, again.json) == (0, resumed.json)
    assert len(server.received) == 1


@pytest.mark.usefixtures("three")
@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_it_ends_what_it_started_and_says_how_to_go_on(
    sign: signal.Signals, machine: Machine, here: Path, server: ScriptedServer
) -> None:
    command = start(machine, here, "--json")
    err = end(command, sign)
    assert command.returncode == 130
    run_id = err.split()[1].rstrip(":")
    assert f"Continue with `runtrue runs resume {run_id}`" in err
    wait_until_nothing_runs(machine)
    resumed = machine.runtrue("runs", "resume", run_id)
    assert resumed.code == 0, resumed.said
    assert "✓ fetch (done before)" in resumed.err
    assert json.loads((here / "out.json").read_text()) == [2, 4, 6]
    assert len(server.received) == 1


@pytest.mark.usefixtures("three")
def test_only_one_process_drives_a_run(machine: Machine, here: Path) -> None:
    command = start(machine, here)
    assert machine.runtrue("runs", "show", "--json").json["driven"] is True
    refused = machine.runtrue("runs", "resume")
    assert refused.code == 1
    assert f"is already running in process {command.pid}" in refused.err
    assert machine.runtrue("runs", "cancel").code == 0
    command.communicate(timeout=60)
    assert command.returncode != 0
    assert machine.runtrue("runs", "resume").code == 1
    assert not (here / "out.json").exists()


def test_an_interrupted_command_is_not_fired_again_without_force(
    machine: Machine, here: Path
) -> None:
    save(here, node("fire", "shell", command=HOLD_SHELL, timeout=2000))
    command = start(machine, here)
    end(command, signal.SIGKILL)
    for _ in range(2):
        refused = machine.runtrue("runs", "resume")
        assert refused.code == 1
        assert "stopped inside 'fire', which has a side effect" in one_sentence(refused)
        assert "--force" in refused.err
    as_json = machine.runtrue("runs", "resume", "--json")
    assert (as_json.code, as_json.json["begun"]) == (1, "fire")
    assert "side effect" in as_json.json["error"]
    assert (here / "fired").read_text() == "fired\n"
    forced = machine.runtrue("runs", "resume", "--force", "--json")
    assert forced.code == 0, forced.said
    assert forced.json["result"]["stdout"] == "done"
    assert (here / "fired").read_text() == "fired\n" * 2
    wait_until_nothing_runs(machine)


def test_an_interrupted_post_is_not_sent_again_without_force(machine: Machine, here: Path) -> None:
    killed = Event()

    def answer(request: Received) -> bytes:
        if len(slow.received) == 1:
            (here / "running").write_text("posted")
            killed.wait(60)
        return response('{"ok": true}')

    with ScriptedServer(answer) as slow:
        save(here, node("post", "http", url=slow.url, method="POST", json={"n": 1}, timeout=60))
        command = start(machine, here)
        end(command, signal.SIGKILL)
        killed.set()
        refused = machine.runtrue("runs", "resume")
        assert refused.code == 1
        assert "stopped inside 'post'" in one_sentence(refused)
        assert len(slow.received) == 1
        forced = machine.runtrue("runs", "resume", "--force")
        assert forced.code == 0, forced.said
        assert len(slow.received) == 2


def test_a_failed_run_goes_on_at_its_node_once_the_reason_is_gone(
    machine: Machine, here: Path
) -> None:
    door = socket.socket()
    door.bind(("127.0.0.1", 0))  # nobody listens there yet
    save(
        here,
        node("count", "shell", command="echo once >> ${place}/count"),
        node("fetch", "http", url=f"http://127.0.0.1:{door.getsockname()[1]}/", retries=0),
    )
    failed = machine.runtrue("run", here / "w.json", f"place={here}")
    assert (failed.code, failed.out) == (1, "")
    assert "fetch: GET http://127.0.0.1:" in failed.err
    assert "connection refused" in failed.err
    assert "failed (can be resumed)" in machine.runtrue("runs", "list").out
    still = machine.runtrue("runs", "resume", "--json")
    assert (still.code, still.json["findings"][0]["category"]) == (1, "connection")
    assert still.json["resumable"] is True
    with door:
        door.listen()
        Thread(target=answer_once, args=(door, response("back"))).start()
        resumed = machine.runtrue("runs", "resume", "--json")
    assert (resumed.code, resumed.json["findings"]) == (0, [])
    assert resumed.json["result"]["response"] == "back"
    assert (here / "count").read_text() == "once\n"


def test_a_refused_resume_leaves_a_failed_run_as_it_was(machine: Machine, here: Path) -> None:
    save(here, node("fire", "shell", command="exit 3"))
    failed = machine.runtrue("run", here / "w.json", f"place={here}", "--json").json
    assert machine.runtrue("runs", "resume").code == 1
    shown = machine.runtrue("runs", "show", "--json").json
    assert (shown["status"], shown["findings"]) == ("failed", failed["findings"])


def test_an_edited_workflow_does_not_change_a_run_that_goes_on(
    machine: Machine, here: Path, server: ScriptedServer
) -> None:
    save(here, node("hold", "python", code=HOLD, inputs={"place": "${place}", "numbers": [1]}))
    command = start(machine, here)
    end(command, signal.SIGKILL)
    save(here, node("other", "http", url=server.url))
    resumed = machine.runtrue("runs", "resume", "--json")
    assert resumed.json["result"]["result"] == [2]
    assert server.received == []


class TestSecretsGivenToARun:
    """What is not kept has to be given again, unless it stands in a file that is still there."""

    def test_an_input_that_a_secret_param_takes(
        self, machine: Machine, here: Path, server: ScriptedServer
    ) -> None:
        save(
            here,
            node("hold", "python", code=HOLD, inputs={"place": "${place}", "numbers": []}),
            node("fetch", "http", url=server.url, auth_token="${token}"),  # noqa: S106
            inputs={"token": {}},
        )
        command = start(machine, here, "token=tok-en-one")
        end(command, signal.SIGKILL)
        asked = machine.runtrue("runs", "resume")
        assert asked.code == 2
        assert "--input token=…" in one_sentence(asked)
        refused = machine.runtrue("runs", "resume", "--input", "token")
        assert refused.code == 2
        assert "write --input NAME=VALUE" in one_sentence(refused)
        resumed = machine.runtrue("runs", "resume", "--input", "token=tok-en-one")
        assert resumed.code == 0, resumed.said
        assert server.received[0].headers["authorization"] == "Bearer tok-en-one"

    def test_one_that_stands_in_the_workflow(
        self, machine: Machine, here: Path, server: ScriptedServer
    ) -> None:
        path = save(
            here,
            node("hold", "python", code=HOLD, inputs={"place": "${place}", "numbers": []}),
            node("fetch", "http", url=server.url, auth_token="tok-en-two"),  # noqa: S106
        )
        command = start(machine, here)
        end(command, signal.SIGKILL)
        away = path.rename(here / "away.json")
        lost = machine.runtrue("runs", "resume")
        assert lost.code == 2
        assert "needs the secret at /nodes/1/params/auth_token" in one_sentence(lost)
        away.rename(path)
        resumed = machine.runtrue("runs", "resume")
        assert resumed.code == 0, resumed.said
        assert server.received[0].headers["authorization"] == "Bearer tok-en-two"
