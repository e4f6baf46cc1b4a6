"""The attacks: one module for each kind."""

from __future__ import annotations

from tests.isolation.attack import Attack, Group
from tests.isolation.attacks.clones import CLONES
from tests.isolation.attacks.descendants import DESCENDANTS
from tests.isolation.attacks.files import FILES
from tests.isolation.attacks.limits import LIMITED
from tests.isolation.attacks.links import LINKED
from tests.isolation.attacks.network import NETWORK
from tests.isolation.attacks.secrets import SECRETS

GROUPS: tuple[Group, ...] = (FILES, LINKED, LIMITED, DESCENDANTS, NETWORK, SECRETS, CLONES)
ATTACKS: tuple[Attack, ...] = tuple(attack for group in GROUPS for attack in group.attacks)
#: What is not promised at the level `landlock` where the kernel lets users have no namespaces.
NEED_NAMESPACES = frozenset(
    {
        "changing modes, owners, times and attributes of the user's files",
        "reading what others have in shared memory",
        "taking memory as files in shared memory",
        "talking to itself, which is allowed, and to nobody else by it",
        "reaching one host and port that are allowed, and no other port",
        "reaching another port by a tunnel of the proxy",
        "naming one host to the proxy and another one in the request",
        "having the proxy read files, or feeding it what is no request",
    }
)

__all__ = ["ATTACKS", "GROUPS", "NEED_NAMESPACES"]
