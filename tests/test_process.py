"""Processes are run to their end, within bounds, and leave nothing behind."""

from __future__ import annotations

import asyncio
import contextlib
import io
import itertools
import os
import signal
import subprocess
import sys
import textwrap
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from runtrue import process
from runtrue._guardian import guard
from runtrue.process import MARK, Captured, Ended

ENV = {"PATH": os.environ["PATH"]}
#: Long enough that no test gets there; a test that does has found a process that was left alone.
FOREVER = 600


def run(
    *argv: str,
    cwd: Path = Path("/"),
    env: dict[str, str] | None = None,
    timeout: float = 60,
    stdin: bytes | None = None,
    keep: int = 64 * 1024,
) -> Ended:
    return asyncio.run(
        process.run(argv, cwd=cwd, env=env or ENV, timeout=timeout, stdin=stdin, keep=keep)
    )


def test_a_command_that_goes_on_printing_gets_its_time_again() -> None:
    printing = ["sh", "-c", "for n in 1 2 3 4 5 6; do echo $n; sleep 0.5; done"]
    call = process.run(printing, cwd=Path("/"), env=ENV, timeout=2, longest=60)
    ended = asyncio.run(call)
    assert (ended.exit_code, ended.stdout.text.split()) == (0, [*"123456"])
    silent = ["sleep", str(FOREVER)]
    call = process.run(silent, cwd=Path("/"), env=ENV, timeout=0.3, longest=60)
    ended = asyncio.run(call)
    assert (ended.timed_out, ended.timeout) == (True, 0.3)


def test_a_command_that_goes_on_printing_gets_no_more_than_the_longest() -> None:
    printed = itertools.count()
    allowance = process._Allowance(2.0, 5.0, lambda: next(printed))
    assert [allowance.next() for _ in range(4)] == [2.0, 2.0, 1.0, 0.0]
    allowance = process._Allowance(2.0, None, lambda: next(printed))
    assert [allowance.next() for _ in range(2)] == [2.0, 0.0]


def run_into_timeout(
    *argv: str, cwd: Path = Path("/"), env: dict[str, str] | None = None, keep: int = 64 * 1024
) -> Ended:
    """Run a command that never ends, for long enough that it says something on both streams."""
    timeout = 0.25
    while True:
        ended = run(*argv, cwd=cwd, env=env, timeout=timeout, keep=keep)
        assert ended.timed_out
        if ended.stdout.head and ended.stderr.head:
            return ended
        timeout *= 2


def python(code: str, *args: str) -> tuple[str, ...]:
    return (sys.executable, "-S", "-c", textwrap.dedent(code), *args)


