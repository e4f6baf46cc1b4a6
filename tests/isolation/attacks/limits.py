"""Attacks on what a machine has only so much of: time, memory, processes, files, disk, output.

What they try to take is bounded, so that none could hurt the machine even if nothing stopped it.
"""

from __future__ import annotations

import asyncio
import os
import sys
from dataclasses import replace
from textwrap import dedent

from runtrue.checks import CommandCheck
from runtrue.confinement import ResourceLimits
from runtrue.fixers.search.forked_prover import Prover, TrialLimits
from runtrue.fixers.search.trial import End, ProofResult
from tests.isolation.arena import LIMITS, Arena
from tests.isolation.attack import CONFINED, Group
from tests.sandbox.support import make_repository

LIMITED = Group("limits", "Time, memory, processes, disk and output")

_SHORT = 1.0
_CPU = replace(LIMITS, cpu=1)
_MEMORY = replace(LIMITS, memory=160)
_PROCESSES = replace(LIMITS, processes=24)
_DISK = replace(LIMITS, disk=24)
_OUTPUT = replace(LIMITS, output=1)


def _hits(name: str, limit: str, limits: ResourceLimits, code: str) -> None:
    """An attack that is stopped by a limit, as its finding says."""

    def body(arena: Arena) -> None:
        arena.attack(code, limits=limits).hit(limit, getattr(limits, limit))

    LIMITED(name)(body)


# -- time -----------------------------------------------------------------------------------------

_hits("computing forever", "cpu", _CPU, "while True: pass")
_hits(
    "computing forever, deaf to the signal that says it is enough",
    "cpu",
    _CPU,
    """
    signal.signal(signal.SIGXCPU, signal.SIG_IGN)
    while True: pass
    """,
)
_hits(
    "computing in several processes, of which none takes long",
    "cpu",
    _CPU,
    """
    import time
    while True:
        for _ in range(2):
            if os.fork() == 0:
                while time.process_time() < 0.3: pass
                os._exit(0)
        os.wait(), os.wait()
    """,
)
_hits(
    "computing in processes that nobody waits for",
    "cpu",
    _CPU,
    """
    import time
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        if os.fork() == 0:
            while time.process_time() < 0.5: pass
            os._exit(0)
        try: os.wait()
        except ChildProcessError: pass
    """,
)


@LIMITED("waiting forever, deaf to the signal to end")
def waiting_for_ever(arena: Arena) -> None:
    outcome = arena.attack(
        """
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        while True: signal.pause()
        """,
        timeout=_SHORT,
    )
    assert outcome.finding.category == "timeout"
    data = outcome.finding.data
    assert (data["limit"], data["allowed"]) == ("wall_time", _SHORT)
    assert float(data["used"]) >= _SHORT


@LIMITED("stopping itself, so it never ends")
def stopping_itself(arena: Arena) -> None:
    outcome = arena.attack("os.kill(os.getpid(), signal.SIGSTOP)", timeout=_SHORT)
    assert outcome.finding.category == "timeout"


# -- processes ------------------------------------------------------------------------------------

_hits(
    "a fork bomb",
    "processes",
    _PROCESSES,
    """
    # Ten thousand at most, each of which goes on.
    for _ in range(10000):
        try: os.fork()
        except OSError: signal.pause()
    """,
)


@LIMITED("a fork bomb of the shell")
def shell_bomb(arena: Arena) -> None:
    # Three to the power of nine at most. A shell that cannot start another one would end.
    (arena.sandbox / "bomb.sh").write_text(
        "trap 'exec sleep 100' EXIT\n"
        'd=$1; [ "$d" -gt 9 ] && exit\n'
        "for i in 1 2 3; do sh $0 $((d + 1)) & done; wait\n"
    )
    script = arena.sandbox / "bomb.sh"
    outcome = arena.check(f"sh {script} 0", limits=_PROCESSES)
    outcome.hit("processes", _PROCESSES.processes)


_hits(
    "starting threads without end",
    "processes",
    _PROCESSES,
    """
    import threading
    wait = threading.Event()
    for _ in range(500):
        try: threading.Thread(target=wait.wait).start()
        except RuntimeError: wait.wait()
    """,
)
_hits(
    "leaving dead processes that nobody buries",
    "processes",
    _PROCESSES,
    """
    for _ in range(500):
        try:
            if os.fork() == 0: os._exit(0)
        except OSError: signal.pause()
    signal.pause()
    """,
)

# -- memory ---------------------------------------------------------------------------------------

_hits(
    "taking memory in one process",
    "memory",
    _MEMORY,
    """
    taken = []
    try:
        for _ in range(75): taken.append(bytearray(b"x") * 4_000_000)
    except MemoryError: pass
    signal.pause()
    """,
)
_hits(
    "taking memory in many processes, of which each has little",
    "memory",
    _MEMORY,
    """
    for number in range(10):
        if os.fork() == 0:
            taken = bytearray(b"x") * 24_000_000
            signal.pause()
    signal.pause()
    """,
)
_hits(
    "taking memory that processes share",
    "memory",
    _MEMORY,
    """
    import mmap
    taken = mmap.mmap(-1, 256 << 20)
    for at in range(0, len(taken), 4096): taken[at] = 1
    signal.pause()
    """,
)
_hits(
    "taking memory as a file without a name",
    "memory",
    _MEMORY,
    """
    files = [os.memfd_create(f"m{number}") for number in range(32)]
    for file in files: os.write(file, b"x" * (8 << 20))
    signal.pause()
    """,
)


