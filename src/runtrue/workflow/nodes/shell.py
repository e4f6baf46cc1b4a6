"""The `shell` node: a command, with values that can never become a part of its syntax."""

from __future__ import annotations

import base64
import errno
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from msgspec import Meta

from runtrue import process
from runtrue.errors import NodeFailed, RuntimeValidationError
from runtrue.loop import RESOURCE_LIMIT, Fault
from runtrue.typed_data import convert
from runtrue.workflow.effect import Effect, EffectKind
from runtrue.workflow.fill import is_known, leaves
from runtrue.workflow.node import Pointer, Result, WorkflowNode, failure
from runtrue.workflow.nodes.files import names_in, permitted
from runtrue.workflow.nodes.shell_text import PREFIX, CommandText, with_variables
from runtrue.workflow.secrets import SecretText
from runtrue.workflow.templates import (
    Reference,
    Template,
    TemplateSyntaxError,
    compile_template,
)

if TYPE_CHECKING:
    from runtrue.workflow.context import Context

#: What is kept of each output unless `max_bytes` says more; a command that prints more has failed.
LARGEST_OUTPUT = 10 * 1024 * 1024
#: What is shown at each end of an output that was too large.
SHOWN_OF_TOO_LARGE = 32 * 1024
#: Linux takes no longer text than this for a variable with its name, nor for an argument.
LONGEST_TEXT = 128 * 1024
LONGEST_LINE = 500

#: Where the values are among the resolved params; no workflow can write a param of this name.
_VALUES = "$values"
_NUMBER = re.compile(r"\s*[-+]?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?\s*")
_ONE_REFERENCE = re.compile(r"\$\{[^${}]*\}")
_VARIABLE = re.compile(r"[^=\0]+")


@dataclass(frozen=True, slots=True)
class ShellParams:
    """The command to run, and how."""

    command: Annotated[
        str,
        Meta(
            min_length=1,
            description="A command for /bin/sh; each ${…} in it becomes a variable of the shell, "
            "so a value is always one piece of text and never syntax",
        ),
    ]
    stdin: Annotated[
        Any, Meta(description="What the command reads: text as it is, anything else as JSON")
    ] = None
    cwd: Annotated[
        str | None, Meta(description="Where it runs, relative to the current directory; ~ is home")
    ] = None
    env: Annotated[
        dict[str, str | bool | int | float], Meta(description="Further environment variables")
    ] = field(default_factory=dict)
    timeout: Annotated[float, Meta(description="Time limit in seconds", gt=0, le=86_400)] = 30
    ignore_errors: Annotated[bool, Meta(description="Continue whatever the exit code is")] = False
    max_bytes: Annotated[
        int, Meta(gt=0, description="The largest output to accept, of stdout and of stderr")
    ] = LARGEST_OUTPUT
    strip_newline: Annotated[bool, Meta(description="Drop newlines at the end of stdout")] = True
    raw: Annotated[
        bool,
        Meta(description="Put values into the text of the command as they are: they become syntax"),
    ] = False


@dataclass(frozen=True, slots=True)
class ShellOutputs:
    """The output of a command, and how it ended."""

    stdout: Annotated[
        str, Meta(description="What it printed on stdout; in base64 if that is not UTF-8 text")
    ]
    stderr: Annotated[
        str, Meta(description="What it printed on stderr; in base64 if that is not UTF-8 text")
    ]
    exit_code: Annotated[
        int | None, Meta(description="0 is success, negative a signal, null a time-out")
    ]
    stdout_is_binary: Annotated[bool, Meta(description="Whether stdout is in base64")]
    stderr_is_binary: Annotated[bool, Meta(description="Whether stderr is in base64")]
    error: Annotated[str, Meta(description="What went wrong, when it failed")]


@dataclass(frozen=True, slots=True)
class ShellValue:
    """The value of one variable of a command. `number` says that the shell computes with it."""

    name: str
    reference: str
    text: str
    number: bool


@dataclass(frozen=True, slots=True)
class Command:
    """A command that is ready to be run."""

    params: ShellParams
    values: tuple[ShellValue, ...] = ()


