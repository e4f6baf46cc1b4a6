"""Large answers: what they take in memory, and that what is recorded is what is seen."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from runtrue.flow.codec import encoded_result, unpacked
from runtrue.workflow.nodes.http_response import read_body
from tests.cli.conftest import Machine
from tests.workflow.nodes.scripted_server import Received, ScriptedServer, response

SIZE = 40_000_000
LINE = b"the quick brown fox jumps over the lazy dog\n"
BODIES = {
    "/text": ("text/plain", LINE * (SIZE // len(LINE))),
    "/json": ("application/json", b'{"text":"%s"}' % (b"y" * SIZE)),
    "/small": ("text/plain", LINE),
}
#: Prints the most memory, in bytes, that a command took.
PEAK = """
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
print(code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)
"""


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    def answer(asked: Received) -> bytes:
        kind, body = BODIES[asked.path]
        return response(body, f"Content-Type: {kind}")

    with ScriptedServer(answer) as server:
        yield server.url


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere, peaks are counted otherwise")
@pytest.mark.parametrize("path", ["/text", "/json"])
def test_an_answer_takes_at_most_two_and_a_half_times_its_size(
    path: str, server: str, tmp_path: Path
) -> None:
    machine = Machine(tmp_path)

    def peak(path: str) -> int:
        params = {"url": server + path, "max_bytes": 2 * SIZE}
        workflow = {
            "nodes": [{"id": "get", "type": "http", "params": params}],
            "outputs": {"status": {"source": "${get.status_code}"}},
        }
        file = tmp_path / "workflow.json"
        file.write_text(json.dumps(workflow))
        argv = [sys.executable, "-c", PEAK, *machine.argv("run", file)]
        done = subprocess.run(argv, env=machine.env, capture_output=True, text=True, check=True)
        code, found = map(int, done.stdout.split())
        assert code == 0, done.stderr
        return found

    assert peak(path) - peak("/small") <= 2.5 * SIZE


class Answer(msgspec.Struct):
    outputs: dict[str, object]


DECODE = msgspec.json.Decoder(Answer).decode


def test_a_large_plain_result_is_not_copied() -> None:
    result = Answer({"rows": [{"n": n, "text": "x" * 99} for n in range(20_000)], "none": None})
    recorded, seen = encoded_result("get", result, DECODE)
    assert seen is result
    assert DECODE(unpacked(recorded)) == result


@pytest.mark.parametrize("odd", [(1, 2), float("inf"), b"bytes", {1: "key"}, {"deep": [(1,)]}])
def test_what_reads_differently_is_seen_as_it_would_be_on_replay(odd: object) -> None:
    result = Answer({"text": "x" * 2_000_000, "odd": odd})
    recorded, seen = encoded_result("get", result, DECODE)
    assert seen is not result
    assert seen == DECODE(unpacked(recorded))


def test_what_is_binary_is_one_base64_text_however_large() -> None:
    body = bytearray(range(256)) * 40_001
    found, is_binary = read_body(body, "application/octet-stream")
    assert is_binary
    assert base64.b64decode(found) == body
