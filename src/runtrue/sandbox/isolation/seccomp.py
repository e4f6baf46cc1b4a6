"""A filter of system calls that no confined command needs and that lead out.

The kernel runs it before each system call, and it cannot be removed again. `bwrap --seccomp FD`
reads the same bytes.
"""

from __future__ import annotations

import errno
import functools
import struct
from collections.abc import Iterable

# Instructions of the kernel's packet filter machine, which seccomp uses.
_LOAD = 0x20
_IF_EQUAL = 0x15
_IF_AT_LEAST = 0x35
_IF_ANY_BIT = 0x45
_RETURN = 0x06
_ALLOW = 0x7FFF0000
_FAIL = 0x00050000

# Where the machine finds the call: its number, the architecture, and the low half of each argument.
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16

_MACHINES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
# On x86_64, numbers from here on are the x32 calls: the same calls under another number.
_X32 = 0x40000000

#: Calls that are refused with any arguments: their numbers on x86_64 and on aarch64.
_REFUSED: dict[str, tuple[int | None, int | None]] = {
    # other processes' memory and open files
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "pidfd_getfd": (438, 438),
    "kcmp": (312, 272),
    # the kernel itself
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "create_module": (174, None),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "syslog": (103, 116),
    "lookup_dcookie": (212, 18),
    "iopl": (172, None),
    "ioperm": (173, None),
    "uselib": (134, None),
    # what is mounted where
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "open_tree_attr": (467, 467),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "open_by_handle_at": (304, 265),
    "fanotify_init": (300, 262),
    "setns": (308, 268),
    # keys, which belong to the user and not to a process
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    # the machine
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "acct": (163, 89),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "reboot": (169, 142),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "nfsservctl": (180, 42),
    "vhangup": (153, 58),
}
#: Calls that seem not to exist, so that libraries use others, whose arguments can be checked.
_UNKNOWN = {
    "clone3": (435, 435),
    # Requests through a ring bypass every filter.
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    # Memory that no process is seen to have.
    "memfd_secret": (447, 447),
    "msgget": (68, 186),
}
#: Ways to other processes of the user, which only an IPC namespace blocks.
_SHARED = {
    "shmget": (29, 194),
    "shmat": (30, 196),
    "shmctl": (31, 195),
    "semget": (64, 190),
    "semop": (65, 193),
    "semctl": (66, 191),
    "semtimedop": (220, 192),
    "msgget": (68, 186),
    "msgsnd": (69, 189),
    "msgrcv": (70, 188),
    "msgctl": (71, 187),
    "mq_open": (240, 180),
    "mq_unlink": (241, 181),
}
#: Calls that may only be about the caller itself: which argument must be 0, for "oneself".
_OWN = {
    "prlimit64": ((302, 261), 0),
    "setpriority": ((141, 140), 1),
    "ioprio_set": ((251, 30), 1),
    "sched_setparam": ((142, 118), 0),
    "sched_setscheduler": ((144, 119), 0),
    "sched_setattr": ((314, 274), 0),
    "sched_setaffinity": ((203, 122), 0),
    "migrate_pages": ((256, 238), 0),
    "move_pages": ((279, 239), 0),
}
_CLONE, _UNSHARE, _IOCTL, _PERSONALITY = (56, 220), (272, 97), (16, 29), (135, 92)
_SETPRIORITY, _IOPRIO_SET, _SOCKET = _OWN["setpriority"][0], _OWN["ioprio_set"][0], (41, 198)

#: Bytes of one segment of System V's shared memory, which no process is seen to have: a database
#: needs a few, and there can be 4096 of them.
_SEGMENT = 64 * 1024

_NEW_NAMESPACES = 0x7E020000
_NEW_TIME_NAMESPACE = 0x80  # for clone, the same bit is part of a signal's number
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_ALL_OF_THE_USER = 2  # PRIO_USER
_ALL_IO_OF_THE_USER = 3  # IOPRIO_WHO_USER
#: IPv4, IPv6 and netlink, which a network namespace holds; vsock, say, passes through it.
_FAMILIES = (2, 10, 16)
_UNIX = 1


