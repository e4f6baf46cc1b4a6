"""Commands at the levels `landlock` and `process` do no harm, and nothing of them is left.

Each rule is tried by a real command, with namespaces and without, as root and as an ordinary user
where the tests run as root.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import errno
import functools
import os
import resource
import select
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from runtrue.confinement import ResourceLimits, Start
from runtrue.sandbox.isolation import _confine, landlock
from runtrue.sandbox.isolation.box import View
from runtrue.sandbox.isolation.landlock import Cell, StartReport, confining, seccomp_filter
from runtrue.sandbox.isolation.visible_paths import SYSTEM, tools

if not sys.platform.startswith("linux"):
    pytest.skip("these levels are Linux's", allow_module_level=True)

NOBODY = 65534
ENV = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/nowhere"}
#: Long enough that no test gets there; a test that does has found a process that was left alone.
FOREVER = 600
LEVELS = ("process", "together", "apart")
CONFINED = ("together", "apart")


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str
    report: StartReport


@dataclass(frozen=True)
class Place:
    """A directory to work in, one beside it that is not the command's, and who works there."""

    work: Path
    outside: Path
    user: int | None
    variant: str
    before: Callable[[], None] | None = None

    def cell(self, **changes: object) -> Cell:
        cell = Cell(
            level="process" if self.variant == "process" else "landlock",
            namespaces=self.variant == "apart",
            directory=self.work,
            environment=ENV,
            read=(*map(Path, SYSTEM), *tools(ENV)),
            write=(self.work,),
        )
        return dataclasses.replace(cell, **changes)  # type: ignore[arg-type]

    def popen(self, start: Start, *, stdout: int = subprocess.PIPE) -> subprocess.Popen[bytes]:
        # The same launcher, with a Python that the user can start.
        argv = (interpreter(self.user) or start.argv[0], *start.argv[1:])
        as_whom = {"user": self.user, "group": self.user, "extra_groups": []} if self.user else {}
        return subprocess.Popen(  # type: ignore[call-overload, no-any-return]
            argv,
            cwd=self.work,
            env=start.env,
            pass_fds=start.pass_fds,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=subprocess.PIPE,
            start_new_session=True,
            preexec_fn=self.before,  # noqa: PLW1509 - it only makes two system calls
            **as_whom,
        )

    def run(self, *argv: str, **changes: object) -> Done:
        """Run a command to its end."""

        async def run() -> Done:
            async with confining(self.cell(**changes), argv) as (start, report):
                with self.popen(start) as process:
                    out, err = await asyncio.to_thread(process.communicate)
            return Done(process.returncode, out.decode(), err.decode(), report)

        return asyncio.run(run())

    def python(self, code: str, *args: str, **changes: object) -> Done:
        return self.run(*self.script(code), *args, **changes)

    def script(self, code: str) -> tuple[str, ...]:
        return (interpreter(self.user) or sys.executable, "-S", "-c", textwrap.dedent(code))


def attempt(code: str) -> str:
    """Code that says what comes of an attempt: `done`, or the name of the error."""
    return (
        "import errno, os, sys\ntry:\n"
        + textwrap.indent(textwrap.dedent(code), "    ")
        + "\nexcept OSError as error:\n    print(errno.errorcode[error.errno])\n"
        "else:\n    print('done')\n"
    )


#: A system call, for what Python has no function for.
SYSCALL = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
def call(name, *args):
    if getattr(libc, name)(*args) == -1:
        raise OSError(ctypes.get_errno(), name)
"""


@pytest.fixture(params=["as we are", "ordinary"])
def user(request: pytest.FixtureRequest) -> int | None:
    if request.param == "as we are":
        return None
    if os.getuid() != 0:
        pytest.skip("only root can be another user")
    if interpreter(NOBODY) is None:
        pytest.skip("there is no Python that an ordinary user can start")
    return NOBODY


@functools.cache
def interpreter(user: int | None) -> str | None:
    """A Python that a user can start: ours may be in somebody's home."""
    for program in (sys.executable, "/usr/bin/python3"):
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            subprocess.run([program, "-c", "import json, ctypes"], user=user, check=True)
            return program
    return None


def make_place(variant: str, user: int | None) -> Iterator[Place]:
    level = "process" if variant == "process" else "landlock"
    if (reason := landlock.probe(level)) is not None:
        pytest.skip(f"{level} is not available here: {reason}")
    if variant == "apart" and "namespaces" in landlock.missing(level):
        pytest.skip("this machine does not let users have namespaces")
    with tempfile.TemporaryDirectory(prefix="rt-", ignore_cleanup_errors=True) as made:
        Path(made).chmod(0o755)
        work, outside = Path(made, "work"), Path(made, "outside")
        for directory in (work, outside):
            directory.mkdir()
            (directory / "file").write_text("theirs\n")
            if user:
                for path in (directory, directory / "file"):
                    os.chown(path, user, user)
        yield Place(work, outside, user, variant)


