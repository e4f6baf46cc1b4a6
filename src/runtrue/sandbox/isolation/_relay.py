"""The relay: makes the proxy of a box one that programs know, then becomes the command.

Runs as a script in the box and imports nothing of runtrue. Its arguments are the socket of the
proxy, the proxy's network, the allowed ports of that network's loopback, and the command. A copy of
it forwards connections from a port of the box's own loopback, which the usual variables name, as
long as the box exists. Allowed ports of the loopback are the same in the box, through tunnels.
"""

import os
import socket
import sys
import threading

_CHUNK = 65536
_HOST = "127.0.0.1"


def main() -> None:
    path, network, *rest = sys.argv[1:]
    end = rest.index("--")
    routes, argv = rest[:end], rest[end + 1 :]
    try:
        listener = socket.create_server((_HOST, 0))
    except OSError as error:
        sys.stderr.write(
            f"runtrue: there is no loopback interface to reach the allowed hosts "
            f"({error.strerror})\n"
        )
    else:
        address = f"http://{_HOST}:{listener.getsockname()[1]}"
        ways = [(listener, b"")]
        if os.readlink("/proc/self/ns/net") != network:
            ways += [way for route in routes for way in tunnels(route)]
        if os.fork() == 0:
            serve(ways, path)
        for way in ways:
            way[0].close()
        for name in ("http_proxy", "https_proxy", "all_proxy"):
            os.environ[name] = os.environ[name.upper()] = address
        os.environ["no_proxy"] = os.environ["NO_PROXY"] = "localhost,127.0.0.1,::1"
    try:
        os.execvp(argv[0], argv)  # noqa: S606 - it is what was asked for
    except OSError as error:
        sys.stderr.write(f"{argv[0]}: {error.strerror}\n")
        os._exit(127)


def tunnels(route: str) -> "list[tuple[socket.socket, bytes]]":
    """Return the listeners for an allowed route, with the request to the proxy for each."""
    host, _, port = route.rpartition(":")
    found = []
    error = None
    for address in (_HOST, "::1") if host == "localhost" else (host,):
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        try:
            listener = socket.create_server((address, int(port)), family=family)
        except OSError as reason:
            error = reason
        else:
            target = f"[{host}]:{port}" if ":" in host else route
            found.append((listener, f"CONNECT {target} HTTP/1.1\r\n\r\n".encode()))
    if not found and error is not None:
        # Ports below 1024 are not given to everybody, and one may be named twice.
        sys.stderr.write(
            f"runtrue: {route} can be reached only through the proxy ({error.strerror})\n"
        )
    return found


def serve(ways: "list[tuple[socket.socket, bytes]]", path: str) -> None:
    """Forward connections as long as the box exists."""
    kept = {0, 1, 2, *(listener.fileno() for listener, _ in ways)}
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    # What it inherited may be all that tells somebody outside that the command has ended.
    for name in os.listdir("/proc/self/fd"):
        if int(name) not in kept:
            try:
                os.close(int(name))
            except OSError:
                pass
    for way in ways[1:]:
        threading.Thread(target=listen, args=(*way, path), daemon=True).start()
    listen(*ways[0], path)


def listen(listener: socket.socket, request: bytes, path: str) -> None:
    """Forward the connections to one port."""
    while True:
        here, _ = listener.accept()
        threading.Thread(target=carry, args=(here, request, path), daemon=True).start()


def carry(here: socket.socket, request: bytes, path: str) -> None:
    """Forward one connection, after a request to the proxy if there is one."""
    there = socket.socket(socket.AF_UNIX)
    try:
        there.connect(path)
        if request:
            there.sendall(request)
            accepted(there)
    except OSError:
        here.close()
        there.close()
        return
    threading.Thread(target=pass_on, args=(there, here), daemon=True).start()
    pass_on(here, there)


def accepted(proxy: socket.socket) -> None:
    """Read the proxy's answer to a request, and no more. Raises OSError if it refuses."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        byte = proxy.recv(1)
        if not byte:
            break
        head += byte
    if b" 200 " not in head[:16]:
        raise OSError(head[:80])


def pass_on(source: socket.socket, target: socket.socket) -> None:
    """Forward data from one socket to the other."""
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
