"""Models: open one by its name, and ask it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from runtrue.models.answer import ModelAnswer, Usage
from runtrue.models.errors import ModelError, ModelUnavailable
from runtrue.models.providers import INSTALL, Endpoint, find_endpoint

if TYPE_CHECKING:
    from pydantic_ai.settings import ModelSettings

    from runtrue.config import ModelConfig


class Model:
    """A language model; `open_model` makes one.

    Each question has a connection of its own, so there is nothing to close, and one model can be
    asked from anywhere. Nothing is retried but what `format_retries` allows.
    """

    def __init__(self, endpoint: Endpoint, *, format_retries: int) -> None:
        self._endpoint = endpoint
        self._format_retries = format_retries

    def __repr__(self) -> str:
        return f"<Model {self.name!r}>"

    @property
    def name(self) -> str:
        """Its name: `provider:model`."""
        return self._endpoint.name

    @property
    def host(self) -> str:
        """The host and port of its endpoint."""
        return self._endpoint.host

    async def ask(
        self,
        prompt: str,
        *,
        system: str | None = None,
        schema: dict[str, Any] | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
        # Not the caller's to wrap around the call: what was used up until then would be lost.
        timeout: float = 60,  # noqa: ASYNC109
    ) -> ModelAnswer:
        """Ask a question and wait for the answer, for `timeout` seconds in all.

        With a JSON Schema the answer has data that fits it. Raises one of the ModelError family,
        with the usage until then; UsageError for a schema that is wrong in itself.
        """
        import asyncio

        from runtrue.models.conversation import Conversation, connect, sendable
        from runtrue.models.failures import timed_out
        from runtrue.models.structured import AnswerSchema

        conversation = Conversation(
            endpoint=self._endpoint,
            prompt=sendable(prompt),
            system=sendable(system) if system else None,
            schema=None if schema is None else AnswerSchema(schema),
            settings=_settings(temperature, max_tokens, timeout),
            format_retries=self._format_retries,
            usage=Usage(model=self.name),
        )
        try:
            async with asyncio.timeout(timeout), connect(self._endpoint) as connection:
                return await conversation.answer(connection)
        except TimeoutError:
            failure: ModelError = timed_out(self._endpoint, timeout)
        except ModelError as error:
            failure = error
        failure.usage = conversation.usage
        raise failure


def open_model(
    name: str | None,
    environment: Mapping[str, str],
    *,
    config: ModelConfig | None = None,
    format_retries: int = 1,
) -> Model:
    """Open the model of that name, with the key and the endpoint of `environment` and `config`.

    Nothing is sent. Raises ModelUnavailable or BadCredentials where it is clear from the start
    that no question could be asked.
    """
    endpoint = find_endpoint(name, environment, config)
    try:
        from runtrue.models.conversation import connect

        # Made and dropped, to see now whether all that it needs is installed.
        connect(endpoint)
    except ImportError:
        raise ModelUnavailable(
            f"{endpoint.name} needs packages that are not installed; {INSTALL}"
        ) from None
    return Model(endpoint, format_retries=format_retries)


def has_known_price(name: str, environment: Mapping[str, str]) -> bool:
    """Return whether what a model costs is known: by the user's word, or by a list of prices."""
    endpoint = find_endpoint(name, environment)
    if endpoint.price is not None:
        return True
    try:
        from genai_prices import Usage as PricedUsage
        from genai_prices import calc_price

        provider = endpoint.provider.partition("-")[0]
        calc_price(PricedUsage(), model_ref=endpoint.model, provider_id=provider)
    except (ImportError, LookupError, ValueError):
        return False
    return True


def _settings(temperature: float | None, max_tokens: int | None, timeout: float) -> ModelSettings:
    # The caller decides about retries, and counts them. `ask` limits the time of all requests
    # together; the library's limit for each must not come first.
    settings: ModelSettings = {"max_retries": 0, "timeout": timeout + 60}
    if temperature is not None:
        settings["temperature"] = temperature
    if max_tokens is not None:
        settings["max_tokens"] = max_tokens
    return settings
