"""The `model` fixer: asks a language model for edits, given findings and the files they name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import takewhile
from pathlib import Path
from typing import Any

from runtrue.config import ModelConfig
from runtrue.fixers.context import Redact, fill, task_text, wants_tests
from runtrue.fixers.editor import Edited, ModelEditor, one_line, sentence
from runtrue.loop import Analysis, Finding, FixTask, History, Proposal, Reason, Workplace
from runtrue.sandbox import is_judge, is_test

#: The properties of an answer beside the edits.
_PROPERTIES: dict[str, Any] = {
    "root_cause": {"type": "string", "description": "why the checks fail, in a sentence or two"},
    "fix_strategy": {"type": "string", "description": "what the edits do about it"},
    "confidence": {"type": "number", "minimum": 0, "description": "from 0 to 1"},
}


class ModelFixer:
    """Sends the findings with the files that matter, and makes the edits that come back.

    `files` are shown whatever the findings say: the code that the task is about. `environment`
    holds the model's key and endpoint, and `redact` redacts the prompt.
    """

    name = "model"
    trusted = False
    repeatable = True
    side_effect = False

    def __init__(
        self,
        model: str | None,
        environment: Mapping[str, str],
        *,
        files: tuple[str, ...] = (),
        timeout: float = 180,
        redact: Redact | None = None,
        config: ModelConfig | None = None,
    ) -> None:
        self._editor = ModelEditor(
            model, environment, timeout=timeout, redact=redact, config=config
        )
        self._redact: Redact = redact or str
        self._files = files

    def unavailable(self) -> str | None:
        """Return why it cannot be used, or None."""
        return self._editor.unavailable()

    def accepts(self, finding: Finding) -> bool:
        """Accept anything."""
        return True

    async def propose(self, task: FixTask, workplace: Workplace) -> Proposal:
        """Ask, and make the edits. An unusable answer changes nothing, and the proposal says so."""
        edited = await self._editor.edit(
            _prompt(task, workplace, self._files, self._redact),
            _PROPERTIES,
            root=workplace.root,
            environment=workplace.environment,
            refuse=_refusal(task, workplace.root),
            failures=_failures(task.history),
        )
        return Proposal(
            description=_description(edited),
            failure=edited.failure,
            transient=edited.transient,
            retry_after=edited.retry_after,
            refused=edited.problem,
            said=one_line(str(edited.said.get("fix_strategy", ""))) or None,
            analysis=_analysis(edited),
            usage=edited.usage.to_dict() if edited.usage else None,
        )


def _prompt(task: FixTask, workplace: Workplace, files: tuple[str, ...], redact: Redact) -> str:
    return fill(
        "model",
        commands="\n".join(f"- `{command}`" for command in task.commands) or "- not known",
        task=task_text(task, workplace, redact, files=files),
    )


def _failures(history: History) -> int:
    """Return how often in a row a fixer has failed for reasons of its own."""
    since = [r.reason for r in history.since_last_answer().rejections]
    last = takewhile(lambda reason: reason is Reason.FIXER_FAILED, reversed(since))
    return len(list(last))


def _refusal(task: FixTask, root: Path) -> Callable[[str], str | None]:
    """Return what refuses edits that would be undone anyway: better now than after the checks."""
    ran = task.history.test_files() if task.history.attempts else ()
    adds = any(wants_tests(finding) for finding in task.findings)
    only_adds = all(wants_tests(finding) for finding in task.findings)

    def refuse(file: str) -> str | None:
        if adds and is_test(file) and not (root / file).exists():
            return None
        if is_judge(file) or file in ran:
            return "this file judges the program and may not be changed"
        return "only new test files are allowed" if only_adds else None

    return refuse


def _description(edited: Edited) -> str:
    if edited.problem is None:
        return sentence(edited.said.get("fix_strategy", ""))
    why = sentence(edited.said.get("fix_strategy", ""), 200)
    return f"{edited.problem} ({why})" if why else edited.problem


def _analysis(edited: Edited) -> Analysis | None:
    said = edited.said
    cause = sentence(said.get("root_cause", ""))
    if not cause:
        return None
    confidence = said.get("confidence")
    return Analysis(
        root_cause=cause,
        fix_strategy=sentence(said.get("fix_strategy", "")) or None,
        # Some answer in percent, whatever the schema says.
        confidence=min(confidence / 100 if confidence > 1 else confidence, 1.0)
        if confidence is not None
        else None,
    )
