"""The servers that people use: the reference ones of PyPI and npm, over both transports."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runtrue.loop import Fault
from runtrue.workflow.mcp import (
    HttpServer,
    Server,
    Sessions,
    StdioServer,
    ToolAnnotations,
    ToolError,
    ToolInfo,
)
from tests.workflow.mcp.support import SECONDS, call, failure, pypi_server, run

SERVERS = Path(__file__).parents[2] / "servers"


class TestTime:
    server = pypi_server("time")

    def test_structured_content(self) -> None:
        arguments = {
            "source_timezone": "Europe/Berlin",
            "time": "12:00",
            "target_timezone": "Asia/Kolkata",
        }
        found = call(self.server, "convert_time", arguments)
        assert found.structured
        assert found.result["source"]["timezone"] == "Europe/Berlin"
        assert re.search(r"T1[56]:30", found.result["target"]["datetime"])

    def test_a_wrong_name_for_an_argument(self) -> None:
        error = failure(self.server, "get_current_time", {"tz": "UTC"})
        assert (error.category, error.fault) == ("argument_mismatch", Fault.CANDIDATE)
        assert (error.attempted, error.available) == (("tz",), ("timezone",))
        assert error.schema is not None
        assert "timezone" in error.schema["properties"]

    def test_a_value_that_only_the_server_knows_to_be_wrong(self) -> None:
        error = failure(self.server, "get_current_time", {"timezone": "Nowhere/Never"})
        assert (error.category, error.fault) == ("tool_error", Fault.CANDIDATE)
        assert "Nowhere/Never" in error.message

    def test_a_tool_that_is_not_there(self) -> None:
        error = failure(self.server, "get_curent_time")
        assert error.category == "unknown_tool"
        assert error.available == ("get_current_time", "convert_time")
        assert "did you mean 'get_current_time'?" in error.message


class TestGit:
    server = pypi_server("git")

    @pytest.fixture
    def repository(self, tmp_path: Path) -> Path:
        subprocess.run(["git", "init", "-q", "-b", "main", tmp_path], check=True)
        for setting in ("user.name=A", "user.email=a@example.org"):
            subprocess.run(["git", "-C", tmp_path, "config", *setting.split("=")], check=True)
        (tmp_path / "new.txt").write_text("new\n")
        return tmp_path

    def test_a_change_is_seen_added_and_committed_in_one_session(self, repository: Path) -> None:
        where = {"repo_path": str(repository)}
        calls: list[tuple[str, dict[str, Any]]] = [
            ("git_status", {}),
            ("git_add", {"files": ["new.txt"]}),
            ("git_commit", {"message": "add it"}),
            ("git_log", {"max_count": 1}),
        ]

        async def use(sessions: Sessions) -> list[Any]:
            return [
                (await sessions.call("git", tool, {**where, **more}, timeout=SECONDS)).result
                for tool, more in calls
            ]

        status, _, _, log = run(self.server, use)
        assert "new.txt" in status
        assert "add it" in str(log)
        head = ["git", "-C", str(repository), "log", "-1", "--format=%s"]
        assert subprocess.check_output(head, text=True) == "add it\n"

    def test_what_the_tools_do_is_declared(self) -> None:
        tools = {tool.name: tool for tool in run(self.server, lambda s: s.tools("git"))}
        assert tools["git_log"].annotations == ToolAnnotations(
            read_only=True, destructive=False, idempotent=True
        )
        assert tools["git_reset"].annotations.destructive is True
        assert tools["git_commit"].required == ("repo_path", "message")

    def test_no_repository(self, tmp_path: Path) -> None:
        error = failure(self.server, "git_status", {"repo_path": str(tmp_path)})
        assert error.category == "tool_error"

    def test_an_argument_of_the_wrong_type(self, repository: Path) -> None:
        arguments = {"repo_path": str(repository), "files": "new.txt"}
        error = failure(self.server, "git_add", arguments)
        assert (error.category, error.attempted) == ("argument_mismatch", ("files",))


class TestFiles:
    def test_reading_and_listing(self, files: StdioServer, tmp_path: Path) -> None:
        (tmp_path / "a.txt").write_text("hello")
        (tmp_path / "below").mkdir()
        read = call(files, "read_text_file", {"path": str(tmp_path / "a.txt")})
        assert (read.result, read.structured) == ({"content": "hello"}, True)
        listing = call(files, "list_directory", {"path": str(tmp_path)}).result["content"]
        assert listing.splitlines() == ["[FILE] a.txt", "[DIR] below"]

    def test_outside_of_what_is_allowed(self, files: StdioServer) -> None:
        error = failure(files, "read_text_file", {"path": "/etc/passwd"})
        assert (error.category, error.fault) == ("tool_error", Fault.CANDIDATE)
        assert "/etc/passwd" in error.message
        assert error.problems == ()

    def test_what_it_does_not_say_of_a_tool_is_not_known(self, files: StdioServer) -> None:
        tools = {tool.name: tool for tool in run(files, lambda s: s.tools("filesystem"))}
        assert tools["read_text_file"].annotations == ToolAnnotations(read_only=True)
        assert tools["write_file"].annotations.destructive is True


class Everything:
    """The server with one of everything, run for Streamable HTTP on a port of its own."""

    def __init__(self, stdio: StdioServer, log: Path) -> None:
        self._argv = [stdio.command, *stdio.args, "streamableHttp"]
        self._log = log
        self._process: subprocess.Popen[str] | None = None
        self.port = _free_port()

    def start(self) -> None:
        """Start it, and wait until it listens."""
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                self._argv,
                env={"PORT": str(self.port)},
                stdout=log,
                stderr=subprocess.PIPE,
                text=True,
                start_new_session=True,
            )
        assert self._process.stderr is not None
        assert str(self.port) in self._process.stderr.readline()

    def stop(self) -> None:
        if self._process is not None:
            # Not the process alone: the `node` of PyPI only starts the real one.
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.communicate(timeout=SECONDS)
            self._process = None

    @property
    def requests(self) -> int:
        """How many requests it has been sent."""
        return self._log.read_text().count("POST")

    @property
    def server(self) -> HttpServer:
        return HttpServer(name="everything", url=f"http://127.0.0.1:{self.port}/mcp")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def over_http(everything: StdioServer, tmp_path: Path) -> Iterator[Everything]:
    running = Everything(everything, tmp_path / "log")
    running.start()
    yield running
    running.stop()


@pytest.fixture(params=["stdio", "http"])
def server(request: pytest.FixtureRequest, everything: StdioServer) -> Server:
    """The server with one of everything, over each transport."""
    if request.param == "stdio":
        return everything
    running: Everything = request.getfixturevalue("over_http")
    return running.server


class TestEverything:
    def test_calls_of_every_shape_in_one_session(self, server: Server) -> None:
        calls: list[tuple[str, dict[str, Any]]] = [
            ("echo", {"message": "hi"}),
            ("get-sum", {"a": 2, "b": 3}),
            ("get-structured-content", {"location": "Chicago"}),
            ("get-annotated-message", {"messageType": "success", "includeImage": True}),
            ("get-resource-links", {"count": 1}),
            ("get-resource-reference", {"resourceType": "Blob", "resourceId": 2}),
        ]

        async def use(sessions: Sessions) -> list[Any]:
            return await asyncio.gather(
                *(sessions.call("everything", *one, timeout=SECONDS) for one in calls)
            )

        echo, total, weather, annotated, links, reference = run(server, use)
        assert (echo.result, echo.structured) == ("Echo: hi", False)
        assert total.result == "The sum of 2 and 3 is 5."
        assert weather.structured
        assert set(weather.result) == {"temperature", "conditions", "humidity"}
        said, image = annotated.result
        assert said == "Operation completed successfully"
        assert (image["type"], image["mimeType"]) == ("image", "image/png")
        assert image["data"]
        link = links.result[1]
        assert (link["type"], link["mimeType"]) == ("resource_link", "text/plain")
        assert link["uri"].startswith("demo://resource/")
        blob = reference.result[1]
        assert (blob["type"], blob["uri"]) == ("resource", "demo://resource/dynamic/blob/2")
        assert blob["data"]

    def test_wrong_arguments(self, server: Server) -> None:
        error = failure(server, "get-sum", {"a": 1, "c": "2"})
        assert (error.category, error.attempted) == ("argument_mismatch", ("c",))
        assert error.available == ("a", "b")

    def test_an_unknown_tool(self, server: Server) -> None:
        error = failure(server, "get-sums")
        assert (error.category, error.code) == ("unknown_tool", None)
        assert "did you mean 'get-sum'?" in error.message

    def test_a_call_that_takes_too_long_does_no_harm_to_the_next(self, server: Server) -> None:
        async def use(sessions: Sessions) -> None:
            await sessions.tools("everything")
            before = time.monotonic()
            with pytest.raises(ToolError, match=r"within 0\.3 s") as raised:
                await sessions.call(
                    "everything",
                    "trigger-long-running-operation",
                    {"duration": 600, "steps": 2},
                    timeout=0.3,
                )
            assert time.monotonic() - before < 10
            assert raised.value.category == "timeout"
            echo = await sessions.call("everything", "echo", {"message": "x"}, timeout=SECONDS)
            assert echo.result == "Echo: x"

        run(server, use)

    def test_its_tools(self, server: Server) -> None:
        tools: list[ToolInfo] = run(server, lambda s: s.tools("everything"))
        by_name = {tool.name: tool for tool in tools}
        assert by_name["echo"].server == "everything"
        assert by_name["echo"].description
        assert by_name["echo"].arguments == ("message",)
        assert by_name["echo"].output_schema is None
        assert by_name["get-structured-content"].output_schema


class TestHttp:
    def test_a_session_that_the_server_has_forgotten_is_begun_anew(
        self, over_http: Everything
    ) -> None:
        async def use(sessions: Sessions) -> list[Any]:
            first = await sessions.call("everything", "echo", {"message": "1"}, timeout=SECONDS)
            over_http.stop()
            over_http.start()
            calls = [
                sessions.call("everything", "echo", {"message": str(n)}, timeout=SECONDS)
                for n in (2, 3)
            ]
            return [first.result, *(answer.result for answer in await asyncio.gather(*calls))]

        assert run(over_http.server, use) == ["Echo: 1", "Echo: 2", "Echo: 3"]

    def test_a_server_that_is_gone_cannot_be_reached_until_it_is_back(
        self, over_http: Everything
    ) -> None:
        async def use(sessions: Sessions) -> None:
            await sessions.tools("everything")
            over_http.stop()
            with pytest.raises(ToolError, match="could not be reached") as raised:
                await sessions.call("everything", "echo", {"message": "1"}, timeout=SECONDS)
            assert raised.value.category == "connection"
            over_http.start()
            echo = await sessions.call("everything", "echo", {"message": "2"}, timeout=SECONDS)
            assert echo.result == "Echo: 2"

        run(over_http.server, use)

    def test_a_server_that_dies_during_a_call(self, over_http: Everything) -> None:
        async def use(sessions: Sessions) -> None:
            await sessions.tools("everything")
            before = over_http.requests
            call = asyncio.create_task(
                sessions.call(
                    "everything", "trigger-long-running-operation", {"duration": 600}, timeout=60
                )
            )
            while over_http.requests == before:  # noqa: ASYNC110 - another process counts
                await asyncio.sleep(0.005)
            over_http.stop()
            with pytest.raises(ToolError, match="during a call") as raised:
                await call
            assert raised.value.category == "server_died"

        run(over_http.server, use)


def test_the_lock_names_every_hash_and_no_address() -> None:
    text = (SERVERS / "package-lock.json").read_text()
    assert "://" not in text
    packages = json.loads(text)["packages"]
    assert len(packages) > 2
    assert [name for name, package in packages.items() if name and "integrity" not in package] == []