class ShellNode(WorkflowNode[Command]):
    """Run a command in the shell (/bin/sh).

    Each ${…} in the command becomes a variable of the shell, quoted as its place needs it: what
    the command gets is exactly the value, as one argument or a part of one. What the command does
    with it is its own affair: `eval`, `sh -c` and the like still run the text they are given.
    """

    type = "shell"
    Params = ShellParams
    Outputs = ShellOutputs
    purpose = frozenset({"command", "cwd", "env", "ignore_errors", "raw"})

    def resolve(self, params: Mapping[str, Template], store: Mapping[str, Any]) -> dict[str, Any]:
        """Fill the params in; references of the command become variables."""
        if "raw" in params and params["raw"].constant and params["raw"].render(store) is True:
            return super().resolve(params, store)
        others = {name: template for name, template in params.items() if name != "command"}
        text = _command_text(params["command"].split())
        for reference, why in text.problems:
            raise RuntimeValidationError(
                f"{reference}: {why}", category="misplaced_reference", attempted=(str(reference),)
            )
        return {
            **super().resolve(others, store),
            "command": text.text,
            _VALUES: [
                {
                    "name": name,
                    "reference": str(reference),
                    "text": _as_text(reference.resolve(store)),
                    "number": reference in text.numbers,
                }
                for reference, name in text.names.items()
            ],
        }

    def convert(self, params: dict[str, Any]) -> Command:
        """Return the params, with the values of the command apart."""
        others = {name: value for name, value in params.items() if name != _VALUES}
        declared: ShellParams = super().convert(others)  # type: ignore[assignment]
        return Command(declared, convert(params.get(_VALUES, []), tuple[ShellValue, ...]))

    def check(self, params: Mapping[str, Any]) -> Iterable[tuple[Pointer, str]]:
        """Refuse references where the command cannot take values."""
        raw = params.get("raw", False)
        if isinstance(raw, str):
            yield ("raw",), "is not a place for a reference: write true or false"
        command = params.get("command")
        if isinstance(command, str) and raw is not True:
            yield from ((("command",), problem) for problem in _problems(command))
        environment = params.get("env")
        for name in environment if isinstance(environment, dict) else ():
            if not _VARIABLE.fullmatch(name):
                yield ("env", name), f"{name!r} is not a name of a variable"

    def effects(self, params: Mapping[str, Any]) -> Iterable[Effect]:
        """Yield the command with what it is given, and the directory that it runs in."""
        command, directory = params.get("command", ""), params.get("cwd")
        given = params.get("env") or {}
        pairs = given.items() if isinstance(given, dict) else ()
        yield Effect(
            kind=EffectKind.COMMAND,
            target=str(command),
            detail=" ".join(["with", *(f"{name}={value}" for name, value in pairs)] * bool(pairs)),
            values=_written_input(params.get("stdin")),
            known=all(map(is_known, (command, *leaves(given)))),
        )
        if directory is not None:
            yield Effect(
                kind=EffectKind.DIRECTORY, target=str(directory), known=is_known(directory)
            )

    async def run(self, params: Command, context: Context) -> Result:
        """Run the command to its end, and end with it whatever it started."""
        given = params.params
        directory = _directory(given.cwd, context)
        environment = _environment(params, context)
        _require_usable("the command", given.command)
        # Not where workflows are only read and checked.
        from runtrue.workflow.isolation import confinement_for

        try:
            ended = await process.run(
                ["/bin/sh", "-c", given.command],
                cwd=directory,
                env=environment,
                timeout=given.timeout,
                stdin=None if given.stdin is None else _as_input(given.stdin),
                keep=(given.max_bytes + 1) // 2,
                confinement=confinement_for(context, context.directory, directory),
            )
        except OSError as error:
            raise _cannot_start(error, directory) from error
        return _result(ended, given)


# -- references ---------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def _command_text(parts: tuple[str | Reference, ...]) -> CommandText[Reference]:
    first: dict[Any, Reference] = {}
    merged = [
        part if isinstance(part, str) else first.setdefault((part.root, part.steps), part)
        for part in parts
    ]
    if any(isinstance(part, str) and "\0" in part for part in merged):
        raise _unusable("the command", "holds a NUL character")
    return with_variables(merged)


def _problems(command: str) -> Iterable[str]:
    try:
        parts = compile_template(command).split()
    except TemplateSyntaxError:
        return  # Reported where all templates are checked.
    if "\0" in command:
        yield "a command cannot hold a NUL character"
    elif len(parts) == 1 and isinstance(parts[0], Reference):
        yield (
            f"the command is nothing but {parts[0]}, whose value would be taken for the name of a "
            "program; with raw: true it is run as a command"
        )
    else:
        yield from (f"{reference}: {why}" for reference, why in _command_text(parts).problems)


def _as_text(value: Any) -> str | SecretText:
    return value if isinstance(value, str | SecretText) else msgspec.json.encode(value).decode()


def _written_input(stdin: Any) -> tuple[str, ...]:
    """Return what a command reads, unless that is nothing but what an earlier node will give."""
    if stdin is None or (not is_known(stdin) and _ONE_REFERENCE.fullmatch(stdin)):
        return ()
    return (str(_as_text(stdin)),)


# -- what it is run with ------------------------------------------------------------------------


def _directory(cwd: str | None, context: Context) -> Path:
    if cwd is None:
        return context.directory
    directory = permitted(cwd, context).real
    if not directory.is_dir():
        raise failure(
            f"there is no directory {directory} to run the command in",
            "directory_not_found",
            attempted=(str(directory),),
            available=names_in(directory.parent, directory.name),
        )
    return directory


