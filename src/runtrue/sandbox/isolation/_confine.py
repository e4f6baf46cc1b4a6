"""Confine a process: give up what a command must not have, for good and for all it starts.

Runs by itself, with `_warden`, and imports nothing of runtrue and little else: each command waits
for it. The *spec*, written by `landlock`, names the rights of the command.
"""

from __future__ import annotations

import ctypes
import os
import resource
import stat
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:  # importing these takes longer than all the rest
    from collections.abc import Iterator
    from typing import Any

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long

_NEW_MOUNTS, _NEW_IPC, _NEW_USER, _NEW_NETWORK = 0x20000, 0x8000000, 0x10000000, 0x40000000
_BIND, _RECURSIVE, _PRIVATE, _DETACH = 0x1000, 0x4000, 0x40000, 2
_NOSUID, _NODEV = 2, 4
_SET_MOUNT = 442
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_READ_ONLY = 1

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1, 2, 4, 8
_MAKE_CHAR, _MAKE_BLOCK, _TRUNCATE, _IOCTL_DEVICE = 1 << 6, 1 << 11, 1 << 14, 1 << 15
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEVICE
#: Rights that the first version of Landlock knows, and those that came with a later one.
_FIRST_RIGHTS = (1 << 13) - 1
_LATER_RIGHTS = {2: 1 << 13, 3: _TRUNCATE, 5: _IOCTL_DEVICE, 9: 1 << 16}
_TCP_SINCE, _TCP = 4, 3
_SCOPES_SINCE, _SCOPES = 6, 3

#: Where the command's root is built: a directory that always exists and is never shown.
_ROOT = "/dev"
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_LINKS = {"fd": "", "stdin": "/0", "stdout": "/1", "stderr": "/2"}
#: MiB of shared memory, which is memory that no process is seen to have.
_SHARED_MEMORY = 1024
_NICENESS = 5
#: The kernel, short of memory, ends the command rather than what the user works with.
_FIRST_TO_GO = 500
_MIB = 1024 * 1024
#: A hard limit that is hit kills without a word; the soft one says which it was.
_SLACK_SECONDS = 5
_MORE_OF_OTHERS = 256


def confine(spec: dict[str, Any], apart: bool) -> tuple[dict[str, str], list[str]] | str:
    """Confine this process, `apart` from all others in namespaces of its own.

    Return the command's environment and the protections that do not work here; or the reason why it
    cannot be apart, after which this process is useless. Raises OSError.
    """
    environment = dict(spec["environment"])
    missing: list[str] = []
    _write("/proc/self/oom_score_adj", str(_FIRST_TO_GO))
    os.nice(_NICENESS)
    # The user may start more of them meanwhile.
    others = 0 if apart else _threads() + _MORE_OF_OTHERS
    if spec["level"] == "landlock":
        if apart:
            try:
                _stand_apart(spec)
            except OSError as error:
                return f"{error.filename}: {error.strerror}"
        elif not spec["open_network"] and spec["filter_together"] is None:
            raise OSError(
                0, "neither namespaces nor a system call filter for this machine", "network"
            )
        elif spec["read_only"] and not spec["is_restored"]:
            # A right to a directory is one to all that is in it.
            raise OSError(
                0, "without namespaces they could be changed: install bubblewrap", "hooks"
            )
        else:
            missing.append("namespaces")
            _furnish(spec)
        _prctl(38, 1)  # no new privileges
        missing += _restrict(spec, apart)
        _drop_capabilities()
        program = spec["filter_apart" if apart else "filter_together"]
    else:
        _prctl(38, 1)
        _drop_capabilities()
        program = None
    environment.update(spec["environment_apart" if apart else "environment_together"])
    os.chdir(spec["directory"])
    _limit(spec["limits"], others)
    if program is not None:
        _filter(program)
    elif spec["level"] == "landlock":
        missing.append("filter")
    return environment, missing


def _limit(limits: dict[str, float], others: int) -> None:
    cpu = max(1, int(limits["cpu"]))
    for kind, soft, hard in (
        (resource.RLIMIT_CPU, cpu, cpu + _SLACK_SECONDS),
        (resource.RLIMIT_FSIZE, limits["file_size"] * _MIB, None),
        (resource.RLIMIT_NOFILE, limits["open_files"], None),
        # The kernel counts all processes of the user, where it has no other namespace of users.
        (resource.RLIMIT_NPROC, limits["processes"] + others, None),
        # Not 0: programs that collect core dumps get them all the same then.
        (resource.RLIMIT_CORE, 1, None),
    ):
        most = resource.getrlimit(kind)[1]
        wanted = [int(soft), int(soft if hard is None else hard)]
        if most != resource.RLIM_INFINITY:
            wanted = [min(value, most) for value in wanted]
        resource.setrlimit(kind, (wanted[0], wanted[1]))


