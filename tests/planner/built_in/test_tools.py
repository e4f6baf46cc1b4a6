"""Tasks that are about a tool of an MCP server, with the real time and git servers."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from runtrue.planner.built_in import BuiltInGenerator
from runtrue.planner.built_in.arguments import Argument, Wording, date_of, fill, time_of, zone_of
from runtrue.planner.seams import GenerationRequest, Plan
from runtrue.planner.task import read_task
from runtrue.workflow import Interface
from tests.planner.built_in.support import Planner

STRING = {"type": "string"}


@pytest.fixture(scope="module")
def planner(tmp_path_factory: pytest.TempPathFactory) -> Planner:
    path = tmp_path_factory.mktemp("tools")
    servers = {
        name: {"command": sys.executable, "args": ["-m", f"mcp_server_{name}"]}
        for name in ("time", "git")
    }
    (path / "home").mkdir()
    (path / "home" / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
    subprocess.run(["git", "init", "-q", "-b", "main", path / "repo"], check=True)
    (path / "repo" / "new.txt").write_text("new\n")
    return Planner(path)


@pytest.mark.parametrize(
    ("task", "tool", "values"),
    [
        (
            "ask the time server for the time in Tokyo",
            "time-get_current_time",
            {"timezone": "Asia/Tokyo"},
        ),
        ("what time is it in New York?", "time-get_current_time", {"timezone": "America/New_York"}),
        (
            "tell me the current time with timezone=UTC",
            "time-get_current_time",
            {"timezone": "UTC"},
        ),
        (
            "convert 4pm from Berlin to Tokyo using the time server",
            "time-convert_time",
            {"source_timezone": "Europe/Berlin", "time": "16:00", "target_timezone": "Asia/Tokyo"},
        ),
        (
            "use the time server to convert 9am in London to Tokyo",
            "time-convert_time",
            {"source_timezone": "Europe/London", "time": "09:00", "target_timezone": "Asia/Tokyo"},
        ),
        ("use git to show the status of repo /x", "git-git_status", {"repo_path": "/x"}),
        ("show the git status of .", "git-git_status", {"repo_path": "."}),
        ("show the git log of ./x", "git-git_log", {"repo_path": "./x"}),
        (
            "use git to show the last 3 commits of /x",
            "git-git_log",
            {"repo_path": "/x", "max_count": 3},
        ),
        (
            "use git to list the local branches of /x",
            "git-git_branch",
            {"repo_path": "/x", "branch_type": "local"},
        ),
        (
            "use git to create branch dev in repo /x",
            "git-git_create_branch",
            {"repo_path": "/x", "branch_name": "dev"},
        ),
        (
            "commit with message 'a ${b}' in repo /x using git",
            "git-git_commit",
            {"repo_path": "/x", "message": "a ${b}"},
        ),
        (
            "use git to show the diff of /x against main",
            "git-git_diff",
            {"repo_path": "/x", "target": "main"},
        ),
    ],
)
def test_the_tool_and_its_arguments(
    planner: Planner, task: str, tool: str, values: dict[str, Any]
) -> None:
    plan = planner.plan(task)
    (node,) = plan.workflow["nodes"]
    assert node["type"] == f"mcp-{tool}"
    assert node["params"] == {name: f"${{{name}}}" for name in values}
    assert plan.params == values


def test_an_argument_that_is_not_said_is_asked_for_and_not_invented(planner: Planner) -> None:
    for task in ("ask the time server for the time", "what time is it?", "what's the time"):
        plan = planner.plan(task)
        assert plan.workflow["nodes"][0]["type"] == "mcp-time-get_current_time"
        assert plan.params == {}
        (spec,) = plan.workflow["inputs"].values()
        assert "default" not in spec
        assert spec["type"] == "string"
        assert "IANA" in spec["description"]


def test_a_secret_argument_is_given_and_not_kept() -> None:
    schema = {"type": "object", "properties": {"city": STRING, "api_key": STRING}}
    weather = Interface("mcp-w-get_weather", "Get the weather.", schema, server="w")
    task = "get the weather with city=Rome and api_key=abc"
    request = GenerationRequest(task=task, components=(weather,))
    plan = asyncio.run(BuiltInGenerator().generate(request))
    assert isinstance(plan, Plan)
    assert plan.params == {"city": "Rome", "api_key": "abc"}
    assert plan.workflow["inputs"] == {
        **{"city": {"type": "string", "default": "Rome"}, "api_key": {"type": "string"}},
    }


def test_it_runs_and_leads_on(planner: Planner) -> None:
    task = "ask the time server for the time in Tokyo and show the timezone, save as t.json"
    assert planner.outputs(task) == {"timezone": "Asia/Tokyo"}
    assert json.loads((planner.path / "t.json").read_text()) == {"timezone": "Asia/Tokyo"}
    status = planner.outputs(f"use git to show the status of repo {planner.path / 'repo'}")
    assert "new.txt" in status["result"]


@pytest.mark.parametrize(
    ("task", "part"),
    [
        ("ask the time server to dance", "'dance'"),
        ("what is the time in Munich", "'Munich'"),
        ("ask the time server for the time in Tokyo and in London", "'London'"),
        ("ask the time server for the time in Tokyo if it is late", "'if it is late'"),
        ("use git to tidy up /x", "'tidy up'"),
        ("use git to show the changes of /x", "could mean several tools"),
        ("use git to list the commits", "mcp-git-"),
    ],
)
def test_what_no_tool_explains_is_named_with_the_nearest_tools(
    planner: Planner, task: str, part: str
) -> None:
    reason = planner.refusal(task)
    assert part in reason
    assert "if" in part or "mcp-" in reason


def test_a_word_that_is_also_a_server_s_name_does_not_take_a_url_or_a_file_away(
    planner: Planner,
) -> None:
    for task in ("get the time from http://h/time", "get the time from a.json"):
        assert planner.nodes(task)[0]["type"] in ("http", "read-file")


@pytest.mark.parametrize(
    ("said", "schemas", "values"),
    [
        (
            "weather in New York for 5 days",
            {"city": STRING, "days": {"type": "integer"}},
            {"city": "New York", "days": 5},
        ),
        (
            "flights from Rome to Oslo",
            {"origin": STRING, "destination": STRING},
            {"origin": "Rome", "destination": "Oslo"},
        ),
        (
            "search about 'cold war' limit=3",
            {"query": STRING, "limit": {"type": "integer"}},
            {"query": "cold war", "limit": 3},
        ),
        (
            "sum of 3 and 4.5",
            {"a": {"type": "number"}, "b": {"type": "number"}},
            {"a": 3, "b": 4.5},
        ),
        ("show size in Kelvin", {"unit": {"enum": ["celsius", "kelvin"]}}, {"unit": "kelvin"}),
        ("include the image", {"includeImage": {"type": "boolean"}}, {"includeImage": True}),
        ("on 2024-02-30 or 2024-02-29", {"date": STRING}, {"date": "2024-02-29"}),
        ("add a.txt and /b", {"files": {"type": "array"}}, {"files": ["a.txt", "/b"]}),
        (
            "move a.txt to b.txt",
            {"source": STRING, "destination": STRING},
            {"source": "a.txt", "destination": "b.txt"},
        ),
        ("n=x m=1.5", {"n": {"type": "integer"}, "m": {"type": "integer"}}, {}),
        ("in Tokyo", {"source_timezone": STRING, "target_timezone": STRING}, {}),
        (
            "path=a name='b'",
            {"file_path": STRING, "branch_name": STRING},
            {"file_path": "a", "branch_name": "b"},
        ),
        ("name=b", {"user_name": STRING, "repo_name": STRING}, {}),
        ("use user ada", {"user": {"type": ["string", "null"]}}, {"user": "ada"}),
        (
            "5 kittens",
            {"depth": {"type": "integer"}, "count": {"anyOf": [{"type": "integer"}]}},
            {"count": 5},
        ),
        ("to show it", {"target": STRING}, {}),
    ],
)
def test_words_find_the_arguments_that_they_are_for(
    said: str, schemas: dict[str, Any], values: dict[str, Any]
) -> None:
    arguments = [Argument(name=name, schema=schema) for name, schema in schemas.items()]
    assert fill(arguments, Wording(read_task(said).tokens)) == values


def test_texts_with_a_meaning() -> None:
    assert [zone_of(text) for text in ("tokyo", "New York", "utc", "Asia/Kolkata", "Munich")] == [
        *("Asia/Tokyo", "America/New_York", "UTC", "Asia/Kolkata", None),
    ]
    assert [time_of(text) for text in ("16:30", "4pm", "12 am", "9:05PM", "noon", "25:00")] == [
        *("16:30", "16:00", "00:00", "21:05", "12:00", None),
    ]
    tomorrow = date_of("tomorrow")
    assert tomorrow is not None
    nearby = {(datetime.now(UTC) + timedelta(days=d)).date().isoformat() for d in range(3)}
    assert tomorrow in nearby