@functools.cache
def seccomp_filter(
    machine: str, *, sockets: bool, apart: bool = True, unix: bool = True, pids: bool = False
) -> bytes | None:
    """Return the filter for a machine of `os.uname`; None for one with unknown numbers.

    Without `sockets` there are only socket pairs. A command that is not `apart`, in mount and IPC
    namespaces of its own, gets neither Unix sockets, which are reached by paths, nor System V's
    shared memory, queues and semaphores. One that is gets none of the former without `unix`. With
    `pids`, it sees no processes but its own, and may bind those to processors.
    """
    if machine not in _MACHINES:
        return None
    own = list(_MACHINES).index(machine)
    program = [
        _step(_LOAD, _ARCHITECTURE),
        _step(_IF_EQUAL, _MACHINES[machine], 1, 0),
        _fail(errno.EPERM),
        _step(_LOAD, _NUMBER),
    ]
    if machine == "x86_64":
        program += [_step(_IF_AT_LEAST, _X32, 0, 1), _fail(errno.EPERM)]

    def rule(numbers: tuple[int | None, int | None], *tests: list[bytes]) -> None:
        number = numbers[own]
        if number is None:
            return
        body = [step for test in tests for step in test]
        body.append(_step(_RETURN, _ALLOW))
        program.extend([_step(_IF_EQUAL, number, 0, len(body)), *body])

    for numbers in _REFUSED.values():
        rule(numbers, [_fail(errno.EPERM)])
    for numbers in _UNKNOWN.values():
        rule(numbers, [_fail(errno.ENOSYS)])
    rule(_CLONE, _no_bit_of(0, _NEW_NAMESPACES))
    rule(_UNSHARE, _no_bit_of(0, _NEW_NAMESPACES | _NEW_TIME_NAMESPACE))
    rule(_IOCTL, _none_of(1, (_TIOCSTI, _TIOCLINUX)))
    rule(_PERSONALITY, _one_of(0, (0, 0xFFFFFFFF)))
    users = {_SETPRIORITY: _ALL_OF_THE_USER, _IOPRIO_SET: _ALL_IO_OF_THE_USER}
    for name, (pair, argument) in _OWN.items():
        if pids and name == "sched_setaffinity":
            continue
        everybody = [_none_of(0, (users[pair],))] if pair in users else []
        rule(pair, *everybody, _one_of(argument, (0,)))
    if apart:
        rule(_SHARED["shmget"], _at_most(1, _SEGMENT, errno.EINVAL))
    families = (*_FAMILIES, *([_UNIX] if apart and unix else ())) if sockets else ()
    rule(_SOCKET, _one_of(0, families, errno.EACCES))
    if not apart:
        for numbers in _SHARED.values():
            rule(numbers, [_fail(errno.EACCES)])
    return b"".join([*program, _step(_RETURN, _ALLOW)])


def _step(code: int, value: int, if_so: int = 0, if_not: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_so, if_not, value)


def _fail(number: int) -> bytes:
    return _step(_RETURN, _FAIL | number)


def _argument(index: int) -> bytes:
    # The low half only. The kernel itself takes no more of those that are looked at here; a filter
    # that compared the high half too would be passed by setting a bit there.
    return _step(_LOAD, _ARGUMENTS + 8 * index)


def _one_of(index: int, values: Iterable[int], number: int = errno.EPERM) -> list[bytes]:
    wanted = list(values)
    tests = [_step(_IF_EQUAL, v, len(wanted) - at, 0) for at, v in enumerate(wanted)]
    return [_argument(index), *tests, _fail(number)]


def _none_of(index: int, values: Iterable[int]) -> list[bytes]:
    tests = [step for v in values for step in (_step(_IF_EQUAL, v, 0, 1), _fail(errno.EPERM))]
    return [_argument(index), *tests]


def _at_most(index: int, value: int, number: int) -> list[bytes]:
    # Both halves: this is a size, of which the kernel takes all.
    high = _step(_LOAD, _ARGUMENTS + 8 * index + 4)
    return [
        *(high, _step(_IF_EQUAL, 0, 1, 0), _fail(number)),
        *(_argument(index), _step(_IF_AT_LEAST, value + 1, 0, 1), _fail(number)),
    ]


def _no_bit_of(index: int, bits: int) -> list[bytes]:
    return [_argument(index), _step(_IF_ANY_BIT, bits, 0, 1), _fail(errno.EPERM)]
