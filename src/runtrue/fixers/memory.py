"""The `memory` fixer: makes a fix again that passed before, where it fits."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from runtrue.checks import language_of
from runtrue.fixers.sources import Lead, leads_of, read_text
from runtrue.loop import (
    Analysis,
    Attempt,
    Confidence,
    Fault,
    Finding,
    FixPart,
    FixTask,
    History,
    Outcome,
    Proposal,
    Workplace,
    write_texts,
)
from runtrue.memory import (
    DebugMemory,
    FixTemplate,
    Project,
    Rank,
    RankedFix,
    RememberedFix,
    TemplateMatch,
    find_matches,
    unique_match,
)
from runtrue.sandbox import is_judge

_FIX = re.compile(r"\bfix-(\d+)\b")
#: How much of what a template looks for must be there as it was, and in how many words: a lone
#: name fits everywhere. For a failure that only has the same cause, it must be more.
_WEIGHT = {Rank.FINGERPRINT: 2, Rank.SHAPE: 2, Rank.CAUSE: 6}
_TOKENS = 2
#: More findings than these are as a rule the same one.
_MOST_FINDINGS = 20
#: Files that are looked at for a failure that only has the same cause.
_MOST_LEADS = 10


def fix_ids(parts: Iterable[FixPart]) -> tuple[int, ...]:
    """Return the ids of the remembered fixes that changed something in these parts of a fix."""
    return _named(part for part in parts if part.files)


def _named(parts: Iterable[FixPart]) -> tuple[int, ...]:
    found: dict[int, None] = {}
    for part in parts:
        if part.fixer == MemoryFixer.name:
            texts = part.analysis.patterns_matched if part.analysis else (part.description,)
            found |= dict.fromkeys(int(number) for text in texts for number in _FIX.findall(text))
    return tuple(found)


def _tried(history: History) -> set[int]:
    """Return the ids of the fixes that were proposed in this run, whether they ran or not."""
    fixes = [attempt.fix for attempt in history.attempts if attempt.fix]
    fixes += [rejection.fix for rejection in history.rejections]
    return set(_named(part for fix in fixes for part in fix.parts))


def failed_fixes(attempt: Attempt, history: History) -> dict[int, tuple[Finding, ...]]:
    """Return the remembered fixes that an attempt ran, each with the findings it did not fix.

    A finding of a test is fixed when the test passes: failing in another way is not enough.
    """
    fix = attempt.fix
    if fix is None:
        return {}
    made = [part for part in fix.parts if part.files]
    # What others did may be what broke something.
    is_alone = all(part.fixer == MemoryFixer.name for part in made)
    spoils = is_alone and bool(history.regressions(attempt))
    known = {f.fingerprint: f for before in history.attempts for f in before.blocking}
    found: dict[int, tuple[Finding, ...]] = {}
    for part in made:
        aims = [known[one] for one in part.findings if one in known]
        missed = tuple(f for f in aims if spoils or not _is_fixed(f, attempt))
        found |= {id_: missed for id_ in _named([part]) if missed}
    return found


def _is_fixed(finding: Finding, attempt: Attempt) -> bool:
    verdict = attempt.verdict(finding.source)
    if verdict is None:
        return False
    case = finding.location.symbol
    if case is not None:
        # A case that is gone may not have been run.
        return verdict.passed or verdict.cases.get(case) is Outcome.PASSED
    return finding.fingerprint not in {left.fingerprint for left in verdict.findings}


def language_of_finding(finding: Finding) -> str:
    """Return the language that a finding is about, by the name of its file or its test's."""
    test = (finding.location.symbol or "").partition("::")[0]
    names = [finding.location.file or "", test]
    return next((lang for n in names if (lang := language_of(n)) != "other"), language_of(""))


class MemoryFixer:
    """Proposes the remembered fix that is likeliest to pass and was not tried in this run.

    Skips those that failed before, on failures of the same shape, in `project`.
    """

    name = "memory"
    trusted = False
    # Asked again, it has the next fix, or none. A fix that it repeats must not keep the findings
    # from the rungs above, nor use up their budget.
    repeatable = False
    side_effect = False

    def __init__(
        self,
        memory: DebugMemory,
        *,
        project: Project | None = None,
        judges: Sequence[str] = (),
    ) -> None:
        self._memory = memory
        self._project = project
        self._judges = tuple(judges)

    def unavailable(self) -> str | None:
        """Return why it cannot be used, or None."""
        if self._memory.trouble is not None:
            return self._memory.trouble
        return None if self._memory.path.exists() else "the memory is empty"

    def accepts(self, finding: Finding) -> bool:
        """Return whether a fix is remembered that may pass; the files show whether it fits."""
        if finding.fault is not Fault.CANDIDATE:
            return False
        return self._memory.has_fixes_for(finding, language_of_finding(finding), self._project)

    async def propose(self, task: FixTask, workplace: Workplace) -> Proposal:
        """Make the best remembered fix for each finding that no other fix covers."""
        tried = _tried(task.history)
        draft = _Draft(workplace, self._judges)
        known_fixes = [
            self._memory.fixes_for(finding, language_of_finding(finding), self._project)
            for finding in task.findings[:_MOST_FINDINGS]
        ]
        # What is nearest to a failure goes first: it may cover the others.
        for most in Rank:
            for finding, ranked in zip(task.findings, known_fixes, strict=False):
                draft.cover(finding, [one for one in ranked if one.fix.id not in tried], most)
            if draft.used:
                break
        if not draft.used:
            why = "every matching fix was already tried"
            return Proposal(description=self._memory.trouble or why)
        try:
            write_texts(draft.texts, workplace.root)
        except OSError as error:
            return Proposal(description="", failure=f"{error.filename}: {error.strerror}")
        return Proposal(
            description=draft.description, analysis=draft.analysis, confidence=draft.confidence
        )


