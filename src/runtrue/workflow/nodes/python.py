"""The `python` node: a function body in a process of its own, with JSON going in and out."""

from __future__ import annotations

import asyncio
import keyword
import signal
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from msgspec import Meta

from runtrue import process
from runtrue.errors import NodeFailed, RuntimeValidationError
from runtrue.loop import RESOURCE_LIMIT, Fault, fault_of_exception
from runtrue.typed_data import decode_json
from runtrue.workflow.effect import Effect, EffectKind
from runtrue.workflow.fill import is_known
from runtrue.workflow.node import Pointer, Result, WorkflowNode, failure
from runtrue.workflow.nodes import _python_runner
from runtrue.workflow.templates import TemplateSyntaxError, compile_template

if TYPE_CHECKING:
    from runtrue.workflow.context import Context

#: What is kept of each end of what the code prints.
KEPT = 32 * 1024
LARGEST_ANSWER = 50 * 1024 * 1024
LONGEST_MESSAGE = 1_000

_INHERITED = ("PATH", "LANG", "LC_ALL", "TZ")


@dataclass(frozen=True, slots=True)
class PythonParams:
    """The code to run, and its inputs."""

    code: Annotated[
        str,
        Meta(
            description="The body of a function: `return` gives the result, "
            "`return route('action', value)` also says where to go on"
        ),
    ]
    inputs: Annotated[
        dict[str, Any], Meta(description="Values that the code can use under these names")
    ] = field(default_factory=dict)
    timeout: Annotated[float, Meta(description="Time limit in seconds", gt=0, le=86_400)] = 30


@dataclass(frozen=True, slots=True)
class PythonOutputs:
    """The result of the code, and its output."""

    result: Annotated[Any, Meta(description="What the code returned; null when that is nothing")]
    stdout: Annotated[str, Meta(description="What the code printed, up to 64 KB")]
    error: Annotated[str, Meta(description="What went wrong, when it failed")]


class PythonNode(WorkflowNode[PythonParams]):
    """Run the body of a Python function in a process of its own, on JSON data.

    The process has an empty directory and hardly any environment, and is isolated.
    """

    type = "python"
    Params = PythonParams
    Outputs = PythonOutputs
    purpose = frozenset({"code"})

    async def run(self, params: PythonParams, context: Context) -> Result:
        """Run the code and read its answer."""
        for name in params.inputs:
            if not _is_name(name):
                raise RuntimeValidationError(
                    f"the input {name!r} cannot be a variable: {_NAMES}",
                    category="bad_param",
                    attempted=(name,),
                )
        # Not where workflows are only read and checked.
        from runtrue.workflow.isolation import confinement_for

        with (
            # The code may leave what cannot be removed, which is no reason to fail.
            tempfile.TemporaryDirectory(prefix="runtrue-", ignore_cleanup_errors=True) as work,
            tempfile.NamedTemporaryFile(prefix="runtrue-") as answer,
        ):
            ended = await process.run(
                [sys.executable, "-I", "-X", "utf8", _python_runner.__file__, answer.name],
                cwd=Path(work),
                env=_environment(work, context),
                timeout=params.timeout,
                stdin=msgspec.json.encode({"code": params.code, "inputs": params.inputs}),
                keep=KEPT,
                confinement=confinement_for(context, Path(work), Path(answer.name)),
            )
            answered = await asyncio.to_thread(answer.read, LARGEST_ANSWER + 1)
        return _result(ended, answered, params.timeout)

    def check(self, params: Mapping[str, Any]) -> Iterable[tuple[Pointer, str]]:
        """Refuse code that cannot be compiled, and inputs that cannot be variables."""
        inputs = params.get("inputs")
        names = list(inputs) if isinstance(inputs, dict) else []
        for name in names:
            if not _is_name(name):
                yield ("inputs", name), f"{name!r} cannot be a variable: {_NAMES}"
        code = params.get("code")
        if isinstance(code, str):
            yield from _check_code(code, list(filter(_is_name, names)))

    def has_side_effect(self, params: Mapping[str, Any]) -> bool:
        """False: its process has nothing to act on."""
        return False

    def effects(self, params: Mapping[str, Any]) -> Iterable[Effect]:
        """Yield the code: where isolation is weak, it can do anything."""
        code = params.get("code", "")
        yield Effect(kind=EffectKind.CODE, target=str(code), known=is_known(code))


