"""What a node is for does not change when it is repaired: only references, values and paths do."""

from __future__ import annotations

from typing import Any

import pytest

from runtrue.workflow.node import WorkflowNode
from runtrue.workflow.purpose import origin_of, same_text
from tests.workflow.support import Bench

URL = "https://api.example.com/users"
GET: dict[str, Any] = {"url": URL, "extract": {"name": "$.name"}}
POST: dict[str, Any] = {"url": URL, "method": "POST", "json": {"a": 1}}
SHELL: dict[str, Any] = {"command": "wc -l ${x}"}


def kind(bench: Bench, type: str) -> WorkflowNode[Any]:
    found = bench.registry.node(type)
    assert found is not None
    return found


def deep(inner: Any) -> Any:
    for _ in range(5_000):
        inner = {"a": [inner]}
    return inner


SAME: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("http", GET, {**GET, "extract": {"name": "$.user.name"}}),
    ("http", GET, {**GET, "url": "https://api.example.com/v2/${x}?q=1"}),
    ("http", GET, {**GET, "params": {"page": 2}, "headers": {"Accept": "text/plain"}}),
    ("http", GET, {**GET, "timeout": 5}),
    ("http", {**GET, "extract": "${x}"}, {**GET, "extract": "${x.y}"}),
    ("http", {**GET, "method": "${x}"}, {**GET, "method": "${x.method}"}),
    ("http", {"url": "${base}/a"}, {"url": "${base}/b/${c}"}),
    ("http", {"url": "https://${host}:80/a"}, {"url": "https://${host}:80"}),
    ("http", POST, {**POST, "json": {"b": [2]}}),
    ("http", {**POST, "auth_token": "${a}"}, {**POST, "auth_token": "${b.c}"}),
    ("shell", SHELL, {"command": "wc -l ${y.z[0]}", "timeout": 5, "stdin": "text"}),
    ("python", {"code": "return a"}, {"code": "return a", "inputs": {"a": 1}}),
    ("llm", {"prompt": "Sum up ${x}"}, {"prompt": "Sum up ${y}", "temperature": 0}),
    ("read-file", {"file_path": "a/${x}"}, {"file_path": "a/${y}", "encoding": "latin-1"}),
    ("write-file", {"file_path": "a", "content": 1}, {"file_path": "a", "content": "${x}"}),
    ("workflow", {"workflow_name": "a"}, {"workflow_name": "a", "param_mapping": {"x": 1}}),
    ("echo", {"value": 1}, {"other": 2}),
]

OTHER: dict[str, tuple[str, dict[str, Any], dict[str, Any], str]] = {
    "method": ("http", POST, {**POST, "method": "PUT"}, "'method' was changed in more than"),
    "method added": ("http", GET, {**GET, "method": "DELETE"}, "'method' was added"),
    "a body makes a POST": ("http", GET, {**GET, "json": None}, "now change something outside"),
    "a GET": ("http", {"url": URL, "body": "x"}, {"url": URL}, "no longer change something"),
    "certificate": ("http", GET, {**GET, "verify": False}, "'verify' was added"),
    "host": ("http", GET, {**GET, "url": "https://example.com/users"}, "leads to another host"),
    "port": ("http", GET, {**GET, "url": "https://api.example.com:8443/users"}, "another host"),
    "scheme": ("http", GET, {**GET, "url": "http://api.example.com/users"}, "another host"),
    "referred": ("http", GET, {**GET, "url": "${x}/users"}, "another host"),
    "reference": ("http", {"url": "${a}/x"}, {"url": "${b}/x"}, "another host"),
    "appended": ("http", {"url": "${a}/x"}, {"url": "${a}.evil.example/x"}, "another host"),
    "user": ("http", GET, {**GET, "url": "https://api.example.com@evil.example/"}, "another host"),
    "no url": ("http", GET, {**GET, "url": None}, "another host"),
    "name dropped": ("http", GET, {**GET, "extract": {}}, "other names than before: name"),
    "name added": ("http", GET, {**GET, "extract": {"name": "$", "id": "$"}}, "before: id"),
    "nothing extracted": ("http", GET, {"url": URL}, "'extract' was added, removed or replaced"),
    "token": ("http", GET, {**GET, "auth_token": "${x}"}, "'auth_token' was added"),
    "key": ("http", {**GET, "api_key": "a"}, {**GET, "api_key": "b"}, "'api_key' was changed"),
    "secret": (
        "http",
        {**GET, "auth_token": "${env.A}"},
        {**GET, "auth_token": "${env.B}"},
        "'auth_token' was changed",
    ),
    "auth": (
        "http",
        {**GET, "auth": {"type": "bearer", "token": "${x}"}},
        {**GET, "auth": {"type": "basic", "username": "${x}"}},
        "'auth' was changed",
    ),
    "header": (
        "http",
        {**GET, "headers": {"Authorization": "Bearer x", "A": "b"}},
        {**GET, "headers": {"A": "b"}},
        "authenticate itself in another way",
    ),
    "query": ("http", GET, {**GET, "params": {"api_key": "x"}}, "in another way"),
    "command": ("shell", SHELL, {"command": "rm ${x}"}, "'command' was changed"),
    "more of it": ("shell", SHELL, {"command": "wc -l ${x}${y}"}, "'command' was changed"),
    "raw": ("shell", SHELL, {**SHELL, "raw": True}, "'raw' was added"),
    "ignored": ("shell", SHELL, {**SHELL, "ignore_errors": True}, "'ignore_errors' was added"),
    "code": ("python", {"code": "return 1"}, {"code": "return 2"}, "'code' was changed"),
    "prompt": ("llm", {"prompt": "Sum up ${x}"}, {"prompt": "${x}"}, "'prompt' was changed"),
    "model": ("llm", {"prompt": "a", "model": "x:y"}, {"prompt": "a"}, "'model' was removed"),
    "file": ("read-file", {"file_path": "a"}, {"file_path": "b"}, "'file_path' was changed"),
    "written": ("write-file", {"file_path": "a/${x}"}, {"file_path": "b/${x}"}, "'file_path'"),
    "append": ("write-file", {"file_path": "a"}, {"file_path": "a", "append": True}, "'append'"),
    "workflow": ("workflow", {"workflow_ref": "a"}, {"workflow_ref": "b"}, "'workflow_ref'"),
    "its nodes": (
        "workflow",
        {"workflow_ir": {"nodes": [{"id": "a"}]}},
        {"workflow_ir": {"nodes": [{"id": "a"}, {"id": "b"}]}},
        "'workflow_ir'",
    ),
}


