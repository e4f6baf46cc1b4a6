"""Failures: who failed and whether waiting helps, by structure; and never a key in the words."""

from __future__ import annotations

import asyncio
import socket
import traceback
from typing import Any

import pytest
from pydantic_ai.exceptions import UserError

from runtrue.errors import RuntrueError
from runtrue.models import (
    BadCredentials,
    BadOutput,
    ModelError,
    ModelUnavailable,
    NoAnswer,
    RequestRejected,
    Usage,
    open_model,
)
from runtrue.models.failures import failure_of
from runtrue.models.providers import find_endpoint
from tests.models.openai_server import KEY, HangUp, OpenAIServer, Raw, Refuse, Say, Silence, Step

#: Providers have been seen to repeat the key that they refused.
ECHO = f"the key {KEY} is at fault"
CREDENTIALS = (BadCredentials, "credentials", "credentials", False)
REJECTED = (RequestRejected, "request_rejected", "candidate", False)
FAILED = (NoAnswer, "server_error", "environment", True)
UNREADABLE = (NoAnswer, "protocol", "environment", True)


def failure(server: OpenAIServer, *steps: Step, **settings: Any) -> ModelError:
    server.script(*steps)
    model = open_model("openai:gpt-4o", server.environment)
    with pytest.raises(ModelError) as caught:
        asyncio.run(model.ask("What is the capital of France?", **settings))
    error = caught.value
    assert error.usage is not None
    assert error.usage.requests == len(steps), "no more is sent than what was scripted"
    assert len(server.requests) <= len(steps)
    return error


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (Refuse(401, ECHO), CREDENTIALS),
        (Refuse(403, ECHO), CREDENTIALS),
        (Refuse(407, ECHO), CREDENTIALS),
        (Refuse(400, ECHO, code="invalid_api_key"), CREDENTIALS),
        (Refuse(404, ECHO), (ModelUnavailable, "model_unavailable", "environment", False)),
        (Refuse(400, ECHO), REJECTED),
        (Refuse(400, ECHO, code="context_length_exceeded"), REJECTED),
        (Refuse(413, ECHO), REJECTED),
        (Refuse(422, ECHO), REJECTED),
        (Refuse(429, ECHO), (NoAnswer, "rate_limit", "environment", True)),
        (Refuse(429, ECHO, code="insufficient_quota"), (NoAnswer, "quota", "environment", False)),
        (Refuse(408, ECHO), FAILED),
        (Refuse(500, ECHO), FAILED),
        (Refuse(503, ECHO), FAILED),
        (Raw(ECHO.encode(), status=502, content_type="text/html"), FAILED),
        (HangUp(), (NoAnswer, "connection", "environment", True)),
        (Raw(b'{"choices": ['), UNREADABLE),
        (Raw(b'{"choices": []}'), UNREADABLE),
        (Raw(b"{}"), UNREADABLE),
        (Raw(b""), UNREADABLE),
        (Raw(ECHO.encode(), content_type="text/html"), UNREADABLE),
    ],
)
def test_a_failure_is_known_by_its_structure_and_says_nothing_of_the_key(
    openai_server: OpenAIServer,
    step: Step,
    expected: tuple[type[ModelError], str, str, bool],
) -> None:
    error = failure(openai_server, step)
    assert (type(error), error.category, error.fault, error.transient) == expected
    assert isinstance(error, RuntrueError)
    assert error.usage == Usage(model="openai:gpt-4o", requests=1)
    assert "openai:gpt-4o" in str(error)
    assert "\n" not in str(error)
    assert KEY not in "".join(traceback.format_exception(error)) + repr(vars(error))


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (Refuse(401), "refused the key in OPENAI_API_KEY (401)"),
        (
            Refuse(404, "No such model."),
            "is not there (404): No such model; check the model's name",
        ),
        (Refuse(400, ECHO), "rejected the request (400): the key [key] is at fault"),
        (Refuse(500, "first\n  line"), "failed (500): first line"),
        (Refuse(500, " "), "failed (500)"),
        (Refuse(500, "x" * 301), f"failed (500): {'x' * 300}…"),
        (Refuse(429, "Slow down."), "is at its rate limit (429): Slow down"),
    ],
)
def test_a_message_says_what_happened_and_what_the_provider_said(
    openai_server: OpenAIServer, step: Step, message: str
) -> None:
    host = openai_server.url.removeprefix("http://").removesuffix("/v1")
    assert str(failure(openai_server, step)) == f"openai:gpt-4o at {host} {message}"