def _threads() -> int:
    """Return the number of all threads here; to count only the user's takes much longer."""
    with open("/proc/loadavg") as file:
        return int(file.read().split()[3].partition("/")[2])


def _stand_apart(spec: dict[str, Any]) -> None:
    """Get namespaces of our own, which contain only what the spec names."""
    pivot_root = _PIVOT_ROOT.get(os.uname().machine)
    if pivot_root is None:
        raise OSError(0, "unknown machine", "namespaces")
    user, group = os.geteuid(), os.getegid()
    alone = 0 if spec["open_network"] else _NEW_NETWORK
    _check(_libc.unshare(_NEW_USER | _NEW_MOUNTS | _NEW_IPC | alone), "namespaces")
    _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", f"{user} {user} 1")
    _write("/proc/self/gid_map", f"{group} {group} 1")
    if alone:
        _bring_up_loopback()
    _mount(None, "/", None, _RECURSIVE | _PRIVATE)
    _build(spec, _ROOT)
    os.chdir(_ROOT)
    # The old root is put over the new one, and taken off.
    here = ctypes.c_char_p(b".")
    _check(_libc.syscall(ctypes.c_long(pivot_root), here, here), "pivot_root")
    _check(_libc.umount2(here, _DETACH), "umount")
    os.chdir("/")
    _set_mount("/", _READ_ONLY | _NOSUID, 0, recursive=False)


def _build(spec: dict[str, Any], root: str) -> None:
    """Mount everything visible below `root`."""
    # Each place is taken hold of before anything is mounted over it.
    shown = [
        *((place, place, _READ_ONLY) for place in spec["read"]),
        *((source, place, 0) for source, place in spec["binds"]),
        *((place, place, 0) for place in spec["write"]),
        *((place, place, _READ_ONLY) for place in spec["read_only"]),
    ]
    around = [_root_of(source, spec["write"]) for source, _, _ in shown]
    held = [
        (_hold(source, root), place, flags)
        for (source, place, flags), root in zip(shown, around, strict=True)
    ]
    hidden = [(_hold("/dev/null"), place, None) for place in spec["hidden"]]
    devices = [(_hold(f"/dev/{name}"), name) for name in _DEVICES]
    system = _hold("/proc")
    _mount("tmpfs", root, "tmpfs", _NOSUID | _NODEV, "mode=755,size=4m")
    # A home and directories for temporary files are new and empty: nobody has put links there.
    new = [place for _, place in spec["binds"]]
    # From the outside to the inside: paths within others come later.
    for descriptor, place, flags in sorted([*held, *hidden], key=lambda one: one[1].count("/")):
        target = root + place
        inside = _root_of(place, [*spec["write"], *new])
        if inside is not None and inside not in new:
            # Commands may have put a link there; mounts are not led by it.
            opened = _hold(target, root + inside)
            if opened is None:
                continue
            target = f"/proc/self/fd/{opened}"
        if flags is None:
            _hide(descriptor, target, root + place)
        elif descriptor is not None:
            _bind(descriptor, target, flags, at=root + place)
    for link, where in spec["links"]:
        if not os.path.lexists(root + link):
            os.makedirs(os.path.dirname(root + link), exist_ok=True)
            os.symlink(where, root + link)
    _bind(system, f"{root}/proc", _READ_ONLY)
    _build_devices(root + "/dev", devices, min(spec["limits"]["memory"], _SHARED_MEMORY))


def _build_devices(root: str, devices: list[tuple[int | None, str]], memory: int) -> None:
    _make(root)
    for descriptor, name in devices:
        if descriptor is not None:
            _bind(descriptor, f"{root}/{name}", 0, no_devices=0)
    for name, what in _LINKS.items():
        os.symlink(f"/proc/self/fd{what}", f"{root}/{name}")
    os.symlink("pts/ptmx", f"{root}/ptmx")
    for name in ("shm", "pts"):
        os.mkdir(f"{root}/{name}")
    _mount("tmpfs", f"{root}/shm", "tmpfs", _NOSUID | _NODEV, f"mode=1777,size={memory}m")
    options = "newinstance,ptmxmode=0666,mode=620"
    _mount("devpts", f"{root}/pts", "devpts", _NOSUID, options)


