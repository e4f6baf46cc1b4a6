"""`runtrue api`: documents in the shapes of well-known APIs, end to end, on loopback servers."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest

from tests.cli.conftest import Machine, write
from tests.cli.test_bad_input import one_sentence
from tests.workflow.apis.kubernetes_shape import kubernetes_shaped
from tests.workflow.apis.shapes import github_shaped, stripe_shaped
from tests.workflow.nodes.scripted_server import Received, ScriptedServer, response

ISSUES = [{"number": 7, "title": "it is slow", "user": {"login": "ada"}}]
CUSTOMER = {"id": "cus_1", "email": "ada@example.org", "name": "Ada", "balance": 0}


def _answer(request: Received) -> bytes:
    method, path, _ = request.line.split(" ")
    resource = path.partition("?")[0]
    known = {
        ("GET", "/repos/ada/engine"): {"full_name": "ada/engine", "stargazers_count": 42},
        ("GET", "/repos/ada/engine/issues"): ISSUES,
        ("POST", "/repos/ada/engine/issues"): {"number": 8, "title": "new"},
        ("POST", "/v1/customers"): CUSTOMER,
        ("GET", "/v1/customers/cus_1"): CUSTOMER,
        ("GET", "/apis/group0/v1/namespaces/default/pods"): {"items": []},
        ("GET", "/openapi.json"): github_shaped("/"),
    }
    found = known.get((method, resource))
    if found is None:
        return response('{"message": "Not Found"}', "Content-Type: application/json", status="404")
    return response(json.dumps(found), "Content-Type: application/json")


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(_answer) as server:
        yield server


def _write(machine: Machine, document: object, name: str = "api.json") -> Path:
    path = machine.home / name
    path.write_text(json.dumps(document))
    return path


def test_a_github_shaped_api_is_added_checked_run_and_removed(
    machine: Machine, server: ScriptedServer
) -> None:
    assert "add one with `runtrue api add NAME FILE|URL`" in machine.runtrue("api", "list").out
    file = _write(machine, github_shaped(server.url))
    added = machine.runtrue(
        "api", "add", "github", file, "--auth", "bearer", "--secret", "GITHUB_TOKEN"
    )
    assert (added.code, added.out.splitlines()[0]) == (
        0,
        "github has 3 operations: `runtrue api show github` shows them",
    )
    assert f"3 operations at {server.url}" in machine.runtrue("api", "list").out
    assert "api-github-issues-create" in machine.runtrue("node", "list").out
    shown = machine.runtrue("node", "show", "api-github-issues-list-for-repo").out
    assert "state (one of open, closed, all)" in shown
    assert "array of {number, title, user: {login}}" in shown

    flow = """
        inputs: {title: {type: string}}
        nodes:
          - id: repo
            type: api-github-repos-get
            params: {owner: ada, repo: engine}
          - id: create
            type: api-github-issues-create
            params: {owner: ada, repo: engine, title: "${title} ${repo.stargazers_count}"}
        outputs: {number: {source: "${create.number}"}}
    """
    write(machine.home, {"flow.yaml": flow})
    assert machine.runtrue("check", "flow.yaml").code == 0
    secret = {"GITHUB_TOKEN": "ghp_0123456789abcdef"}
    ran = machine.runtrue("run", "flow.yaml", "title=slow", "--json", env=secret)
    assert ran.json["result"] == {"number": 8}
    read, created = server.received
    assert read.headers["authorization"] == "Bearer ghp_0123456789abcdef"
    assert (created.line.split(" ")[0], json.loads(created.body)) == ("POST", {"title": "slow 42"})
    assert "ghp_0123456789abcdef" not in machine.journal.read_bytes().decode("latin-1")

    assert machine.runtrue("api", "remove", "github").code == 0
    gone = machine.runtrue("check", "flow.yaml")
    assert gone.code == 1
    assert "the APIs are: none; add one with `runtrue api add`" in gone.out


def test_arguments_are_checked_before_anything_is_sent(
    machine: Machine, server: ScriptedServer
) -> None:
    machine.runtrue("api", "add", "github", _write(machine, github_shaped(server.url)))
    flow = """
        nodes:
          - {id: a, type: api-github-issues-list-for-repo,
             params: {owner: ada, repo: "..", state: opened, per_page: 500, sate: open}}
          - {id: b, type: api-github-issues-create, params: {owner: ada, repo: x, id: 3}}
          - {id: c, type: api-github-repos-get, params: {owner: ada, repo: "${b.titel}"}}
          - {id: d, type: api-github-repo-get}
    """
    write(machine.home, {"flow.yaml": flow})
    checked = machine.runtrue("check", "flow.yaml")
    assert checked.code == 1
    for problem in (
        "'..' would lead to another resource",
        "'opened' is not one of: open, closed, all",
        "500 is greater than the maximum of 100",
        "has no param 'sate'; did you mean 'state'?",
        "the param 'title' of 'api-github-issues-create' is missing",
        "has no param 'id'",
        "node 'b' has no output 'titel'; did you mean 'title'?",
        "there is no node type 'api-github-repo-get'; did you mean 'api-github-repos-get'?",
    ):
        assert problem in checked.out
    assert server.received == []


def test_the_planner_finds_an_operation_by_words_and_takes_declared_fields(
    machine: Machine, server: ScriptedServer
) -> None:
    machine.runtrue("api", "add", "github", _write(machine, github_shaped(server.url)))
    task = "use the github api to get the stargazers count of the repository owner=ada repo=engine"
    dry = machine.runtrue("do", task, "--dry-run", "--json")
    assert dry.code == 0, dry.said
    assert server.received == [], "a dry run calls nothing"
    assert [node["type"] for node in dry.json["workflow"]["nodes"]] == ["api-github-repos-get"]
    done = machine.runtrue("do", task, "--json")
    assert done.json["result"] == {"stargazers_count": 42}
    assert [one.path for one in server.received] == ["/repos/ada/engine"]


def test_a_planned_change_that_the_task_does_not_name_is_asked_about(
    machine: Machine, server: ScriptedServer
) -> None:
    machine.runtrue("api", "add", "github", _write(machine, github_shaped(server.url)))
    named = "use the github api to create an issue owner=ada repo=engine title=slow"
    done = machine.runtrue("do", named, "--json")
    assert done.code == 0, done.said
    effects = [(one["method"], one["agreed"]) for one in done.json["effects"]]
    assert effects == [("POST", "task")]
    assert [one.line.split(" ")[0] for one in server.received] == ["POST"]


def test_a_stripe_shaped_api_takes_forms_with_a_key_as_basic_login_or_bearer(
    machine: Machine, server: ScriptedServer
) -> None:
    file = _write(machine, stripe_shaped(server.url))
    several = machine.runtrue("api", "add", "stripe", file, "--secret", "KEY")
    assert several.code == 2
    assert "--secret basicAuth=KEY, --secret bearerAuth=KEY" in one_sentence(several)
    machine.runtrue("api", "add", "stripe", file, "--secret", "basicAuth=STRIPE_KEY")
    arguments = (
        "email=ada@example.org",
        'address={"city": "London"}',
        'metadata={"order": "17"}',
        'expand=["sources", "tax"]',
    )
    create = ("node", "run", "api-stripe-PostCustomers", *arguments, "--json")
    without = machine.runtrue(*create)
    assert without.code == 1
    assert "STRIPE_KEY is not set" in without.said
    assert server.received == []
    done = machine.runtrue(*create, env={"STRIPE_KEY": "sk_test_0123456789"})
    assert done.json["result"]["id"] == "cus_1"
    sent = server.received[-1]
    login = base64.b64encode(b"sk_test_0123456789:").decode()
    assert sent.headers["authorization"] == f"Basic {login}"
    assert sent.headers["content-type"] == "application/x-www-form-urlencoded"
    assert parse_qs(sent.body.decode()) == {
        "email": ["ada@example.org"],
        "address[city]": ["London"],
        "metadata[order]": ["17"],
        "expand[0]": ["sources"],
        "expand[1]": ["tax"],
    }
    machine.runtrue(
        *("api", "add", "stripe", file, "--auth", "bearer", "--secret", "KEY2", "--force")
    )
    again = machine.runtrue(
        *("do", "use the stripe api to get the email of the customer cus_1", "--json"),
        env={"KEY2": "sk_live_9876543210"},
    )
    assert again.code == 0, again.said
    assert again.json["result"] == {"email": "ada@example.org"}
    assert server.received[-1].headers["authorization"] == "Bearer sk_live_9876543210"


def test_an_api_of_the_size_of_kubernetes_is_added_shown_and_planned_with(
    machine: Machine, server: ScriptedServer
) -> None:
    document = kubernetes_shaped(server.url)
    file = _write(machine, document)
    added = _done(machine, "api", "add", "k8s", file, "--secret", "K8S")
    assert added["operation_count"] >= 2_000
    _done(machine, "node", "show", "api-k8s-listV1NamespacedPod")
    task = "use the k8s api to list the pods in the namespace default"
    machine.env["K8S"] = "Bearer 0123456789"
    assert _done(machine, "do", task)["result"] == {"result": {"items": []}}
    assert server.received[-1].path == "/apis/group0/v1/namespaces/default/pods"
    assert server.received[-1].headers["authorization"] == "Bearer 0123456789"


def _done(machine: Machine, *args: str | Path) -> Any:
    done = machine.runtrue(*args, "--json")
    assert done.code == 0, done.said
    return done.json


def test_a_document_is_fetched_from_a_url_and_its_server_is_near_it(
    machine: Machine, server: ScriptedServer
) -> None:
    added = machine.runtrue("api", "add", "github", f"{server.url}/openapi.json", "--json")
    assert added.json["server"] == f"{server.url}/"
    done = machine.runtrue(
        "node", "run", "api-github-repos-get", "owner=ada", "repo=engine", "--json"
    )
    assert done.json["result"]["full_name"] == "ada/engine"


def test_an_address_inside_the_network_is_refused_for_the_document_and_for_calls(
    machine: Machine, server: ScriptedServer
) -> None:
    closed = {"RUNTRUE_ALLOW_LOOPBACK": "0"}
    fetched = machine.runtrue("api", "add", "x", f"{server.url}/openapi.json", env=closed)
    assert fetched.code == 1
    assert "was not sent" in one_sentence(fetched)
    machine.runtrue("api", "add", "x", _write(machine, github_shaped(server.url)))
    called = machine.runtrue(
        *("node", "run", "api-x-repos-get", "owner=ada", "repo=engine"), env=closed
    )
    assert called.code == 1
    assert server.received == []


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        ("[]", "it has neither 'openapi' nor 'swagger'"),
        ("{", "api.json"),
        ('{"openapi": "4.0", "paths": {}}', "its version '4.0' is not one of"),
        ('{"openapi": "3.0.0", "paths": []}', "its 'paths' are no object"),
        ('{"openapi": "3.0.0", "servers": [{"url": "http://a"}]}', "it has no operations"),
        ('{"openapi": "3.1.0", "paths": {"/a": {"get": {}}}}', "say which with --base-url URL"),
        (
            '{"openapi": "3.0.0", "paths": {"/a": {"$ref": "http://other.example/a.json"}}}',
            "bundle it first",
        ),
        ('{"openapi": "3.0.0", "paths": {"/a": {"$ref": "/etc/passwd"}}}', "bundle it first"),
    ],
)
def test_what_is_no_usable_document_is_refused_in_one_sentence(
    machine: Machine, document: str, problem: str
) -> None:
    file = machine.home / "api.json"
    file.write_text(document)
    refused = machine.runtrue("api", "add", "x", file)
    assert refused.code == 2
    assert problem in one_sentence(refused)
    assert not list((machine.home / ".runtrue").glob("apis/*"))


def test_a_document_that_a_project_brings_does_nothing_by_itself(
    machine: Machine, server: ScriptedServer, tmp_path: Path
) -> None:
    machine.trusting = False
    project = tmp_path / "clone"
    write(project, {".runtrue/apis/evil.json": '{"source": "x"}', "openapi.json": "{}"})
    assert "no APIs" in machine.runtrue("api", "list", cwd=project).out
