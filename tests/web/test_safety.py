"""What a real Chromium refuses, keeps and loads: other sites, tokens, scripts, weight."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, expect

from runtrue.flow import Journal, RunState
from tests.cli.conftest import Machine
from tests.web.browser import (
    PATIENCE,
    demand_calm,
    go,
    is_installed,
    served,
    started_browser,
    visit,
)
from tests.web.site import passed, waiting
from tests.workflow.nodes.scripted_server import ScriptedServer, response

pytestmark = pytest.mark.skipif(
    not is_installed(), reason="there is no chromium: run scripts/setup-browser"
)

#: What one page may weigh at its first load, and all of it in the wheel.
LIGHT, WHEEL = 400_000, 1_500_000


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with started_browser("--host-resolver-rules=MAP evil.example 127.0.0.1") as browser:
        yield browser


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    machine = Machine(tmp_path, search=False)
    machine.journal.parent.mkdir(mode=0o700)
    return machine


def test_another_site_can_neither_answer_nor_read_nor_frame(
    chromium: Browser, machine: Machine
) -> None:
    with Journal(machine.journal) as journal:
        run_id = waiting(journal, {"apply": True, "diff": ""})
    with served(machine) as address:
        own = "/".join(address.split("/")[:3])
        page = visit(chromium, address)
        # Another name that leads here, as DNS rebinding makes one.
        rebound = page.goto(f"http://evil.example:{urlsplit(own).port}/")
        assert rebound is not None
        assert rebound.status == 421
        assert "shipping" not in page.content()
        hostile = f"""
            <form id=f method=post action="{own}/runs/{run_id}/answer">
            <input name=seq value=0><input name=choice value=yes></form>
            <iframe src="{own}/"></iframe>
        """
        with ScriptedServer(response(hostile, "Content-Type: text/html")) as site:
            page.goto(f"http://evil.example:{site.port}/")
            said = page.evaluate(
                "u => fetch(u, {credentials: 'include'}).then(() => 'read', () => 'refused')", own
            )
            assert said == "refused"
            assert page.frame_locator("iframe").locator("nav").count() == 0
            with page.expect_navigation() as sent:
                page.evaluate("document.getElementById('f').submit()")
            answer = sent.value
            assert answer is not None
            assert answer.status == 403
    with Journal(machine.journal) as journal:
        assert journal.find(run_id).state is RunState.WAITING


def test_the_token_is_in_no_request_but_the_first(chromium: Browser, machine: Machine) -> None:
    with Journal(machine.journal) as journal:
        run_id = passed(journal)
    with served(machine) as address:
        token = address.partition("token=")[2]
        context = chromium.new_context()
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        heard: list[str] = []
        page.on("request", lambda one: heard.append(f"{one.url} {one.all_headers()}"))
        page.goto(address)
        page.goto(f"{address.partition('/login')[0]}/runs")
        page.locator("td.tt a").click()
        expect(page.locator("#head")).to_contain_text(run_id)
        # The request itself, and the one that it was redirected to.
        assert [n for n, one in enumerate(heard) if token in one] == [0]
        assert token not in page.url
        assert token not in page.content()
        context.close()


def test_a_first_load_and_the_package_are_light(chromium: Browser, machine: Machine) -> None:
    with Journal(machine.journal) as journal:
        run_id = passed(journal)
    with served(machine) as address:
        page = visit(chromium, address)
        sizes: dict[str, int] = {}
        page.on("response", lambda one: sizes.update({one.url: len(one.body())}))
        go(page, f"/runs/{run_id}")
        page.wait_for_function("document.fonts.status === 'loaded'")
        assert 10_000 < sum(sizes.values()) <= LIGHT, sizes
    package = Path(__file__).parent.parent.parent / "src/runtrue/web"
    files = [path for path in package.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    assert sum(path.stat().st_size for path in files) <= WHEEL


def test_a_question_is_answered_with_the_keyboard_alone(
    chromium: Browser, machine: Machine
) -> None:
    with Journal(machine.journal) as journal:
        run_id = waiting(journal, {"apply": True, "diff": ""})
    with served(machine) as address:
        page = visit(chromium, address)
        page.keyboard.press("Tab")
        expect(page.locator(".skip")).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.locator("#main")).to_be_focused()
        reject = page.get_by_role("button", name="Reject")
        for _ in range(20):
            page.keyboard.press("Tab")
            if reject.evaluate("one => one === document.activeElement"):
                break
        # What the answer does is read with the button.
        assert "wrong" in reject.evaluate(
            "one => document.getElementById(one.getAttribute('aria-describedby')).textContent"
        )
        page.keyboard.press("Enter")
        page.wait_for_url(f"**/runs/{run_id}")
        demand_calm(page)


def test_times_are_in_the_zone_of_the_reader(chromium: Browser, machine: Machine) -> None:
    with Journal(machine.journal) as journal:
        run_id = passed(journal)
    with served(machine) as address:
        shown = []
        for zone in ("Asia/Tokyo", "America/New_York"):
            context = chromium.new_context(timezone_id=zone, locale="en-GB")
            context.set_default_timeout(PATIENCE)
            page = context.new_page()
            page.goto(address)
            go(page, f"/runs/{run_id}")
            clock = page.locator("#numbers time").first
            expect(clock).to_contain_text(":")
            shown.append(clock.inner_text().split()[-1].partition(":")[0])
            context.close()
    assert (int(shown[0]) - int(shown[1])) % 24 in (13, 14)
