"""Tiny node types, and a bench to run workflows of them on, in memory or durably."""

from __future__ import annotations

import asyncio
import errno
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

import msgspec

from runtrue.errors import (
    ConfigError,
    HostError,
    NodeFailed,
    Problem,
    RunCancelled,
    RuntimeValidationError,
)
from runtrue.flow import Event, Journal, LocalDispatcher, RunRow
from runtrue.home import Home
from runtrue.workflow import (
    Registry,
    Result,
    Started,
    Workflow,
    WorkflowNode,
    WorkflowResult,
    load_workflow,
    prepare_workflow,
    report_so_far,
    run_workflow,
    start_workflow,
    validate_workflow,
)
from runtrue.workflow.context import Context
from runtrue.workflow.templates import Template


@dataclass
class World:
    """What nodes did to the outside; theirs is that of the directory they run in."""

    calls: list[Any] = field(default_factory=list)
    running: int = 0
    most_running: int = 0


_worlds: defaultdict[Path, World] = defaultdict(World)


def world_of(context: Context) -> World:
    return _worlds[context.directory]


class _Harmless(WorkflowNode[Any]):
    def has_side_effect(self, params: Mapping[str, Any]) -> bool:
        return False


@dataclass(frozen=True, kw_only=True)
class EchoParams:
    value: Any
    count: int = 1
    label: str | None = None
    mode: Literal["loud", "quiet"] = "loud"
    #: How often the others get their turn before this one is done.
    turns: int = 0


@dataclass(frozen=True)
class EchoOutputs:
    value: Any


class Echo(_Harmless):
    """Give back what it is given."""

    type = "echo"
    Params = EchoParams
    Outputs = EchoOutputs

    async def run(self, params: EchoParams, context: Context) -> Result:
        world = world_of(context)
        world.calls.append(params.value)
        world.running += 1
        world.most_running = max(world.running, world.most_running)
        for _ in range(params.turns):
            await asyncio.sleep(0)
        world.running -= 1
        return Result({"value": params.value})


@dataclass(frozen=True, kw_only=True)
class GiveParams:
    outputs: dict[str, Any] = field(default_factory=dict)
    action: str = "default"
    #: How often it gives its action before it gives `default`.
    times: int = 1_000_000


@dataclass(frozen=True)
class NoOutputs:
    pass


class Give(_Harmless):
    """Produce these outputs, and choose the action."""

    type = "give"
    Params = GiveParams
    Outputs = NoOutputs
    open_outputs = True

    async def run(self, params: GiveParams, context: Context) -> Result:
        calls = world_of(context).calls
        calls.append("give")
        action = params.action if calls.count("give") <= params.times else "default"
        return Result(dict(params.outputs), action)


#: What `fail` can raise, besides NodeFailed.
RAISES: dict[str, Callable[[], BaseException]] = {
    "mismatch": lambda: RuntimeValidationError("not so", attempted=["x"], available=["y"]),
    "bug": lambda: ValueError("a bug"),
    "lines": lambda: Exception("a\n  b"),
    "refused": lambda: ConnectionResetError("refused"),
    "disk": lambda: OSError(errno.ENOSPC, "full"),
    "config": lambda: ConfigError("runtrue.toml:1: no"),
    "host": lambda: HostError("no bash here"),
    "interrupted": asyncio.CancelledError,
    "cancelled": lambda: RunCancelled("somebody cancelled it"),
}


@dataclass(frozen=True, kw_only=True)
class FailParams:
    how: str = "failed"
    message: str = "it broke"
    fault: str = "candidate"
    outputs: dict[str, Any] = field(default_factory=dict)
    #: How often it fails before it passes.
    times: int = 1_000_000
    value: Any = None
    token: str = ""


class Fail(_Harmless):
    """Fail, as often and in the way it is told to."""

    type = "fail"
    Params = FailParams
    Outputs = EchoOutputs

    async def run(self, params: FailParams, context: Context) -> Result:
        calls = world_of(context).calls
        calls.append("fail")
        if calls.count("fail") > params.times:
            return Result({"value": params.value})
        if params.how in RAISES:
            raise RAISES[params.how]()
        raise NodeFailed(
            f"{params.message}{params.token}",
            category="broken",
            fault=params.fault,
            attempted=[params.token],
            sample=params.token,
            data={"said": params.token},
            outputs=params.outputs,
        )


class Touch(Fail):
    """The same, with a side effect."""

    type = "touch"

    def has_side_effect(self, params: Mapping[str, Any]) -> bool:
        return True


@dataclass(frozen=True, kw_only=True)
class SecretParams:
    token: str | None = None
    public: Any = None
    deep: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class SecretOutputs:
    said: Any
    public: Any


class TakeSecret(_Harmless):
    """Talk to something that says again whatever it is told."""

    type = "secret"
    Params = SecretParams
    Outputs = SecretOutputs
    secret_params: ClassVar[frozenset[str]] = frozenset({"token"})

    def secrets_in(self, params: Mapping[str, Any]) -> Iterable[tuple[str | int, ...]]:
        yield from super().secrets_in(params)
        if isinstance(deep := params.get("deep"), dict) and "key" in deep:
            yield ("deep", "key")

    async def run(self, params: SecretParams, context: Context) -> Result:
        world_of(context).calls.append(params.token)
        said = {"heard": f"Bearer {params.token}", "deep": params.deep}
        return Result({"said": said, "public": params.public})


