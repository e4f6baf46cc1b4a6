"""Attacks on secrets: wherever a user has some, beside files."""

from __future__ import annotations

from tests.isolation.arena import TOKEN, Arena
from tests.isolation.attack import BUBBLEWRAP, CONFINED, Group

SECRETS = Group("secrets", "Secrets")

SECRETS.code(
    "printing all variables",
    f"""
    attempt("token", os.environ.__getitem__, "{TOKEN}")
    sys.stdout.write(repr(dict(os.environ)))
    """,
    says=f"token: KeyError: '{TOKEN}'",
)
SECRETS.code(
    "reading the variables that its parents were started with",
    """
    pid = os.getppid()
    while pid > 1:
        try: sys.stdout.write(repr(read(f"/proc/{pid}/environ")))
        except OSError as error: sys.stderr.write(f"environ: {error}\\n")
        try: pid = int(read(f"/proc/{pid}/stat").rpartition(b")")[2].split()[1])
        except OSError: break
    """,
    promised=CONFINED,
)


@SECRETS("reading the variables of the user's other processes", CONFINED)
def others_variables(arena: Arena) -> None:
    with arena.bystander() as pid:
        arena.attack(f"""
            for name in ("{pid}", *filter(str.isdigit, os.listdir("/proc"))):
                try: got = read(f"/proc/{{name}}/environ")
                except OSError as error: sys.stderr.write(f"environ: {{error}}\\n")
                else: attempt("token", lambda: must(b"{TOKEN}" in got, "not there"))
        """).says(f"/proc/{pid}/environ")


@SECRETS("reading the arguments of the user's other processes, as ps does", BUBBLEWRAP)
def others_arguments(arena: Arena) -> None:
    with arena.bystander() as pid:
        arena.attack(f"""
            for name in ("{pid}", *filter(str.isdigit, os.listdir("/proc"))):
                try: got = read(f"/proc/{{name}}/cmdline")
                except OSError as error: sys.stderr.write(f"cmdline: {{error}}\\n")
                else: attempt("arguments", lambda: must(b"--password" in got, "not there"))
        """).says(f"/proc/{pid}/cmdline")


SECRETS.code(
    "reading the kernel's store of keys",
    """
    attempt("keyctl", call, 250, 0, -3, 0)
    attempt("request_key", call, 249, b"user", b"token", 0, 0)
    attempt("add_key", call, 248, b"user", b"attack", b"x", 1, -3)
    """,
    promised=CONFINED,
    says="keyctl: ",
)
SECRETS.code(
    "asking git for the user's credentials",
    """
    import subprocess
    asked = b"protocol=https\\nhost=example.org\\n\\n"
    for store in ("store", f"store --file=<home>/.git-credentials"):
        done = subprocess.run(["git", "-c", f"credential.helper={store}", "credential", "fill"],
                              input=asked, capture_output=True, timeout=50,
                              env={**os.environ, "GIT_TERMINAL_PROMPT": "0"})
        sys.stderr.write(f"git: {done.stdout!r} {done.stderr!r}\\n")
    """,
    promised=CONFINED,
    says="git: ",
)
SECRETS.code(
    "finding the user's agents by their variables",
    """
    for name in ("SSH_AUTH_SOCK", "SSH_AGENT_PID", "GPG_AGENT_INFO", "DBUS_SESSION_BUS_ADDRESS",
                 "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "KUBECONFIG", "DOCKER_HOST"):
        attempt(name, os.environ.__getitem__, name)
    """,
    says="SSH_AUTH_SOCK: KeyError",
)
SECRETS.code(
    "reading what the kernel says of everybody",
    """
    for name in ("/proc/kcore", "/proc/kmsg", "/dev/kmsg"):
        attempt(name, lambda: must(read(name), "nothing"))
    # Addresses in the kernel are all 0 for those whom they do not concern.
    addresses = {line[:16] for line in read("/proc/kallsyms").split(b"\\n")[:-1]}
    attempt("addresses", lambda: must(addresses - {b"0" * 16}, "zeros"))
    attempt("syslog", call, 103, 3, bytes(100), 100)
    """,
    promised=CONFINED,
    says="/proc/kcore: ",
)


@SECRETS("printing all variables from a project that is repaired")
def printing_from_a_repair(arena: Arena) -> None:
    finding = arena.fix(f"""
        attempt("token", os.environ.__getitem__, "{TOKEN}")
        sys.stdout.write(repr(dict(os.environ)))
    """)
    assert f"token: KeyError: '{TOKEN}'" in finding["sample"]
    kept = [file for file in (arena.root / "runtrue").rglob("*") if file.is_file()]
    assert kept
    assert not [file for file in kept if arena.secret.encode() in file.read_bytes()]
