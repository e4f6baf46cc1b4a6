"""The ladder has its rungs in the configured order."""

from __future__ import annotations

from runtrue.config import AgentConfig
from runtrue.fixers import AgentFixer, ToolFixer, build_ladder

TOOL = ToolFixer({})
AGENT = AgentFixer(AgentConfig(command="agent"))


def test_the_order_is_the_configured_one() -> None:
    assert build_ladder(["agent", "tool"], {"tool": TOOL, "agent": AGENT}) == (AGENT, TOOL)
    assert build_ladder(["tool", "agent"], {"tool": TOOL, "agent": AGENT}) == (TOOL, AGENT)


def test_what_is_not_in_the_order_is_not_on_the_ladder() -> None:
    assert build_ladder(["tool"], {"tool": TOOL, "agent": AGENT}) == (TOOL,)
    assert build_ladder([], {"tool": TOOL}) == ()


def test_a_person_is_no_rung() -> None:
    assert build_ladder(["tool", "human"], {"tool": TOOL}) == (TOOL,)
