"""What helps to test plugins and programs that use runtrue: a home, a model and an agent of a test.

with temporary_home(), ModelServer() as server:
    server.script(CallTool({"edits": []}))
    report = runtrue.fix(project, agent=fake_agent({"shop.py": FIXED}))
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtrue._lazy import lazy_exports

if TYPE_CHECKING:
    from runtrue.testing.agent import fake_agent
    from runtrue.testing.home import temporary_home
    from runtrue.testing.model_server import (
        KEY,
        CallTool,
        HangUp,
        ModelRequest,
        ModelServer,
        Raw,
        Refuse,
        Say,
        Script,
        Silence,
        Step,
    )

__all__ = lazy_exports(__name__)