@LIMITED("taking memory as files in shared memory", CONFINED)
def filling_shared_memory(arena: Arena) -> None:
    outcome = arena.attack(
        """
        def fill():
            for number in range(40):
                with open(f"/dev/shm/{number}", "wb") as file: file.write(b"x" * (8 << 20))
        attempt("shared memory", fill)
        """,
        limits=_MEMORY,
    )
    outcome.says("shared memory: OSError: [Errno 28]")


LIMITED.code(
    "taking memory that no process has, by System V's calls",
    """
    import ctypes
    libc = ctypes.CDLL(None, use_errno=True)
    def take():
        # Marked to be removed, they go with the last process.
        segments = [libc.shmget(0, ctypes.c_size_t(8 << 20), 0o1600) for _ in range(8)]
        for segment in segments: libc.shmctl(segment, 0, None)
        must(max(segments) >= 0, "refused")
    attempt("segments", take)
    """,
    promised=CONFINED,
    says="segments: ValueError: refused",
)

_hits(
    "taking memory as tables of pages",
    "memory",
    _MEMORY,
    """
    import mmap
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000  # MAP_NORESERVE
    maps = [mmap.mmap(-1, 1 << 36, flags=flags, prot=mmap.PROT_READ) for _ in range(2)]
    # Each look brings a table of a page, and no memory of its own: all is the same page of zeros.
    for one in maps:
        one.madvise(15)  # MADV_NOHUGEPAGE
        for place in range(0, 1 << 36, 1 << 21): one[place]
    signal.pause()
    """,
)
LIMITED.code(
    "taking memory that no process is seen to have: secret, or messages to others",
    """
    attempt("memfd_secret", call, 447, 0)
    attempt("msgget", call, 68 if os.uname().machine == "x86_64" else 186, 0, 0o1600)
    """,
    promised=CONFINED,
    says="msgget: OSError",
)


@LIMITED("binding the user's processes to other processors", CONFINED)
def affinity(arena: Arena) -> None:
    with arena.bystander() as pid:
        before = os.sched_getaffinity(pid)
        arena.attack(f"""
            import ctypes
            mask = ctypes.create_string_buffer(b"\\1" + bytes(127), 128)
            number = 203 if os.uname().machine == "x86_64" else 122
            attempt("affinity", call, number, {pid}, 128, mask)
            attempt("affinity", os.sched_setscheduler, {pid}, os.SCHED_IDLE, os.sched_param(0))
        """).says("affinity: ")
        assert os.sched_getaffinity(pid) == before


# -- disk -----------------------------------------------------------------------------------------

_hits(
    "filling the disk with many files",
    "disk",
    _DISK,
    """
    for number in range(64):
        with open(f"file-{number}", "wb") as file: file.write(b"x" * (1 << 20))
    os.sync()
    signal.pause()
    """,
)
_hits(
    "filling the disk with links, which have no content",
    "disk",
    _DISK,
    """
    for number in range(60_000): os.symlink("x" * 8, f"link-{number}")
    os.sync()
    signal.pause()
    """,
)
_hits(
    "filling the disk with empty directories, deeper than any path",
    "disk",
    _DISK,
    """
    for top in range(60):
        os.mkdir(f"top-{top}")
        os.chdir(f"top-{top}")
        for depth in range(250):
            os.mkdir("d" * 200)
            os.chdir("d" * 200)
            for number in range(3): os.mkdir(f"e-{number}")
        os.chdir("<sandbox>")
    os.sync()
    signal.pause()
    """,
)
_hits(
    "filling the disk with a file that has no name any more",
    "disk",
    _DISK,
    """
    files = []
    for number in range(4):
        files.append(open(f"file-{number}", "wb"))
        os.remove(f"file-{number}")
        for _ in range(12): files[-1].write(b"x" * (1 << 20))
        files[-1].flush()
    os.sync()
    signal.pause()
    """,
)
_hits(
    "filling the disk with files that nobody can see",
    "disk",
    _DISK,
    """
    import ctypes
    ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
    files = [os.open(".", os.O_TMPFILE | os.O_RDWR) for _ in range(4)]
    for file in files:
        for _ in range(12): os.write(file, b"x" * (1 << 20))
    os.sync()
    signal.pause()
    """,
)
_hits(
    "filling the disk where temporary files go",
    "disk",
    _DISK,
    """
    for number in range(48):
        with open(os.environ["TMPDIR"] + f"/file-{number}", "wb") as file:
            file.write(b"x" * (1 << 20))
    os.sync()
    signal.pause()
    """,
)
_hits(
    "filling the disk with old files: their times are set back",
    "disk",
    _DISK,
    """
    for number in range(48):
        with open(f"file-{number}", "wb") as file: file.write(b"x" * (1 << 20))
        os.utime(f"file-{number}", (0, 0))
    os.sync()
    signal.pause()
    """,
)