def _make(directory: str) -> None:
    """Make a directory and its parents; `os.makedirs` would check each of them first."""
    try:
        os.mkdir(directory)
    except FileExistsError:
        pass
    except FileNotFoundError:
        _make(directory.rpartition("/")[0])
        os.mkdir(directory)


def _root_of(place: str, roots: list[str]) -> str | None:
    """Return the innermost of some directories that a path is below, if any."""
    return max((root for root in roots if place.startswith(f"{root}/")), key=len, default=None)


def _hold(place: str, root: str | None = None) -> int | None:
    """Open a path, below a root only without links; None if there is no such path."""
    flags = os.O_PATH | os.O_CLOEXEC
    if root is None:
        try:
            return os.open(place, flags)
        except OSError:
            return None
    try:
        opened = os.open(root, flags)
        for name in place[len(root) + 1 :].split("/"):
            inner = os.open(name, flags | os.O_NOFOLLOW, dir_fd=opened)
            os.close(opened)
            opened = inner
            if stat.S_ISLNK(os.fstat(opened).st_mode):
                # Not an OSError, after which this is tried without namespaces.
                raise RuntimeError(f"a link has taken the place of {place}")
    except FileNotFoundError:
        return None
    return opened


def _bind(
    descriptor: int | None, target: str, flags: int, no_devices: int = _NODEV, at: str = ""
) -> None:
    """Mount what a descriptor holds on a target, which is seen as `at` when that is done."""
    if descriptor is None:
        return
    if target.startswith("/proc/self/fd/"):
        pass  # it is there already
    elif stat.S_ISDIR(os.fstat(descriptor).st_mode):
        _make(target)
    elif not os.path.lexists(target):
        _make(target.rpartition("/")[0])
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o644))
    _mount(f"/proc/self/fd/{descriptor}", target, None, _BIND | _RECURSIVE)
    _set_mount(at or target, flags | _NOSUID | no_devices, 0, recursive=True)


def _hide(nothing: int | None, target: str, at: str) -> None:
    """Mount nothing over a file or directory, if it would be visible, and is seen as `at` then."""
    if os.path.isdir(target):
        _mount("tmpfs", target, "tmpfs", _NOSUID | _NODEV, "mode=755,size=1m")
        _set_mount(at, _READ_ONLY, 0, recursive=False)
    elif os.path.exists(target):
        _mount(f"/proc/self/fd/{nothing}", target, None, _BIND)


def _bring_up_loopback() -> None:
    request = struct.pack("16sH22x", b"lo", 1)  # interface flags: up
    descriptor = _check(_libc.socket(2, 2, 0), "socket")
    _check(_libc.ioctl(descriptor, ctypes.c_ulong(0x8914), request), "loopback")
    os.close(descriptor)


def _furnish(spec: dict[str, Any]) -> None:
    """Link the user's tools into the home that replaces the user's."""
    if spec["home"] is None:
        return
    home, real = spec["home"]
    for place in spec["read"]:
        if place.startswith(real + "/") and os.path.exists(place):
            link = home + place[len(real) :]
            os.makedirs(os.path.dirname(link), exist_ok=True)
            if not os.path.lexists(link):
                os.symlink(place, link)


def _restrict(spec: dict[str, Any], apart: bool) -> list[str]:
    """Apply Landlock's rules to this process; return what they cannot do here."""
    version = _libc.syscall(ctypes.c_long(_CREATE_RULESET), None, ctypes.c_size_t(0), 1)
    if version < 1:
        raise OSError(0, "this kernel has none, or it is disabled", "Landlock")
    if version < 3 and not apart:
        raise OSError(0, "this kernel's version cannot keep files from being truncated", "Landlock")
    handled = _FIRST_RIGHTS
    for since, right in _LATER_RIGHTS.items():
        handled |= right if version >= since else 0
    closed = version >= _TCP_SINCE and not apart and not spec["open_network"]
    scopes = _SCOPES if version >= _SCOPES_SINCE else 0
    attributes = struct.pack("=QQQ", handled, _TCP if closed else 0, scopes)
    rules = _libc.syscall(ctypes.c_long(_CREATE_RULESET), attributes, ctypes.c_size_t(24), 0)
    _check(rules, "Landlock")
    for place, wanted in _rights(spec, apart):
        descriptor = _hold(place)
        if descriptor is None:
            continue
        is_directory = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        possible = handled if is_directory else handled & _OF_FILES
        rule = struct.pack("=Qi", wanted & possible, descriptor)
        added = _libc.syscall(ctypes.c_long(_ADD_RULE), ctypes.c_int(rules), 1, rule, 0)
        _check(added, "Landlock")
        os.close(descriptor)
    _check(_libc.syscall(ctypes.c_long(_RESTRICT_SELF), ctypes.c_int(rules), 0), "Landlock")
    os.close(rules)
    return [] if scopes else ["signals"]


