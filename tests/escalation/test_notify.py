"""Telling of an escalation: through the channel that is set, and never at the report's cost."""

from __future__ import annotations

import asyncio
import io
import sys
from pathlib import Path

import msgspec
import pytest

from runtrue.escalation import notify
from runtrue.loop import Notification
from runtrue.redaction import Redactor
from tests.escalation.support import SECRET, message
from tests.workflow.nodes.scripted_server import ScriptedServer, response


def test_nobody_configured_anything_so_it_is_printed_and_not_among_the_results(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sent = message(tmp_path)
    notice = asyncio.run(notify(Notification(), sent.report, sent.files, {}))
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.splitlines() == [
        "escalated: After 2 attempts 1 failure is left in `pytest`.",
        '  The run waits for advice; answer with `runtrue runs resume 0198-run --answer "…"`',
        f"  report: {sent.files.markdown}",
    ]
    assert (notice.channel, notice.delivered) == ("cli", True)
    assert notice.report == str(sent.files.markdown)


def test_a_template_names_every_fact(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wording = "$condition|$action|$title|$run_id|$why|$answer|$path|$$|$report"
    sent = message(tmp_path)
    asyncio.run(notify(Notification(template=wording), sent.report, sent.files, {}))
    *facts, dollar, report = capsys.readouterr().err.split("|", 8)
    assert facts == [
        "max_attempts_reached",
        "human_review",
        "Add up the prices",
        "0198-run",
        sent.report.why,
        sent.report.answer,
        str(sent.files.markdown),
    ]
    assert dollar == "$"
    assert report.startswith("# Escalation: max attempts reached")


def test_what_is_filled_in_is_no_template_itself(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sent = message(tmp_path, title="costs $why")
    asyncio.run(notify(Notification(template="$title"), sent.report, sent.files, {}))
    assert capsys.readouterr().err == "costs $why\n"


@pytest.mark.parametrize(
    ("template", "problem"),
    [
        ("$conditon", r"names \$conditon; it may name: \$condition, \$action"),
        ("5 $ more", r"a lone \$ in the template"),
    ],
)
def test_a_template_that_cannot_be_filled_is_refused_when_it_is_read(
    template: str, problem: str
) -> None:
    with pytest.raises(msgspec.ValidationError, match=problem):
        msgspec.convert({"template": template}, Notification)


@pytest.mark.parametrize(
    "settings",
    [
        {"issue": 0},
        {"timeout": 0},
        {"smtp_port": 70_000},
        {"repository": "shop"},
        {"repository": "me/shop; rm"},
        {"slack_url_env": ""},
    ],
    ids=str,
)
def test_settings_are_bounded(settings: dict[str, object]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(settings, Notification)


def test_a_channel_that_breaks_is_told_and_the_report_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = io.StringIO()
    closed.close()
    monkeypatch.setattr(sys, "stderr", closed)
    sent = message(tmp_path)
    notice = asyncio.run(notify(Notification(), sent.report, sent.files, {}))
    assert not notice.delivered
    assert notice.detail == "the channel cli broke (ValueError)"
    assert sent.files.markdown.read_text() == sent.report.to_markdown()


@pytest.mark.parametrize("channel", ["slack", "email", "issue_comment"])
def test_a_channel_without_its_settings_is_told_in_a_sentence(channel: str, tmp_path: Path) -> None:
    sent = message(tmp_path)
    settings = Notification(channel=channel)
    notice = asyncio.run(notify(settings, sent.report, sent.files, {"PATH": ""}))
    assert (notice.channel, notice.delivered) == (channel, False)
    assert "set" in notice.detail or "needs" in notice.detail
    assert sent.files.markdown.exists()
    assert sent.files.json.exists()


def test_no_channel_is_sent_a_value_of_the_environment(tmp_path: Path) -> None:
    sent = message(tmp_path, title=f"use {SECRET}", redact=Redactor({"TOKEN": SECRET}))
    with ScriptedServer(response("ok")) as server:
        settings = Notification(channel="slack", template="$title $report")
        variables = {"RUNTRUE_SLACK_WEBHOOK": server.url}
        notice = asyncio.run(notify(settings, sent.report, sent.files, variables))
    assert notice.delivered
    (request,) = server.received
    assert SECRET.encode() not in request.body
    assert b"[redacted: TOKEN]" in request.body
