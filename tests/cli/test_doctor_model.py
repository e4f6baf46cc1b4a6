"""`runtrue doctor` asks the model's endpoint, in the shapes of servers that speak the protocol."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Machine, MakeProject
from tests.models.openai_server import KEY, Call, OpenAIServer, Refuse, Say, openai_server
from tests.planner.api import api_fixture

__all__ = ["api_fixture", "openai_server"]

CONFIG = '[model]\nname = "openai:qwen3"\nbase_url = "{url}"\n'


@pytest.fixture
def project(make_project: MakeProject, openai_server: OpenAIServer) -> Path:
    """A project that configures the endpoint, with the variable of its key."""
    text = CONFIG.format(url=openai_server.environment["OPENAI_BASE_URL"])
    return make_project({"runtrue.toml": f'{text}key_env = "GPU_KEY"\n', "a.txt": "a"})


def _model(machine: Machine, cwd: Path, **env: str) -> dict[str, Any]:
    facts = machine.runtrue("doctor", "--json", cwd=cwd, env=env).json["facts"]
    (found,) = [fact for fact in facts if fact["name"] == "model"]
    return dict(found)


def test_an_endpoint_of_the_configuration_is_asked_with_the_key_it_names(
    machine: Machine, project: Path, openai_server: OpenAIServer
) -> None:
    openai_server.script(Say("ok"))
    fact = _model(machine, project, GPU_KEY="sk-gpu")
    assert fact["ok"]
    assert "openai:qwen3 answers at 127.0.0.1" in fact["detail"]
    (request,) = openai_server.requests
    assert request.body["model"] == "qwen3"
    assert request.headers["authorization"] == "Bearer sk-gpu"


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (Refuse(401), "refused the key in GPU_KEY (401)"),
        (Refuse(404), "is not there (404)"),
        (Refuse(500), "failed (500)"),
    ],
)
def test_what_is_wrong_with_the_endpoint_is_said_in_a_sentence(
    machine: Machine, project: Path, openai_server: OpenAIServer, answer: Refuse, says: str
) -> None:
    openai_server.script(answer)
    fact = _model(machine, project, GPU_KEY="sk-gpu")
    assert not fact["ok"]
    assert says in fact["detail"]
    assert len(openai_server.requests) == 1


def test_nobody_listens(machine: Machine, make_project: MakeProject) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        url = f"http://127.0.0.1:{port}/v1"
        project = make_project({"runtrue.toml": CONFIG.format(url=url)})
        fact = _model(machine, project)
    assert not fact["ok"]
    assert f"openai:qwen3 at 127.0.0.1:{port} cannot be reached" in fact["detail"]


def test_ollama_is_asked_where_its_own_variable_says(
    machine: Machine, make_project: MakeProject, openai_server: OpenAIServer
) -> None:
    openai_server.script(Say("ok"))
    host = openai_server.environment["OPENAI_BASE_URL"].removesuffix("/v1")
    project = make_project({"a.txt": "a"})
    fact = _model(machine, project, OLLAMA_HOST=host, RUNTRUE_MODEL="ollama:qwen3")
    assert fact["ok"], fact
    assert openai_server.requests[0].path == "/v1/chat/completions"


def test_a_task_is_planned_at_the_configured_endpoint(
    machine: Machine, project: Path, openai_server: OpenAIServer
) -> None:
    node = {"id": "say", "type": "shell", "params": {"command": "echo hi"}}
    outputs = {"said": {"source": "${say.stdout}"}}
    plan = Call({"workflow": {"nodes": [node], "outputs": outputs}, "params": {}})
    openai_server.script(plan, Call({"name": "say", "description": "Say hi."}))
    done = machine.runtrue("do", "run `echo hi`", "--json", cwd=project, env={"GPU_KEY": "sk-gpu"})
    assert done.code == 0, done.said
    assert done.json["cost"]["models"] == ["openai:qwen3"]
    assert {r.headers["authorization"] for r in openai_server.requests} == {"Bearer sk-gpu"}
    assert KEY not in done.said
