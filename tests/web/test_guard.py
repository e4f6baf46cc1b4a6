"""Nobody gets in without the token, and no other site can use a browser that is in."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from starlette.testclient import TestClient

from runtrue.flow import Journal, RunState
from runtrue.web import TrustedProxy
from tests.web.site import HOST, TOKEN, Site, form_token, home_at, passed, send, waiting

PAGES = ["/", "/runs", "/workflows", "/memory", "/metrics", "/nothing"]


@pytest.mark.parametrize("path", [*PAGES, "/runs/0a", "/runs/0a/patch", "/live"])
def test_without_the_cookie_nothing_is_shown(site: Site, path: str) -> None:
    answer = site.visitor().get(path)
    assert answer.status_code in (303, 401)
    assert answer.headers.get("location", "/login") == "/login"


def test_the_token_is_good_for_a_cookie_that_no_script_and_no_site_can_use(site: Site) -> None:
    answer = site.visitor().get("/login", params={"token": TOKEN})
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert TOKEN not in cookie
    assert answer.headers["location"] == "/"


def test_the_token_may_be_typed(site: Site) -> None:
    client = site.visitor()
    answer = client.post("/login", data={"token": TOKEN}, headers={"origin": f"http://{HOST}"})
    assert answer.status_code == 303
    assert client.get("/").status_code == 200


@pytest.mark.parametrize("token", ["wrong", "", TOKEN[:-1], TOKEN + "x", "é"])
def test_a_wrong_token_is_refused(site: Site, token: str) -> None:
    client = site.visitor()
    client.get("/login", params={"token": token})
    assert client.get("/").headers["location"] == "/login"


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8320", "127.0.0.1:1", "localhost"])
def test_another_name_for_this_machine_is_refused(site: Site, host: str) -> None:
    """A site whose name points here (DNS rebinding) sends its own name as Host."""
    assert site.browser().get("/", headers={"host": host}).status_code == 421


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": f"http://{HOST}.evil.example"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_another_site_cannot_post(site: Site, journal: Journal, headers: dict[str, str]) -> None:
    run_id = waiting(journal, {"apply": True})
    client = site.browser()
    fields = {"form_token": form_token(client), "seq": "0", "choice": "yes"}
    answer = client.post(f"/runs/{run_id}/answer", data=fields, headers=headers)
    assert answer.status_code == 403
    assert journal.find(run_id).state is RunState.WAITING


@pytest.mark.parametrize("token", ["", "wrong", "é"])
def test_a_form_needs_the_token_of_its_page(site: Site, journal: Journal, token: str) -> None:
    run_id = waiting(journal, {"apply": True})
    answer = send(site.browser(), f"/runs/{run_id}/answer", {"seq": "0", "choice": "yes"}, token)
    assert answer.status_code == 403
    assert journal.find(run_id).state is RunState.WAITING


def test_the_form_token_of_one_browser_is_no_good_in_another(site: Site, journal: Journal) -> None:
    run_id = waiting(journal, {"apply": True})
    token = form_token(site.browser())
    answer = send(site.browser(), f"/runs/{run_id}/answer", {"seq": "0", "choice": "yes"}, token)
    assert answer.status_code == 403


def test_a_server_that_only_shows_changes_nothing(site: Site, journal: Journal) -> None:
    run_id = waiting(journal, {"apply": True})
    shows = Site(site.home, read_only=True)
    client = shows.browser()
    assert '<form method="post"' not in client.get("/").text
    answer = send(client, f"/runs/{run_id}/answer", {"seq": "0", "choice": "yes"}, "x")
    assert answer.status_code == 403
    assert "--read-only" in answer.text
    assert journal.find(run_id).state is RunState.WAITING


def _is_strict(answer: object) -> bool:
    headers = getattr(answer, "headers", {})
    policy = headers["content-security-policy"]
    return (
        "default-src 'none'" in policy
        and "unsafe" not in policy
        and "frame-ancestors 'none'" in policy
        and headers["x-content-type-options"] == "nosniff"
        and headers["referrer-policy"] == "same-origin"
    )


@pytest.mark.parametrize("path", [*PAGES, "/login", "/static/style.css", "/runs/0a"])
def test_every_answer_carries_the_policy(site: Site, path: str) -> None:
    assert _is_strict(site.browser().get(path))
    assert _is_strict(site.visitor().get(path))
    assert _is_strict(site.visitor().get(path, headers={"host": "evil.example"}))


def test_no_page_needs_more_than_the_policy_allows(site: Site, journal: Journal) -> None:
    run_id = passed(journal)
    client = site.browser()
    for path in (*PAGES, f"/runs/{run_id}", f"/runs/{run_id}/events"):
        text = client.get(path).text
        assert not re.search(r"\son\w+\s*=|\sstyle\s*=|javascript:", text), path
        assert not re.search(r"<script(?! src=\"/static/)|<style", text), path
        assert not re.search(r"""(?:src|href|action)=["'](?:https?:)?//""", text), path
        assert TOKEN not in text


