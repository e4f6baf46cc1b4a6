"""Every exception that runtrue raises on purpose, one base class per decision a caller makes.

    RuntrueError                  one sentence for the user; `exit_code` for the command line
    ├── UsageError                the caller asked for something that cannot be: fix the call
    │   ├── ConfigError           a configuration file is wrong, with its place
    │   └── UnknownRun            no run has that id
    ├── HostError                 the machine refused: disk, permissions, a program that is missing
    │   ├── JournalError          the journal cannot be opened, read or written
    │   └── SandboxError          a sandbox cannot be made, read or applied
    ├── FlowError                 a flow is wired wrongly, or a node broke the kernel's rules
    │   ├── NoSuccessor           an action leads nowhere and the node is not terminal
    │   └── FlowChanged           a run was recorded by a flow that has been edited since
    └── RunError                  this run cannot be driven now, by this process
        ├── RunBusy               another living process drives it
        ├── FenceLost             another process has taken it over since
        ├── RunCancelled          somebody cancelled it
        ├── RunWaiting            it waits for an answer
        └── SideEffectInterrupted it stopped inside a side effect; firing it again needs consent

What went wrong with a *candidate* is never an exception: it is a `Finding`.
"""


class RuntrueError(Exception):
    """Base of all of them. The message is one sentence that a user can act on."""

    exit_code = 1


class UsageError(RuntrueError):
    """The call itself is wrong: an unknown name, an unreadable path, flags that do not fit."""

    exit_code = 2


class ConfigError(UsageError):
    """A configuration file is wrong; the message begins with `file:line`."""


class UnknownRun(UsageError):
    """No run, or more than one, matches the id that was given."""


class HostError(RuntrueError):
    """The machine refused: a full disk, a missing permission, a missing program."""


class JournalError(HostError):
    """The journal cannot be opened, read or written; nothing already recorded is lost."""


class SandboxError(HostError):
    """A sandbox cannot be made, read or applied; the user's tree is as it was."""


class FlowError(RuntrueError):
    """A flow is wired wrongly, or a node returned something the kernel cannot record."""


class NoSuccessor(FlowError):
    """A node returned an action that leads nowhere, and the node is not terminal."""


class FlowChanged(FlowError):
    """The flow no longer does what the journal recorded; replaying would mix two flows."""


class RunError(RuntrueError):
    """This run cannot be driven now, by this process."""


class RunBusy(RunError):
    """Another living process drives the run."""


class FenceLost(RunError):
    """Another process has taken the run over; what this one still wanted to write was refused."""


class RunCancelled(RunError):
    """The run was cancelled while it was being driven."""


class RunWaiting(RunError):
    """The run waits for an answer that has not come."""

    exit_code = 3


class SideEffectInterrupted(RunError):
    """The run stopped inside a node with a side effect, which may or may not have happened."""
