"""Errors of language models, one class per decision a caller makes.

    ModelError                what failed, and whether trying again may help
    ├── ModelUnavailable      there is no model to ask: configure or install one
    ├── BadCredentials        the key is missing or was refused: get another
    ├── NoAnswer              limit, outage, time-out, no connection: wait and ask again
    ├── RequestRejected       the provider will not take this question: ask another one
    └── BadOutput             the model answered, and not in the form that was asked for

All of it is decided from types, status codes and schemas. No message holds a key.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtrue.errors import RuntrueError

if TYPE_CHECKING:
    from runtrue.models.answer import Usage


class ModelError(RuntrueError):
    """A model could not be asked, or gave nothing that can be used.

    `category` is a short word for what happened and `fault` says who failed
    (`runtrue.loop.Fault`). `transient` means that the same question may succeed later, in
    `retry_after` seconds if the provider named a time. `usage` is what was used up in vain, if
    anything was sent.
    """

    category = "model"
    fault = "environment"
    transient = False
    retry_after: float | None = None
    usage: Usage | None = None


class ModelUnavailable(ModelError):
    """There is no model to ask: none is configured, known, or installed."""

    category = "model_unavailable"
    exit_code = 2


class BadCredentials(ModelError):
    """The key is missing, or the provider refused it."""

    category = "credentials"
    fault = "credentials"


class NoAnswer(ModelError):
    """The provider gave no answer: a limit, an outage, a time-out, a broken connection."""

    def __init__(
        self,
        message: str,
        *,
        category: str,
        transient: bool = True,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.category = category
        self.transient = transient
        self.retry_after = retry_after


class RequestRejected(ModelError):
    """The provider will not take this question: it is too long, or not in a form it accepts."""

    category = "request_rejected"
    fault = "candidate"


class BadOutput(ModelError):
    """The model's last answer, `output`, does not fit what was asked for; `problem` says why."""

    category = "bad_output"
    fault = "candidate"

    def __init__(self, message: str, *, problem: str, output: str) -> None:
        super().__init__(message)
        self.problem = problem
        self.output = output
