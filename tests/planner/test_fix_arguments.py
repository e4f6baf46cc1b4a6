"""Repair of arguments: the name or the form that a tool or a server wants, where that is sure."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtrue.loop import Fault, Finding, Location
from runtrue.memory import Memory, OperationScope, scope_of
from runtrue.planner.context import PlannerContext
from runtrue.planner.fix.arguments import fitted, resolved, zone
from runtrue.planner.seams import FixedWorkflow, FixRequest, NoFix
from runtrue.workflow import Interface
from tests.planner.api import Api, Asked, Reply
from tests.planner.test_fix_workflow import ask, failed, fixed, lines


def tool(name: str, **params: Any) -> dict[str, Any]:
    return {"nodes": [{"id": "call", "type": name, "params": params}]}


# -- real tools ---------------------------------------------------------------------------------

NOW = "mcp-time-get_current_time"
CONVERT = "mcp-time-convert_time"


def test_an_argument_gets_the_name_that_the_tool_knows(context: PlannerContext) -> None:
    request = failed(context, tool(NOW, tz="Asia/Tokyo"), "what time is it in Tokyo?")
    assert lines(request, fixed(context, request)) == [
        "call: tz  removed: Asia/Tokyo",
        "call: timezone  added: Asia/Tokyo",
    ]


def test_several_arguments_are_renamed_at_once(context: PlannerContext) -> None:
    wrong = tool(CONVERT, source_tz="Europe/Berlin", time="12:00", target_tz="Asia/Kolkata")
    request = failed(context, wrong, "convert 12:00 from Berlin to Kolkata")
    assert fixed(context, request).workflow["nodes"][0]["params"] == {
        "source_timezone": "Europe/Berlin",
        "time": "12:00",
        "target_timezone": "Asia/Kolkata",
    }


def test_a_time_zone_named_by_its_city_gets_its_name(context: PlannerContext) -> None:
    request = failed(context, tool(NOW, timezone="Tokyo"), "what time is it in Tokyo?")
    proposal = fixed(context, request)
    assert (proposal.fixer, lines(request, proposal)) == (
        "fields",
        ["call: timezone  Tokyo → Asia/Tokyo"],
    )


def test_a_value_that_nobody_can_fix_is_left(context: PlannerContext) -> None:
    answer = ask(failed(context, tool(NOW, timezone="Nowhere/Never"), "what time is it?"))
    assert isinstance(answer, NoFix)
    assert "cannot fix" in answer.reason


def test_what_was_not_said_is_not_invented(context: PlannerContext) -> None:
    answer = ask(failed(context, tool(NOW), "what time is it?"))
    assert isinstance(answer, NoFix)
    (doubt,) = answer.doubts
    assert (doubt.attempted, doubt.candidates) == ("timezone", ())


def test_a_value_of_an_input_is_left_to_the_user(context: PlannerContext) -> None:
    wrong = {**tool(NOW, timezone="${zone}"), "inputs": {"zone": {"type": "string"}}}
    answer = ask(failed(context, wrong, "what time is it in Tokyo?", {"zone": "Tokyo"}))
    assert isinstance(answer, NoFix)
    (doubt,) = answer.doubts
    assert (doubt.attempted, doubt.candidates[0].text) == ("timezone: Tokyo", "Asia/Tokyo")


def test_the_fields_of_a_result_are_found(context: PlannerContext) -> None:
    for reference in ("${call.zone}", "${call.result.zone}"):
        wrong = {
            **tool(NOW, timezone="Asia/Tokyo"),
            "outputs": {"zone": {"source": reference}},
        }
        request = failed(context, wrong, "the time zone in Tokyo")
        source = fixed(context, request).workflow["outputs"]["zone"]["source"]
        assert source == reference.replace("zone", "timezone")


def test_a_renamed_argument_is_remembered(context: PlannerContext, tmp_path: Path) -> None:
    wrong = tool(CONVERT, a="Europe/Berlin", time="12:00", b="Asia/Kolkata")
    request = failed(context, wrong, "convert it")
    scope = OperationScope.of_tool("time", "convert_time")
    with Memory(tmp_path / "memory") as memory:
        assert isinstance(ask(request, memory), NoFix)
        memory.remember(scope, "a", "source_timezone", fixer="model", kind="argument")
        memory.remember(scope, "b", "target_timezone", fixer="model", kind="argument")
        proposal = fixed(context, request, memory)
    assert proposal.fixer == "memory"
    assert list(proposal.workflow["nodes"][0]["params"]) == [
        "source_timezone",
        "time",
        "target_timezone",
    ]


# -- tools with other schemas -------------------------------------------------------------------


def asked(schema: Mapping[str, Any], task: str = "", **params: Any) -> FixedWorkflow | NoFix:
    """The answer to a call that broke a schema, as the run tells of it."""
    finding = Finding(
        source="mcp-shop-list",
        category="argument_mismatch",
        message="wrong arguments",
        fault=Fault.CANDIDATE,
        location=Location(symbol="call"),
        data={"schema": schema},
    )
    request = FixRequest(
        task=task,
        workflow=tool("mcp-shop-list", **params),
        params={},
        findings=(finding,),
        store={},
        components=(Interface("mcp-shop-list", "", dict(schema), server="shop"),),
    )
    return ask(request)


def settled(schema: Mapping[str, Any], task: str = "", **params: Any) -> dict[str, Any]:
    answer = asked(schema, task, **params)
    assert isinstance(answer, FixedWorkflow), answer
    found: dict[str, Any] = answer.workflow["nodes"][0]["params"]
    return found


SHOP = {
    "type": "object",
    "properties": {
        "limit": {"type": "integer", "description": "How many at most."},
        "order": {"enum": ["ascending", "descending"]},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["limit"],
    "additionalProperties": False,
}


def test_names_and_values_are_fixed_together() -> None:
    assert settled(SHOP, limit="5", order="Ascending", tags="new") == {
        "limit": 5,
        "order": "ascending",
        "tags": ["new"],
    }


def test_what_was_asked_for_is_not_dropped() -> None:
    answer = asked(SHOP, limit=5, colour="red")
    assert isinstance(answer, NoFix)
    (doubt,) = answer.doubts
    assert doubt.attempted == "colour"
    assert {candidate.text for candidate in doubt.candidates} <= {"order", "tags"}


def test_an_argument_that_may_be_welcome_is_left_alone() -> None:
    open_schema = {**SHOP, "additionalProperties": True}
    assert settled(open_schema, limit="5", colour="red") == {"limit": 5, "colour": "red"}


def test_a_value_goes_to_no_argument_that_cannot_take_it() -> None:
    schema = {"properties": {"limit": {"type": "integer"}}, "required": ["limit"]}
    assert isinstance(asked(schema, most="many"), NoFix)
    assert settled(schema, most="5") == {"limit": 5}


@pytest.mark.parametrize(
    ("value", "schema", "fits"),
    [
        ("5", {"type": "integer"}, 5),
        (" -5 ", {"type": "integer"}, -5),
        ("5.5", {"type": "integer"}, "5.5"),
        ("05a", {"type": "integer"}, "05a"),
        ("5.5", {"type": "number"}, 5.5),
        ("5", {"type": ["null", "number"]}, 5),
        (5, {"type": "number"}, 5),
        (5.0, {"type": "integer"}, 5),
        (5.5, {"type": "integer"}, 5.5),
        (5, {"type": "string"}, "5"),
        (True, {"type": "string"}, True),
        ("True", {"type": "boolean"}, True),
        ("no", {"type": "boolean"}, False),
        ("perhaps", {"type": "boolean"}, "perhaps"),
        (1, {"type": "boolean"}, 1),
        ("a", {"type": "array"}, ["a"]),
        ("5", {"type": "array", "items": {"type": "integer"}}, [5]),
        ("[1, 2]", {"type": "array"}, [1, 2]),
        ('{"a": 1}', {"type": "object"}, {"a": 1}),
        ("text", {"type": "object"}, "text"),
        ("5", {"anyOf": [{"type": "integer"}, {"type": "null"}]}, 5),
        ("5", {"anyOf": [{"type": "integer"}, {"type": "string"}]}, "5"),
        ("5", {"anyOf": [{"type": "integer"}, {}]}, "5"),
        ("5", {}, "5"),
        ("OPEN", {"enum": ["open", "closed"]}, "open"),
        ("open", {"enum": ["open", "Open"]}, "open"),
        ("1", {"enum": [1, 2]}, 1),
        ("zebra", {"enum": ["open", "closed"]}, "zebra"),
        (None, {"type": "string"}, None),
    ],
)
def test_a_value_is_converted_only_where_nothing_is_lost(
    value: Any, schema: dict[str, Any], fits: Any
) -> None:
    found = fitted(value, schema)
    assert (found, type(found)) == (fits, type(fits))


@pytest.mark.parametrize(
    ("value", "name", "description", "meant"),
    [
        ("Tokyo", "timezone", "", "Asia/Tokyo"),
        ("new york", "tz", "", "America/New_York"),
        ("asia/tokyo", "zone", "An IANA name", "Asia/Tokyo"),
        ("utc", "time_zone", "", "UTC"),
        ("Tokyo", "city", "Where to go.", "Tokyo"),
        ("Atlantis", "timezone", "", "Atlantis"),
        (9, "timezone", "", 9),
    ],
)
def test_a_time_zone_is_named_only_where_one_is_wanted_and_only_one_is_meant(
    value: Any, name: str, description: str, meant: Any
) -> None:
    assert zone(value, name, {"description": description}) == meant


def test_definitions_are_followed_and_circles_are_left() -> None:
    whole = {"$defs": {"a": {"type": "integer"}, "b": {"$ref": "#/$defs/b"}}}
    assert resolved({"$ref": "#/$defs/a"}, whole) == {"type": "integer"}
    assert resolved({"$ref": "#/$defs/none"}, whole) == {}
    assert resolved({"$ref": "#/$defs/b"}, whole) == {"$ref": "#/$defs/b"}
    assert resolved(True, whole) == {}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["type", "enum", "anyOf", "items", "$ref"]), inner)
    ),
    max_leaves=8,
)


@given(
    value=JSON, schema=st.dictionaries(st.sampled_from(["type", "enum", "anyOf", "items"]), JSON)
)
def test_any_schema_is_survived(value: Any, schema: dict[str, Any]) -> None:
    fitted(value, resolved(schema, schema))


# -- requests -----------------------------------------------------------------------------------


def _wants(*names: str) -> Any:
    """A server that complains of the fields that it lacks, as the usual frameworks do."""

    def answer(asked: Asked) -> Reply:
        missing = [name for name in names if name not in asked.body]
        detail = [{"loc": ["body", name], "type": "missing"} for name in missing]
        return Reply({"detail": detail}, 422) if missing else Reply({"id": 1})

    return answer


def post(url: str, **json: Any) -> dict[str, Any]:
    params = {"url": url, "method": "POST", "json": json}
    return {"nodes": [{"id": "send", "type": "http", "params": params}]}


def test_what_is_sent_gets_the_name_that_the_server_misses(
    context: PlannerContext, api: Api
) -> None:
    url = api.on("POST /users", _wants("email", "name"))
    request = failed(context, post(url, name="Ann", e_mail="a@b.org"), "add user Ann, a@b.org")
    proposal = fixed(context, request)
    assert proposal.workflow["nodes"][0]["params"]["json"] == {"name": "Ann", "email": "a@b.org"}


def test_a_field_that_nothing_resembles_is_told(context: PlannerContext, api: Api) -> None:
    url = api.on("POST /users", _wants("shoe_size"))
    answer = ask(failed(context, post(url, name="Ann"), "add user Ann"))
    assert isinstance(answer, NoFix)
    (doubt,) = answer.doubts
    assert doubt.attempted == "shoe_size"
    assert [candidate.text for candidate in doubt.candidates] == ["name"]


def test_a_field_that_is_remembered_needs_no_likeness(
    context: PlannerContext, api: Api, tmp_path: Path
) -> None:
    url = api.on("POST /users", _wants("handle"))
    request = failed(context, post(url, who="ann"), "add user ann")
    with Memory(tmp_path / "memory") as memory:
        memory.remember(scope_of("POST", url), "who", "handle", fixer="model", kind="argument")
        assert fixed(context, request, memory).fixer == "memory"