@pytest.fixture(params=LEVELS)
def place(request: pytest.FixtureRequest, user: int | None) -> Iterator[Place]:
    """Every level."""
    yield from make_place(request.param, user)


@pytest.fixture(params=CONFINED)
def cell(request: pytest.FixtureRequest, user: int | None) -> Iterator[Place]:
    """The level `landlock`, with namespaces and without."""
    yield from make_place(request.param, user)


def descriptors() -> list[str]:
    return sorted(path.name for path in Path("/proc/self/fd").iterdir())


def is_over(reader: int) -> bool:
    """Whether all that held the other end of a pipe are gone; waits for it."""
    ready, _, _ = select.select([reader], [], [], 30)
    return bool(ready) and os.read(reader, 1) == b""


def sigterm(process: subprocess.Popen[bytes]) -> None:
    os.killpg(process.pid, signal.SIGTERM)


class TestEnd:
    @pytest.mark.parametrize("code", [0, 1, 7, 125, 127, 200, 255])
    def test_the_exit_code_is_the_commands(self, place: Place, code: int) -> None:
        assert place.run("sh", "-c", f"exit {code}").code == code

    @pytest.mark.parametrize(
        "number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM, signal.SIGPIPE, signal.SIGXFSZ]
    )
    def test_a_signal_is_passed_on(self, place: Place, number: signal.Signals) -> None:
        assert place.run("sh", "-c", f"kill -{number} $$").code == -number

    def test_the_streams_arguments_and_environment_are_the_commands(self, place: Place) -> None:
        env = {**ENV, "GIVEN": "ünd \udcff", "LD_LIBRARY_PATH": "/nowhere"}
        code = "import os, sys; print(sys.argv[1:], ascii(os.environ['GIVEN'])); sys.exit('err')"
        done = place.python(code, "a b", "ü", "--", environment=env)
        assert done.out == "['a b', 'ü', '--'] '\\xfcnd \\udcff'\n"
        assert (done.err, done.code) == ("err\n", 1)

    def test_it_begins_in_its_directory(self, place: Place) -> None:
        assert place.run("pwd").out == f"{place.work}\n"

    def test_signals_are_as_usual_for_it(self, place: Place) -> None:
        done = place.run("grep", "-E", "Sig(Ign|Blk)", "/proc/self/status")
        assert [int(line.split()[1], 16) for line in done.out.splitlines()] == [0, 0]

    def test_a_polite_end_is_passed_on(self, place: Place) -> None:
        async def run() -> tuple[int, bytes]:
            polite = "trap 'echo bye; exit 4' TERM; echo up; while :; do read x <fifo; done"
            os.mkfifo(place.work / "fifo")
            (place.work / "fifo").chmod(0o666)
            async with confining(place.cell(), ["sh", "-c", polite]) as (start, _):
                with place.popen(start) as process:
                    assert process.stdout is not None
                    assert process.stdout.readline() == b"up\n"
                    sigterm(process)
                    out = await asyncio.to_thread(process.stdout.read)
                    return await asyncio.to_thread(process.wait), out

        assert asyncio.run(run()) == (4, b"bye\n")


class TestStart:
    @pytest.mark.parametrize(
        ("program", "error"),
        [
            ("no-such-program", FileNotFoundError),
            ("./no-such-program", FileNotFoundError),
            ("./file", PermissionError),
            ("/", PermissionError),
        ],
    )
    def test_a_program_that_cannot_be_started_is_told_as_ever(
        self, place: Place, program: str, error: type[OSError]
    ) -> None:
        (place.work / "file").chmod(0o600)
        with pytest.raises(error) as raised:
            place.run(program)
        assert raised.value.filename == program

    def test_a_script_without_its_interpreter_is_told_as_ever(self, place: Place) -> None:
        (place.work / "script").write_text("#!/no/such/interpreter\n")
        (place.work / "script").chmod(0o755)
        with pytest.raises(FileNotFoundError):
            place.run("./script")

    def test_a_program_that_may_not_be_seen_is_not_started(self, cell: Place) -> None:
        (cell.outside / "program").write_text("#!/bin/sh\n")
        (cell.outside / "program").chmod(0o755)
        with pytest.raises((PermissionError, FileNotFoundError)):
            cell.run(str(cell.outside / "program"))

    def test_a_directory_that_is_not_there_is_an_error(self, place: Place) -> None:
        with pytest.raises(OSError, match="nowhere"):
            place.run("true", directory=place.work / "nowhere")

    def test_nothing_is_run_where_nothing_was_started(self, place: Place) -> None:
        async def run() -> None:
            async with confining(place.cell(), ["true"]):
                pass

        asyncio.run(run())

    def test_no_descriptor_of_ours_is_left_open(self, place: Place) -> None:
        place.run("true")
        before = descriptors()
        for _ in range(3):
            place.run("true")
            with contextlib.suppress(OSError):
                place.run("no-such-program")
        assert descriptors() == before


