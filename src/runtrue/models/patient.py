"""Patience: a question is asked again after a limit, an outage or a broken connection."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from typing import Any

from runtrue.models.answer import ModelAnswer, Usage
from runtrue.models.errors import NoAnswer
from runtrue.models.model import Model

#: How often a question is asked again; the first wait in seconds, doubled each time; and the
#: longest that a provider may ask for.
_RETRIES, _FIRST_WAIT, _LONGEST_WAIT = 2, 0.5, 20.0
_RETRIED = frozenset({"rate_limit", "server_error", "connection"})


class PatientModel(Model):
    """A model that is asked again where that may help, all within one question's time.

    One that left a question unanswered until its time was up is not waited for again: the run goes
    on without it.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self._hung: NoAnswer | None = None

    @property
    def name(self) -> str:
        """The model's name."""
        return self._model.name

    @property
    def host(self) -> str:
        """The host and port of the model's endpoint."""
        return self._model.host

    async def ask(self, prompt: str, *, timeout: float = 60, **options: Any) -> ModelAnswer:  # noqa: ASYNC109
        """Ask a question, as `Model.ask` does."""
        if self._hung is not None:
            raise NoAnswer(str(self._hung), category="timeout")
        end = time.monotonic() + timeout
        used: Usage | None = None
        for tried in range(_RETRIES + 1):
            left = max(end - time.monotonic(), 1.0)
            try:
                answer = await self._model.ask(prompt, timeout=left, **options)
                return answer if used is None else replace(answer, usage=used.plus(answer.usage))
            except NoAnswer as error:
                if error.category == "timeout":
                    self._hung = error
                used = error.usage if used is None else used.plus(error.usage)
                error.usage = used
                wait = _FIRST_WAIT * 2**tried if error.retry_after is None else error.retry_after
                is_short = wait <= _LONGEST_WAIT and time.monotonic() + wait < end
                if tried == _RETRIES or error.category not in _RETRIED or not is_short:
                    raise
                await asyncio.sleep(wait)
        raise AssertionError("the last try returns or raises")
