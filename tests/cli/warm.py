"""The `runtrue` command as a process of its own that need not import anything first.

A server with everything imported forks for each command. The child has its own arguments,
environment, directory and streams; only the start of Python, the imports and the clearing away of
all that is imported are left out, which take longer than most commands. Tests about starting,
signals and terminals start the real program.

`python -m tests.cli.warm SOCKET` is the server; it ends when its standard input does.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import io
import json
import os
import pkgutil
import runpy
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NoReturn, TextIO

_ROOT = Path(__file__).parent.parent.parent
#: What commands import late, because most of them do without it.
_LATE = ("rich.console", "rich.progress", "rich.table", "rich.text")
#: Meant to be run on their own, or in the projects' Python.
_NO_MODULES = {"__main__", "calling", "prover", "pytest_plugin", "python_start"}


# -- the side of the tests ----------------------------------------------------------------------


def run_runtrue(
    args: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    stdin: str = "",
    timeout: float = 600,
    fork: bool = True,
) -> subprocess.CompletedProcess[str]:
    """Run `runtrue` to its end, and to the end of all that writes to its streams."""
    own = _of_python(env)
    if fork and cwd.is_dir() and own in _SERVED and "COVERAGE_PROCESS_CONFIG" not in own:
        server = _server(tuple(own.items()))
        return server.run(args, cwd=cwd, env=env, stdin=stdin, timeout=timeout)
    return subprocess.run(
        [sys.executable, "-m", "runtrue", *args],
        cwd=cwd,
        env=env,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def _of_python(env: Mapping[str, str]) -> dict[str, str]:
    """Return what makes Python itself start in another way."""
    own = ("PYTHON", "COVERAGE", "LC_", "LANG")
    return {name: value for name, value in sorted(env.items()) if name.startswith(own)}


#: The environments that many commands are started in: that of a test's user, and our own.
_SERVED = [
    {"LANG": os.environ["LANG"]} if "LANG" in os.environ else {},
    _of_python(os.environ),
]


@cache
def _server(own: tuple[tuple[str, str], ...]) -> _Server:
    """Return this process's server of commands with that environment, which ends with it."""
    server = _Server(dict(own))
    atexit.register(server.close)
    return server


