"""Tasks that name a URL."""

from __future__ import annotations

import asyncio
import json
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from runtrue.memory import Memory, scope_of
from tests.planner.api import TORVALDS, Api, Reply
from tests.planner.built_in.support import Planner

FETCH = {"id": "fetch", "type": "http"}


def test_the_seed_s_own_example(planner: Planner) -> None:
    task = "fetch http://h/users/torvalds and extract username and biography, save as out.json"
    plan = planner.plan(task)
    assert plan.workflow == {
        "inputs": {"user": {"type": "string", "default": "torvalds"}},
        "nodes": [
            {
                **FETCH,
                "params": {
                    "url": "http://h/users/${user}",
                    "extract": {"username": "$.username", "biography": "$.biography"},
                },
            },
            {
                "id": "save",
                "type": "write-file",
                "params": {"file_path": "out.json", "content": "${fetch.extracted}"},
            },
        ],
        "outputs": {
            "username": {"source": "${fetch.extracted.username}"},
            "biography": {"source": "${fetch.extracted.biography}"},
        },
    }
    assert plan.params == {"user": "torvalds"}


@pytest.mark.parametrize(
    ("task", "extract"),
    [
        ("get the login and bio of http://h/a", {"login": "$.login", "bio": "$.bio"}),
        ("fetch http://h/a and show only its login", {"login": "$.login"}),
        ("what's the display name of http://h/a?", {"display_name": "$.display_name"}),
        ("login, id & bio from http://h/a", {"login": "$.login", "id": "$.id", "bio": "$.bio"}),
        ("get the login as user name from http://h/a", {"user_name": "$.login"}),
        ("fetch http://h/a and take bio (as text)", {"text": "$.bio"}),
        ('extract "full name" from http://h/a', {"full_name": "$.full_name"}),
        ("extract displayName from http://h/a", {"displayName": "$.displayName"}),
        ("extract avatar_url from http://h/a", {"avatar_url": "$.avatar_url"}),
        ("extract a.login and $.a[0].b from http://h/a", {"login": "$.a.login", "b": "$.a[0].b"}),
        ("get the company's name from http://h/a", {"company_name": "$.company.name"}),
        ("get the name of the company from http://h/a", {"company_name": "$.company.name"}),
        ("get the user's name from http://h/users/5", {"name": "$.name"}),
        ("get the title of the first item of http://h/a", None),
        ("get the title of the first item of http://h/posts", None),
        ("get the second post's title from http://h/posts", None),
        ("fetch http://h/posts and show the last entry", None),
        ("fetch http://h/a and return the id field", {"id": "$.id"}),
        ("fetch the weather from http://h/x and extract wind", {"wind": "$.wind"}),
        ("fetch GitHub user ada from http://h/users/ada and take login", {"login": "$.login"}),
        ("fetch the user from http://h/users/5", None),
        ("show the data at http://h/a", None),
        ("list the posts at http://h/posts", None),
    ],
)
def test_what_is_wanted_is_guessed_as_an_api_would_call_it(
    planner: Planner, task: str, extract: dict[str, str] | None
) -> None:
    plan = planner.plan(task)
    assert plan.workflow["nodes"][0]["params"].get("extract") == extract
    assert list(plan.workflow["outputs"]) == list(extract or {"response": ""})


