"""How commands are confined while they run: what they see, may change, connect to and use up.

`level` says how strongly that can be done here, `isolation` is the policy, and `box` what one
command gets; `bubblewrap`, `landlock` and `container` start it, each in its own way.
"""

from runtrue.sandbox.isolation.box import Box
from runtrue.sandbox.isolation.isolation import LEVEL, WRITE, Isolation
from runtrue.sandbox.isolation.level import Level, choose, missing, unavailable
from runtrue.sandbox.isolation.visible_paths import environment_paths, git_paths

__all__ = [
    "LEVEL",
    "WRITE",
    "Box",
    "Isolation",
    "Level",
    "choose",
    "environment_paths",
    "git_paths",
    "missing",
    "unavailable",
]
