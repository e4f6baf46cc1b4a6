"""`runtrue ui` as a user starts and stops it, and `runs show --html`."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import urllib.error
import urllib.request
from http.cookiejar import CookieJar
from pathlib import Path

import pytest

from tests.cli.conftest import LINT_ONLY, Machine, MakeProject


@pytest.fixture
def server(machine: Machine) -> subprocess.Popen[str]:
    return subprocess.Popen(
        machine.argv("ui", "--port", "0", "--no-open"),
        cwd=machine.home,
        env=machine.env,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_it_shows_runs_until_it_is_stopped(
    server: subprocess.Popen[str], machine: Machine, stop: signal.Signals
) -> None:
    with server:
        assert server.stderr is not None
        line = server.stderr.readline()
        address = line.removeprefix("open ").strip()
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/login\?token=[\w-]{43}", address), line
        site = address.partition("/login")[0]
        with pytest.raises(urllib.error.HTTPError, match="401"):
            urllib.request.urlopen(f"{site}/runs")  # noqa: S310
        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
        with browser.open(address) as answer:
            assert "No runs yet" in answer.read().decode()
            assert answer.url == f"{site}/"
        # A stream that is open does not keep it from ending.
        stream = browser.open(f"{site}/live")
        assert stream.readline() == b"retry: 1000\n"
        server.send_signal(stop)
        assert "stopped; runs continue" in server.stderr.read()
        stream.close()
    assert server.returncode == 0
    assert not machine.journal.exists()


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "example.com", "::"])  # noqa: S104
def test_it_listens_on_loopback_only(machine: Machine, host: str) -> None:
    done = machine.runtrue("ui", "--no-open", "--host", host)
    assert done.code == 2
    assert "can be reached from other machines" in done.err


def test_a_port_that_is_taken_is_said(machine: Machine) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = machine.runtrue("ui", "--no-open", "--port", port)
    assert done.code == 1
    assert f"cannot listen on 127.0.0.1:{port}" in done.err
    assert "--port" in done.err


def test_a_run_is_written_as_one_file(
    machine: Machine, make_project: MakeProject, tmp_path: Path
) -> None:
    project = make_project(LINT_ONLY)
    machine.runtrue("fix", project, "--check", "ruff check .", "--json")
    file = tmp_path / "run.html"
    done = machine.runtrue("runs", "show", "--all", "--html", file)
    assert (done.code, done.out) == (0, "")
    text = file.read_text()
    assert "ruff check ." in text
    assert not re.search(r"<(?:script|link|img)\b", text)
    assert os.path.getsize(file) < 400_000  # noqa: PTH202