@pytest.mark.parametrize(
    ("url", "template", "inputs", "query"),
    [
        ("http://h/users/ada/repos", "http://h/users/${user}/repos", {"user": "ada"}, None),
        ("http://h/api/v2/posts/7", "http://h/api/v2/posts/${post}", {"post": "7"}, None),
        ("http://h/2024/x", "http://h/${id}/x", {"id": "2024"}, None),
        ("http://h/users/me", "http://h/users/me", {}, None),
        ("http://h/a?q=b%20c", "http://h/a", {"q": "b c"}, {"q": "${q}"}),
        ("http://h/a?x=1&x=2", "http://h/a", {"x": "1", "x_2": "2"}, {"x": ["${x}", "${x_2}"]}),
        ("http://h/status/404", "http://h/status/${status}", {"status": "404"}, None),
        ("http://h/env/2", "http://h/env/${env_2}", {"env_2": "2"}, None),
        ("http://h/a$b/${c}", "http://h/a$b/$${c}", {}, None),
    ],
)
def test_ids_and_query_values_become_inputs(
    planner: Planner, url: str, template: str, inputs: dict[str, str], query: dict[str, Any] | None
) -> None:
    plan = planner.plan(f"fetch {url}")
    params = plan.workflow["nodes"][0]["params"]
    assert (params["url"], params.get("params")) == (template, query)
    declared = plan.workflow.get("inputs", {})
    assert {name: spec["default"] for name, spec in declared.items()} == inputs == plan.params


def test_a_secret_in_a_url_is_given_and_not_kept(planner: Planner) -> None:
    plan = planner.plan("fetch http://h/a?api_key=abc")
    assert plan.workflow["inputs"] == {"api_key": {"type": "string"}}
    assert plan.params == {"api_key": "abc"}
    plan = planner.plan("fetch http://h/a with header X-Api-Key=abc")
    assert plan.workflow["inputs"] == {"X_Api_Key": {"type": "string"}}


@pytest.mark.parametrize(
    ("task", "params", "redacted"),
    [
        (
            "fetch http://h/a with header X-Api-Key: s3cret1 and extract x",
            {"headers"},
            "{X_Api_Key}",
        ),
        ('fetch http://h/a with header "X-Api-Key: s3cret1"', {"headers"}, "{X_Api_Key}"),
        (
            "fetch http://h/a with header Authorization: Bearer s3cret1",
            {"headers"},
            "{Authorization}",
        ),
        ("fetch http://h/a?apikey=s3cret1&page=2", {"params"}, "apikey={apikey}"),
        ("fetch http://h/{token} with token=s3cret1", {"url"}, "token={token}"),
        ("fetch http://ann:s3cret1@h/a", {"auth"}, "Fetch http://h/a"),
        (
            "fetch http://h/a with user=ann and password='s3cret1'",
            {"auth"},
            "password={password}",
        ),
        ("post name=ann and password=s3cret1 to http://h/a", {"json"}, "password={password}"),
        ('post {"a": [{"password": "s3cret1"}]} to http://h/a', {"json"}, '"{password}"'),
    ],
)
def test_a_secret_is_given_and_kept_nowhere(
    planner: Planner, task: str, params: set[str], redacted: str
) -> None:
    plan = planner.plan(task)
    assert "s3cret1" not in json.dumps(plan.workflow)
    assert any("s3cret1" in str(value) for value in plan.params.values())
    assert params <= plan.workflow["nodes"][0]["params"].keys()
    described = asyncio.run(planner.generator.describe(task, plan.workflow)).description
    assert "s3cret1" not in described
    assert redacted in described


def test_who_asks_is_told_to_the_server_and_not_in_the_url(planner: Planner, api: Api) -> None:
    url = api.on("GET /a", {"x": 1})
    basic = f"Basic {b64encode(b'ann:p w').decode()}"
    for task in (
        f"fetch {url} with username=ann and password='p w'",
        f"fetch {url.replace('://', '://ann:p%20w@')}",
    ):
        planner.outputs(task)
        assert api.asked[-1].headers["authorization"] == basic
    planner.outputs(f"fetch {url} with login=ann and pwd=1234")
    assert api.asked[-1].headers["authorization"] == f"Basic {b64encode(b'ann:1234').decode()}"
    params = planner.params("fetch http://$WHO:$PW@h/a?key=$KEY")
    assert params["auth"] == {
        **{"type": "basic", "username": "${env.WHO}", "password": "${env.PW}"},
    }
    assert params["params"] == {"key": "${env.KEY}"}