def test_what_went_wrong_inside_is_a_sentence(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    client: TestClient = site.browser()

    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("by zero")

    with Journal(site.home.journal):
        pass
    monkeypatch.setattr("runtrue.flow.Journal.summaries", broken)
    answer = client.get("/runs")
    assert answer.status_code == 500
    assert "internal error: ZeroDivisionError" in answer.text
    assert "Traceback" not in answer.text
    assert _is_strict(answer)


def test_a_home_without_a_journal_gets_none_by_looking(tmp_path: object, site: Site) -> None:
    client = site.browser()
    for path in ("/", "/runs", "/workflows", "/metrics"):
        assert client.get(path).status_code == 200
    assert client.get("/runs/0a").status_code == 404
    assert not site.home.has_journal
    assert home_at(site.home.path) == site.home


class TestBehindAProxy:
    """A proxy names the person, and shows the token with each request."""

    @pytest.fixture
    def proxied(self, site: Site) -> Site:
        proxy = TrustedProxy("x-forwarded-user", "https://runs.example.org")
        return replace(site, proxy=proxy)

    def _sends(self, **headers: str) -> dict[str, str]:
        return {"host": "runs.example.org", **headers}

    def test_the_person_is_let_in_and_named(self, proxied: Site, journal: Journal) -> None:
        run_id = waiting(journal, {"apply": True})
        headers = self._sends(**{"x-forwarded-user": "ada", "x-runtrue-token": TOKEN})
        client = proxied.visitor(**headers)
        fields = {"form_token": form_token(client), "seq": "0", "choice": "no"}
        origin = {"origin": "https://runs.example.org"}
        assert client.post(f"/runs/{run_id}/answer", data=fields, headers=origin).status_code == 303
        late = client.post(f"/runs/{run_id}/answer", data=fields, headers=origin)
        assert late.status_code == 409
        assert "<b>ada</b>" in late.text

    @pytest.mark.parametrize(
        "headers",
        [
            {"x-forwarded-user": "ada"},
            {"x-forwarded-user": "ada", "x-runtrue-token": "wrong"},
            {"x-forwarded-user": " ", "x-runtrue-token": TOKEN},
            {"x-runtrue-token": TOKEN},
        ],
    )
    def test_nobody_else_is(self, proxied: Site, headers: dict[str, str]) -> None:
        assert proxied.visitor(**self._sends(**headers)).get("/").status_code == 401

    def test_no_token_in_an_address_lets_anybody_in(self, proxied: Site) -> None:
        client = proxied.visitor(**self._sends())
        assert client.get("/login", params={"token": TOKEN}).status_code == 401
        assert client.get("/").status_code == 401

    def test_another_site_cannot_post(self, proxied: Site, journal: Journal) -> None:
        run_id = waiting(journal, {"apply": True})
        headers = self._sends(**{"x-forwarded-user": "ada", "x-runtrue-token": TOKEN})
        client = proxied.visitor(**headers)
        fields = {"form_token": form_token(client), "seq": "0", "choice": "yes"}
        for origin in ("https://evil.example", "http://runs.example.org", "null"):
            answer = client.post(f"/runs/{run_id}/answer", data=fields, headers={"origin": origin})
            assert answer.status_code == 403
        assert journal.find(run_id).state is RunState.WAITING

    def test_the_header_means_nothing_without_the_option(self, site: Site) -> None:
        client = site.visitor(**{"x-forwarded-user": "ada", "x-runtrue-token": TOKEN})
        assert client.get("/").headers["location"] == "/login"
