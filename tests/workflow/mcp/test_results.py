"""What a tool answered becomes plain data, or an error that is told by flags, codes and schemas."""

from __future__ import annotations

from typing import Any

import pytest

from runtrue.loop import Fault
from runtrue.workflow.mcp import ToolError, ToolInfo
from runtrue.workflow.mcp.results import ToolAnswer, ToolRefusal, result_of, status_in

OPEN = ToolInfo(server="s", name="t", input_schema={"type": "object"})
COUNT: dict[str, Any] = {
    "type": "object",
    "properties": {"note": {"type": "string"}, "count": {"type": "integer"}},
    "required": ["count"],
}
COUNTING = ToolInfo(server="s", name="t", input_schema=COUNT)
PROMISING = ToolInfo(server="s", name="t", input_schema=COUNT, output_schema=COUNT)
CLOSED = ToolInfo(server="s", name="t", input_schema={**COUNT, "additionalProperties": False})


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


def answer(*blocks: dict[str, Any], **more: Any) -> ToolAnswer:
    return ToolAnswer(blocks=blocks, **more)


def structured(value: Any) -> ToolAnswer:
    return answer(text("as text"), structured=value, has_structured=True)


IMAGE = {"type": "image", "mimeType": "image/png", "data": "aGk="}
AUDIO = {"type": "audio", "mimeType": "audio/wav", "data": "aGk="}
LINK = {"type": "resource_link", "uri": "demo://1", "name": "one", "mimeType": "text/plain"}


@pytest.mark.parametrize(
    ("blocks", "result"),
    [
        ([], None),
        ([text("plain")], "plain"),
        ([text("")], ""),
        ([text('{"a": [1, null]}')], {"a": [1, None]}),
        ([text(" [1, 2]\n")], [1, 2]),
        ([text("3")], "3"),
        ([text("true")], "true"),
        ([text('"quoted"')], '"quoted"'),
        ([text("{not json}")], "{not json}"),
        ([text("[1, 2] and more")], "[1, 2] and more"),
        ([text("a"), text('{"b": 1}')], ["a", {"b": 1}]),
        ([IMAGE], IMAGE),
        ([text("look:"), IMAGE, AUDIO, LINK], ["look:", IMAGE, AUDIO, LINK]),
        (
            [{"type": "resource", "resource": {"uri": "u", "mimeType": "m", "text": "t"}}],
            {"type": "resource", "uri": "u", "mimeType": "m", "text": "t"},
        ),
        (
            [{"type": "resource", "resource": {"uri": "u", "mimeType": "m", "blob": "aGk="}}],
            {"type": "resource", "uri": "u", "mimeType": "m", "data": "aGk="},
        ),
    ],
)
def test_the_blocks_of_an_answer_become_plain_data(blocks: list[Any], result: Any) -> None:
    found = result_of(OPEN, {}, answer(*blocks))
    assert (found.result, found.structured) == (result, False)


@pytest.mark.parametrize("value", [{"a": 1}, {}, {"result": 3}, [1], None])
def test_structured_content_comes_first(value: Any) -> None:
    found = result_of(OPEN, {}, structured(value))
    assert (found.result, found.structured) == (value, True)


def test_a_value_that_is_only_wrapped_is_unwrapped() -> None:
    number = {"$ref": "#/$defs/N"}
    schema = {"properties": {"result": number}, "$defs": {"N": {"type": "integer"}}}
    plain = ToolInfo(server="s", name="t", input_schema={}, output_schema=schema)
    marked = ToolInfo(
        server="s",
        name="t",
        input_schema={},
        output_schema={**schema, "x-fastmcp-wrap-result": True},
    )
    assert result_of(marked, {}, structured({"result": 3})).result == 3
    assert marked.result_schema == {**number, "$defs": schema["$defs"]}
    assert result_of(plain, {}, structured({"result": 3})).result == {"result": 3}
    assert plain.result_schema == schema
    assert OPEN.result_schema is None


FLAGGED = answer(text("it broke"), is_error=True)
UNFLAGGED = answer(text("Error: it broke"))


