"""What runs wrote is text: no markup of it is obeyed, and nothing of it is hidden."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import msgspec
import pytest

from runtrue.flow import Journal, Owner, Question, RunState
from runtrue.loop import CheckFinished, Mode
from runtrue.plan import PlanReport
from runtrue.plan.report import PlanDetails
from runtrue.planner import TaskReport
from runtrue.web import write_run_page
from runtrue.web.looks import InboxItem
from runtrue.web.page import Pages
from runtrue.web.question import asked_question
from runtrue.web.run_state import standing_of_run
from runtrue.workflow import WorkflowReport
from runtrue.workflow.report import NodeReport
from tests.web.site import Site, claimed, code_report, passed, waiting

MARKUP = (
    "\"'><script>hit()</script><img src=x onerror=hit()><svg/onload=hit()>"
    "</textarea></style></title><a href='javascript:hit()'>{{ 7 * 7 }}${7*7}</a><!--"
)
HIDDEN = "a\x1b[31mred\u202edlrow\u2066\u200b\x00\x9b"
HOSTILE = MARKUP + HIDDEN

#: Elements that no template of ours has, or not with such attributes.
FOREIGN = {"img", "iframe", "object", "embed", "base", "link-x"}


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.bad: list[str] = []
        self.scripts = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag in FOREIGN or any(name.startswith("on") for name in given):
            self.bad.append(f"{tag} {given}")
        if "javascript:" in (given.get("href") or ""):
            self.bad.append(f"{tag} {given}")
        if tag == "script":
            self.scripts += 1
            if given.get("src") != "/static/live.js":
                self.bad.append(f"script {given}")


def _demand_harmless(text: str, *, scripts: int = 1) -> None:
    page = _Page()
    page.feed(text)
    assert page.bad == []
    assert page.scripts == scripts
    for char in "\x1b\u202e\u2066\u200b\x00\x9b":
        assert char not in text, f"{char!r} is hidden in the page"


def hostile_run(journal: Journal) -> str:
    claim = claimed(journal, title=HOSTILE)
    event = CheckFinished(
        number=1,
        check=HOSTILE,
        mode=Mode.REQUIRED,
        passed=False,
        findings=1,
        shown=(),
        cases=1,
        flaky=(),
        known=0,
        failed_cases=1,
        seconds=1.0,
    )
    journal.emit(claim, event)
    diff = f"--- a/{MARKUP}\n+++ b/{MARKUP}\n@@ -1 +1 @@ {HOSTILE}\n-{HOSTILE}\n+{HOSTILE}!\n"
    report = code_report(
        claim.run_id,
        HOSTILE,
        diff=diff,
        project=HOSTILE,
        sandbox=HOSTILE,
        why=HOSTILE,
        findings=code_report("x", HOSTILE).attempts[0].findings,
        status="failed",
    )
    journal.finish(claim, RunState.FAILED, report)
    return claim.run_id


def test_a_run_whose_every_field_is_hostile_is_shown_as_text(site: Site, journal: Journal) -> None:
    run_id = hostile_run(journal)
    client = site.browser()
    for path in ("/", "/runs", f"/runs/{run_id}", f"/runs/{run_id}/events"):
        text = client.get(path).text
        _demand_harmless(text)
    text = client.get(f"/runs/{run_id}").text
    assert "&lt;script&gt;hit()" in text
    assert "\\x1b[31mred\\u202edlrow\\u2066\\u200b\\x00\\x9b" in text


def test_a_hostile_question_is_shown_as_text(site: Site, journal: Journal) -> None:
    waiting(journal, {"why": HOSTILE, "findings": [{"message": HOSTILE}], "sandbox": HOSTILE})
    _demand_harmless(site.browser().get("/").text)


def test_a_hostile_filter_is_shown_as_text(site: Site, journal: Journal) -> None:
    passed(journal)
    for name in ("text", "kind", "project", "before", "state"):
        answer = site.browser().get("/runs", params={name: HOSTILE})
        assert answer.status_code in (200, 400)
        _demand_harmless(answer.text)


@pytest.mark.parametrize("path", [f"/runs/{MARKUP}", f"/workflows/{MARKUP}", f"/{MARKUP}"])
def test_a_hostile_address_is_shown_as_text(site: Site, journal: Journal, path: str) -> None:
    answer = site.browser().get(path)
    assert answer.status_code in (400, 404)
    _demand_harmless(answer.text)


def test_a_finding_reads_no_file_outside_of_the_project(
    site: Site, journal: Journal, tmp_path: Path
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (tmp_path / "outside.txt").write_text("one\nnever shown\nthree\n")
    (project / ".env").write_text("one\nnever shown\nthree\n")
    (project / "link.py").symlink_to(tmp_path / "outside.txt")
    (project / "shop.py").write_text("one\nshown here\nthree\n")
    for file in ("../outside.txt", str(tmp_path / "outside.txt"), "link.py", ".env", "shop.py"):
        findings = code_report("x", file).attempts[0].findings
        report = code_report("x", project=str(project), findings=findings, status="failed")
        text = site.browser().get(f"/runs/{passed(journal, report)}").text
        assert "never shown" not in text, file
        assert ("shown here" in text) is (file == "shop.py")


def test_the_patch_is_a_file_that_no_browser_opens(site: Site, journal: Journal) -> None:
    run_id = hostile_run(journal)
    answer = site.browser().get(f"/runs/{run_id}/patch")
    assert answer.headers["content-disposition"].startswith("attachment")
    assert answer.headers["content-type"].startswith("text/x-diff")
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_a_run_as_a_file_has_no_script_and_its_own_policy(
    site: Site, journal: Journal, tmp_path: Path
) -> None:
    run = journal.find(hostile_run(journal))
    file = tmp_path / "run.html"
    write_run_page(file, journal, run, site.service.report_of(journal, run), {})
    text = file.read_text()
    _demand_harmless(text, scripts=0)
    assert "default-src 'none'; style-src 'sha256-" in text
    assert "&lt;script&gt;hit()" in text
    assert "<form" not in text
    assert "/static/" not in text


def test_the_process_that_drives_a_run_is_named(site: Site, journal: Journal) -> None:
    run_id = claimed(journal).run_id
    text = site.browser().get(f"/runs/{run_id}").text
    assert str(Owner.this_process()) in text
    assert "Running" in text


def test_a_hostile_response_of_a_node_is_shown_as_text(site: Site, journal: Journal) -> None:
    ir = {"nodes": [{"id": HOSTILE, "type": HOSTILE, "params": {HOSTILE: HOSTILE}}]}
    run_id = journal.create(
        "workflow",
        "wait",
        {"name": "wait", "path": None, "directory": "/d", "ir": ir, "inputs": {HOSTILE: HOSTILE}},
    )
    claim = journal.claim(run_id, Owner.this_process())
    outputs = {"response": {HOSTILE: [HOSTILE]}, HOSTILE: HOSTILE}
    given = msgspec.json.encode({"outputs": outputs, "action": "default"})
    journal.record(claim, 0, HOSTILE, "hash", given, begun=False)
    node = NodeReport(id=HOSTILE, type=HOSTILE, status="failed", error=HOSTILE)
    report = WorkflowReport(status="failed", run_id=run_id, workflow=HOSTILE, nodes=(node,))
    journal.finish(claim, RunState.FAILED, report)
    text = site.browser().get(f"/runs/{run_id}").text
    assert "as-path" in text
    _demand_harmless(text)


def test_hostile_doubts_and_plans_are_asked_as_text(site: Site, journal: Journal) -> None:
    run = journal.find(waiting(journal, {"why": "x"}))
    task = TaskReport(status="waiting", run_id=run.id, partial={HOSTILE: HOSTILE})
    candidate = {"text": HOSTILE, "confidence": 0.5, "sample": HOSTILE}
    doubt = {"node_id": HOSTILE, "attempted": HOSTILE, "field": HOSTILE, "problem": HOSTILE}
    doubts = {"doubts": [{**doubt, "candidates": [candidate]}]}
    plan = PlanReport(status="waiting", run_id=run.id, plan=PlanDetails(id=run.id))
    step = {"id": HOSTILE, "description": HOSTILE, "actor": HOSTILE, "command": HOSTILE}
    asked: list[tuple[Any, dict[str, Any]]] = [
        (task, doubts),
        (task, {"effects": [HOSTILE]}),
        (plan, {"approve": "revision", "before": {"id": HOSTILE}, "steps": [step]}),
        (plan, {"approve": "strategy", "strategy": {"steps": [step]}}),
        (plan, {"approve": "edits", "outside": [HOSTILE]}),
        (plan, {"guide": True, "why": HOSTILE}),
        (plan, {"undone": HOSTILE}),
    ]
    for report, question in asked:
        found = asked_question(run, Question(0, question, None, False, 0.0), report, HOSTILE)
        text = Pages().render(
            "inbox.html",
            items=[InboxItem(run, HOSTILE, found)],
            broken=[],
            any_run=True,
            standing=standing_of_run,
        )
        assert "&lt;script&gt;hit()" in text, question
        _demand_harmless(text)
