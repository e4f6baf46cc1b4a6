"""The `tool` fixer: runs programs that fix what their check finds, always in the same way."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from runtrue.encoding import decoded
from runtrue.fixers.autofix import AutofixCommands, run_autofix
from runtrue.loop import Confidence, Finding, FixTask, History, Proposal, Workplace

_SURE = Confidence(value=0.9, reason="the tool fixed its own findings")

#: The lines of a candidate, by file, that it changed.
ChangedLines = Callable[[str], Mapping[str, frozenset[int]]]


class ToolFixer:
    """Runs the autofix command of each check that has findings, and keeps what they need.

    Edits to files without a finding of the check are undone. Of the checks in `narrow`, whose old
    findings nobody asked to fix, only edits to lines that the candidate changed, or that have a
    finding, are kept. What the report of a check calls unsafe to fix is fixed only if the check has
    a command for it, and after everything else.
    """

    name = "tool"
    # A formatter may format tests, too: what it does to them is known and changes no meaning.
    trusted = True
    repeatable = False
    side_effect = False

    def __init__(
        self,
        autofix: AutofixCommands,
        *,
        narrow: Collection[str] = (),
        changed: ChangedLines = lambda candidate: {},
    ) -> None:
        self._autofix = autofix
        self._narrow = frozenset(narrow)
        self._changed = changed

    def unavailable(self) -> str | None:
        """Return why there is nothing to run, or None."""
        has_any = bool(self._autofix.commands)
        return None if has_any else "no check has a command that fixes its findings"

    def accepts(self, finding: Finding) -> bool:
        """Return whether the finding's check has an autofix command, and it can fix this one."""
        return self._command(finding) is not None

    async def propose(self, task: FixTask, workplace: Workplace) -> Proposal:
        """Run the commands. Whether findings remain is for the checks to say."""
        pairs = [
            (finding, command)
            for finding in task.findings
            if (command := self._command(finding)) and not _has_broken_a_test(command, task.history)
        ]
        if not pairs:
            return Proposal(description="its fix broke a test and was undone", texts={})
        # What is unsafe waits until all that is safe is done.
        safe = [(f, c) for f, c in pairs if c not in self._autofix.unsafe.values()]
        findings, commands = zip(*(safe or pairs), strict=True)
        allowed = self._allowed(findings, task.candidate)
        before = {file: _read(workplace.root / file) for file in allowed or ()}
        proposal = await run_autofix(commands, workplace)
        if allowed is None or proposal.failure:
            return replace(proposal, confidence=_SURE)
        texts = {}
        for file, lines in allowed.items():
            old, new = before[file], _read(workplace.root / file)
            if old is not None and new is not None:
                texts[file] = new if lines is None else _with_edits_at(lines, old, new)
        changed = {file: text for file, text in texts.items() if text != before[file]}
        return Proposal(description=proposal.description, texts=changed, confidence=_SURE)

    def _command(self, finding: Finding) -> str | None:
        source = finding.source
        if source in self._autofix.safe and not finding.data.get("fixable", True):
            return self._autofix.unsafe.get(source) if finding.data.get("unsafe_fix") else None
        return self._autofix.commands.get(source)

    def _allowed(
        self, findings: Iterable[Finding], candidate: str
    ) -> dict[str, frozenset[int] | None] | None:
        """The files that may be edited, with their lines where not all may; None: anything.

        A check that names no file has something against all of them.
        """
        allowed: dict[str, frozenset[int] | None] = {}
        for finding in findings:
            file, line = finding.location.file, finding.location.line
            if finding.source not in self._narrow:
                # A command of the user's own may have to change something else.
                if file is None or finding.source not in self._autofix.safe:
                    return None
                allowed[file] = None
                continue
            changed = self._changed(candidate)
            own = frozenset(finding.data.get("fix_lines", [line] if line else []))
            for name in (file,) if file else changed:
                lines = allowed.get(name, frozenset())
                if lines is not None:
                    allowed[name] = lines | own | changed.get(name, frozenset())
        return allowed


def _has_broken_a_test(command: str, history: History) -> bool:
    """True if a fix with this command broke a test and was undone: it would do so again."""
    broken = (a.fix for a in history.attempts if a.fix and history.regressions(a))
    parts = (part for fix in broken for part in fix.parts if part.fixer == ToolFixer.name)
    return any(command in part.description for part in parts)


def _read(path: Path) -> str | None:
    try:
        return decoded(path.read_bytes())
    except (OSError, UnicodeDecodeError):
        return None


def _with_edits_at(lines: frozenset[int], old: str, new: str) -> str:
    """`old` with those differences from `new` that touch some of its lines."""
    before, after = _lines(old), _lines(new)
    merged: list[str] = []
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for _, start, end, new_start, new_end in matcher.get_opcodes():
        if end - start == new_end - new_start:
            both = zip(before[start:end], after[new_start:new_end], strict=True)
            pairs = enumerate(both, start + 1)
            merged += [new if number in lines else old for number, (old, new) in pairs]
            continue
        if new_start == new_end:
            numbered = enumerate(before[start:end], start + 1)
            merged += [line for number, line in numbered if number not in lines]
            continue
        # Lines count from 1, and what is inserted touches the lines around it.
        touched = range(start + 1, end + 1) if end > start else range(start, start + 2)
        is_allowed = not lines.isdisjoint(touched)
        merged += after[new_start:new_end] if is_allowed else before[start:end]
    return "".join(merged)


def _lines(text: str) -> list[str]:
    # As tools count them: a form feed ends none.
    return [line for line in re.split(r"(?<=\n)", text) if line]