_NAMES = "it must be a name of Python that is not a keyword"


def _is_name(name: str) -> bool:
    return name.isidentifier() and not keyword.iskeyword(name)


def _check_code(code: str, names: list[str]) -> Iterable[tuple[Pointer, str]]:
    try:
        template = compile_template(code)
    except TemplateSyntaxError:
        return  # Reported where all templates are checked.
    for reference in template.references:
        yield (
            ("code",),
            f"{reference} is in the code, where data would become code; give it a name in "
            "`inputs` and use that (or write $${ for a literal ${)",
        )
        return
    try:
        _python_runner.compile_body(template.render({}), names)
    except SyntaxError as error:
        yield ("code",), f"line {error.lineno or 1} of the code: {error.msg}"
    except (ValueError, RecursionError, MemoryError) as error:
        yield ("code",), f"the code cannot be compiled: {str(error) or type(error).__name__}"


def _environment(work: str, context: Context) -> dict[str, str]:
    given = context.environment
    own = {"HOME": work, "TMPDIR": work}
    mark = {process.MARK: context.run_id} if context.run_id else {}
    return {**{name: given[name] for name in _INHERITED if name in given}, **own, **mark}


# -- outcome -----------------------------------------------------------------------------------


class _RunnerError(msgspec.Struct, frozen=True):
    type: str
    mro: list[str]
    errno: int | None
    message: str
    exit: bool
    line: int | None
    source: str | None
    traceback: list[str]


class _RunnerFlaw(msgspec.Struct, frozen=True):
    path: str
    problem: str


class _RunnerAnswer(msgspec.Struct, frozen=True):
    """The runner's answer: a result and an action, or why there is none."""

    result: Any = None
    action: str = "default"
    flaw: _RunnerFlaw | None = None
    error: _RunnerError | None = None


def _result(ended: process.Ended, answered: bytes, timeout: float) -> Result:
    printed = {"stdout": ended.stdout.text}
    if ended.exceeded is not None:
        message = f"the code {ended.exceeded.message}"
        raise failure(message, RESOURCE_LIMIT, printed, data=ended.exceeded.data)
    if ended.timed_out:
        raise failure(f"the code did not finish within {timeout:g} seconds", "timeout", printed)
    if len(answered) > LARGEST_ANSWER:
        message = f"the result is larger than {LARGEST_ANSWER // 1024**2} MB"
        raise failure(message, "output_limit", printed)
    try:
        answer = decode_json(answered, _RunnerAnswer)
    except msgspec.DecodeError:
        raise _unanswered(ended) from None
    if answer.flaw is not None:
        raise failure(
            f"the result is not JSON data: {answer.flaw.path} {answer.flaw.problem}",
            "not_json",
            printed,
            error_type=RuntimeValidationError,
            attempted=(answer.flaw.path,),
        )
    if answer.error is not None:
        raise _raised(answer.error, printed)
    return Result({"result": answer.result, **printed}, answer.action)


def _unanswered(ended: process.Ended) -> NodeFailed:
    """Explain why the process ended in the middle of the code."""
    code = ended.exit_code or 0
    sample = ended.stderr.text[-2_000:] or None
    data, printed = {"exit_code": code}, {"stdout": ended.stdout.text}
    if code >= 0:
        message = f"the code ended its process with exit code {code} instead of returning"
        return failure(message, "exit", printed, sample=sample, data=data)
    # Out of memory, as a rule, when nobody says why.
    fault = Fault.ENVIRONMENT if -code == signal.SIGKILL else Fault.CANDIDATE
    message = f"the process running the code was killed by {process.signal_name(-code)}"
    return failure(message, "killed", printed, fault=fault, sample=sample, data=data)


def _raised(error: _RunnerError, printed: Mapping[str, str]) -> NodeFailed:
    where = f" (line {error.line} of the code)" if error.line else ""
    if error.exit:
        category, what = "exit", f"the code called sys.exit({error.message}) instead of returning"
    else:
        category = error.type
        said = " ".join(error.message.split())[:LONGEST_MESSAGE]
        what = f"{error.type}: {said}" if said else error.type
    return failure(
        f"{what}{where}",
        category,
        printed,
        fault=fault_of_exception(error.mro, error_number=error.errno),
        sample=error.source,
        data={"line": error.line, "traceback": error.traceback},
    )