@dataclass(slots=True)
class _Use:
    """A fix that is made again, and the files it changes."""

    fix: RememberedFix
    rank: Rank
    files: tuple[str, ...]

    def __str__(self) -> str:
        held = f"worked {self.fix.passed} of {self.fix.tried} times"
        return f"{self.fix.name} in {', '.join(self.files)} ({held})"


@dataclass(slots=True)
class _Draft:
    """The files with the fixes made so far."""

    workplace: Workplace
    judges: tuple[str, ...]
    texts: dict[str, str] = field(default_factory=dict)
    used: list[_Use] = field(default_factory=list)

    def cover(self, finding: Finding, ranked: Sequence[RankedFix], rank: Rank) -> None:
        """Make the first fix of a rank that fits, unless an earlier one may cover the finding."""
        used = {use.fix.id for use in self.used}
        if any(one.fix.id in used for one in ranked):
            return
        if rank is Rank.CAUSE and self.used:
            return
        mine = [one for one in ranked if one.rank is rank]
        leads = self._editable_leads(finding) if mine else ()
        for one in mine:
            if self._make(one, leads[:_MOST_LEADS] if rank is Rank.CAUSE else leads):
                return

    def _make(self, one: RankedFix, leads: tuple[Lead, ...]) -> bool:
        template = one.fix.template
        if template is None:
            return False
        for part in (template, *(template.parts() if one.rank is not Rank.CAUSE else ())):
            made = _fitted(part, leads, self._text, one.rank)
            if made:
                self.texts |= made
                self.used.append(_Use(one.fix, one.rank, tuple(made)))
                return True
        return False

    def _editable_leads(self, finding: Finding) -> tuple[Lead, ...]:
        leads = leads_of([finding], self.workplace)
        return tuple(lead for lead in leads if not is_judge(lead.file, self.judges))

    def _text(self, file: str) -> str:
        return self.texts.get(file) or read_text(self.workplace.root / file) or ""

    @property
    def description(self) -> str:
        """The names of the fixes, with their files."""
        return f"applied again: {'; '.join(map(str, self.used))}"

    @property
    def confidence(self) -> Confidence:
        """The confidence in the weakest of the fixes, which is what its record says."""
        weakest = min(self.used, key=lambda use: use.fix.confidence).fix
        reason = f"known as {weakest.name}, which worked {weakest.passed} of {weakest.tried} times"
        return Confidence(value=weakest.confidence, reason=reason)

    @property
    def analysis(self) -> Analysis:
        """The causes that the fixes are for, with the confidence in the weakest."""
        causes = dict.fromkeys(f"{u.fix.error_type} ({u.fix.cause})" for u in self.used)
        return Analysis(
            root_cause=f"a known failure: {', '.join(causes)}",
            fix_strategy=self.description,
            confidence=self.confidence.value,
            patterns_matched=tuple(use.fix.name for use in self.used),
        )


def _fitted(
    template: FixTemplate, leads: Sequence[Lead], text_of: Callable[[str], str], rank: Rank
) -> dict[str, str]:
    """Return the files as a template makes them; empty unless all of it fits."""
    made: dict[str, str] = {}
    bindings: dict[str, str] = {}
    for part in template.files:
        fits: list[tuple[str, TemplateMatch]] = []
        for lead in _likeliest(part.file, leads):
            text = text_of(lead.file)
            place = unique_match(find_matches(template, part, text, bindings), lead.lines)
            if place is None or place.text == text:
                continue
            # Code that only looks alike and shares no name with what was fixed is other code.
            is_kin = place.exact or place.names > 0 or rank is Rank.FINGERPRINT
            if is_kin and place.weight >= _WEIGHT[rank] and place.tokens >= _TOKENS:
                fits.append((lead.file, place))
        fits.sort(key=lambda fit: not fit[1].exact)
        if not fits or fits[0][0] in made:
            return {}
        file, place = fits[0]
        made[file], bindings = place.text, place.bindings
    return made


def _likeliest(file: str, leads: Sequence[Lead]) -> list[Lead]:
    """Return the leads in a file's language, those of the same name first."""
    same = [lead for lead in leads if language_of(lead.file) == language_of(file)]
    return sorted(same, key=lambda lead: Path(lead.file).name != Path(file).name)
