"""The `command` fixer: runs a plan's own command again, with what was found wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runtrue import process
from runtrue.checks import output_of, trim
from runtrue.fixers.agent import write_prompt
from runtrue.fixers.context import Redact
from runtrue.loop import Finding, FixTask, Proposal, Workplace
from runtrue.redaction import Redactor, secrets_in

#: The variables that say what is wanted of a command.
PROMPT_FILE, FINDINGS = "RUNTRUE_PROMPT_FILE", "RUNTRUE_FINDINGS"
#: Characters of all findings, and of one text in them: no system takes a variable of any length.
_ALL, _TEXT = 60_000, 2_000
_SAID = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandResult:
    """How a command ended. `exit_code` is set when it ended by itself."""

    said: str
    exit_code: int | None = None
    failure: str | None = None


class CommandFixer:
    """Runs the shell command again that made what is to be fixed.

    `$RUNTRUE_PROMPT_FILE` names the file of the prompt that an agent would get, and
    `$RUNTRUE_FINDINGS` holds the findings as JSON. `redact` redacts both; by default, the values of
    secrets that the command is given.
    """

    name = "command"
    trusted = False
    repeatable = False
    side_effect = False

    def __init__(self, *, timeout: float, redact: Redact | None = None) -> None:
        self._timeout = timeout
        self._redact = redact

    def unavailable(self) -> str | None:
        """Return None: the task names the command."""
        return None

    def accepts(self, finding: Finding) -> bool:
        """Accept anything: the command itself says what it can do."""
        return True

    async def propose(self, task: FixTask, workplace: Workplace) -> Proposal:
        """Run it. A command that fails is a failure of the fixer, never a finding."""
        if task.redo is None:
            return Proposal(description="no command created the failing file")
        redact = self._redact or Redactor(secrets_in(workplace.environment))
        ran = await run_command(
            task.redo,
            workplace,
            timeout=self._timeout,
            variables=command_variables(
                write_prompt(task, workplace, redact), task.findings, workplace, redact
            ),
        )
        return Proposal(description=ran.said or task.redo, failure=ran.failure)


async def run_command(
    command: str,
    workplace: Workplace,
    *,
    # Not the caller's to wrap around the call: what the command said until then would be lost.
    timeout: float,  # noqa: ASYNC109
    variables: Mapping[str, str],
) -> CommandResult:
    """Run a shell command in the workplace, with variables beside those of its environment."""
    try:
        ended = await process.run(
            ["/bin/sh", "-c", command],
            cwd=workplace.directory,
            env={**workplace.environment, **variables},
            timeout=timeout,
            confinement=workplace.confinement,
        )
    except OSError as error:
        return CommandResult(said="", failure=f"`{command}` cannot be run: {error.strerror}")
    said = trim(output_of(ended), _SAID)
    if ended.exceeded:
        return CommandResult(said=said, failure=f"`{command}` {ended.exceeded.message}")
    if ended.timed_out:
        return CommandResult(
            said=said, failure=f"`{command}` did not finish within {timeout:.0f} s"
        )
    code = ended.exit_code
    if code == 0:
        return CommandResult(said=said, exit_code=code)
    # The shell's own codes for a program that cannot be run or found.
    how = "names a program that cannot be run" if code in (126, 127) else f"exited with code {code}"
    return CommandResult(said=said, exit_code=code, failure=f"`{command}` {how}")


def command_variables(
    prompt: str, findings: Sequence[Finding], workplace: Workplace, redact: Redact
) -> dict[str, str]:
    """Return the variables that say what is wanted of a command; writes the prompt's file."""
    file = workplace.scratch / "prompt.md"
    file.write_text(redact(prompt), encoding="utf-8")
    listed = json.dumps(list(_that_fit(findings, redact)))
    return {PROMPT_FILE: str(file), FINDINGS: listed}


def _that_fit(findings: Sequence[Finding], redact: Redact) -> Iterator[dict[str, Any]]:
    """Yield findings as data, as many as there is room for; without `data` where that is long."""
    room = _ALL
    for finding in findings:
        place = finding.location
        facts: dict[str, Any] = {
            "source": finding.source,
            "category": finding.category,
            "message": finding.message,
            "file": place.file,
            "line": place.line,
            "symbol": place.symbol,
            "sample": finding.sample,
        }
        short = _plain(facts, redact)
        whole = {**short, "data": _plain(finding.data, redact)}
        chosen = next((facts for facts in (whole, short) if _size(facts) <= room), None)
        if chosen is None:
            return
        room -= _size(chosen)
        yield chosen


def _plain(value: Any, redact: Redact) -> Any:
    """Return a value as JSON has it, each text redacted and trimmed."""
    if isinstance(value, str):
        return trim(redact(value.replace("\0", "\ufffd")), _TEXT // 2)
    if isinstance(value, Mapping):
        return {str(name): _plain(member, redact) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(member, redact) for member in value]
    return value if value is None or isinstance(value, bool | int | float) else str(value)


def _size(facts: dict[str, Any]) -> int:
    return len(json.dumps(facts))
