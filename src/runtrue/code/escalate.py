"""The escalator of the code loop: what it knows of a run goes into the report, and out."""

from __future__ import annotations

import os

from runtrue.code.context import CodeContext
from runtrue.code.sessions import keep_session, with_generation
from runtrue.escalation import EscalationSubject, notify, report_on, write_report
from runtrue.flow import RunState
from runtrue.loop import Escalation, History, Notice, Response

#: Original files that a report shows at most.
_MOST_FILES = 5


class ReportEscalator:
    """Writes the report beside the run's other files and tells through the channel."""

    def __init__(self, context: CodeContext) -> None:
        self._context = context

    async def escalate(self, escalation: Escalation, history: History) -> Notice:
        """Report on the last attempt of `history`. A failure to tell is in the notice."""
        context, request = self._context, self._context.request
        if escalation.trigger.action is Response.HUMAN_REVIEW:
            keep_session(context, with_generation(history, context), status=RunState.WAITING)
        subject = EscalationSubject(
            run_id=context.run_id,
            workflow_id=request.workflow_id,
            project=request.project,
            title=request.task.requirement if request.task else "make the checks pass",
            sandbox=str(context.sandbox.directory),
            original_code=self._original(history),
            debug_memory=self._remembered(history),
            diffs=self._diffs(history),
            redact=context.redact,
        )
        report = report_on(escalation, history, subject)
        files = write_report(context.reports, report)
        return await notify(request.notification, report, files, os.environ)

    def _original(self, history: History) -> dict[str, str]:
        """The files that the run is about, or has changed, as they were."""
        sandbox, task = self._context.sandbox, self._context.request.task
        changed = [f for a in history.attempts if a.fix for f in a.fix.files]
        blamed = [f.location.file for f in history.latest.blocking if f.location.file]
        names = dict.fromkeys(([sandbox.rooted(task.path)] if task else []) + changed + blamed)
        found: dict[str, str] = {}
        for name in names:
            content = sandbox.original(name)
            if content is not None and len(found) < _MOST_FILES:
                found[name] = content.decode(errors="replace")
        return found

    def _diffs(self, history: History) -> dict[tuple[str, str], str]:
        """Return what each fix has changed, be it run or rejected."""
        fixes = [attempt.fix for attempt in history.attempts if attempt.fix]
        fixes += [rejection.fix for rejection in history.rejections]
        difference = self._context.sandbox.difference
        return {
            (fix.base, fix.candidate): difference(fix.base, fix.candidate)
            for fix in fixes
            if fix.base != fix.candidate
        }

    def _remembered(self, history: History) -> str:
        """Return what the debug memory knows of these failures."""
        lines = []
        for finding in history.latest.blocking:
            for similar in self._context.memory.similar_to(finding, limit=2):
                known = similar.failure
                fixes = ", ".join(fix.name for fix in similar.fixes) or "none"
                lines.append(
                    f"{known.name}: {known.error_type}, seen {known.seen} times, "
                    f"{similar.score:.0%} alike; fixes that held: {fixes}"
                )
        return "\n".join(dict.fromkeys(lines)) or "No similar failure is known."