def is_alive(pid: int) -> bool:
    """Whether a process still runs; one that is dead and not yet reaped does not."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return status.rpartition(")")[2].split()[0] not in "ZX"


def processes_with(*variables: str) -> Iterator[int]:
    """The living processes that have one of some variables, as `NAME=value`."""
    wanted = {variable.encode() for variable in variables}
    for place in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if place.name.isdecimal():
                has = (place / "environ").read_bytes().split(b"\0")
                if wanted.intersection(has):
                    yield int(place.name)


def await_death(pid: int) -> None:
    """Wait for the end of a process that is no child of ours: its state is all there is to see."""
    deadline = time.monotonic() + 30
    while is_alive(pid):
        assert time.monotonic() < deadline, f"process {pid} is still alive"
        time.sleep(0.005)


@pytest.fixture
def mark() -> Iterator[dict[str, str]]:
    """An environment that marks processes, as those of a run are."""
    value = f"test-{uuid.uuid4().hex}"
    yield {**ENV, MARK: value}
    process.kill_marked(f"{MARK}={value}")


class TestEnd:
    @pytest.mark.parametrize("code", [0, 1, 7, 255])
    def test_the_exit_code_is_the_commands(self, code: int) -> None:
        ended = run("sh", "-c", f"exit {code}")
        assert ended.exit_code == code
        assert not ended.timed_out

    @pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM])
    def test_a_signal_is_a_negative_code(self, number: signal.Signals) -> None:
        assert run("sh", "-c", f"kill -{number} $$").exit_code == -number

    def test_the_streams_are_kept_apart(self) -> None:
        ended = run("sh", "-c", "echo out; echo err >&2")
        assert (ended.stdout.text, ended.stderr.text) == ("out\n", "err\n")

    def test_it_runs_where_it_is_told_to_and_sees_only_what_it_is_given(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("SECRET_TOKEN", "planted")
        ended = run("sh", "-c", "pwd; env", cwd=tmp_path, env={**ENV, "GIVEN": "1"})
        assert ended.stdout.text.splitlines()[0] == str(tmp_path)
        assert "GIVEN=1" in ended.stdout.text
        assert "SECRET_TOKEN" not in ended.stdout.text

    def test_the_time_it_took_is_known(self) -> None:
        assert run("true").seconds > 0

    def test_many_at_once(self) -> None:
        async def many() -> list[int | None]:
            runs = [
                process.run(["sh", "-c", f"exit {n}"], cwd=Path("/"), env=ENV, timeout=60)
                for n in range(40)
            ]
            return [ended.exit_code for ended in await asyncio.gather(*runs)]

        assert asyncio.run(many()) == list(range(40))


class TestCannotBeStarted:
    def test_a_missing_program(self) -> None:
        with pytest.raises(FileNotFoundError):
            run("there-is-no-such-program")

    def test_a_file_that_is_not_executable(self, tmp_path: Path) -> None:
        script = tmp_path / "script"
        script.write_text("#!/bin/sh\n")
        with pytest.raises(PermissionError):
            run(str(script))

    def test_a_script_whose_interpreter_is_missing(self, tmp_path: Path) -> None:
        script = tmp_path / "script"
        script.write_text("#!/no/such/interpreter\n")
        script.chmod(0o755)
        with pytest.raises(FileNotFoundError):
            run(str(script))

    def test_a_missing_directory(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError):
            run("true", cwd=tmp_path / "nowhere")


class TestInput:
    def test_the_command_can_read_it(self) -> None:
        data = bytes(range(256)) * 4096
        assert len(data) > 2**16, "more than a pipe holds"
        ended = run("cksum", stdin=data)
        expected = subprocess.run(["cksum"], input=data, capture_output=True, check=True)
        assert ended.stdout.head == expected.stdout

    def test_a_command_that_reads_none_of_it_blocks_nobody(self) -> None:
        assert run("true", stdin=b"x" * 10_000_000).exit_code == 0

    def test_a_command_that_closes_it_blocks_nobody(self) -> None:
        assert run("sh", "-c", "exec <&-; exit 3", stdin=b"x" * 1_000_000).exit_code == 3

    def test_without_input_there_is_nothing_to_read(self) -> None:
        ended = run("cat")
        assert (ended.exit_code, ended.stdout.text) == (0, "")


class TestOutput:
    def test_short_output_is_kept_whole(self) -> None:
        ended = run("printf", "a\\nb")
        assert ended.stdout == Captured(head=b"a\nb", tail=b"", dropped=0)

    def test_an_endless_stream_is_capped(self) -> None:
        ended = run_into_timeout("sh", "-c", "echo >&2; exec yes", keep=1000)
        assert ended.stdout.head == b"y\n" * 500
        assert ended.stdout.tail in (b"y\n" * 500, b"\ny" * 500)
        assert ended.stdout.dropped > 0

    def test_one_line_of_200_mb_is_capped(self) -> None:
        size = 200_000_000
        ended = run("sh", "-c", f"printf head; head -c {size} /dev/zero; printf tail", keep=1000)
        assert ended.exit_code == 0
        assert ended.stdout.head == b"head" + b"\0" * 996
        assert ended.stdout.tail == b"\0" * 996 + b"tail"
        assert ended.stdout.dropped == size + 8 - 2000

    def test_both_streams_are_capped_at_once(self) -> None:
        ended = run_into_timeout("sh", "-c", "yes & yes >&2", keep=100)
        for stream in (ended.stdout, ended.stderr):
            assert (len(stream.head), len(stream.tail)) == (100, 100)

    def test_what_is_left_out_is_said(self) -> None:
        ended = run("sh", "-c", "printf aaaabbbbbbcccc", keep=4)
        assert ended.stdout.text == "aaaa\n[… 6 bytes left out …]\ncccc"

    def test_binary_output_is_text_somehow(self) -> None:
        ended = run("printf", "\\377\\000ok")
        assert ended.stdout.head == b"\xff\0ok"
        assert ended.stdout.text == "\ufffd\0ok"

    def test_no_character_is_torn_where_head_and_tail_meet(self) -> None:
        ended = run("printf", "aäb", keep=2)
        assert ended.stdout.dropped == 0
        assert ended.stdout.text == "aäb"


class TestTimeout:
    def test_there_is_no_exit_code(self) -> None:
        ended = run("sleep", str(FOREVER), timeout=0.1)
        assert ended.timed_out
        assert ended.exit_code is None

    def test_what_was_printed_until_then_is_kept(self) -> None:
        ended = run_into_timeout("sh", "-c", "echo out; echo err >&2; sleep 600")
        assert (ended.stdout.text, ended.stderr.text) == ("out\n", "err\n")

    def test_a_command_may_clean_up_when_it_is_told_to_end(self, tmp_path: Path) -> None:
        trap = "trap 'echo cleaned >cleaned; exit' TERM"
        code = f"{trap}; echo ready; echo >&2; while :; do sleep 0.05; done"
        run_into_timeout("sh", "-c", code, cwd=tmp_path)
        assert (tmp_path / "cleaned").read_text() == "cleaned\n"

    def test_one_that_ignores_it_is_killed(self) -> None:
        code = "trap '' TERM; echo $$; echo >&2; while :; do sleep 0.05; done"
        ended = run_into_timeout("sh", "-c", code)
        assert not is_alive(int(ended.stdout.text))

    def test_the_whole_group_ends(self) -> None:
        code = "sleep 600 & echo $!; (sleep 600 & echo $!; echo >&2; wait) & wait"
        ended = run_into_timeout("sh", "-c", code)
        pids = [int(line) for line in ended.stdout.text.split()]
        assert len(pids) == 2
        for pid in pids:
            await_death(pid)

    def test_one_that_left_the_group_is_found_by_its_mark(self, mark: dict[str, str]) -> None:
        code = "setsid sleep 600 & echo $!; echo >&2; wait"
        ended = run_into_timeout("sh", "-c", code, env=mark)
        await_death(int(ended.stdout.text))


class TestLeftovers:
    def test_a_background_process_that_holds_the_pipes_ends_with_its_command(self) -> None:
        ended = run("sh", "-c", "sleep 600 & echo $!; exit 5")
        assert ended.exit_code == 5
        await_death(int(ended.stdout.text))

    def test_one_in_a_session_of_its_own_does_too(self, mark: dict[str, str]) -> None:
        code = """
            import subprocess
            child = subprocess.Popen(["sleep", "600"], start_new_session=True)
            print(child.pid, flush=True)
        """
        ended = run(*python(code), env=mark)
        assert ended.exit_code == 0
        await_death(int(ended.stdout.text))

    def test_one_that_cannot_be_found_does_not_hold_up_the_command(self) -> None:
        code = """
            import subprocess
            child = subprocess.Popen(["sleep", "600"], start_new_session=True, env={})
            print(child.pid, flush=True)
        """
        ended = run(*python(code))
        pid = int(ended.stdout.text)
        try:
            assert ended.exit_code == 0
            assert is_alive(pid), "it bears no mark"
        finally:
            os.kill(pid, signal.SIGKILL)

    def test_another_command_of_the_same_run_goes_on(
        self, tmp_path: Path, mark: dict[str, str]
    ) -> None:
        fifo = tmp_path / "fifo"
        os.mkfifo(fifo)

        async def both() -> tuple[Ended, Ended]:
            async def command(code: str) -> Ended:
                argv = ["sh", "-c", code]
                return await process.run(argv, cwd=tmp_path, env=mark, timeout=FOREVER)

            waits = asyncio.create_task(command(f"cat '{fifo}'"))
            ends = await command("true")
            await asyncio.to_thread(fifo.write_text, "still here")
            return ends, await waits

        ends, waits = asyncio.run(both())
        assert (ends.exit_code, waits.exit_code) == (0, 0)
        assert waits.stdout.text == "still here"

    def test_only_processes_with_the_very_mark_are_killed(self, mark: dict[str, str]) -> None:
        others = subprocess.Popen(["sleep", "600"], env={**mark, MARK: mark[MARK] + "0"})
        try:
            assert process.kill_marked(f"{MARK}={mark[MARK]}") == 0
            assert others.poll() is None
        finally:
            others.kill()
            others.wait()

    def test_killed_processes_are_counted(self, mark: dict[str, str]) -> None:
        with contextlib.ExitStack() as stack:
            children = [
                stack.enter_context(
                    subprocess.Popen(
                        ["sh", "-c", "echo ready; read _"],
                        env=mark,
                        stdin=subprocess.PIPE,
                        stdout=subprocess.PIPE,
                    )
                )
                for _ in range(3)
            ]
            for child in children:
                # Until it has begun to run, its environment cannot be read by others.
                assert child.stdout
                assert child.stdout.readline() == b"ready\n"
            assert process.kill_marked(f"{MARK}={mark[MARK]}") == 3
            assert [child.wait() for child in children] == [-signal.SIGKILL] * 3


class TestCancellation:
    def test_a_cancelled_wait_kills_the_command(self, tmp_path: Path, mark: dict[str, str]) -> None:
        fifo = tmp_path / "fifo"
        os.mkfifo(fifo)

        async def cancelled() -> list[int]:
            code = f"sleep 600 & echo $$ $! >'{fifo}'; wait"
            command = process.run(["sh", "-c", code], cwd=tmp_path, env=mark, timeout=FOREVER)
            task = asyncio.create_task(command)
            pids = await asyncio.to_thread(fifo.read_text)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            return [int(pid) for pid in pids.split()]

        pids = asyncio.run(cancelled())
        assert len(pids) == 2
        for pid in pids:
            await_death(pid)


#: Runs `process.run` on a command that names its processes in a file and then waits.
PARENT = """
    import asyncio, os, sys
    from pathlib import Path
    from runtrue import process

    async def main():
        argv = ["sh", "-c", sys.argv[1]]
        await process.run(argv, cwd=Path(sys.argv[2]), env=dict(os.environ), timeout=600)

    asyncio.run(main())
