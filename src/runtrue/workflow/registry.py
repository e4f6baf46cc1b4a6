"""The registry: finds the node type of a name.

Built-in types are imported when they are asked for; other packages add theirs with an entry point
of the group `runtrue.nodes` (name: the type, value: the class); every tool of a configured MCP
server is a type `mcp-<server>-<tool>`, every operation of an API a type `api-<name>-<operation>`.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runtrue.documents import closest
from runtrue.errors import UsageError
from runtrue.home import Home
from runtrue.plugins import PluginGroup, find_plugins, load_plugin
from runtrue.workflow.node import Interface, WorkflowNode

if TYPE_CHECKING:
    from runtrue.workflow.apis import Api
    from runtrue.workflow.mcp import Catalog, Server

#: The built-in types: where each lives, so that naming one imports none of the others.
BUILT_IN = {
    "http": "runtrue.workflow.nodes.http:HttpNode",
    "shell": "runtrue.workflow.nodes.shell:ShellNode",
    "python": "runtrue.workflow.nodes.python:PythonNode",
    "read-file": "runtrue.workflow.nodes.files:ReadFileNode",
    "write-file": "runtrue.workflow.nodes.files:WriteFileNode",
    "llm": "runtrue.workflow.nodes.llm:LlmNode",
    "workflow": "runtrue.workflow.nodes.subworkflow:SubworkflowNode",
    "filter": "runtrue.workflow.nodes.lists:FilterNode",
    "pick": "runtrue.workflow.nodes.lists:PickNode",
    "sort": "runtrue.workflow.nodes.lists:SortNode",
    "take": "runtrue.workflow.nodes.lists:TakeNode",
    "unique": "runtrue.workflow.nodes.lists:UniqueNode",
    "group": "runtrue.workflow.nodes.lists:GroupNode",
    "calculate": "runtrue.workflow.nodes.lists:CalculateNode",
    "join": "runtrue.workflow.nodes.lists:JoinNode",
    "pages": "runtrue.workflow.nodes.pages:PagesNode",
}
_MCP, _API = "mcp-", "api-"
#: So many operations of APIs are planned with: those that fit the task best.
_MOST_OPERATIONS = 40


class Registry:
    """All node types that can be used from one directory."""

    def __init__(
        self,
        home: Home,
        directory: Path,
        *,
        types: Iterable[type[WorkflowNode[Any]]] = (),
        only_looks: bool = False,
    ) -> None:
        """`only_looks`: no server of a project is started to be asked for its tools."""
        self._only_looks = only_looks
        self.home = home
        self.directory = directory
        self._given = {cls.type: cls for cls in types}
        self._made: dict[str, WorkflowNode[Any]] = {}

    @classmethod
    def here(
        cls, types: Iterable[type[WorkflowNode[Any]]] = (), *, only_looks: bool = False
    ) -> Registry:
        """Return the types that can be used from the current directory, and these."""
        return cls(Home.find(Path.cwd()), Path.cwd(), types=types, only_looks=only_looks)

    @cached_property
    def servers(self) -> Mapping[str, Server]:
        """The configured MCP servers."""
        from runtrue.workflow.mcp import load_servers

        return load_servers(self.home, self.directory)

    @cached_property
    def catalog(self) -> Catalog:
        """The tools of the configured servers."""
        from runtrue.workflow.mcp import Catalog

        return Catalog(self.home, self.servers, only_looks=self._only_looks)

    @cached_property
    def apis(self) -> Mapping[str, Api]:
        """The APIs that were added."""
        from runtrue.workflow.apis import ApiStore

        return ApiStore(self.home).load() if (self.home.path / "apis").exists() else {}

    def node(self, name: str) -> WorkflowNode[Any] | None:
        """Return the node type of that name, ready to be used, or None."""
        if name not in self._made:
            node = self._make(name)
            if node is None:
                return None
            self._made[name] = node
        return self._made[name]

    def _make(self, name: str) -> WorkflowNode[Any] | None:
        if name in self._given:
            return self._given[name]()
        if name in BUILT_IN:
            module, _, attribute = BUILT_IN[name].partition(":")
            made: WorkflowNode[Any] = getattr(importlib.import_module(module), attribute)()
            return made
        if name in self._entry_points:
            return self._plugin(name)
        if name.startswith(_MCP):
            from runtrue.workflow.nodes.mcp import find_tool

            return find_tool(name, self.catalog)
        if name.startswith(_API):
            from runtrue.workflow.nodes.api import find_operation

            return find_operation(name, self.apis)
        return None

    @cached_property
    def _entry_points(self) -> dict[str, metadata.EntryPoint]:
        return find_plugins(PluginGroup.NODES)

    def _plugin(self, name: str) -> WorkflowNode[Any]:
        made: WorkflowNode[Any] = load_plugin(self._entry_points[name], WorkflowNode)()
        return made

    def names(self) -> list[str]:
        """Return the names of all types, without starting any server to ask for its tools."""
        return [*self._plain_names(), *self._operations()]

    def _plain_names(self) -> list[str]:
        own = dict.fromkeys([*BUILT_IN, *self._entry_points, *self._given])
        return [*own, *(self.catalog.known_types() if self.servers else ())]

    def _operations(self) -> Iterator[str]:
        for api in self.apis.values():
            yield from (f"{_API}{api.name}-{name}" for name in api.entries)

    def interfaces(self) -> list[Interface]:
        """Return the interfaces of all types, in the order of `names`."""
        return [self._interface(name) for name in self.names()]

    def interfaces_for(self, task: str) -> list[Interface]:
        """Return those for a task: of the operations of APIs, the ones that fit it best."""
        names = self._plain_names()
        if self.apis:
            from runtrue.workflow.apis import nearest_operations

            found = nearest_operations(task, self.apis.values(), _MOST_OPERATIONS)
            names += [f"{_API}{api.name}-{entry.name}" for api, entry in found]
        return [self._interface(name) for name in names]

    def descriptions(self) -> dict[str, str]:
        """Return what each type is for, without reading the schemas of operations."""
        found = {name: self._interface(name).description for name in self._plain_names()}
        for api in self.apis.values():
            for entry in api.entries.values():
                found[f"{_API}{api.name}-{entry.name}"] = entry.description
        return found

    def _interface(self, name: str) -> Interface:
        try:
            node = self.node(name)
        except UsageError as error:
            # One that another package broke must not hide all others.
            return Interface(type=name, description=str(error), params_schema={})
        return Interface(name, "", {}) if node is None else node.interface

    def suggest(self, name: str) -> str:
        """Return a sentence about a name that is no node type."""
        names = self.names()
        if close := closest(name, names):
            return f"there is no node type {name!r}; did you mean {close!r}?"
        if name.startswith(_MCP):
            servers = ", ".join(self.servers) or "none; add one with `runtrue mcp add`"
            return f"there is no node type {name!r}; the MCP servers are: {servers}"
        if name.startswith(_API):
            apis = ", ".join(self.apis) or "none; add one with `runtrue api add`"
            return f"there is no node type {name!r}; the APIs are: {apis}"
        return f"there is no node type {name!r}; available: {', '.join(self._plain_names())}"
