"""How commands are confined while they run: what they see, may change, connect to and use up.

`level` says how strongly that can be done here, `box` has the policy and what one command gets;
`bubblewrap`, `landlock` and `container` start it, each in its own way.
"""

from runtrue.sandbox.isolation.box import LEVEL, WRITE, Box, Isolation, IsolationRecord
from runtrue.sandbox.isolation.level import Level, choose, missing, unavailable
from runtrue.sandbox.isolation.visible_paths import environment_paths, git_paths

__all__ = [
    "LEVEL",
    "WRITE",
    "Box",
    "Isolation",
    "IsolationRecord",
    "Level",
    "choose",
    "environment_paths",
    "git_paths",
    "missing",
    "unavailable",
]
