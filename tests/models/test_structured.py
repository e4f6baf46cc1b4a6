"""Structured output: data that fits a schema, or an error of its own kind."""

from __future__ import annotations

import asyncio
import copy
import json
from typing import Any

import pytest

from runtrue.errors import UsageError
from runtrue.models import BadOutput, ModelAnswer, RequestRejected, open_model
from tests.models.openai_server import Call, OpenAIServer, Raw, Refuse, Say, Script

CITY = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "people": {"type": "integer"}},
    "required": ["city", "people"],
    "additionalProperties": False,
}
PARIS = {"city": "Paris", "people": 2_100_000}
NUMBERS = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "array",
    "items": {"$ref": "#/$defs/number"},
    "$defs": {"number": {"type": "integer"}},
}


def ask(
    server: OpenAIServer, schema: dict[str, Any], *steps: Script, format_retries: int = 1
) -> ModelAnswer:
    server.script(*steps)
    model = open_model("openai:gpt-4o", server.environment, format_retries=format_retries)
    answer = asyncio.run(model.ask("Which city?", system="Be brief.", schema=schema))
    assert len(server.requests) == len(steps)
    assert answer.usage.requests == len(steps)
    return answer


def test_the_answer_is_asked_for_as_a_call_of_a_tool_that_takes_the_schema(
    openai_server: OpenAIServer,
) -> None:
    before = copy.deepcopy(CITY)
    answer = ask(openai_server, CITY, Call(PARIS))
    assert answer.data == PARIS
    assert json.loads(answer.text) == PARIS
    sent = openai_server.requests[0].body
    assert sent["tools"][0]["function"]["parameters"] == CITY
    assert sent["tool_choice"] == "required"
    assert before == CITY


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {}},
        {"type": "object", "properties": {"a": {"type": "object", "properties": {}}}},
        {"type": "object", "properties": {}, "additionalProperties": {"type": "string"}},
        {"type": "object", "properties": {"a": {}, "b": {"oneOf": [{"type": "null"}, {}]}}},
    ],
)
def test_the_schema_is_sent_as_it_was_written(
    openai_server: OpenAIServer, schema: dict[str, Any]
) -> None:
    """A strict mode would close what is open there, and nothing could be said in it."""
    ask(openai_server, schema, Call({}))
    function = openai_server.requests[0].body["tools"][0]["function"]
    assert function["parameters"] == schema
    assert not function.get("strict")


@pytest.mark.parametrize(
    ("schema", "said", "data"),
    [
        (NUMBERS, [1, 2], [1, 2]),
        ({"type": "string"}, "Paris", "Paris"),
        ({"type": ["object", "null"]}, None, None),
        ({"anyOf": [{"type": "object"}, {"type": "integer"}]}, {"value": 1}, {"value": 1}),
        ({}, False, False),
    ],
)
def test_a_schema_of_anything_but_an_object_is_wrapped_and_unwrapped(
    openai_server: OpenAIServer, schema: dict[str, Any], said: Any, data: Any
) -> None:
    assert ask(openai_server, schema, Call({"value": said})).data == data
    sent = openai_server.requests[0].body["tools"][0]["function"]["parameters"]
    assert sent["type"] == "object"
    assert list(sent["properties"]) == ["value"]
    assert sent.get("$defs") == schema.get("$defs")


@pytest.mark.parametrize(
    ("schema", "data"), [(NUMBERS, [1, 2]), ({}, {"value": 1, "more": 2}), ({}, {"more": 2})]
)
def test_an_answer_without_the_wrapping_is_taken_as_it_is(
    openai_server: OpenAIServer, schema: dict[str, Any], data: Any
) -> None:
    assert ask(openai_server, schema, Say(json.dumps(data))).data == data


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(PARIS),
        f"\n{json.dumps(PARIS)}\n",
        f"Here it is:\n\n```json\n{json.dumps(PARIS, indent=2)}\n```\nAnything else?",
        f"```\r\n{json.dumps(PARIS)}\r\n```",
    ],
)
def test_a_model_that_calls_no_tool_may_say_its_json(
    openai_server: OpenAIServer, text: str
) -> None:
    answer = ask(openai_server, CITY, Say(text))
    assert answer.data == PARIS
    assert answer.text == text


@pytest.mark.parametrize("status", [400, 422])
def test_where_the_form_is_rejected_the_schema_is_put_into_words(
    openai_server: OpenAIServer, status: int
) -> None:
    answer = ask(openai_server, CITY, Refuse(status), Say(json.dumps(PARIS)))
    assert answer.data == PARIS
    plain = openai_server.requests[1]
    assert "tools" not in plain.body
    instructions = " ".join(m["content"] for m in plain.messages if m["role"] == "system")
    assert "Be brief." in instructions
    assert '"people"' in instructions


def test_a_question_that_is_rejected_in_words_too_is_not_asked_again(
    openai_server: OpenAIServer,
) -> None:
    with pytest.raises(RequestRejected) as caught:
        ask(openai_server, CITY, Refuse(400), Refuse(400))
    assert caught.value.usage is not None
    assert caught.value.usage.requests == 2


