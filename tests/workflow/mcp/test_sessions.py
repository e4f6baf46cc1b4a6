"""Calls through sessions with servers of every kind, the decent and the others."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from runtrue.loop import Fault
from runtrue.workflow.mcp import Sessions, StdioServer, ToolError
from tests.test_process import await_death
from tests.workflow.mcp.support import SECONDS, appears, call, failure, run, tiny


async def pid_of(sessions: Sessions, server: str = "decent") -> int:
    answer = await sessions.call(server, "pid", {}, timeout=SECONDS)
    return int(answer.result[0])


async def failure_of(sessions: Sessions, tool: str, seconds: float = SECONDS) -> ToolError:
    with pytest.raises(ToolError) as raised:
        await sessions.call("decent", tool, {}, timeout=seconds)
    return raised.value


class TestSession:
    def test_one_process_serves_all_calls_also_those_at_once(self) -> None:
        async def use(sessions: Sessions) -> set[int]:
            return set(await asyncio.gather(*(pid_of(sessions) for _ in range(20))))

        assert len(run(tiny(), use)) == 1

    def test_a_server_is_started_only_when_it_is_used(self) -> None:
        servers = {"decent": tiny(), "missing": StdioServer(name="missing", command="no-such")}
        assert run(servers, pid_of) > 0

    def test_a_server_sees_a_few_safe_variables_and_its_own(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PLANTED", "secret")
        server = tiny(env={"OWN": "${GIVEN}"})

        async def use(sessions: Sessions) -> dict[str, str]:
            answer = await sessions.call("decent", "environment", {}, timeout=SECONDS)
            assert sessions.secrets == {"given"}
            return dict(answer.result)

        seen = run(server, use, environment={"GIVEN": "given"})
        assert seen["OWN"] == "given"
        assert seen["PATH"] == os.environ["PATH"]
        assert "PLANTED" not in seen

    def test_it_runs_where_it_is_told_to(self, tmp_path: Path) -> None:
        assert call(tiny(cwd=tmp_path, env={"PWD": ""}), "pid").result

    def test_what_a_server_prints_does_not_reach_the_terminal(
        self, capfd: pytest.CaptureFixture[str]
    ) -> None:
        assert call(tiny(), "noise").result == "done"
        assert failure(tiny(), "exit").stderr == "out of ideas"
        assert capfd.readouterr() == ("", "")

    def test_closed_sessions_start_nothing(self) -> None:
        async def use(sessions: Sessions) -> None:
            await sessions.close()
            with pytest.raises(RuntimeError, match="closed"):
                await pid_of(sessions)

        run(tiny(), use)


class TestTools:
    def test_all_pages_are_read(self) -> None:
        async def names(sessions: Sessions, server: str) -> list[str]:
            return [tool.name for tool in await sessions.tools(server)]

        at_once = run(tiny(), lambda s: names(s, "decent"))
        assert at_once[:2] == ["pid", "environment"]
        assert run(tiny("pages"), lambda s: names(s, "pages")) == at_once
        assert run(tiny("circle"), lambda s: names(s, "circle")) == at_once

    def test_a_tool_that_came_later_is_found(self) -> None:
        assert call(tiny("grows"), "late").structured

    def test_an_unknown_tool_is_not_called(self) -> None:
        error = failure(tiny(), "spwan")
        assert (error.category, error.fault) == ("unknown_tool", Fault.CANDIDATE)
        assert error.attempted == ("spwan",)
        assert "spawn" in error.available
        assert "no tool 'spwan' (did you mean 'spawn'?); available: pid, env" in error.message

    def test_an_unknown_server_is_told_with_those_there_are(self) -> None:
        with pytest.raises(ToolError, match=r"'decnt' \(did you mean 'decent'\?\)") as raised:
            run(tiny(), lambda s: s.call("decnt", "pid", {}, timeout=1))
        assert raised.value.category == "unknown_server"
        assert raised.value.available == ("decent",)

    def test_a_server_without_tools(self) -> None:
        error = failure(tiny("no_tools"), "pid")
        assert (error.category, error.code) == ("protocol", -32601)
        assert error.fault is Fault.ENVIRONMENT

    def test_a_server_that_does_not_like_to_be_asked_again(self) -> None:
        error = failure(tiny("lists_once"), "unknown")
        assert (error.category, error.code) == ("protocol", -32601)


@pytest.mark.parametrize(
    ("tool", "category", "code"),
    [
        ("fail", "tool_error", None),
        ("break_promise_with_text", "output_mismatch", None),
        ("break_promise_with_structure", "output_mismatch", None),
        ("refuse_params", "argument_mismatch", -32602),
        ("refuse_bad_count", "protocol", -32099),
        ("refuse_otherwise", "protocol", -32099),
        ("refuse_like_a_closed_connection", "protocol", -32000),
    ],
)
def test_what_a_server_answers_is_the_candidates_affair(
    tool: str, category: str, code: int | None
) -> None:
    error = failure(tiny(), tool, {"count": 1})
    assert (error.category, error.code, error.fault) == (category, code, Fault.CANDIDATE)


@pytest.mark.parametrize(
    "tool", ["fail", "break_promise_with_text", "break_promise_with_structure", "refuse_bad_count"]
)
def test_arguments_that_break_the_schema_explain_every_such_answer(tool: str) -> None:
    error = failure(tiny(), tool, {"cuont": 1})
    assert (error.category, error.attempted) == ("argument_mismatch", ("cuont",))
    assert error.available == ("count",)
    assert error.problems == ("'count' is a required property",)


def test_a_tool_that_asks_back_gets_no_answer() -> None:
    error = failure(tiny("modern"), "ask_back")
    assert (error.category, error.fault) == ("protocol", Fault.ENVIRONMENT)
    assert "asks for more input to tool 'ask_back'" in error.message


def test_an_answer_that_is_none_is_an_error_of_the_protocol() -> None:
    error = failure(tiny(), "malformed")
    assert (error.category, error.fault) == ("protocol", Fault.ENVIRONMENT)


@pytest.mark.parametrize("tool", ["promise_nonsense", "promise_elsewhere"])
def test_a_promise_that_cannot_be_checked_is_not_held_against_anyone(tool: str) -> None:
    assert call(tiny(), tool).result == {"any": "thing"}


class TestDeath:
    @pytest.mark.parametrize(
        ("tool", "end", "stderr"),
        [
            ("exit", "ended with exit code 7 during a call of tool 'exit'", "out of ideas"),
            ("die", "was killed by signal 9 during a call of tool 'die'", ""),
            ("abandon", "ended with exit code 9 during a call of tool 'abandon'", ""),
            ("fall_silent", "closed its output during a call of tool 'fall_silent'", ""),
        ],
    )
    def test_a_call_that_was_under_way_fails_and_the_next_one_gets_a_new_server(
        self, tool: str, end: str, stderr: str
    ) -> None:
        async def use(sessions: Sessions) -> None:
            before = await pid_of(sessions)
            error = await failure_of(sessions, tool)
            assert (error.category, error.fault) == ("server_died", Fault.ENVIRONMENT)
            assert error.transient
            assert end in error.message
            assert error.stderr == stderr
            assert await pid_of(sessions) != before

        run(tiny(), use)

    def test_all_calls_under_way_fail(self, tmp_path: Path) -> None:
        flag = tmp_path / "flag"

        async def use(sessions: Sessions) -> None:
            pid = await pid_of(sessions)
            calls = [asyncio.create_task(failure_of(sessions, "hang")) for _ in range(3)]
            await appears(flag)
            os.kill(pid, 9)
            assert {error.category for error in await asyncio.gather(*calls)} == {"server_died"}

        run(tiny(env={"FLAG": str(flag)}), use)

    def test_one_that_listens_no_more_is_as_good_as_dead(self) -> None:
        async def use(sessions: Sessions) -> None:
            before = await pid_of(sessions)
            await sessions.call("decent", "stop_listening", {}, timeout=SECONDS)
            with contextlib.suppress(ToolError):  # it may not have been noticed yet
                await pid_of(sessions)
            assert await pid_of(sessions) != before

        run(tiny(), use)

    def test_one_that_died_in_between_is_started_again(self) -> None:
        async def use(sessions: Sessions) -> None:
            before = await pid_of(sessions)
            os.kill(before, 9)
            await_death(before)
            assert await pid_of(sessions) != before

        run(tiny(), use)

    def test_one_that_only_knows_the_older_greeting_is_greeted_again(self) -> None:
        assert call(tiny("strict"), "pid").result


class TestStart:
    @pytest.mark.parametrize(
        ("server", "what"),
        [
            (
                StdioServer(name="s", command="no-such-program"),
                "server 's' cannot be started: No such file or directory: no-such-program",
            ),
            (
                StdioServer(name="s", command="true", cwd=Path("/no/such/place")),
                "server 's' cannot be started: No such file or directory: /no/such/place",
            ),
            (
                StdioServer(name="s", command="true", args=("a\0b",)),
                "server 's' cannot be started: embedded null byte",
            ),
            (
                StdioServer(name="s", command="sh", args=("-c", "echo a; echo b >&2; exit 3")),
                "server 's' ended with exit code 3 before it was ready; it printed: b",
            ),
        ],
    )
    def test_one_that_cannot_be_started_says_why(self, server: StdioServer, what: str) -> None:
        error = failure(server, "any")
        assert (error.category, error.fault) == ("connection", Fault.ENVIRONMENT)
        assert error.message == what

    def test_a_failed_start_is_tried_again_with_the_next_call(self, tmp_path: Path) -> None:
        flag = tmp_path / "flag"
        script = f'test -e "{flag}" || exit 1; exec "$0" "$@"'
        server = tiny()
        guarded = StdioServer(
            name="decent", command="sh", args=("-c", script, server.command, *server.args)
        )

        async def use(sessions: Sessions) -> int:
            assert (await failure_of(sessions, "pid")).category == "connection"
            flag.touch()
            return await pid_of(sessions)

        assert run(guarded, use) > 0

    def test_missing_variables_are_a_matter_of_credentials(self) -> None:
        error = failure(tiny(env={"TOKEN": "${GITHUB_TOKEN}"}), "pid")
        assert (error.category, error.fault) == ("credentials", Fault.CREDENTIALS)
        assert error.attempted == ("GITHUB_TOKEN",)


class TestTimeout:
    def test_a_call_that_takes_too_long_is_given_up(self) -> None:
        async def use(sessions: Sessions) -> None:
            await pid_of(sessions)
            error = await failure_of(sessions, "hang", seconds=0.2)
            assert (error.category, error.fault) == ("timeout", Fault.ENVIRONMENT)
            assert error.transient
            assert error.message == (
                "server 'decent' did not answer a call of tool 'hang' within 0.2 s"
            )

        run(tiny(), use)

    def test_a_server_that_never_answers_the_greeting(self) -> None:
        error = failure(tiny("mute"), "pid", timeout=0.5)
        assert error.category == "timeout"
        assert error.message == "server 'mute' did not start within 0.5 s"

    def test_listing_tools_has_a_limit_too(self) -> None:
        with pytest.raises(ToolError, match="did not start within"):
            run(tiny("mute"), lambda s: s.tools("mute", timeout=0.1))


def test_the_sdk_is_imported_with_the_first_call_only() -> None:
    code = (
        "import sys, runtrue.workflow.mcp;"
        "print({'mcp', 'httpx2', 'jsonschema', 'pydantic'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


@pytest.mark.parametrize(
    ("tool", "said"),
    [
        ("answer_another", "answered a request that was never made: its id is 4711"),
        ("answer_nobody", "answered with error -32700: what?"),
        ("nest", "sent something that is not a JSON-RPC message"),
        ("flood", "sent an answer of more than 32 MiB; raise `answer` of [mcp]"),
        ("flood_without_end", "sent an answer of more than 32 MiB"),
    ],
)
def test_an_answer_that_can_never_be_used_ends_the_call_at_once(tool: str, said: str) -> None:
    before = time.monotonic()
    error = failure(tiny(), tool)
    assert (error.category, error.fault) == ("protocol", Fault.ENVIRONMENT)
    assert said in error.message
    assert time.monotonic() - before < SECONDS / 2
