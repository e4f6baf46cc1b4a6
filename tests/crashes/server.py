"""A server that logs every effect that it has done: `python -m tests.crashes.server LOG`.

A request is `POST /POINT` with `{"n": NAME}`. The effect of a name is done as often as it is
posted, but for a request with a key that the server knows. Names that end in `!` are refused the
first time, which changes nothing. The server prints its port, and ends with its standard input.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


@contextmanager
def serving(log: Path) -> Iterator[str]:
    """The address of such a server, in a process of its own."""
    command = [sys.executable, "-m", "tests.crashes.server", str(log)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(server.stdout.readline())}"
        finally:
            server.stdin.close()


def effects(log: Path, point: str) -> list[str]:
    """Return the names whose effects were done for a point, each as often as it was done."""
    lines = (line.split(" ", 1) for line in log.read_text().splitlines())
    return [name for at, name in lines if at == point]


def wait_until_idle(server: str) -> None:
    """Wait until the server is done with all that it was sent, also by clients that are dead."""
    with urllib.request.urlopen(f"{server}/idle", timeout=60) as answer:  # noqa: S310  # our own server
        answer.read()


def main(log: Path) -> None:
    seen: set[str] = set()
    lock = threading.Lock()
    active: set[object] = set()
    idle = threading.Condition()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        #: One packet for each answer: the second of two waits until the first is acknowledged.
        wbufsize = -1
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            name, point = str(json.loads(body)["n"]), self.path[1:]
            key = self.headers.get("Idempotency-Key")
            with lock:
                refused = name.endswith("!") and f"{point} {name}" not in seen
                known = key is not None and key in seen
                seen.add(f"{point} {name}" if key is None else key)
                if not (refused or known):
                    with log.open("a") as file:
                        file.write(f"{point} {name}\n")
            answer = json.dumps({"id": name}).encode()
            self.send_response(503 if refused else 200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def do_GET(self) -> None:
            # What was sent before this came in first; a dead client's connection ends by itself.
            with idle:
                idle.wait_for(lambda: active == {self.connection})
            self.send_response(204)
            self.end_headers()
            self.close_connection = True

        def setup(self) -> None:
            super().setup()
            with idle:
                active.add(self.connection)

        def finish(self) -> None:
            super().finish()
            with idle:
                active.discard(self.connection)
                idle.notify_all()

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: object) -> None:
            """Say nothing: clients are killed in the middle."""

    log.touch()
    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_address[1], flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