@pytest.mark.parametrize(
    ("bad", "problem"),
    [
        (Call({"city": "Paris"}), "$: 'people' is a required property"),
        (Call({"city": "Paris", "people": "two"}), "$.people: 'two' is not of type 'integer'"),
        (Call({"value": PARIS}), "$: 'city' is a required property"),
        (Call('{"city": '), "it is not JSON (Expecting value, at character 9)"),
        (Call('{"city": "Paris", "people": NaN}'), "it is JSON that others cannot read"),
        (Call('{"city": "Paris", "people": 1e999}'), "it is JSON that others cannot read"),
        (Call(f'{{"city": "Paris", "people": {"1" * 5000}}}'), "it is JSON that others cannot"),
        (Call('{"city": "\\ud800", "people": 1}'), "it is JSON that others cannot read"),
        (Say("[" * 100_000), "it is JSON that others cannot read"),
        (Say("Paris, I think."), "it is not JSON (Expecting value, at character 0)"),
    ],
)
def test_what_does_not_fit_is_asked_for_once_more_with_the_reason(
    openai_server: OpenAIServer, bad: Say | Call, problem: str
) -> None:
    answer = ask(openai_server, CITY, bad, Call(PARIS, input_tokens=20))
    assert answer.data == PARIS
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (30, 10)
    first, again = (request.messages for request in openai_server.requests)
    assert again[: len(first)] == first
    told = again[-1]
    assert told["role"] == ("tool" if isinstance(bad, Call) else "user")
    assert problem in told["content"]
    if isinstance(bad, Call):
        assert told["tool_call_id"] == again[-2]["tool_calls"][0]["id"]


def test_data_that_cannot_be_followed_to_its_end_does_not_fit(openai_server: OpenAIServer) -> None:
    nested = {"type": "array", "items": {"$ref": "#"}}
    answer = ask(openai_server, nested, Say("[" * 300 + "]" * 300), Say("[[]]"))
    assert answer.data == [[]]
    assert "it is nested too deeply" in openai_server.requests[1].prompt


@pytest.mark.parametrize("retries", [0, 1, 3])
def test_what_never_fits_is_an_error_of_its_own_kind(
    openai_server: OpenAIServer, retries: int
) -> None:
    bad = [Call({"city": "Paris", "people": n / 2}) for n in range(1, 2 * retries + 2, 2)]
    with pytest.raises(BadOutput) as caught:
        ask(openai_server, CITY, *bad, format_retries=retries)
    error = caught.value
    assert len(openai_server.requests) == retries + 1
    assert json.loads(error.output) == bad[-1].arguments
    assert error.problem == f"$.people: {retries + 0.5} is not of type 'integer'"
    assert error.problem in str(error)
    assert (error.category, error.fault, error.transient) == ("bad_output", "candidate", False)
    assert error.usage is not None
    assert error.usage.requests == retries + 1


def test_what_was_cut_off_is_not_asked_for_again(openai_server: OpenAIServer) -> None:
    with pytest.raises(BadOutput, match="hit the limit of output tokens"):
        ask(openai_server, CITY, Call('{"city": "Par', finish_reason="length"))
    assert len(openai_server.requests) == 1


@pytest.mark.parametrize(
    ("schema", "says"),
    [
        ({"type": "objekt"}, "is wrong at $.type"),
        ({"type": "object", "properties": {"a": {"pattern": "("}}}, "at $.properties.a.pattern"),
    ],
)
def test_a_schema_that_is_wrong_is_found_before_anything_is_sent(
    openai_server: OpenAIServer, schema: dict[str, Any], says: str
) -> None:
    with pytest.raises(UsageError) as caught:
        ask(openai_server, schema)
    assert says in str(caught.value)
    assert openai_server.requests == []


def test_references_are_followed_within_the_schema_and_fetched_from_nowhere(
    openai_server: OpenAIServer,
) -> None:
    elsewhere = f"{openai_server.url}/schema.json"
    schema = {"type": "object", "properties": {"a": {"$ref": elsewhere}}}
    with pytest.raises(UsageError, match="which it does not hold"):
        ask(openai_server, schema, Call({"a": 1}))
    assert [request.path for request in openai_server.requests] == ["/v1/chat/completions"]


@pytest.mark.parametrize("schema", [CITY, {"type": "object"}, {}])
@pytest.mark.parametrize("model", ["claude-haiku-4-5", "claude-sonnet-5"])
def test_another_protocol_gives_the_same_answer(
    openai_server: OpenAIServer, model: str, schema: dict[str, Any]
) -> None:
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [{"type": "tool_use", "id": "t1", "name": "answer", "input": PARIS}],
        "stop_reason": "tool_use",
        "stop_sequence": None,
        "usage": {"input_tokens": 3, "output_tokens": 4},
    }
    openai_server.script(Raw(json.dumps(message).encode()))
    url = openai_server.url.removesuffix("/v1")
    environment = {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "k"}
    opened = open_model(f"anthropic:{model}", environment)
    answer = asyncio.run(opened.ask("Which city?", schema=schema, max_tokens=99))
    assert answer.data == PARIS
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (3, 4)
    assert answer.usage.cost
    assert openai_server.requests[0].path == "/v1/messages"
