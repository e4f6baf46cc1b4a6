"""The registry finds node types: built in, given, installed; and says what there is instead."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from msgspec import Meta

from runtrue.errors import RuntimeValidationError, UsageError
from runtrue.home import Home
from runtrue.workflow import Registry, Result, WorkflowNode, describe_type
from runtrue.workflow.context import Context
from runtrue.workflow.mcp import ToolInfo
from runtrue.workflow.node import Output
from runtrue.workflow.nodes.mcp import McpNode
from runtrue.workflow.registry import BUILT_IN
from tests.workflow.support import Bench, Durable, Echo, flow, install, node


@pytest.mark.parametrize("name", BUILT_IN)
def test_each_built_in_type_is_found_under_its_name_and_describes_itself(
    bench: Bench, name: str
) -> None:
    found = bench.registry.node(name)
    assert found is not None
    interface = found.interface
    assert (found.type, interface.type) == (name, name)
    assert interface.description
    assert interface.outputs
    undescribed = [param for param, schema in interface.params.items() if not schema]
    assert undescribed == []


def test_a_type_is_made_once(bench: Bench) -> None:
    assert bench.registry.node("echo") is bench.registry.node("echo")


def test_what_stands_for_nothing_is_none(bench: Bench) -> None:
    assert bench.registry.node("nope") is None
    assert bench.registry.node("mcp-nope-tool") is None


def test_a_given_type_comes_before_a_built_in_one(tmp_path: Path) -> None:
    class Http(Echo):
        type = "http"

    registry = Registry(Home(tmp_path), tmp_path, types=[Http])
    assert isinstance(registry.node("http"), Http)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("htp", "there is no node type 'htp'; did you mean 'http'?"),
        ("mcp-time-now", "the MCP servers are: none; add one with `runtrue mcp add`"),
        ("?", "available: http, shell, python, read-file, write-file, llm, workflow, filter, pick"),
    ],
)
def test_an_unknown_name_is_answered_with_what_there_is(bench: Bench, name: str, says: str) -> None:
    assert says in bench.registry.suggest(name)


# -- installed by others ------------------------------------------------------------------------


def test_an_installed_package_adds_types_by_entry_point(durable: Durable) -> None:
    registry = Registry(durable.home, durable.path)
    assert isinstance(registry.node("echo"), Echo)
    assert {"echo", "give", "http"} <= set(registry.names())
    assert "echo" in {interface.type for interface in registry.interfaces()}


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("no_such_module_here:X", "cannot be imported: ModuleNotFoundError"),
        ("tests.workflow.support:nope", "cannot be imported: AttributeError"),
        ("tests.workflow.support:World", "is not a class derived from runtrue.workflow.Workf"),
        ("tests.workflow.support:node", "is not a class derived from runtrue.workflow.Workf"),
    ],
)
def test_an_entry_point_that_is_no_node_type_is_told_with_its_origin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str, says: str
) -> None:
    install(tmp_path / "site", {"odd": value, "http": value})
    monkeypatch.syspath_prepend(tmp_path / "site")
    registry = Registry(Home(tmp_path), tmp_path)
    with pytest.raises(UsageError, match=f"the plugin 'odd' .*'{value}'.* {says}"):
        registry.node("odd")
    assert registry.node("http") is not None  # what is built in cannot be taken over


def test_finding_one_type_imports_nothing_of_the_others(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path\n"
        "from runtrue.home import Home; from runtrue.workflow import Registry\n"
        "registry = Registry(Home(Path('home')), Path('.'))\n"
        "assert registry.node('workflow') and registry.names()\n"
        "print(*{'httpx2', 'mcp', 'jsonschema', 'yaml', 'pydantic_ai'} & sys.modules.keys())"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == ""


# -- what a type says of itself -----------------------------------------------------------------


@dataclass(frozen=True)
class Inner:
    x: int


@dataclass(frozen=True, kw_only=True)
class Params:
    needed: Annotated[str, Meta(description="What it is.")]
    several: int | None = None
    inner: Inner | None = None


@dataclass(frozen=True)
class Outputs:
    found: Annotated[list[str], Meta(description="All of it.")]


class Declared(WorkflowNode[Params]):
    """Do it.

    At length.
    """

    type = "declared"
    Params = Params
    Outputs = Outputs

    async def run(self, params: Any, context: Context) -> Result:
        return Result({"found": [params.needed]})


def test_an_interface_is_derived_from_the_declarations() -> None:
    interface = Declared().interface
    assert interface.description == "Do it.\n\nAt length."
    assert interface.required == ("needed",)
    assert list(interface.params) == ["needed", "several", "inner"]
    assert interface.params["needed"] == {"type": "string", "description": "What it is."}
    assert interface.params_schema["additionalProperties"] is False
    assert interface.outputs == {"found": Output("array of string", "All of it.")}
    assert not interface.open_outputs


def test_a_declared_object_within_params_is_checked_too(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.registry = Registry(bench.home, tmp_path, types=[Declared])
    ir = flow(node("a", "declared", needed="", inner={"x": "one"}))
    (problem,) = bench.problems(ir)
    assert (problem.pointer, problem.message) == (
        "/nodes/0/params/inner/x",
        "is text and should be integer",
    )


@pytest.mark.parametrize(
    ("params", "attempted", "says"),
    [
        ({"needed": 5}, ("needed",), "param 'needed': expected `str`, got `int`"),
        ({}, (), "the params: object missing required field `needed`"),
        ({"needed": "", "inner": {"x": []}}, ("inner.x",), "param 'inner.x': expected `int`"),
    ],
)
def test_params_that_turn_out_wrong_are_told_with_their_name(
    params: dict[str, Any], attempted: tuple[str, ...], says: str
) -> None:
    with pytest.raises(RuntimeValidationError) as caught:
        Declared().convert(params)
    error = caught.value
    assert error.message.startswith(says)
    assert (error.category, error.attempted) == ("bad_param", attempted)
    assert error.available == ("needed", "several", "inner")


@pytest.mark.parametrize(
    ("declared", "words"),
    [
        ({}, "any"),
        ({"type": "string"}, "string"),
        ({"type": ["string", "null"]}, "string or null"),
        (
            {"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "string"}]},
            "string or integer",
        ),
        ({"type": "array", "items": {"type": "number"}}, "array of number"),
        ({"enum": ["a", 1]}, "one of a, 1"),
    ],
)
def test_a_type_is_described_in_a_word_or_two(declared: dict[str, Any], words: str) -> None:
    assert describe_type(declared) == words


# -- tools of servers ---------------------------------------------------------------------------

SCHEMAS: dict[str, tuple[dict[str, Any], Literal["refused", "taken"]]] = {
    "closed": ({"type": "object", "properties": {"x": {}}}, "refused"),
    "closed for certain": ({"properties": {"x": {}}, "additionalProperties": False}, "refused"),
    "open": ({"properties": {"x": {}}, "additionalProperties": True}, "taken"),
    "open to some": ({"properties": {"x": {}}, "additionalProperties": {}}, "taken"),
    "broken": ({"type": "objekt", "properties": 5}, "taken"),
    "leading nowhere": ({"properties": {"y": {"$ref": "#/$defs/gone"}}}, "taken"),
}


def tool_problems(bench: Bench, input_schema: dict[str, Any]) -> list[str]:
    """Where a node of a tool with this schema is wrong, which is given `y`."""

    class Tool(McpNode):
        type = "tool"

        def __init__(self) -> None:
            super().__init__("tool", ToolInfo(server="s", name="t", input_schema=input_schema))

    bench.registry = Registry(bench.home, bench.path, types=[Tool])
    return [problem.pointer for problem in bench.problems(flow(node("a", "tool", y=1)))]


@pytest.mark.parametrize(("input_schema", "expected"), SCHEMAS.values(), ids=SCHEMAS)
def test_an_argument_that_a_tool_does_not_declare_is_refused_unless_its_schema_is_open(
    bench: Bench, input_schema: dict[str, Any], expected: str
) -> None:
    refused = ["/nodes/0/params/y"] if expected == "refused" else []
    assert tool_problems(bench, input_schema) == refused


@pytest.mark.filterwarnings("ignore:Automatically retrieving:DeprecationWarning")
def test_the_schema_of_a_tool_makes_nobody_fetch_anything(bench: Bench) -> None:
    elsewhere = bench.path / "schema.json"
    elsewhere.write_text('{"type": "string"}')
    assert tool_problems(bench, {"properties": {"y": {"$ref": elsewhere.as_uri()}}}) == []