def test_a_word_of_the_url_is_a_field_where_it_is_to_be_taken_out(
    planner: Planner, api: Api
) -> None:
    for name in ("name", "price", "status"):
        url = api.on(f"GET /s/200/{name}", {name: "it", "other": 1})
        for task in ("fetch <> and extract <n>", "tell me the <n> at <>", "take its <n> from <>"):
            said = task.replace("<>", url).replace("<n>", name)
            assert planner.outputs(said) == {name: "it"}, said
    posts = api.on("GET /posts", [{"n": 1}])
    user = api.on("GET /users/5", {"name": "ann"})
    for task in (f"fetch {posts} and extract the posts", f"fetch {posts} and return posts"):
        assert planner.outputs(task) == {"response": [{"n": 1}]}
    assert planner.outputs(f"get {user} and give me the user") == {"response": {"name": "ann"}}


def test_a_placeholder_that_the_task_says_nothing_for_is_asked_for(planner: Planner) -> None:
    plan = planner.plan("fetch http://h/users/{user}/repos")
    assert plan.params == {}
    (spec,) = plan.workflow["inputs"].values()
    assert "default" not in spec
    assert "{user}" in spec["description"]
    assert planner.plan("fetch http://h/users/{user} with user=ada").params == {"user": "ada"}


def test_a_placeholder_may_be_written_as_routes_are(planner: Planner) -> None:
    plan = planner.plan("fetch http://h:80/users/:id/posts/:post.json with id=5")
    (node,) = plan.workflow["nodes"]
    assert node["params"] == {"url": "http://h:80/users/${id}/posts/${post}.json"}
    assert plan.params == {"id": 5}


@pytest.mark.parametrize(
    ("task", "params"),
    [
        ('post {"a": "${b}"} to http://h/x', {"method": "POST", "json": {"a": "$${b}"}}),
        ("POST a=1 and b: x to http://h/x", {"method": "POST", "json": {"a": "${a}", "b": "${b}"}}),
        ("create a thing with a=true at http://h/thing", {"method": "POST", "json": {"a": "${a}"}}),
        ("send a PUT request to http://h/x with [1]", {"method": "PUT", "json": [1]}),
        ("PATCH http://h/x with a=null", {"method": "PATCH", "json": {"a": None}}),
        ("delete http://h/x", {"method": "DELETE"}),
        ("make a POST request to http://h/x with a=1", {"method": "POST", "json": {"a": "${a}"}}),
        ("use PUT on http://h/x with a=1", {"method": "PUT", "json": {"a": "${a}"}}),
        ("fetch http://h/x with headers 'X: b c' and 'Y: d'", {"headers": {"X": "b c", "Y": "d"}}),
        ("post 'hi there' to http://h/x", {"method": "POST", "body": "hi there"}),
        ("fetch http://h/x with token from $TOKEN", {"auth_token": "${env.TOKEN}"}),
        ("fetch http://h/x using the api key in env MY_KEY", {"api_key": "${env.MY_KEY}"}),
        ("fetch http://h/x with header X-A: b and C=d", {"headers": {"X-A": "b", "C": "d"}}),
        ("fetch http://h/x with page=2", {"params": {"page": "${page}"}}),
        (
            "fetch http://h/x with Authorization: Bearer abc and page=2",
            {"headers": {"Authorization": "${Authorization}"}, "params": {"page": "${page}"}},
        ),
        ("fetch http://h/x with header X-Api-Key=abc", {"headers": {"X-Api-Key": "${X_Api_Key}"}}),
        (
            "put [1] to http://h/x with query b=2",
            {"method": "PUT", "json": [1], "params": {"b": "${b}"}},
        ),
    ],
)
def test_what_is_sent_and_how(planner: Planner, task: str, params: dict[str, Any]) -> None:
    sent = planner.params(task)
    del sent["url"]
    assert sent == params


def test_values_run_as_they_were_said_or_as_others_are_given(planner: Planner, api: Api) -> None:
    for user in ("ada", "bob"):
        api.on(f"GET /users/{user}", {"login": user, "tags": ["x", "y"]})
    task = f"fetch {api.url('/users/ada')} and get the login and the number of tags, save as a.json"
    assert planner.outputs(task) == {"login": "ada", "tags": 2}
    assert json.loads((planner.path / "a.json").read_text()) == {"login": "ada", "tags": 2}
    assert planner.outputs(task, user="bob")["login"] == "bob"