class TestFiles:
    def test_what_is_its_own_can_be_written_and_run(self, place: Place) -> None:
        made = (
            "mkdir d && echo '#!/bin/sh\necho ran' >d/x && chmod +x d/x && mv d e && e/x && rm e/x"
        )
        assert place.run("sh", "-c", f"echo mine >file && {made}").out == "ran\n"
        assert (place.work / "file").read_text() == "mine\n"

    def test_the_system_can_be_read(self, place: Place) -> None:
        done = place.run(
            "sh", "-c", "cat /etc/passwd >/dev/null && ls /usr/bin >/dev/null && : >/dev/null"
        )
        assert (done.code, done.err) == (0, "")

    @pytest.mark.parametrize(
        "harm",
        [
            "open({0!r} + '/file').read()",
            "open({0!r} + '/file', 'w').write('mine')",
            "open({0!r} + '/new', 'w')",
            "os.truncate({0!r} + '/file', 0)",
            "os.listdir({0!r})",
            "os.unlink({0!r} + '/file')",
            "os.rename({0!r} + '/file', 'taken')",
            "os.rename('file', {0!r} + '/file')",
            "os.link({0!r} + '/file', 'linked')",
            "os.mkdir({0!r} + '/d')",
            "os.symlink('/', {0!r} + '/l')",
            "os.mkfifo({0!r} + '/p')",
            "os.open('/etc/passwd', os.O_WRONLY)",
            "open('/usr/lib/runtrue-was-here', 'w')",
            "open('/proc/self/oom_score_adj', 'w').write('0')",
        ],
    )
    def test_what_is_outside_cannot_be_read_or_changed(self, cell: Place, harm: str) -> None:
        done = cell.python(attempt(harm.format(str(cell.outside))))
        assert done.out.strip() in {"EACCES", "ENOENT", "EROFS", "EXDEV", "EPERM"}, done
        assert [path.name for path in cell.outside.iterdir()] == ["file"]
        assert (cell.outside / "file").read_text() == "theirs\n"

    def test_a_link_to_the_outside_leads_nowhere(self, cell: Place) -> None:
        (cell.work / "link").symlink_to(cell.outside / "file")
        assert cell.run("cat", "link").code == 1
        assert cell.run("sh", "-c", "echo mine >link").code != 0
        assert (cell.outside / "file").read_text() == "theirs\n"

    def test_the_home_is_not_there_to_be_read(self, cell: Place) -> None:
        home = cell.outside / "home"
        (home / ".ssh").mkdir(parents=True)
        (home / ".ssh" / "id").write_text("secret")
        done = cell.run("sh", "-c", "cat ~/.ssh/id; ls ~", environment={**ENV, "HOME": str(home)})
        assert done.out == ""

    def test_another_home_takes_its_place_with_the_users_tools_in_it(self, cell: Place) -> None:
        home, mine = cell.outside / "home", cell.outside / "mine"
        (home / ".tools" / "bin").mkdir(parents=True)
        (home / ".tools" / "bin" / "tool").write_text("#!/bin/sh\necho tool\n")
        (home / ".tools" / "bin" / "tool").chmod(0o755)
        (home / ".netrc").write_text("secret")
        mine.mkdir()
        if cell.user:
            os.chown(mine, cell.user, cell.user)
        done = cell.run(
            "sh",
            "-c",
            "~/.tools/bin/tool; cat ~/.netrc; echo x >~/y; echo x >~/.tools/z; ls ~",
            environment={**ENV, "HOME": str(home)},
            environment_together={"HOME": str(mine)},
            read=(*map(Path, SYSTEM), home / ".tools"),
            binds=((mine, home),),
            home=(mine, home),
        )
        assert done.out == "tool\ny\n"
        assert (mine / "y").read_text() == "x\n"
        assert sorted(path.name for path in home.iterdir()) == [".netrc", ".tools"]

    def test_what_is_hidden_in_what_it_may_read_is_not_seen(self, cell: Place) -> None:
        shown = cell.outside / "shown"
        (shown / "private").mkdir(parents=True)
        (shown / "deep").mkdir()
        for name in ("a", "private/b", "deep/c", "deep/d"):
            (shown / name).write_text(name)
            (shown / name).chmod(0o666)
        done = cell.run(
            "sh",
            "-c",
            f"cd {shown}; cat a private/b deep/c deep/d",
            read=(*map(Path, SYSTEM), shown),
            hidden=(shown / "private", shown / "deep" / "c", shown / "nothing"),
        )
        assert done.out == "adeep/d"

    def test_no_device_can_be_made(self, cell: Place) -> None:
        done = cell.python(attempt("import stat; os.mknod('d', stat.S_IFCHR | 0o600, 0x103)"))
        assert done.out.strip() in {"EACCES", "EPERM"}

    def test_the_environment_of_other_processes_is_nobodys_business(self, cell: Place) -> None:
        done = cell.python(attempt(f"open('/proc/{os.getpid()}/environ').read()"))
        assert done.out.strip() in {"EACCES", "EPERM"}
        done = cell.python(attempt("open(f'/proc/{os.getppid()}/environ').read()"))
        assert done.out.strip() in {"EACCES", "EPERM"}


