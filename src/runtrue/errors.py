"""Every exception that runtrue raises on purpose, one base class per decision a caller makes.

    RuntrueError                  one sentence for the user; `exit_code` for the command line
    ├── UsageError                the caller asked for something that cannot be: fix the call
    │   ├── ConfigError           a configuration file is wrong, with its place
    │   ├── InvalidWorkflow       a workflow has problems, each with its place
    │   ├── PlanError             a plan cannot be made, or is not where this could be done to it
    │   └── UnknownRun            no run has that id
    ├── HostError                 an operating system error: disk, permissions, a missing program
    │   ├── JournalError          the journal cannot be opened, read or written
    │   ├── SandboxError          a sandbox cannot be made, read or applied
    │   ├── IsolationError        commands cannot be confined as the policy demands
    │   └── GeneratorFailed       what was to write code or tests broke, or wrote nothing
    ├── FlowError                 a flow is wired wrongly, or a node broke the kernel's rules
    │   ├── NoSuccessor           an action leads nowhere and the node is not terminal
    │   └── FlowChanged           a run was recorded by a flow that has been edited since
    ├── NodeFailed                a node of a workflow failed, and nothing handles that
    │   └── RuntimeValidationError a response was not as the workflow assumed: fix the workflow
    ├── ChildrenFailed            some of the runs that a run has begun failed
    └── RunError                  this process cannot run it now
        ├── RunBusy               another living process runs it
        ├── FenceLost             another process has taken it over since
        ├── RunCancelled          somebody cancelled it
        ├── RunWaiting            it waits for an answer
        ├── QueueFull             as many runs wait on its queue as may
        └── SideEffectInterrupted it stopped inside a side effect; firing it again needs consent

What went wrong with a *candidate* is never an exception: it is a `Finding`. The two about nodes
carry all that one is made of. What can go wrong with a language model is in `runtrue.models`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any


class RuntrueError(Exception):
    """Base of all of them. The message is one sentence that a user can act on."""

    exit_code = 1


class UsageError(RuntrueError):
    """The call itself is wrong: an unknown name, an unreadable path, flags that do not fit."""

    exit_code = 2


class ConfigError(UsageError):
    """A configuration file is wrong; the message begins with `file:line`."""


class PlanError(UsageError):
    """A plan is wrong, or its state does not allow what is asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One problem of a workflow, found without running it.

    `pointer` is its JSON pointer, `line` its line if the workflow is a file.
    """

    pointer: str
    message: str
    line: int | None = None
    available: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.pointer or 'the workflow'}: {self.message}"


class InvalidWorkflow(UsageError):
    """A workflow cannot be run as it is written; `problems` lists everything that is wrong."""

    def __init__(self, name: str, problems: Iterable[Problem]) -> None:
        self.name = name
        self.problems = tuple(problems)
        lines = [f"{name}:{p.line}: {p}" if p.line else f"{name}: {p}" for p in self.problems]
        super().__init__("\n".join(lines))


class UnknownRun(UsageError):
    """No run, or more than one, matches the id that was given."""


class HostError(RuntrueError):
    """An operating system error: a full disk, a missing permission, a missing program."""


class JournalError(HostError):
    """The journal cannot be opened, read or written; nothing already recorded is lost."""


class SandboxError(HostError):
    """A sandbox cannot be made, read or applied; the user's files are unchanged."""


class IsolationError(HostError):
    """Commands cannot be confined as strongly as required; nothing was run."""


class GeneratorFailed(HostError):
    """A model or an agent failed to write, or wrote nothing; the run can continue later."""


class FlowError(RuntrueError):
    """A flow is wired wrongly, or a node returned something the kernel cannot record."""


class NoSuccessor(FlowError):
    """A node returned an action that leads nowhere, and the node is not terminal."""


class FlowChanged(FlowError):
    """The flow no longer does what the journal recorded; replaying would mix two flows."""


class NodeFailed(RuntrueError):
    """A node failed, and its workflow has no `error` edge that would handle it.

    `category` is a short word for what happened and `fault` says who failed (`runtrue.loop.Fault`),
    both decided from structure. `attempted` and `available` are what was looked for and what there
    was instead, `sample` a piece of it, bounded and without secrets. `outputs` holds what the node
    had produced until then. `transient` means that trying again may help by itself, `unchanged`
    that nothing has happened outside: it was refused, or never sent.
    """

    def __init__(
        self,
        message: str,
        *,
        category: str = "failed",
        fault: str = "candidate",
        node_id: str | None = None,
        attempted: Iterable[str] = (),
        available: Iterable[str] = (),
        sample: str | None = None,
        data: Mapping[str, Any] | None = None,
        outputs: Mapping[str, Any] | None = None,
        transient: bool = False,
        unchanged: bool = False,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.category = category
        self.fault = fault
        self.node_id = node_id
        self.attempted = tuple(attempted)
        self.available = tuple(available)
        self.sample = sample
        self.data = dict(data or {})
        self.outputs = dict(outputs or {})
        self.transient = transient
        self.unchanged = unchanged

    def __str__(self) -> str:
        return f"node {self.node_id!r}: {self.message}" if self.node_id else self.message


class RuntimeValidationError(NodeFailed):
    """A response was not as the workflow assumed: a path is missing, an argument is unknown.

    No `error` edge handles it, since the workflow itself has to be fixed.
    """


class ChildrenFailed(RuntrueError):
    """Some of the runs that a run started failed and can be resumed."""


class RunError(RuntrueError):
    """This process cannot run it now."""


class RunBusy(RunError):
    """Another living process runs it."""


class FenceLost(RunError):
    """Another process has taken over the run; this one's writes are refused."""


class RunCancelled(RunError):
    """The run was cancelled while it was running."""


class RunWaiting(RunError):
    """The run waits for an answer that has not come."""

    exit_code = 3


class QueueFull(RunError):
    """As many runs wait on the queue as its workers allow."""


class SideEffectInterrupted(RunError):
    """The run stopped inside a node with a side effect, which may or may not have happened."""
