"""The relay: makes the proxy of a box one that programs know, then becomes the command.

It is run as a script, by itself, within the box, and imports nothing of runtrue. It is given the
socket of the proxy and the command. A copy of it passes on what comes to a port of the box's own
loopback, as long as the box lasts; a program learns of the port by the usual variables.
"""

import os
import socket
import sys
import threading

_CHUNK = 65536
_HOST = "127.0.0.1"


def main() -> None:
    path, _, *argv = sys.argv[1:]
    try:
        listener = socket.create_server((_HOST, 0))
    except OSError as error:
        sys.stderr.write(
            f"runtrue: there is no loopback to reach the allowed hosts by ({error.strerror})\n"
        )
    else:
        address = f"http://{_HOST}:{listener.getsockname()[1]}"
        if os.fork() == 0:
            serve(listener, path)
        listener.close()
        for name in ("http_proxy", "https_proxy", "all_proxy"):
            os.environ[name] = os.environ[name.upper()] = address
        os.environ["no_proxy"] = os.environ["NO_PROXY"] = "localhost,127.0.0.1,::1"
    try:
        os.execvp(argv[0], argv)  # noqa: S606 - it is what was asked for
    except OSError as error:
        sys.stderr.write(f"{argv[0]}: {error.strerror}\n")
        os._exit(127)


def serve(listener: socket.socket, path: str) -> None:
    """Pass on every connection, until there is nobody left to."""
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    # What it inherited may be all that tells somebody outside that the command has ended.
    for name in os.listdir("/proc/self/fd"):
        if int(name) not in (0, 1, 2, listener.fileno()):
            try:
                os.close(int(name))
            except OSError:
                pass
    while True:
        here, _ = listener.accept()
        there = socket.socket(socket.AF_UNIX)
        try:
            there.connect(path)
        except OSError:
            here.close()
            continue
        for one, other in ((here, there), (there, here)):
            threading.Thread(target=pass_on, args=(one, other), daemon=True).start()


def pass_on(source: socket.socket, target: socket.socket) -> None:
    """Send what comes from one to the other."""
    try:
        while chunk := source.recv(_CHUNK):
            target.sendall(chunk)
    except OSError:
        pass
    try:
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass


if __name__ == "__main__":
    main()
