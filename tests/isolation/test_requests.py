"""Attempts to have a workflow talk to what is none of its business, from the trusted process."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
from collections.abc import Callable, Iterator
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import pytest

from runtrue.errors import NodeFailed
from runtrue.home import Home
from runtrue.loop import Fault
from runtrue.workflow import Registry, run_workflow
from runtrue.workflow.mcp import HttpServer
from tests.cli.conftest import Machine, write
from tests.workflow.mcp.support import failure
from tests.workflow.nodes.scripted_server import Received, ScriptedServer, response
from tests.workflow.nodes.sending import failing, open_context, send, send_within

METADATA = "169.254.169.254"
#: All zeros, which lead to this machine.
NONE = str(IPv4Address(0))

# -- what is watched ------------------------------------------------------------------------------

_watched: list[list[str]] = []


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "socket.connect" and _watched and isinstance(arguments[1], tuple):
        host = arguments[1][0]
        _watched[-1].append(host)
        if host not in ("127.0.0.1", "::1", "::ffff:127.0.0.1", "::ffff:7f00:1"):
            raise PermissionError(f"a test was about to connect to {host}")


sys.addaudithook(_watch)


@pytest.fixture
def connections() -> Iterator[list[str]]:
    """The addresses that are connected to, by anything in this process."""
    _watched.append([])
    yield _watched[-1]
    _watched.pop()


class Names:
    """What names lead to, and how often that was asked: each answer once, the last one forever."""

    def __init__(self) -> None:
        self.answers: dict[str, list[list[str]]] = {}
        self.asked: list[str] = []
        self._real: Callable[..., Any] = socket.getaddrinfo

    def __call__(self, host: str, port: int, *_: Any, **__: Any) -> Any:
        if host not in self.answers:
            options = {"type": socket.SOCK_STREAM, "flags": socket.AI_NUMERICHOST}
            return self._real(host, port, **options)
        self.asked.append(host)
        left = self.answers[host]
        addresses = left.pop(0) if len(left) > 1 else left[0]
        return [
            (family, socket.SOCK_STREAM, 6, "", (address, port))
            for address in addresses
            for family in [socket.AF_INET6 if ":" in address else socket.AF_INET]
        ]


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Names:
    """Stands in for servers of names, which cannot be had here. Numbers are read by the system."""
    names = Names()
    names.answers["localhost"] = [["127.0.0.1"]]
    monkeypatch.setattr(socket, "getaddrinfo", names)
    return names


@pytest.fixture
def nothing_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RUNTRUE_ALLOW_LOOPBACK", raising=False)
    monkeypatch.delenv("RUNTRUE_ALLOW_PRIVATE", raising=False)


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(response("inside", "Content-Type: text/plain")) as running:
        yield running


def refused(url: str, **params: Any) -> NodeFailed:
    error = failing(url=url, **params)
    assert (error.category, error.fault, error.transient) == (
        "refused_address",
        Fault.HUMAN,
        False,
    ), error.message
    return error


# -- spellings ------------------------------------------------------------------------------------

SPELLINGS = [
    *("127.0.0.1", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7f.1"),
    *("[::1]", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "localhost"),
    *("LOCALHOST", "user@127.0.0.1", "example.com@127.0.0.1", "example.com:80@127.0.0.1"),
    *(NONE, "0", "[::]", "[::ffff:0.0.0.0]", "[::127.0.0.1]"),
    *(METADATA, "2852039166", "0xa9fea9fe", "0xa9.254.169.254"),
    *("[::ffff:a9fe:a9fe]", "[64:ff9b::a9fe:a9fe]", "[2002:a9fe:a9fe::]", "[2001:0:a9fe:a9fe::1]"),
    *("[fe80::1]", "[fd00:ec2::254]", "100.100.100.200", "192.0.0.192"),
    *("10.0.0.1", "172.16.0.1", "192.168.0.1", "100.64.0.1", "[fd12::1]", "[::ffff:10.0.0.1]"),
    *("224.0.0.1", "[ff02::1]", "255.255.255.255", "240.0.0.1", "192.0.2.1"),
]


@pytest.mark.parametrize("host", SPELLINGS)
@pytest.mark.usefixtures("nothing_allowed", "names")
def test_an_inner_address_is_refused_however_it_is_spelled(
    connections: list[str], host: str
) -> None:
    error = refused(f"http://{host}/latest/meta-data/")
    assert set(error.data) == {"method", "url", "host", "address", "port", "kind"}
    assert error.data["port"] == 80
    assert connections == []


@pytest.mark.parametrize(
    "host",
    [
        "0177.0.0.1",
        "0251.0376.0251.0376",
        "\uff11\uff12\uff17.0.0.1",
        "①②⑦.0.0.1",
        "127。0。0。1",
        "ⓛocalhost",
        "127.0.0.1\\@example.com",
        "127.0.0.1.",
    ],
)
@pytest.mark.usefixtures("nothing_allowed")
def test_an_address_in_other_letters_reaches_nobody(
    connections: list[str], names: Names, host: str
) -> None:
    names.answers |= {"127.0.0.1.": [["127.0.0.1"]]}
    assert failing(url=f"http://{host}/").category in ("refused_address", "bad_url", "dns")
    assert connections == []


@pytest.mark.usefixtures("names")
@pytest.mark.parametrize("host", [NONE, "[::]", METADATA, "10.0.0.1", "[64:ff9b::127.0.0.1]"])
def test_what_is_allowed_of_loopback_opens_nothing_else(connections: list[str], host: str) -> None:
    refused(f"http://{host}/")
    assert connections == []


def test_loopback_is_reached_once_it_is_allowed(server: ScriptedServer) -> None:
    for host in ("127.0.0.1", "127.1", "localhost", "[::ffff:127.0.0.1]"):
        assert send(url=f"http://{host}:{server.port}/")["response"] == "inside"


# -- names ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("address", [METADATA, "10.0.0.1", "127.0.0.1", "::1", "fd00:ec2::254"])
@pytest.mark.usefixtures("nothing_allowed")
def test_a_name_that_leads_inside_is_refused(
    connections: list[str], names: Names, address: str
) -> None:
    names.answers["innocent.example"] = [[address]]
    error = refused("https://innocent.example/")
    assert f"innocent.example resolves to {address}, a" in error.message
    assert (error.data["host"], error.data["address"]) == ("innocent.example", address)
    assert connections == []


def test_a_name_that_leads_inside_as_well_is_refused_altogether(
    connections: list[str], names: Names
) -> None:
    names.answers["both.example"] = [["127.0.0.1", METADATA]]
    assert refused("http://both.example/").data["address"] == METADATA
    assert connections == []


def test_a_name_that_leads_elsewhere_the_second_time_is_asked_for_once_and_kept_to(
    connections: list[str], names: Names, server: ScriptedServer
) -> None:
    """What is checked is what is connected to: there is no moment in between."""
    names.answers["rebind.example"] = [["127.0.0.1"], [METADATA]]
    url = f"http://rebind.example:{server.port}/"
    assert send(url=url)["response"] == "inside"
    assert (names.asked, connections) == (["rebind.example"], ["127.0.0.1"])
    refused(url)
    assert connections == ["127.0.0.1"]


def test_a_name_that_leads_elsewhere_in_the_middle_of_a_run_is_refused_from_then_on(
    connections: list[str], names: Names, server: ScriptedServer
) -> None:
    names.answers["rebind.example"] = [["127.0.0.1"], [METADATA]]
    url = f"http://rebind.example:{server.port}/"

    async def twice() -> None:
        async with open_context() as context:
            assert (await send_within(context, url=url))["status_code"] == 200
            with pytest.raises(NodeFailed, match="link-local"):
                await send_within(context, url=url)

    asyncio.run(twice())
    assert connections == ["127.0.0.1"]


def test_a_refusal_is_not_tried_again(names: Names) -> None:
    names.answers["inside.example"] = [[METADATA]]
    refused("http://inside.example/", retries=5)
    assert names.asked == ["inside.example"]


def test_the_server_still_gets_the_name_that_was_asked_for(
    names: Names, server: ScriptedServer
) -> None:
    names.answers["api.example"] = [["127.0.0.1"]]
    send(url=f"http://api.example:{server.port}/x")
    assert server.received[0].headers["host"] == f"api.example:{server.port}"


# -- redirects ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "location",
    [
        f"http://{METADATA}/latest/meta-data/iam/security-credentials/",
        "//2852039166/",
        "http://[::ffff:a9fe:a9fe]/",
        "http://inside.example/",
        "https://10.0.0.1/",
        "http://0.0.0.0/",
    ],
)
@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "307 Temporary Redirect"])
def test_a_redirect_that_leads_inside_is_not_followed(
    connections: list[str], names: Names, status: str, location: str
) -> None:
    names.answers["inside.example"] = [[METADATA]]
    answer = response("", f"Location: {location}", status=status)
    with ScriptedServer(answer) as hostile:
        refused(hostile.url)
    assert connections == ["127.0.0.1"]


def test_a_chain_of_redirects_that_ends_inside_is_not_followed_to_its_end(
    connections: list[str], names: Names
) -> None:
    names.answers["next.example"] = [["127.0.0.1"], ["127.0.0.1"], [METADATA]]

    def again(received: Received) -> bytes:
        return response("", f"Location: {hostile.url}/", status="302 Found")

    with ScriptedServer(again) as hostile:
        hostile.url = f"http://next.example:{hostile.port}"
        refused(hostile.url)
    assert connections == ["127.0.0.1", "127.0.0.1"]


@pytest.mark.parametrize(
    "location", ["file:///etc/passwd", "unix:///run/docker.sock", "gopher://x/"]
)
def test_a_redirect_to_something_else_than_http_is_not_followed(
    connections: list[str], location: str
) -> None:
    with ScriptedServer(response("", f"Location: {location}", status="302 Found")) as hostile:
        assert failing(url=hostile.url).category in ("redirect", "connection")
    assert connections == ["127.0.0.1"]


# -- proxies --------------------------------------------------------------------------------------


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedServer]:
    with ScriptedServer(response("proxied", "Content-Type: text/plain")) as running:
        for name in ("HTTP_PROXY", "HTTPS_PROXY"):
            monkeypatch.setenv(name, running.url)
            monkeypatch.setenv(name.lower(), running.url)
        monkeypatch.delenv("NO_PROXY", raising=False)
        monkeypatch.delenv("no_proxy", raising=False)
        yield running


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("host", [METADATA, "2852039166", "[::1]", "10.0.0.1", "inside.example"])
@pytest.mark.usefixtures("nothing_allowed")
def test_a_proxy_of_the_users_is_not_asked_for_what_is_inside(
    proxy: ScriptedServer, names: Names, scheme: str, host: str
) -> None:
    names.answers["inside.example"] = [[METADATA]]
    refused(f"{scheme}://{host}/")
    assert proxy.received == []


@pytest.mark.usefixtures("nothing_allowed")
def test_a_host_that_goes_around_the_proxy_is_checked_all_the_same(
    proxy: ScriptedServer, names: Names, monkeypatch: pytest.MonkeyPatch, connections: list[str]
) -> None:
    monkeypatch.setenv("no_proxy", "inside.example")
    names.answers["inside.example"] = [["127.0.0.1"]]
    refused("http://inside.example/")
    assert (connections, proxy.received) == ([], [])


@pytest.mark.usefixtures("nothing_allowed")
def test_the_proxy_itself_is_the_users_choice(proxy: ScriptedServer, names: Names) -> None:
    names.answers["outside.example"] = [["93.184.216.34"]]
    assert send(url="http://outside.example/x")["response"] == "proxied"
    assert proxy.received[0].path == "http://outside.example/x"


# -- who decides ----------------------------------------------------------------------------------

_OPEN = """
[workflows]
allow_loopback = true
allow_private = ["0.0.0.0/0", "169.254.169.254"]
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project, and a user who has said nothing."""
    project, home = tmp_path / "project", tmp_path / "home"
    project.mkdir()
    home.mkdir()
    monkeypatch.chdir(project)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("RUNTRUE_HOME", raising=False)
    return project


@pytest.mark.parametrize(
    "file", ["runtrue.toml", "pyproject.toml", ".runtrue/runtrue.toml", ".runtrue/config.toml"]
)
@pytest.mark.usefixtures("nothing_allowed")
def test_a_project_cannot_let_its_workflows_inside(
    project: Path, server: ScriptedServer, connections: list[str], file: str
) -> None:
    text = _OPEN.replace("[", "[tool.runtrue.", 1) if file == "pyproject.toml" else _OPEN
    write(project, {file: text})
    refused(server.url)
    assert connections == []


@pytest.mark.usefixtures("nothing_allowed")
def test_the_user_can_let_workflows_inside_in_their_own_file(
    project: Path, server: ScriptedServer
) -> None:
    write(project.parent / "home", {".runtrue/runtrue.toml": _OPEN})
    assert send(url=server.url)["response"] == "inside"


@pytest.mark.usefixtures("nothing_allowed")
def test_one_address_can_be_let_in_alone(
    project: Path, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RUNTRUE_ALLOW_PRIVATE", f"10.0.0.5, 127.0.0.1:{server.port}")
    assert send(url=server.url)["response"] == "inside"
    refused("http://127.0.0.1:1/")


@pytest.mark.parametrize("said", ["0", "no", "False"])
def test_the_environment_can_close_what_a_file_opens(
    project: Path, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    write(project.parent / "home", {".runtrue/runtrue.toml": "[workflows]\nallow_loopback = true"})
    monkeypatch.setenv("RUNTRUE_ALLOW_LOOPBACK", said)
    refused(server.url)


@pytest.mark.parametrize(
    ("variables", "file", "told"),
    [
        ({"RUNTRUE_ALLOW_LOOPBACK": "maybe"}, "", "RUNTRUE_ALLOW_LOOPBACK is 'maybe'"),
        ({"RUNTRUE_ALLOW_PRIVATE": "10.0.0.5,*"}, "", "RUNTRUE_ALLOW_PRIVATE: '*' is not"),
        ({}, "[workflows]\nallow_private = ['2130706433']", "runtrue.toml:2: workflows.allow_pri"),
        ({}, "[workflows]\nallow_all = true", "unknown key"),
        ({}, "[workflow]\n", "did you mean 'workflows'?"),
        ({}, "nonsense", "runtrue.toml:1: "),
    ],
)
@pytest.mark.usefixtures("nothing_allowed")
def test_settings_that_make_no_sense_open_nothing(
    project: Path,
    connections: list[str],
    server: ScriptedServer,
    monkeypatch: pytest.MonkeyPatch,
    variables: dict[str, str],
    file: str,
    told: str,
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    write(project.parent / "home", {".runtrue/runtrue.toml": file})
    error = failing(url=server.url)
    assert (error.category, error.fault) == ("http_settings", Fault.HUMAN)
    assert told in error.message
    assert connections == []


@pytest.mark.usefixtures("nothing_allowed")
def test_a_workflow_cannot_set_the_variable_for_itself(
    project: Path, server: ScriptedServer, connections: list[str]
) -> None:
    setting = "import os; os.environ['RUNTRUE_ALLOW_LOOPBACK'] = '1'; result = 1"
    workflow = {
        "nodes": [
            {"id": "set", "type": "python", "params": {"code": setting}},
            {"id": "get", "type": "http", "params": {"url": server.url}},
        ]
    }
    done = run_workflow(workflow, registry=Registry(Home(project / ".home"), project))
    assert done.error is not None
    assert (done.error.node_id, done.error.category) == ("get", "refused_address"), done.error
    assert connections == []


# -- MCP ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "place"),
    [
        (f"http://{METADATA}/mcp", f"{METADATA}:80"),
        ("https://2852039166/mcp", f"{METADATA}:443"),
        ("http://inside.example:81/mcp", "10.0.0.1:81"),
        ("http://127.0.0.1:1/mcp", "127.0.0.1:1"),
    ],
)
@pytest.mark.usefixtures("nothing_allowed")
def test_an_mcp_server_that_is_inside_is_not_spoken_to(
    connections: list[str], names: Names, url: str, place: str
) -> None:
    names.answers["inside.example"] = [["10.0.0.1"]]
    error = failure(HttpServer(name="s", url=url), "tool")
    assert (error.category, error.fault, error.transient) == (
        "refused_address",
        Fault.HUMAN,
        False,
    )
    assert error.attempted == (place,)
    assert "server 's' may not be reached: " in error.message
    assert connections == []


@pytest.mark.parametrize("status", ["302 Found", "307 Temporary Redirect", "308 Permanent"])
def test_an_mcp_server_that_redirects_inside_is_not_followed(
    connections: list[str], status: str
) -> None:
    with ScriptedServer(response("", f"Location: http://{METADATA}/", status=status)) as hostile:
        failure(HttpServer(name="s", url=hostile.url), "tool")
    assert set(connections) == {"127.0.0.1"}


def test_an_mcp_server_whose_name_leads_inside_later_is_given_up(
    connections: list[str], names: Names
) -> None:
    names.answers["rebind.example"] = [["127.0.0.1"], [METADATA]]
    with ScriptedServer(response(status="404 Not Found")) as hostile:
        url = f"http://rebind.example:{hostile.port}/"
        error = failure(HttpServer(name="s", url=url), "tool")
    assert error.category in ("http_status", "refused_address")
    assert set(connections) == {"127.0.0.1"}


# -- the program ----------------------------------------------------------------------------------


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    machine = Machine(tmp_path, search=False)
    machine.env.pop("RUNTRUE_ALLOW_LOOPBACK")
    return machine


_FETCH = """
    nodes:
      - {id: get, type: http, params: {url: "URL"}}
