"""Fields in doubt: what is sure is delivered, the rest is asked, and nothing is called again.

The log of the server on loopback says what was really sent.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Done, Machine
from tests.cli.test_terminal import Terminal
from tests.models.openai_server import OpenAIServer, Refuse, openai_server
from tests.planner.api import Api, api_fixture

__all__ = ["api_fixture", "openai_server"]

MADE = {"data": {"login": "octo", "blurb": "eight arms", "nr": 17, "code": "AB"}}


@pytest.fixture
def task(api: Api) -> str:
    """A request that changes something, and a field of its answer that nobody could guess."""
    url = api.on("POST /users", MADE, status=201)
    return f"POST name=octo to {url} and extract username and ranking"


def _resume(machine: Machine, run: Done, *args: str) -> Done:
    return machine.runtrue("runs", "resume", run.json["run_id"], *args, "--json")


def test_sure_fields_are_delivered_and_a_post_that_worked_is_continued(
    machine: Machine, api: Api, task: str
) -> None:
    waiting = machine.runtrue("do", task, "--json")
    assert waiting.code == 3
    report = waiting.json
    assert (report["status"], report["partial"]) == ("waiting", {"username": "octo"})
    (doubt,) = report["candidates"]
    assert doubt["field"] == "ranking"
    samples = {one["text"]: one["sample"] for one in doubt["candidates"]}
    assert samples["$.data.nr"] == "17"
    assert report["done"] == ["post"]
    done = _resume(machine, waiting, "--set", "ranking=$.data.nr")
    assert done.code == 0
    assert done.json["result"] == {"username": "octo", "ranking": 17}
    assert done.json["partial"] == {}
    assert [attempt["fix"] and attempt["fix"]["fixer"] for attempt in done.json["attempts"]] == [
        None,
        "human",
    ]
    assert [str(asked.method) for asked in api.asked] == ["POST"]


def test_without_json_the_sure_fields_are_on_stdout_and_the_way_on_is_shown(
    machine: Machine, api: Api, task: str
) -> None:
    waiting = machine.runtrue("do", task)
    assert waiting.code == 3
    assert json.loads(waiting.out) == {"username": "octo"}
    assert "unclear which field you mean by ranking" in waiting.err
    assert "already done: post; is not done again" in waiting.err
    run_id = waiting.err.split()[1].rstrip(":")
    assert f"runtrue runs resume {run_id} --set ranking=PATH" in waiting.err
    assert "$.data.nr" in waiting.err


def test_a_path_that_leads_nowhere_is_said_and_asked_again(
    machine: Machine, api: Api, task: str
) -> None:
    waiting = machine.runtrue("do", task, "--json")
    again = _resume(machine, waiting, "--set", "ranking=$.data.zip")
    assert again.code == 3
    assert again.json["candidates"][0]["problem"] == "$.data.zip is not in the response"
    done = _resume(machine, waiting, "--set", "ranking=data.code")
    assert done.json["result"]["ranking"] == "AB"
    assert api.count("POST /users") == 1


def test_what_cannot_be_set_is_refused_in_one_sentence(
    machine: Machine, api: Api, task: str
) -> None:
    waiting = machine.runtrue("do", task, "--json")
    for args, said in [
        (("--set", "rank=$.data.nr"), "does not ask for 'rank'; it asks for: ranking"),
        (("--set", "ranking=[["), "is not a path for ranking"),
        (("--set", "ranking"), "has no value"),
        (("--answer", "yes"), "give --set ranking=PATH"),
        (("--answer", "no", "--set", "ranking=$.data.nr"), "give one of them"),
    ]:
        refused = _resume(machine, waiting, *args)
        assert refused.code == 2, args
        assert said in refused.err
    given_up = _resume(machine, waiting, "--answer", "no")
    assert given_up.code == 1
    assert given_up.json["error"] == "no path was set for: ranking"
    assert given_up.json["partial"] == {"username": "octo"}
    late = _resume(machine, waiting, "--set", "ranking=$.data.nr")
    assert late.code == 2
    assert "has ended" in late.err
    assert api.count("POST /users") == 1


def test_several_fields_can_be_set_one_after_the_other(machine: Machine, api: Api) -> None:
    url = api.on("POST /users", MADE, status=201)
    waiting = machine.runtrue("do", f"POST a=1 to {url} and extract ranking and sigil", "--json")
    assert [doubt["field"] for doubt in waiting.json["candidates"]] == ["ranking", "sigil"]
    half = _resume(machine, waiting, "--set", "sigil=$.data.code")
    assert half.code == 3
    assert [doubt["field"] for doubt in half.json["candidates"]] == ["ranking"]
    assert half.json["partial"] == {"sigil": "AB"}
    done = _resume(machine, waiting, "--set", "ranking=$.data.nr")
    assert done.json["result"] == {"ranking": 17, "sigil": "AB"}
    assert api.count("POST /users") == 1


def test_a_column_of_a_list_in_doubt_is_asked_for_and_set(machine: Machine, api: Api) -> None:
    rows = [{"title": "Alpha", "q7": 4}, {"title": "Beta", "q7": 9}]
    url = api.on("GET /teams", rows)
    waiting = machine.runtrue("do", f"list the title and zorkiness of the teams at {url}", "--json")
    assert waiting.code == 3
    assert waiting.json["partial"] == {"title": ["Alpha", "Beta"]}
    assert [doubt["field"] for doubt in waiting.json["candidates"]] == ["zorkiness"]
    done = _resume(machine, waiting, "--set", "zorkiness=q7")
    assert done.code == 0
    assert [list(row.values()) for row in done.json["result"]["teams"]] == [
        ["Alpha", 4],
        ["Beta", 9],
    ]
    assert api.count("GET /teams") == 1


def test_words_that_are_no_field_are_refused_and_not_asked_for(machine: Machine, api: Api) -> None:
    url = api.on("GET /teams", [{"title": "Alpha", "q7": 4}, {"title": "Beta", "q7": 9}])
    done = machine.runtrue("do", f"list the titles of the friendly teams at {url}", "--json")
    assert done.code == 1
    assert "'friendly' is not understood" in done.json["error"]


def test_what_a_person_set_is_known_the_next_time(machine: Machine, api: Api, task: str) -> None:
    waiting = machine.runtrue("do", task, "--json")
    _resume(machine, waiting, "--set", "ranking=$.data.nr")
    again = machine.runtrue("do", task, "--json")
    assert again.code == 0
    assert again.json["result"] == {"username": "octo", "ranking": 17}
    assert len(again.json["attempts"]) == 1


def test_a_person_at_a_terminal_chooses_by_number_or_path(
    machine: Machine, api: Api, task: str, tmp_path: Path
) -> None:
    terminal = Terminal(machine, "do", task, cwd=tmp_path)
    terminal.read_until("ranking: number or path")
    assert "sure: username: octo" in terminal.screen
    assert "1  $.data" in terminal.screen
    terminal.type("[[\n")
    terminal.read_until("is not a path for ranking")
    terminal.type("$.data.nr\n")
    terminal.read_until("Save this workflow")
    terminal.type("n\n")
    assert terminal.end() == 0
    assert api.count("POST /users") == 1


def test_nothing_typed_leaves_the_run_waiting(
    machine: Machine, api: Api, task: str, tmp_path: Path
) -> None:
    terminal = Terminal(machine, "do", task, cwd=tmp_path)
    terminal.read_until("ranking: number or path")
    terminal.type("\n")
    assert terminal.end() == 3
    assert "runs resume" in terminal.screen
    assert api.count("POST /users") == 1


def test_what_a_person_has_set_needs_no_model(
    machine: Machine, api: Api, task: str, openai_server: OpenAIServer
) -> None:
    waiting = machine.runtrue("do", task, "--json")
    openai_server.script(*[Refuse(401)] * 9)
    done = machine.runtrue(
        "runs", "resume", waiting.json["run_id"], "--set", "ranking=$.data.nr", "--json",
        env=openai_server.environment,
    )  # fmt: skip
    assert done.code == 0
    assert openai_server.requests == []
    assert api.count("POST /users") == 1
