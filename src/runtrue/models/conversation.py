"""Conversations: one question, asked again if the answer does not fit. Imported late."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass, replace

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

from runtrue.models.answer import ModelAnswer, Usage
from runtrue.models.errors import BadOutput, ModelUnavailable
from runtrue.models.failures import failure_of
from runtrue.models.providers import Endpoint, find_provider
from runtrue.models.structured import AnswerSchema, Misfit
from runtrue.telemetry import model_call

#: The tool a model calls with its answer.
_TOOL = "answer"
_PROBLEM = 300
#: Ends of an answer that asking once more would only repeat.
_FINAL = {
    "length": "it hit the limit of output tokens",
    "content_filter": "the provider's content filter withheld it",
}


@dataclass(slots=True, kw_only=True)
class Conversation:
    """One question, the schema of its answer if it is not just text, and what it used up."""

    endpoint: Endpoint
    prompt: str
    system: str | None
    schema: AnswerSchema | None
    settings: ModelSettings
    format_retries: int
    usage: Usage

    async def answer(self, connection: Model) -> ModelAnswer:
        """Ask until the answer fits, or the retries for that are used up."""
        messages: list[ModelMessage] = [self._request(UserPromptPart(self.prompt))]
        prompted = not connection.profile.get("supports_tools", True)
        retries = self.format_retries
        while True:
            self.usage = replace(self.usage, requests=self.usage.requests + 1)
            try:
                with model_call() as instrument:
                    response = await model_request(
                        connection,
                        messages,
                        model_settings=self.settings,
                        model_request_parameters=_parameters(self.schema, prompted=prompted),
                        instrument=instrument,
                    )
            except Exception as error:
                if self.schema and not prompted and len(messages) == 1 and _is_rejected(error):
                    # Not every model takes tools, nor every provider each schema; all take words.
                    prompted = True
                    continue
                raise failure_of(error, self.endpoint) from None
            self.usage = self.usage.plus(_usage_of(response, self.endpoint.price))
            text = sendable(_text(response))
            try:
                if not text.strip():
                    raise Misfit("it is empty")
                data = self.schema.read(text) if self.schema else None
            except Misfit as misfit:
                final = _FINAL.get(response.finish_reason or "")
                problem = self.endpoint.redact(final or str(misfit))[:_PROBLEM]
                if final or not retries:
                    raise BadOutput(
                        f"the answer of {self.endpoint.name} cannot be used: {problem}",
                        problem=problem,
                        output=self.endpoint.redact(text),
                    ) from None
                retries -= 1
                messages += [response, self._correction(response, problem)]
            else:
                return ModelAnswer(text=text, data=data, usage=self.usage)

    def _request(self, *parts: UserPromptPart | ToolReturnPart) -> ModelRequest:
        return ModelRequest(parts=parts, instructions=self.system)

    def _correction(self, response: ModelResponse, problem: str) -> ModelRequest:
        said = f"This answer cannot be used: {problem}. Answer again."
        returns: list[UserPromptPart | ToolReturnPart] = [
            ToolReturnPart(call.tool_name, said, call.tool_call_id, outcome="retried")
            for call in response.tool_calls
        ]
        return self._request(*(returns or [UserPromptPart(said)]))


def connect(endpoint: Endpoint) -> Model:
    """Return the library's model for an endpoint, a context manager for its connection."""
    provider = find_provider(endpoint.provider)
    if provider is not None and (own := provider.connect(endpoint)) is not None:
        return own
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
    """Return a text that can be sent and stored: half a surrogate pair has no form in UTF-8."""
    return text.encode("utf-8", "replace").decode()


def _parameters(schema: AnswerSchema | None, *, prompted: bool) -> ModelRequestParameters:
    """Ask for the schema with a tool to call, or in words."""
    if schema is None:
        return ModelRequestParameters()
    # Strict modes take a part of JSON Schema only, and close objects that the schema leaves open:
    # it is sent as it was written, and what comes back is looked at here.
    if prompted:
        words = OutputObjectDefinition(schema.sent, name=_TOOL, strict=False)
        return ModelRequestParameters(output_mode="prompted", output_object=words)
    tool = ToolDefinition(
        name=_TOOL,
        description="Call this with the answer; nothing else is read.",
        parameters_json_schema=schema.sent,
        strict=False,
        kind="output",
    )
    return ModelRequestParameters(output_mode="tool", output_tools=[tool], allow_text_output=False)


def _is_rejected(error: Exception) -> bool:
    """Return whether the provider, or the library for it, may have refused the schema."""
    other = (ModelAuthenticationError, ModelNotFoundError, ModelContextWindowExceededError)
    rejected = (ModelRequestRejectedError, UserError)
    return isinstance(error, rejected) and not isinstance(error, other)


def _text(response: ModelResponse) -> str:
    if not response.tool_calls:
        return response.text or ""
    # As it came: the library's own rendering corrects what is not JSON.
    arguments = response.tool_calls[0].args
    return arguments if isinstance(arguments, str) else json.dumps(arguments or {})


def _usage_of(response: ModelResponse, price: tuple[float, float] | None) -> Usage:
    cost: float | None = None
    if price is not None:
        used = response.usage
        cost = (used.input_tokens * price[0] + used.output_tokens * price[1]) / 1_000_000
    elif response.model_name:
        with suppress(LookupError, ValueError):
            cost = float(response.cost().total_price)
    used = response.usage
    return Usage(
        model="", input_tokens=used.input_tokens, output_tokens=used.output_tokens, cost=cost
    )
