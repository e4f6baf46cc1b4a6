"""A site for tests: the real application on a journal of its own, and browsers that visit it."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from runtrue.cli.ui import service_for
from runtrue.code import AttemptReport, CodeReport, FixReport, VerdictReport
from runtrue.flow import Claim, Journal, Owner, RunState
from runtrue.home import Home
from runtrue.loop import Confidence, Fault, Finding, FixPart, Hunk, Location, Mode, Skip
from runtrue.web import PersonAnswer, TrustedProxy, WebService, make_app
from runtrue.web.guard import Access
from runtrue.web.launch import Launcher
from runtrue.web.live import LiveUpdates

TOKEN = "the-token"  # noqa: S105
HOST = "127.0.0.1:8320"

DIFF = """\
--- a/shop.py
+++ b/shop.py
@@ -1,3 +1,3 @@ def total():
 def total(prices):
-    return sum(prices) + 1
+    return sum(prices)

"""


@dataclass
class Site:
    """The application, with the journal that it shows."""

    home: Home
    #: Answers are recorded without a look at the run, and commands do nothing.
    fakes_commands: bool = True
    read_only: bool = False
    proxy: TrustedProxy | None = None
    answers: list[PersonAnswer] = field(default_factory=list)

    def __post_init__(self) -> None:
        real = service_for(self.home, read_only=self.read_only)
        changes: dict[str, Any] = {"directory": self.home.path}
        if self.fakes_commands:
            changes |= {"program": (sys.executable, "-c", "pass"), "answer": self._answer}
        fields = {name: getattr(real, name) for name in WebService.__slots__}
        self.service = WebService(**{**fields, **changes})
        self.access = Access(TOKEN, ("127.0.0.1",), 8320, self.proxy)
        self.live = LiveUpdates(self.home)
        self.launcher = Launcher(self.service.program, self.service.directory)
        self.app = make_app(self.service, self.access, self.live, self.launcher)

    def _answer(self, journal: Journal, run_id: str, answer: PersonAnswer) -> None:
        journal.answer(run_id, answer.said, seq=answer.seq)
        self.answers.append(answer)

    def visitor(self, **headers: str) -> TestClient:
        """A browser that nobody has let in."""
        return TestClient(
            self.app, base_url=f"http://{HOST}", headers=headers, follow_redirects=False
        )

    def browser(self, name: str = "Firefox") -> TestClient:
        """A browser that has shown the token."""
        client = self.visitor(**{"user-agent": f"Mozilla/5.0 {name}/1"})
        assert client.get("/login", params={"token": TOKEN}).status_code == 303
        return client


def form_token(client: TestClient) -> str:
    """The token in the forms of this browser's pages."""
    found = re.search(r'name="form_token" value="([^"]+)"', client.get("/").text)
    assert found, "no form on the inbox"
    return found[1]


def send(client: TestClient, path: str, fields: dict[str, str], token: str | None = None) -> Any:
    """Send a form as a page of this site does."""
    data = {**fields, "form_token": form_token(client) if token is None else token}
    return client.post(path, data=data, headers={"origin": f"http://{HOST}"})


def claimed(journal: Journal, kind: str = "fix", title: str = "/p", **data: Any) -> Claim:
    run_id = journal.create(kind, title, {"project": title, **data})
    return journal.claim(run_id, Owner.this_process())


def passed(journal: Journal, report: CodeReport | None = None, title: str = "/p") -> str:
    """A run that has passed."""
    claim = claimed(journal, title=title)
    found = report or code_report(claim.run_id)
    journal.finish(claim, RunState.PASSED, found)
    return claim.run_id


def waiting(journal: Journal, question: Any, kind: str = "workflow", title: str = "wait") -> str:
    """A run that waits for an answer: one that needs no more than this to be shown."""
    ir = {"nodes": [{"id": "a", "type": "shell", "params": {"command": "true"}}]}
    run_id = journal.create(
        kind,
        title,
        {"name": title, "path": None, "directory": "/d", "ir": ir, "inputs": {}},
    )
    claim = journal.claim(run_id, Owner.this_process())
    journal.ask(claim, 0, question)
    journal.park(claim, 0)
    return run_id


def code_report(run_id: str, text: str = "plain", **changes: Any) -> CodeReport:
    """A report in which every text is `text`, where that is a text of a run's own."""
    finding = Finding(
        source=text,
        category=text,
        message=text,
        fault=Fault.CANDIDATE,
        location=Location(file=text, line=3, symbol=f"{text}::test_a"),
        attempted=(text,),
        available=(text,),
        sample=text,
    )
    part = FixPart(
        fixer="search",
        findings=("f",),
        description=text,
        files=("shop.py",),
        confidence=Confidence(value=0.8, reason=text),
    )
    vain = FixPart(fixer="model", findings=("f",), description=text, failure=text)
    fix = FixReport(
        files=("shop.py",),
        added=1,
        removed=1,
        parts=(part, vain),
        hunks=(Hunk(file="shop.py", line=2, removed=1, added=1, fixer="search", tests=(text,)),),
        skipped=(Skip(fixer="agent", reason=text),),
    )
    red = VerdictReport(
        check="tests", mode=Mode.REQUIRED, passed=False, cases={"failed": 1}, findings=(finding,)
    )
    green = VerdictReport(check="tests", mode=Mode.REQUIRED, passed=True, cases={"passed": 1})
    attempts = (
        AttemptReport(
            number=1, limit=3, candidate="a", passed=False, verdicts=(red,), findings=(finding,)
        ),
        AttemptReport(number=2, limit=3, candidate="b", passed=True, fix=fix, verdicts=(green,)),
    )
    known: dict[str, Any] = {
        "status": "passed",
        "run_id": run_id,
        "kind": "fix",
        "project": "/p",
        "why": "passed",
        "attempts": attempts,
        "confidence": 0.8,
        "confidence_reason": text,
        "diff": DIFF,
        "isolation": None,
    }
    return CodeReport(**{**known, **changes})


def home_at(path: Path) -> Home:
    path.mkdir(parents=True, exist_ok=True)
    return Home(path)
