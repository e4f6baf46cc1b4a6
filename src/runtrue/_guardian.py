"""The guardian: a small process that kills what a dead runtrue left running.

It is run as a script, by itself, and imports nothing of runtrue. Its standard input is a pipe from
the process it guards, which names the process groups that it starts (`+7`) and that have ended
(`-7`), and its run's mark (`=name=value`). The pipe closes when that process ends, however it ends.
"""

import os
import signal
import sys


def kill_marked(mark: str) -> int:
    """Kill every process that has `mark` (`NAME=value`) in its environment, and count them.

    This finds what left its process group. It needs Linux's /proc; elsewhere it finds nothing.
    """
    killed = 0
    try:
        processes = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return 0
    for pid in processes:
        if pid == os.getpid():
            continue
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                environment = file.read()
            if mark.encode() in environment.split(b"\0"):
                os.kill(pid, signal.SIGKILL)
                killed += 1
        except OSError:
            continue
    return killed


def kill_group(leader: int, number: int = signal.SIGKILL) -> None:
    """Send a signal to a process group, if it is still there."""
    try:
        os.killpg(leader, number)
    except (ProcessLookupError, PermissionError):
        pass


def guard() -> None:
    """Wait for the guarded process to end, then kill what it left."""
    groups: set[int] = set()
    mark = ""
    for line in sys.stdin:
        sign, value = line[0], line[1:].strip()
        if sign == "+":
            groups.add(int(value))
        elif sign == "-":
            groups.discard(int(value))
        else:
            mark = value
    for leader in groups:
        kill_group(leader)
    if groups and mark:
        kill_marked(mark)


if __name__ == "__main__":
    guard()
