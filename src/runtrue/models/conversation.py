"""Conversations: one question, asked again where the answer does not fit. Imported late."""

from __future__ import annotations

import json
from dataclasses import dataclass

from pydantic_ai.direct import model_request
from pydantic_ai.exceptions import (
    ModelAuthenticationError,
    ModelContextWindowExceededError,
    ModelNotFoundError,
    ModelRequestRejectedError,
    UserError,
)
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestParameters, infer_model
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.providers import infer_provider_class
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from runtrue.models.answer import Answer, Usage
from runtrue.models.errors import BadOutput, ModelUnavailable
from runtrue.models.failures import failure_of
from runtrue.models.providers import Endpoint
from runtrue.models.structured import Form, Misfit

#: The tool a model calls with its answer.
_TOOL = "answer"
_PROBLEM = 300
#: Ends of an answer that asking once more would only repeat.
_FINAL = {
    "length": "it was cut off at the limit of output tokens",
    "content_filter": "the provider's content filter withheld it",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked, and the form of the answer where it is not just text."""

    prompt: str
    system: str | None
    form: Form | None
    settings: ModelSettings
    format_retries: int


@dataclass(slots=True)
class Tally:
    """What a question has used up so far."""

    model: str
    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = 0.0

    def add(self, response: ModelResponse) -> None:
        """Count one answer."""
        self.input_tokens += response.usage.input_tokens
        self.output_tokens += response.usage.output_tokens
        cost = _cost(response)
        self.cost = None if self.cost is None or cost is None else self.cost + cost

    @property
    def usage(self) -> Usage:
        """All of it, as a fact."""
        return Usage(
            model=self.model,
            requests=self.requests,
            input_tokens=self.input_tokens,
            output_tokens=self.output_tokens,
            cost=self.cost,
        )


def connect(endpoint: Endpoint) -> Model:
    """The library's model for an endpoint; entered, it holds a connection until it is left."""
    if endpoint.is_own and endpoint.provider in ("openai", "openai-chat"):
        # What others serve as "OpenAI-compatible" are chat completions, without OpenAI's newer API.
        from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

        compatible = OpenAICompatibleProvider(
            "openai", base_url=str(endpoint.url), api_key=endpoint.key
        )
        return infer_model(f"openai-chat:{endpoint.model}", lambda _: compatible)
    # The library would look for what is not given in the environment of this process.
    settings = {"api_key": endpoint.key or "none"}
    if endpoint.url:
        settings["base_url"] = endpoint.url
    try:
        return infer_model(endpoint.name, lambda name: infer_provider_class(name)(**settings))
    except UserError as error:
        raise ModelUnavailable(f"{endpoint.name} cannot be used: {error.message}") from None


def sendable(text: str) -> str:
    """The text in a form that can be sent and kept: half a surrogate pair has none in UTF-8."""
    return text.encode("utf-8", "replace").decode()


async def converse(
    connection: Model, endpoint: Endpoint, question: Question, tally: Tally
) -> Answer:
    """Ask until the answer fits, or the retries for that are used up."""
    messages: list[ModelMessage] = [_request(question, UserPromptPart(question.prompt))]
    prompted = not connection.profile.get("supports_tools", True)
    retries = question.format_retries
    while True:
        tally.requests += 1
        try:
            response = await model_request(
                connection,
                messages,
                model_settings=question.settings,
                model_request_parameters=_parameters(question.form, prompted=prompted),
                instrument=False,
            )
        except Exception as error:
            if question.form and not prompted and len(messages) == 1 and _is_rejected(error):
                # Not every model takes tools, nor every provider each schema; all take words.
                prompted = True
                continue
            raise failure_of(error, endpoint) from None
        tally.add(response)
        text = sendable(_text(response))
        try:
            data = _read(text, question.form)
        except Misfit as misfit:
            final = _FINAL.get(response.finish_reason or "")
            problem = endpoint.redact(final or str(misfit))[:_PROBLEM]
            if final or not retries:
                raise BadOutput(
                    f"the answer of {endpoint.name} cannot be used: {problem}",
                    problem=problem,
                    output=endpoint.redact(text),
                ) from None
            retries -= 1
            messages += [response, _correction(question, response, problem)]
        else:
            return Answer(text=text, data=data, usage=tally.usage)


def _request(question: Question, *parts: UserPromptPart | ToolReturnPart) -> ModelRequest:
    return ModelRequest(parts=parts, instructions=question.system)


def _correction(question: Question, response: ModelResponse, problem: str) -> ModelRequest:
    said = f"This answer cannot be used: {problem}. Answer again."
    returns: list[UserPromptPart | ToolReturnPart] = [
        ToolReturnPart(call.tool_name, said, call.tool_call_id, outcome="retried")
        for call in response.tool_calls
    ]
    return _request(question, *(returns or [UserPromptPart(said)]))


def _parameters(form: Form | None, *, prompted: bool) -> ModelRequestParameters:
    """What to send for the form: a tool to call, or words."""
    if form is None:
        return ModelRequestParameters()
    # Strict modes take a part of JSON Schema only, and close objects that the schema leaves open:
    # it is sent as it was written, and what comes back is looked at here.
    if prompted:
        words = OutputObjectDefinition(form.sent, name=_TOOL, strict=False)
        return ModelRequestParameters(output_mode="prompted", output_object=words)
    tool = ToolDefinition(
        name=_TOOL,
        description="Call this with the answer; nothing else is read.",
        parameters_json_schema=form.sent,
        strict=False,
        kind="output",
    )
    return ModelRequestParameters(output_mode="tool", output_tools=[tool], allow_text_output=False)


def _is_rejected(error: Exception) -> bool:
    """Whether it may have been the form that the provider, or the library for it, did not take."""
    other = (ModelAuthenticationError, ModelNotFoundError, ModelContextWindowExceededError)
    rejected = (ModelRequestRejectedError, UserError)
    return isinstance(error, rejected) and not isinstance(error, other)


def _text(response: ModelResponse) -> str:
    if not response.tool_calls:
        return response.text or ""
    # As it came: the library's own rendering mends what is not JSON.
    arguments = response.tool_calls[0].args
    return arguments if isinstance(arguments, str) else json.dumps(arguments or {})


def _read(text: str, form: Form | None) -> object:
    if not text.strip():
        raise Misfit("it is empty")
    return form.read(text) if form else None


def _cost(response: ModelResponse) -> float | None:
    if not response.model_name:
        return None
    try:
        return float(response.cost().total_price)
    except (LookupError, ValueError):
        return None
