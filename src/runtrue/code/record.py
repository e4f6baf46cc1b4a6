"""Records: the history of one run in the form of the seed's JSON Schema.

`schema.json` beside this module is that schema. Every field is made from something that happened:
what is not known is left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from importlib import resources
from pathlib import Path
from typing import Any

from runtrue import __version__
from runtrue.checks import Language, Totals, framework_of, language_of, totals
from runtrue.code.generate import program_of
from runtrue.code.request import LONGEST, SHORTEST, CodeRequest, Kind
from runtrue.code.task import AgentType
from runtrue.escalation import TEMPLATES
from runtrue.flow import RunState
from runtrue.gates import is_source
from runtrue.loop import (
    Action,
    Attempt,
    CodeType,
    Condition,
    Decision,
    Finding,
    Fix,
    FixPart,
    History,
    Verdict,
    lineage,
)
from runtrue.sandbox import is_test


class RecordPhase(StrEnum):
    """Where the loop is."""

    GENERATE_CODE = "generate_code"
    GENERATE_TESTS = "generate_tests"
    EXECUTE_TESTS = "execute_tests"
    ANALYZE_FAILURES = "analyze_failures"
    APPLY_FIX = "apply_fix"
    VERIFY_FIX = "verify_fix"
    COMPLETE = "complete"
    ESCALATED = "escalated"
    ABORTED = "aborted"


class Status(StrEnum):
    """How the loop stands."""

    IN_PROGRESS = "in_progress"
    PASSED = "passed"
    FAILED = "failed"
    ESCALATED = "escalated"
    ABORTED = "aborted"


_STATUS = {
    RunState.PASSED: Status.PASSED,
    RunState.FAILED: Status.FAILED,
    RunState.ESCALATED: Status.ESCALATED,
    RunState.ABORTED: Status.ABORTED,
    RunState.CANCELLED: Status.ABORTED,
}
_END = {
    Status.PASSED: RecordPhase.COMPLETE,
    Status.ESCALATED: RecordPhase.ESCALATED,
    Status.ABORTED: RecordPhase.ABORTED,
}


def schema() -> dict[str, Any]:
    """The JSON Schema that every record fits."""
    text = resources.files("runtrue.code").joinpath("schema.json").read_text("utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One run, as far as it has come."""

    request: CodeRequest
    history: History = field(default_factory=History)
    decision: Decision | None = None
    state: RunState = RunState.RUNNING
    #: Where a run that goes on is.
    phase: RecordPhase = RecordPhase.GENERATE_CODE
    #: The file that the task is about; without a task, what was changed says so.
    artifact: str = ""
    #: The same as seen from the root that findings and coverage are relative to.
    rooted: str = ""
    tests: tuple[str, ...] = ()
    #: The files that a generator has written, and who it is; and the version of the coding agent.
    written: tuple[str, ...] = ()
    written_by: str | None = None
    version: str | None = None
    debug_memory_ref: str | None = None
    started_at: float | None = None
    completed_at: float | None = None

    @property
    def status(self) -> Status:
        """How the loop stands; one that waits for a person was escalated to them."""
        if self.state in _STATUS:
            return _STATUS[self.state]
        if self.decision is None:
            return Status.IN_PROGRESS
        if self.decision.action is Action.ACCEPT:
            return Status.PASSED
        return Status.ESCALATED if self.state is RunState.WAITING else Status.IN_PROGRESS

    def to_dict(self) -> dict[str, Any]:
        """The record as data that fits the schema."""
        request = self.request
        record: dict[str, Any] = {
            "workflow_id": request.workflow_id,
            "agent": self._agent(),
            "code_artifact": self._artifact(),
            "execution_config": self._execution(),
            "retry_policy": {
                "max_attempts": request.policy.max_attempts,
                "backoff": request.policy.backoff,
                "escalation_on_max": self._escalates_on_max,
                "abort_on_regression": request.policy.abort_on_regression,
            },
            "escalation_policy": self._escalation(),
            "loop_state": self._loop_state(),
            "timestamps": self._timestamps(),
        }
        if request.requirement is not None:
            code_type = request.task.code_type if request.task else request.code_type
            record["coverage_requirements"] = {
                code_type or CodeType.NEW_FUNCTION: {
                    "minimum_coverage": request.requirement.minimum_coverage,
                    "required_tests": list(request.requirement.required_tests),
                }
            }
        if self.debug_memory_ref:
            record["debug_memory_ref"] = self.debug_memory_ref
        if request.iteration is not None:
            record["ralph_integration"] = self._ralph()
        plain: dict[str, Any] = json.loads(json.dumps(record))
        return plain

    def _agent(self) -> dict[str, Any]:
        request = self.request
        fixers = [part.fixer for part in self._parts if part.fixer in ("agent", "model")]
        maker = request.generator if self.written_by else fixers[-1] if fixers else None
        agent: dict[str, Any] = {"name": "runtrue", "type": self._agent_type()}
        if maker is None:
            agent["version"] = __version__
        else:
            # A model's name says which one it is.
            name = program_of(request.agent.command or "") if maker == "agent" else request.model
            agent["name"] = self.written_by or name
            if maker == "agent" and self.version:
                agent["version"] = self.version
        return agent

    @property
    def _parts(self) -> tuple[FixPart, ...]:
        """What fixers have contributed to the candidate that the run came to, or stands at."""
        if not self.history.attempts:
            return ()
        chain = lineage(self.history, self._final.candidate)
        return tuple(part for one in chain if one.fix for part in one.fix.parts if part.files)

    @property
    def _changed(self) -> tuple[str, ...]:
        """The files that were written or fixed, or that a gate judges."""
        fixed = (file for part in self._parts for file in part.files)
        return tuple(dict.fromkeys((*self.written, *fixed, *(self.request.changes or ()))))

    @property
    def _escalates_on_max(self) -> bool:
        triggers = {trigger.condition for trigger in self.request.policy.triggers}
        on_max = Condition.MAX_ATTEMPTS_REACHED in triggers or self.request.policy.ask_human
        return self.request.policy.escalation_on_max and on_max

    def _agent_type(self) -> AgentType:
        if self.request.kind is Kind.GATE:
            return AgentType.CODE_REVIEWER
        if self._changed and all(map(is_test, self._changed)):
            return AgentType.TEST_ENGINEER
        return self.request.task.agent_type if self.request.task else AgentType.DEBUGGER

    def _artifact(self) -> dict[str, Any]:
        task = self.request.task
        path = self.artifact or self._only_source
        # Of a whole project, the language is that of what was changed in it.
        named = [path, *self._changed] if path != "." else [*self._changed, *self.tests]
        languages = [one for file in named if (one := language_of(file)) is not Language.OTHER]
        artifact: dict[str, Any] = {
            "path": path,
            "language": languages[0] if languages else Language.OTHER,
            "test_files": list(self.tests),
        }
        if task is not None:
            artifact["code_type"] = task.code_type
            artifact["requirements_ref"] = [f"@{path}" for path in task.mentions]
        elif self.request.kind is Kind.FIX:
            artifact["code_type"] = CodeType.BUG_FIX
        elif self.request.code_type is not None:
            artifact["code_type"] = self.request.code_type
        if self.history.attempts and (code_hash := self._final.code_hash):
            artifact["content_hash"] = code_hash
        return artifact

    @property
    def _only_source(self) -> str:
        """The one source file that was changed; else the whole project."""
        sources = [file for file in self._changed if is_source(file)]
        return sources[0] if len(sources) == 1 else "."

    def _execution(self) -> dict[str, Any]:
        check = self.request.tests
        directory = Path(self.request.project) / check.directory
        config: dict[str, Any] = {
            "test_framework": framework_of(check.command, directory),
            "test_command": check.command,
            "environment": check.env,
            "working_directory": check.directory,
            "fail_fast": check.fail_fast,
            "verbose": check.verbose,
        }
        # The schema has no other limits than these.
        if SHORTEST <= check.timeout <= LONGEST:
            config["timeout_seconds"] = round(check.timeout)
        return config

    def _escalation(self) -> dict[str, Any]:
        settings = self.request.notification
        # The schema has no other channels than runtrue itself.
        channel = settings.channel if settings.channel in TEMPLATES else "cli"
        notification = {"channel": channel, "template": settings.template or TEMPLATES[channel]}
        return {
            "triggers": [
                {
                    "condition": trigger.condition,
                    "action": trigger.action,
                    "include_in_report": list(trigger.include_in_report),
                }
                for trigger in self.request.policy.triggers
            ],
            "notification": notification,
        }

    def _loop_state(self) -> dict[str, Any]:
        status = self.status
        state: dict[str, Any] = {
            "phase": _END.get(status, self.phase),
            "attempt_number": self.history.latest.number if self.history.attempts else 1,
            "status": status,
            "attempts": [self._attempt(index) for index in range(len(self.history.attempts))],
        }
        if self.history.attempts:
            state["test_results"] = self._results(self._final)
        return state

    @property
    def _final(self) -> Attempt:
        """The attempt whose candidate the run came to, or stands at."""
        attempts = self.history.attempts
        if self.decision is None or self.status is Status.IN_PROGRESS:
            return attempts[-1]
        wanted = self.decision.candidate
        return next((a for a in reversed(attempts) if a.candidate == wanted), attempts[-1])

    def _attempt(self, index: int) -> dict[str, Any]:
        attempts = self.history.attempts
        attempt = attempts[index]
        following = attempts[index + 1].fix if index + 1 < len(attempts) else None
        said: dict[str, Any] = {
            "attempt_number": attempt.number,
            "timestamp": _time(attempt.at),
            "phase": RecordPhase.VERIFY_FIX if attempt.fix else RecordPhase.EXECUTE_TESTS,
            "test_results": self._results(attempt),
        }
        if attempt.code_hash:
            said["code_hash"] = attempt.code_hash
        if attempt.blocking:
            said["failures"] = [_failure(finding) for finding in attempt.blocking]
        if analysis := _analysis(attempt, following):
            said["analysis"] = analysis
        # A person who only answered has applied nothing.
        if following is not None and following.files:
            said["fix_applied"] = {
                "description": _description(following),
                "diff_summary": f"+{following.added}/-{following.removed} lines",
                "files_modified": list(following.files),
            }
        return said

    def _results(self, attempt: Attempt) -> dict[str, Any]:
        verdict = attempt.verdict(self.request.tests.name)
        counted = totals(verdict) if verdict else _NOTHING
        results: dict[str, Any] = {
            "total": counted.total,
            "passed": counted.passed,
            "failed": counted.failed,
            "errors": counted.errors,
            "skipped": counted.skipped,
            "duration_ms": round(counted.duration_ms, 3),
        }
        percent = _coverage(verdict, self.rooted) if verdict else None
        if percent is not None:
            results["coverage_percent"] = round(percent, 2)
        return results

    def _timestamps(self) -> dict[str, Any]:
        last = self.history.latest.at if self.history.attempts else None
        times = {
            "started_at": self.started_at,
            "last_attempt_at": last,
            "completed_at": self.completed_at,
        }
        return {name: _time(at) for name, at in times.items() if at}

    def _ralph(self) -> dict[str, Any]:
        iteration = self.request.iteration
        assert iteration is not None  # noqa: S101 - the caller looked
        return {
            "loop_id": iteration.loop_id,
            "iteration": iteration.number,
            "execution_gate": {
                "require_passing_tests": iteration.require_passing_tests,
                "allow_skip": iteration.allow_skip,
            },
            "debug_memory": {
                "persist_per_iteration": iteration.persist_per_iteration,
                "cross_iteration_learning": iteration.cross_iteration_learning,
            },
            "progress_metric": {
                "include_test_pass_rate": iteration.include_test_pass_rate,
                "weight": iteration.weight,
                **self._progress(),
            },
        }

    def _progress(self) -> dict[str, float]:
        value = self.progress
        return {} if value is None else {"value": round(value, 4)}

    @property
    def progress(self) -> float | None:
        """The share of tests that pass, by its weight; nothing outside of a loop, or untested."""
        iteration = self.request.iteration
        if iteration is None or not iteration.include_test_pass_rate or not self.history.attempts:
            return None
        results = self._results(self._final)
        ran = results["total"] - results["skipped"]
        return iteration.weight * results["passed"] / ran if ran else None