@LIMITED("filling the disk from a candidate of a search, beside one that is innocent")
def filling_by_candidates(arena: Arena) -> None:
    programs = {"shop.py": "def total(a):\n    return 0\n"}
    programs["test_shop.py"] = (
        "from shop import total\ndef test_total():\n    assert total(3) == 3\n"
    )
    for name, text in programs.items():
        (arena.sandbox / name).write_text(text)
    hostile = """
        import os, tempfile, time
        def total(a):
            for _ in range(4):
                os.write(tempfile.mkstemp()[0], bytes(8 << 20))
            os.sync()
            time.sleep(60)
            return a
    """
    innocent = "import time\ndef total(a):\n    time.sleep(0.5)\n    return a\n"
    box = arena.isolation(_DISK).box(write=(arena.sandbox,), private=arena.private)
    pytest = f"{sys.executable} -m pytest -q -p no:cacheprovider"
    command = CommandCheck(name="tests", command=pytest)

    async def run() -> list[ProofResult]:
        limits = TrialLimits(jobs=2, least=30.0, least_failing=30.0)
        async with Prover.open(command, arena.workplace(box), limits) as prover:
            tried = ({"shop.py": text} for text in (dedent(hostile), innocent))
            return await asyncio.gather(*map(prover.prove, tried))

    filling, other = asyncio.run(run())
    assert filling.end is End.DIED
    assert filling.detail.startswith("it wrote too much")
    assert other.end is End.PASSED


@LIMITED("filling the disk of a sandbox that a repair works in")
def filling_a_git_sandbox(arena: Arena) -> None:
    project = make_repository(arena.root / "app", {"app.py": "x = 1\n"})
    workplace = arena.git_sandbox(project, _DISK).workplace()
    command = "for i in 1 2 3 4; do dd if=/dev/zero of=f$i bs=1M count=12; done; sync; sleep 100"
    arena.judge(f"sh -c '{command}'", workplace).hit("disk", _DISK.disk)


_hits(
    "writing a file that is too large",
    "file_size",
    replace(LIMITS, file_size=2),
    """
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    write("large", "w", "x" * (3 << 20))
    """,
)
_hits(
    "making a file large without writing it",
    "file_size",
    replace(LIMITS, file_size=2),
    """
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    os.truncate(os.open("large", os.O_CREAT | os.O_RDWR), 1 << 40)
    """,
)


_hits(
    "opening files without end",
    "open_files",
    replace(LIMITS, open_files=64),
    """
    try: files = [os.open("/dev/null", os.O_RDONLY) for _ in range(100)]
    except OSError: signal.pause()
    """,
)

# -- output ---------------------------------------------------------------------------------------

for _stream in (1, 2):
    _hits(
        f"flooding the {'output' if _stream == 1 else 'messages'} of a check",
        "output",
        _OUTPUT,
        f"""
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        for _ in range(32): os.write({_stream}, b"x" * 65535 + b"\\n")
        signal.pause()
        """,
    )
_hits(
    "flooding the output from a process in the background",
    "output",
    _OUTPUT,
    """
    if os.fork() == 0:
        os.setsid()
        for _ in range(32): os.write(1, b"x" * 65536)
    signal.pause()
    """,
)


@LIMITED("flooding the output of a project that is repaired")
def flooding_a_repair(arena: Arena) -> None:
    code = """
        for _ in range(32): os.write(1, b"x" * 65535 + b"\\n")
        signal.pause()
    """
    finding = arena.fix(code, "[isolation.limits]\noutput = 1\n")
    assert finding["category"] == "resource_limit"
    assert (finding["data"]["limit"], finding["data"]["allowed"]) == ("output", 1)
    assert finding["data"]["used"] > 1


# -- the limits themselves ------------------------------------------------------------------------

LIMITED.code(
    "lifting its own limits",
    """
    import resource
    for name in ("CPU", "FSIZE", "NOFILE", "NPROC"):
        kind = getattr(resource, "RLIMIT_" + name)
        hard = resource.getrlimit(kind)[1]
        attempt(name, lambda: must(hard == -1, f"it is {hard}"))
        attempt(name, resource.setrlimit, kind, (hard + 1, hard + 1))
    """,
    promised=CONFINED,
    says="FSIZE: ValueError",
)


@LIMITED("changing the limits, or the priority, of other processes", CONFINED)
def limiting_others(arena: Arena) -> None:
    with arena.bystander() as pid:
        outcome = arena.attack(f"""
            import resource
            for pid in ({pid}, os.getppid()):
                attempt("prlimit", resource.prlimit, pid, resource.RLIMIT_NOFILE, (64, 64))
                attempt("priority", os.setpriority, os.PRIO_PROCESS, pid, 19)
            attempt("own priority", os.nice, -10)
        """)
    outcome.says("prlimit: ")
