"""Secrets are used and appear nowhere: not in the journal, not on a screen, not in `--json`."""

from __future__ import annotations

import base64
import json
import os
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import pytest

from tests.cli.conftest import Done, Machine
from tests.cli.test_workflow_resume import HOLD, end, node, save, start
from tests.workflow.httpbin_server import httpbin_fixture
from tests.workflow.mcp.support import MODULES, npm_server
from tests.workflow.nodes.scripted_server import Received, ScriptedServer, response

__all__ = ["httpbin_fixture"]

#: The variables that hold secrets, with signs in them that encodings change.
ENV = {
    "TOKEN": "tok+En/with=odd&signs~77",
    "PASSWORD": 'pass "wörd\\ %41',
    "PLAIN": "plainSecret0123456789",
}
#: Given to a run in the clear, in its file or as an input.
LITERAL = "literal+Secret/4711=="
SECRETS = [*ENV.values(), LITERAL]
BEARER = {"auth_token": "${env.TOKEN}"}


def spellings(secret: str) -> Iterator[str]:
    """A secret as it is, and as people and programs encode it."""
    for text in (secret, repr(secret)[1:-1]):
        yield from (text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1])
    yield from (quote(secret, safe=""), quote_plus(secret), quote(quote(secret)))
    data = secret.encode()
    for signs in (b"+/", b"-_"):
        for before in range(3):
            encoded = base64.b64encode(bytes(before) + data, signs).decode()
            yield encoded[-(-before * 8 // 6) : (before + len(data)) * 8 // 6]


NEEDLES = sorted({spelling.encode() for secret in SECRETS for spelling in spellings(secret)})


def leaked(data: bytes) -> list[bytes]:
    return [needle for needle in NEEDLES if needle in data]


class Vault(Machine):
    """A machine with secrets in its environment, which looks for them in all that it says."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.env |= ENV

    def tell(self, *args: str | Path, cwd: Path | None = None) -> Done:
        done = self.runtrue(*args, cwd=cwd)
        assert leaked(done.said.encode()) == [], done.said
        return done

    def rows(self) -> bytes:
        """Everything that is in the journal."""
        with closing(sqlite3.connect(self.journal)) as db:
            tables = db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
            rows = [row for (name,) in tables for row in db.execute(f"SELECT * FROM {name}")]  # noqa: S608
        values = [value for row in rows for value in row if value is not None]
        return b"\n".join(v if isinstance(v, bytes) else str(v).encode() for v in values)

    def check_home(self) -> None:
        """That nothing was written there which holds a secret."""
        files = [path for path in (self.home / ".runtrue").rglob("*") if path.is_file()]
        assert self.journal in files
        found = {path.name: leaked(path.read_bytes()) for path in files}
        assert found == {name: [] for name in found}
        # In the file, a long row is in pieces.
        assert leaked(self.rows()) == []

    def check_run(self, title: str | Path) -> dict[str, Any]:
        """That nothing which can be asked about the latest run holds one; its report."""
        self.check_home()
        self.tell("runs", "show")
        for args in (["runs", "list"], ["history", title]):
            self.tell(*args, "--json")
        return self.tell("runs", "show", "--json").json


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    return Vault(tmp_path)


@pytest.fixture
def here(tmp_path: Path) -> Path:
    directory = tmp_path / "here"
    directory.mkdir()
    os.mkfifo(directory / "running")
    return directory


def echo(request: Received) -> bytes:
    """Say again all that was sent, in the way that the path asks for."""
    heard = json.dumps([request.line, request.headers, request.body.decode()])
    json_type = "Content-Type: application/json"
    if "/text" in request.path:
        return response(heard, "Content-Type: text/plain", status="500 Broken")
    if "/away" in request.path:
        return response("", f"Location: ftp://{request.path}", status="302 Found")
    if "/round" in request.path:
        return response("", f"Location: {request.path}", status="302 Found")
    if "/good" in request.path:
        return response(json.dumps({"heard": heard, "more": [heard]}), json_type)
    return response(json.dumps({heard: {"heard": heard}}), json_type, status="422 No")


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(echo) as running:
        yield running


@pytest.mark.usefixtures("httpbin")
def test_a_run_that_uses_secrets_everywhere_shows_none(
    vault: Vault, here: Path, httpbin: str, server: ScriptedServer
) -> None:
    basic = {"type": "basic", "username": "${env.PLAIN}", "password": "${env.PASSWORD}"}
    custom = {"headers": {"X-Custom": "a ${env.PLAIN} b"}}
    any_url = f"{httpbin}/anything"
    to_there = f"{httpbin}/redirect-to?url=/anything"
    inner = {
        "inputs": {"key": {}},
        "nodes": [node("ask", "http", url=any_url, api_key="${key}")],
    }
    code = "print(k); return {k: [k, repr({k: k})], 'b': base64.b64encode(k.encode()).decode()}"
    echoes = "echo ${env.TOKEN} $V; cat; printf u:%s ${env.TOKEN} | base64; echo $V >&2; exit 3"
    requests: dict[str, dict[str, Any]] = {
        "bearer": {"url": f"{httpbin}/bearer", **BEARER},
        "key": {"url": any_url, "api_key": "${env.TOKEN}", "api_key_header": "X-Custom"},
        "basic": {"url": any_url, "auth": basic},
        "query": {"url": f"{any_url}?p=${{env.PLAIN}}", "params": {"q": "${env.TOKEN}"}},
        "body": {"url": any_url, "body": {"a": ["${env.PASSWORD}"], "${literal}": 1}},
        "gzip": {"url": f"{httpbin}/gzip", **custom},
        "deflate": {"url": f"{httpbin}/deflate", **custom},
        "redirect": {"url": f"{to_there}/${{env.PLAIN}}", **custom},
        "location": {"url": f"{to_there}/${{env.PLAIN}}", "follow_redirects": False},
        "answered": {"url": f"{httpbin}/response-headers?X-Echo=${{env.PLAIN}}"},
        "cookie": {"url": f"{httpbin}/cookies", "headers": {"Cookie": "s=${env.PLAIN}"}},
        "refused": {"url": f"{httpbin}/basic-auth/a/b", "auth": basic},
        "written": {"url": any_url, "auth_token": LITERAL},
        "given": {"url": f"{server.url}/good/${{literal}}", "auth_token": "${literal}"},
    }
    nodes = [
        *(node(name, "http", **params) for name, params in requests.items()),
        node(
            "shell",
            "shell",
            command=echoes,
            stdin="x${env.PASSWORD}x",
            env={"V": "${env.PASSWORD}"},
        ),
        node("binary", "shell", command="printf '\\377%s' ${env.PLAIN}"),
        node("python", "python", code=f"import base64; {code}", inputs={"k": "${env.PASSWORD}"}),
        node("file", "write-file", file_path="${place}/${env.PLAIN}", content="${env.TOKEN}"),
        {**node("each", "shell", command="echo ${item} ${env.PLAIN}"), "batch": {"items": [1, 2]}},
        node("sub", "workflow", workflow_ir=inner, param_mapping={"key": "${env.TOKEN}"}),
    ]
    outputs = {node["id"]: {"source": f"${{{node['id']}}}"} for node in nodes}
    path = save(
        here,
        *({**node, "on_error": "continue"} for node in nodes),
        outputs=outputs,
        inputs={"literal": {}},
    )
    args = (path, f"place={here}", f"literal={LITERAL}")
    printed = vault.tell("run", *args)
    assert printed.code == 0, printed.said
    assert "[redacted]" in printed.out
    result = vault.tell("run", *args, "--json").json["result"]
    assert result["bearer"]["response"] == {"authenticated": True, "token": "[redacted]"}
    assert result["gzip"]["response"]["headers"]["X-Custom"] == "a [redacted] b"
    assert result["shell"]["exit_code"] == 3
    report = vault.check_run(path)
    handled = {n["id"] for n in report["nodes"] if n["status"] == "handled"}
    assert handled == {"location", "refused", "shell"}
    # They did arrive where they were sent.
    assert server.received[0].headers["authorization"] == f"Bearer {LITERAL}"
    assert (here / ENV["PLAIN"]).read_text() == ENV["TOKEN"]


FAILING: dict[str, list[dict[str, Any]]] = {
    "an answer with another status": [node("a", "http", url="${url}/?q=${env.PLAIN}", **BEARER)],
    "one that is text, after a second try": [
        {
            **node("a", "http", url="${url}/text", headers={"X-A": "${env.PLAIN}"}),
            "retry": {"attempts": 2, "wait": 0},
        }
    ],
    "a sample of a failed extraction": [
        node("a", "http", url="${url}/good", api_key="${env.TOKEN}", extract={"x": "$.nothing"})
    ],
    "a sample of a failed reference": [
        node("a", "http", url="${url}/good/${env.PLAIN}", **BEARER),
        node("b", "shell", command="echo ${a.response.nothing}"),
    ],
    "a path into what is not there": [
        node("a", "http", url="${url}/good", params={"q": "${env.TOKEN}"}),
        node("b", "shell", command="echo ${a.response.heard[7].x}"),
    ],
    "nobody who answers": [
        node("a", "http", url="http://127.0.0.1:1/${env.PLAIN}?q=${env.TOKEN}", retries=0)
    ],
    "a redirect to another protocol": [node("a", "http", url="${url}/away/${env.PLAIN}")],
    "a redirect in a circle": [node("a", "http", url="${url}/round?q=${env.PLAIN}")],
    "an answer that is too large": [
        node("a", "http", url="${url}/good/${env.PLAIN}", max_bytes=20)
    ],
    "an address that is none": [node("a", "http", url="gopher://x/${env.PLAIN}")],
    "a header that is none": [node("a", "http", url="${url}", headers={"X": "\n${env.PLAIN}\n1"})],
    "the last line of a command": [
        node("a", "shell", command="echo no: $V >&2; exit 3", env={"V": "${env.PASSWORD}"})
    ],
    "a command that is not found": [node("a", "shell", command="x${env.PLAIN}")],
    "a value that is not a number": [node("a", "shell", command="echo $((1 + ${env.PLAIN}))")],
    "a directory that is not there": [node("a", "shell", command="pwd", cwd="/no/${env.PLAIN}")],
    "a param of another type": [node("a", "shell", command="pwd", timeout="${env.PLAIN}")],
    "an exception": [
        node("a", "python", code="raise ValueError([k])", inputs={"k": "${env.PASSWORD}"})
    ],
    "a result that is not JSON": [
        node("a", "python", code="return {k: {k: {1}}}", inputs={"k": "${env.TOKEN}"})
    ],
    "an action without an edge": [
        node("a", "python", code="return route(k)", inputs={"k": "${env.PLAIN}"})
    ],
    "a file that is not there": [node("a", "read-file", file_path="/no/${env.PLAIN}")],
    "a workflow within": [
        node(
            "a",
            "workflow",
            workflow_ir={
                "inputs": {"k": {}, "url": {}},
                "nodes": [node("b", "http", url="${url}/${k}", auth_token="${k}")],  # noqa: S106
            },
            param_mapping={"k": "${env.PLAIN}", "url": "${url}"},
        )
    ],
}


@pytest.mark.parametrize("name", FAILING)
def test_a_failure_shows_none(name: str, vault: Vault, here: Path, server: ScriptedServer) -> None:
    path = save(here, *FAILING[name], inputs={"url": {}})
    failed = vault.tell("run", path, f"place={here}", f"url={server.url}", "--json")
    assert (failed.code, len(failed.json["findings"])) == (1, 1)
    vault.check_home()


#: What is given in the clear, in a file or as an input: params of an `http` node, the value of the
#: input `t`, and whether that is its default.
CLEAR: dict[str, tuple[dict[str, Any], str | None]] = {
    "a token": ({"auth_token": LITERAL}, None),
    "a password": ({"auth": {"type": "basic", "username": "a", "password": LITERAL}}, None),
    "headers": ({"headers": {"X-Api-Key": LITERAL, "Cookie": f"s={LITERAL}"}}, None),
    "a query": ({"params": {"access_token": LITERAL}}, None),
    "a user in the address": ({"url": f"http://a:{quote(LITERAL, safe='')}@HOST/good"}, None),
    "a key in the address": ({"url": f"http://HOST/good?api_key={quote_plus(LITERAL)}"}, None),
    "an input as token": ({"auth_token": "${t}"}, LITERAL),
    "an input in a header": ({"headers": {"Authorization": "Bearer ${t}"}}, LITERAL),
    "an input in the address": ({"url": "http://HOST/good?api_key=${t}"}, quote_plus(LITERAL)),
    "an input as address": ({"url": "${t}"}, f"http://a:{quote(LITERAL, safe='')}@HOST/good"),
    "an input as auth": ({"auth": "${t}"}, json.dumps({"type": "bearer", "token": LITERAL})),
    "an input as headers": ({"headers": "${t}"}, json.dumps({"Authorization": LITERAL})),
}


@pytest.mark.parametrize("name", CLEAR)
def test_what_is_given_in_the_clear_is_not_recorded(
    name: str, vault: Vault, here: Path, server: ScriptedServer
) -> None:
    host = server.url.removeprefix("http://")
    params, given = CLEAR[name]
    params = json.loads(json.dumps(params).replace("HOST", host))
    inputs: dict[str, Any] = {} if given is None else {"t": {}}
    args = [] if given is None else [f"t={given.replace('HOST', host)}"]
    path = save(here, node("a", "http", **{"url": f"{server.url}/good", **params}), inputs=inputs)
    done = vault.tell("run", path, f"place={here}", *args, "--json")
    assert done.code == 0, done.said
    vault.check_home()
    (request,) = server.received
    assert leaked(f"{request.line} {request.headers}".encode())


def test_what_is_given_to_a_workflow_within_is_not_recorded(
    vault: Vault, here: Path, server: ScriptedServer
) -> None:
    request = {"url": f"{server.url}/good"}
    inner = {
        "inputs": {"k": {}, "d": {"default": LITERAL}},
        "nodes": [
            node("one", "http", **request, auth_token=LITERAL),
            node("two", "http", **request, auth_token="${k}"),  # noqa: S106
            node("three", "http", **request, auth_token="${d}"),  # noqa: S106
        ],
    }
    sub = node("sub", "workflow", workflow_ir=inner, param_mapping={"k": "${t}"})
    path = save(here, sub, inputs={"t": {}})
    done = vault.tell("run", path, f"place={here}", f"t={LITERAL}")
    assert done.code == 0, done.said
    vault.check_home()
    sent = [request.headers["authorization"] for request in server.received]
    assert sent == [f"Bearer {LITERAL}"] * 3


def test_a_node_that_is_tried_by_itself_records_none(vault: Vault, server: ScriptedServer) -> None:
    url = f"url={server.url}/422"
    done = vault.tell("node", "run", "http", url, f"auth_token={LITERAL}", "--json")
    assert (done.code, done.json["findings"][0]["category"]) == (1, "http_status")
    vault.check_home()


def test_a_number_is_a_secret_too(vault: Vault, here: Path) -> None:
    path = save(here, node("a", "python", code="return [int(k)]", inputs={"k": "${env.PIN}"}))
    pin = "8473625194"
    done = vault.runtrue("run", path, f"place={here}", env={"PIN": pin})
    assert done.code == 0
    assert pin not in done.said
    assert pin.encode() not in vault.journal.read_bytes()


def test_a_variable_that_is_not_set_is_named_and_nothing_is_sent(
    vault: Vault, here: Path, server: ScriptedServer
) -> None:
    path = save(here, node("a", "http", url=f"{server.url}/${{env.NO_SUCH}}"))
    done = vault.tell("run", path, f"place={here}", "--json")
    assert done.code == 1
    (finding,) = done.json["findings"]
    assert (finding["category"], finding["fault"]) == ("missing_secret", "credentials")
    assert "NO_SUCH" in finding["message"]
    assert server.received == []


def test_a_run_that_is_killed_leaves_none_behind(
    vault: Vault, here: Path, server: ScriptedServer
) -> None:
    url = f"{server.url}/good"
    hold = {"place": "${place}", "numbers": [], "k": "${env.PASSWORD}"}
    path = save(
        here,
        node("one", "http", url=f"{url}/${{env.PLAIN}}", **BEARER),
        node("hold", "python", code=HOLD, inputs=hold),
        node("two", "http", url=url, auth_token="${t}"),  # noqa: S106
        inputs={"t": {}},
    )
    command = start(vault, here, f"t={LITERAL}")
    assert leaked(end(command, signal.SIGKILL).encode()) == []
    vault.check_run(path)
    vault.tell("runs", "resume", "--json")
    resumed = vault.tell("runs", "resume", "--input", f"t={LITERAL}")
    assert resumed.code == 0, resumed.said
    vault.check_home()
    assert len(server.received) == 2


def test_what_servers_of_tools_are_given_is_not_in_their_answers(vault: Vault, here: Path) -> None:
    server = npm_server("everything")
    entry = {
        "command": server.command,
        "args": list(server.args),
        "read": [str(MODULES.parent)],
        "env": {"API_TOKEN": LITERAL, "OTHER": "x ${TOKEN} ${env.PASSWORD} x"},
    }
    (here / ".mcp.json").write_text(json.dumps({"mcpServers": {"everything": entry}}))
    path = save(
        here,
        node("given", "mcp-everything-get-env"),
        node("say", "mcp-everything-echo", message="${env.PLAIN}"),
        node("bad", "mcp-everything-get-sum", a=1, b="${env.PLAIN}"),
        outputs={"given": {"source": "given.result"}},
    )
    done = vault.tell("run", path, f"place={here}", "--json", cwd=here)
    assert done.code == 1, done.said
    (finding,) = done.json["findings"]
    assert finding["category"] == "argument_mismatch"
    vault.check_home()
    assert b'"API_TOKEN":"[redacted]"' in vault.rows()
