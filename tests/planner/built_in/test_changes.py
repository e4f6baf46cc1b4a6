"""Tasks that change something behind a URL: method, resource and body out of words."""

from __future__ import annotations

from typing import Any

import pytest

from tests.planner.built_in.support import Planner

T = "http://h/tickets"


@pytest.mark.parametrize(
    ("task", "method", "below", "body"),
    [
        (f'create a ticket at {T} with subject "A b" and priority high', "POST", "",
         {"subject": "A b", "priority": "high"}),
        (f"delete ticket 3 from {T}", "DELETE", "/3", None),
        (f"please remove the ticket 3 at {T}", "DELETE", "/3", None),
        (f"set the status of {T}/1 to closed", "PATCH", "", {"status": "closed"}),
        (f"change the status of ticket 7 at {T} to closed", "PATCH", "/7", {"status": "closed"}),
        (f"update {T}/2 with priority=low", "PATCH", "", {"priority": "low"}),
        (f"add a new ticket to {T} with count=2", "POST", "", {"count": 2}),
        (f"PATCH {T}/1 setting priority to high and urgent to false", "PATCH", "",
         {"priority": "high", "urgent": False}),
        (f"replace {T}/5 with {{\"a\": 1}}", "PUT", "", {"a": 1}),
        (f"open a new ticket at {T}: subject is 'Door stuck', priority is high", "POST", "",
         {"subject": "Door stuck", "priority": "high"}),
        (f'create a ticket in {T} titled "Slow search"', "POST", "", {"title": "Slow search"}),
        (f"add a ticket at {T} with count=2", "POST", "", {"count": 2}),
        (f"cancel ticket 12 at {T} (DELETE)", "DELETE", "/12", None),
        (f"register a ticket at {T}: link https://x.test/y, event push", "POST", "",
         {"link": "https://x.test/y", "event": "push"}),
    ],
)  # fmt: skip
def test_the_verb_says_the_method_and_the_words_the_body(
    planner: Planner, task: str, method: str, below: str, body: Any
) -> None:
    plan = planner.plan(task)
    (node,) = plan.workflow["nodes"]
    values = {f"${{{name}}}": value for name, value in plan.params.items()}
    url = node["params"]["url"]
    for reference, value in values.items():
        url = url.replace(reference, str(value))
    assert node["params"]["method"] == method
    assert url.removeprefix("http://h/tickets").rstrip("0123456789") in ("", "/")
    assert url.endswith(below)
    sent = node["params"].get("json")
    assert (sent and {key: values.get(one, one) if isinstance(one, str) else one
                      for key, one in sent.items()}) == body  # fmt: skip


@pytest.mark.parametrize(
    "task",
    [
        f"create a ticket at {T} with first name Ann",
        f'create a ticket saying "hello" at {T}',
        f"create a ticket at {T} with the subject VPN is down",
        f"delete ticket 3 from {T} with a smile",
    ],
)
def test_a_body_that_is_not_clear_is_refused(planner: Planner, task: str) -> None:
    planner.refusal(task)