class TestFilesApart:
    """What Landlock alone has no rules for."""

    @pytest.fixture
    def apart(self, user: int | None) -> Iterator[Place]:
        yield from make_place("apart", user)

    @pytest.mark.parametrize(
        "harm",
        [
            "os.chmod({0!r} + '/file', 0)",
            "os.utime({0!r} + '/file', (1, 1))",
            "os.stat({0!r} + '/file')",
            "os.chdir({0!r})",
            "os.chmod('/etc', 0o755)",
            "os.utime('/etc')",
        ],
    )
    def test_what_is_outside_has_no_modes_or_times_to_change(self, apart: Place, harm: str) -> None:
        before = (apart.outside / "file").stat()
        done = apart.python(attempt(harm.format(str(apart.outside))))
        assert done.out.strip() in {"ENOENT", "EROFS", "EPERM", "EACCES"}
        after = (apart.outside / "file").stat()
        assert (before.st_mode, before.st_mtime) == (after.st_mode, after.st_mtime)

    def test_what_is_kept_cannot_be_changed_in_what_can(self, apart: Place) -> None:
        (apart.work / "tests").mkdir()
        (apart.work / "tests" / "t").write_text("theirs")
        harm = "echo >mine; echo >tests/t; rm -rf tests; mv tests x; chmod 0 tests; echo >tests/new"
        apart.run("sh", "-c", harm, read_only=(apart.work / "tests", apart.work / "file"))
        apart.run("sh", "-c", "echo mine >file; rm -f file", read_only=(apart.work / "file",))
        assert (apart.work / "tests" / "t").read_text() == "theirs"
        assert [path.name for path in (apart.work / "tests").iterdir()] == ["t"]
        assert (apart.work / "file").read_text() == "theirs\n"
        assert (apart.work / "mine").exists()

    def test_without_namespaces_nothing_is_run_that_might_change_what_is_kept(
        self, user: int | None
    ) -> None:
        for place in make_place("together", user):
            with pytest.raises(OSError, match="could be changed: install bubblewrap"):
                place.run("sh", "-c", "echo mine >file", read_only=(place.work / "file",))
            assert (place.work / "file").read_text() == "theirs\n"

    def test_the_root_shows_only_what_there_is_for_it(self, apart: Place) -> None:
        top = Path(tempfile.gettempdir()).parts[1]
        done = apart.run("ls", f"/{top}", *(str(p) for p in Path(tempfile.gettempdir()).parents))
        assert apart.work.parent.name in apart.run("ls", tempfile.gettempdir()).out
        assert done.code == 0
        assert apart.run("ls", str(apart.work.parent)).out == "work\n"

    def test_mounts_of_its_own_are_refused_and_none_is_left(self, apart: Place) -> None:
        before = Path("/proc/self/mounts").read_text()
        harm = "call('mount', b'tmpfs', b'.', b'tmpfs', 0, None)"
        assert apart.python(SYSCALL + attempt(harm)).out == "EPERM\n"
        assert Path("/proc/self/mounts").read_text() == before

    def test_terminals_of_its_own_work_and_others_are_not_there(self, apart: Place) -> None:
        code = (
            "import os, pty; a, b = pty.openpty(); os.write(a, b'x'); print(os.listdir('/dev/pts'))"
        )
        assert apart.python(code).out == "['0', 'ptmx']\n"


