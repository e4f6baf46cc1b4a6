"""Machines on one machine: processes with a network, mounts and a home of their own.

A machine reaches the server of the test at the address that it has outside, by connections that
the test forwards, and nothing else: not even a disk.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

#: In its namespaces: an empty disk over what the machines would share, then a listening socket.
_BEGIN = """
import array, os, socket, subprocess, sys
place, port, channel = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", place], check=True)
subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
os.mkdir(os.path.join(place, "home"))
listener = socket.create_server(("127.0.0.1", port))
with socket.socket(fileno=channel) as parent:
    socket.send_fds(parent, [b"ready"], [listener.fileno()])
    parent.recv(1)
"""


class NoNamespaces(Exception):
    """Namespaces cannot be made here; the message says why."""


@dataclass(frozen=True)
class Namespaces:
    """The network and mounts of a machine, which last as long as its first process."""

    pid: int
    home: Path

    def argv(self, *args: str) -> list[str]:
        return ["nsenter", f"--target={self.pid}", "--net", "--mount", *args]

    def popen(self, *args: str, env: Mapping[str, str], **options: int) -> subprocess.Popen[str]:
        command = ("sh", "-c", 'cd "$HOME" && exec "$@"', "sh", *args)
        return subprocess.Popen(self.argv(*command), env=env, text=True, **options)  # type: ignore[call-overload, no-any-return]


@contextmanager
def separate(place: Path, port: int) -> Iterator[Namespaces]:
    """Make a machine that sees nothing below `place`, and reaches one port of loopback outside."""
    if os.geteuid() != 0:
        raise NoNamespaces("only root makes network and mount namespaces here")
    ours, theirs = socket.socketpair()
    command = ["unshare", "--net", "--mount", "--propagation=private", sys.executable, "-c", _BEGIN]
    with ExitStack() as stack:
        stack.enter_context(ours)
        with theirs:
            process = subprocess.Popen(
                [*command, str(place), str(port), str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stderr=subprocess.PIPE,
                text=True,
            )
        stack.callback(_end, process, ours)
        said, descriptors, _, _ = socket.recv_fds(ours, 16, 1)
        if not said:
            assert process.stderr
            raise NoNamespaces(process.stderr.read().strip() or "unshare failed")
        listener = stack.enter_context(socket.socket(fileno=descriptors[0]))
        threading.Thread(target=_forward, args=(listener, port), daemon=True).start()
        yield Namespaces(process.pid, place / "home")
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)


def _end(process: subprocess.Popen[str], ours: socket.socket) -> None:
    with suppress(OSError):
        ours.shutdown(socket.SHUT_RDWR)
    process.wait(60)
    assert process.stderr
    process.stderr.close()


def _forward(listener: socket.socket, port: int) -> None:
    while True:
        try:
            inside, _ = listener.accept()
        except OSError:
            return
        try:
            outside = socket.create_connection(("127.0.0.1", port))
        except OSError:
            inside.close()
            continue
        threading.Thread(target=_join, args=(inside, outside), daemon=True).start()


def _join(inside: socket.socket, outside: socket.socket) -> None:
    with inside, outside:
        back = threading.Thread(target=_copy, args=(outside, inside), daemon=True)
        back.start()
        _copy(inside, outside)
        back.join()


def _copy(one: socket.socket, other: socket.socket) -> None:
    with suppress(OSError):
        while data := one.recv(65536):
            other.sendall(data)
    for end in (one, other):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
