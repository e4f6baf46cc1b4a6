"""`runtrue mcp serve`, driven by the SDK's own client over a real process."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ElicitRequestFormParams, ElicitResult, TextContent

from tests.cli.conftest import Machine, MakeProject, write
from tests.cli.test_ask_by_example import SHIPPING

#: More than anything takes that ends at all.
LIMIT = 300.0

UNSURE = {**SHIPPING, "runtrue.toml": SHIPPING["runtrue.toml"].replace("150", "40")}


class Person:
    """Somebody who answers each question in the same way, and remembers what was asked."""

    def __init__(self, action: str = "accept", answer: str = "yes") -> None:
        self.asked: list[ElicitRequestFormParams] = []
        self._reply = {"action": action, "content": {"answer": answer}}
        if action != "accept":
            del self._reply["content"]

    async def __call__(self, context: Any, params: Any) -> ElicitResult:
        self.asked.append(params)
        return ElicitResult.model_validate(self._reply)


def serve(
    machine: Machine,
    root: Path,
    use: Callable[[Client], Awaitable[None]],
    *options: str,
    **client: Any,
) -> None:
    """Start the server for a project, and use it as a client."""
    command, *args = machine.argv("mcp", "serve", "--root", root, *options)
    parameters = StdioServerParameters(
        command=command, args=[str(arg) for arg in args], env=machine.env, cwd=root
    )

    async def session() -> None:
        async with Client(parameters, **client) as opened:
            await asyncio.wait_for(use(opened), LIMIT)

    asyncio.run(session())


def said(result: Any) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_fix_that_is_not_sure_is_put_to_the_person_and_applied_after_a_yes(
    searching: Machine, make_project: MakeProject, mode: str
) -> None:
    project = make_project(UNSURE)
    person = Person()
    heard_of: list[str] = []

    async def heard(progress: float, total: float | None, message: str | None) -> None:
        heard_of.append(message or "")

    async def use(client: Client) -> None:
        result = await client.call_tool("fix", {"apply": True}, progress_callback=heard)
        report = result.structured_content
        assert report is not None
        assert (report["status"], report["applied"], result.is_error) == ("passed", True, False)
        run_id = report["run_id"]
        diff = await client.read_resource(f"runtrue://runs/{run_id}/diff")
        assert diff.contents[0].text.startswith("diff --git a/shipping.py")  # type: ignore[union-attr]
        listed = await client.list_resources()
        assert f"runtrue://runs/{run_id}/report" in [str(one.uri) for one in listed.resources]

    searching.runtrue("trust", "--yes", cwd=project)
    serve(searching, project, use, mode=mode, elicitation_callback=person)
    (asked,) = person.asked
    assert "+    return 0 if total" in asked.message
    assert "Confidence" in asked.message
    assert asked.requested_schema["properties"]["answer"]["enum"][:2] == ["yes", "no"]
    assert any("attempt" in line or "check" in line for line in heard_of), heard_of
    assert ">= 50" in (project / "shipping.py").read_text()


def test_without_a_person_to_ask_the_run_waits_and_the_answer_is_a_tool(
    searching: Machine, make_project: MakeProject
) -> None:
    project = make_project(UNSURE)

    async def use(client: Client) -> None:
        waits = await client.call_tool("fix", {"apply": True})
        report = waits.structured_content or {}
        assert (report["status"], report["why"]) == ("waiting", "unsure")
        declined = await client.call_tool("answer", {"run_id": report["run_id"], "answer": "no"})
        assert (declined.structured_content or {})["status"] != "waiting"
        shown = await client.call_tool("runs_show", {})
        assert (shown.structured_content or {})["run_id"] == report["run_id"]

    searching.runtrue("trust", "--yes", cwd=project)
    serve(searching, project, use)
    assert "> 50" in (project / "shipping.py").read_text()


def test_a_person_who_closes_the_question_leaves_the_run_waiting(
    searching: Machine, make_project: MakeProject
) -> None:
    project = make_project(UNSURE)

    async def use(client: Client) -> None:
        result = await client.call_tool("fix", {"apply": True})
        assert (result.structured_content or {})["status"] == "waiting"

    searching.runtrue("trust", "--yes", cwd=project)
    serve(searching, project, use, elicitation_callback=Person("cancel"))


def test_every_tool_says_what_it_takes_and_wrong_calls_get_one_sentence(
    machine: Machine, tmp_path: Path
) -> None:
    root = tmp_path / "root"
    root.mkdir()
    written = machine.home / "greet.yaml"
    written.write_text(
        "inputs: {name: {type: string}}\n"
        "nodes: [{id: say, type: shell, params: {command: 'echo hello ${name}'}}]\n"
        "outputs: {said: {source: '${say.stdout}'}}\n"
    )
    assert machine.runtrue("save", written, "--name", "greet", cwd=root).code == 0

    async def use(client: Client) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(tools) == {
            *("gate", "fix", "do", "run_workflow", "plan", "runs_show", "answer", "memory_search"),
            "workflow_greet",
        }
        assert tools["do"].input_schema["required"] == ["task"]
        assert tools["runs_show"].annotations.read_only_hint  # type: ignore[union-attr]
        for tool in tools.values():
            assert tool.description
            assert tool.input_schema["additionalProperties"] is False
        unknown = await client.call_tool("gate", {"pth": "."})
        assert (unknown.is_error, said(unknown)) == (
            True,
            "gate takes no 'pth'; did you mean 'path'?",
        )
        outside = await client.call_tool("fix", {"path": ".."})
        assert outside.is_error
        assert "outside the directories that this server may use" in said(outside)
        missing = await client.call_tool("run_workflow", {"workflow": "nope"})
        assert missing.is_error
        assert "nope" in said(missing)
        greeted = await client.call_tool("workflow_greet", {"name": "--json"})
        assert (greeted.structured_content or {})["result"]["said"].strip() == "hello --json"
        prompts = await client.list_prompts()
        (prompt,) = prompts.prompts
        text = await client.get_prompt(prompt.name)
        assert "Call the tool `gate`" in text.messages[0].content.text  # type: ignore[union-attr]

    serve(machine, root, use, "--workflows")


@contextmanager
def http_server(machine: Machine, root: Path, token: str) -> Iterator[int]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    argv = machine.argv("mcp", "serve", "--http", "--port", str(port), "--root", root)
    environment = {**machine.env, "RUNTRUE_MCP_TOKEN": token}
    process = subprocess.Popen(argv, env=environment, cwd=root, stderr=subprocess.PIPE, text=True)
    try:
        deadline = time.monotonic() + LIMIT
        while time.monotonic() < deadline:
            with socket.socket() as attempt:
                if attempt.connect_ex(("127.0.0.1", port)) == 0:
                    break
            assert process.poll() is None, process.stderr and process.stderr.read()
            time.sleep(0.05)
        yield port
    finally:
        process.terminate()
        process.communicate(timeout=LIMIT)


def test_over_http_the_token_the_host_and_the_origin_are_checked(
    machine: Machine, tmp_path: Path
) -> None:
    root = tmp_path / "root"
    root.mkdir()
    with http_server(machine, root, "s3cret") as port:
        url = f"http://127.0.0.1:{port}/mcp"
        ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        headers = {
            "Authorization": "Bearer s3cret",
            "Accept": "application/json, text/event-stream",
        }

        def status(**changed: str) -> int:
            reply = httpx2.post(url, json=ping, headers={**headers, **changed}, trust_env=False)
            return reply.status_code

        assert status(Authorization="Bearer wrong") == 401
        assert status(Authorization="") == 401
        assert status(Host="evil.example") == 421
        assert status(Origin="http://evil.example") == 403

        async def use() -> list[str]:
            async with (
                httpx2.AsyncClient(
                    headers={"Authorization": "Bearer s3cret"}, trust_env=False
                ) as http,
                Client(streamable_http_client(url, http_client=http)) as client,
            ):
                return [tool.name for tool in (await client.list_tools()).tools]

        assert "gate" in asyncio.run(asyncio.wait_for(use(), LIMIT))


def test_over_http_only_loopback_is_served(machine: Machine) -> None:
    refused = machine.runtrue("mcp", "serve", "--http", "--host", "0.0.0.0")  # noqa: S104
    assert refused.code == 2
    assert "this server has no TLS" in refused.err


def test_a_model_does_not_answer_for_a_person(
    searching: Machine, make_project: MakeProject
) -> None:
    project = make_project(UNSURE)

    async def use(client: Client) -> None:
        waits = await client.call_tool("fix", {"apply": True})
        run_id = (waits.structured_content or {})["run_id"]
        for answer in ("yes", "1", "approve", " YES "):
            refused = await client.call_tool("answer", {"run_id": run_id, "answer": answer})
            assert refused.is_error
            assert f"the person runs: runtrue runs resume {run_id}" in said(refused)
        shown = await client.call_tool("runs_show", {"run_id": run_id})
        assert (shown.structured_content or {})["status"] == "waiting"

    searching.runtrue("trust", "--yes", cwd=project)
    serve(searching, project, use)
    assert "> 50" in (project / "shipping.py").read_text()


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_what_a_model_would_answer_is_put_to_the_person(
    mode: Any, searching: Machine, make_project: MakeProject
) -> None:
    project = make_project(UNSURE)
    waits = searching.runtrue("fix", "--json", "--apply", cwd=project).json
    person = Person(answer="no")

    async def use(client: Client) -> None:
        given = {"run_id": waits["run_id"], "answer": "yes"}
        result = await client.call_tool("answer", given)
        assert (result.structured_content or {})["applied"] is False

    serve(searching, project, use, mode=mode, elicitation_callback=person)
    (asked,) = person.asked
    assert asked.message.endswith("The agent proposes: yes")
    assert "> 50" in (project / "shipping.py").read_text()


def test_no_argument_leads_out_of_the_roots(machine: Machine, tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    for place in (root, outside):
        place.mkdir()
    (outside / "secret.txt").write_text("the password")
    reading = (
        "inputs: {file: {type: string}}\n"
        "nodes: [{id: r, type: read-file, params: {file_path: '${file}'}}]\n"
    )
    for file in (outside / "w.yaml", outside / "plain", root / "w.yaml"):
        file.write_text(reading)
    (root / "link.yaml").symlink_to(outside / "w.yaml")

    async def use(client: Client) -> None:
        for file in ("../outside/w.yaml", str(outside / "w.yaml"), "link.yaml", "../outside/plain"):
            given = {"workflow": file, "inputs": {"file": "x"}}
            refused = await client.call_tool("run_workflow", given)
            assert refused.is_error
            assert "is outside the directories" in said(refused)
        plan = {"action": "new", "instruction": str(outside / "w.yaml")}
        assert (await client.call_tool("plan", plan)).is_error
        for name in (str(outside / "secret.txt"), "../outside/secret.txt"):
            given = {"workflow": "w.yaml", "inputs": {"file": name}}
            read = await client.call_tool("run_workflow", given)
            assert "the password" not in str(read)
            assert "is outside the working directory" in str(read)
        done = await client.call_tool("do", {"task": f"read the file {outside}/secret.txt"})
        assert "the password" not in str(done)

    serve(machine, root, use)


WRITES = """
nodes:
  - {id: r, type: read-file, params: {file_path: notes.txt}}
  - {id: w, type: write-file, params: {file_path: out.txt, content: "${r.content}"}}
