"""What an attempt has called, a later one does not call again: the servers count what they get."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from runtrue.errors import NodeFailed, RuntimeValidationError, SideEffectInterrupted
from runtrue.flow import Event, Flow, Journal, Node, Run, bound_emit
from runtrue.flow.events import read_event
from runtrue.workflow import Calls, Registry, Result, WorkflowResult, try_workflow
from runtrue.workflow.context import Context
from runtrue.workflow.templates import Template
from tests.flow.nodes import new_claim
from tests.workflow.nodes.scripted_server import Received, ScriptedServer, response
from tests.workflow.support import Bench, Echo, flow, node, world_of

Workflow = Mapping[str, Any]

TOKEN = {"auth_token": "${env.TOKEN}"}


class Attempts:
    """The attempts of one planner run, whose events are kept as a journal keeps them."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.run_id = "r-1"
        self.kept: list[Event] = []
        self.heard: list[tuple[str, str]] = []
        self.calls = Calls(self.keep)

    def keep(self, event: Event) -> None:
        recorded = msgspec.json.encode(event.payload).decode()
        self.kept.append(read_event(event.kind, "runtime_validation", recorded))

    def crash(self, *, force: bool = False, at: int | None = None) -> None:
        """Go on in another process, which has nothing but what was kept up to there."""
        del self.kept[at if at is not None else len(self.kept) :]
        self.calls = Calls.of(self.kept, self.keep, force=force)

    def run(
        self,
        *nodes: Workflow,
        environment: Mapping[str, str] | None = None,
        seconds: float | None = None,
        **keys: Any,
    ) -> WorkflowResult:
        self.heard.clear()
        return asyncio.run(
            try_workflow(
                flow(*nodes, **keys),
                {},
                registry=self.bench.registry,
                environment=environment or {},
                listeners=[lambda event: self.heard.append((event.kind, event.origin))],
                calls=self.calls,
                seconds=seconds,
                run_id=self.run_id,
            )
        )

    def replayed(self) -> list[str]:
        return [name for kind, name in self.heard if kind == "call_replayed"]


@pytest.fixture
def attempts(bench: Bench) -> Attempts:
    return Attempts(bench)


class Server(ScriptedServer):
    """Tells how many requests there were before this one; counts them by what they asked."""

    def __init__(self) -> None:
        self.status: dict[str, str] = {}
        super().__init__(self.answer)

    def answer(self, received: Received) -> bytes:
        said = {"n": len(self.received), "user": {"login": "x"}, "heard": received.headers}
        status = self.status.get(received.path, "200 OK")
        return response(json.dumps(said), "Content-Type: application/json", status=status)

    def asked(self) -> list[str]:
        return [received.line.removesuffix(" HTTP/1.1") for received in self.received]


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    with server:
        yield server


@pytest.fixture
def http(server: Server) -> Callable[..., dict[str, Any]]:
    """Makes an `http` node that asks the server."""

    def made(id: str, path: str = "/", **given: Any) -> dict[str, Any]:
        keys = {key: given.pop(key) for key in ("batch", "on_error", "retry") if key in given}
        return node(id, "http", url=f"{server.url}{path}", **given, **keys)

    return made


Http = Callable[..., dict[str, Any]]


def failure(result: WorkflowResult) -> NodeFailed:
    assert result.error is not None
    return result.error


# -- what is known ------------------------------------------------------------------------------


def test_only_how_the_answer_is_read_differs_so_the_recorded_one_is_read(
    attempts: Attempts, server: Server, http: Http
) -> None:
    for path in ("$.name", "$.user.name"):
        error = failure(attempts.run(http("a", json={"b": 1}, extract={"login": path})))
        assert error.category == "missing_extract_path"
    result = attempts.run(http("a", json={"b": 1}, extract={"login": "$.user.login"}))
    assert result.outputs["extracted"] == {"login": "x"}
    assert result.outputs["response"]["n"] == 1
    assert server.asked() == ["POST /"]
    assert attempts.replayed() == ["a"]


