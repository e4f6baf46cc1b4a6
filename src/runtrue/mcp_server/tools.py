"""The tools: what each takes, and the words of the command that it stands for."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Annotated, Any, ClassVar, Literal

import msgspec
from mcp_types import Tool, ToolAnnotations
from msgspec import Meta

from runtrue.errors import UsageError
from runtrue.foreign_text import visible_name
from runtrue.mcp_server.service import Service
from runtrue.typed_data import convert

_Path = Annotated[
    str, Meta(description="The project's directory, seen from the server's root. Default: the root")
]
_RunId = Annotated[str, Meta(description="The id of a run, or the beginning of it")]
_Checks = Annotated[
    list[str],
    Meta(
        description="Commands that must pass, or names of the project's checks. "
        "Default: the checks that the project is configured with"
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolInput(ABC):
    """The arguments of a call. A subclass is a tool; its docstring is what the agent reads."""

    name: ClassVar[str]
    title: ClassVar[str]
    #: The class of the report that the tool gives, or none: then any JSON object.
    report: ClassVar[str | None] = None
    read_only: ClassVar[bool] = False

    path: _Path = "."

    @abstractmethod
    def words(self) -> list[str]:
        """Return the command, without the program and `--json`."""

    @property
    def file(self) -> str | None:
        """The argument that may be a file, if there is one."""
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class GateInput(ToolInput):
    """Judge the uncommitted change of a project before you hand it over.

    The checks pass, what changed is tested, and no test was weakened. Nothing is repaired. Call it
    after every change and before you say that you are done; `ready` is the verdict, `findings` say
    what to fix.
    """

    name = "gate"
    title = "Check a change"
    report = "CodeReport"

    base: Annotated[
        str, Meta(description="Check everything since the merge base with this revision instead")
    ] = ""
    checks: _Checks = field(default_factory=list)

    def words(self) -> list[str]:
        """Return the command, without the program and `--json`."""
        return ["gate", *_option("--base", self.base), *_options("--check", self.checks)]


@dataclass(frozen=True, slots=True, kw_only=True)
class FixInput(ToolInput):
    """Make the failing checks of a project pass.

    The work happens in a sandbox; the result is a proven diff, which is applied to the project only
    with `apply`. Where runtrue is not sure, the run waits for a person.
    """

    name = "fix"
    title = "Fix failing checks"
    report = "CodeReport"

    checks: _Checks = field(default_factory=list)
    apply: Annotated[bool, Meta(description="Apply the diff when every required check passes")] = (
        False
    )

    def words(self) -> list[str]:
        """Return the command, without the program and `--json`."""
        apply = ["--apply"] if self.apply else []
        return ["fix", *apply, *_options("--check", self.checks), "."]


@dataclass(frozen=True, slots=True, kw_only=True)
class DoInput(ToolInput):
    """Do a task on HTTP APIs, files, commands or MCP servers.

    A workflow is planned, run once, and fixed from what really came back. What goes beyond the
    words of the task is put to a person first.
    """

    name = "do"
    title = "Do a task"
    report = "TaskReport"

    task: Annotated[str, Meta(description="The task in plain words, with its URL, file or tool")]
    dry_run: Annotated[bool, Meta(description="Only show the plan and its effects")] = False

    def words(self) -> list[str]:
        """Return the command, without the program and `--json`."""
        return ["do", *(["--dry-run"] if self.dry_run else []), "--", self.task]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunWorkflowInput(ToolInput):
    """Run a saved workflow, or one from a file, with these inputs; nothing is repaired.

    What a file would do, other than to read files, is put to a person first.
    """

    name = "run_workflow"
    title = "Run a workflow"
    report = "WorkflowReport"

    workflow: Annotated[str, Meta(description="The name of a saved workflow, or a file")]
    inputs: Annotated[dict[str, Any], Meta(description="The workflow's inputs, by name")] = field(
        default_factory=dict
    )

    def words(self) -> list[str]:
        """Return the command, without the program and `--json`."""
        return ["run", "--", self.workflow, *_pairs(self.inputs)]

    def words_to_look(self) -> list[str]:
        """Return the command that only shows what it would do."""
        return ["run", "--dry-run", *self.words()[1:]]

    @property
    def file(self) -> str | None:
        """The workflow, which may be a file."""
        return self.workflow


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanInput(ToolInput):
    """Carry out an instruction in steps, each validated, and apply it when everything holds.

    `new` makes a plan from an instruction or a plan file; the other actions take its id.
    """

    name = "plan"
    title = "Work with a plan"

    action: Literal["new", "execute", "status", "diff", "apply", "cancel"]
    instruction: Annotated[str, Meta(description="With `new`: the instruction, or a plan file")] = (
        ""
    )
    plan_id: Annotated[str, Meta(description="With the other actions: the plan's id")] = ""

    def words(self) -> list[str]:
        """Return the command, without the program and `--json`."""
        if self.action == "new":
            if not self.instruction:
                raise UsageError("the action `new` needs `instruction`: what the plan is to do")
            return ["plan", "use", "--", self.instruction]
        return ["plan", self.action, *(["--", self.plan_id] if self.plan_id else [])]

    @property
    def file(self) -> str | None:
        """The instruction, which may be a file if it is one word."""
        return self.instruction if len(self.instruction.split()) == 1 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunsShowInput(ToolInput):
    """Show what happened in a run: attempts, verdicts, findings, diff and confidence."""

    name = "runs_show"
    title = "Show a run"
    read_only = True

    run_id: Annotated[str, Meta(description="The run's id. Default: the latest run")] = ""

    def words(self) -> list[str]:
        """Return the command, without the program and `--json`."""
        return ["runs", "show", *(["--", self.run_id] if self.run_id else [])]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerInput(ToolInput):
    """Have a person answer a run that waits for one, and continue the run.

    The client shows the question to the person, with your proposal, and their answer counts. With a
    client that cannot ask, only `no` and guidance in words are passed on.
    """

    name = "answer"
    title = "Answer a waiting run"

    run_id: _RunId
    answer: Annotated[
        str, Meta(description="`yes`, `no`, the number of another fix, or guidance in plain words")
    ]

    def words(self) -> list[str]:
        """Return the command, without the program and `--json`."""
        return ["runs", "resume", f"--answer={self.answer}", "--", self.run_id]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySearchInput(ToolInput):
    """Find failures that runtrue has seen before and the fixes that were proven for them."""

    name = "memory_search"
    title = "Search known failures"
    read_only = True

    text: Annotated[str, Meta(description="The error message")]

    def words(self) -> list[str]:
        """Return the command, without the program and `--json`."""
        return ["memory", "search", "--", self.text]


#: Every tool, in the order in which clients list them.
TOOLS: tuple[type[ToolInput], ...] = (
    GateInput,
    FixInput,
    DoInput,
    RunWorkflowInput,
    PlanInput,
    RunsShowInput,
    AnswerInput,
    MemorySearchInput,
)


def describe(tool: type[ToolInput], service: Service) -> Tool:
    """Return a tool as the protocol lists it."""
    return Tool(
        name=tool.name,
        title=tool.title,
        description=" ".join((tool.__doc__ or "").split()),
        input_schema=_input_schema(tool),
        output_schema=service.output_schema(tool.report) if tool.report else None,
        annotations=ToolAnnotations(
            read_only_hint=tool.read_only,
            destructive_hint=not tool.read_only,
            open_world_hint=not tool.read_only,
        ),
    )


def read_input(tool: type[ToolInput], arguments: Mapping[str, Any]) -> ToolInput:
    """Return the arguments of a call with their types. Raises UsageError for wrong ones."""
    known = list(_input_schema(tool)["properties"])
    for name in arguments:
        if name not in known:
            close = get_close_matches(name, known, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"available: {', '.join(known)}"
            raise UsageError(f"{tool.name} takes no {visible_name(name)!r}; {hint}")
    try:
        given: ToolInput = convert(dict(arguments), tool)
    except msgspec.ValidationError as error:
        raise UsageError(f"{tool.name}: {visible_name(str(error))}") from error
    return given


def _input_schema(tool: type[ToolInput]) -> dict[str, Any]:
    (_,), definitions = msgspec.json.schema_components([tool])
    schema = definitions[tool.__name__]
    return {
        "type": "object",
        "properties": schema["properties"],
        "required": schema.get("required", []),
        "additionalProperties": False,
    }


def _option(name: str, value: str) -> list[str]:
    return [f"{name}={value}"] if value else []


def _options(name: str, values: list[str]) -> Iterator[str]:
    for value in values:
        yield f"{name}={value}"


def _pairs(inputs: Mapping[str, Any]) -> Iterator[str]:
    for name, value in inputs.items():
        yield f"{name}={value if isinstance(value, str) else json.dumps(value)}"
