"""Become a command that reaches no abstract socket but its own.

Runs as a script in a box that shares the user's network, and imports nothing of runtrue: a socket
without a path belongs to a network, and no mount hides it. Landlock's scopes do, from Linux 6.12.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys

_CREATE_RULESET, _RESTRICT_SELF = 444, 446
_SINCE = 6
_ABSTRACT_SOCKETS = 1


def scopes_sockets() -> bool:
    """Return whether this kernel keeps a process from the abstract sockets of others."""
    if not sys.platform.startswith("linux"):
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    return int(libc.syscall(ctypes.c_long(_CREATE_RULESET), None, ctypes.c_size_t(0), 1)) >= _SINCE


def main() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    attributes = struct.pack("=QQQ", 0, 0, _ABSTRACT_SOCKETS)
    rules = libc.syscall(ctypes.c_long(_CREATE_RULESET), attributes, ctypes.c_size_t(24), 0)
    libc.prctl(38, *(ctypes.c_ulong(value) for value in (1, 0, 0, 0)))
    if rules < 0 or libc.syscall(ctypes.c_long(_RESTRICT_SELF), ctypes.c_int(rules), 0):
        sys.stderr.write(f"runtrue: sockets: {os.strerror(ctypes.get_errno())}\n")
        os._exit(125)
    os.close(rules)
    try:
        os.execvp(sys.argv[1], sys.argv[1:])  # noqa: S606 - it is what was asked for
    except OSError as error:
        sys.stderr.write(f"{sys.argv[1]}: {error.strerror}\n")
        os._exit(127)


if __name__ == "__main__":
    main()