OTHERS = pytest.mark.parametrize(
    "given",
    [{"json": {"b": 2}}, {"json": {"b": 1}, "headers": {"A": "b"}}, {"method": "PUT"}],
    ids=["body", "header", "method"],
)


@OTHERS
def test_another_request_is_sent_where_the_first_was_refused(
    attempts: Attempts, server: Server, http: Http, given: dict[str, Any]
) -> None:
    server.status["/"] = "422 Unprocessable Content"
    assert not attempts.run(http("a", json={"b": 1})).passed
    server.status.clear()
    assert attempts.run(http("a", **given)).outputs["response"]["n"] == 2
    assert attempts.replayed() == []
    assert len(server.received) == 2


@OTHERS
@pytest.mark.parametrize("crash", [False, True])
def test_where_it_was_done_it_is_not_done_again_in_another_way(
    attempts: Attempts, server: Server, http: Http, given: dict[str, Any], crash: bool
) -> None:
    assert attempts.run(http("a", json={"b": 1})).passed
    if crash:
        attempts.crash()
    error = failure(attempts.run(http("a", **given)))
    assert (error.category, error.fault, error.node_id) == ("already_done", "human", "a")
    assert attempts.calls.done() == {"a"}
    assert len(server.received) == 1


def test_nor_is_an_item_of_a_batch_that_was_done_before_another_was_refused(
    attempts: Attempts, server: Server, http: Http
) -> None:
    server.status["/b"] = "422 Unprocessable Content"
    batch = {"items": ["/a", "/b"]}
    assert not attempts.run(http("post", "${item}", json={"name": 1}, batch=batch)).passed
    server.status.clear()
    error = failure(attempts.run(http("post", "${item}", json={"title": 1}, batch=batch)))
    assert error.category == "already_done"
    assert server.asked() == ["POST /a", "POST /b"]


def test_the_order_of_names_and_the_node_that_asks_make_no_difference(
    attempts: Attempts, server: Server, http: Http
) -> None:
    attempts.run(http("a", json={"b": 1, "c": 2}))
    attempts.run(http("z", json={"c": 2, "b": 1}))
    assert len(server.received) == 1


def test_what_is_referred_to_counts_and_not_how(
    attempts: Attempts, server: Server, http: Http
) -> None:
    first = node("first", value={"x": 1, "y": 1, "z": 2})
    attempts.run(first, http("a", "/${first.value.x}"))
    attempts.run(first, http("a", "/${first.value.y}"))
    assert len(server.received) == 1
    attempts.run(first, http("a", "/${first.value.z}"))
    assert len(server.received) == 2


def test_within_one_attempt_an_equal_call_is_another_one(
    attempts: Attempts, server: Server, http: Http
) -> None:
    nodes = [http(id, json={}) for id in "abc"]
    assert attempts.run(*nodes[:2]).outputs["response"]["n"] == 2
    again = attempts.run(*nodes)
    assert [again.store[id]["response"]["n"] for id in "abc"] == [1, 2, 3]
    assert attempts.replayed() == ["a", "b"]
    assert len(server.received) == 3


def test_a_loop_that_polls_still_polls(attempts: Attempts, server: Server, http: Http) -> None:
    edges = [
        ("poll", "look"),
        ("look", "poll", "again"),
        ("look", "end"),
    ]
    code = "return route('default' if n == 3 else 'again', n)"
    nodes = [http("poll"), node("look", "python", code=code, inputs={"n": "${poll.response.n}"})]
    for field in ("nope", "result"):
        result = attempts.run(*nodes, node("end", value=f"${{look.{field}}}"), edges=edges)
    assert result.outputs == {"value": 3}
    assert attempts.replayed() == ["poll", "look"] * 3
    assert len(server.received) == 3


