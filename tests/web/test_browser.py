"""The pages in a real Chromium, with runs that the real command line makes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.cli.conftest import Machine, MakeProject, make_project, write
from tests.cli.plans import FILES, HAS_TWO, Plans
from tests.cli.test_ask_by_example import SHIPPING
from tests.cli.test_plan_people import step
from tests.conftest import npm_servers
from tests.planner.api import Api, api_fixture
from tests.web.browser import (
    PATIENCE,
    demand_calm,
    go,
    is_installed,
    served,
    visit,
)
from tests.web.every_page import OPEN_ALL, fill, record_runs

__all__ = ["api_fixture", "make_project", "npm_servers"]

pytestmark = pytest.mark.skipif(
    not is_installed(), reason="there is no chromium: run scripts/setup-browser"
)

AXE = Path(__file__).parent.parent / "servers/node_modules/axe-core/axe.min.js"

BROKEN = {
    "shop.py": "def total(prices):\n    return sum(prices) + 1\n",
    "test_shop.py": """
        from shop import total


        def test_total():
            assert total([1, 2]) == 3


        def test_nothing_costs_nothing():
            assert total([]) == 0
    """,
}


def state_of(page: Page, word: str) -> None:
    expect(page.locator("#head .state")).to_have_text(word, timeout=PATIENCE)


def test_a_fix_is_watched_from_red_to_green(
    chromium: Browser, machine: Machine, make_project: MakeProject, tmp_path: Path
) -> None:
    project = make_project(BROKEN)
    gate = tmp_path / "go"
    # The agent waits, so that there is a time at which everything is red.
    script = f"while [ ! -e {gate} ]; do sleep 0.05; done; sed -i 's/ + 1//' shop.py"
    (tmp_path / "agent.sh").write_text(script)
    with served(machine) as address:
        page = visit(chromium, address)
        go(page, "/runs")
        expect(page.locator("#list")).to_contain_text("No runs yet")
        agent = f"sh {tmp_path / 'agent.sh'}"
        argv = machine.argv("fix", project, "--agent", agent, "--json")
        fix = subprocess.Popen(
            argv, env=machine.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            page.locator("td.tt a").click()
            state_of(page, "Running")
            expect(page.locator("tr.test .cell.failed")).to_have_count(2)
            gate.touch()
            state_of(page, "Passed")
            expect(page.locator("tr.test.turned")).to_have_count(2)
            expect(page.locator("tr.test.turned .cell.passed")).to_have_count(2)
            expect(page.locator(".diff .changed .new")).to_contain_text("return sum(prices)")
            assert fix.wait(120) == 0
        finally:
            gate.touch()
            fix.wait(120)
        page.get_by_role("button", name="Apply to my files").click()
        expect(page.locator("#head .chip.good")).to_have_text("applied", timeout=PATIENCE)
        demand_calm(page)
    assert "+ 1" not in (project / "shop.py").read_text()


def test_a_fix_that_is_not_sure_is_chosen_in_the_inbox_and_applied(
    chromium: Browser, tmp_path: Path, make_project: MakeProject
) -> None:
    machine = Machine(tmp_path)
    project = make_project(SHIPPING)
    assert machine.runtrue("fix", project, "--json").code == 3
    with served(machine) as address:
        page, other = visit(chromium, address), visit(chromium, address)
        item = page.locator("article.item")
        expect(item).to_contain_text("Is this fix right?")
        expect(item.locator(".examples")).to_contain_text("shipping(")
        item.get_by_role("button", name="Apply exactly this").click()
        # The other page hears of it; tests/web/test_answers.py proves what a late answer gets.
        expect(other.get_by_role("button", name="Reject")).to_have_count(0, timeout=PATIENCE)
        state_of(page, "Passed")
        expect(page.locator("#head .chip.good")).to_have_text("applied", timeout=PATIENCE)
        demand_calm(page)
    assert ">= 50" in (project / "shipping.py").read_text()


def test_a_plan_is_executed_answered_and_applied_from_the_inbox(
    chromium: Browser, machine: Machine, make_project: MakeProject
) -> None:
    plans = Plans(machine, make_project(FILES))
    strategy = step(plans.script("echo two > handler.py"), network=True)
    file = plans.file("", HAS_TWO, strategy=strategy)
    made = plans.use(file)
    assert made.code == 0, made.said
    with served(machine, cwd=plans.project) as address:
        page = visit(chromium, address)
        # A plan that has not begun has a page too.
        go(page, f"/runs/{made.json['run_id']}")
        expect(page.locator(".steps .pending")).to_have_count(1)
        go(page, "/")
        page.get_by_role("button", name="Execute").click()
        approve = page.get_by_role("button", name="Approve exactly this")
        expect(approve).to_be_visible(timeout=PATIENCE)
        go(page, "/")
        expect(page.locator("article.item")).to_contain_text("it needs the network")
        approve.click()
        apply = page.get_by_role("button", name="Apply to my files")
        expect(apply).to_be_visible(timeout=PATIENCE)
        expect(page.locator(".steps .done")).to_have_count(1)
        assert (plans.project / "handler.py").read_text() == FILES["handler.py"]
        apply.click()
        expect(page.locator("#head .chip.good")).to_have_text("applied", timeout=PATIENCE)
        demand_calm(page)
    assert (plans.project / "handler.py").read_text() == "two\n"


def test_a_workflow_is_edited_checked_run_and_taken_back(
    chromium: Browser, machine: Machine
) -> None:
    write(
        machine.home,
        {
            "hello.yaml": """
        inputs:
          name: {type: string, default: Ada}
        nodes:
          - {id: say, type: shell, params: {command: "echo hello '${name}'"}}
        outputs:
          said: {source: "${say.stdout}"}
    """
        },
    )
    assert machine.runtrue("save", "hello.yaml").code == 0
    with served(machine) as address:
        page = visit(chromium, address)
        go(page, "/workflows/hello/edit")
        editor = page.locator("#yaml")
        good = editor.input_value()
        editor.fill(good.replace("type: shell", "type: shel"))
        page.get_by_role("button", name="Check").click()
        expect(page.locator(".notice.bad")).to_contain_text("shell")
        page.locator("#yaml").fill(good.replace("echo hello", "echo goodbye"))
        page.get_by_role("button", name="Check").click()
        expect(page.locator(".notice.good")).to_have_text("Valid.")
        expect(page.locator(".diff ins").first).to_have_text("goodbye")
        page.get_by_role("button", name="Save").click()
        expect(page.locator(".versions li")).to_have_count(2)
        page.locator("#in-name").fill("Grace")
        page.get_by_role("button", name="Run", exact=True).click()
        state_of(page, "Passed")
        expect(page.locator("#result")).to_contain_text("goodbye Grace")
        go(page, "/workflows/hello")
        page.get_by_role("button", name="Restore version 1").click()
        expect(page.locator(".versions li")).to_have_count(3)
        demand_calm(page)
    assert "echo hello" in machine.runtrue("workflow", "export", "hello").out


def test_a_workflow_is_scheduled_paused_and_left_alone_again(
    chromium: Browser, machine: Machine
) -> None:
    write(
        machine.home,
        {
            "hello.yaml": """
        inputs:
          name: {type: string}
        nodes:
          - {id: say, type: shell, params: {command: "echo hello '${name}'"}}
    """
        },
    )
    assert machine.runtrue("save", "hello.yaml").code == 0
    with served(machine) as address:
        page = visit(chromium, address)

        def add(cron: str) -> None:
            go(page, "/workflows/hello")
            page.locator("summary", has_text="Add a schedule").click()
            page.locator("#cron").fill(cron)
            page.locator("#at-name").fill("Grace")
            page.get_by_role("button", name="Add schedule").click()

        add("each morning")
        expect(page.locator("main")).to_contain_text("is not a cron expression")
        add("0 7 * * 1-5")
        row = page.locator("#schedule li")
        expect(row).to_contain_text("0 7 * * 1-5")
        expect(row).to_contain_text("next")
        (made,) = machine.runtrue("schedule", "list", "--json").json["schedules"]
        assert (made["name"], made["workflow"], made["paused"]) == ("hello", "hello", False)
        page.get_by_role("button", name="Pause schedule hello").click()
        expect(row).to_contain_text("paused")
        page.get_by_role("button", name="Remove schedule hello").click()
        expect(row).to_have_count(0)
        demand_calm(page)
    assert machine.runtrue("schedule", "list", "--json").json["schedules"] == []


def test_hostile_content_runs_nowhere(chromium: Browser, machine: Machine) -> None:
    run_id = record_runs(machine)
    said: list[str] = []
    with served(machine) as address:
        page = visit(chromium, address)
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        for path in ("/", "/runs", f"/runs/{run_id}", f"/runs/{run_id}/events", "/memory"):
            go(page, path)
            for element in page.locator("summary").all():
                element.click()
            demand_calm(page)
            assert page.locator("img, iframe").count() == 0
    assert said == []


def test_no_page_has_a_serious_barrier_or_is_wider_than_a_phone(
    chromium: Browser, machine: Machine, make_project: MakeProject, api: Api, npm_servers: None
) -> None:
    paths = fill(machine, make_project, api)
    exported = machine.home / "run.html"
    fix = next(path for path in paths if path.startswith("/runs/")).rpartition("/")[2]
    assert machine.runtrue("runs", "show", fix, "--html", exported).code == 0
    with served(machine) as address:
        for theme, width in (("light", 360), ("dark", 360), ("light", 1280), ("dark", 2560)):
            page = visit(chromium, address.partition("?")[0], theme=theme, width=width)
            _demand_no_barrier(page, width)
            page.goto(address)
            for path in paths:
                go(page, path)
                page.evaluate(OPEN_ALL)
                _demand_no_barrier(page, width)
            page.goto(exported.as_uri())
            _demand_no_barrier(page, width)
            page.context.close()


def _demand_no_barrier(page: Page, width: int) -> None:
    page.evaluate(AXE.read_text())
    found = page.evaluate(
        "axe.run().then(r => r.violations"
        ".filter(v => ['serious', 'critical'].includes(v.impact))"
        ".map(v => [v.id, v.nodes.slice(0, 3).map(n => n.html)]))"
    )
    assert found == [], f"{page.url}, {width}"
    assert page.evaluate("document.documentElement.scrollWidth") <= width, page.url


def test_pages_can_be_read_without_script(chromium: Browser, machine: Machine) -> None:
    record_runs(machine)
    with served(machine) as address:
        page = visit(chromium, address, js=False)
        expect(page.locator("article.item")).to_have_count(2)
        go(page, "/runs?state=passed")
        page.locator("td.tt a").click()
        expect(page.locator("tr.test.turned")).to_have_count(1)
        expect(page.locator("#head time")).to_contain_text("just now")
