"""What can be told about the params of an `http` node before it runs, and when it does."""

from __future__ import annotations

from typing import Any

import pytest

from runtrue.errors import RuntimeValidationError
from runtrue.workflow.nodes.http import HttpNode
from runtrue.workflow.nodes.http_request import make_request, show_url

NODE = HttpNode()
URL = "https://example.org/"
FORM = {"content-type": "application/x-www-form-urlencoded; charset=utf-8"}
BAD_URLS = [
    ("ftp://example.org/", "http:// or https://"),
    ("example.org", "http:// or https://"),
    ("", "http:// or https://"),
    ("http://", "no host"),
    ("http:///path", "no host"),
    ("http://example.org:port/", "host or port"),
    ("http://example.org:99999/", "host or port"),
    ("http://example.org:0/", "host or port"),
    ("http://[::1/", "host or port"),
    ("http://exa mple.org/", "host or port"),
    ("http://{host}/", "host or port"),
    (f"http://{'a' * 64}.org/", "host or port"),
    ("http://a..b/", "host or port"),
    ("http://example.org/\n", "control character ('\\n') at character 20"),
]


@pytest.mark.parametrize(
    ("params", "place", "said"),
    [
        *(({"url": url}, ("url",), said) for url, said in BAD_URLS),
        ({"method": "FETCH"}, ("method",), "'FETCH' is not one of: GET, POST"),
        ({"auth_token": "a", "api_key": "b"}, ("api_key",), "cannot be combined"),
        ({"auth_token": "${env.A}", "auth": {"type": "x"}}, ("auth",), "cannot be combined"),
        ({"body": {}, "json": None}, ("json",), "cannot be combined"),
        ({"auth": {"type": "basic"}}, ("auth",), "needs 'username'"),
        ({"auth": {"type": "bearer", "token": "t", "key": "k"}}, ("auth",), "has no 'key'"),
        ({"headers": {"bad name": "x"}}, ("headers", "bad name"), "name of a header"),
        ({"headers": {"X": "a\nb"}}, ("headers", "X"), "line break"),
        ({"headers": {"content-length": 5}}, ("headers", "content-length"), "leave it out"),
        ({"extract": {"a": "$.b", "c": "$.d["}}, ("extract", "c"), "character 5"),
    ],
)
def test_what_is_wrong_is_told_before_anything_runs(
    params: dict[str, Any], place: tuple[str, ...], said: str
) -> None:
    ((found, message),) = NODE.check({"url": URL, **params})
    assert found == place
    assert said in message


@pytest.mark.parametrize(
    "params",
    [
        {"url": "${base}/x", "method": "${method}", "headers": {"A": "${b}", "C": 1}},
        {"url": "http://${host}:${port}/", "auth_token": None, "api_key": "x"},
        {"url": "http://[::1]:80/", "body": None, "json": None},
        {"url": "HTTPS://user:pw@exämple.org/ä?x=y z", "method": "gEt"},
        {"url": URL, "auth": {"type": "${kind}"}},
        {"url": URL, "auth": "${auth}", "headers": "${headers}", "extract": "${extract}"},
        {"url": URL, "extract": {"a": "${path}"}, "body": 5},
    ],
)
def test_what_only_the_run_can_tell_is_left_to_it(params: dict[str, Any]) -> None:
    assert list(NODE.check(params)) == []


@pytest.mark.parametrize(
    ("params", "category"),
    [
        *(({"url": url}, "bad_url") for url, _ in BAD_URLS),
        ({"url": f"http://example.org/{'a' * 70_000}"}, "bad_url"),
        ({"url": "http://\u2e9f\ufe0f.org/"}, "bad_url"),
        ({"method": "FETCH"}, "bad_param"),
        ({"auth_token": "a", "api_key": "b"}, "bad_param"),
        ({"auth_token": "a", "headers": {"authorization": "b"}}, "bad_param"),
        ({"url": "http://a:b@c/", "auth_token": "a"}, "bad_param"),
        ({"body": {}, "json": None}, "bad_param"),
        ({"body": 5}, "bad_param"),
        ({"timeout": 0}, "bad_param"),
        ({"max_bytes": -1}, "bad_param"),
        ({"retries": 11}, "bad_param"),
        ({"params": {"a": {}}}, "bad_param"),
        ({"auth": {"type": "other"}}, "bad_param"),
        ({"auth": {"type": "api_key"}}, "bad_param"),
        ({"body": {"a": [[]]}, "headers": FORM}, "bad_param"),
        ({"headers": {"X Y": "a"}}, "bad_header"),
        ({"headers": {"X": "a\r\nInjected: b"}}, "bad_header"),
        ({"headers": {"Transfer-Encoding": "chunked"}}, "bad_header"),
        ({"auth_token": "hidden\nhidden"}, "bad_header"),
        ({"api_key": "a", "api_key_header": "X: y"}, "bad_header"),
    ],
)
def test_the_same_is_told_when_the_node_runs_and_nothing_is_sent(
    params: dict[str, Any], category: str
) -> None:
    with pytest.raises(RuntimeValidationError) as caught:
        make_request(NODE.convert({"url": URL, **params}))
    assert caught.value.category == category
    assert caught.value.attempted or category == "bad_param"
    assert "hidden" not in str(caught.value)