def test_it_goes_on_recording_where_an_earlier_attempt_stopped(
    attempts: Attempts, server: Server, http: Http
) -> None:
    nodes = [http("a", "/a", json=1, extract={"x": "$.x"}), http("b", "/b", json=2)]
    attempts.run(*nodes)
    nodes[0]["params"]["extract"]["x"] = "$.n"
    assert attempts.run(*nodes).passed
    assert attempts.run(*nodes).passed
    assert attempts.replayed() == ["a", "b"]
    assert server.asked() == ["POST /a", "POST /b"]


def test_without_calls_everything_is_called_again(bench: Bench, server: Server, http: Http) -> None:
    for _ in range(2):
        assert bench.run(flow(http("a", json={}))).passed
    assert len(server.received) == 2


# -- what was read before a change --------------------------------------------------------------


def test_what_is_only_read_is_read_anew_behind_a_new_change(
    attempts: Attempts, server: Server, http: Http
) -> None:
    def nodes(body: int) -> list[dict[str, Any]]:
        change = http("change", "/c", json=body, on_error="continue")
        return [http("before", "/b"), change, http("after", "/a")]

    server.status["/c"] = "422 Unprocessable Content"
    attempts.run(*nodes(1))
    assert attempts.run(*nodes(1)).passed
    assert attempts.replayed() == ["before", "change", "after"]
    server.status.clear()
    assert attempts.run(*nodes(2)).passed
    assert attempts.replayed() == ["before"]
    assert server.asked() == ["GET /b", "POST /c", "GET /a", "POST /c", "GET /a"]
    assert attempts.run(*nodes(2)).store["after"]["response"]["n"] == 5
    assert attempts.replayed() == ["before", "change", "after"]


def test_also_when_the_process_died_right_after_the_change(
    attempts: Attempts, server: Server, http: Http
) -> None:
    server.status["/"] = "422 Unprocessable Content"
    attempts.run(http("change", json=1, on_error="continue"), http("after", "/a"))
    server.status.clear()
    attempts.run(http("change", json=2))
    attempts.crash()
    result = attempts.run(http("change", json=2), http("after", "/a"))
    assert result.store["after"]["response"]["n"] == 4
    assert attempts.replayed() == ["change"]


def test_a_file_is_read_again_after_it_was_written_anew(attempts: Attempts) -> None:
    def nodes(text: str) -> list[dict[str, Any]]:
        return [
            node("w", "write-file", file_path="x.txt", content=text),
            node("r", "read-file", file_path="x.txt"),
        ]

    attempts.run(*nodes("one"))
    file = attempts.bench.path / "x.txt"
    file.write_text("somebody else's")
    assert attempts.run(*nodes("one")).outputs == {"content": "one"}
    assert file.read_text() == "somebody else's"
    assert attempts.run(*nodes("two")).outputs == {"content": "two"}
    assert attempts.replayed() == []


# -- failures -----------------------------------------------------------------------------------


def fields(error: NodeFailed) -> dict[str, Any]:
    return {key: value for key, value in vars(error).items() if not key.startswith("__")}


@pytest.mark.parametrize("crash", [False, True])
def test_a_side_effect_that_failed_is_not_fired_again_and_fails_the_same(
    attempts: Attempts, server: Server, http: Http, crash: bool
) -> None:
    server.status["/"] = "422 Unprocessable Content"
    first = attempts.run(http("a", json=1))
    if crash:
        attempts.crash()
    again = attempts.run(http("a", json=1))
    assert type(failure(again)) is type(failure(first)) is NodeFailed
    assert fields(failure(again)) == fields(failure(first))
    assert failure(again).data["status"] == 422
    assert again.store == first.store
    assert len(server.received) == 1
    attempts.run(http("a", json=2))
    assert len(server.received) == 2


@pytest.mark.parametrize("how", ["mismatch", "bug"])
def test_its_class_is_the_same(attempts: Attempts, how: str) -> None:
    first, again = (failure(attempts.run(node("a", "touch", how=how))) for _ in range(2))
    assert type(again) is type(first)
    assert isinstance(first, RuntimeValidationError) is (how == "mismatch")
    assert fields(again) == fields(first)
    assert attempts.bench.calls == ["fail"]