class TestNetwork:
    @pytest.fixture
    def server(self) -> Iterator[socket.socket]:
        with socket.create_server(("127.0.0.1", 0)) as listening:
            listening.setblocking(False)
            yield listening

    CONNECT = "import socket; socket.create_connection(('127.0.0.1', {port}), 5)"

    def test_a_server_outside_cannot_be_reached(self, cell: Place, server: socket.socket) -> None:
        done = cell.python(attempt(self.CONNECT.format(port=server.getsockname()[1])))
        assert done.out.strip() in {"ECONNREFUSED", "EACCES"}
        with pytest.raises(BlockingIOError):
            server.accept()

    def test_an_open_network_is_the_users(self, cell: Place, server: socket.socket) -> None:
        code = attempt(self.CONNECT.format(port=server.getsockname()[1]))
        assert cell.python(code, open_network=True).out == "done\n"

    def test_a_server_of_its_own_works_where_the_network_is_its_own(self, cell: Place) -> None:
        done = cell.python(
            attempt("""
            import socket
            for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
                server = socket.create_server((host, 0), family=family)
                socket.create_connection(server.getsockname()[:2], 5)
            """)
        )
        assert done.out.strip() == ("done" if cell.variant == "apart" else "EACCES")

    @pytest.mark.parametrize("open_network", [False, True])
    def test_a_socket_in_the_file_system_cannot_be_reached(
        self, cell: Place, open_network: bool
    ) -> None:
        path = cell.outside / "s"
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(path))
            path.chmod(0o777)
            listening.listen()
            listening.setblocking(False)
            code = attempt(
                f"import socket; s = socket.socket(socket.AF_UNIX); s.connect({str(path)!r})"
            )
            done = cell.python(code, open_network=open_network)
            assert done.out.strip() in {"ENOENT", "EACCES"}
            with pytest.raises(BlockingIOError):
                listening.accept()

    @pytest.mark.parametrize("open_network", [False, True])
    def test_an_abstract_socket_cannot_be_reached(self, cell: Place, open_network: bool) -> None:
        name = f"\0runtrue-{os.getpid()}-{time.monotonic_ns()}"
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(name)
            listening.listen()
            listening.setblocking(False)
            code = attempt(f"import socket; s = socket.socket(socket.AF_UNIX); s.connect({name!r})")
            done = cell.python(code, open_network=open_network)
            assert done.out.strip() in {"ECONNREFUSED", "EACCES", "EPERM"}
            with pytest.raises(BlockingIOError):
                listening.accept()

    @pytest.mark.parametrize("family", ["AF_VSOCK", "AF_PACKET", "AF_ALG", "AF_BLUETOOTH"])
    def test_ways_around_a_network_namespace_are_refused(self, cell: Place, family: str) -> None:
        number = getattr(socket, family, None)
        if number is None:
            pytest.skip("this Python does not know them")
        done = cell.python(attempt(f"import socket; socket.socket({int(number)}, 3, 0)"))
        assert done.out == "EACCES\n"

    def test_a_pair_of_sockets_is_no_network(self, cell: Place) -> None:
        assert cell.python(attempt("import socket; socket.socketpair()")).out == "done\n"


class TestSystemCalls:
    @pytest.mark.parametrize(
        ("harm", "refusal"),
        [
            ("call('ptrace', 16, os.getppid(), 0, 0)", "EPERM"),
            ("call('ptrace', 0, 0, 0, 0)", "EPERM"),
            ("call('unshare', 0x10000000)", "EPERM"),
            ("call('unshare', 0x20000)", "EPERM"),
            ("call('setns', 0, 0)", "EPERM"),
            ("call('chroot', b'.')", "EPERM"),
            ("call('umount2', b'/proc', 2)", "EPERM"),
            ("call('personality', 0x0040000)", "EPERM"),
            ("call('syscall', 425, 1, 0)", "ENOSYS"),
            ("call('syscall', 435, 0, 0)", "ENOSYS"),
            ("call('syscall', 321, 0, 0, 0)", "EPERM"),
            ("call('syscall', 250, 0, 0)", "EPERM"),
            ("call('syscall', 323, 0)", "EPERM"),
            ("call('syscall', 0x40000000 + 39)", "EPERM"),
            ("call('ioctl', 0, ctypes.c_ulong(0x5412), b'x')", "EPERM"),
            ("call('ioctl', 0, ctypes.c_ulong(0x541C), b'x')", "EPERM"),
            ("call('ioctl', 0, ctypes.c_ulong(0x5412 + (1 << 32)), b'x')", "EPERM"),
            (
                "import resource; resource.prlimit(os.getppid(), resource.RLIMIT_CPU, (1, 1))",
                "EPERM",
            ),
            ("os.setpriority(os.PRIO_PROCESS, os.getppid(), 19)", "EPERM"),
            ("os.setpriority(os.PRIO_USER, 0, 19)", "EPERM"),
            ("os.sched_setscheduler(os.getppid(), os.SCHED_IDLE, os.sched_param(0))", "EPERM"),
            ("os.reboot if False else call('reboot', 0)", "EPERM"),
        ],
    )
    def test_what_leads_out_is_refused(self, cell: Place, harm: str, refusal: str) -> None:
        if os.uname().machine != "x86_64" and "syscall" in harm:
            pytest.skip("the numbers are x86_64's")
        assert cell.python(SYSCALL + attempt(harm)).out == f"{refusal}\n"

    @pytest.mark.parametrize(
        "use",
        [
            "os.setpriority(os.PRIO_PROCESS, 0, 19)",
            "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))",
            "call('personality', 0xffffffff) if False else libc.personality(0xffffffff)",
            "call('unshare', 0x400)",
        ],
    )
    def test_what_concerns_only_itself_is_allowed(self, cell: Place, use: str) -> None:
        assert cell.python(SYSCALL + attempt(use)).out == "done\n"

    def test_no_capability_is_left_and_none_can_be_had(self, cell: Place) -> None:
        done = cell.run(
            "grep", "-E", "Cap(Inh|Prm|Eff|Amb)|NoNewPrivs|Seccomp:", "/proc/self/status"
        )
        found = dict(line.split(":\t") for line in done.out.splitlines())
        assert {int(found[name], 16) for name in found if name.startswith("Cap")} == {0}
        assert (found["NoNewPrivs"], found["Seccomp"]) == ("1", "2")

    def test_programs_that_change_the_user_do_not(self, place: Place) -> None:
        done = place.run("grep", "NoNewPrivs", "/proc/self/status")
        assert done.out.split() == ["NoNewPrivs:", "1"]

    def test_there_is_no_filter_for_a_machine_that_is_not_known(self) -> None:
        assert seccomp_filter("pdp11", sockets=True) is None
        assert seccomp_filter("aarch64", sockets=True)

    def test_processes_threads_and_locks_between_them_work(self, cell: Place) -> None:
        done = cell.python("""
            import multiprocessing, threading
            from concurrent.futures import ThreadPoolExecutor
            def square(x): return x * x
            if __name__ == "__main__":
                with multiprocessing.get_context("fork").Pool(2) as pool:
                    print(pool.map(square, range(4)))
                with ThreadPoolExecutor(4) as threads:
                    print(list(threads.map(square, range(4))))
            """)
        assert done.out == "[0, 1, 4, 9]\n" * 2, done


