"""A server's references to the environment are filled in when it is started, not before."""

from __future__ import annotations

import pytest

from runtrue.workflow.mcp import HttpServer, MissingVariables, StdioServer

ENVIRONMENT = {"TOKEN": "s3cret", "HOME": "/home/ada", "EMPTY": ""}


@pytest.mark.parametrize(
    ("written", "expanded"),
    [
        ("${TOKEN}", "s3cret"),
        ("${env.TOKEN}", "s3cret"),
        ("${env:TOKEN}", "s3cret"),
        ("a ${TOKEN} and ${HOME}", "a s3cret and /home/ada"),
        ("${TOKEN:-other}", "s3cret"),
        ("${NOBODY:-other}", "other"),
        ("${NOBODY:-}", ""),
        ("${EMPTY:-other}", "other"),
        ("${EMPTY}", ""),
        ("$TOKEN", "$TOKEN"),
        ("${TOKEN", "${TOKEN"),
        ("${not a name}", "${not a name}"),
    ],
)
def test_a_reference_becomes_the_value(written: str, expanded: str) -> None:
    stdio = StdioServer(name="s", command=written, args=("-x", written), env={"A": written})
    resolved = stdio.resolve(ENVIRONMENT).server
    assert isinstance(resolved, StdioServer)
    assert resolved.command == expanded
    assert resolved.args == ("-x", expanded)
    assert resolved.env == {"A": expanded}
    http = HttpServer(name="h", url=written, headers={"A": written}).resolve(ENVIRONMENT).server
    assert isinstance(http, HttpServer)
    assert (http.url, http.headers) == (expanded, {"A": expanded})


def test_a_value_is_not_expanded_again() -> None:
    server = StdioServer(name="s", command="${A}").resolve({"A": "${B}", "B": "b"}).server
    assert isinstance(server, StdioServer)
    assert server.command == "${B}"


def test_all_missing_variables_are_named() -> None:
    server = HttpServer(name="h", url="${HOST}/x", headers={"A": "${KEY} ${HOST} ${TOKEN}"})
    with pytest.raises(
        MissingVariables, match="'h' needs HOST, KEY from the environment"
    ) as raised:
        server.resolve(ENVIRONMENT)
    assert raised.value.names == ("HOST", "KEY")


@pytest.mark.parametrize(
    ("env", "secrets"),
    [
        ({"ANY": "${TOKEN}"}, {"s3cret"}),
        ({"ANY": "Bearer ${TOKEN}"}, {"s3cret"}),
        ({"ANY": "${NOBODY:-other}"}, set()),
        ({"ANY": "${HOME}/data"}, set()),
        ({"ANY": "${EMPTY}"}, set()),
        ({"ANY": "written"}, set()),
        ({"API_KEY": "written"}, {"written"}),
        ({"Authorization": "Bearer written"}, {"Bearer written", "written"}),
    ],
)
def test_what_comes_from_the_environment_or_bears_a_secrets_name_is_secret(
    env: dict[str, str], secrets: set[str]
) -> None:
    assert StdioServer(name="s", command="c", env=env).resolve(ENVIRONMENT).secrets == secrets
    assert HttpServer(name="h", url="u", headers=env).resolve(ENVIRONMENT).secrets == secrets


def test_secrets_in_arguments_and_addresses_count_and_are_not_shown() -> None:
    stdio = StdioServer(name="s", command="c", args=("--token=${TOKEN}",)).resolve(ENVIRONMENT)
    http = HttpServer(name="h", url="http://h/?key=${TOKEN}").resolve(ENVIRONMENT)
    assert stdio.secrets == http.secrets == {"s3cret"}
    assert "secrets" not in repr(stdio)
