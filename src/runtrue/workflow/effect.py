"""Effects: what a node does outside of its run, as typed facts.

`derive_effects` finds them in a workflow. Who agrees to them is for the caller to decide:
`EffectsNotAgreed` stops a run in front of one that nobody agreed to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import StrEnum, auto
from typing import TypeAlias

from runtrue.errors import RunError
from runtrue.foreign_text import one_line

_SHOWN = 300


class EffectKind(StrEnum):
    """The kinds of effects. Requests and tools may also only read."""

    REQUEST = auto()
    READ = auto()
    WRITE = auto()
    DIRECTORY = auto()
    COMMAND = auto()
    CODE = auto()
    TOOL = auto()
    MODEL = auto()
    SECRET = auto()
    WORKFLOW = auto()
    NODE = auto()


#: Those whose target is a path.
PATHS = frozenset({EffectKind.READ, EffectKind.WRITE, EffectKind.DIRECTORY})
_SENTENCES = {
    EffectKind.REQUEST: "send {method} {target}",
    EffectKind.READ: "read the file {target}",
    EffectKind.WRITE: "{method} the file {target}",
    EffectKind.DIRECTORY: "run a command in {target}, which it may change",
    EffectKind.COMMAND: "run the command `{target}`",
    EffectKind.CODE: "run the Python code `{target}`",
    EffectKind.TOOL: "call the MCP tool {target}",
    EffectKind.MODEL: "ask the model {target}",
    EffectKind.SECRET: "give the secret {target} to {detail}",
    EffectKind.WORKFLOW: "run the workflow {target}",
    EffectKind.NODE: "run a node of the type {target}",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """One thing that a node does outside of its run. `str()` says it in plain words.

    `target` is a URL, a path, a command, code, or a name; `detail` says how, or where a secret
    goes. `origin` is the scheme, host and port of a request. Without `known`, a part of the target
    is only known when the run gets there.
    """

    kind: EffectKind
    target: str
    node: str = ""
    #: That of a request; `write` or `append to` for a file.
    method: str = ""
    detail: str = ""
    origin: str = ""
    #: What a tool or an operation of an API is given, or the text that a command reads.
    values: tuple[str, ...] = ()
    #: The saved workflow, or the file of one, that the node is in.
    within: str = ""
    #: The node type, for requests and secrets of an API that a person added.
    via: str = ""
    known: bool = True
    #: It changes nothing.
    reads: bool = False

    @property
    def identity(self) -> tuple[str, ...]:
        """What a person agrees to: the same effect of another node is no other one.

        What a command reads may come from the run, so that it is a part of the question only.
        """
        given = self.values if self.kind is EffectKind.TOOL else ()
        known = "known" if self.known else ""
        return self.kind, self.target, self.method, self.detail, known, *sorted(given)

    def with_texts(self, change: Callable[[str], str]) -> Effect:
        """Return it with other texts, such as those without secrets."""
        return replace(
            self,
            target=change(self.target),
            detail=change(self.detail),
            origin=change(self.origin),
            values=tuple(map(change, self.values)),
        )

    def __str__(self) -> str:
        text = _SENTENCES[self.kind].format(
            target=_short(self.target), method=self.method, detail=_short(self.detail)
        )
        if self.detail and self.kind is not EffectKind.SECRET:
            text = f"{text} {_short(self.detail)}"
        if self.values:
            verb = "reading" if self.kind is EffectKind.COMMAND else "with"
            text = f"{text} {verb} {_short(', '.join(self.values))}"
        return text if self.known else f"{text} (known only during the run)"


def _short(text: str) -> str:
    return one_line(text, _SHOWN)


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectReport:
    """An effect in a report: with its sentence, and who agreed to it, if anybody has."""

    kind: str
    node: str
    text: str
    target: str
    method: str = ""
    known: bool = True
    reads: bool = False
    #: `task`, `person`, `yes` (the option), or None.
    agreed: str | None = None

    @classmethod
    def of(cls, effect: Effect, agreed: str | None = None) -> EffectReport:
        """Describe an effect."""
        return cls(
            kind=effect.kind,
            node=effect.node,
            text=str(effect),
            target=effect.target,
            method=effect.method,
            known=effect.known,
            reads=effect.reads,
            agreed=agreed,
        )


class EffectsNotAgreed(RunError):
    """A node would do something that nobody has agreed to."""

    def __init__(self, effects: Iterable[Effect]) -> None:
        self.effects = tuple(effects)
        super().__init__("not approved: " + "; ".join(map(str, self.effects)))


#: Returns those of some effects that nobody has agreed to.
Objections: TypeAlias = Callable[[Iterable[Effect]], tuple[Effect, ...]]
