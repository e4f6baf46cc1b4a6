"""Scopes: which requests count as one operation, and that no scope gives anything away."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtrue.memory import OperationScope, scope_of


@pytest.mark.parametrize(
    ("method", "url", "host", "operation"),
    [
        ("get", "https://api.example.org/users/torvalds", "api.example.org", "GET /users/{}"),
        ("GET", "https://api.example.org/users/42/", "api.example.org", "GET /users/{}"),
        ("GET", "https://h/users/torvalds/repos/linux", "h", "GET /users/{}/repos/{}"),
        ("GET", "https://h/people/7", "h", "GET /people/{}"),
        ("GET", "https://h/user", "h", "GET /user"),
        ("GET", "https://h/status/build", "h", "GET /status/build"),
        ("GET", "https://h/address/now", "h", "GET /address/now"),
        # What follows a collection is not always one of its objects.
        ("GET", "https://h/users/me", "h", "GET /users/me"),
        ("GET", "https://h/users/search?q=x", "h", "GET /users/search?q"),
        ("GET", "https://h/apps/v2.1/teams", "h", "GET /apps/v2.1/teams"),
        # Ids are known by their form wherever they are.
        ("GET", "https://h/job/3f2504e0-4f89-11d3-9a0c-0305e82c3301", "h", "GET /job/{}"),
        ("GET", "https://h/commit/e27402d0aa", "h", "GET /commit/{}"),
        ("GET", "https://h/day/2024-02-29", "h", "GET /day/{}"),
        ("GET", "https://h/channel/C024BE91L/info", "h", "GET /channel/{}/info"),
        ("GET", "https://h/mail/ann%40example.org", "h", "GET /mail/{}"),
        ("GET", "https://h/oauth2/token", "h", "GET /oauth2/token"),
        # The query's names are part of it, in any order; its values are not.
        ("GET", "https://h/find?sort=up&q=a%20b&q=c", "h", "GET /find?q&sort"),
        ("GET", "https://h/find?flag", "h", "GET /find?flag"),
        # One host may have many names for its door.
        ("GET", "HTTP://ann:pw@Example.org:80/x#y", "example.org", "GET /x"),
        ("GET", "http://127.0.0.1:8080", "127.0.0.1:8080", "GET /"),
        ("GET", "https://example.org:80/x", "example.org:80", "GET /x"),
        ("GET", "http://[::1]:8080/x", "[::1]:8080", "GET /x"),
        ("POST", "https://h/users", "h", "POST /users"),
    ],
)
def test_the_operation_is_the_request_without_what_names_an_object(
    method: str, url: str, host: str, operation: str
) -> None:
    assert scope_of(method, url) == OperationScope(host, operation)


@pytest.mark.parametrize(
    "url",
    [
        "https://user:s3cretpassw0rd@h/x",
        "https://h/bot110201543:s3cretpassw0rd/getMe",
        "https://h/x?token=s3cretpassw0rd",
        "https://h/x?s3cretpassw0rd",
        "https://h/hook/T00/s3cretpassw0rd",
        "https://h/x#s3cretpassw0rd",
    ],
)
def test_no_value_is_in_a_scope(url: str) -> None:
    assert "s3cretpassw0rd" not in str(scope_of("GET", url))


def test_tools_are_kept_apart_from_hosts_of_the_same_name() -> None:
    assert OperationScope.of_tool("time", "now") != OperationScope("time", "now")
    assert OperationScope.of_tool("time", "now") != OperationScope.of_tool("clock", "now")


@given(method=st.text(), url=st.text() | st.text().map("http://{}".format))
def test_any_text_has_a_scope(method: str, url: str) -> None:
    assert scope_of(method, url) == scope_of(method, url)
