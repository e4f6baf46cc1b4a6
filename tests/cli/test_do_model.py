"""`runtrue do` with a model that stands in on loopback and knows only what the prompt says."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cli.conftest import Machine
from tests.models.openai_server import (
    Call,
    HangUp,
    OpenAIServer,
    Refuse,
    Request,
    Say,
    Step,
    openai_server,
)
from tests.planner.api import TORVALDS, Api, api_fixture
from tests.planner.model import reader

__all__ = ["api_fixture", "openai_server"]

USER = "GET /users/torvalds"


def task(api: Api) -> str:
    return f"fetch {api.on(USER, TORVALDS)} and extract username and biography"


def test_a_model_plans_is_told_what_came_back_and_mends(
    machine: Machine, api: Api, openai_server: OpenAIServer
) -> None:
    openai_server.script(reader.plan_request, reader.describe_nodes, reader.fix_extract)
    env = openai_server.environment
    done = machine.runtrue("do", task(api), "--save", "user", "--json", env=env)
    assert done.code == 0, done.said
    report = done.json
    assert report["result"] == {"username": "torvalds", "biography": TORVALDS["bio"]}
    assert [attempt["passed"] for attempt in report["attempts"]] == [False, True]
    assert report["attempts"][1]["fix"]["fixer"] == "model"
    assert (report["runtime_attempts"], report["generation_attempts"]) == (1, 0)
    assert report["cost"]["requests"] == 3
    assert report["cost"]["input_tokens"] == 30
    assert api.count(USER) == 1

    again = machine.runtrue("run", "user", "user=torvalds", "--json")  # with no model at all
    assert again.json["result"] == report["result"], again.said


def test_what_was_proven_with_a_model_needs_none_the_next_time(
    machine: Machine, api: Api, openai_server: OpenAIServer
) -> None:
    env = openai_server.environment
    openai_server.script(reader.plan_request, reader.describe_nodes, reader.fix_extract)
    machine.runtrue("do", task(api), env=env)
    openai_server.script(reader.plan_request, reader.describe_nodes)
    report = machine.runtrue("do", task(api), "--json", env=env).json
    assert report["status"] == "passed"
    assert report["attempts"][1]["fix"]["fixer"] == "memory"
    assert report["cost"]["requests"] == 2


def test_a_plan_that_does_not_pass_the_check_is_told_to_the_model(
    machine: Machine, api: Api, openai_server: OpenAIServer
) -> None:
    def wrong(request: Request) -> Call:
        return Call({"workflow": {"nodes": [{"id": "a", "type": "htp"}]}, "params": {}})

    openai_server.script(wrong, reader.plan_request, reader.describe_nodes, reader.fix_extract)
    done = machine.runtrue("do", task(api), "--json", env=openai_server.environment)
    assert done.json["status"] == "passed", done.said
    assert "there is no node type 'htp'" in openai_server.requests[1].prompt


def test_static_retries_end_after_three(machine: Machine, openai_server: OpenAIServer) -> None:
    wrong = [
        Call({"workflow": {"nodes": [{"id": f"a{n}", "type": "htp"}]}, "params": {}})
        for n in range(10)
    ]
    openai_server.script(*wrong)
    done = machine.runtrue("do", "dream of sheep", "--json", env=openai_server.environment)
    assert done.code == 1
    assert "htp" in done.json["error"]
    assert len(openai_server.requests) == 4


def test_a_model_that_repeats_a_wrong_plan_is_no_worse_than_none(
    machine: Machine, api: Api, openai_server: OpenAIServer
) -> None:
    wrong = Call({"workflow": {"nodes": [{"id": "a", "type": "htp"}]}, "params": {}})
    openai_server.script(wrong, wrong, reader.describe_nodes, Call({"cannot": "no idea"}))
    done = machine.runtrue("do", task(api), "--json", env=openai_server.environment)
    assert done.json["status"] == "passed", done.said
    assert done.json["result"] == {"username": "torvalds", "biography": TORVALDS["bio"]}
    assert "repeated the same workflow" in done.json["notes"][0]
    assert done.json["attempts"][1]["fix"]["fixer"] == "fields"


def test_a_model_that_says_it_cannot_is_no_worse_than_none(
    machine: Machine, api: Api, openai_server: OpenAIServer
) -> None:
    refusal = Call({"workflow": {"nodes": []}, "cannot": "I may not use the network."})
    openai_server.script(refusal, reader.describe_nodes, reader.fix_extract)
    done = machine.runtrue("do", task(api), "--json", env=openai_server.environment)
    assert done.json["status"] == "passed", done.said
    assert "I may not use the network" in done.json["notes"][0]


@pytest.mark.parametrize(
    "answer",
    [
        Say("Sure! First I would open the page, then I would look for the name."),
        Say('{"workflow": {"nodes": ['),
        Call({"workflow": "fetch it", "params": 7}),
        Call({"workflow": {"nodes": [{"id": "a", "type": "shell", "params": {}}]}, "params": {}}),
        HangUp(),
        Refuse(500),
    ],
    ids=["prose", "half", "types", "params", "hangs-up", "outage"],
)
def test_whatever_a_weak_model_says_the_task_is_done_without_it(
    machine: Machine, api: Api, openai_server: OpenAIServer, answer: Step
) -> None:
    openai_server.script(*[answer] * 40)
    done = machine.runtrue("do", task(api), "--json", env=openai_server.environment)
    assert done.code == 0, done.said
    assert done.json["result"] == {"username": "torvalds", "biography": TORVALDS["bio"]}
    assert done.json["notes"], "it says that the model did not help"
    assert api.count(USER) == 1


def test_a_limit_and_an_outage_are_waited_for(
    machine: Machine, api: Api, openai_server: OpenAIServer
) -> None:
    openai_server.script(
        Refuse(429), Refuse(500), reader.plan_request, reader.describe_nodes, reader.fix_extract
    )
    done = machine.runtrue("do", task(api), "--json", env=openai_server.environment)
    assert done.json["status"] == "passed", done.said
    assert len(openai_server.requests) == 5
    assert done.json["attempts"][1]["fix"]["fixer"] == "model"


def test_a_model_that_wants_more_than_it_may_is_refused(
    machine: Machine, api: Api, openai_server: OpenAIServer
) -> None:
    def elsewhere(request: Request) -> Call:
        node: dict[str, Any] = {
            "id": "fetch",
            "type": "http",
            "params": {"url": "http://127.0.0.1:1/steal", "method": "POST"},
        }
        return Call({"workflow": {"nodes": [node]}})

    openai_server.script(reader.plan_request, reader.describe_nodes, elsewhere, reader.fix_extract)
    done = machine.runtrue("do", task(api), "--json", env=openai_server.environment)
    assert done.json["status"] == "passed", done.said
    assert done.json["rejected"]
    told = openai_server.requests[3].prompt
    assert done.json["rejected"][0] in told


def test_what_was_sent_is_not_sent_again_in_another_way(
    machine: Machine, api: Api, openai_server: OpenAIServer
) -> None:
    url = api.on("POST /orders", {"id": 7})
    node: dict[str, Any] = {
        "id": "order",
        "type": "http",
        "params": {"url": url, "json": {"item": "book"}, "extract": {"number": "$.number"}},
    }
    plan = Call({"workflow": {"nodes": [node]}, "params": {}})
    right = {"at": "nodes.order.params.extract.number", "value": "$.id"}
    pen = {"at": "nodes.order.params.json.item", "value": "pen"}
    named = Call({"name": "order", "description": "Order."})
    openai_server.script(plan, named, Call({"edits": [right, pen]}), Call({"edits": [right]}))
    done = machine.runtrue("do", "order a book", "--yes", "--json", env=openai_server.environment)
    assert done.json["status"] == "passed", done.said
    assert [asked.body for asked in api.asked] == [{"item": "book"}]
    assert "has done its work" in done.json["rejected"][0]
    assert done.json["rejected"][0] in openai_server.requests[3].prompt


def test_when_the_model_is_busy_the_run_goes_on_later_with_what_was_done(
    machine: Machine, api: Api, openai_server: OpenAIServer
) -> None:
    url = api.on("POST /users", {"login": "ada"})
    node: dict[str, Any] = {
        "id": "create",
        "type": "http",
        "params": {"url": url, "json": {"n": 1}, "extract": {"zebra": "$.zebra"}},
    }
    plan = Call({"workflow": {"nodes": [node]}, "params": {}})
    named = Call({"name": "create", "description": "Create."})
    openai_server.script(plan, named, *[Refuse(503)] * 3)
    env = openai_server.environment
    failed = machine.runtrue("do", "create a user", "--yes", "--json", env=env)
    assert failed.code == 1
    assert failed.json["resumable"] is True
    edit = {"at": "nodes.create.params.extract.zebra", "value": "$.login"}
    openai_server.script(Call({"edits": [edit]}))
    done = machine.runtrue("runs", "resume", "--json", env=env)
    assert done.json["status"] == "passed", done.said
    assert api.count("POST /users") == 1


def test_a_model_that_cannot_be_reached_is_told_in_one_sentence(
    machine: Machine, api: Api, openai_server: OpenAIServer
) -> None:
    openai_server.script(*[Refuse(401)] * 5)
    done = machine.runtrue("do", task(api), "--json", env=openai_server.environment)
    assert done.code == 1
    assert done.json["status"] == "failed"
    assert "401" in done.json["error"] or "key" in done.json["error"]


def test_a_model_without_its_key_is_told_before_anything_is_done(machine: Machine) -> None:
    done = machine.runtrue(
        "do", "fetch http://127.0.0.1:1/", env={"RUNTRUE_MODEL": "openai:gpt-4o"}
    )
    assert done.code in (1, 2)
    assert "OPENAI_API_KEY" in done.err