class TestSignals:
    @pytest.mark.parametrize("whom", ["os.getppid()", "front", "us"])
    @pytest.mark.parametrize("number", ["SIGKILL", "SIGSTOP", "SIGTERM"])
    def test_what_guards_it_cannot_be_signalled(self, cell: Place, whom: str, number: str) -> None:
        if "signals" in landlock.missing("landlock"):
            pytest.skip("this kernel's Landlock has no rule for signals")
        code = f"""
            import signal
            us = {os.getpid()}
            front = int(open(f'/proc/{{os.getppid()}}/stat').read().rpartition(')')[2].split()[1])
            os.kill({whom}, 0 if {whom} == us else signal.{number})
            """
        assert cell.python(attempt(code)).out == "EPERM\n"

    def test_all_at_once_reaches_only_its_own(self, cell: Place) -> None:
        if "signals" in landlock.missing("landlock"):
            pytest.skip("this kernel's Landlock has no rule for signals")
        # With no signal at all: were it allowed, the tests would be in danger.
        assert cell.python(attempt(f"os.kill({os.getpid()}, 0)")).out == "EPERM\n"


class TestLimits:
    LIMITS = ResourceLimits(cpu=7.5, memory=256, processes=64, open_files=99, file_size=3)

    def test_they_are_as_given(self, place: Place) -> None:
        code = """
            import resource
            for name in ("CPU", "FSIZE", "NOFILE", "CORE"):
                print(name, *resource.getrlimit(getattr(resource, "RLIMIT_" + name)))
            """
        mib = 1024 * 1024
        assert place.python(code, limits=self.LIMITS).out.splitlines() == [
            "CPU 7 12",
            f"FSIZE {3 * mib} {3 * mib}",
            "NOFILE 99 99",
            "CORE 1 1",
        ]

    def test_one_that_is_higher_than_what_we_have_is_no_error(self, place: Place) -> None:
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        limits = ResourceLimits(open_files=1_048_576)
        done = place.run("sh", "-c", "ulimit -Hn", limits=limits)
        assert int(done.out) == min(most, 1_048_576)

    def test_they_cannot_be_raised(self, cell: Place) -> None:
        code = "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))"
        done = cell.python(f"try: {code}\nexcept ValueError: print('refused')", limits=self.LIMITS)
        assert done.out == "refused\n"

    def test_too_large_a_file_is_cut_off(self, place: Place) -> None:
        done = place.run("sh", "-c", "exec cat /dev/zero >big", limits=self.LIMITS)
        assert done.code == -signal.SIGXFSZ
        assert (place.work / "big").stat().st_size == 3 * 1024 * 1024

    def test_too_much_time_is_cut_off(self, place: Place) -> None:
        done = place.run("sh", "-c", "while :; do :; done", limits=ResourceLimits(cpu=1))
        assert done.code == -signal.SIGXCPU

    def test_an_ordinary_user_cannot_start_too_many_processes(self, place: Place) -> None:
        if not place.user and os.getuid() == 0:
            pytest.skip("the kernel lets root start any number")
        code = """
            import os, time
            read, write = os.pipe()
            count = 0
            try:
                while count < 5000:
                    if os.fork() == 0:
                        os.close(write)
                        os.read(read, 1)
                        os._exit(0)
                    count += 1
            except BlockingIOError:
                pass
            print(count)
            """
        limits = ResourceLimits(processes=20)
        assert int(place.python(code, limits=limits).out) < (
            20 if place.variant == "apart" else 5000
        )

    def test_it_is_less_important_than_what_watches_it(self, place: Place) -> None:
        code = "print(os.getpriority(os.PRIO_PROCESS, 0), open('/proc/self/oom_score_adj').read())"
        now = os.getpriority(os.PRIO_PROCESS, 0)
        assert place.python(f"import os; {code}").out.split() == [str(min(19, now + 5)), "500"]


