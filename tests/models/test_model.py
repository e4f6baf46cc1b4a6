"""Models: what is sent for a question, and what comes back."""

from __future__ import annotations

import asyncio
import threading
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import pytest
from opentelemetry.trace import INVALID_SPAN, Span
from pydantic_ai import Agent, InstrumentationSettings, ModelRequest
from pydantic_ai.direct import model_request

from runtrue.models import Model, ModelAnswer, Usage, open_model
from runtrue.models.conversation import connect
from runtrue.models.providers import find_endpoint
from tests.models.openai_server import KEY, OpenAIServer, Request, Say, Silence


@pytest.fixture
def model(openai_server: OpenAIServer) -> Model:
    return open_model("openai:gpt-4o", openai_server.environment)


def test_an_answer_is_text_and_what_it_used_up(openai_server: OpenAIServer, model: Model) -> None:
    openai_server.script(Say("Paris", input_tokens=1_000_000, output_tokens=100_000))
    answer = asyncio.run(model.ask("What is the capital of France?"))
    usage = Usage(
        model="openai:gpt-4o",
        input_tokens=1_000_000,
        output_tokens=100_000,
        requests=1,
        cost=answer.usage.cost,
    )
    assert answer == ModelAnswer(text="Paris", data=None, usage=usage)
    # By the list price of that model: $2.50 and $10 for a million tokens in and out.
    assert answer.usage.cost == pytest.approx(3.5)


def test_the_question_goes_to_the_endpoint_with_the_key_and_nothing_that_was_not_said(
    openai_server: OpenAIServer, model: Model
) -> None:
    openai_server.script(Say("Paris"))
    asyncio.run(model.ask("Capital of France?"))
    (sent,) = openai_server.requests
    assert sent.path == "/v1/chat/completions"
    assert sent.headers["authorization"] == f"Bearer {KEY}"
    assert sent.body == {
        "model": "gpt-4o",
        "stream": False,
        "messages": [{"role": "user", "content": "Capital of France?"}],
    }


def test_what_is_said_about_the_answer_is_sent(openai_server: OpenAIServer, model: Model) -> None:
    openai_server.script(Say("Paris"))
    asking = model.ask("Capital?", system="Be brief.", temperature=0.0, max_tokens=7)
    asyncio.run(asking)
    (sent,) = openai_server.requests
    assert sent.messages[0] == {"role": "system", "content": "Be brief."}
    assert sent.body["temperature"] == 0.0
    assert sent.body["max_completion_tokens"] == 7


@pytest.mark.parametrize(
    "step",
    [
        Say("Paris", model="our-own-llama"),
        Say("Paris", model=""),
        Say("Paris", input_tokens=None),
    ],
)
def test_a_cost_that_is_not_known_is_none(
    openai_server: OpenAIServer, model: Model, step: Say
) -> None:
    openai_server.script(Say(""), step)
    usage = asyncio.run(model.ask("Capital?")).usage
    assert (usage.requests, usage.cost) == (2, None)
    assert usage.input_tokens == 10 + (step.input_tokens or 0)


def test_text_that_has_no_form_in_utf8_is_mended_on_both_ways(
    openai_server: OpenAIServer, model: Model
) -> None:
    openai_server.script(Say("half \ud83d of it"))
    answer = asyncio.run(model.ask("half \udc00 of it", system="half \ud83d of it"))
    assert answer.text == "half ? of it"
    assert [m["content"] for m in openai_server.requests[0].messages] == ["half ? of it"] * 2


def test_a_model_can_be_asked_many_things_at_once_and_from_one_loop_after_another(
    openai_server: OpenAIServer, model: Model
) -> None:
    def echo(request: Request) -> Say:
        return Say(request.prompt)

    async def ask_all() -> list[str]:
        answers = await asyncio.gather(*(model.ask(str(n)) for n in range(5)))
        return [answer.text for answer in answers]

    openai_server.script(*[echo] * 10)
    for _ in range(2):
        assert asyncio.run(ask_all()) == ["0", "1", "2", "3", "4"]


def test_cancelling_is_passed_on_at_once(openai_server: OpenAIServer, model: Model) -> None:
    asked = threading.Event()

    def note(_: Request) -> Silence:
        asked.set()
        return Silence()

    async def ask_and_cancel() -> None:
        task = asyncio.create_task(model.ask("Hello?"))
        assert await asyncio.to_thread(asked.wait, 20)
        task.cancel()
        await task

    openai_server.script(note)
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(ask_and_cancel())


# -- telemetry ----------------------------------------------------------------------------------


class Recorder:
    """Provides a tracer, itself, that notes what it is told to trace."""

    def __init__(self) -> None:
        self.spans: list[str] = []

    def get_tracer(self, *_: object, **__: object) -> Recorder:
        return self

    def start_as_current_span(
        self, name: str, *_: object, **__: object
    ) -> AbstractContextManager[Span]:
        self.spans.append(name)
        return nullcontext(INVALID_SPAN)


def test_no_question_is_traced_even_where_the_library_traces_all_else(
    openai_server: OpenAIServer, model: Model
) -> None:
    recorder: Any = Recorder()
    openai_server.script(Say("Paris"), Say("Paris"))
    Agent.instrument_all(InstrumentationSettings(tracer_provider=recorder))
    try:
        asyncio.run(model.ask("Capital?"))
        assert recorder.spans == []

        async def ask_past_the_door() -> None:
            endpoint = find_endpoint("openai:gpt-4o", openai_server.environment)
            async with connect(endpoint) as connection:
                await model_request(connection, [ModelRequest.user_text_prompt("Capital?")])

        asyncio.run(ask_past_the_door())
        assert recorder.spans != []
    finally:
        Agent.instrument_all(False)
