"""Arenas: a machine with a user's things on it, and hostile code that is really run there.

After each attack, whatever it was about, all that is the user's must be as before, no secret may
have been seen, and nothing may still run.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import select
import socket
import stat
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from runtrue.checks import CommandCheck
from runtrue.config import IsolationConfig
from runtrue.confinement import Confinement, ResourceLimits
from runtrue.loop import Finding, Verdict, Workplace
from runtrue.sandbox import GitSandbox
from runtrue.sandbox.environment import allowed
from runtrue.sandbox.isolation import Isolation, Level
from tests.project_python import project_path
from tests.sandbox.support import make_repository

#: Small ones, so that an attack takes a moment and could not hurt the machine if it succeeded.
LIMITS = ResourceLimits(
    cpu=20, memory=256, processes=64, open_files=256, file_size=16, disk=32, output=2
)
#: How long is waited for what must happen: nobody waits that long where it does.
NET_SECONDS = 20.0
TOKEN = "SERVICE_TOKEN"  # noqa: S105 - a name
REACHED = "REACHED"

#: What hostile code begins with. It says of each thing that it attempts how that went.
_HELPERS = """
import os, sys, signal
def attempt(what, action, *arguments):
    try:
        got = action(*arguments)
    except BaseException as error:
        sys.stderr.write(f"{what}: {type(error).__name__}: {error}\\n")
    else:
        sys.stdout.write(f"REACHED {what}: {got!r}\\n")
def effort(what, action, *arguments):
    # Whether it did harm is seen outside: it may have got no further than a place of its own.
    try:
        action(*arguments)
        sys.stderr.write(f"{what}: done\\n")
    except BaseException as error:
        sys.stderr.write(f"{what}: {type(error).__name__}: {error}\\n")
def write(path, how="a", text="attacked"):
    with open(path, how) as file: file.write(text)
def read(path): return open(path, "rb").read(4000)
def must(condition, what="it is not so"):
    if not condition: raise ValueError(what)
    return condition
def opened(path, how):
    os.close(os.open(path, how))
def add_to(directory):
    # A file without a name: if it succeeds, it leaves nothing behind.
    opened(directory, os.O_TMPFILE | os.O_RDWR)
def overwrite(path):
    opened(path, os.O_WRONLY)
def call(number, *arguments):
    import ctypes
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    wide = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    result = libc.syscall(ctypes.c_long(number), *wide)
    if result == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
"""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a check said of hostile code."""

    verdict: Verdict

    @property
    def finding(self) -> Finding:
        """The one finding."""
        assert not self.verdict.passed
        (finding,) = self.verdict.findings
        return finding

    def says(self, text: str) -> None:
        """Assert that the finding tells what was tried."""
        assert text in f"{self.finding.message}\n{self.finding.sample}"

    def hit(self, limit: str, allowed: float) -> None:
        """Assert that it was stopped by a limit, and that the finding says so."""
        finding = self.finding
        assert (finding.category, finding.data.get("limit")) == ("resource_limit", limit), finding
        assert finding.data["allowed"] == allowed
        assert float(finding.data["used"]) >= allowed, finding.data
        assert f"{allowed:.6g}" in finding.message


