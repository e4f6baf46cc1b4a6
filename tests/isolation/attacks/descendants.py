"""Attacks that leave a process behind, or lay hands on those of others."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace

from tests.isolation.arena import LIMITS, NET_SECONDS, Arena
from tests.isolation.attack import CONFINED, Group

DESCENDANTS = Group("descendants", "Processes that stay, and those of others")


def _stays(name: str, code: str, *, check_ends: bool = True) -> None:
    def body(arena: Arena) -> None:
        arena.outlive(code, timeout=NET_SECONDS if check_ends else 1.0)

    DESCENDANTS(name)(body)


#: Has the parent end only when the process that is to stay has begun.
_BEGUN = """
    ready, begun = os.pipe()
    def stay():
        alive()
        os.write(begun, b"x")
        while True: signal.pause()
    def wait(): os.read(ready, 1)
"""

_stays("staying in the background", _BEGUN + "    os.fork() or stay()\n    wait()")
_stays(
    "staying by a second fork, as a daemon does",
    _BEGUN
    + """
    if os.fork() == 0:
        os.setsid()
        os.fork() and os._exit(0)
        os.chdir("/")
        stay()
    wait()
    """,
)
_stays(
    "staying in a session and a process group of its own",
    _BEGUN
    + """
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.setpgid(0, 0)
            stay()
        os._exit(0)
    wait()
    """,
)
_stays(
    "staying with nothing in its environment by which it could be known",
    _BEGUN
    + """
    os.set_inheritable(begun, True)
    if os.fork() == 0:
        os.setsid()
        os.fork() and os._exit(0)
        tell = f"os.write({_pipe}, b'x'); os.write({begun}, b'x')"
        code = f"import os, signal; {tell}; signal.pause()"
        os.execve(sys.executable, ["kworker/0:1", "-I", "-S", "-c", code], {})
    wait()
    """,
)
_stays(
    "staying with nohup, deaf to all signals",
    _BEGUN
    + """
    if os.fork() == 0:
        os.setsid()
        for number in range(1, 65):
            try: signal.signal(number, signal.SIG_IGN)
            except (OSError, ValueError): pass
        os.fork() and os._exit(0)
        stay()
    wait()
    """,
)
_stays(
    "staying without any standard stream",
    _BEGUN
    + """
    if os.fork() == 0:
        os.setsid()
        for number in (0, 1, 2): os.close(number)
        os.fork() and os._exit(0)
        stay()
    wait()
    """,
)
_stays(
    "staying as the one who holds the output open",
    _BEGUN
    + """
    if os.fork() == 0:
        os.setsid()
        os.fork() and os._exit(0)
        os.write(1, b"still here")
        stay()
    wait()
    """,
)
_stays(
    "staying after it has asked not to die with its parent",
    _BEGUN
    + """
    import ctypes
    ctypes.CDLL(None).prctl(1, 0, 0, 0, 0)
    if os.fork() == 0:
        ctypes.CDLL(None).prctl(1, 0, 0, 0, 0)
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
        os.setsid()
        os.fork() or stay()
        signal.pause()
    wait()
    """,
)
_stays(
    "staying as a process that is stopped",
    _BEGUN
    + """
    child = os.fork()
    if child == 0:
        os.setsid()
        stay()
    wait()
    os.kill(child, signal.SIGSTOP)
    os.waitpid(child, os.WUNTRACED)
    """,
)
_stays(
    "staying as a thread of a process whose first thread has ended",
    _BEGUN
    + """
    if os.fork() == 0:
        import ctypes, threading
        os.setsid()
        def state(): return open(f"/proc/{os.getpid()}/stat").read().rpartition(")")[2].split()[0]
        def stay_alone():
            while state() != "Z": pass
            stay()
        threading.Thread(target=stay_alone).start()
        ctypes.CDLL(None).syscall(60, 0)
    wait()
    """,
)
_stays(
    "staying by being another process each moment",
    _BEGUN
    + """
    if os.fork() == 0:
        os.setsid()
        alive()
        os.write(begun, b"x")
        # As long as it takes, but not forever if nobody ends it.
        for _ in range(100_000):
            if os.fork(): os._exit(0)
    wait()
    """,
)
_stays(
    "staying when the time is up",
    """
    if os.fork() == 0:
        os.setsid()
        os.fork() and os._exit(0)
        forever()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True: signal.pause()
    """,
    check_ends=False,
)


@DESCENDANTS("staying when a limit is hit")
def staying_after_a_limit(arena: Arena) -> None:
    limits = replace(LIMITS, output=1)
    outcome = arena.outlive(
        """
        if os.fork() == 0:
            os.setsid()
            os.fork() and os._exit(0)
            forever()
        for _ in range(32): os.write(1, b"x" * 65536)
        signal.pause()
        """,
        limits=limits,
    )
    outcome.hit("output", 1)


@DESCENDANTS("staying in a process namespace of its own")
def staying_in_a_namespace(arena: Arena) -> None:
    arena.outlive("""
        import ctypes
        ctypes.CDLL(None).unshare(0x10000000 | 0x20000000)
        ready, begun = os.pipe()
        if os.fork() == 0:
            os.setsid()
            os.fork()
            alive()
            os.write(begun, b"x")
            while True: signal.pause()
        os.read(ready, 1)
    """)


@DESCENDANTS("killing the process that watches it, then staying")
def killing_the_parent(arena: Arena) -> None:
    arena.outlive("""
        ready, begun = os.pipe()
        if os.fork() == 0:
            os.setsid()
            os.fork() and os._exit(0)
            alive()
            os.write(begun, b"x")
            while True: signal.pause()
        os.read(ready, 1)
        if os.getppid() > 1:
            effort("killing the parent", os.kill, os.getppid(), signal.SIGKILL)
    """)


@DESCENDANTS("stopping the process that watches it", CONFINED)
def stopping_the_parent(arena: Arena) -> None:
    outcome = arena.attack("""
        def stop(pid):
            os.kill(pid, signal.SIGSTOP)
            # The first process of a namespace of its own only seems to take it.
            must(open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[0] in "Tt", "it runs")
        attempt("stopping the parent", stop, os.getppid())
    """)
    outcome.says("stopping the parent: ")


@DESCENDANTS("sending signals to the user's processes, and to runtrue", CONFINED)
def signalling_others(arena: Arena) -> None:
    # The numbers may be those of others within its own namespace: what it started itself.
    with arena.bystander() as pid:
        outcome = arena.attack(f"""
            for pid in ({pid}, {os.getpid()}):
                attempt(f"signal to {{pid}}", os.kill, pid, signal.SIGCONT)
                attempt(f"group {{pid}}", os.killpg, pid, signal.SIGCONT)
        """)
    outcome.says(f"signal to {pid}: ")


@DESCENDANTS("tracing the user's processes, and reading or writing their memory", CONFINED)
def tracing_others(arena: Arena) -> None:
    with arena.bystander() as pid:
        outcome = arena.attack(f"""
            for pid in ({pid}, {os.getpid()}, os.getppid()):
                attempt(f"attach {{pid}}", call, 101, 0x4206, pid, 0, 0)
                attempt("memory", lambda: must(read(f"/proc/{{pid}}/mem"), "it is empty"))
                attempt("vm", call, 310, pid, bytes(16), 1, bytes(16), 1, 0)
                attempt("pidfd", lambda: call(438, os.pidfd_open(pid), 0, 0))
        """)
    outcome.says(f"attach {pid}: ")


@DESCENDANTS("staying when runtrue itself is killed")
def staying_when_the_runner_dies(arena: Arena) -> None:
    """The runner is a process of its own here, which is killed without a word."""
    pipe = arena.sandbox / "alive"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        code = (
            "import os, signal\n"
            f"pipe = os.open({str(pipe)!r}, os.O_WRONLY)\n"
            "if os.fork() == 0:\n    os.setsid()\n    os.fork() and os._exit(0)\n"
            "    os.write(pipe, b'x')\n"
            "while True: signal.pause()\n"
        )
        (arena.sandbox / "attack.py").write_text(code)
        script = (
            "import asyncio, sys\nfrom pathlib import Path\n"
            "from runtrue import process\nfrom runtrue.config import IsolationConfig\n"
            "from runtrue.sandbox.isolation import Isolation\n"
            "sandbox, home, level = Path(sys.argv[1]), sys.argv[2], sys.argv[3]\n"
            "config = IsolationConfig(level=level, minimum='process')\n"
            "box = Isolation(config).box(write=(sandbox,))\n"
            "argv = [sys.executable, '-I', '-S', str(sandbox / 'attack.py')]\n"
            "env = {'PATH': '/usr/bin:/bin', 'HOME': home}\n"
            "asyncio.run(process.run(argv, cwd=sandbox, env=env, timeout=100, confinement=box))\n"
        )
        argv = [sys.executable, "-c", script, str(arena.sandbox), str(arena.home), arena.level]
        with subprocess.Popen(argv) as runner:
            arena.wait_for_beginning(reader)
            runner.send_signal(signal.SIGKILL)
        arena.wait_for_end(reader)
    finally:
        os.close(reader)


@DESCENDANTS("staying after a project was repaired")
def staying_after_a_repair(arena: Arena) -> None:
    finding = arena.fix("""
        ready, begun = os.pipe()
        os.set_inheritable(begun, True)
        if os.fork() == 0:
            os.setsid()
            os.fork() and os._exit(0)
            # What it is known by is its path.
            code = f"import os, signal; os.write({begun}, b'x'); signal.pause()"
            os.execve(sys.executable, [sys.executable, "-I", "-S", "-c", code, "<root>"], {})
        os.read(ready, 1)
    """)
    assert finding["category"] == "exit_code"
