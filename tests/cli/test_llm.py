"""The `llm` node through the command line, asking a provider that stands in on loopback."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Machine
from tests.models.openai_server import KEY, Call, OpenAIServer, Refuse, Say, openai_server

__all__ = ["openai_server"]  # a fixture

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


@pytest.fixture
def ask(tmp_path: Path) -> Path:
    nodes = [
        {
            "id": "words",
            "type": "llm",
            "params": {"prompt": "Say ${word}", "system": "Be brief.", "max_tokens": 50},
        },
        {
            "id": "data",
            "type": "llm",
            "params": {"prompt": "How long is ${words.response}?", "schema": SCHEMA},
        },
    ]
    outputs = {"said": {"source": "${words.response}"}, "n": {"source": "${data.response.n}"}}
    file = tmp_path / "ask.json"
    file.write_text(json.dumps({"inputs": {"word": {}}, "nodes": nodes, "outputs": outputs}))
    return file


def test_text_and_data_come_back_with_what_they_used(
    machine: Machine, ask: Path, openai_server: OpenAIServer
) -> None:
    openai_server.script(Say("hello"), Call({"n": 5}))
    done = machine.runtrue("run", ask, "word=hi", "--json", env=openai_server.environment)
    assert done.code == 0, done.said
    assert done.json["result"] == {"said": "hello", "n": 5}
    assert [request.prompt for request in openai_server.requests] == [
        "Say hi",
        "How long is hello?",
    ]
    assert KEY not in done.said


def test_a_refused_key_is_told_and_the_run_can_go_on(
    machine: Machine, ask: Path, openai_server: OpenAIServer
) -> None:
    openai_server.script(Say("hello"), Refuse(401))
    env = openai_server.environment
    failed = machine.runtrue("run", ask, "word=hi", "--json", env=env)
    assert failed.code == 1
    (finding,) = failed.json["findings"]
    assert (finding["fault"], finding["location"]["symbol"]) == ("credentials", "data")
    openai_server.script(Call({"n": 5}))
    resumed = machine.runtrue("runs", "resume", "--json", env=env)
    assert (resumed.code, resumed.json["result"]["n"]) == (0, 5)
    assert len(openai_server.requests) == 3
    assert KEY not in failed.said + resumed.said


def test_without_a_model_it_says_how_to_get_one(machine: Machine, ask: Path) -> None:
    done = machine.runtrue("run", ask, "word=hi", "--json")
    assert done.code == 1
    (finding,) = done.json["findings"]
    assert "RUNTRUE_MODEL" in finding["message"]
