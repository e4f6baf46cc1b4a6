"""Slack's webhook: what it is sent, and what becomes of every way in which it can fail."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path

import pytest

from runtrue.escalation import Delivery
from runtrue.escalation.slack import SlackSender
from runtrue.loop import Notification
from tests.escalation.support import message
from tests.workflow.nodes.scripted_server import RESET, Received, ScriptedServer, response

SETTINGS = Notification(channel="slack")
PATH = "/services/T0/B0/s3cr3t-part"


def _send(
    url: str | None,
    directory: Path,
    template: str | None = None,
    *,
    timeout: float = 20,
    **more: object,
) -> Delivery:
    settings = Notification(channel="slack", template=template, timeout=timeout)
    environment = {} if url is None else {"RUNTRUE_SLACK_WEBHOOK": url}
    return asyncio.run(
        SlackSender(settings, environment).send(message(directory, template, **more))
    )


def _text(server: ScriptedServer) -> str:
    (request,) = server.received
    assert request.headers["content-type"] == "application/json"
    body = json.loads(request.body)
    assert set(body) == {"text"}
    return str(body["text"])


def test_a_message_says_what_happened_and_how_to_answer(tmp_path: Path) -> None:
    with ScriptedServer(response("ok")) as server:
        delivery = _send(server.url + PATH, tmp_path)
    assert delivery == Delivery(delivered=True, detail="Slack accepted the message")
    assert server.received[0].path == PATH
    text = _text(server)
    assert "*Escalated: max_attempts_reached*" in text
    assert "1 failure is left in `pytest`" in text
    assert 'runtrue runs resume 0198-run --answer "…"' in text
    assert str(tmp_path / "reports") in text


def test_what_is_filled_in_cannot_mention_anybody(tmp_path: Path) -> None:
    with ScriptedServer(response("ok")) as server:
        _send(server.url, tmp_path, "<!here> $title", title="<!channel> & <http://evil|ok>")
    assert _text(server) == "<!here> &lt;!channel&gt; &amp; &lt;http://evil|ok&gt;"


def test_a_message_keeps_within_slacks_limit(tmp_path: Path) -> None:
    with ScriptedServer(response("ok")) as server:
        _send(server.url, tmp_path, "$report", original_code={"a.py": "x" * 50_000})
    text = _text(server)
    assert 1_000 < len(text) <= 4_000
    assert "Too long to show here" in text


@pytest.mark.parametrize(
    ("answer", "detail"),
    [
        (response("no_service", status="404 Not Found"), "status 404: no_service"),
        (response("", status="500 Internal Server Error"), "status 500"),
        (response("", "Location: /", status="302 Found"), "status 302"),
        (RESET, "Slack cannot be reached"),
        (b"what?\r\n\r\n", "Slack cannot be reached"),
    ],
    ids=["404", "500", "302", "reset", "garbage"],
)
def test_an_answer_that_is_no_success_is_told(answer: bytes, detail: str, tmp_path: Path) -> None:
    with ScriptedServer(answer) as server:
        delivery = _send(server.url + PATH, tmp_path)
    assert not delivery.delivered
    assert detail in delivery.detail
    assert "s3cr3t-part" not in delivery.detail


@pytest.mark.parametrize(
    ("url", "detail"),
    [
        (None, "set the variable RUNTRUE_SLACK_WEBHOOK"),
        ("", "set the variable RUNTRUE_SLACK_WEBHOOK"),
        ("no-url/s3cr3t", "RUNTRUE_SLACK_WEBHOOK is not the URL of a webhook"),
        ("http://x/\x07s3cr3t", "RUNTRUE_SLACK_WEBHOOK is not the URL of a webhook"),
    ],
)
def test_a_webhook_that_is_none_is_told_without_its_text(
    url: str | None, detail: str, tmp_path: Path
) -> None:
    delivery = _send(url, tmp_path)
    assert not delivery.delivered
    assert detail in delivery.detail
    assert "s3cr3t" not in delivery.detail


def test_a_closed_port_is_told(tmp_path: Path) -> None:
    with ScriptedServer(response("ok")) as server:
        pass
    delivery = _send(server.url, tmp_path)
    assert delivery == Delivery(delivered=False, detail="Slack cannot be reached (ConnectError)")


def test_a_slack_that_never_answers_is_given_up(tmp_path: Path) -> None:
    over = threading.Event()

    def never(request: Received) -> bytes:
        over.wait(60)
        return response("ok")

    with ScriptedServer(never) as server:
        delivery = _send(server.url, tmp_path, timeout=0.3)
        over.set()
    assert delivery == Delivery(delivered=False, detail="Slack did not answer within 0.3 s")