class Finish(Echo):
    """Work up what it gave, unless that is bad."""

    type = "finish"

    def finish(self, params: Mapping[str, Any], outputs: dict[str, Any]) -> dict[str, Any]:
        if outputs["value"] == "bad":
            raise RuntimeValidationError("there is no x", attempted=["x"], available=["y"])
        if outputs["value"] == "bug":
            raise ValueError("a bug in finish")
        return {"value": [outputs["value"], params.get("label")]}


class Resolve(Echo):
    """Fill its params in in a way of its own, which may go wrong."""

    type = "resolve"

    def resolve(self, params: Mapping[str, Template], store: Mapping[str, Any]) -> dict[str, Any]:
        value = params["value"].render(store)
        if value == "bad":
            raise RuntimeValidationError("there is no x", attempted=["x"])
        return {"value": 1 / value}


TYPES = (Echo, Give, Fail, Touch, TakeSecret, Finish, Resolve)


def node(
    id: str,
    type: str = "echo",
    *,
    batch: Mapping[str, Any] | None = None,
    retry: Mapping[str, Any] | None = None,
    on_error: str | None = None,
    **params: Any,
) -> dict[str, Any]:
    """A node as it is written in a workflow."""
    control = {"batch": batch, "retry": retry, "on_error": on_error}
    return {
        "id": id,
        "type": type,
        "params": params,
        **{key: value for key, value in control.items() if value is not None},
    }


def edge(source: str, target: str, action: str | None = None) -> dict[str, Any]:
    return {"from": source, "to": target} | ({"action": action} if action else {})


def flow(*nodes: Mapping[str, Any], **keys: Any) -> dict[str, Any]:
    """A workflow as it is written; `edges` are pairs or triples."""
    if "edges" in keys:
        keys["edges"] = [edge(*ends) for ends in keys["edges"]]
    return {"nodes": list(nodes), **keys}


class Bench:
    """A directory with a home and a registry of the tiny node types."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.home = Home(path / "home")
        self.registry = Registry(self.home, path, types=TYPES)
        self.events: list[Event] = []

    @property
    def world(self) -> World:
        return _worlds[self.path]

    @property
    def calls(self) -> list[Any]:
        return self.world.calls

    def file(self, name: str, text: str) -> Workflow:
        """A workflow read from a file of this text."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return load_workflow(path)

    def problems(self, ir: Mapping[str, Any]) -> tuple[Problem, ...]:
        return validate_workflow(ir, registry=self.registry)

    def run(
        self,
        ir: Mapping[str, Any],
        inputs: Mapping[str, Any] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> WorkflowResult:
        return run_workflow(
            ir,
            inputs,
            registry=self.registry,
            environment=environment or {},
            listeners=[self.events.append],
        )

    def store(self, *nodes: Mapping[str, Any], **keys: Any) -> dict[str, Any]:
        """What the store holds after a run that must pass."""
        result = self.run(flow(*nodes, **keys))
        assert result.error is None
        assert result.passed
        return result.store

    def failure(self, *nodes: Mapping[str, Any], **keys: Any) -> NodeFailed:
        """The error of a run that must fail."""
        result = self.run(flow(*nodes, **keys))
        assert result.error is not None
        assert not result.passed
        assert result.outputs == {}
        return result.error


class Durable(Bench):
    """A bench whose runs are in a journal; the node types come from an installed package."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.journal = Journal(self.home.journal)
        self.started: Started | None = None

    def start(self, ir: Mapping[str, Any], inputs: Mapping[str, Any] | None = None) -> str:
        self.started = start_workflow(self.journal, ir, inputs or {}, registry=self.registry)
        return self.started.run_id

    def drive(
        self,
        run_id: str,
        *,
        secrets: Mapping[str, Any] | None = None,
        environment: Mapping[str, str] | None = None,
        force: bool = False,
    ) -> RunRow:
        dispatcher = LocalDispatcher(
            self.journal,
            lambda run: prepare_workflow(run, self.home, secrets, environment or {}),
            [self.events.append],
        )
        return asyncio.run(dispatcher.run(run_id, force=force))

    def report(self, run_id: str) -> dict[str, Any]:
        report = report_so_far(self.journal, self.journal.find(run_id))
        document: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(report))
        return document

    def written(self) -> bytes:
        """Everything that is in the home, as bytes."""
        return b"".join(path.read_bytes() for path in self.home.path.rglob("*") if path.is_file())


def install(site: Path, entry_points: Mapping[str, str]) -> None:
    """Make a package's entry points as an installer would, in a folder to be put on `sys.path`."""
    info = site / "tiny_nodes-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: tiny-nodes\nVersion: 1.0\n")
    lines = [f"{name} = {value}" for name, value in entry_points.items()]
    (info / "entry_points.txt").write_text("\n".join(["[runtrue.nodes]", *lines, ""]))
