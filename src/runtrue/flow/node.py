"""Nodes: what a flow is made of. A node object holds settings and wiring, never a run's state."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, TypeVar

from runtrue.errors import FlowError

Other = TypeVar("Other", bound="Node")


class Node:
    """One step of a flow: `prep` reads the shared store, `exec` works, `post` writes and routes.

    Each method may be a plain function or a coroutine. `exec` sees only what `prep` returned and
    is the only method that may touch the world: its result is recorded, and on resume `prep` and
    `post` run again around the recorded result instead. So `prep` and `post` must be pure
    functions of the shared store and the result.

    In a durable run, what `prep` and `exec` return must be JSON data or types that msgspec
    encodes (dataclasses among them); annotate what `exec` returns to get that type back.
    """

    #: How often `exec` is tried again after an exception, and the seconds between two tries.
    retries: int = 0
    wait: float = 0.0
    #: `exec` changes something outside of the run: never fired a second time without consent.
    side_effect: bool = False
    #: What `exec` does is recorded part by part, and none of it is fired twice.
    has_parts: bool = False
    #: A side effect that can be fired again without harm, since the other side knows it again.
    repeatable: bool = False
    #: The flow may end here: an action without a successor ends it instead of being an error.
    terminal: bool = False
    #: A plain `exec` that blocks for long: it is run in a thread, so that other runs go on.
    blocking: bool = False

    def __init__(self, name: str | None = None) -> None:
        self.name = name or type(self).__name__
        self.successors: dict[str, Node] = {}

    def prep(self, shared: dict[str, Any]) -> Any:
        """Pick what `exec` needs out of the shared store."""
        return None

    def exec(self, inputs: Any) -> Any:
        """Do the work. Raise to be tried again, if `retries` allow."""
        return None

    def exec_fallback(self, inputs: Any, error: Exception) -> Any:
        """Give a result in place of an `exec` that failed for good, or raise (the default)."""
        raise error

    def post(
        self, shared: dict[str, Any], inputs: Any, result: Any
    ) -> str | Awaitable[str | None] | None:
        """Write the result to the shared store and return the action (`None` is `default`)."""
        return None

    def on(self, action: str, successor: Other) -> Other:
        """Go to `successor` when `post` returns `action`; `a - "action" >> b` is the same."""
        if self.successors.get(action, successor) is not successor:
            taken = self.successors[action].name
            raise FlowError(f"action {str(action)!r} of {self.name!r} already leads to {taken!r}")
        self.successors[action] = successor
        return successor

    def __rshift__(self, successor: Other) -> Other:
        return self.on("default", successor)

    def __sub__(self, action: str) -> _Action:
        return _Action(self, action)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}>"


class Ask(Node):
    """A node whose work is done by a person: `prep` returns the question, `post` gets the answer.

    The run parks here, holding no process, until `Journal.answer` is called.
    """


class _Action:
    """`node - "action"`, waiting for `>> successor`."""

    def __init__(self, node: Node, action: str) -> None:
        self.node = node
        self.action = action

    def __rshift__(self, successor: Other) -> Other:
        return self.node.on(self.action, successor)