"""


def test_a_workflow_that_asks_for_this_machine_is_told_what_would_allow_it(
    machine: Machine, server: ScriptedServer
) -> None:
    write(machine.home, {"fetch.yaml": _FETCH.replace("URL", server.url)})
    done = machine.runtrue("run", "fetch.yaml")
    assert done.code == 1
    said = "127.0.0.1 is a loopback address, which workflows may not access; to allow it"
    assert said in done.err
    assert server.received == []
    assert machine.runtrue("run", "fetch.yaml", env={"RUNTRUE_ALLOW_LOOPBACK": "1"}).code == 0


def test_a_task_that_asks_for_metadata_is_run_once_and_left_to_a_person(machine: Machine) -> None:
    url = f"http://{METADATA}/latest/meta-data/iam"
    done = machine.runtrue("do", f"fetch {url} and extract the secret key")
    assert done.code == 1
    assert f"{METADATA} is a link-local address, which workflows may not access" in done.said
    assert "run once" in done.said


# -- documents of APIs ----------------------------------------------------------------------------


def _document(server: str, **more: Any) -> dict[str, Any]:
    answer = {"responses": {"200": {"description": "fine"}}}
    paths = {"/a": {"get": {"operationId": "a", **answer}}}
    return {"openapi": "3.0.0", "servers": [{"url": server}], "paths": paths, **more}


def test_a_path_in_an_api_document_leads_to_no_other_server(
    machine: Machine, tmp_path: Path
) -> None:
    said = {"operationId": "a", "responses": {"200": {"description": "fine"}}}
    paths = {f"@{METADATA}/x": {"get": said}}
    write(tmp_path, {"api.json": json.dumps({**_document("http://127.0.0.1:9"), "paths": paths})})
    assert machine.runtrue("api", "add", "evil", tmp_path / "api.json").code == 0
    workflow = {"nodes": [{"id": "a", "type": "api-evil-a"}]}
    write(tmp_path, {"w.json": json.dumps(workflow)})
    done = machine.runtrue("run", tmp_path / "w.json", "--dry-run")
    assert f"GET http://127.0.0.1:9/@{METADATA}/x" in done.out


@pytest.mark.parametrize("to", ["file:///etc/passwd", "../key", "link", "pipe", "http://10.0.0.1/"])
def test_a_reference_in_an_api_document_reads_nothing_outside_of_its_folder(
    machine: Machine, tmp_path: Path, to: str
) -> None:
    folder = tmp_path / "clone"
    schemas = {"schemas": {"A": {"$ref": to}}}
    text = json.dumps(_document("http://127.0.0.1:9", components=schemas))
    write(tmp_path, {"key": "a: private\n", "clone/api.json": text})
    (folder / "link").symlink_to(tmp_path / "key")
    os.mkfifo(folder / "pipe")
    done = machine.runtrue("api", "add", "evil", folder / "api.json")
    assert done.code == 2
    assert "bundle it first" in done.err or "is not a file" in done.err


def test_an_api_document_that_repeats_or_nests_without_end_is_read_all_the_same(
    machine: Machine, tmp_path: Path
) -> None:
    last = {"S20": {"type": "object", "properties": {"q": {"type": "string"}}}}
    schemas = {
        f"S{n}": {"allOf": [{"$ref": f"#/components/schemas/S{n + 1}"}] * 8} for n in range(20)
    }
    body = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/S0"}}}}
    said = {"operationId": "a", "requestBody": body, "responses": {"200": {"description": "fine"}}}
    repeats = _document("http://127.0.0.1:9", components={"schemas": {**schemas, **last}})
    deep = '{"openapi": "3.0.0", "paths": ' + '{"a":' * 50_000 + "1" + "}" * 50_000 + "}"
    write(
        tmp_path,
        {"api.json": json.dumps({**repeats, "paths": {"/a": {"post": said}}}), "deep.json": deep},
    )
    assert machine.runtrue("api", "add", "evil", tmp_path / "api.json").code == 0
    assert "q (string)" in machine.runtrue("node", "show", "api-evil-a").out
    done = machine.runtrue("api", "add", "deep", tmp_path / "deep.json")
    assert (done.code, "nested too deeply" in done.err) == (2, True)
