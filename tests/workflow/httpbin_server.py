"""The real httpbin on loopback, in a process of its own: a fixture, and a context manager."""

from __future__ import annotations

import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@contextmanager
def running_httpbin() -> Iterator[str]:
    """Start httpbin on a free port; gives its address, such as `http://127.0.0.1:40123`."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.workflow.httpbin_server"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        address = process.stdout.readline().strip()
        assert address, "httpbin did not start"
        with urllib.request.urlopen(f"{address}/status/200", timeout=30):  # noqa: S310  # it is ours
            yield address
    finally:
        process.stdin.close()
        try:
            process.wait(10)
        finally:
            process.kill()
            process.wait()
            process.stdout.close()


_RUNNING = pytest.StashKey[str]()


@pytest.fixture(scope="session", name="httpbin")
def httpbin_fixture(pytestconfig: pytest.Config) -> str:
    """The address of an httpbin that runs as long as the tests do, one for all who import this."""
    if _RUNNING not in pytestconfig.stash:
        stack = ExitStack()
        pytestconfig.stash[_RUNNING] = stack.enter_context(running_httpbin())
        pytestconfig.add_cleanup(stack.close)
    return pytestconfig.stash[_RUNNING]


def _serve() -> None:
    """Serve until stdin ends, which it does with whoever started this."""
    from httpbin import app  # type: ignore[import-untyped]
    from werkzeug.serving import make_server

    # Listening begins here: whoever reads the address can connect.
    server = make_server("127.0.0.1", 0, app, threaded=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(f"http://127.0.0.1:{server.port}", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    _serve()