def test_what_only_reads_may_be_tried_again(attempts: Attempts, server: Server, http: Http) -> None:
    server.status["/"] = "503 Service Unavailable"
    assert not attempts.run(http("a")).passed
    server.status.clear()
    assert attempts.run(http("a")).passed
    assert len(server.received) == 2


def test_unless_its_failure_was_handled_since_things_went_on_from_there(
    attempts: Attempts, server: Server, http: Http
) -> None:
    server.status["/"] = "503 Service Unavailable"
    nodes = [http("a", on_error="continue"), http("b", "/b", json="${a.error}")]
    assert attempts.run(*nodes).passed
    server.status.clear()
    result = attempts.run(*nodes)
    assert result.store["a"]["error"] == "HTTP 503"
    assert server.asked() == ["GET /", "POST /b"]


def test_so_with_an_item_whose_batch_is_handled(
    attempts: Attempts, server: Server, http: Http
) -> None:
    server.status["/b"] = "503 Service Unavailable"
    nodes = [http("a", "${item}", batch={"items": ["/a", "/b"]}, on_error="continue")]
    for _ in range(2):
        assert attempts.run(*nodes).store["a"]["error_count"] == 1
    assert server.asked() == ["GET /a", "GET /b"]


def test_what_was_never_called_is_not_known(attempts: Attempts, server: Server, http: Http) -> None:
    """A secret that is missing, or a param that does not fit."""
    secret = http("a", json=1, **TOKEN)
    assert failure(attempts.run(secret)).category == "missing_secret"
    assert failure(attempts.run(http("a", json=1, timeout="${env.TOKEN}"))).category
    assert attempts.kept == []
    assert attempts.run(secret, environment={"TOKEN": "hunter22"}).passed
    assert len(server.received) == 1


def test_retries_of_a_node_are_all_of_one_call(attempts: Attempts) -> None:
    trying = node("a", "touch", times=2, retry={"attempts": 3})
    assert attempts.run(trying).passed
    assert attempts.run(trying).passed
    assert attempts.bench.calls == ["fail"] * 3
    assert [event.kind for event in attempts.kept] == ["call_begun", "call_made"]


# -- batches and workflows within ---------------------------------------------------------------


@pytest.mark.parametrize("parallel", [False, True])
def test_each_item_of_a_batch_is_a_call(
    attempts: Attempts, server: Server, http: Http, parallel: bool
) -> None:
    def each(*items: Any, **given: Any) -> dict[str, Any]:
        return http("a", json="${item}", batch={"items": items, "parallel": parallel}, **given)

    attempts.run(each(*"abc", extract={"x": "$.x"}))
    results = attempts.run(each(*"abcd", extract={"x": "$.n"})).store["a"]["results"]
    assert sorted(result["extracted"]["x"] for result in results) == [1, 2, 3, 4]
    assert attempts.replayed() == ["a"] * 3
    assert len(server.received) == 4


def test_items_that_failed_are_fired_again_only_with_other_values(
    attempts: Attempts, server: Server, http: Http
) -> None:
    batch = {"items": ["/ok", "/bad"], "error_handling": "continue"}
    server.status["/bad"] = "422 Unprocessable Content"
    for _ in range(2):
        result = attempts.run(http("a", "${item}", json=1, batch=batch))
        assert result.outputs["error_count"] == 1
    assert server.asked() == ["POST /ok", "POST /bad"]
    batch["items"] = ["/ok", "/better"]
    assert attempts.run(http("a", "${item}", json=1, batch=batch)).outputs["error_count"] == 0
    assert server.asked()[2:] == ["POST /better"]


