"""The guardian: a small process that removes what a dead runtrue has left.

It is run as a script, by itself, and imports nothing of runtrue. Its standard input is a pipe from
the process it guards, which numbers its commands and writes of each: that it is about to start,
with its mark (`+1 name=value`), its process group (`@1 4711`), that it has ended (`-1`). It also
writes which directories must be gone in the end (`/2 /tmp/some`), and when they are (`-2`).
The pipe closes when that process ends, however it ends.
"""

import os
import signal
import sys
import time

# A process that was just being started bears its mark only a moment later.
_STARTING_SECONDS = 0.1


def kill_marked(mark: str) -> int:
    """Kill every process that has `mark` (`NAME=value`) in its environment, and count them.

    This finds what left its process group. It needs Linux's /proc; elsewhere it finds nothing.
    """
    try:
        processes = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return 0
    killed = 0
    # One that has just begun another program has no environment for a moment: look again.
    for _ in range(2):
        unknown = []
        for pid in processes:
            if pid == os.getpid():
                continue
            try:
                with open(f"/proc/{pid}/environ", "rb") as file:
                    environment = file.read()
                if mark.encode() in environment.split(b"\0"):
                    os.kill(pid, signal.SIGKILL)
                    killed += 1
                elif not environment and os.readlink(f"/proc/{pid}/exe"):
                    unknown.append(pid)
            except OSError:
                # It has ended, is another user's, or a thread of the kernel.
                continue
        if not unknown:
            break
        processes = unknown
        time.sleep(0.001)
    return killed


def kill_group(leader: int, number: int = signal.SIGKILL) -> None:
    """Send a signal to a process group, if it is still there."""
    try:
        os.killpg(leader, number)
    except (ProcessLookupError, PermissionError):
        pass


def guard() -> None:
    """Wait for the guarded process to end, then kill and remove what it left."""
    marks: dict[str, str] = {}
    groups: dict[str, int] = {}
    directories: dict[str, str] = {}
    for line in sys.stdin:
        command, _, value = line[1:].strip().partition(" ")
        if line[0] == "+":
            marks[command] = value
        elif line[0] == "@":
            groups[command] = int(value)
        elif line[0] == "/":
            directories[command] = value
        else:
            marks.pop(command, None)
            groups.pop(command, None)
            directories.pop(command, None)
    for leader in groups.values():
        kill_group(leader)
    left = set(filter(None, marks.values()))
    for mark in left:
        kill_marked(mark)
    if left:
        time.sleep(_STARTING_SECONDS)
    for mark in left:
        kill_marked(mark)
    if directories:
        import shutil  # hardly ever needed

        for directory in directories.values():
            shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    guard()
