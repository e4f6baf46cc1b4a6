"""The `agent` fixer: any coding agent with a command line; prompt in, edited files out."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Sequence
from importlib import resources
from pathlib import Path
from string import Template

from runtrue import process
from runtrue.checks import is_shell, output_of, trim
from runtrue.loop import Attempt, Finding, Fix, FixTask, History, Proposal, Reason, Workplace
from runtrue.models import fence

#: How much a prompt may hold: findings, and characters for each of them.
_MOST_FINDINGS = 20
_SAMPLE = 1_500
_MOST_NAMES = 10

_PLACEHOLDER = re.compile(r"\{prompt(?:_file)?\}")
#: Programs that run an argument of theirs as a line for the shell.
_SHELLS = frozenset({"sh", "bash", "dash", "ksh", "zsh"})

_REJECTED = {
    Reason.UNCHANGED: "no file was changed by it",
    Reason.REPEATED: "it gave a candidate that had already failed, so it was not run again",
}


class AgentFixer:
    """Runs a command in the sandbox. `{prompt_file}` and `{prompt}` in it are filled in.

    Where neither occurs, the prompt goes to the command's standard input.
    """

    name = "agent"
    trusted = False
    repeatable = True

    def __init__(
        self, command: str | None, *, timeout: float, env: tuple[str, ...] = (), once: bool = False
    ) -> None:
        self._command = command
        self._timeout = timeout
        self._env = env
        self.side_effect = once and command is not None

    def unavailable(self) -> str | None:
        """Why it cannot be used at all: none is configured."""
        return None if self._command else "no agent is configured ([fixers.agent] command)"

    def accepts(self, finding: Finding) -> bool:
        """An agent can be asked about anything."""
        return True

    async def propose(self, task: FixTask, workplace: Workplace) -> Proposal:
        """Run the agent. A broken agent is a failure of the fixer, never a finding."""
        prompt = write_prompt(task)
        prompt_file = workplace.scratch / "prompt.md"
        prompt_file.write_text(prompt, encoding="utf-8")
        try:
            argv, uses_prompt = _argv(self._command or "", prompt, str(prompt_file))
        except ValueError as error:
            why = f"its command cannot be read: {error}"
            return Proposal(description=self._command or "", failure=why)
        passed_on = {name: os.environ[name] for name in self._env if name in os.environ}
        try:
            ended = await process.run(
                argv,
                cwd=workplace.directory,
                env={**workplace.environment, **passed_on},
                timeout=self._timeout,
                stdin=None if uses_prompt else prompt.encode(),
            )
        except OSError as error:
            return Proposal(description=argv[0], failure=f"cannot be run: {error.strerror}")
        said = trim(output_of(ended), 500)
        if ended.timed_out:
            return Proposal(description=said, failure=f"did not end within {self._timeout:.0f} s")
        if ended.exit_code != 0:
            return Proposal(description=said, failure=f"exited with code {ended.exit_code}")
        return Proposal(description=said)


def write_prompt(task: FixTask) -> str:
    """The prompt for a task, from the template beside this module."""
    template = Template(
        resources.files("runtrue.fixers").joinpath("prompts/agent.md").read_text("utf-8")
    )
    shown = task.findings[:_MOST_FINDINGS]
    more = len(task.findings) - len(shown)
    findings = "\n\n".join(_finding(number, f) for number, f in enumerate(shown, start=1))
    prompt = template.substitute(
        commands="\n".join(f"  - `{command}`" for command in task.commands) or "  - not known",
        findings=findings + (f"\n\nAnd {more} more of the same checks." if more else ""),
        earlier=_earlier(task.history) or "None yet.",
        guidance="\n".join(answer.text for answer in task.history.answers) or "None.",
    )
    # It is handed on in arguments and files: no null character, and only what is text in UTF-8.
    return prompt.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


def _finding(number: int, finding: Finding) -> str:
    where = " ".join(filter(None, [str(finding.location), finding.location.symbol]))
    lines = [f"### {number}. {finding.source}: {finding.category} at {where}"]
    lines.append(fence(finding.message, limit=_SAMPLE))
    if finding.available:
        lines.append(f"Available: {', '.join(finding.available)}")
    if finding.sample:
        lines.append(fence(finding.sample, limit=_SAMPLE))
    return "\n".join(lines)


def _earlier(history: History) -> str:
    lines = [_attempt(attempt) for attempt in history.attempts if attempt.fix]
    lines += [
        f"- After attempt {rejection.after}: {_REJECTED[rejection.reason]}.{_undone(rejection.fix)}"
        for rejection in history.rejections
        if rejection.reason in _REJECTED
    ]
    return "\n".join(lines)


def _attempt(attempt: Attempt) -> str:
    fix = attempt.fix
    files = _few(fix.files) if fix and fix.files else "nothing"
    left = sorted({f"{f.category} ({f.location.symbol or f.location})" for f in attempt.blocking})
    outcome = f"still failing: {_few(left)}" if left else "it passed"
    return f"- Attempt {attempt.number} changed {files}; {outcome}.{_undone(fix)}"


def _undone(fix: Fix | None) -> str:
    restored = [file for part in fix.parts for file in part.restored] if fix else []
    return f" Its edits to {_few(restored)} were undone." if restored else ""


def _few(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(names[:_MOST_NAMES]) + more


def _argv(command: str, prompt: str, prompt_file: str) -> tuple[list[str], bool]:
    """The command with the prompt filled in, and whether it holds the prompt in any form."""
    uses_prompt = _PLACEHOLDER.search(command) is not None
    values = {"{prompt}": prompt, "{prompt_file}": prompt_file}

    def fill(text: str, quote: Callable[[str], str]) -> str:
        return _PLACEHOLDER.sub(lambda match: quote(values[match[0]]), text)

    if is_shell(_PLACEHOLDER.sub("", command)):
        return ["/bin/sh", "-c", fill(command, shlex.quote)], uses_prompt
    words = shlex.split(command)
    if not words:
        raise ValueError("it is empty")
    # Of a plain command each word is filled in as it stands, unless it is a line for a shell.
    has_shell = any(Path(word).name in _SHELLS for word in words)
    is_line = [has_shell and re.search(r"\s", word) is not None for word in words]
    argv = [fill(w, shlex.quote if line else str) for w, line in zip(words, is_line, strict=True)]
    return argv, uses_prompt