def test_items_that_may_pass_later_are_tried_again(
    attempts: Attempts, server: Server, http: Http
) -> None:
    batch = {"items": ["/ok", "/gone", "/busy"], "error_handling": "continue"}
    server.status |= {"/gone": "404 Not Found", "/busy": "503 Service Unavailable"}
    for _ in range(2):
        assert attempts.run(http("a", "${item}", batch=batch)).outputs["error_count"] == 2
    assert server.asked() == ["GET /ok", "GET /gone", "GET /busy", "GET /busy"]


def test_a_workflow_within_is_made_of_calls(attempts: Attempts, server: Server, http: Http) -> None:
    def sub(last: str, **mapping: Any) -> dict[str, Any]:
        inner = flow(
            http("make", "/make", json="${x}"),
            http("look", "/look", extract={"n": last}),
            inputs={"x": {}, "y": {"default": 0}},
        )
        return node("sub", "workflow", workflow_ir=inner, param_mapping={"x": 1, **mapping})

    assert failure(attempts.run(sub("$.m"))).node_id == "sub.look"
    after = [sub("$.n", y=5), http("make", "/make", json=1)]
    result = attempts.run(*after)
    assert result.store["sub"]["extracted"] == {"n": 2}
    assert result.store["make"]["response"]["n"] == 3
    assert attempts.run(*after).store == result.store
    assert server.asked() == ["POST /make", "GET /look", "POST /make"]


# -- crashes ------------------------------------------------------------------------------------


def test_after_a_crash_the_calls_that_were_made_are_known(
    attempts: Attempts, server: Server, http: Http
) -> None:
    nodes = [http("a", "/a", json=1), http("b", "/b"), http("c", "/c", json=2)]
    first = attempts.run(*nodes)
    attempts.crash()
    assert attempts.run(*nodes).store == first.store
    assert attempts.replayed() == ["a", "b", "c"]
    assert len(server.received) == 3


def test_what_was_begun_and_perhaps_happened_is_not_done_again_unasked(
    attempts: Attempts, server: Server, http: Http
) -> None:
    nodes = [http("a", "/a", json=1), http("b", "/b", json=2)]
    attempts.run(*nodes)
    assert [event.kind for event in attempts.kept] == ["call_begun", "call_made"] * 2
    attempts.crash(at=3)
    with pytest.raises(SideEffectInterrupted) as caught:
        attempts.run(*nodes)
    assert str(caught.value) == (
        "run r-1 stopped inside 'b', which has a side effect that may already have happened; "
        "look, then fire it again with `runtrue runs resume r-1 --force`"
    )
    attempts.run_id = ""
    with pytest.raises(SideEffectInterrupted, match=r"the run stopped .* with a new run$"):
        attempts.run(*nodes)
    attempts.crash(force=True)
    assert attempts.run(*nodes).passed
    assert server.asked() == ["POST /a", "POST /b", "POST /b"]
    attempts.crash()
    assert attempts.run(*nodes).passed
    assert attempts.replayed() == ["a", "b"]


def test_what_only_reads_is_simply_done_again(
    attempts: Attempts, server: Server, http: Http
) -> None:
    attempts.run(http("a"))
    assert [event.kind for event in attempts.kept] == ["call_made"]
    attempts.crash(at=0)
    assert attempts.run(http("a")).passed
    assert len(server.received) == 2


@pytest.mark.parametrize("how", ["deadline", "another item failed"])
def test_what_was_cut_off_in_the_middle_is_not_done_again_either(
    attempts: Attempts, how: str
) -> None:
    """A fifo that nobody writes to is read for ever."""
    os.mkfifo(attempts.bench.path / "fifo")
    waiting = "cat fifo" if how == "deadline" else "echo begun > begun; cat fifo"
    failing = "while ! test -s begun; do sleep 0.01; done; exit 1"
    if how == "deadline":
        ir = [node("a", "shell", command=waiting)]
        result = attempts.run(*ir, seconds=0.3)
    else:
        batch = {"items": [waiting, failing], "parallel": True}
        ir = [node("a", "shell", command="sh -c ${item}", batch=batch)]
        result = attempts.run(*ir)
    assert failure(result).node_id == "a"
    again = failure(attempts.run(*ir))
    assert (again.category, again.fault, again.node_id) == ("cut_off", "environment", "a")


