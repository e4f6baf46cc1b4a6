"""The server: tools, resources and prompts of runtrue in the Model Context Protocol."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ClientCapabilities,
    ElicitationCapability,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    GetPromptRequestParams,
    GetPromptResult,
    InputRequiredResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    Prompt,
    PromptMessage,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextContent,
    TextResourceContents,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from runtrue import __version__
from runtrue.errors import RuntrueError
from runtrue.foreign_text import visible_name
from runtrue.mcp_server.command import PrintedResult, run_command
from runtrue.mcp_server.question import PersonQuestion, question_in, question_of_file
from runtrue.mcp_server.service import Service
from runtrue.mcp_server.tools import (
    TOOLS,
    AnswerInput,
    RunWorkflowInput,
    ToolInput,
    describe,
    read_input,
)
from runtrue.mcp_server.workflow_tools import read_workflow_input, workflow_tools

_Context = ServerRequestContext[Any, Any]

#: What a client shows, or gives its model, about this server.
_INSTRUCTIONS = (
    "Runs AI-written code and workflows in a sandbox, fixes what fails, and hands over only what "
    "passes. After you change code, call `gate` before you say that you are done; call `fix` when "
    "checks fail; call `do` for tasks on APIs and files. A result with the status `waiting` has a "
    "question for the person: show it to them, then pass their answer on with `answer`."
)
_PROMPT = "prove_before_return"
#: What one answer is called in a round of questions.
_KEY = "answer"
#: Resources of a run: what `runs` prints for it, and the type of that.
_PARTS = {"report": ("show", "application/json"), "diff": ("diff", "text/x-diff")}


async def serve_stdio(service: Service) -> None:
    """Serve one client on stdin and stdout until it closes them."""
    server = make_server(service)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def make_server(service: Service) -> Server[Any]:
    """Return a server that runs commands of this service."""
    handlers = _Handlers(service)
    server: Server[Any] = Server(
        "runtrue",
        version=__version__,
        title="runtrue",
        instructions=_INSTRUCTIONS,
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_resources=handlers.list_resources,
        on_list_resource_templates=handlers.list_resource_templates,
        on_read_resource=handlers.read_resource,
        on_list_prompts=handlers.list_prompts,
        on_get_prompt=handlers.get_prompt,
    )
    # What a client sends back about a question is what this server gave it, and nothing else.
    security = RequestStateSecurity.ephemeral()
    server.middleware.append(RequestStateBoundary(security, default_audience=server.name))
    return server


@dataclass(frozen=True, slots=True)
class _Handlers:
    """The requests of a client, each answered by a command."""

    service: Service

    async def list_tools(
        self, context: _Context, params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        own = [describe(tool, self.service) for tool in TOOLS]
        return ListToolsResult(tools=[*own, *workflow_tools(self.service)])

    async def call_tool(
        self, context: _Context, params: CallToolRequestParams
    ) -> CallToolResult | InputRequiredResult:
        try:
            given = self._input(params)
            words = given.words()
            directory = self.service.directory(given.path)
            if given.file is not None:
                self.service.demand_inside(given.file, directory)
            if isinstance(given, RunWorkflowInput) and self.service.is_file(
                given.workflow, directory
            ):
                refused = await self._refusal_of_file(context, params, given, directory)
                if refused is not None:
                    return refused
            elif params.request_state is not None:
                answer = _answer_in(params)
                if answer is None:  # the person does not want to answer now
                    words = ["runs", "show", "--", params.request_state]
                else:
                    words = AnswerInput(run_id=params.request_state, answer=answer).words()
            elif isinstance(given, AnswerInput):
                words = ["runs", "show", "--", given.run_id]
                asked = question_in((await self._run(context, words, directory)).document or {})
                if asked is not None and asked.needs_person(given.answer):
                    return await self._put_to_person(context, asked, given, directory)
                words = given.words()
            while True:
                done = await self._run(context, words, directory)
                asked = question_in(done.document or {})
                if asked is None or isinstance(given, AnswerInput) or words[:2] == ["runs", "show"]:
                    return _result(done)
                if not context.session.check_client_capability(_CAN_ASK):
                    return _result(done)
                if context.protocol_version in MODERN_PROTOCOL_VERSIONS:
                    return _input_required(asked)
                reply = await context.session.elicit_form(asked.message, asked.form)
                answer = _answer_of(reply)
                if answer is None:
                    return _result(done)
                words = AnswerInput(run_id=asked.run_id, answer=answer).words()
        except RuntrueError as error:
            return _error(str(error))

    async def _refusal_of_file(
        self,
        context: _Context,
        params: CallToolRequestParams,
        given: RunWorkflowInput,
        directory: Path,
    ) -> CallToolResult | InputRequiredResult | None:
        """Ask a person to agree to a workflow file; None if it may run."""
        looked = await self._run(context, given.words_to_look(), directory)
        if looked.document is None or looked.exit_code != 0:
            return _error(looked.error)
        asked = question_of_file(given.workflow, looked.document["effects"])
        if asked is None:
            return None
        if params.request_state is not None:
            answer = _answer_in(params) if params.request_state == asked.run_id else None
        elif not context.session.check_client_capability(_CAN_ASK):
            return _error(
                f"{asked.message}\nOnly a person can agree to that, and this client cannot ask "
                f"one; the person runs: runtrue run {visible_name(given.workflow)}"
            )
        elif context.protocol_version in MODERN_PROTOCOL_VERSIONS:
            return _input_required(asked)
        else:
            answer = _answer_of(await context.session.elicit_form(asked.message, asked.form))
        return None if answer == "yes" else _error("nothing ran: the person did not agree")

    async def _put_to_person(
        self, context: _Context, asked: PersonQuestion, given: AnswerInput, directory: Path
    ) -> CallToolResult | InputRequiredResult:
        """Have the person answer what a model would have answered."""
        if not context.session.check_client_capability(_CAN_ASK):
            return _error(
                f"only a person can answer this with {visible_name(given.answer)!r}, and this "
                f"client cannot ask one; the person runs: runtrue runs resume {asked.run_id}"
            )
        asked = asked.with_proposal(given.answer)
        if context.protocol_version in MODERN_PROTOCOL_VERSIONS:
            return _input_required(asked)
        answer = _answer_of(await context.session.elicit_form(asked.message, asked.form))
        words = ["runs", "show", "--", asked.run_id]
        if answer is not None:
            words = AnswerInput(run_id=asked.run_id, answer=answer).words()
        return _result(await self._run(context, words, directory))

    def _input(self, params: CallToolRequestParams) -> ToolInput:
        arguments = params.arguments or {}
        for tool in TOOLS:
            if tool.name == params.name:
                return read_input(tool, arguments)
        found = read_workflow_input(self.service, params.name, arguments)
        if found is None:
            names = ", ".join(tool.name for tool in TOOLS)
            raise MCPError(INVALID_PARAMS, f"there is no tool {params.name!r}; available: {names}")
        return found

    async def _run(self, context: _Context, words: list[str], directory: Path) -> PrintedResult:
        count = 0

        async def report(line: str) -> None:
            nonlocal count
            count += 1
            await context.session.report_progress(count, message=line)

        # `--json` goes before what follows `--`.
        at = words.index("--") if "--" in words else len(words)
        argv = [*self.service.program, *words[:at], "--json", *words[at:]]
        return await run_command(argv, directory, report, self.service.environment)

    async def list_resources(
        self, context: _Context, params: PaginatedRequestParams | None
    ) -> ListResourcesResult:
        done = await self._run(context, ["runs", "list"], self.service.roots[0])
        runs = (done.document or {}).get("runs", [])
        return ListResourcesResult(
            resources=[
                Resource(
                    uri=f"runtrue://runs/{run['run_id']}/report",
                    name=f"report of {run['run_id']}",
                    title=f"{run['kind']} {run['title']} ({run['state']})",
                    mime_type="application/json",
                )
                for run in runs
            ]
        )

    async def list_resource_templates(
        self, context: _Context, params: PaginatedRequestParams | None
    ) -> ListResourceTemplatesResult:
        return ListResourceTemplatesResult(
            resource_templates=[
                ResourceTemplate(
                    uri_template=f"runtrue://runs/{{run_id}}/{part}",
                    name=f"run_{part}",
                    title=f"The {part} of a run",
                    mime_type=mime_type,
                )
                for part, (_, mime_type) in _PARTS.items()
            ]
        )

    async def read_resource(
        self, context: _Context, params: ReadResourceRequestParams
    ) -> ReadResourceResult:
        uri = str(params.uri)
        run_id, _, part = uri.removeprefix("runtrue://runs/").partition("/")
        if not uri.startswith("runtrue://runs/") or part not in _PARTS or not run_id:
            raise MCPError(
                INVALID_PARAMS,
                f"there is no resource {uri!r}; there are runtrue://runs/RUN_ID/report and /diff",
            )
        command, mime_type = _PARTS[part]
        done = await self._run(context, ["runs", command, "--", run_id], self.service.roots[0])
        if done.exit_code != 0 or done.document is None:
            raise MCPError(INVALID_PARAMS, done.error)
        text = done.document["diff"] if part == "diff" else json.dumps(done.document, indent=2)
        return ReadResourceResult(
            contents=[TextResourceContents(uri=uri, mime_type=mime_type, text=text)]
        )

    async def list_prompts(
        self, context: _Context, params: PaginatedRequestParams | None
    ) -> ListPromptsResult:
        about = "Work on a task, and prove the change with runtrue before you return it"
        return ListPromptsResult(prompts=[Prompt(name=_PROMPT, description=about)])

    async def get_prompt(
        self, context: _Context, params: GetPromptRequestParams
    ) -> GetPromptResult:
        if params.name != _PROMPT:
            raise MCPError(
                INVALID_PARAMS, f"there is no prompt {params.name!r}; there is {_PROMPT}"
            )
        text = files("runtrue.mcp_server").joinpath("prove_before_return.md").read_text("utf-8")
        message = PromptMessage(role="user", content=TextContent(text=text))
        return GetPromptResult(messages=[message])


_CAN_ASK = ClientCapabilities(elicitation=ElicitationCapability())


def _input_required(asked: PersonQuestion) -> InputRequiredResult:
    form = ElicitRequestFormParams(message=asked.message, requested_schema=asked.form)
    return InputRequiredResult(
        input_requests={_KEY: ElicitRequest(params=form)}, request_state=asked.run_id
    )


def _answer_in(params: CallToolRequestParams) -> str | None:
    """Return the answer that comes with a repeated call, or None if the person gave none."""
    reply = (params.input_responses or {}).get(_KEY)
    return _answer_of(reply) if isinstance(reply, ElicitResult) else None


def _answer_of(reply: ElicitResult) -> str | None:
    """Return what a person said; None for a person who closed the form without an answer."""
    if reply.action == "accept":
        answer = (reply.content or {}).get(_KEY)
        return answer if isinstance(answer, str) and answer.strip() else None
    return None


def _result(done: PrintedResult) -> CallToolResult:
    """Return what a command printed as the result of a call."""
    document = done.document
    # A report of a run has its id; other documents come with exit code 0.
    if document is None or (done.exit_code != 0 and document.get("run_id") is None):
        return _error(done.error)
    return CallToolResult(
        content=[TextContent(text=json.dumps(document))], structured_content=document
    )


def _error(said: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=said)], is_error=True)