class TestDescriptors:
    def test_none_is_inherited_but_the_usual_ones(self, place: Place) -> None:
        reader, writer = os.pipe()
        os.set_inheritable(writer, True)
        try:
            # The fourth is what the directory is read with.
            code = "import os; print(sorted(map(int, os.listdir('/proc/self/fd'))))"
            assert place.python(code).out == "[0, 1, 2, 3]\n"
        finally:
            os.close(reader)
            os.close(writer)

    def test_those_that_are_meant_for_it_are(self, place: Place) -> None:
        reader, writer = os.pipe()
        try:
            place.python(f"import os; os.write({writer}, b'hello')", keep=(writer,))
            os.close(writer)
            assert os.read(reader, 100) == b"hello"
            assert os.read(reader, 100) == b""
        finally:
            os.close(reader)


#: Ways to be left behind. Each holds the pipe, says `up` by it, and never ends.
LEFTOVERS = {
    "background": "(echo up; exec sleep {0}) &",
    "nohup": "(echo up; exec nohup sleep {0}) 2>/dev/null &",
    "setsid": "setsid sh -c 'echo up; exec sleep {0}' &",
    "double fork": "(setsid sh -c '(echo up; exec sleep {0}) & exit' &)",
    "no environment": ("(setsid env -i sh -c 'echo up; exec env -i /bin/sleep {0}' &)"),
    "no signal": "(trap '' TERM HUP INT; setsid sh -c 'echo up; exec sleep {0}' &)",
    "stopped": "(setsid sh -c 'echo up; kill -STOP $$; exec sleep {0}' &)",
    "many": (
        "for i in 1 2 3 4 5 6 7 8; do (setsid sh -c 'setsid sleep {0} & exec sleep {0}' &); done; "
        "echo up"
    ),
}


class TestLeftovers:
    @pytest.fixture(params=LEFTOVERS)
    def leftover(self, request: pytest.FixtureRequest) -> str:
        # Nothing but the pipe, so that whoever reads the output does not wait for it.
        return LEFTOVERS[request.param].format(FOREVER)

    @pytest.fixture
    def pipe(self) -> Iterator[tuple[int, int]]:
        reader, writer = os.pipe()
        yield reader, writer
        os.close(reader)

    def run_with(
        self,
        place: Place,
        pipe: tuple[int, int],
        code: str,
        end: Callable[[subprocess.Popen[bytes]], None] | None = None,
        *,
        leaving: bool = False,
    ) -> int:
        """Run code until its leftover is up, then end it somehow; how the front ended."""
        reader, writer = pipe

        async def run() -> int:
            async with confining(place.cell(), ["sh", "-c", code]) as (start, _):
                process = place.popen(start, stdout=writer)
                os.close(writer)
                assert await asyncio.to_thread(os.read, reader, 3) == b"up\n"
                if end is not None:
                    end(process)
                if not leaving:
                    await asyncio.to_thread(process.wait)
            # Not waited for: when the block has ended, all of it has.
            os.set_blocking(reader, False)
            assert os.read(reader, 1) == b""
            with process:
                return process.wait()

        return asyncio.run(run())

    def test_is_dead_when_the_command_has_ended(
        self, place: Place, pipe: tuple[int, int], leftover: str
    ) -> None:
        # The command itself ends only when the leftover has let it know that it is there.
        wait = "while ! [ -e up ]; do :; done"
        code = leftover.replace("echo up", "echo up; : >up")
        assert self.run_with(place, pipe, f"{code}\n{wait}; exit 6") == 6

    def test_is_dead_when_the_front_is_killed(
        self, place: Place, pipe: tuple[int, int], leftover: str
    ) -> None:
        def kill(process: subprocess.Popen[bytes]) -> None:
            os.killpg(process.pid, signal.SIGKILL)

        assert self.run_with(place, pipe, f"{leftover}\nsleep {FOREVER}", kill) == -signal.SIGKILL

    def test_is_dead_when_the_warden_is_killed(
        self, place: Place, pipe: tuple[int, int], leftover: str
    ) -> None:
        def kill(process: subprocess.Popen[bytes]) -> None:
            children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
            os.kill(int(children), signal.SIGKILL)

        assert self.run_with(place, pipe, f"{leftover}\nsleep {FOREVER}", kill) == -signal.SIGKILL

    def test_is_dead_when_the_block_is_left(
        self, place: Place, pipe: tuple[int, int], leftover: str
    ) -> None:
        code = f"{leftover}\nsleep {FOREVER}"
        assert self.run_with(place, pipe, code, leaving=True) == -signal.SIGKILL

    def test_is_dead_when_the_starter_is_killed(
        self, place: Place, pipe: tuple[int, int], leftover: str
    ) -> None:
        reader, writer = pipe
        cell = place.cell()
        code = f"""
            import asyncio, subprocess
            from pathlib import Path, PosixPath
            from runtrue.sandbox.isolation.landlock import *
            from runtrue.confinement import ResourceLimits
            async def main():
                argv = ["sh", "-c", {leftover!r} + "\\nsleep {FOREVER}"]
                async with confining({cell!r}, argv) as (start, _):
                    subprocess.run(
                        start.argv, env=start.env, pass_fds=start.pass_fds, start_new_session=True
                    )
            asyncio.run(main())
            """
        with subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(code)],
            stdout=writer,
        ) as starter:
            os.close(writer)
            assert os.read(reader, 3) == b"up\n"
            starter.kill()
        assert is_over(reader)