def _rights(spec: dict[str, Any], apart: bool) -> Iterator[tuple[str, int]]:
    reading = _EXECUTE | _READ_FILE | _READ_DIR
    everything = ~(_MAKE_CHAR | _MAKE_BLOCK) & (1 << 32) - 1
    for name in _DEVICES:
        yield f"/dev/{name}", _READ_FILE | _WRITE_FILE | _TRUNCATE | _IOCTL_DEVICE
    yield "/proc", _READ_FILE | _READ_DIR
    for place in spec["write"]:
        yield place, everything
    if apart:
        # What is not to be seen is not there.
        yield "/", _READ_DIR
        for place in ("/dev/shm", "/dev/pts", *(place for _, place in spec["binds"])):  # noqa: S108
            yield place, everything
        for place in spec["read"]:
            yield place, reading
    else:
        # Semaphores and shared memory, of which one has to know the name: all users' are there.
        yield "/dev/shm", everything & ~_READ_DIR  # noqa: S108
        for place, _ in spec["binds"]:
            yield place, everything
        for place in spec["read"]:
            for part in _around(os.path.realpath(place), spec["hidden"]):
                yield part, reading


def _around(place: str, hidden: list[str]) -> Iterator[str]:
    """Return a path, or everything in it that is not hidden."""
    inside = [one for one in hidden if f"{one}/".startswith(f"{place}/")]
    if not inside:
        yield place
    elif place not in inside:
        try:
            names = os.listdir(place)
        except OSError:
            return
        for name in names:
            # A link might lead to what is hidden.
            if not os.path.islink(f"{place}/{name}"):
                yield from _around(f"{place}/{name}", inside)


def _drop_capabilities() -> None:
    """Give up everything that makes root more than a user, for good."""
    _libc.prctl(47, 4, 0, 0, 0)  # ambient ones
    # Those of us who have none cannot, and need not, give up getting any.
    number = 0
    while _libc.prctl(24, ctypes.c_ulong(number), 0, 0, 0) == 0:
        number += 1
    _libc.prctl(28, ctypes.c_ulong(0xEF), 0, 0, 0)  # being root is nothing, for good
    _check(_libc.capset(struct.pack("=Ii", 0x20080522, 0), bytes(24)), "capabilities")


def _filter(program: bytes) -> None:
    code = ctypes.create_string_buffer(program, len(program))
    pointer = struct.pack("@HP", len(program) // 8, ctypes.addressof(code))
    place = ctypes.create_string_buffer(pointer, len(pointer))
    _prctl(22, 2, ctypes.addressof(place))


def _prctl(option: int, *values: int) -> None:
    arguments = [ctypes.c_ulong(value) for value in (*values, 0, 0, 0, 0)[:4]]
    _check(_libc.prctl(option, *arguments), "prctl")


def _mount(source: str | None, target: str, kind: str | None, flags: int, data: str = "") -> None:
    texts = [None if text is None else os.fsencode(text) for text in (source, target, kind)]
    _check(_libc.mount(*texts, ctypes.c_ulong(flags), data.encode() or None), target)


def _set_mount(target: str, on: int, off: int, *, recursive: bool) -> None:
    attributes = struct.pack("=QQQQ", on, off, 0, 0)
    how = ctypes.c_uint(0x8000 if recursive else 0)
    number, at = ctypes.c_long(_SET_MOUNT), ctypes.c_int(-100)
    path = os.fsencode(target)
    _check(_libc.syscall(number, at, path, how, attributes, ctypes.c_size_t(32)), target)


def _write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)


def _check(result: int, what: str) -> int:
    if result == -1:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)
    return result