class _Server:
    """A server that forks a process for each command."""

    def __init__(self, own: Mapping[str, str]) -> None:
        self._directory = tempfile.TemporaryDirectory(prefix="warm-")
        self._socket = str(Path(self._directory.name, "socket"))
        try:
            self._server = subprocess.Popen(
                [sys.executable, "-m", "tests.cli.warm", self._socket],
                cwd=_ROOT,
                env={"PATH": os.defpath, **own},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
        except BaseException:
            self._directory.cleanup()
            raise
        assert self._server.stdout is not None
        assert self._server.stdout.readline() == b"ready\n"

    def run(
        self, args: Sequence[str], *, cwd: Path, env: Mapping[str, str], stdin: str, timeout: float
    ) -> subprocess.CompletedProcess[str]:
        order = json.dumps({"args": list(args), "cwd": str(cwd), "env": dict(env)}).encode()
        pipes = [os.pipe() for _ in range(3)]
        (its_stdin, to_it), (from_out, its_out), (from_err, its_err) = pipes
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(self._socket)
            socket.send_fds(
                connection, [len(order).to_bytes(8, "big")], [its_stdin, its_out, its_err]
            )
            connection.sendall(order)
            for its_end in (its_stdin, its_out, its_err):
                os.close(its_end)
            pid = int.from_bytes(_exactly(connection, 8), "big")
            alarm = threading.Timer(timeout, os.kill, [pid, signal.SIGKILL])
            alarm.start()
            read: list[bytes] = [b"", b""]
            threads = [
                threading.Thread(target=_write_all, args=(to_it, stdin.encode())),
                threading.Thread(target=_read_all, args=(from_out, read, 0)),
                threading.Thread(target=_read_all, args=(from_err, read, 1)),
            ]
            for thread in threads:
                thread.start()
            code = int.from_bytes(_exactly(connection, 8), "big", signed=True)
            for thread in threads:
                thread.join()
            alarm.cancel()
        out, err = (text.decode().replace("\r\n", "\n") for text in read)
        return subprocess.CompletedProcess(list(args), code, out, err)

    def close(self) -> None:
        """End the server."""
        with self._server:
            assert self._server.stdin is not None
            self._server.stdin.close()
        self._directory.cleanup()


def _write_all(file: int, content: bytes) -> None:
    with open(file, "wb", buffering=0) as pipe:
        try:
            while content:
                content = content[pipe.write(content) :]
        except BrokenPipeError:
            pass


def _read_all(file: int, into: list[bytes], index: int) -> None:
    with open(file, "rb") as pipe:
        into[index] = pipe.read()


def _exactly(connection: socket.socket, count: int) -> bytes:
    content = b""
    while len(content) < count:
        part = connection.recv(count - len(content))
        assert part, "the server of commands is gone"
        content += part
    return content


# -- the side of the commands -------------------------------------------------------------------


def _serve(address: str) -> None:
    _import_all()
    gc.collect()
    gc.freeze()
    ends, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    running: dict[int, socket.socket] = {}
    with socket.socket(socket.AF_UNIX) as listener, selectors.DefaultSelector() as selector:
        listener.bind(address)
        listener.listen(64)
        for source in (sys.stdin.fileno(), ends, listener.fileno()):
            selector.register(source, selectors.EVENT_READ)
        print("ready", flush=True)
        while True:
            for key, _ in selector.select():
                if key.fd == sys.stdin.fileno():
                    return
                if key.fd == listener.fileno():
                    connection, _ = listener.accept()
                    header, files, _, _ = socket.recv_fds(connection, 8, 3)
                    order = json.loads(_exactly(connection, int.from_bytes(header, "big")))
                    pid = os.fork()
                    if pid == 0:
                        signal.set_wakeup_fd(-1)
                        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                        for other in (*running.values(), connection, listener):
                            other.close()
                        selector.close()
                        os.close(ends)
                        os.close(wake)
                        try:
                            _become(order, files)
                        except SystemExit as ending:
                            _end(ending.code)
                        except BaseException:
                            traceback.print_exc()
                            _end(1)
                        _end(None)
                    for file in files:
                        os.close(file)
                    running[pid] = connection
                    connection.sendall(pid.to_bytes(8, "big"))
                else:
                    os.read(ends, 4096)
                    _report_ended(running)


def _report_ended(running: dict[int, socket.socket]) -> None:
    while running:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        with running.pop(pid) as connection:
            code = os.waitstatus_to_exitcode(status)
            connection.sendall(code.to_bytes(8, "big", signed=True))


def _become(order: dict[str, Any], files: Sequence[int]) -> None:
    """Be what `python -m runtrue` is that was started so."""
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.environ.clear()
    os.environ.update(order["env"])
    os.chdir(order["cwd"])
    sys.stdin, sys.stdout, sys.stderr = (
        _stream(old, number)
        for number, old in enumerate((sys.__stdin__, sys.__stdout__, sys.__stderr__))
    )
    sys.argv = ["runtrue", *order["args"]]
    sys.path.insert(0, order["cwd"])
    runpy.run_module("runtrue", run_name="__main__", alter_sys=True)


def _end(code: object) -> NoReturn:
    """End as Python does, but leave the memory to the system: to free it takes the longest."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(ValueError):  # it is closed
            stream.flush()
    os._exit(code if isinstance(code, int) else 0 if code is None else 1)


def _stream(old: TextIO | None, number: int) -> TextIO:
    assert old is not None
    mode = "r" if number == 0 else "w"
    stream = open(  # noqa: SIM115
        number, mode, encoding=old.encoding, errors=old.errors, closefd=False
    )
    assert isinstance(stream, io.TextIOWrapper)
    stream.reconfigure(line_buffering=number == 2)
    return stream


def _import_all() -> None:
    import runtrue

    for name in _LATE:
        importlib.import_module(name)
    for module in pkgutil.walk_packages(runtrue.__path__, "runtrue."):
        parts = module.name.split(".")
        if not _NO_MODULES & set(parts) and not parts[-1].startswith("_"):
            importlib.import_module(module.name)


if __name__ == "__main__":
    # Started as a module of the directory above, which commands must not find on their path.
    del sys.path[0]
    _serve(sys.argv[1])