class Arena:
    """A user's home, project and secrets, and a sandbox beside them, at one level of isolation."""

    def __init__(self, root: Path, level: Level) -> None:
        self.level = level
        self.root = root
        self.secret = f"secret-{secrets.token_hex(12)}"
        self.home = root / "home"
        self.project = self.home / "project"
        self.sandbox = root / "sandbox"
        self.scratch = root / "scratch"
        self.private = root / "private"
        for place in (self.sandbox, self.scratch):
            place.mkdir()
        self._plant()
        self._before = self._users_files()
        self._told: list[Verdict] = []
        self._closing = ExitStack()

    def _plant(self) -> None:
        key = f"-----BEGIN OPENSSH PRIVATE KEY-----\n{self.secret}\n"
        for name, text in {
            ".ssh/id_rsa": key,
            ".aws/credentials": f"[default]\naws_secret_access_key = {self.secret}\n",
            ".netrc": f"machine example.org password {self.secret}\n",
            ".git-credentials": f"https://me:{self.secret}@example.org\n",
            ".bash_history": f"export {TOKEN}={self.secret}\n",
            ".bashrc": "alias ll='ls -l'\n",
            ".config/systemd/user/mine.service": "[Service]\nExecStart=true\n",
            ".local/bin/mine": "#!/bin/sh\n",
            ".runtrue/journal.db": f"journal {self.secret}\n",
            "project/app.py": f"PASSWORD = '{self.secret}'\n",
            "project/.git/hooks/post-commit.sample": "#!/bin/sh\n",
            "other/notes.txt": f"{self.secret}\n",
        }.items():
            file = self.home / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        (self.home / ".ssh" / "id_rsa").chmod(0o600)

    # -- attacking ----------------------------------------------------------------------------

    def formatted(self, text: str) -> str:
        """A text with the places of this arena put in."""
        for name in ("home", "project", "sandbox", "root"):
            text = text.replace(f"<{name}>", str(getattr(self, name)))
        return text

    def attack(
        self,
        code: str,
        *,
        limits: ResourceLimits = LIMITS,
        network: tuple[str, ...] = (),
        timeout: float = NET_SECONDS,
        reaches: bool = False,
    ) -> Outcome:
        """Have hostile code checked; without `reaches` nothing that it attempts may succeed."""
        (self.sandbox / "attack.py").write_text(
            f"{_HELPERS}{textwrap.dedent(self.formatted(code))}\nsys.exit(1)\n"
        )
        # The path is in the command line, by which its processes are found.
        command = f"{sys.executable} -I -S {self.sandbox / 'attack.py'}"
        return self.check(command, limits=limits, network=network, timeout=timeout, reaches=reaches)

    def check(
        self,
        command: str,
        *,
        limits: ResourceLimits = LIMITS,
        network: tuple[str, ...] = (),
        timeout: float = NET_SECONDS,
        reaches: bool = False,
    ) -> Outcome:
        """Run a command as a check on the sandbox."""
        box = self.isolation(limits, network).box(write=(self.sandbox,), private=self.private)
        workplace = self.workplace(box)
        return self.judge(command, workplace, timeout=timeout, reaches=reaches)

    def judge(
        self,
        command: str,
        workplace: Workplace,
        *,
        timeout: float = NET_SECONDS,
        reaches: bool = False,
    ) -> Outcome:
        """Run a command as a check in a workplace, as repairs do."""
        check = CommandCheck(name="attacked", command=command, timeout=timeout)
        verdict = asyncio.run(check.run(workplace))
        self._told.append(verdict)
        assert reaches or REACHED not in verdict.output, verdict.output
        return Outcome(verdict)

    def workplace(self, confinement: Confinement) -> Workplace:
        """The sandbox, with what a user's environment leaves for commands."""
        users = {**os.environ, "HOME": str(self.home), TOKEN: self.secret}
        return Workplace(
            directory=self.sandbox,
            root=self.sandbox,
            scratch=self.scratch,
            environment=allowed(users),
            confinement=confinement,
        )

    def isolation(
        self, limits: ResourceLimits = LIMITS, network: tuple[str, ...] = ()
    ) -> Isolation:
        """The isolation at the arena's level."""
        config = IsolationConfig(level=self.level.value, minimum="process")
        return Isolation(replace(config, limits=limits, network=network))

    def git_sandbox(self, project: Path, limits: ResourceLimits = LIMITS) -> GitSandbox:
        """A sandbox as the loops have it, removed in the end."""
        sandbox = GitSandbox(self.root / "runs" / "one", project, isolation=self.isolation(limits))
        sandbox.open()
        self._closing.callback(sandbox.remove)
        return sandbox

    def fix(self, code: str, config: str = "") -> dict[str, Any]:
        """Have `runtrue fix` judge a project with hostile code in it; what it says of the check."""
        project = make_repository(
            self.root / "attacked",
            {
                "attack.py": f"{_HELPERS}{textwrap.dedent(self.formatted(code))}\nsys.exit(1)\n",
                "runtrue.toml": (
                    '[checks.attacked]\ncommand = "python -I -S attack.py"\ntimeout = 20\n'
                    f'[fixers]\norder = []\n[isolation]\nminimum = "process"\n{config}'
                ),
            },
        )
        self.runtrue("trust", "--yes", cwd=project)
        done = self.runtrue("fix", "--json", cwd=project)
        assert done.returncode == 1, done.stderr
        attempts = json.loads(done.stdout)["attempts"]
        verdict: dict[str, Any] = attempts[0]["verdicts"][0]
        (finding,) = verdict["findings"]
        return dict(finding)

    def runtrue(
        self, *args: str, cwd: Path, reaches: bool = False, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        """Run the command line at the arena's level, as the user whose things these are."""
        done = subprocess.run(
            [sys.executable, "-m", "runtrue", *args],
            cwd=cwd,
            env={
                "PATH": project_path(),
                "HOME": str(self.home),
                "RUNTRUE_HOME": str(self.root / "runtrue"),
                "RUNTRUE_ISOLATION": self.level.value,
                **{name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ},
                TOKEN: self.secret,
                **variables,
            },
            capture_output=True,
            text=True,
            check=False,
        )
        assert "Traceback" not in done.stderr, done.stderr
        assert reaches or REACHED not in done.stdout, done.stdout
        assert self.secret not in done.stdout + done.stderr
        return done

    def outlive(self, code: str, **more: ResourceLimits | float) -> Outcome:
        """Have code try to leave a process behind that holds `alive`; it must not outlive.

        In the code, `alive()` says once that the process has begun.
        """
        pipe = self.sandbox / "alive"
        os.mkfifo(pipe)
        reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        self._closing.callback(os.close, reader)
        begin = """
            _pipe = os.open("<sandbox>/alive", os.O_WRONLY)
            os.set_inheritable(_pipe, True)
            def alive(): os.write(_pipe, b"x")
            def forever():
                alive()
                while True: signal.pause()
        """
        outcome = self.attack(textwrap.dedent(begin) + textwrap.dedent(code), **more)  # type: ignore[arg-type]
        assert os.read(reader, 100), f"it did not begin: {outcome.verdict.output}"
        self.wait_for_end(reader)
        return outcome

    def wait_for_beginning(self, pipe: int) -> None:
        """Wait until somebody has written to a pipe."""
        poll = select.poll()
        poll.register(pipe, select.POLLIN)
        assert poll.poll(NET_SECONDS * 1000), "it did not begin"

    def wait_for_end(self, pipe: int) -> None:
        """Wait until nobody holds the other end of a pipe any more."""
        poll = select.poll()
        poll.register(pipe, select.POLLIN)
        while True:
            assert poll.poll(NET_SECONDS * 1000), "a process was left behind"
            if not os.read(pipe, 65536):
                return

    # -- the machine around it ----------------------------------------------------------------

    @contextmanager
    def bystander(self) -> Iterator[int]:
        """A process of the user's, with a secret in its environment and its arguments; its id."""
        script = "import sys; sys.stdout.write('x'); sys.stdout.flush(); sys.stdin.read()"
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", script, f"--password={self.secret}"],
            env={TOKEN: self.secret},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd="/",
        )
        with process:
            assert process.stdout is not None
            assert process.stdout.read(1) == b"x"
            yield process.pid
            assert process.poll() is None, "it was ended"
            # One that was stopped would never read that its input has ended.
            status = Path(f"/proc/{process.pid}/stat").read_bytes()
            assert status.rpartition(b")")[2].split()[0] not in (b"T", b"t")

    @contextmanager
    def listener(self, kind: int = socket.SOCK_STREAM, address: str | None = None) -> Iterator[int]:
        """A server of the user's on loopback, which nobody may reach; its port."""
        host = address or "127.0.0.1"
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        with closing(socket.socket(family, kind)) as server:
            server.bind((host, 0))
            if kind == socket.SOCK_STREAM:
                server.listen()
            yield server.getsockname()[1]
            _nobody_came(server, kind)

    @contextmanager
    def unix_listener(self, address: str | bytes) -> Iterator[None]:
        """The same with a socket in the file system, or an abstract one."""
        with closing(socket.socket(socket.AF_UNIX)) as server:
            server.bind(address)
            server.listen()
            try:
                yield
            finally:
                if isinstance(address, str):
                    Path(address).unlink()
            _nobody_came(server, socket.SOCK_STREAM)

    # -- afterwards ---------------------------------------------------------------------------

    def close(self) -> None:
        """Assert that nothing is harmed, and clear away."""
        try:
            self._await_processes()
            assert self._users_files() == self._before
            for verdict in self._told:
                assert self.secret not in repr(verdict), verdict.output
            for file in self._files(self.sandbox, self.scratch):
                assert self.secret.encode() not in file.read_bytes(), file
        finally:
            self._closing.close()

    def _users_files(self) -> dict[str, object]:
        found: dict[str, object] = {}
        for directory, names, files in os.walk(self.home):
            for name in (*names, *files):
                path = Path(directory, name)
                status = path.lstat()
                content = path.read_bytes() if stat.S_ISREG(status.st_mode) else b""
                found[str(path)] = (status.st_mode, status.st_nlink, status.st_mtime_ns, content)
        return found

    def _files(self, *places: Path) -> Iterator[Path]:
        for place in places:
            for directory, _, names in os.walk(place):
                for name in names:
                    path = Path(directory, name)
                    if stat.S_ISREG(path.lstat().st_mode):
                        yield path

    def _await_processes(self) -> None:
        """Wait until no process is left that has to do with this arena."""
        for place in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                ours = bytes(self.root) in (place / "cmdline").read_bytes()
                if not ours or int(place.name) == os.getpid():
                    continue
                process = os.pidfd_open(int(place.name))
                try:
                    ended = select.select([process], [], [], NET_SECONDS)[0]
                finally:
                    os.close(process)
                assert ended, f"process {place.name} is left"


def _nobody_came(server: socket.socket, kind: int) -> None:
    server.setblocking(False)
    with suppress(BlockingIOError):
        got = server.accept() if kind == socket.SOCK_STREAM else server.recvfrom(100)
        raise AssertionError(f"somebody came: {got}")
