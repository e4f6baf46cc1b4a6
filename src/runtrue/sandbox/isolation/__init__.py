"""How commands are confined while they run: what they see, may change, connect to and use up.

`level` says how strongly that can be done here, `box` has the policy and what one command gets;
`bubblewrap`, `landlock` and `container` start it, each in its own way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtrue._lazy import lazy_exports

if TYPE_CHECKING:
    from runtrue.sandbox.isolation.box import LEVEL, WRITE, Box, Isolation, IsolationRecord
    from runtrue.sandbox.isolation.level import Level, choose, missing, unavailable, weaknesses
    from runtrue.sandbox.isolation.visible_paths import environment_paths, git_paths

__all__ = lazy_exports(__name__)
