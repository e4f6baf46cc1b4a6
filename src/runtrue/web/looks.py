"""Looks: pages that change nothing."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from runtrue.code import Kind, calibration_of, metrics_of, periods_of
from runtrue.errors import RuntrueError, UsageError
from runtrue.flow import Journal, RunFilter, RunRow, RunState, RunSummary
from runtrue.memory import DebugMemory, Memory
from runtrue.web.activity import activity_of
from runtrue.web.chart import draw_metrics, shown_value
from runtrue.web.diff import DiffView, view_diff
from runtrue.web.launch import Launcher
from runtrue.web.live import LiveUpdates
from runtrue.web.page import Pages
from runtrue.web.question import AskedQuestion, asked_question
from runtrue.web.run_cost import MOST_READ, cost_of
from runtrue.web.run_state import standing_of_run
from runtrue.web.run_view import view_run
from runtrue.web.service import Report, WebService

_PAGE = 50
_MOST_WAITING = 100
_MOST_REMEMBERED = 200
_MOST_EVENTS = 1_000
#: Digits in the number of an event.
_LONGEST_NUMBER = 11
#: Seconds for which what `doctor` and `metrics` found is shown again.
_FRESH = 60.0
KINDS = ("fix", "code", "gate", "plan", "do", "workflow")


@dataclass(frozen=True, slots=True)
class InboxItem:
    """Something that waits for a person."""

    run: RunRow
    project: str
    question: AskedQuestion | None
    diff: DiffView | None = None
    #: Why the question cannot be shown.
    problem: str = ""


class Looks:
    """What a browser may look at."""

    def __init__(
        self, service: WebService, pages: Pages, launcher: Launcher, live: LiveUpdates
    ) -> None:
        self._service = service
        self._pages = pages
        self._launcher = launcher
        self._live = live
        self._kept: dict[str, tuple[float, Any]] = {}

    # -- runs -------------------------------------------------------------------------------

    def inbox(self, request: Request) -> Response:
        """Show what needs a person, newest first."""
        items: list[InboxItem] = []
        broken: list[RunSummary] = []
        any_run = False
        if self._service.has_runs:
            with self._service.journal() as journal:
                waiting = journal.runs(state=RunState.WAITING, limit=_MOST_WAITING)
                items = [item for run in waiting if (item := self._item(journal, run))]
                running = journal.summaries(RunFilter(state=RunState.RUNNING), limit=_MOST_WAITING)
                broken = [run for run in running if not run.is_driven]
                any_run = bool(items or broken or journal.summaries(limit=1))
        items.sort(key=lambda item: -(item.question.asked_at if item.question else 0))
        return self._show(
            request,
            "inbox.html",
            section="inbox",
            items=items,
            broken=broken,
            any_run=any_run,
            standing=standing_of_run,
            waiting=len(items),
        )

    def _item(self, journal: Journal, run: RunRow) -> InboxItem | None:
        question = journal.open_question(run.id)
        if question is None:  # answered meanwhile
            return None
        project = str(run.input.get("project") or run.input.get("directory") or "")
        report, problem = self._report(journal, run)
        if report is None:
            return InboxItem(run, project, None, None, problem)
        why = str(getattr(report, "why", None) or "")
        said = self._service.reasons.get(why, why.replace("_", " "))
        asked = asked_question(run, question, report, said)
        return InboxItem(run, project, asked, view_diff(asked.diff) if asked.diff else None)

    def runs(self, request: Request) -> Response:
        """List runs, newest first, page by page."""
        given = {name: request.query_params.get(name, "").strip() for name in _FILTERS}
        state = given["state"]
        if state and state not in list(RunState):
            raise UsageError(f"no run has the state {state!r}; available: {', '.join(RunState)}")
        if given["since"] and given["since"] not in _AGES:
            raise UsageError(f"`since` is one of {', '.join(_AGES)}")
        since = time.time() - _AGES[given["since"]][0] if given["since"] else None
        wanted = RunFilter(
            since=since,
            state=RunState(state) if state else None,
            kind=given["kind"] or None,
            project=given["project"] or None,
            text=given["text"] or None,
        )
        rows: Sequence[RunSummary] = []
        counts: dict[RunState, int] = {}
        recent = counts
        costs: dict[str, float] = {}
        if self._service.has_runs:
            with self._service.journal() as journal:
                before = _position(request.query_params.get("before", ""))
                rows = journal.summaries(wanted, limit=_PAGE + 1, before=before)
                counts = journal.count_by_state()
                recent = journal.count_by_state(since=since) if since else counts
                ids = [row.id for row in rows[:_PAGE] if row.has_result]
                costs = _costs(journal, ids)
        more = len(rows) > _PAGE
        rows = rows[:_PAGE]
        kept = {name: value for name, value in given.items() if value}
        last = rows[-1] if rows else None
        older = urlencode({**kept, "before": f"{last.created_at!r},{last.id}"}) if last else ""
        return self._show(
            request,
            "runs.html",
            section="plans" if given["kind"] == "plan" else "runs",
            rows=rows,
            given=given,
            kinds=KINDS,
            states=list(RunState),
            counts=recent,
            total=sum(recent.values()),
            success=_success(recent),
            costs=costs,
            ages={name: words for name, (_, words) in _AGES.items()},
            standing=standing_of_run,
            older=older if more else "",
            is_first="before" not in request.query_params,
            first=urlencode(kept),
            without=lambda name: urlencode({k: v for k, v in kept.items() if k != name}),
            with_=lambda name, value: urlencode({**kept, name: value}),
            waiting=counts.get(RunState.WAITING, 0),
        )

    def run(self, request: Request) -> Response:
        """Show one run."""
        with self._service.journal() as journal:
            run = journal.find(request.path_params["run_id"])
            report, problem = self._report(journal, run)
            view = view_run(
                journal,
                run,
                report,
                reasons=self._service.reasons,
                step_diffs=self._step_diffs(journal, run),
            )
            waiting = journal.count_by_state().get(RunState.WAITING, 0)
        notice = self._launcher.problem_of(run.id) or problem
        return self._show(
            request,
            "run.html",
            section="plans" if run.kind == "plan" else "runs",
            view=view,
            notice=notice,
            busy=self._busy(run),
            waiting=waiting,
        )

    def _step_diffs(self, journal: Journal, run: RunRow) -> Mapping[str, str]:
        """Return what the steps of a plan changed; nothing without its sandbox."""
        if run.kind != "plan":
            return {}
        try:
            return self._service.step_diffs(journal, run)
        except (RuntrueError, OSError):
            return {}

    def _busy(self, run: RunRow) -> str:
        """Return what goes on with a run that nobody drives."""
        if not run.is_over or not self._launcher.is_busy(run.id):
            return ""
        return "Running the checks with the chosen changes; what passes is applied …"

    def events(self, request: Request) -> Response:
        """List all events of a run, page by page."""
        given = request.query_params.get("after", "0")
        if not given.isdecimal() or len(given) > _LONGEST_NUMBER:
            raise UsageError("`after` is the number of an event")
        after = int(given)
        with self._service.journal() as journal:
            run = journal.find(request.path_params["run_id"])
            found = journal.timed_events(run.id, after=after, limit=_MOST_EVENTS)
            last = journal.last_event_number(run.id)
        lines = [activity_of(one) for one in found]
        return self._show(
            request,
            "events.html",
            section="runs",
            run=run,
            lines=lines,
            after=after,
            size=_MOST_EVENTS,
            last=last,
        )

    def patch(self, request: Request) -> Response:
        """Return the diff of a run as a file."""
        with self._service.journal() as journal:
            run = journal.find(request.path_params["run_id"])
            report, problem = self._report(journal, run)
        diff = getattr(report, "diff", "")
        if not diff:
            raise UsageError(problem or f"run {run.id} has no diff")
        name = f"runtrue-{run.id}.patch"
        headers = {"content-disposition": f'attachment; filename="{name}"'}
        text = diff.encode("utf-8", "surrogateescape")
        return Response(text, media_type="text/x-diff; charset=utf-8", headers=headers)

    async def live(self, request: Request) -> Response:
        """Stream what is new in a run, or in all of them."""
        run_id = request.query_params.get("run") or None
        begin = request.headers.get("last-event-id") or request.query_params.get("after", "0")
        after = int(begin) if begin.isdecimal() and len(begin) <= _LONGEST_NUMBER else 0
        return StreamingResponse(
            self._live.follow(run_id, after),
            media_type="text/event-stream",
            headers={"cache-control": "no-store", "x-accel-buffering": "no"},
        )

    # -- what was learnt, and how well it goes ------------------------------------------------

    def memory(self, request: Request) -> Response:
        """Show what runs have learnt."""
        text = request.query_params.get("text", "").strip()
        with (
            DebugMemory(self._service.home.path) as debug,
            Memory(self._service.home.path) as names,
        ):
            similar = debug.similar("", text, limit=20) if text else ()
            fixes = debug.fixes(limit=_MOST_REMEMBERED)
            failures = debug.failures(limit=_MOST_REMEMBERED)
            known = names.list()[:_MOST_REMEMBERED]
            counts = debug.counts()
            trouble = debug.trouble or names.trouble
        return self._show(
            request,
            "memory.html",
            section="memory",
            text=text,
            similar=similar,
            fixes=fixes,
            failures=failures,
            known=known,
            counts=counts,
            trouble=trouble,
        )

    def metrics(self, request: Request) -> Response:
        """Show the metrics against their targets, over time."""
        facts = self._fresh("facts", self._service.facts)
        every = sorted((one for some in facts.values() for one in some), key=lambda one: one[0])
        periods = periods_of(every)
        kinds = {kind: metrics_of([f for _, f in some]) for kind, some in sorted(facts.items())}
        return self._show(
            request,
            "metrics.html",
            section="metrics",
            cards=draw_metrics(metrics_of([fact for _, fact in every]), periods),
            runs=len(every),
            shown=shown_value,
            calibration=calibration_of(self._fresh("judged", self._service.judged_fixes)),
            kinds=kinds if len(kinds) > 1 else {},
            kind_names=[str(kind) for kind in Kind],
        )

    def workers(self, request: Request) -> Response:
        """Show who works on which queue of the shared database, if there is one."""
        document = self._service.workers() if self._service.workers else None
        return self._show(request, "workers.html", section="workers", document=document)

    def doctor(self, request: Request) -> Response:
        """Show what is available here, and what is not."""
        if "again" in request.query_params:
            self._kept.pop("doctor", None)
        document = self._fresh("doctor", self._ask_doctor)
        return self._show(
            request,
            "doctor.html",
            section="doctor",
            document=document,
            at=self._kept["doctor"][0],
        )

    def _ask_doctor(self) -> dict[str, Any]:
        launch = self._launcher.start(["doctor", "--json"])
        if not launch.ended_within(60):
            raise UsageError("`runtrue doctor` is still running after 60 s; try again later")
        if not launch.document:
            raise UsageError(launch.problem or "`runtrue doctor` printed nothing")
        return launch.document

    # -- all of them --------------------------------------------------------------------------

    def _report(self, journal: Journal, run: RunRow) -> tuple[Report | None, str]:
        """Return the report of a run, or why there is none: to look at it must be possible."""
        try:
            return self._service.report_of(journal, run), ""
        except (RuntrueError, OSError) as error:
            return None, str(error)

    def _fresh(self, name: str, make: Any) -> Any:
        at, value = self._kept.get(name, (0.0, None))
        if time.time() - at > _FRESH:
            at, value = time.time(), make()
            self._kept[name] = (at, value)
        return value

    def _show(self, request: Request, template: str, **data: Any) -> Response:
        if "waiting" not in data and self._service.has_runs:
            with suppress(RuntrueError), self._service.journal() as journal:
                data["waiting"] = journal.count_by_state().get(RunState.WAITING, 0)
        return self._pages.page(request, template, **data)


_FILTERS = ("text", "state", "kind", "project", "since")
#: How long ago runs may have begun, in seconds and in words.
_AGES = {
    "1h": (3600.0, "last hour"),
    "24h": (86_400.0, "last 24 hours"),
    "7d": (604_800.0, "last 7 days"),
    "30d": (2_592_000.0, "last 30 days"),
}
_ENDED = (RunState.PASSED, RunState.FAILED, RunState.ESCALATED, RunState.ABORTED)


def _costs(journal: Journal, run_ids: Sequence[str]) -> dict[str, float]:
    texts = journal.result_texts(run_ids, most=MOST_READ)
    return {run_id: cost for run_id, text in texts.items() if (cost := cost_of(text))}


def _success(counts: Mapping[RunState, int]) -> float | None:
    """Return the share of ended runs that passed."""
    ended = sum(counts.get(state, 0) for state in _ENDED)
    return counts.get(RunState.PASSED, 0) / ended if ended else None


def _position(text: str) -> tuple[float, str] | None:
    """Return where a page of runs begins."""
    if not text:
        return None
    age, _, run_id = text.partition(",")
    try:
        return float(age), run_id
    except ValueError:
        raise UsageError(
            "`before` comes from the link to older runs; start at the newest"
        ) from None
