"""A real browser on the real server, both started as users start them."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.cli.conftest import Machine

CHROMIUM = shutil.which("chromium")
_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
#: Far more than anything takes on a busy machine, in milliseconds.
PATIENCE = int(os.environ.get("RUNTRUE_TEST_PATIENCE", "120_000"))

#: Counts what the policy refused, and calls of a function that hostile content would call.
_WATCH = """
    window.hits = 0;
    window.refused = [];
    window.hit = () => { window.hits += 1; };
    addEventListener("securitypolicyviolation", (e) => window.refused.push(e.violatedDirective));
"""


@contextmanager
def started_browser(*flags: str) -> Iterator[Browser]:
    """Chromium without anybody's profile."""
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=[*_FLAGS, *flags])
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def served(machine: Machine, *options: str, cwd: Path | None = None) -> Iterator[str]:
    """Run `runtrue ui` on any free port, and yield the address that it prints."""
    process = subprocess.Popen(
        machine.argv("ui", "--port", "0", "--no-open", *options),
        cwd=cwd or machine.home,
        env={**machine.env, "PYTHONUNBUFFERED": "1"},
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    stderr = process.stderr
    assert stderr is not None
    try:
        yield _address(stderr)
    finally:
        process.send_signal(signal.SIGINT)
        try:
            said = stderr.read()
            process.wait(60)
        finally:
            process.kill()
            stderr.close()
            process.wait()
    assert process.returncode == 0, said
    assert "stopped; runs continue" in said


def _address(stderr: IO[str]) -> str:
    said = ""
    for line in stderr:
        said += line
        if line.startswith("open "):
            return line.removeprefix("open ").strip()
    raise AssertionError(f"the server did not start: {said}")


def visit(
    browser: Browser, address: str, *, theme: str = "light", width: int = 1280, js: bool = True
) -> Page:
    """A page of a new browser profile that has shown the token."""
    context: BrowserContext = browser.new_context(
        color_scheme="dark" if theme == "dark" else "light",
        viewport={"width": width, "height": 900},
        java_script_enabled=js,
    )
    context.set_default_timeout(PATIENCE)
    if js:
        context.add_init_script(_WATCH)
    page = context.new_page()
    page.goto(address)
    return page


def go(page: Page, path: str) -> None:
    """Open a page of the same server."""
    begin = "/".join(page.url.split("/")[:3])
    page.goto(f"{begin}{path}")


def demand_calm(page: Page) -> None:
    """Demand that nothing hostile ran, and that the policy had nothing to refuse."""
    assert page.evaluate("window.hits") == 0
    assert page.evaluate("window.refused") == []


def is_installed() -> bool:
    """True if there is a Chromium to test with."""
    return CHROMIUM is not None and os.access(CHROMIUM, os.X_OK)