class TestBombs:
    #: Each is gone before anybody can name it, and has left another one.
    RUNNERS = """
        import os, signal
        for _ in range({0}):
            if os.fork() == 0:
                os.write(1, b"x")
                while True:
                    os.setsid()
                    if os.fork():
                        os._exit(0)
        signal.pause()
        """
    #: Each that is killed is replaced by another one.
    HYDRA = """
        import os, signal
        signal.signal(signal.SIGCHLD, lambda *_: grow(1, 1))
        def grow(depth, heads=2):
            for _ in range(heads):
                if depth and os.fork() == 0:
                    os.setsid()
                    grow(depth - 1)
        grow({0})
        os.write(1, b"x")
        while True:
            signal.pause()
        """

    @pytest.mark.parametrize(("code", "number"), [(RUNNERS, 6), (HYDRA, 3)])
    def test_what_multiplies_and_runs_is_all_ended(
        self, place: Place, code: str, number: int
    ) -> None:
        reader, writer = os.pipe()

        async def run() -> None:
            argv = place.script(code.format(number))
            async with confining(place.cell(), argv) as (start, _):
                process = place.popen(start, stdout=writer)
                os.close(writer)
                for _ in range(number):
                    assert await asyncio.to_thread(os.read, reader, 1) == b"x"
            with process:
                process.wait()

        asyncio.run(run())
        os.set_blocking(reader, False)
        while os.read(reader, 65536):
            pass
        os.close(reader)


class TestProbe:
    @pytest.mark.parametrize("level", ["landlock", "process"])
    def test_a_level_that_works_has_no_reason_not_to(self, level: str) -> None:
        reason = landlock.probe(level)
        assert reason is None or level == "landlock"

    def test_what_is_missing_is_reported(self, user: int | None) -> None:
        for place in make_place("together", user):
            assert "namespaces" in place.run("true").report.missing

    def test_where_no_namespaces_are_allowed_it_goes_without(self, user: int | None) -> None:
        """Some systems forbid them to users; here a filter does."""
        for place in make_place("together", user):
            program = seccomp_filter(os.uname().machine, sockets=True)
            if program is None:
                pytest.skip("there is no filter for this machine")
            forbidden = dataclasses.replace(place, before=functools.partial(forbid, program))
            done = forbidden.run("sh", "-c", "exit 5", namespaces=True)
            assert done.code == 5
            assert done.report.missing == ("namespaces",)
            assert done.report.reason == "namespaces: Operation not permitted"


def forbid(program: bytes) -> None:
    """Put a filter on this process."""
    _confine._prctl(38, 1)
    _confine._filter(program)


class TestView:
    def test_a_view_is_started(self, place: Place) -> None:
        home, temporary = place.outside / "home", place.outside / "tmp"
        for directory in (home, temporary):
            directory.mkdir()
            if place.user:
                os.chown(directory, place.user, place.user)
        view = View(
            directory=place.work,
            environment={**ENV, "HOME": "/home/somebody"},
            home=home,
            temporary=temporary,
            tools=(),
            read=(),
            write=(place.work,),
            read_only=(),
            is_restored=False,
            hidden=(),
            limits=ResourceLimits(),
        )
        level = "process" if place.variant == "process" else "landlock"

        async def run() -> bytes:
            argv = ["sh", "-c", "echo x >$TMPDIR/x; mktemp >/dev/null && echo $HOME"]
            async with confining(Cell.of(level, view), argv) as (start, _):
                with place.popen(start) as process:
                    return (await asyncio.to_thread(process.communicate))[0]

        out = asyncio.run(run()).decode().strip()
        assert out in {"/home/somebody", str(home)}
        assert (temporary / "x").read_text() == "x\n"
        assert any(path.name.startswith("tmp.") for path in temporary.iterdir())


def test_no_library_of_the_commands_is_loaded_by_what_guards_it(tmp_path: Path) -> None:
    cell = Cell(
        level="process",
        directory=tmp_path,
        environment={**ENV, "LD_PRELOAD": "/no/such.so", "PYTHONPATH": str(tmp_path)},
    )

    async def run() -> dict[str, str]:
        async with confining(cell, ["true"]) as (start, _):
            return start.env

    assert set(asyncio.run(run())) <= {"LD_LIBRARY_PATH"}


def test_an_error_names_the_program_and_the_reason() -> None:
    with pytest.raises(FileNotFoundError) as raised:
        StartReport(errno=errno.ENOENT).check("prog")
    assert raised.value.filename == "prog"
    with pytest.raises(OSError, match="it cannot be confined: Landl"):
        StartReport(failed="Landlock: none").check("prog")