def _environment(command: Command, context: Context) -> dict[str, str]:
    from runtrue.sandbox import allowed

    # Values of a command around this one are none of its business.
    inherited = {k: v for k, v in allowed(context.environment).items() if not k.startswith(PREFIX)}
    given = {name: str(_as_text(value)) for name, value in command.params.env.items()}
    for name, text in given.items():
        if not _VARIABLE.fullmatch(name):
            raise _unusable(f"the variable {name!r}", "has a name that no variable can have")
        _require_usable(f"the variable {name}", text, name)
    for value in command.values:
        _require_usable(f"the value of {value.reference}", value.text, value.name)
        if value.number and not _NUMBER.fullmatch(value.text):
            raise _no_number(value)
    values = {value.name: value.text for value in command.values}
    mark = {process.MARK: context.run_id} if context.run_id else {}
    return {**inherited, **given, **values, **mark}


def _no_number(value: ShellValue) -> NodeFailed:
    return failure(
        f"{value.reference} is in arithmetic, where it must be a number and is not",
        "not_a_number",
        attempted=(value.reference,),
        sample=value.text[:LONGEST_LINE],
    )


def _as_input(value: Any) -> bytes:
    return value.encode() if isinstance(value, str) else msgspec.json.encode(value)


def _require_usable(what: str, text: str, name: str = "") -> None:
    if "\0" in text:
        raise _unusable(what, "holds a NUL character")
    if len(f"{name}={text}".encode()) >= LONGEST_TEXT:
        raise _unusable(what, f"is {len(text):,} characters long")


def _unusable(what: str, why: str) -> RuntimeValidationError:
    return RuntimeValidationError(
        f"{what} {why}, which the system does not take; pass it with stdin",
        category="unusable_value",
        attempted=(what,),
    )


def _cannot_start(error: OSError, directory: Path) -> NodeFailed:
    if error.errno == errno.E2BIG:
        return _unusable("all that the command is given", "is too large together")
    message = f"the command cannot be started in {directory}: {error.strerror or error}"
    return failure(message, "cannot_start", fault=Fault.ENVIRONMENT)


# -- outcome -----------------------------------------------------------------------------------


def _result(ended: process.Ended, params: ShellParams) -> Result:
    streams = {"stdout": ended.stdout, "stderr": ended.stderr}
    cut = [
        name
        for name, captured in streams.items()
        if captured.dropped or len(captured.head) + len(captured.tail) > params.max_bytes
    ]
    stdout, stdout_is_binary = _decoded(ended.stdout)
    stderr, stderr_is_binary = _decoded(ended.stderr)
    if params.strip_newline and not stdout_is_binary:
        stdout = stdout.rstrip("\n")
    outputs = {
        "stdout": stdout,
        "stderr": stderr,
        "exit_code": ended.exit_code,
        "stdout_is_binary": stdout_is_binary,
        "stderr_is_binary": stderr_is_binary,
    }
    code = ended.exit_code
    if ended.exceeded is not None:
        message = f"the command {ended.exceeded.message}"
        raise failure(message, RESOURCE_LIMIT, outputs, data=ended.exceeded.data)
    if code is None:
        message = f"did not finish within {params.timeout:g} seconds"
        raise _failed(message, "timeout", Fault.ENVIRONMENT, outputs)
    if cut:
        message = (
            f"printed more than {params.max_bytes} bytes to {' and '.join(cut)}, of which the "
            f"first and the last {SHOWN_OF_TOO_LARGE // 1024} kB are kept; raise max_bytes to "
            "accept it, or let it write to a file"
        )
        raise _failed(message, "output_limit", Fault.CANDIDATE, outputs, shown=cut[0])
    if code == 0 or params.ignore_errors:
        return Result(outputs)
    said = "" if stderr_is_binary else _last_line(stderr)
    message = f"{_how_it_ended(code)}: {said}" if said else _how_it_ended(code)
    if code in (126, 127):
        raise _failed(message, "command_not_found", Fault.ENVIRONMENT, outputs)
    raise _failed(message, "exit_code", Fault.CANDIDATE, outputs)


def _decoded(captured: process.Captured) -> tuple[str, bool]:
    """Return an output as text, and whether that is base64 because the output is not text."""
    if captured.dropped:
        head, tail = captured.head[:SHOWN_OF_TOO_LARGE], captured.tail[-SHOWN_OF_TOO_LARGE:]
        more = len(captured.head) - len(head) + len(captured.tail) - len(tail)
        return replace(captured, head=head, tail=tail, dropped=captured.dropped + more).text, False
    data = captured.head + captured.tail
    try:
        return data.decode(), False
    except UnicodeDecodeError:
        return base64.b64encode(data).decode(), True


def _how_it_ended(code: int) -> str:
    if code >= 0:
        return f"exited with code {code}"
    return f"was killed by {process.signal_name(-code)}"


def _last_line(text: str) -> str:
    lines = text.rstrip().splitlines()
    return lines[-1].strip()[:LONGEST_LINE] if lines else ""


def _failed(
    message: str, category: str, fault: Fault, outputs: dict[str, Any], shown: str = "stderr"
) -> NodeFailed:
    sample, data = outputs[shown][-2_000:] or None, {"exit_code": outputs["exit_code"]}
    return failure(message, category, outputs, fault=fault, sample=sample, data=data)