"""


class Parent:
    """A process of its own that runs a command."""

    def __init__(self, directory: Path, command: str, env: dict[str, str]) -> None:
        self._fifo = directory / "pids"
        os.mkfifo(self._fifo)
        argv = [sys.executable, "-c", textwrap.dedent(PARENT), command, str(directory)]
        self.process = subprocess.Popen(argv, env=env)

    def pids(self) -> list[int]:
        return [int(pid) for pid in self._fifo.read_text().split()]

    def guardian(self) -> int:
        for directory in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                command = (directory / "cmdline").read_bytes()
                ppid = (directory / "stat").read_text().rpartition(")")[2].split()[1]
                if b"_guardian.py" in command and int(ppid) == self.process.pid:
                    return int(directory.name)
        raise AssertionError("there is no guardian")


class TestGuardian:
    def test_kill_9_of_the_parent_ends_the_commands_group(
        self, tmp_path: Path, mark: dict[str, str]
    ) -> None:
        parent = Parent(tmp_path, "sleep 600 & echo $$ $! >pids; wait", mark)
        pids = parent.pids()
        parent.process.kill()
        parent.process.wait()
        for pid in pids:
            await_death(pid)

    def test_and_marked_processes_that_left_the_group(
        self, tmp_path: Path, mark: dict[str, str]
    ) -> None:
        parent = Parent(tmp_path, "setsid sleep 600 & echo $! >pids; wait", mark)
        (pid,) = parent.pids()
        parent.process.kill()
        parent.process.wait()
        await_death(pid)

    def test_what_a_next_driver_of_the_same_run_has_begun_goes_on(
        self, tmp_path: Path, mark: dict[str, str]
    ) -> None:
        parent = Parent(tmp_path, "echo $$ >pids; exec sleep 600", mark)
        parent.pids()
        guardian = parent.guardian()
        begun = subprocess.Popen(["sleep", "600"], env=mark)
        try:
            parent.process.kill()
            parent.process.wait()
            await_death(guardian)
            assert begun.poll() is None
        finally:
            begun.kill()
            begun.wait()

    def test_and_those_of_every_run_in_a_process_that_has_several(
        self, tmp_path: Path, mark: dict[str, str]
    ) -> None:
        other = {**mark, MARK: f"{mark[MARK]}-other"}
        code = f"""
            import asyncio
            from pathlib import Path
            from runtrue import process

            async def main():
                await asyncio.gather(*(
                    process.run(
                        ["sh", "-c", "setsid sh -c 'echo $$ >>pids; exec sleep 600' & wait"],
                        cwd=Path({str(tmp_path)!r}), env=env, timeout=600,
                    )
                    for env in {[mark, other]!r}
                ))

            asyncio.run(main())
        """
        fifo = tmp_path / "pids"
        os.mkfifo(fifo)
        parent = subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)], env=ENV)
        pids: list[int] = []
        while len(pids) < 2:
            pids += [int(pid) for pid in fifo.read_text().split()]
        parent.kill()
        parent.wait()
        try:
            for pid in pids:
                await_death(pid)
        finally:
            process.kill_marked(f"{MARK}={other[MARK]}")

    def test_it_kills_what_it_was_told_of_and_not_what_has_ended(
        self, mark: dict[str, str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        sleep = ["sleep", str(FOREVER)]
        ended = subprocess.Popen(sleep, start_new_session=True)
        group = subprocess.Popen(sleep, start_new_session=True)
        marked = subprocess.Popen(sleep, env=mark)
        lines = [
            f"+1 {MARK}=other",
            f"@1 {ended.pid}",
            "-1",
            "+2 ",
            f"@2 {group.pid}",
            f"+3 {MARK}={mark[MARK]}",
        ]
        monkeypatch.setattr(sys, "stdin", io.StringIO("\n".join(lines) + "\n"))
        try:
            guard()
            assert group.wait() == -signal.SIGKILL
            assert marked.wait() == -signal.SIGKILL
            assert ended.poll() is None
        finally:
            for child in (ended, group, marked):
                child.kill()
                child.wait()

    def test_directories_are_gone_when_their_process_was_killed(self, tmp_path: Path) -> None:
        code = """
            import os, sys, time
            from runtrue.process import temporary_directory

            with temporary_directory("over-") as over:
                pass
            with temporary_directory("left-") as left:
                (left / "file").write_text("x")
                print(over, left, flush=True)
                time.sleep(600)
        """
        parent = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(code)],
            env={**ENV, "TMPDIR": str(tmp_path)},
            stdout=subprocess.PIPE,
            text=True,
        )
        assert parent.stdout is not None
        over, left = map(Path, parent.stdout.readline().split())
        assert (over.exists(), left.exists()) == (False, True)
        parent.kill()
        parent.wait()
        parent.stdout.close()
        deadline = time.monotonic() + 60
        while left.exists():
            assert time.monotonic() < deadline
            time.sleep(0.01)

    def test_a_killed_guardian_is_no_reason_to_fail(
        self, tmp_path: Path, mark: dict[str, str]
    ) -> None:
        os.mkfifo(tmp_path / "go")
        parent = Parent(tmp_path, "echo $$ >pids; read line <go", mark)
        parent.pids()
        guardian = parent.guardian()
        os.kill(guardian, signal.SIGKILL)
        await_death(guardian)
        (tmp_path / "go").write_text("\n")
        assert parent.process.wait() == 0

    def test_the_guardian_ends_with_its_process(self, tmp_path: Path, mark: dict[str, str]) -> None:
        os.mkfifo(tmp_path / "go")
        parent = Parent(tmp_path, "echo $$ >pids; read line <go", mark)
        parent.pids()
        guardian = parent.guardian()
        (tmp_path / "go").write_text("\n")
        parent.process.wait()
        await_death(guardian)