@pytest.mark.parametrize(
    ("tool", "arguments", "said", "category", "attempted"),
    [
        (COUNTING, {"count": 1}, FLAGGED, "tool_error", ()),
        (COUNTING, {"count": 1, "nots": ""}, FLAGGED, "tool_error", ("nots",)),
        (COUNTING, {"cuont": 1}, FLAGGED, "argument_mismatch", ("cuont",)),
        (COUNTING, {}, FLAGGED, "argument_mismatch", ("count",)),
        (COUNTING, {"count": "1"}, FLAGGED, "argument_mismatch", ("count",)),
        (CLOSED, {"count": 1, "nots": ""}, FLAGGED, "argument_mismatch", ("nots",)),
        (OPEN, {"anything": 1}, FLAGGED, "tool_error", ()),
        (COUNTING, {"count": 1}, ToolRefusal(code=-32602, text="no"), "argument_mismatch", ()),
        (COUNTING, {"count": 1}, ToolRefusal(code=-32603, text="no"), "protocol", ()),
        (COUNTING, {}, ToolRefusal(code=-32603, text="no"), "argument_mismatch", ("count",)),
        (PROMISING, {"count": 1}, UNFLAGGED, "output_mismatch", ()),
        (PROMISING, {"count": 1}, structured({"count": "x"}), "output_mismatch", ()),
        (PROMISING, {"count": 1}, structured(None), "output_mismatch", ()),
        (PROMISING, {}, UNFLAGGED, "argument_mismatch", ("count",)),
        (PROMISING, {"count": 1}, FLAGGED, "tool_error", ()),
    ],
)
def test_a_failure_is_told_by_structure_alone(
    tool: ToolInfo,
    arguments: dict[str, Any],
    said: ToolAnswer | ToolRefusal,
    category: str,
    attempted: tuple[str, ...],
) -> None:
    with pytest.raises(ToolError) as raised:
        result_of(tool, arguments, said)
    error = raised.value
    assert (error.category, error.fault) == (category, Fault.CANDIDATE)
    assert error.attempted == attempted
    assert error.available == (() if tool is OPEN else ("count", "note")), "required first"
    assert error.schema == tool.input_schema
    assert error.code == (said.code if isinstance(said, ToolRefusal) else None)
    assert bool(error.problems) == (category.endswith("_mismatch") and error.code != -32602)


@pytest.mark.parametrize("arguments", [{"count": "3"}, {"cuont": 3}])
def test_arguments_that_break_the_schema_are_no_failure_by_themselves(
    arguments: dict[str, Any],
) -> None:
    assert result_of(COUNTING, arguments, UNFLAGGED).result == "Error: it broke"


def test_the_words_of_an_error_say_all_that_is_needed() -> None:
    with pytest.raises(ToolError) as raised:
        result_of(COUNTING, {"cuont": 1}, FLAGGED)
    assert str(raised.value) == (
        "tool 't' of server 's' got wrong arguments: 'count' is a required property; "
        "it does not know 'cuont'; it takes: count, note"
    )
    with pytest.raises(ToolError) as raised:
        result_of(PROMISING, {"count": 1}, UNFLAGGED)
    assert str(raised.value) == (
        "tool 't' of server 's' did not return what it declares (it has no structured content); "
        "output: Error: it broke"
    )
    assert raised.value.result == "Error: it broke"


def test_a_message_stays_short() -> None:
    with pytest.raises(ToolError) as raised:
        result_of(COUNTING, {"count": "x" * 100_000}, answer(text("y" * 100_000), is_error=True))
    assert len(str(raised.value)) < 1000
    assert all(len(problem) < 1000 for problem in raised.value.problems)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "no such type"},
        {"$ref": "https://schemas.invalid/never-fetched.json"},
        {"$ref": "#/nowhere"},
        {"properties": [], "required": 3},
        {"$schema": "https://schemas.invalid/draft-99", "type": "object"},
    ],
)
def test_a_broken_schema_says_nothing(schema: dict[str, Any]) -> None:
    tool = ToolInfo(server="s", name="t", input_schema=schema, output_schema=schema)
    assert result_of(tool, {"a": 1}, structured({"b": 2})).result == {"b": 2}
    with pytest.raises(ToolError) as raised:
        result_of(tool, {"a": 1}, FLAGGED)
    assert raised.value.category == "tool_error"


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        ({"status": 401}, Fault.CREDENTIALS),
        ({"statusCode": 403}, Fault.CREDENTIALS),
        ({"status": 404}, Fault.CANDIDATE),
        ({"status": "401"}, Fault.CANDIDATE),
        ("401 unauthorized", Fault.CANDIDATE),
        (None, Fault.CANDIDATE),
    ],
)
def test_an_error_that_names_an_authentication_status_is_of_credentials(
    data: Any, fault: Fault
) -> None:
    refusal = ToolRefusal(code=-32000, text="no", status=status_in(data))
    with pytest.raises(ToolError) as caught:
        result_of(OPEN, {}, refusal)
    assert caught.value.fault is fault
    said = ToolAnswer(blocks=(), structured=data, has_structured=True, is_error=True)
    with pytest.raises(ToolError) as caught:
        result_of(OPEN, {}, said)
    assert caught.value.fault is fault