def test_a_value_that_was_taken_leads_on(planner: Planner, api: Api) -> None:
    first = api.on("GET /users/ada", {"id": 7, "name": "Ada"})
    api.on("GET /7/posts", [{"title": "One"}, {"title": "Two"}])
    api.on("POST /names", {"ok": True})
    chain = f"fetch {first}, take its id, then fetch {api.url('/{id}/posts')}"
    assert planner.outputs(chain) == {"response": [{"title": "One"}, {"title": "Two"}]}
    assert planner.outputs(f"{chain} and list the titles of all posts") == {
        "titles": ["One", "Two"]
    }
    task = f"fetch {first}, take its id and name, then post the name to {api.url('/names')}"
    assert planner.outputs(task) == {"id": 7, "response": {"ok": True}}
    assert api.asked[-1].body == {"name": "Ada"}


@pytest.mark.parametrize(
    ("task", "outputs"),
    [
        ("how many posts are at {}/posts", {"count": 3}),
        ("fetch {}/posts and count them", {"count": 3}),
        ("get {}/posts and tell me the number of posts", {"count": 3}),
        ("get every post from {}/posts", {"response": [{"n": 3}, {"n": 1}, {"n": 2}]}),
        ("how many followers does {}/user have?", {"followers": 230000}),
        ("get {}/user and tell me how many tags it has", {"tags": 2}),
        ("show the first 2 items of {}/posts", {"result": [{"n": 3}, {"n": 1}]}),
        ("fetch {}/posts and sort by n", {"result": [{"n": 1}, {"n": 2}, {"n": 3}]}),
        ("fetch {}/posts and keep the rows where n > 1", {"result": [{"n": 3}, {"n": 2}]}),
        ("extract every n from {}/posts", {"ns": [3, 1, 2]}),
        ("fetch {}/user and tell me the status code", {"status_code": 200}),
        (
            "fetch {0}/user and {0}/tiny",
            {"response": {**TORVALDS, "tags": [1, 2]}, "response_2": 1},
        ),
    ],
)
def test_what_comes_back_is_counted_sorted_and_picked_from(
    planner: Planner, api: Api, task: str, outputs: dict[str, Any]
) -> None:
    api.on("GET /posts", [{"n": 3}, {"n": 1}, {"n": 2}])
    api.on("GET /user", {**TORVALDS, "tags": [1, 2]})
    api.on("GET /tiny", 1)
    assert planner.outputs(task.format(api.address)) == outputs


def test_downloads_become_files_byte_by_byte(planner: Planner, api: Api) -> None:
    picture = bytes(range(256))
    url = api.on("GET /logo.png", Reply(picture, content_type="image/png"))
    page = api.on("GET /a", Reply("<p>é</p>".encode(), content_type="text/html; charset=utf-8"))
    named = planner.outputs(f"download {url} to 'my logo.png'")
    assert named == {"file": str(planner.path / "my logo.png")}
    assert planner.plan(f"download {url}").notes
    planner.outputs(f"download {url}")
    assert {(planner.path / name).read_bytes() for name in ("my logo.png", "logo.png")} == {picture}
    planner.outputs(f"save {page} as a.html")
    assert (planner.path / "a.html").read_text() == "<p>é</p>"


@pytest.mark.parametrize("name", ["x.dat", "x.bin", "x.csv", "x.txt", "x.json", "x"])
def test_what_came_decides_what_is_written_and_not_the_name(
    planner: Planner, api: Api, name: str
) -> None:
    # The base64 of the last three bytes is a number, too.
    for binary in (bytes(range(256)), b"\xd7m\xf8"):
        url = api.on("GET /bin", Reply(binary, content_type="application/octet-stream"))
        planner.outputs(f"download {url} to ./{name}")
        assert (planner.path / name).read_bytes() == binary
    text = 'a,b\r\n1,"é\n"\r\n'.encode()
    url = api.on("GET /csv", Reply(text, content_type="text/csv; charset=utf-8"))
    planner.outputs(f"fetch {url} and save it to ./{name}")
    assert (planner.path / name).read_bytes() == text


