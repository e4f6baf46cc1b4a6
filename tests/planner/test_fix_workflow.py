"""Repair without a model: what was missed leads where it was meant to, or nobody pretends so."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runtrue.loop import Fault, Finding, Location
from runtrue.memory import Memory, scope_of
from runtrue.planner.bounds import changes_between, violations
from runtrue.planner.context import PlannerContext
from runtrue.planner.fix import fix_workflow
from runtrue.planner.fix.draft import Intents
from runtrue.planner.fix.references import redirect
from runtrue.planner.seams import FixedWorkflow, FixRequest, NoFix
from tests.planner.api import TORVALDS, Api, Reply
from tests.planner.support import fetch, validate

ITEM = {"title": "One", "id": 1, "price": 3}
TASK = "fetch {} and extract {}"


def failed(
    context: PlannerContext,
    workflow: Mapping[str, Any],
    task: str,
    params: Mapping[str, Any] | None = None,
) -> FixRequest:
    """Run a workflow that fails; what a generator is then asked."""
    ran = validate(context, workflow, params, task=task)
    assert ran.action == "runtime_fix", ran.action
    return FixRequest(
        task=task,
        workflow=dict(workflow),
        params=dict(params or {}),
        findings=ran.shared["runtime_findings"],
        store=ran.shared["runtime_store"],
        components=tuple(context.registry.interfaces()),
    )


def ask(request: FixRequest, memory: Memory | None = None) -> FixedWorkflow | NoFix:
    """The answer, which leaves the request as it was."""
    before = copy.deepcopy(request)
    answer = asyncio.run(fix_workflow(request, memory=memory))
    assert request == before
    return answer


def fixed(
    context: PlannerContext, request: FixRequest, memory: Memory | None = None
) -> FixedWorkflow:
    """A proposal that is within its bounds, and passes."""
    proposal = ask(request, memory)
    assert isinstance(proposal, FixedWorkflow), proposal
    assert violations(request.workflow, proposal.workflow, context.registry) == ()
    ran = validate(context, proposal.workflow, request.params, task=request.task)
    assert ran.action == "default", ran.shared["runtime_errors"]
    return proposal


def lines(request: FixRequest, proposal: FixedWorkflow) -> list[str]:
    return [str(change) for change in changes_between(request.workflow, proposal.workflow)]


@pytest.fixture
def users(api: Api) -> str:
    return api.on("GET /users/torvalds", TORVALDS)


# -- extraction ---------------------------------------------------------------------------------


def test_several_paths_are_fixed_in_one_attempt(context: PlannerContext, users: str) -> None:
    task = TASK.format(users, "username and biography")
    wrong = fetch(users, {"username": "$.username", "biography": "$.biography"})
    request = failed(context, wrong, task)
    proposal = fixed(context, request)
    assert proposal.fixer == "fields"
    assert lines(request, proposal) == [
        "fetch: extract.username  $.username → $.login",
        "fetch: extract.biography  $.biography → $.bio",
    ]


@pytest.mark.parametrize(
    ("body", "wanted", "guess", "found"),
    [
        ({"user": {"login": "ann", "id": 3}}, "login", "$.login", "$.user.login"),
        ({"login": "ann", "id": 3}, "login", "$.user.login", "$.login"),
        (
            {"data": [ITEM], "total": 1},
            "title of the first product",
            "$.items[0].title",
            "$.data[0].title",
        ),
        ([ITEM, ITEM], "title of the first product", "$.items[0].title", "$[0].title"),
        ({"odd key": {"E-Mail": None}}, "email", "$.email", "$['odd key'].E-Mail"),
    ],
)
def test_nested_and_indexed_paths_are_fixed(
    context: PlannerContext, api: Api, body: Any, wanted: str, guess: str, found: str
) -> None:
    url = api.on("GET /products", body)
    request = failed(context, fetch(url, {"it": guess}), TASK.format(url, f"the {wanted}"))
    assert fixed(context, request).workflow["nodes"][0]["params"]["extract"] == {"it": found}


def test_json_that_is_not_declared_as_such_is_looked_into(
    context: PlannerContext, api: Api
) -> None:
    url = api.on(
        "GET /user", Reply(b'{"login": "torvalds", "bio": "x"}', content_type="text/plain")
    )
    request = failed(
        context, fetch(url, {"biography": "$.biography"}), TASK.format(url, "biography")
    )
    assert fixed(context, request).workflow["nodes"][0]["params"]["extract"] == {
        "biography": "$.bio"
    }


def test_what_is_not_there_is_not_made_up(context: PlannerContext, users: str) -> None:
    wrong = fetch(users, {"biography": "$.biography", "shoe_size": "$.shoe_size"})
    request = failed(context, wrong, TASK.format(users, "biography and shoe size"))
    answer = ask(request)
    assert isinstance(answer, NoFix)
    (doubt,) = answer.doubts
    assert (doubt.node_id, doubt.attempted) == ("fetch", "$.shoe_size")
    assert all(candidate.confidence < 0.6 for candidate in doubt.candidates)
    assert "$.shoe_size" in answer.reason
    # What it is sure of is reported; what is known to fail again is not run.
    assert "$.biography → $.bio" in answer.reason
    assert "RUNTRUE_MODEL" in answer.reason


def test_two_names_do_not_get_one_path(context: PlannerContext, api: Api) -> None:
    url = api.on("GET /users/ann", {"login": "ann", "id": 7})
    wrong = fetch(url, {"username": "$.username", "login_name": "$.login_name"})
    answer = ask(failed(context, wrong, TASK.format(url, "username and login name")))
    assert isinstance(answer, NoFix)
    assert len(answer.doubts) == 1
    assert "$.login" in [candidate.text for candidate in answer.doubts[0].candidates]


def test_a_path_that_is_extracted_already_is_not_given_to_another_name(
    context: PlannerContext, api: Api
) -> None:
    url = api.on("GET /users/ann", {"login": "ann", "id": 7})
    wrong = fetch(url, {"login": "$.login", "username": "$.username"})
    answer = ask(failed(context, wrong, TASK.format(url, "login and username")))
    assert isinstance(answer, NoFix)


def test_one_guess_under_two_names_is_one_path(context: PlannerContext, users: str) -> None:
    wrong = fetch(users, {"biography": "$.biography", "about": "$.biography"})
    request = failed(context, wrong, TASK.format(users, "biography"))
    extract = fixed(context, request).workflow["nodes"][0]["params"]["extract"]
    assert extract == {"biography": "$.bio", "about": "$.bio"}


def test_an_item_of_a_batch_is_fixed_by_what_it_was_answered(
    context: PlannerContext, api: Api
) -> None:
    for name in ("ann", "ben"):
        api.on(f"GET /users/{name}", {**TORVALDS, "login": name})
    wrong = fetch(api.url("/users/${item}"), {"biography": "$.biography"})
    wrong["nodes"][0]["batch"] = {"items": ["ann", "ben"]}
    for handling in ("fail_fast", "continue"):
        wrong["nodes"][0]["batch"]["error_handling"] = handling
        request = failed(context, wrong, "the biography of ann and ben")
        proposal = fixed(context, request)
        assert lines(request, proposal) == ["fetch: extract.biography  $.biography → $.bio"]


def test_samples_of_candidates_are_short_and_hold_no_secret(
    context: PlannerContext, api: Api
) -> None:
    url = api.on("GET /me", {"access_token": "s3cret", "note": "x" * 500, "colour": {"a": 1}})
    answer = ask(failed(context, fetch(url, {"weight": "$.weight"}), "the weight"))
    assert isinstance(answer, NoFix)
    samples = {one.text: one.sample for one in answer.doubts[0].candidates}
    assert samples
    assert all(len(sample) <= 60 for sample in samples.values())
    assert "s3cret" not in str(samples)


@pytest.mark.parametrize(
    ("wanted", "others", "intent"),
    [
        ("username", ["bio"], "get username and , please"),
        ("bio", ["username"], "get and bio, please"),
        ("user", ["username", "bio"], "get and , please"),
        ("name", ["user_name"], "get and bio, please"),
        ("bio", [], "get username and bio, please"),
        ("bio", ["", "Bio", "BIO"], "get username and bio, please"),
    ],
)
def test_what_else_is_wanted_does_not_speak_for_a_field(
    wanted: str, others: list[str], intent: str
) -> None:
    assert Intents("get  username and bio, please", [wanted, *others]).of(wanted) == intent


def test_a_longer_name_is_not_taken_apart() -> None:
    task = "the display name and the Name"
    intents = Intents(task, ["display_name", "name"])
    assert intents.of("display_name") == "the display name and the"
    assert intents.of("name") == "the display name and the Name"


def test_of_very_many_that_were_missed_only_some_are_looked_for() -> None:
    names = [f"field{n}" for n in range(400)]
    missing = [{"name": name, "path": f"$.{name}"} for name in names]
    request = FixRequest(
        task=f"fetch http://h/x and extract {', '.join(names)}",
        workflow=fetch("http://h/x", {one["name"]: one["path"] for one in missing}),
        params={},
        findings=(_finding("missing_extract_path", data={"missing": missing}),),
        store={"fetch": {"response": {f"other_{n}": n for n in range(20)}}},
    )
    answer = ask(request)
    assert isinstance(answer, NoFix)
    assert [bool(doubt.candidates) for doubt in answer.doubts] == [True] * 50 + [False] * 350


# -- memory -------------------------------------------------------------------------------------


@pytest.fixture
def memory(tmp_path: Path) -> Any:
    with Memory(tmp_path / "memory") as memory:
        yield memory


def test_memory_comes_before_any_guess(context: PlannerContext, users: str, memory: Memory) -> None:
    memory.remember(scope_of("GET", users), "username", "$.name", fixer="fields")
    request = failed(context, fetch(users, {"username": "$.username"}), "the username")
    proposal = fixed(context, request, memory)
    assert proposal.fixer == "memory"
    assert lines(request, proposal) == ["fetch: extract.username  $.username → $.name"]


def test_a_remembered_path_that_leads_nowhere_is_passed_over(
    context: PlannerContext, users: str, memory: Memory
) -> None:
    memory.remember(scope_of("GET", users), "biography", "$.gone", fixer="fields")
    for guess in ("$.biography", "$.gone"):
        request = failed(context, fetch(users, {"biography": guess}), "the biography")
        proposal = fixed(context, request, memory)
        assert proposal.fixer == "fields"
        assert lines(request, proposal) == [f"fetch: extract.biography  {guess} → $.bio"]


def test_what_another_operation_has_taught_is_not_used(
    context: PlannerContext, users: str, memory: Memory
) -> None:
    memory.remember(scope_of("POST", users), "biography", "$.name", fixer="fields")
    request = failed(context, fetch(users, {"biography": "$.biography"}), "the biography")
    assert lines(request, fixed(context, request, memory)) == [
        "fetch: extract.biography  $.biography → $.bio"
    ]


def test_a_repair_that_is_partly_remembered_is_not_called_memory(
    context: PlannerContext, users: str, memory: Memory
) -> None:
    memory.remember(scope_of("GET", users), "username", "$.login", fixer="fields")
    wrong = fetch(users, {"username": "$.username", "biography": "$.biography"})
    request = failed(context, wrong, TASK.format(users, "username and biography"))
    assert fixed(context, request, memory).fixer == "fields"


# -- references ---------------------------------------------------------------------------------


def test_a_reference_is_fixed_wherever_it_stands(
    context: PlannerContext, users: str, tmp_path: Path
) -> None:
    wrong = fetch(users)
    wrong["nodes"] += [
        {
            "id": "save",
            "type": "write-file",
            "params": {
                "file_path": str(tmp_path / "out.txt"),
                "content": "$${fetch.response.biography}: ${ fetch.response.biography }, "
                "${fetch.response['biography']} of ${fetch.response.id}",
            },
        },
        {
            "id": "echo",
            "type": "shell",
            "params": {"command": "cat", "stdin": "${fetch.response.biography}"},
        },
    ]
    wrong["outputs"] = {
        "who": {"source": "fetch.response.biography"},
        "text": {"source": "<${fetch.response.biography}>"},
    }
    request = failed(context, wrong, "the biography of torvalds")
    proposal = fixed(context, request)
    save, echo = proposal.workflow["nodes"][1:]
    assert save["params"]["content"] == (
        "$${fetch.response.biography}: ${ fetch.response.bio }, "
        "${fetch.response.bio} of ${fetch.response.id}"
    )
    assert echo["params"]["stdin"] == "${fetch.response.bio}"
    assert proposal.workflow["outputs"] == {
        "who": {"source": "fetch.response.bio"},
        "text": {"source": "<${fetch.response.bio}>"},
    }


def test_a_reference_of_an_output_alone_is_fixed(context: PlannerContext, users: str) -> None:
    wrong = {**fetch(users), "outputs": {"who": {"source": "${fetch.response.user.biography}"}}}
    request = failed(context, wrong, "the biography of torvalds")
    assert fixed(context, request).doubts == ()
    assert lines(request, fixed(context, request)) == [
        "outputs.who.source  ${fetch.response.user.biography} → ${fetch.response.bio}"
    ]


def test_what_was_extracted_is_referred_to_by_its_name(context: PlannerContext, users: str) -> None:
    wrong = fetch(users, {"user_name": "$.login", "id": "$.id"})
    wrong["outputs"] = {"who": {"source": "${fetch.extracted.username}"}}
    request = failed(context, wrong, "the username of torvalds")
    assert lines(request, fixed(context, request)) == [
        "outputs.who.source  ${fetch.extracted.username} → ${fetch.extracted.user_name}"
    ]


def test_text_that_holds_json_is_referred_into(context: PlannerContext) -> None:
    wrong = {
        "nodes": [
            {
                "id": "run",
                "type": "shell",
                "params": {"command": """echo '{"login": "ann", "bio": "x"}'"""},
            },
            {
                "id": "use",
                "type": "shell",
                "params": {"command": "cat", "stdin": "${run.stdout.biography}"},
            },
        ]
    }
    request = failed(context, wrong, "print the biography")
    assert lines(request, fixed(context, request)) == [
        "use: stdin  ${run.stdout.biography} → ${run.stdout.bio}"
    ]


def test_the_item_of_a_batch_is_referred_into(context: PlannerContext, api: Api) -> None:
    url = api.on("GET /users", [TORVALDS, {**TORVALDS, "login": "ann"}])
    params = {"command": "cat", "stdin": "${item.biography}"}
    other = {
        "id": "other",
        "type": "shell",
        "params": params,
        "batch": {"items": [{"biography": 1}]},
    }
    each = {
        "id": "each",
        "type": "shell",
        "params": params,
        "batch": {"items": "${fetch.response}"},
    }
    wrong = fetch(url)
    wrong["nodes"] += [other, each]
    request = failed(context, wrong, "print the biography of each user")
    # What is called the same in another batch is something else.
    assert lines(request, fixed(context, request)) == [
        "each: stdin  ${item.biography} → ${item.bio}"
    ]


def test_a_reference_is_found_in_every_place_that_may_hold_one_and_in_no_other() -> None:
    old, new = "${a.b}", "${a.c[0]}"
    workflow = {
        "nodes": [
            {"id": "n", "type": "x", "params": {"list": [old, {"deep": old}], old: "$${a.b}"}},
            {"id": "m", "type": "x", "batch": {"items": [old, 1, "${a[${a.b}]}"]}},
            {"id": "o", "type": "workflow", "params": {"workflow_ir": old, "params": old}},
            {"id": "p", "type": "x", "params": {"bad": "${a.b} ${", "deeper": "${a.b.c}"}},
        ],
        "outputs": {"x": {"source": "a.b"}, "y": {"source": old}, "z": {}},
    }
    assert redirect(workflow, "a.b", "a.c[0]") == 7
    assert workflow == {
        "nodes": [
            {"id": "n", "type": "x", "params": {"list": [new, {"deep": new}], old: "$${a.b}"}},
            {"id": "m", "type": "x", "batch": {"items": [new, 1, "${a[${a.c[0]}]}"]}},
            {"id": "o", "type": "workflow", "params": {"workflow_ir": old, "params": new}},
            {"id": "p", "type": "x", "params": {"bad": "${a.b} ${", "deeper": "${a.b.c}"}},
        ],
        "outputs": {"x": {"source": "a.c[0]"}, "y": {"source": new}, "z": {}},
    }


def test_a_remembered_path_is_also_known_to_references(
    context: PlannerContext, users: str, memory: Memory
) -> None:
    memory.remember(scope_of("GET", users), "username", "$.name", fixer="fields")
    wrong = {**fetch(users), "outputs": {"who": {"source": "${fetch.response.username}"}}}
    request = failed(context, wrong, "the username")
    proposal = fixed(context, request, memory)
    assert (proposal.fixer, proposal.workflow["outputs"]["who"]["source"]) == (
        "memory",
        "${fetch.response.name}",
    )


def test_a_doubtful_reference_tells_what_it_could_be(context: PlannerContext, users: str) -> None:
    wrong = {**fetch(users), "outputs": {"x": {"source": "${fetch.response.shoe_size}"}}}
    answer = ask(failed(context, wrong, "the shoe size of torvalds"))
    assert isinstance(answer, NoFix)
    (doubt,) = answer.doubts
    assert doubt.attempted == "${fetch.response.shoe_size}"
    assert all(one.text.startswith("fetch.response") for one in doubt.candidates)


# -- what cannot be fixed ----------------------------------------------------------------------


def _finding(category: str, fault: Fault = Fault.CANDIDATE, **more: Any) -> Finding:
    return Finding(
        source="http",
        category=category,
        message="it failed",
        fault=fault,
        location=Location(symbol="fetch"),
        **more,
    )


@pytest.mark.parametrize(
    "finding",
    [
        _finding("something_new"),
        _finding("output_mismatch"),
        _finding("missing_extract_path"),
        _finding("missing_extract_path", data={"missing": [{"name": "a", "path": "$.b"}]}),
        _finding("missing_template_path"),
        _finding("missing_template_path", attempted=("${nobody.x}",)),
        _finding("missing_template_path", attempted=("${fetch.a[${fetch.b}]}",)),
        _finding("missing_template_path", attempted=("${",)),
        _finding("missing_template_path", attempted=("text",)),
        _finding("argument_mismatch"),
        _finding("argument_mismatch", data={"fields": ["title"]}),
        _finding("tool_error"),
        replace(_finding("missing_extract_path"), location=Location(symbol="outer.inner")),
        replace(_finding("missing_extract_path"), location=Location()),
    ],
)
def test_what_gives_nothing_to_go_by_is_said_to_need_a_model(finding: Finding) -> None:
    request = FixRequest(
        task="x", workflow=fetch("http://x"), params={}, findings=(finding,), store={"fetch": {}}
    )
    answer = ask(request)
    assert isinstance(answer, NoFix)
    assert "cannot fix" in answer.reason
    assert "RUNTRUE_MODEL" in answer.reason


def test_what_is_not_the_workflows_fault_is_left_alone(context: PlannerContext, users: str) -> None:
    request = failed(context, fetch(users, {"biography": "$.biography"}), "the biography")
    request = replace(request, findings=(_finding("auth", Fault.CREDENTIALS), *request.findings))
    assert fixed(context, request).doubts == ()


def test_what_it_is_helpless_at_is_left_to_the_next_run(
    context: PlannerContext, users: str
) -> None:
    request = failed(context, fetch(users, {"biography": "$.biography"}), "the biography")
    helpless = (_finding("something_new", attempted=("it",)), _finding("something_else"))
    request = replace(request, findings=(*request.findings, *helpless))
    (doubt,) = fixed(context, request).doubts
    assert (doubt.node_id, doubt.attempted) == ("fetch", "it")


def test_a_repair_that_was_refused_is_not_proposed_again(
    context: PlannerContext, users: str
) -> None:
    request = failed(context, fetch(users, {"biography": "$.biography"}), "the biography")
    answer = ask(replace(request, rejected=("it has failed before",)))
    assert isinstance(answer, NoFix)
    assert "it has failed before" in answer.reason


# -- lists --------------------------------------------------------------------------------------

SHOP = {"products": [{"title": "Tea", "unit_price": 3}, {"title": "Pot", "unit_price": 20}]}


def test_a_path_for_every_entry_is_fixed_for_every_entry(context: PlannerContext, api: Api) -> None:
    url = api.on("GET /products", SHOP)
    workflow = fetch(url, {"titles": "$.products[*].name", "prices": "$.products[*].price"})
    request = failed(context, workflow, f"fetch {url} and extract title and price of each product")
    proposal = fixed(context, request)
    assert lines(request, proposal) == [
        "fetch: extract.titles  $.products[*].name → $.products[*].title",
        "fetch: extract.prices  $.products[*].price → $.products[*].unit_price",
    ]


def test_the_field_of_a_list_node_is_fixed(context: PlannerContext, api: Api) -> None:
    url = api.on("GET /products", SHOP)
    items = {"items": "${fetch.response.products}"}
    workflow = {
        **fetch(url, {}),
        "nodes": [
            {"id": "fetch", "type": "http", "params": {"url": url}},
            {"id": "order", "type": "sort", "params": {**items, "by": "price"}},
        ],
        "outputs": {"first": {"source": "${order.items[0].title}"}},
    }
    request = failed(context, workflow, f"the cheapest product by unit price of {url}")
    assert lines(request, fixed(context, request)) == ["order: by  price → $.unit_price"]
