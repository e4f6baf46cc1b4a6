"""What people do in a real Chromium, from the question to the files that it changes."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.cli.conftest import Machine, MakeProject, make_project, write
from tests.cli.test_apply_hunks import AGENT, TWO_BUGS
from tests.planner.api import Api, api_fixture
from tests.web.browser import (
    PATIENCE,
    demand_calm,
    go,
    is_installed,
    served,
    visit,
)
from tests.web.test_browser import state_of

__all__ = ["api_fixture", "make_project"]

pytestmark = pytest.mark.skipif(
    not is_installed(), reason="there is no chromium: run scripts/setup-browser"
)

MADE = {"data": {"login": "octo", "blurb": "eight arms", "nr": 17, "code": "AB"}}


@pytest.fixture
def doubtful(machine: Machine, api: Api) -> Api:
    """A task that waits for a person to say which field is meant."""
    url = api.on("POST /users", MADE, status=201)
    task = f"POST name=octo to {url} and extract username and ranking"
    assert machine.runtrue("do", task, "--json").code == 3
    return api


def test_a_doubtful_field_is_chosen_by_its_value(
    chromium: Browser, machine: Machine, doubtful: Api
) -> None:
    with served(machine) as address:
        page = visit(chromium, address)
        item = page.locator("article.item")
        expect(item).to_contain_text("Which value is ranking?")
        expect(item).to_contain_text("username is sure: octo")
        expect(item.locator("label.candidate", has_text="$.data.nr")).to_contain_text("17")
        item.locator("label.candidate", has_text="$.data.nr").locator("input").check()
        item.get_by_role("button", name="Use these values").click()
        state_of(page, "Passed")
        expect(page.locator("#result")).to_contain_text('"ranking": 17')
        demand_calm(page)
    assert doubtful.count("POST /users") == 1


def test_a_path_that_leads_nowhere_is_asked_again_and_typed(
    chromium: Browser, machine: Machine, doubtful: Api
) -> None:
    with served(machine) as address:
        page = visit(chromium, address)
        page.get_by_label("Another path for ranking").fill("$.data.zip")
        page.get_by_role("button", name="Use these values").click()
        expect(page.locator("#question")).to_contain_text("$.data.zip is not in the response")
        page.get_by_label("Another path for ranking").fill("data.code")
        page.get_by_role("button", name="Use these values").click()
        state_of(page, "Passed")
        expect(page.locator("#result")).to_contain_text('"ranking": "AB"')


def test_of_two_browsers_one_wins_and_the_other_sees_who(
    chromium: Browser, machine: Machine, doubtful: Api
) -> None:
    with served(machine) as address:
        first, second = visit(chromium, address), visit(chromium, address, js=False)
        first.get_by_role("button", name="None of them").click()
        state_of(first, "Failed")
        # The second one still shows the question, as a page without script does.
        second.get_by_label("Another path for ranking").fill("data.code")
        second.get_by_role("button", name="Use these values").click()
        expect(second.locator("h1")).to_have_text("Already answered")
        expect(second.locator("main")).to_contain_text("(browser 1)")
        expect(second.locator("main")).to_contain_text("Your answer was not used.")


def test_some_changes_of_a_fix_are_proven_again_and_applied(
    chromium: Browser, machine: Machine, make_project: MakeProject
) -> None:
    project = make_project(TWO_BUGS)
    run_id = machine.runtrue("fix", project, "--agent", AGENT, "--json").json["run_id"]
    with served(machine) as address:
        page = visit(chromium, address)
        go(page, f"/runs/{run_id}")
        expect(page.locator("tr.test.turned")).to_have_count(2)
        expect(page.locator(".origin").first).to_contain_text("turned 1 test green")
        page.get_by_label("Change 1", exact=True).uncheck()
        page.get_by_role("button", name="Apply the checked changes").click()
        expect(page.locator("#head .chip.good")).to_have_text("applied in part", timeout=PATIENCE)
        demand_calm(page)
    text = (project / "shop.py").read_text()
    assert ("items[0]" in text, "+ 1" in text) == (True, True)


@pytest.fixture
def weather(machine: Machine, api: Api) -> str:
    url = api.on("GET /users/octo", MADE)
    write(
        machine.home,
        {
            "octo.yaml": f"""
                nodes:
                  - {{id: fetch, type: http, params: {{url: "{url}"}}}}
                outputs:
                  name: {{source: "${{fetch.response.data.login}}"}}
            """
        },
    )
    assert machine.runtrue("workflow", "save", "octo.yaml").code == 0
    done = machine.runtrue("run", "octo", "--json")
    assert done.code == 0, done.said
    return str(done.json["run_id"])


def test_a_click_on_a_field_gives_its_path_and_the_editor_checks_by_itself(
    chromium: Browser, machine: Machine, weather: str
) -> None:
    with served(machine) as address:
        page = visit(chromium, address)
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        go(page, f"/runs/{weather}#node-fetch")
        # The link to a node opens it.
        page.get_by_role("button", name="Copy ${fetch.response.data.nr}").click()
        expect(page.locator(".as-path.used")).to_have_count(1)
        assert page.evaluate("navigator.clipboard.readText()") == "${fetch.response.data.nr}"
        go(page, "/workflows/octo/edit")
        _choose(page, "login}")
        page.locator(".tree button", has_text="blurb").first.click()
        assert "${fetch.response.data.blurb}" in page.locator("#yaml").input_value()
        expect(page.locator("#checked .notice.good")).to_have_text("Valid.")
        expect(page.locator("#checked .diff ins").first).to_be_visible()
        page.locator("#yaml").fill("nodes: [")
        expect(page.locator("#checked .notice.bad")).to_be_visible()
        demand_calm(page)


def _choose(page: Page, end: str) -> None:
    """Select the reference that ends so, as a person with a mouse does."""
    page.locator("#yaml").evaluate(
        "(field, end) => { const to = field.value.indexOf(end) + end.length;"
        "field.setSelectionRange(field.value.lastIndexOf('${', to), to); }",
        end,
    )