def test_a_journal_keeps_what_a_flow_within_the_run_calls(
    tmp_path: Path, bench: Bench, server: Server, http: Http
) -> None:
    """As the planner does it: its node holds on to the run's `emit`, and runs the candidate."""

    class Try(Node):
        async def exec(self, inputs: Any) -> int:
            calls.begin_attempt(keep=bound_emit())
            candidate = flow(http("a", json=1), http("b", "/b"))
            result = await try_workflow(candidate, {}, registry=bench.registry, calls=calls)
            number: int = result.outputs["response"]["n"]
            return number

    Try.terminal = True
    calls = Calls()
    with Journal(tmp_path / "journal.db") as journal:
        claim = new_claim(journal)
        asyncio.run(Run.recorded(journal, claim).execute(lambda run: Flow(Try()).walk(run, {})))
        events = [event for _, event in journal.events(claim.run_id)]
    kept = [(event.kind, event.origin) for event in events if event.kind.startswith("call_")]
    assert kept == [(kind, "Try") for kind in ("call_begun", "call_made", "call_made")]
    calls = Calls.of(events)
    asyncio.run(Flow(Try()).run({}))
    assert server.asked() == ["POST /", "GET /b"]


# -- what is kept -------------------------------------------------------------------------------


def test_nothing_that_is_kept_holds_a_secret(
    attempts: Attempts, server: Server, http: Http
) -> None:
    nodes = [
        http("a", json=1, **TOKEN, extract={"heard": "$.heard.authorization"}),
        node("b", value="${a.extracted.heard}"),
    ]
    first = attempts.run(*nodes, environment={"TOKEN": "hunter22"})
    assert server.received[0].headers["authorization"] == "Bearer hunter22"
    again = attempts.run(*nodes, environment={"TOKEN": "hunter22"})
    assert attempts.replayed() == ["a", "b"]
    for told in (attempts.kept, first.store, again.store):
        assert "hunter22" not in repr(told)
        assert "[redacted]" in repr(told)


def test_another_secret_of_the_same_name_is_the_same_call(
    attempts: Attempts, server: Server, http: Http
) -> None:
    for token in ("hunter22", "other-one"):
        asking = http("a", json=1, **TOKEN)
        assert attempts.run(asking, environment={"TOKEN": token}).passed
    assert len(server.received) == 1


def test_a_replayed_result_is_the_same_as_the_one_it_was(attempts: Attempts) -> None:
    outputs = {"a": [1, 2.5, None, {"ü": "€"}], "big": 2**70, "empty": {}}
    first, again = (attempts.run(node("a", "give", outputs=outputs)) for _ in range(2))
    assert first.store == again.store == {"a": outputs}
    assert first.store["a"] is not again.store["a"]
    assert attempts.bench.calls == ["give"]


class OddOutput(Echo):
    type = "odd-output"

    async def run(self, params: Any, context: Context) -> Result:
        world_of(context).calls.append("odd")
        return Result({"value": object()})

    def has_side_effect(self, params: Mapping[str, Any]) -> bool:
        return True


class OddInput(Echo):
    type = "odd-input"

    def resolve(self, params: Mapping[str, Template], store: Mapping[str, Any]) -> dict[str, Any]:
        return {"value": object()}


@pytest.mark.parametrize(("type", "says"), [("odd-output", "gave"), ("odd-input", "was given")])
def test_what_no_journal_can_hold_is_a_failure(bench: Bench, type: str, says: str) -> None:
    bench.registry = Registry(bench.home, bench.path, types=[OddOutput, OddInput])
    attempts = Attempts(bench)
    for _ in range(2):
        error = failure(attempts.run(node("a", type, value=1)))
        assert error.category == "not_plain"
        assert error.message.startswith(f"it {says} something that cannot be recorded: ")
    assert bench.calls == ["odd"] * (says == "gave")
