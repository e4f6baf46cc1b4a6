"""Actions on runs: each is recorded, or started, the way the command line does it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from runtrue.errors import RuntrueError, UsageError
from runtrue.flow import Question
from runtrue.web.guard import BrowserSession, read_form
from runtrue.web.launch import Launcher
from runtrue.web.page import Pages, ago
from runtrue.web.service import PersonAnswer, WebService

Form = dict[str, list[str]]

#: Seconds that a page waits for a command: what takes longer goes on by itself.
_PATIENCE = 20.0
_FOR_A_START = 0.4


@dataclass(frozen=True, slots=True)
class GivenAnswer:
    """Who answered a question here, and when."""

    session: str
    at: float


class Actions:
    """What a browser may do with runs."""

    def __init__(self, service: WebService, pages: Pages, launcher: Launcher) -> None:
        self._service = service
        self._pages = pages
        self._launcher = launcher
        self._answers: dict[tuple[str, int], GivenAnswer] = {}

    async def answer(self, request: Request) -> Response:
        """Record an answer to the question that the person saw, and let the run go on."""
        return await self._guarded(request, self._answer)

    async def act(self, request: Request) -> Response:
        """Resume, cancel or apply a run, by the command for that."""
        return await self._guarded(request, self._act)

    async def forget(self, request: Request) -> Response:
        """Forget something that was learnt."""
        return await self._guarded(request, self._forget)

    async def _guarded(
        self, request: Request, work: Callable[[Request, Form, BrowserSession], Response]
    ) -> Response:
        return await guarded(request, self._pages, self._service, work)

    def _answer(self, request: Request, form: Form, session: BrowserSession) -> Response:
        run_id = request.path_params["run_id"]
        said = (form.get("choice") or form.get("text") or [""])[0].strip()
        answer = PersonAnswer(
            seq=_number(form, "seq"),
            said=said or None,
            allow=tuple(form.get("allow", ())),
            self_running=bool(form.get("self_running")),
            paths=dict(_paths(form)),
        )
        seq = answer.seq
        with self._service.journal() as journal:
            run = journal.find(run_id)
            try:
                self._service.answer(journal, run.id, answer)
            except RuntrueError:
                asked = journal.questions(run.id, seq)
                if asked and asked[0].answered:
                    return self._too_late(request, run.id, asked[0])
                raise
        self._answers[run.id, seq] = GivenAnswer(session.name, time.time())
        commands = [["runs", "resume", run.id, "--json"]]
        if form.get("then") == ["apply"]:
            allow = ["--allow-self-running"] if form.get("self_running") else []
            commands.append(["runs", "apply", *allow, run.id, "--json"])
        self._launcher.start(*commands, run_id=run.id)
        return _back(f"/runs/{run.id}")

    def _too_late(self, request: Request, run_id: str, asked: Question) -> Response:
        given = self._answers.get((run_id, asked.seq))
        who = given.session if given else "somebody at a terminal, or in another server"
        when = f" ({ago(given.at, time.time())})" if given else ""
        return self._pages.page(
            request, "too_late.html", 409, run_id=run_id, who=who, when=when, answer=asked.answer
        )

    def _act(self, request: Request, form: Form, session: BrowserSession) -> Response:
        with self._service.journal() as journal:
            run = journal.find(request.path_params["run_id"])
        is_plan = run.kind == "plan"
        group = "plan" if is_plan else "runs"
        allow = ["--allow-self-running"] if form.get("self_running") else []
        words = {
            "resume": ["runs", "resume"],
            "cancel": [group, "cancel"],
            "apply": [group, "apply", *allow, *(f"--hunk={n}" for n in _hunks(form))],
            "force": ["runs", "resume", "--force"],
            "done": ["runs", "resume", *(f"--done={name}" for name in form.get("node", ()))],
            "skip": ["runs", "resume", *(f"--skip={name}" for name in form.get("node", ()))],
        }.get(request.path_params["action"])
        if words is None:
            raise UsageError(f"there is no action {request.path_params['action']!r}")
        launch = self._launcher.start([*words, run.id, "--json"], run_id=run.id)
        is_short = words[1] in ("cancel", "apply") and not form.get("hunk")
        if launch.ended_within(_PATIENCE if is_short else _FOR_A_START) and launch.problem:
            return self._pages.problem(request, 409, launch.problem)
        return _back(f"/runs/{run.id}")

    def _forget(self, request: Request, form: Form, session: BrowserSession) -> Response:
        name = (form.get("name") or [""])[0]
        launch = self._launcher.start(["memory", "forget", "--json", "--", name])
        if not launch.ended_within(_PATIENCE):
            raise UsageError("`runtrue memory forget` is still running; try again later")
        if launch.problem:
            return self._pages.problem(request, 409, launch.problem)
        return _back("/memory")


async def guarded(
    request: Request,
    pages: Pages,
    service: WebService,
    work: Callable[[Request, Form, BrowserSession], Response],
) -> Response:
    """Do what a form asks for, if it came from a page of this browser and may do anything."""
    session: BrowserSession | None = request.state.session
    if service.read_only:
        return pages.problem(
            request, 403, "This server is read-only: it was started with --read-only."
        )
    form = await read_form(request, session)
    if form is None or session is None:
        return pages.problem(
            request, 403, "The form is not from a page of this browser; reload it and try again."
        )
    return await run_in_threadpool(work, request, form, session)


def _hunks(form: Form) -> list[int]:
    """Return the changes that were chosen, where a choice was offered."""
    chosen = form.get("hunk", [])
    if not all(one.isdecimal() and len(one) < 10 for one in chosen):
        raise UsageError("choose a change by its number; reload the page")
    if form.get("some") and not chosen:
        raise UsageError("nothing was applied: check at least one change")
    return [int(one) for one in chosen]


def _paths(form: Form) -> Iterator[tuple[str, str]]:
    """Yield the paths that were chosen for fields; what was typed comes before a choice."""
    for key, values in form.items():
        name = key.removeprefix("path.")
        path = (form.get(f"own.{name}") or [""])[0].strip() or values[0].strip()
        if name != key and path:
            yield name, path


def _number(form: Form, name: str) -> int:
    given = (form.get(name) or [""])[0]
    if not given.isdecimal() or len(given) > 9:
        raise UsageError(f"the form has no number {name!r}; reload the page")
    return int(given)


def _back(path: str) -> RedirectResponse:
    """Return to a page, as a GET: reloading it does nothing twice."""
    return RedirectResponse(path, status_code=303)
