"""Extraction: values by path, all missing ones at once, and what is no JSON at all."""

from __future__ import annotations

import json
from typing import Any

import pytest

from runtrue.errors import NodeFailed, RuntimeValidationError
from runtrue.loop import Fault
from runtrue.workflow.nodes.extract import extract, path_problems
from runtrue.workflow.nodes.http import HttpNode

USER = {"login": "torvalds", "id": 1024025, "bio": None, "name": "Linus", "plan": {}}


def outputs(response: Any, content_type: str = "application/json", **more: Any) -> dict[str, Any]:
    return {
        "response": response,
        "response_is_binary": False,
        "status_code": 200,
        "response_headers": {"content-type": content_type},
        "response_time": 0.1,
        **more,
    }


@pytest.mark.parametrize(
    ("response", "path", "value"),
    [
        (USER, "$.login", "torvalds"),
        (USER, "login", "torvalds"),
        (USER, "$.bio", None),
        (USER, "$.plan", {}),
        (USER, "$", USER),
        ({"data": {"user": {"name": "a"}}}, "$.data.user.name", "a"),
        ({"items": [{"name": "a"}, {"name": "b"}]}, "$.items[1].name", "b"),
        ({"items": [1, 2, 3]}, "$.items[-1]", 3),
        ([{"login": "a"}], "$[0].login", "a"),
        ({"a b": {"c.d": 1}}, "$['a b']['c.d']", 1),
        ({"payload": '{"id": 7}'}, "$.payload.id", 7),
        (None, "$", None),
        (5, "$", 5),
    ],
)
def test_a_path_gives_the_value_there(response: Any, path: str, value: Any) -> None:
    assert extract({"x": path}, outputs(response)) == {"x": value}


def test_success_adds_extracted_and_changes_nothing_else() -> None:
    given = outputs(USER)
    node = HttpNode()
    params = {"url": "http://x/", "extract": {"user": "$.login", "bio": "$.bio"}}
    finished = node.finish(params, given)
    assert finished == {**given, "extracted": {"user": "torvalds", "bio": None}}
    assert "raw" not in finished
    assert node.finish({"url": "http://x/"}, given) is given


@pytest.mark.parametrize(
    ("response", "path", "available", "found", "said"),
    [
        # A name that was guessed.
        (USER, "$.username", ["login", "id", "bio", "name", "plan"], "$", "bio, id, login"),
        # One level too many, one too few.
        ({"user": {"login": "a"}}, "$.data.user", ["user"], "$", "available there: user"),
        ({"data": {"user": 1}}, "$.data.users", ["data"], "$.data", "did you mean user?"),
        # The list has another name, is shorter, or is none.
        ({"data": [1]}, "$.items[0]", ["data"], "$", "available there: data"),
        ({"items": []}, "$.items[0].name", ["items"], "$.items", "$.items is empty"),
        ({"items": [{}]}, "$.items[3]", ["items"], "$.items", "1 entry"),
        ({"items": {"a": 1}}, "$.items[0]", ["items"], "$.items", "is an object"),
        # `null` is a value, and nothing is in it.
        ({"bio": None}, "$.bio.text", ["bio"], "$.bio", "$.bio is null"),
        ({}, "$.a", [], "$", "$ is empty"),
        # The top of a list is its first entry.
        ([{"login": "a", "id": 1}], "$.login", ["[0].login", "[0].id"], "$", "a list of 1"),
        ([1, 2], "$.login", ["[0]"], "$", "a list of 2"),
        ([], "$[0]", [], "$", "$ is empty"),
        (7, "$.a", [], "$", "$ is a number"),
    ],
)
def test_a_missing_path_tells_how_far_it_leads_and_what_is_there(
    response: Any, path: str, available: list[str], found: str, said: str
) -> None:
    given = outputs(response)
    with pytest.raises(RuntimeValidationError) as caught:
        extract({"x": path}, given)
    error = caught.value
    assert error.category == "missing_extract_path"
    assert error.fault == Fault.CANDIDATE
    assert error.attempted == (path,)
    assert list(error.available) == available
    (missing,) = error.data["missing"]
    assert (missing["name"], missing["path"], missing["found"]) == ("x", path, found)
    assert repr(path) in error.message
    assert said in error.message
    assert "\n" not in error.message
    assert error.outputs == {**given, "error": error.message}


def test_all_missing_paths_are_told_at_once_and_none_that_is_there() -> None:
    wanted = {"user": "$.username", "id": "$.id", "text": "biography", "nick": "$.username"}
    with pytest.raises(RuntimeValidationError) as caught:
        extract(wanted, outputs(USER))
    assert caught.value.attempted == ("$.username", "biography", "$.username")
    assert [one["name"] for one in caught.value.data["missing"]] == ["user", "text", "nick"]
    assert "'$.username'" in caught.value.message
    assert "'biography'" in caught.value.message


def test_the_sample_shows_the_structure_within_bounds_and_no_secrets() -> None:
    response = {"access_token": "s3cr3t-value", "items": [{"id": n} for n in range(1000)]}
    with pytest.raises(RuntimeValidationError) as caught:
        extract({"x": "$.y"}, outputs(response))
    sample = caught.value.sample
    assert sample is not None
    assert '"items"' in sample
    assert "s3cr3t-value" not in sample
    assert len(sample) <= 2000


def test_what_is_available_is_bounded() -> None:
    with pytest.raises(RuntimeValidationError) as caught:
        extract({"x": "$.y"}, outputs({f"key{n}": n for n in range(1000)}))
    assert len(caught.value.available) == 200


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (outputs("<html></html>", "text/html; charset=utf-8"), "is text/html and not JSON"),
        (outputs("{broken"), "is application/json and not JSON"),
        (outputs('"text"', "text/plain"), "is text/plain and not JSON"),
        (outputs(""), "is empty"),
        (outputs("eyJhIjogMX0=", "image/png", response_is_binary=True), "is image/png"),
        (outputs("e30=", response_is_binary=True, response_headers={}), "of no declared type"),
    ],
)
def test_a_response_that_is_not_json_is_not_a_missing_path(
    given: dict[str, Any], said: str
) -> None:
    with pytest.raises(NodeFailed) as caught:
        extract({"x": "$.a"}, given)
    error = caught.value
    assert not isinstance(error, RuntimeValidationError)
    assert (error.category, error.fault, error.transient) == ("not_json", "environment", False)
    assert said in error.message
    assert error.outputs == {**given, "error": error.message}


@pytest.mark.parametrize("content_type", ["text/plain", "text/html", ""])
def test_json_that_is_declared_as_text_is_opened(content_type: str) -> None:
    text = json.dumps({"a": [1, 2]})
    assert extract({"x": "$.a[1]"}, outputs(text, content_type)) == {"x": 2}
    assert extract({"x": "$"}, outputs(text, content_type)) == {"x": {"a": [1, 2]}}


def test_a_path_that_is_none_is_told_with_its_character() -> None:
    wanted = {
        "a": "$.items[",
        "b": "$.items[0:2].x",
        "f": "$.items[*].x",
        "c": "${other.path}",
        "d": "$.ok",
        "e": 5,
    }
    problems = dict(path_problems(wanted))
    assert problems.keys() == {"a", "b"}
    assert "character 9" in problems["a"]
    assert "slice" in problems["b"]


def test_a_path_from_a_reference_is_read_when_the_node_runs() -> None:
    given = outputs(USER)
    with pytest.raises(RuntimeValidationError) as caught:
        extract({"x": "$.items["}, given)
    assert caught.value.category == "bad_path"
    assert caught.value.attempted == ("$.items[",)
    assert caught.value.outputs["response"] == USER