@pytest.mark.parametrize(("type", "before", "after"), SAME)
def test_what_a_repair_may_change(
    bench: Bench, type: str, before: dict[str, Any], after: dict[str, Any]
) -> None:
    assert kind(bench, type).same_purpose(before, before) is None
    assert kind(bench, type).same_purpose(before, after) is None
    assert kind(bench, type).same_purpose(after, before) is None


@pytest.mark.parametrize(("type", "before", "after", "says"), OTHER.values(), ids=OTHER)
def test_what_a_repair_may_not_change(
    bench: Bench, type: str, before: dict[str, Any], after: dict[str, Any], says: str
) -> None:
    reason = kind(bench, type).same_purpose(before, after)
    assert reason is not None
    assert says in reason
    assert "\n" not in reason
    assert kind(bench, type).same_purpose(after, before) is not None


@pytest.mark.parametrize(
    ("before", "after", "same"),
    [
        ("a ${x} b", "a ${ y['z'] } b", True),
        ("a ${x} b", "a  b", False),
        ("$${x}", "$${y}", False),
        ("${x", "${x", True),
        ("${x", "${y", False),
        ("${env.A} ${x}", "${env.A} ${y}", True),
        ("$${env.A}", "${env.A}", False),
        (1, True, False),
        (1, 1.0, False),
        (None, None, True),
        ([1, {"a": "${x}"}], [1, {"a": "${y}"}], True),
        ([1], [1, 2], False),
        ({"a": 1}, {"b": 1}, False),
        ({"a": 1}, [1], False),
    ],
)
def test_text_is_the_same_but_for_its_references(before: Any, after: Any, same: bool) -> None:
    assert same_text(before, after) is same
    assert same_text(after, before) is same


def test_no_depth_is_too_deep() -> None:
    assert same_text(deep("${x}"), deep("${y}"))
    assert not same_text(deep("x"), deep("y"))


@pytest.mark.parametrize(
    ("url", "also", "same"),
    [
        ("https://a.b/c", "https://a.b?c#d", True),
        ("https://a.b", "https://a.b:443", False),
        ("https://${h}/a/${x}", "https://${h}/b", True),
        ("https://${h}/a", "https://${ h.i }/a", False),
        ("https://a${h}/", "https://a${i}/", False),
        ("${s}://a/b", "${s}://a/c", True),
        ("${s}://a/b", "${t}://a/b", False),
        ("${a}${b}/c", "${a}${b}/d", True),
        ("${a}${b}/c", "${a}${c}/c", False),
        ("${a}/b", "${a}/${b}", True),
        # What cannot be taken apart is not to change at all.
        ("https:/${x}", "https:/${y}", False),
        ("https:///a", "https:///b", False),
        ("https://a\0/b", "https://a\0/c", False),
        ("", "https://a", False),
        ("${x", "${y", False),
        (None, "https://a", False),
        (None, None, True),
    ],
)
def test_where_a_url_leads_is_compared_as_it_is_written(url: Any, also: Any, same: bool) -> None:
    assert (origin_of(url) == origin_of(also)) is same