@pytest.mark.parametrize(
    "url", ["ftp://me:hidden@host/x?token=hidden", "http://me:hid/hidden?#x@host:x/x?token=hidden"]
)
def test_a_bad_url_is_told_without_its_secrets(url: str) -> None:
    with pytest.raises(RuntimeValidationError) as caught:
        make_request(NODE.convert({"url": url}))
    assert "hid" not in f"{caught.value}{caught.value.attempted}"
    assert "://host" in str(caught.value)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://a/b?c=d&e=", "http://a/b?c=d&e="),
        ("http://u:p@a/b#c", "http://a/b"),
        ("http://a/b@c", "http://a/b@c"),
        ("http://a/?key=1&X-Amz-Signature=2&page=3", "http://a/?key=…&X-Amz-Signature=…&page=3"),
        (f"http://a/{'b' * 300}", f"http://a/{'b' * 190}…"),
    ],
)
def test_a_url_is_shown_without_secrets_and_within_bounds(url: str, shown: str) -> None:
    assert show_url(url) == shown


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({}, False),
        ({"method": "get"}, False),
        ({"method": "HEAD"}, False),
        ({"method": "OPTIONS", "body": "x"}, False),
        ({"body": None}, False),
        ({"body": "x"}, True),
        ({"json": None}, True),
        ({"method": "POST"}, True),
        ({"method": "DELETE"}, True),
        ({"method": "${method}"}, True),
        ({"method": 5}, True),
    ],
)
def test_only_methods_that_look_have_no_side_effect(params: dict[str, Any], expected: bool) -> None:
    assert NODE.has_side_effect({"url": URL, **params}) is expected


@pytest.mark.parametrize(
    ("params", "places"),
    [
        ({}, []),
        ({"auth_token": "a", "api_key_header": "X"}, [("auth_token",)]),
        ({"api_key": "${key}"}, [("api_key",)]),
        ({"auth": {"type": "bearer", "token": "t"}}, [("auth", "token")]),
        (
            {"auth": {"type": "basic", "username": "u", "password": "p"}},
            [("auth", "password")],
        ),
        ({"auth": {"type": "api_key", "key": "k", "header": "h"}}, [("auth", "key")]),
        ({"auth": "${auth}", "headers": "${headers}", "params": None}, []),
        ({"url": "http://u:p@host/"}, [("url",)]),
        ({"url": "http://host/a@b"}, []),
        ({"params": {"api_key": "a", "page_token": "b", "key": "PROJ-1"}}, [("params", "api_key")]),
    ],
)
def test_secrets_are_where_credentials_are(
    params: dict[str, Any], places: list[tuple[str, ...]]
) -> None:
    assert list(NODE.secrets_in({"url": URL, **params})) == places


@pytest.mark.parametrize(
    ("header", "is_secret"),
    [
        *((name, True) for name in ("Authorization", "proxy-authorization", "COOKIE", "X-API-Key")),
        *((name, True) for name in ("X-Auth-Token", "Private-Token", "Ocp-Apim-Subscription-Key")),
        *((name, True) for name in ("X-Hub-Signature", "X-Vault-Token", "apikey")),
        *((name, False) for name in ("Accept", "Idempotency-Key", "X-Request-Id", "Keep-Alive")),
    ],
)
def test_headers_that_carry_secrets_are_known_by_their_names(header: str, is_secret: bool) -> None:
    params = {"url": URL, "headers": {header: "value"}}
    assert list(NODE.secrets_in(params)) == ([("headers", header)] if is_secret else [])
    secrets = make_request(NODE.convert(params)).secrets
    assert ("value" in secrets) is is_secret
