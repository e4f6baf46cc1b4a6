"""The editor: asks a language model for edits of files, and makes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from runtrue.checks import plain
from runtrue.config import ModelConfig
from runtrue.fixers.context import Redact, fill, sendable
from runtrue.fixers.edits import EDITS, EditError, apply_edits, read_edits
from runtrue.foreign_text import cut
from runtrue.models import BadOutput, Model, ModelError, Usage, fence, open_model
from runtrue.redaction import MARK, Redactor, secrets_in

#: How often a model is asked whose edits cannot be made: once more, with the reason.
_TRIES = 2
_REASON = 1_000
#: Seconds: a provider that asks for a longer wait is not waited for, and the longest wait where it
#: names none.
_LONGEST_WAIT = 600.0
_LONGEST_BACKOFF = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Edited:
    """The result of asking a model for edits.

    `said` is its last answer, in the form that was asked for. `problem` says why nothing was
    changed, `failure` why no model could be asked.
    """

    files: tuple[str, ...] = ()
    said: dict[str, Any] = field(default_factory=dict)
    problem: str | None = None
    failure: str | None = None
    #: False if asking again cannot help.
    transient: bool = True
    #: The seconds after which it may be asked again.
    retry_after: float | None = None
    usage: Usage | None = None


class ModelEditor:
    """A model with files to edit, opened when it is first asked.

    `redact` redacts prompts; by default, the values of secrets.
    """

    def __init__(
        self,
        name: str | None,
        environment: Mapping[str, str],
        *,
        timeout: float,
        redact: Redact | None = None,
        config: ModelConfig | None = None,
    ) -> None:
        self._name = name
        self._config = config
        self._environment = environment
        self._timeout = timeout
        self._redact = redact
        self._model: Model | None = None

    def unavailable(self) -> str | None:
        """Return why it cannot be used, or None."""
        if self._name:
            return None
        return "no language model is configured (RUNTRUE_MODEL, or [model] name)"

    async def edit(
        self,
        prompt: str,
        properties: dict[str, Any],
        *,
        root: Path,
        environment: Mapping[str, str],
        refuse: Callable[[str], str | None],
        failures: int = 0,
    ) -> Edited:
        """Ask for edits below `root` and make them, all or none.

        `properties` are what else the answer may hold, as a JSON Schema has them; `environment`
        is that of the commands whose output is in the prompt, and `refuse` as in `apply_edits`.
        After a few `failures` in a row, the wait before the next question is longer.
        """
        known = {**secrets_in(self._environment), **secrets_in(environment)}
        first = sendable((self._redact or Redactor(known))(prompt))
        form, asked, edited = _form(properties), first, Edited()
        for _ in range(_TRIES):
            edited = await self._once(asked, form, root, refuse, edited.usage)
            if edited.failure:
                return replace(edited, retry_after=_wait(edited, failures))
            if not edited.problem or not edited.said.get("edits"):
                break
            asked = fill("again", prompt=first, reason=fence(edited.problem, limit=_REASON))
        return edited

    async def _once(
        self,
        prompt: str,
        form: dict[str, Any],
        root: Path,
        refuse: Callable[[str], str | None],
        used: Usage | None,
    ) -> Edited:
        try:
            answer = await self._opened().ask(
                prompt, system=fill("edits"), schema=form, timeout=self._timeout
            )
        except BadOutput as error:
            return Edited(problem=str(error), usage=error.usage.plus(used) if error.usage else used)
        except ModelError as error:
            usage = error.usage.plus(used) if error.usage else used
            return _failed(error, usage)
        usage = answer.usage.plus(used)
        said: dict[str, Any] = answer.data if isinstance(answer.data, dict) else {}
        if not said.get("edits"):
            return Edited(said=said, problem="the model proposed no edit", usage=usage)
        try:
            edits = read_edits(said["edits"])
            if any(MARK in edit.new for edit in edits):
                raise EditError(
                    f"`{MARK}…]` stands for what you were not shown: do not edit such lines"
                )
            files = apply_edits(edits, root, refuse=refuse)
        except EditError as error:
            return Edited(said=said, problem=str(error), usage=usage)
        return Edited(files=files, said=said, usage=usage)

    def _opened(self) -> Model:
        if self._model is None:
            self._model = open_model(self._name, self._environment, config=self._config)
        return self._model


def sentence(text: object, limit: int = 500) -> str:
    """Return a model's own words as one line of bounded length."""
    return " ".join(str(text).split())[:limit]


def one_line(text: str) -> str:
    """Return what somebody said as one short line, without colours and control characters."""
    printable = "".join(c if c.isprintable() else " " for c in plain(text))
    return cut(" ".join(printable.split()), 160)


def _failed(error: ModelError, usage: Usage | None) -> Edited:
    wait = error.retry_after or 0.0
    if wait > _LONGEST_WAIT:
        failure = f"{error}; it asks to wait for {wait:.0f} s"
        return Edited(failure=failure, transient=False, usage=usage)
    return Edited(
        failure=str(error), transient=error.transient, retry_after=error.retry_after, usage=usage
    )


def _wait(edited: Edited, failures: int) -> float | None:
    """Return how long to wait before asking again: as the provider says, or twice as long."""
    if not edited.transient or edited.retry_after is not None:
        return edited.retry_after
    return min(2.0**failures, _LONGEST_BACKOFF)


def _form(properties: dict[str, Any]) -> dict[str, Any]:
    # What a model says of its edits is welcome; edits are taken without it.
    every = {**properties, "edits": EDITS}
    return {"type": "object", "properties": every, "required": ["edits"]}