def test_several_results_are_written_together_or_one_by_name(planner: Planner, api: Api) -> None:
    user = api.on("GET /user", {"login": "ada", "id": 7})
    planner.outputs(
        f"fetch {user}, extract login and id, save the login to l.txt, save both as b.csv"
    )
    assert (planner.path / "l.txt").read_text() == "ada"
    assert (planner.path / "b.csv").read_text() == "login,id\nada,7\n"
    both = planner.outputs(f"fetch {user} and extract login, save the id as i.json")
    assert both == {"login": "ada", "id": 7}
    assert json.loads((planner.path / "i.json").read_text()) == {"id": 7}
    other = api.on("GET /other", [1])
    planner.outputs(f"fetch {user} saved as u.json")
    assert json.loads((planner.path / "u.json").read_text()) == {"login": "ada", "id": 7}
    planner.outputs(f"fetch {user}; fetch {other}; save all as all.json")
    written = json.loads((planner.path / "all.json").read_text())
    assert list(written.values()) == [{"login": "ada", "id": 7}, [1]]


def test_text_and_files_are_posted_as_what_they_are(planner: Planner, api: Api) -> None:
    url = api.on("POST /x", {})
    (planner.path / "a.json").write_text('{"a": 1}')
    (planner.path / "a.txt").write_text("hello")
    sent = []
    data_url = api.on("GET /data", {"a": 1})
    for task in (
        f"fetch {data_url} and post it to {url}",
        *(f"post a.json to {url}", f"read a.json and post it to {url}", f"post a.txt to {url}"),
        f"run `echo no` and post the output of `printf hi` to {url} with header Content-Type=a/b",
    ):
        planner.outputs(task)
        sent.append((api.asked[-1].headers["content-type"].partition(";")[0], api.asked[-1].body))
    data, text = ("application/json", {"a": 1}), ("text/plain", b"hello")
    assert sent == [data, data, data, text, ("a/b", b"hi")]


def test_what_a_run_has_proven_comes_before_the_first_guess(tmp_path: Path) -> None:
    memory = Memory(tmp_path)
    memory.remember(scope_of("GET", "http://h/users/ada"), "username", "$.login", fixer="fields")
    plan = Planner(tmp_path, memory).plan("get the username and bio of http://h/users/bob?x=1")
    extract = plan.workflow["nodes"][0]["params"]["extract"]
    assert extract == {"username": "$.login", "bio": "$.bio"}
    assert len(plan.notes) == 1
    assert "$.login" in plan.notes[0]


@pytest.mark.parametrize(
    ("words", "params"),
    [
        ("with the header Authorization: Bearer $T", {"auth_token": "${env.T}"}),
        ("using $T as the query parameter api_key", {"params": {"api_key": "${env.T}"}}),
        ("with $T as the X-Shop-Key header", {"headers": {"X-Shop-Key": "${env.T}"}}),
    ],
)
def test_a_variable_goes_where_the_task_says(
    planner: Planner, words: str, params: dict[str, Any]
) -> None:
    found = planner.params(f"fetch http://h/a {words} and give me the plan")
    assert {name: found.get(name) for name in params} == params
    assert "Variable(" not in str(found)


def test_a_variable_within_another_header_is_refused_and_not_sent_as_text(
    planner: Planner,
) -> None:
    refusal = planner.refusal("fetch http://h/a with the header Authorization: Digest $T")
    assert "a variable must be the whole header" in refusal


def test_what_authenticates_can_be_said_beforehand(planner: Planner) -> None:
    for words, name in [
        ("authenticate with $T", "auth_token"),
        ("use my api key in $T", "api_key"),
    ]:
        found = planner.params(f"{words} and read the owner email at http://h/v3/account")
        assert found[name] == "${env.T}"
