"""Seed 000, its sixteen test criteria and its edge cases, each by its number.

Real HTTP and real MCP servers; `RuntimeValidationNode` is wired with the actions of the seed.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from runtrue.errors import RuntimeValidationError
from runtrue.planner.context import PlannerContext
from runtrue.planner.nodes import ValidatorNode, WorkflowGeneratorNode
from runtrue.workflow import run_workflow
from tests.planner.api import TORVALDS, Api, Reply
from tests.planner.support import Heard, fetch, plan, validate

WRONG = {"username": "$.username", "biography": "$.biography"}


def show_user(url: str, field: str) -> dict[str, Any]:
    """Fetch something, and use a field of it that may not be there."""
    shown = {"id": "show", "type": "shell", "params": {"command": "cat", "stdin": field}}
    return {"nodes": [*fetch(url)["nodes"], shown]}


def ask_time(timezone: str = "Asia/Tokyo", **more: Any) -> dict[str, Any]:
    params = more.pop("params", {"timezone": timezone})
    node = {"id": "ask", "type": "mcp-time-get_current_time", "params": params, **more}
    return {"nodes": [node]}


# -- the criteria -------------------------------------------------------------------------------


def test_01_a_simple_get_is_compiled_and_run_once(context: PlannerContext, api: Api) -> None:
    url = api.on("GET /users/torvalds", TORVALDS)
    validated = validate(context, fetch(url))
    assert validated.action == "default"
    assert api.count("GET /users/torvalds") == 1
    assert validated.shared["runtime_store"]["fetch"]["response"] == TORVALDS


def test_01_it_runs_with_the_params_and_a_fresh_store(context: PlannerContext, api: Api) -> None:
    api.on("GET /users/torvalds", TORVALDS)
    workflow = {"inputs": {"user": {}}, **fetch(api.url("/users/${user}"))}
    stale = {"fetch": {"error": "from before"}, "user": "nobody"}
    validated = validate(context, workflow, {"user": "torvalds"}, **stale)
    assert validated.action == "default"
    assert validated.shared["fetch"] == stale["fetch"], "the planner's own store is left alone"


def test_02_an_exception_is_caught_and_classified(context: PlannerContext, api: Api) -> None:
    url = api.on("GET /users/torvalds", TORVALDS)
    validated = validate(context, fetch(url, WRONG))
    assert validated.action == "runtime_fix"
    assert validated.categories == ["missing_extract_path"]


def test_03_a_namespaced_error_of_a_tool_is_found(context: PlannerContext) -> None:
    validated = validate(context, ask_time("Nowhere/Land", on_error="continue"))
    assert validated.shared["runtime_store"]["ask"]["error"]
    assert validated.action == "runtime_fix"
    assert [error["node_id"] for error in validated.errors] == ["ask"]


def test_04_a_reference_to_what_did_not_come_is_found(context: PlannerContext, api: Api) -> None:
    url = api.on("GET /users/torvalds", TORVALDS)
    validated = validate(context, show_user(url, "${fetch.response.username}"))
    assert validated.action == "runtime_fix"
    assert validated.categories == ["missing_template_path"]
    assert validated.errors[0]["attempted"] == ["${fetch.response.username}"]
    assert "login" in validated.errors[0]["available"]


def test_04_it_is_found_on_a_branch_that_was_not_taken(context: PlannerContext, api: Api) -> None:
    url = api.on("GET /users/torvalds", TORVALDS)
    workflow = show_user(url, "${fetch.response.username}")
    workflow["nodes"].append({"id": "end", "type": "shell", "params": {"command": "true"}})
    edges = [{"from": "fetch", "to": "end"}, {"from": "fetch", "to": "show", "action": "error"}]
    validated = validate(context, {**workflow, "edges": edges})
    assert validated.action == "runtime_fix"
    assert validated.categories == ["missing_template_path"]
    assert validated.errors[0]["node_id"] == "show"


def test_04_inputs_are_no_output_paths(context: PlannerContext, api: Api) -> None:
    url = api.on("GET /users/torvalds", TORVALDS)
    workflow = {"inputs": {"who": {"type": "object"}}, **show_user(url, "${who.name}")}
    assert validate(context, workflow, {"who": {"name": "Linus"}}).action == "default"


def test_04_null_is_a_value_and_not_missing(context: PlannerContext, api: Api) -> None:
    url = api.on("GET /users/torvalds", TORVALDS)
    workflow = {
        **fetch(url, {"mail": "$.email"}),
        "outputs": {"mail": {"source": "fetch.extracted.mail"}},
    }
    validated = validate(context, workflow)
    assert validated.action == "default"
    assert validated.shared["result"] == {"mail": None}


def test_05_the_collected_errors_have_the_shape_of_the_seed(
    context: PlannerContext, api: Api
) -> None:
    url = api.on("GET /users/torvalds", TORVALDS)
    (error,) = validate(context, fetch(url, WRONG)).errors
    assert error["source"] == "http"
    assert error["node_id"] == "fetch"
    assert error["category"] == "missing_extract_path"
    assert error["attempted"] == ["$.username", "$.biography"]
    assert error["available"] == list(TORVALDS)
    assert error["fixable"] is True
    assert error["fingerprint"]
    assert '"login": "torvalds"' in error["sample"].replace('":"', '": "')
    assert "$.username" in error["message"]


@pytest.mark.parametrize("attempts", [0, 1, 2])
def test_06_what_can_be_fixed_is_to_be_fixed_while_attempts_are_left(
    context: PlannerContext, api: Api, attempts: int
) -> None:
    url = api.on("GET /users/torvalds", TORVALDS)
    validated = validate(context, fetch(url, WRONG), runtime_attempts=attempts)
    assert validated.action == "runtime_fix"
    assert validated.shared["runtime_attempts"] == attempts + 1


@pytest.mark.parametrize("status", [401, 403, 407])
def test_07_what_fails_for_want_of_credentials_is_final(
    context: PlannerContext, api: Api, status: int
) -> None:
    url = api.on("GET /private", {"message": "Bad credentials"}, status=status)
    validated = validate(context, fetch(url))
    assert validated.action == "failed_runtime"
    assert validated.errors[0]["fault"] == "credentials"
    assert validated.errors[0]["fixable"] is False
    assert validated.shared["runtime_attempts"] == 0
    assert api.count("GET /private") == 1, "it is not retried either"


def test_07_after_three_fixes_it_is_final_whatever_failed(
    context: PlannerContext, api: Api
) -> None:
    url = api.on("GET /users/torvalds", TORVALDS)
    validated = validate(context, fetch(url, WRONG), runtime_attempts=3)
    assert validated.action == "failed_runtime"
    assert validated.shared["runtime_attempts"] == 3


def test_08_without_issues_it_goes_on(context: PlannerContext, api: Api) -> None:
    url = api.on("GET /users/torvalds", TORVALDS)
    validated = validate(context, show_user(url, "${fetch.response.login}"))
    assert validated.action == "default"
    assert "runtime_errors" not in validated.shared


def test_08_errors_of_an_earlier_run_are_cleared(context: PlannerContext, api: Api) -> None:
    url = api.on("GET /users/torvalds", TORVALDS)
    stale = validate(context, fetch(url, WRONG)).errors
    validated = validate(context, fetch(url), runtime_errors=stale, runtime_attempts=1)
    assert validated.action == "default"
    assert "runtime_errors" not in validated.shared


def test_09_extract_adds_extracted_and_leaves_the_response(
    context: PlannerContext, api: Api
) -> None:
    url = api.on("GET /users/torvalds", TORVALDS)
    result = run_workflow(fetch(url, {"name": "$.login"}), registry=context.registry)
    assert result.store["fetch"]["extracted"] == {"name": "torvalds"}
    assert result.store["fetch"]["response"] == TORVALDS
    assert "raw" not in result.store["fetch"]


def test_10_a_missing_path_says_what_was_attempted_and_what_there_is(
    context: PlannerContext, api: Api
) -> None:
    url = api.on("GET /users/torvalds", TORVALDS)
    error = run_workflow(fetch(url, WRONG), registry=context.registry).error
    assert isinstance(error, RuntimeValidationError)
    assert error.attempted == ("$.username", "$.biography")
    assert error.available == tuple(TORVALDS)
    assert error.sample is not None
    assert "torvalds" in error.sample


@pytest.mark.parametrize("handler", [{"on_error": "continue"}, {"retry": {"attempts": 3}}])
def test_10_nothing_turns_it_into_something_else(
    context: PlannerContext, api: Api, handler: dict[str, Any]
) -> None:
    url = api.on("GET /users/torvalds", TORVALDS)
    workflow = fetch(url, WRONG)
    workflow["nodes"][0].update(handler)
    error = run_workflow(workflow, registry=context.registry).error
    assert type(error) is RuntimeValidationError
    assert api.count("GET /users/torvalds") == 1


@pytest.mark.parametrize(
    ("workflow", "category"),
    [
        (ask_time(params={"tz": "Asia/Tokyo"}), "argument_mismatch"),
        (ask_time("Tokyo"), "tool_error"),
        (
            {
                "nodes": [
                    *ask_time()["nodes"],
                    {
                        "id": "show",
                        "type": "shell",
                        "params": {"command": "cat", "stdin": "${ask.clock}"},
                    },
                ]
            },
            "missing_template_path",
        ),
    ],
    ids=["wrong argument", "tool error", "missing field downstream"],
)
def test_11_mismatches_with_a_tool_can_be_fixed(
    context: PlannerContext, workflow: dict[str, Any], category: str
) -> None:
    validated = validate(context, workflow)
    assert validated.action == "runtime_fix"
    assert validated.categories == [category]


def test_12_it_makes_no_static_check(context: PlannerContext, api: Api) -> None:
    """What the static check would refuse is run as it is: a param that `http` has not got."""
    url = api.on("GET /users/torvalds", TORVALDS)
    workflow = {"nodes": [*fetch(url)["nodes"], {"id": "orphan", "type": "shell"}], "edges": []}
    validator = ValidatorNode(context)
    assert asyncio.run(validator.exec(workflow)), "statically it is wrong"
    assert validate(context, workflow).action == "default"


def test_13_every_runtime_fix_is_counted_apart_from_static_retries(
    context: PlannerContext, api: Api
) -> None:
    url = api.on("GET /users/torvalds", TORVALDS)
    validated = validate(context, fetch(url, WRONG), generation_attempts=2)
    assert validated.shared["runtime_attempts"] == 1
    assert validated.shared["generation_attempts"] == 0, (
        "a fixed workflow has its whole budget again"
    )


def test_14_the_generator_takes_the_errors_and_fixes_the_paths(
    context: PlannerContext, api: Api
) -> None:
    url = api.on("GET /users/torvalds", TORVALDS)
    task = f"fetch {url} and extract username and biography"
    shared = validate(context, fetch(url, WRONG), task=task).shared
    node = WorkflowGeneratorNode(context)
    inputs = node.prep(shared)
    assert inputs.fix is not None
    assert [finding.attempted for finding in inputs.fix.findings] == [("$.username", "$.biography")]
    result = asyncio.run(node.exec(inputs))
    assert node.post(shared, inputs, result) == "validate"
    assert shared["generated_workflow"] == fetch(url, {"username": "$.login", "biography": "$.bio"})


def test_15_a_fixable_issue_outweighs_a_fatal_one(context: PlannerContext, api: Api) -> None:
    user = api.on("GET /users/torvalds", TORVALDS)
    private = api.on("GET /private", {}, status=401)
    workflow = {
        "nodes": [
            {"id": "private", "type": "http", "params": {"url": private}, "on_error": "continue"},
            *fetch(user, WRONG)["nodes"],
        ]
    }
    validated = validate(context, workflow)
    assert validated.action == "runtime_fix"
    assert {error["fixable"] for error in validated.errors} == {True, False}
    assert validate(context, workflow, runtime_attempts=3).action == "failed_runtime"


@pytest.mark.parametrize(
    "reply",
    [
        Reply(b"<html><body>hello</body></html>", content_type="text/html"),
        Reply(b"", content_type="application/json"),
        Reply(b"{not json", content_type="application/json"),
    ],
    ids=["html", "empty", "broken"],
)
def test_16_what_is_no_json_cannot_be_extracted_from(
    context: PlannerContext, api: Api, reply: Reply
) -> None:
    url = api.on("GET /page", reply)
    validated = validate(context, fetch(url, WRONG))
    assert validated.action == "failed_runtime"
    assert validated.categories == ["not_json"]


# -- edge cases and error handling --------------------------------------------------------------


def test_no_node_writes_any_output_is_fine_unless_one_failed(context: PlannerContext) -> None:
    quiet = {"nodes": [{"id": "a", "type": "shell", "params": {"command": "true"}}]}
    assert validate(context, quiet).action == "default"


@pytest.mark.parametrize(
    "workflow",
    [
        {"nodes": [{"id": "a", "type": "no-such-type"}]},
        {"nodes": []},
        {},
        {"nodes": "what"},
        {"nodes": [{"id": "a", "type": "shell"}], "edges": [{"from": "a", "to": "b"}]},
    ],
)
def test_what_cannot_be_compiled_is_final(
    context: PlannerContext, workflow: dict[str, Any]
) -> None:
    validated = validate(context, workflow)
    assert validated.action == "failed_runtime"
    assert validated.categories == ["compile"]


@pytest.mark.parametrize("status", [429, 500, 502, 503])
def test_what_the_server_could_not_do_is_final(
    context: PlannerContext, api: Api, status: int
) -> None:
    url = api.on("POST /orders", {}, status=status)
    validated = validate(context, fetch(url, method="POST", json={"a": 1}))
    assert validated.action == "failed_runtime"
    assert validated.errors[0]["fault"] == "environment"
    assert api.count("POST /orders") == 1


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:1/", "http://no-such-host.invalid/", "https://127.0.0.1:1/"]
)
def test_what_cannot_be_reached_is_final(context: PlannerContext, url: str) -> None:
    validated = validate(context, fetch(url, retries=0))
    assert validated.action == "failed_runtime"
    assert validated.errors[0]["fault"] == "environment"


def test_a_missing_key_is_a_matter_of_credentials(context: PlannerContext, api: Api) -> None:
    url = api.on("GET /users/torvalds", TORVALDS)
    headers = {"authorization": "Bearer ${env.NO_SUCH_TOKEN}"}
    validated = validate(context, fetch(url, headers=headers))
    assert validated.action == "failed_runtime"
    assert validated.errors[0]["fault"] == "credentials"
    assert api.asked == [], "and nothing is sent"


def test_what_is_not_there_is_final_when_the_user_named_it(
    context: PlannerContext, api: Api
) -> None:
    url = api.url("/users/nobody")
    named = validate(context, fetch(url), task=f"fetch {url}")
    assert (named.action, named.categories) == ("failed_runtime", ["wrong_resource"])
    guessed = validate(context, fetch(url), task="fetch the user nobody")
    assert (guessed.action, guessed.categories) == ("runtime_fix", ["guessed_url"])


@pytest.mark.parametrize(
    "body",
    [
        {"detail": [{"loc": ["body", "title"], "msg": "field required"}]},
        {"message": "Validation Failed", "errors": [{"resource": "Issue", "field": "title"}]},
        {"errors": {"title": ["can't be blank"]}},
        {"error": {"param": "title", "type": "invalid_request_error"}},
        {"errors": [{"source": {"pointer": "/data/attributes/title"}, "status": "422"}]},
        {"issues": [{"path": ["title"], "message": "Required"}]},
    ],
)
@pytest.mark.parametrize("status", [400, 422])
def test_a_refusal_that_names_a_field_is_an_argument_mismatch(
    context: PlannerContext, api: Api, status: int, body: dict[str, Any]
) -> None:
    url = api.on("POST /issues", body, status=status)
    validated = validate(context, fetch(url, method="POST", json={"name": "A bug"}))
    assert validated.action == "runtime_fix"
    assert validated.categories == ["argument_mismatch"]
    assert validated.errors[0]["attempted"] == ["title"]
    assert validated.errors[0]["available"] == ["name"]


def test_it_ends_at_its_deadline_with_what_there_is(context: PlannerContext, api: Api) -> None:
    url = api.on("GET /users/torvalds", TORVALDS)
    context.seconds = 0.5
    slow = {"id": "slow", "type": "shell", "params": {"command": "sleep 30"}}
    validated = validate(context, {"nodes": [*fetch(url)["nodes"], slow]})
    assert validated.action == "failed_runtime"
    assert validated.categories == ["deadline"]
    assert validated.errors[0]["node_id"] == "slow"
    assert validated.shared["runtime_store"]["fetch"]["status_code"] == 200


def test_several_issues_of_one_run_are_found_at_once(context: PlannerContext, api: Api) -> None:
    url = api.on("GET /users/torvalds", TORVALDS)
    workflow = {
        "nodes": [
            *fetch(url)["nodes"],
            *(
                {
                    "id": f"show_{name}",
                    "type": "shell",
                    "params": {"command": "cat", "stdin": f"${{fetch.response.{name}}}"},
                }
                for name in ("username", "biography")
            ),
        ]
    }
    validated = validate(context, workflow)
    assert [error["attempted"] for error in validated.errors] == [
        ["${fetch.response.username}"],
        ["${fetch.response.biography}"],
    ]


# -- the flow -----------------------------------------------------------------------------------


def test_no_generator_is_asked_again_unless_something_is_to_be_fixed(
    context: PlannerContext, api: Api
) -> None:
    url = api.on("GET /users/torvalds", TORVALDS)
    heard = Heard()
    plan(context, f"fetch {url} and extract login", (heard,))
    asked = [event.origin for event in heard if event.kind == "node_started"]
    assert asked.count("workflow_generator") == 1
    assert asked[-4:] == [
        "metadata_generation",
        "runtime_validation",
        "parameter_preparation",
        "result_preparation",
    ]


def test_metadata_is_made_once_however_many_fixes_there_are(
    context: PlannerContext, api: Api
) -> None:
    url = api.on("GET /users/torvalds", TORVALDS)
    shared = plan(context, f"fetch {url} and extract username and biography")
    assert shared["runtime_attempts"] == 1
    assert shared["generation_attempts"] == 0
    output = shared["planner_output"]
    assert output["success"] is True
    assert output["runtime_errors"] == []
    assert output["result"] == {"username": "torvalds", "biography": "I wrote a kernel, once."}
    assert output["workflow_metadata"] == shared["workflow_metadata"]
    assert api.count("GET /users/torvalds") == 1, "the answer is replayed, not asked for again"


@pytest.mark.parametrize("ir", [None, "nodes", [], [{"id": "a"}]])
def test_what_is_no_object_fails_and_does_not_raise(context: PlannerContext, ir: object) -> None:
    validated = validate(context, {}, generated_workflow=ir)
    assert validated.action == "failed_runtime"
    assert validated.categories == ["compile"]
    assert not validated.errors[0]["fixable"]
