"""Several calls: values out of earlier answers, calls for each entry, logins and pages."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from runtrue.planner.seams import Plan
from tests.planner.api import Api, Asked, Reply
from tests.planner.built_in.support import Planner


@pytest.fixture
def people(api: Api) -> str:
    api.on("GET /posts", [{"id": 1, "userId": 7}, {"id": 2, "userId": 8}])
    api.on("GET /posts/1", {"id": 1, "userId": 7, "title": "A"})
    api.on("GET /people/7", {"id": 7, "name": "Ann", "email": "ann@x.test"})
    return api.on("GET /people/8", {"id": 8, "name": "Bob", "email": "bob@x.test"})[
        : -len("/people/8")
    ]


@pytest.mark.parametrize(
    ("task", "values"),
    [
        ("get {}/posts/1, then get the author's name from {}/people/{{userId}}", ["Ann"]),
        ("fetch {}/posts/1 and then fetch {}/people/{{userId}} and show the email", ["ann@x.test"]),
        (
            "get the title from {}/posts/1 and the name of its author from {}/people/{{userId}}",
            ["A", "Ann"],
        ),
        (
            "for each post in {}/posts get the name from {}/people/{{userId}}",
            [["Ann", "Bob"]],
        ),
    ],
)
def test_a_url_takes_its_value_from_the_answer_before(
    planner: Planner, people: str, task: str, values: list[Any]
) -> None:
    assert list(planner.outputs(task.format(people, people)).values()) == values


def test_a_list_without_for_each_is_refused(planner: Planner, people: str) -> None:
    task = f"get {people}/posts and then fetch {people}/people/{{userId}}"
    assert "for each" in planner.refusal(task)


def test_a_token_is_carried_to_the_host_of_its_login(planner: Planner, api: Api) -> None:
    def me(asked: Asked) -> Reply:
        known = asked.headers.get("authorization") == "Bearer t-1"
        return Reply({"email": "e@x.test"}) if known else Reply({}, status=401)

    login = api.on("POST /login", {"user": "e", "accessToken": "t-1"})
    url = api.on("GET /me", me)
    task = f"log in at {login} with username=e password=p and get the email from {url}"
    assert planner.outputs(task) == {"email": "e@x.test"}


def test_every_page_is_asked_for_once_by_the_command_line(api: Api, tmp_path: Path) -> None:
    for page, following in ((3, None), (2, "/users/page3"), (1, "/users/page2")):
        rows = [{"name": f"n{page}{n}"} for n in range(2)]
        path = "/users" if page == 1 else f"/users/page{page}"
        url = api.on(f"GET {path}", {"next": following, "results": rows})
    environment = {**os.environ, "RUNTRUE_HOME": str(tmp_path / "home")}
    command = [sys.executable, "-m", "runtrue", "do", f"list the names of the users at {url}"]
    for options in (["--dry-run"], []):
        before = len(api.asked)
        done = subprocess.run(
            [*command, "--json", *options],
            cwd=tmp_path,
            env=environment | {"RUNTRUE_ALLOW_LOOPBACK": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert len(api.asked) - before == (0 if options else 3)
    report = json.loads(done.stdout)
    assert report["result"] == {"names": ["n10", "n11", "n20", "n21", "n30", "n31"]}
    assert "follow its pages" in report["understood"]


@pytest.mark.parametrize(
    ("words", "read"), [("the names", 10), ("all names", 12), ("the name of every user", 12)]
)
def test_more_pages_than_asked_for_are_a_failure_and_no_part_of_the_list(
    planner: Planner, api: Api, words: str, read: int
) -> None:
    for page in range(12, 0, -1):
        following = None if page == 12 else f"/users/{page + 1}"
        path = "/users" if page == 1 else f"/users/{page}"
        url = api.on(f"GET {path}", {"next": following, "results": [{"name": f"n{page}"}]})
    answer = planner.answer(f"list {words} at {url}")
    assert isinstance(answer, Plan)
    result = planner.run(f"list {words} at {url}")
    assert result.passed is (read == 12)
    if read < 12:
        assert "more than 10 pages" in str(result.error)
        assert any("say 'all pages'" in note for note in answer.notes)
    else:
        assert [*result.outputs.values()] == [[f"n{page}" for page in range(1, 13)]]