"""


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("answer", ["yes", "no"])
def test_a_person_agrees_to_a_workflow_file_that_a_model_chose(
    mode: Any, answer: str, machine: Machine, tmp_path: Path
) -> None:
    write(tmp_path / "root", {"w.yaml": WRITES, "notes.txt": "hello"})
    person = Person(answer=answer)

    async def use(client: Client) -> None:
        done = await client.call_tool("run_workflow", {"workflow": "w.yaml"})
        assert done.is_error == (answer == "no")

    serve(machine, tmp_path / "root", use, mode=mode, elicitation_callback=person)
    (asked,) = person.asked
    assert "The workflow file w.yaml would:" in asked.message
    assert "out.txt" in asked.message
    assert "notes.txt" not in asked.message
    assert (tmp_path / "root" / "out.txt").exists() == (answer == "yes")


def test_without_a_person_to_ask_a_workflow_file_changes_nothing(
    machine: Machine, tmp_path: Path
) -> None:
    root = tmp_path / "root"
    write(root, {"w.yaml": WRITES, "notes.txt": "hello"})

    async def use(client: Client) -> None:
        refused = await client.call_tool("run_workflow", {"workflow": "w.yaml"})
        assert refused.is_error
        assert "the person runs: runtrue run w.yaml" in said(refused)
        assert not (root / "out.txt").exists()
        machine.runtrue("workflow", "save", "w.yaml", "--name", "mine", cwd=root)
        saved = await client.call_tool("run_workflow", {"workflow": "mine"})
        assert not saved.is_error, "a saved one was somebody's choice"

    serve(machine, root, use)
    assert (root / "out.txt").exists()
