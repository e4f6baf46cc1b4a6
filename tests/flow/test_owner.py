"""Owners: whether the process that claimed a run still lives."""

import os
import signal
import subprocess
import sys
from dataclasses import replace

import msgspec
import pytest

from runtrue.flow import Owner

PRINT_OWNER = """
import msgspec, sys
from runtrue.flow import Owner
print(msgspec.json.encode(Owner.this_process()).decode(), flush=True)
sys.stdin.read()
"""

LOOK_AS_NOBODY = """
import msgspec, os, sys
from runtrue.flow import Owner
owner = msgspec.json.decode(sys.argv[1], type=Owner)
if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
print(owner.is_alive())
"""


END_AS_NOBODY = """
import msgspec, os, sys
from runtrue.errors import RunBusy
from runtrue.flow import Owner
owner = msgspec.json.decode(sys.argv[1], type=Owner)
os.setgid(65534)
os.setuid(65534)
try:
    owner.end()
except RunBusy as error:
    print(error)
"""


def _owner_of(process: subprocess.Popen[bytes]) -> Owner:
    assert process.stdout
    return msgspec.json.decode(process.stdout.readline(), type=Owner)


def _process() -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", PRINT_OWNER], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )


def test_this_process_is_here_and_alive() -> None:
    me = Owner.this_process()
    assert me.pid == os.getpid()
    assert me.is_here()
    assert me.is_alive()
    assert str(me) == f"process {os.getpid()}"


def test_another_process_lives_until_it_is_killed() -> None:
    with _process() as process:
        owner = _owner_of(process)
        assert owner.pid == process.pid
        assert owner.is_alive()
        process.kill()
    assert not owner.is_alive()


def test_a_killed_process_is_dead_even_before_its_parent_has_taken_notice() -> None:
    with _process() as process:
        owner = _owner_of(process)
        process.kill()
        # Wait for the end without reaping, so that a zombie is left.
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert not owner.is_alive()


def test_a_stopped_process_is_alive() -> None:
    with _process() as process:
        owner = _owner_of(process)
        process.send_signal(signal.SIGSTOP)
        os.waitpid(process.pid, os.WUNTRACED)
        assert owner.is_alive()
        process.kill()


def test_a_later_process_that_was_given_the_same_number_is_another_one() -> None:
    assert not replace(Owner.this_process(), started="1").is_alive()


def test_a_process_from_before_the_machine_was_started_again_is_dead() -> None:
    assert not replace(Owner.this_process(), boot="an earlier one").is_alive()


def test_a_process_of_another_machine_is_taken_to_be_alive_and_named_with_its_machine() -> None:
    far = Owner(host="far-away", boot="unknown", pid=1, started="1")
    assert not far.is_here()
    assert far.is_alive()
    assert str(far) == "process 1 on far-away"


def test_ending_a_process_kills_it_and_returns_when_it_is_dead() -> None:
    for stopped in (False, True):
        with _process() as process:
            owner = _owner_of(process)
            if stopped:
                process.send_signal(signal.SIGSTOP)
            owner.end()
            assert not owner.is_alive()
        assert process.returncode == -signal.SIGKILL


def test_ending_leaves_this_process_and_those_that_it_cannot_know_alone() -> None:
    with _process() as process:
        living = _owner_of(process)
        for other in (
            Owner.this_process(),
            replace(living, host="far-away"),
            replace(living, boot="an earlier one"),
            replace(living, started="1"),
        ):
            other.end()
        assert living.is_alive()
        process.kill()
    living.end()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_ending_a_process_of_another_user_is_refused() -> None:
    with _process() as process:
        owner = _owner_of(process)
        ended = subprocess.run(
            [sys.executable, "-c", END_AS_NOBODY, msgspec.json.encode(owner).decode()],
            capture_output=True,
            text=True,
            check=True,
        )
        assert ended.stdout.strip() == (
            f"process {process.pid} belongs to another user and cannot be stopped"
        )
        assert owner.is_alive()
        process.kill()


def test_a_process_of_another_user_is_seen_to_be_alive() -> None:
    owner = msgspec.json.encode(Owner.this_process()).decode()
    looked = subprocess.run(
        [sys.executable, "-c", LOOK_AS_NOBODY, owner], capture_output=True, text=True, check=True
    )
    assert looked.stdout.strip() == "True"