_NOTHING = Totals(total=0, passed=0, failed=0, errors=0, skipped=0, duration_ms=0.0)


def _failure(finding: Finding) -> dict[str, Any]:
    symbol = finding.location.symbol or finding.source
    file, _, test = symbol.partition("::")
    failure: dict[str, Any] = {
        "test_name": test or symbol,
        "error_type": finding.category,
        "error_message": finding.message,
    }
    optional = {
        "test_file": file if test else finding.location.file,
        "stack_trace": finding.data.get("stack_trace") or finding.sample,
        "line_number": finding.location.line,
        "expected": finding.data.get("expected"),
        "actual": finding.data.get("actual"),
    }
    return {**failure, **{name: value for name, value in optional.items() if value is not None}}


def _analysis(attempt: Attempt, following: Fix | None) -> dict[str, Any] | None:
    """Return what the analyst found out, and what the fixers that then took part said of it."""
    by_fixers = [part.analysis for part in following.parts if part.analysis] if following else []
    analyses = [*([attempt.analysis] if attempt.analysis else []), *by_fixers]
    if not analyses:
        return None
    last = analyses[-1]
    # A fixer has looked at the code; the analyst only at what failed.
    strategies = [one.fix_strategy for one in analyses if one.fix_strategy]
    confidences = [one.confidence for one in analyses if one.confidence is not None]
    patterns = dict.fromkeys(name for one in analyses for name in one.patterns_matched)
    said: dict[str, Any] = {"root_cause": last.root_cause, "patterns_matched": list(patterns)}
    if strategies:
        said["fix_strategy"] = strategies[-1]
    if confidences:
        said["confidence"] = confidences[-1]
    return said


def _description(fix: Fix) -> str:
    made = [part for part in fix.parts if part.files]
    # Some fixers say nothing of what they did.
    return "; ".join(
        f"{part.fixer}: {part.description or 'changed ' + ', '.join(part.files)}" for part in made
    )


def _coverage(verdict: Verdict, file: str) -> float | None:
    """The coverage of the artifact; of all that was measured where there is no single one."""
    counts = list(_counts(verdict, file))
    total = sum(lines for _, lines in counts)
    return 100.0 * sum(run for run, _ in counts) / total if total else None


def _counts(verdict: Verdict, file: str) -> Iterator[tuple[int, int]]:
    measured = verdict.coverage or {}
    if file:
        yield from (measured[name] for name in (file,) if name in measured)
    else:
        yield from measured.values()


def _time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat().replace("+00:00", "Z")
