"""The application: which page is where."""

from __future__ import annotations

from importlib.resources import files

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from runtrue.errors import RuntrueError, UnknownRun, UsageError
from runtrue.web.actions import Actions
from runtrue.web.guard import Access, PageGuard, read_body
from runtrue.web.launch import Launcher
from runtrue.web.live import LiveUpdates
from runtrue.web.looks import Looks
from runtrue.web.page import Pages
from runtrue.web.service import WebService
from runtrue.web.workflow_pages import WorkflowPages

#: Nobody was let in yet who sends it.
_LONGEST_LOGIN = 1000


def make_app(
    service: WebService, access: Access, live: LiveUpdates, launcher: Launcher | None = None
) -> Starlette:
    """Return the application that serves the pages."""
    pages = Pages(read_only=service.read_only, has_workers=service.workers is not None)
    launcher = launcher or Launcher(service.program, service.directory)
    looks = Looks(service, pages, launcher, live)
    actions = Actions(service, pages, launcher)
    workflows = WorkflowPages(service, pages, launcher)

    def problem(request: Request, error: Exception) -> Response:
        if isinstance(error, HTTPException):
            return pages.problem(request, error.status_code, str(error.detail))
        status = (
            404 if isinstance(error, UnknownRun) else 400 if isinstance(error, UsageError) else 409
        )
        return pages.problem(request, status, str(error))

    async def login(request: Request) -> Response:
        token = request.query_params.get("token", "")
        if request.method == "POST":
            body = await read_body(request, _LONGEST_LOGIN) or ""
            token = body.partition("token=")[2].partition("&")[0].strip()
        if not token:
            return pages.page(request, "login.html", wrong=False)
        session = access.let_in(token, request.headers.get("user-agent", ""))
        if session is None:
            return pages.page(request, "login.html", 401, wrong=True)
        response = RedirectResponse("/", status_code=303)
        response.set_cookie(access.cookie, session.id, httponly=True, samesite="strict", path="/")
        return response

    static = StaticFiles(directory=str(files("runtrue.web").joinpath("static")))
    routes = [
        Route("/login", login, methods=["GET", "POST"]),
        Route("/", looks.inbox),
        Route("/runs", looks.runs),
        Route("/runs/{run_id}", looks.run),
        Route("/runs/{run_id}/events", looks.events),
        Route("/runs/{run_id}/patch", looks.patch),
        Route("/live", looks.live),
        Route("/memory", looks.memory),
        Route("/metrics", looks.metrics),
        Route("/workers", looks.workers),
        Route("/doctor", looks.doctor),
        Route("/runs/{run_id}/answer", actions.answer, methods=["POST"]),
        Route("/runs/{run_id}/{action:str}", actions.act, methods=["POST"]),
        Route("/memory/forget", actions.forget, methods=["POST"]),
        Route("/workflows", workflows.index),
        Route("/workflows/{name}", workflows.show),
        Route("/workflows/{name}/edit", workflows.edit),
        Route("/workflows/{name}/{action:str}", workflows.act, methods=["POST"]),
        Mount("/static", static),
    ]
    return Starlette(
        routes=routes,
        middleware=[Middleware(PageGuard, access=access, pages=pages)],
        exception_handlers={RuntrueError: problem, HTTPException: problem},
    )
