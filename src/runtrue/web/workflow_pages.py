"""Pages of saved workflows: the drawing, the versions, an editor, forms to run and schedule one."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from runtrue.documents import dump_document, parse_document
from runtrue.errors import InvalidWorkflow, Problem, RuntrueError, UsageError
from runtrue.flow import RunFilter, RunState, RunSummary, Schedule
from runtrue.web.actions import Form, guarded
from runtrue.web.diff import DiffView, view_diff
from runtrue.web.graph import draw_graph
from runtrue.web.guard import BrowserSession
from runtrue.web.launch import Launcher
from runtrue.web.page import Pages
from runtrue.web.response_fields import ResponseField, fields_of, recorded_values
from runtrue.web.run_state import standing_of_run
from runtrue.web.service import WebService
from runtrue.workflow import (
    Registry,
    Workflow,
    WorkflowStore,
    checked,
    planned_effects,
    redact_by_name,
)

_FOR_A_RUN, _FOR_A_CHANGE = 15.0, 20.0
_LATEST_RUNS = 10


@dataclass(frozen=True, slots=True)
class WorkflowInput:
    """An input as a field of the form."""

    name: str
    type: str
    description: str
    default: str
    required: bool
    secret: bool


class WorkflowPages:
    """What a browser may see of saved workflows, and do with them."""

    def __init__(self, service: WebService, pages: Pages, launcher: Launcher) -> None:
        self._service = service
        self._pages = pages
        self._launcher = launcher

    @property
    def _store(self) -> WorkflowStore:
        return WorkflowStore(self._service.home)

    def index(self, request: Request) -> Response:
        """List the saved workflows."""
        return self._show(request, "workflows.html", saved=self._store.list())

    def show(self, request: Request) -> Response:
        """Show one: what it does, its versions, its latest runs, and a form to run it."""
        name = request.path_params["name"]
        store = self._store
        data = _as_object(store.load(name).data, name)
        versions = store.versions(name).list()[::-1]
        problems: tuple[Problem, ...] = ()
        effects: tuple[Any, ...] = ()
        try:
            effects = planned_effects(Workflow(data, name=name), self._registry)
        except InvalidWorkflow as error:
            problems = error.problems
        return self._show(
            request,
            "workflow.html",
            name=name,
            data=data,
            description=str(data.get("description") or ""),
            drawing=draw_graph(data),
            nodes=[node for node in data.get("nodes", ()) if isinstance(node, dict)],
            redact=redact_by_name,
            inputs=tuple(_inputs(data)),
            outputs=data.get("outputs") or {},
            effects=effects,
            problems=problems,
            versions=versions,
            compared=self._compared(request, name, data),
            latest=(latest := self._latest(name)),
            given=self._given(latest),
            schedules=self._schedules(name),
            has_workers=self._service.workers is not None,
            standing=standing_of_run,
        )

    def edit(self, request: Request) -> Response:
        """Show the editor, with what is saved."""
        name = request.path_params["name"]
        text = dump_document(_as_object(self._store.load(name).data, name), "yaml")
        return self._editor(request, name, text, self._latest_number(name))

    async def act(self, request: Request) -> Response:
        """Check, save, roll back, run or schedule a workflow."""
        work = {
            "check": self._check,
            "save": self._save,
            "rollback": self._roll_back,
            "run": self._run,
            "schedule": self._add_schedule,
            "change-schedule": self._change_schedule,
        }.get(request.path_params["action"])
        if work is None:
            return self._pages.problem(request, 404, "There is no such action.")
        return await guarded(request, self._pages, self._service, work)

    def _check(self, request: Request, form: Form, session: BrowserSession) -> Response:
        name, text, based_on = _edited(request, form)
        return self._editor(request, name, text, based_on, is_checked=True)

    def _save(self, request: Request, form: Form, session: BrowserSession) -> Response:
        name, text, based_on = _edited(request, form)
        latest = self._latest_number(name)
        if based_on != latest:
            message = (
                f"Version {latest} was saved in the meantime: compare, then save to replace it."
            )
            return self._editor(request, name, text, latest, is_checked=True, message=message)
        try:
            data = self._parsed(name, text)
        except RuntrueError:
            return self._editor(request, name, text, based_on, is_checked=True)
        self._store.save(name, data, replace=True, note="edited on the page")
        return RedirectResponse(f"/workflows/{name}", status_code=303)

    def _roll_back(self, request: Request, form: Form, session: BrowserSession) -> Response:
        name, number = request.path_params["name"], (form.get("version") or [""])[0]
        return self._started(request, ["workflow", "rollback", "--json", "--", name, number])

    def _add_schedule(self, request: Request, form: Form, session: BrowserSession) -> Response:
        name, cron = request.path_params["name"], (form.get("cron") or [""])[0]
        title = (form.get("schedule") or [""])[0] or name
        given = ["--json", "--", title, cron, name, *_pairs(form)]
        return self._started(request, ["schedule", "add", *given])

    def _change_schedule(self, request: Request, form: Form, session: BrowserSession) -> Response:
        change, title = (form.get("change") or [""])[0], (form.get("schedule") or [""])[0]
        if change not in ("pause", "resume", "remove"):
            return self._pages.problem(request, 404, "There is no such action.")
        return self._started(request, ["schedule", change, "--json", "--", title])

    def _started(self, request: Request, words: list[str]) -> Response:
        """Start a command, and return to the page; or show why it did nothing."""
        launch = self._launcher.start(words)
        if launch.ended_within(_FOR_A_CHANGE) and launch.problem:
            return self._pages.problem(request, 409, launch.problem)
        return RedirectResponse(f"/workflows/{request.path_params['name']}", status_code=303)

    def _run(self, request: Request, form: Form, session: BrowserSession) -> Response:
        name = request.path_params["name"]
        launch = self._launcher.start(["run", "--json", "--", name, *_pairs(form)])
        run_id = launch.run_id_within(_FOR_A_RUN)
        if run_id is None:
            problem = launch.problem or "the run did not start in time; look at the list of runs"
            return self._pages.problem(request, 409, problem)
        return RedirectResponse(f"/runs/{run_id}", status_code=303)

    @property
    def _registry(self) -> Registry:
        return Registry(self._service.home, self._service.directory, only_looks=True)

    def _parsed(self, name: str, text: str) -> dict[str, Any]:
        """Return an edited workflow that could be run. Raises RuntrueError."""
        data = _as_object(parse_document(text, name=name, format="yaml").data, name)
        checked(Workflow(data, name=name), self._registry)
        return data

    def _editor(
        self,
        request: Request,
        name: str,
        text: str,
        based_on: int,
        *,
        is_checked: bool = False,
        message: str = "",
    ) -> Response:
        problems: tuple[str, ...] = ()
        difference: DiffView | None = None
        drawing = None
        if is_checked:
            saved = dump_document(_as_object(self._store.load(name).data, name), "yaml")
            try:
                drawing = draw_graph(self._parsed(name, text))
            except InvalidWorkflow as error:
                problems = tuple(map(str, error.problems))
            except RuntrueError as error:
                problems = (str(error),)
            difference = _difference(saved, text, f"{name} (saved)", f"{name} (edited)")
        return self._show(
            request,
            "workflow_edit.html",
            name=name,
            text=text,
            based_on=based_on,
            problems=problems,
            difference=difference,
            drawing=drawing,
            is_checked=is_checked,
            message=message,
            given=self._given(self._latest(name)),
        )

    def _latest_number(self, name: str) -> int:
        store = self._store
        if not self._service.read_only:
            store.keep_current(name)
        versions = store.versions(name).list()
        return versions[-1].number if versions else 0

    def _compared(self, request: Request, name: str, data: Mapping[str, Any]) -> DiffView | None:
        """Return what has changed since a version that the address names."""
        number = request.query_params.get("compare", "")
        if not number.isdecimal() or len(number) > 9:
            return None
        old = dump_document(self._store.versions(name).get(int(number)).workflow, "yaml")
        new = dump_document(dict(data), "yaml")
        return _difference(old, new, f"{name} (version {number})", f"{name} (now)")

    def _given(self, latest: list[RunSummary]) -> dict[str, tuple[ResponseField, ...]]:
        """Return what each node gave in the latest run that came anywhere."""
        if not latest:
            return {}
        with self._service.journal() as journal:
            for run in latest:
                if values := recorded_values(journal.load(run.id)):
                    return {name: fields_of(name, value) for name, value in values.items()}
        return {}

    def _schedules(self, name: str) -> list[Schedule]:
        """Return what begins runs of a workflow at times of the clock."""
        if not self._service.has_runs:
            return []
        with self._service.journal() as journal:
            return [one for one in journal.schedules() if one.run.title == name]

    def _latest(self, name: str) -> list[RunSummary]:
        if not self._service.has_runs:
            return []
        with self._service.journal() as journal:
            rows = journal.summaries(RunFilter(kind="workflow", text=name), limit=_LATEST_RUNS)
        return [run for run in rows if run.title == name]

    def _show(self, request: Request, template: str, **data: Any) -> Response:
        waiting = 0
        if self._service.has_runs:
            with self._service.journal() as journal:
                waiting = journal.count_by_state().get(RunState.WAITING, 0)
        return self._pages.page(request, template, section="workflows", waiting=waiting, **data)


def _edited(request: Request, form: Form) -> tuple[str, str, int]:
    based_on = (form.get("based_on") or ["0"])[0]
    if not based_on.isdecimal() or len(based_on) > 9:
        raise UsageError("the form has no version; reload the page")
    text = (form.get("text") or [""])[0].replace("\r\n", "\n")
    return request.path_params["name"], text, int(based_on)


def _pairs(form: Form) -> list[str]:
    """Return the inputs that a form gives, as words of a command."""
    return [
        f"{key.removeprefix('input.')}={values[0]}"
        for key, values in form.items()
        if key.startswith("input.") and values[0] != ""
    ]


def _as_object(data: Any, name: str) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise UsageError(f"{name!r} is not a workflow, which is an object with nodes")
    return data


def _difference(old: str, new: str, before: str, after: str) -> DiffView | None:
    lines = difflib.unified_diff(
        old.splitlines(keepends=True), new.splitlines(keepends=True), before, after
    )
    text = "".join(lines)
    return view_diff(text) if text else None


def _inputs(data: Mapping[str, Any]) -> Iterator[WorkflowInput]:
    declared = data.get("inputs")
    for name, spec in declared.items() if isinstance(declared, dict) else ():
        given = spec if isinstance(spec, dict) else {}
        default = given.get("default", "")
        is_secret = redact_by_name({name: "x"})[name] != "x" or bool(given.get("secret"))
        yield WorkflowInput(
            name=str(name),
            type=str(given.get("type") or "string"),
            description=str(given.get("description") or ""),
            default=default if isinstance(default, str) else dump_document(default, "json").strip(),
            required=bool(given.get("required", True)) and "default" not in given,
            secret=is_secret,
        )