def test_an_endpoint_that_was_given_no_key_asks_for_one(openai_server: OpenAIServer) -> None:
    openai_server.script(Refuse(401))
    model = open_model("openai:gpt-4o", {"OPENAI_BASE_URL": openai_server.url})
    with pytest.raises(BadCredentials, match=r"needs a key \(401\); set OPENAI_API_KEY$"):
        asyncio.run(model.ask("Hello?"))


def test_another_protocol_has_its_words_elsewhere(openai_server: OpenAIServer) -> None:
    said = b'{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}'
    openai_server.script(Raw(said, status=529))
    url = openai_server.url.removesuffix("/v1")
    environment = {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": KEY}
    model = open_model("anthropic:claude-haiku-4-5", environment)
    with pytest.raises(NoAnswer, match=r"failed \(529\): Overloaded$"):
        asyncio.run(model.ask("Hello?"))


def test_what_the_library_will_not_send_is_a_rejected_question() -> None:
    endpoint = find_endpoint("deepseek:x", {"DEEPSEEK_API_KEY": KEY})
    error = failure_of(UserError(f"no schema with {KEY} in it"), endpoint)
    assert isinstance(error, RequestRejected)
    assert (
        str(error) == "deepseek:x at deepseek rejected the request before sending it: "
        "no schema with [key] in it"
    )


def test_the_time_that_a_provider_asks_to_wait_is_handed_on(openai_server: OpenAIServer) -> None:
    limited = failure(openai_server, Refuse(429, headers={"Retry-After": "7"}))
    assert limited.retry_after == 7


def test_a_password_in_the_address_is_not_shown() -> None:
    with socket.socket() as held:
        # Bound and not listening: nobody answers there.
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
        environment = {"OPENAI_BASE_URL": f"http://me:hunter2@127.0.0.1:{port}/v1?token=t0k"}
        model = open_model("openai:gpt-4o", environment)
        with pytest.raises(NoAnswer) as caught:
            asyncio.run(model.ask("Hello?"))
    assert caught.value.category == "connection"
    assert f"127.0.0.1:{port}" in str(caught.value)
    shown = "".join(traceback.format_exception(caught.value)) + repr(model)
    assert "hunter2" not in shown
    assert "t0k" not in shown


def test_silence_ends_when_the_time_is_up(openai_server: OpenAIServer) -> None:
    error = failure(openai_server, Silence(), timeout=0.3)
    assert (error.category, error.transient) == ("timeout", True)
    assert str(error).endswith("did not answer within 0.3 s")


def test_the_time_is_for_the_whole_question_and_what_was_used_is_not_lost(
    openai_server: OpenAIServer,
) -> None:
    error = failure(openai_server, Say("", input_tokens=30), Silence(), timeout=3)
    assert error.category == "timeout"
    assert error.usage is not None
    assert error.usage.input_tokens == 30


def test_what_failed_after_an_answer_that_did_not_fit_has_what_both_used(
    openai_server: OpenAIServer,
) -> None:
    error = failure(openai_server, Say("no", output_tokens=8), Refuse(429), schema={})
    assert error.category == "rate_limit"
    assert error.usage is not None
    assert error.usage.output_tokens == 8


@pytest.mark.parametrize(
    ("steps", "problem"),
    [
        ([Say(""), Say(None)], "it is empty"),
        ([Say(" \n", finish_reason="length")], "it hit the limit of output tokens"),
        (
            [Say(None, finish_reason="content_filter")],
            "the provider's content filter withheld it",
        ),
    ],
)
def test_an_answer_without_any_text_is_none(
    openai_server: OpenAIServer, steps: list[Step], problem: str
) -> None:
    error = failure(openai_server, *steps)
    assert isinstance(error, BadOutput)
    assert error.problem == problem
    assert str(error) == f"the answer of openai:gpt-4o cannot be used: {problem}"
