"""The ladder has its rungs in the configured order, and says why one has nothing on it."""

from __future__ import annotations

from runtrue.fixers import AgentFixer, ToolFixer, build_ladder
from runtrue.loop import Skip

TOOL = ToolFixer({})
AGENT = AgentFixer("agent", timeout=1)
MISSING = "not part of this version of runtrue"


def test_the_order_is_the_configured_one() -> None:
    assert build_ladder(["agent", "tool"], {"tool": TOOL, "agent": AGENT}) == (AGENT, TOOL)
    assert build_ladder(["tool", "agent"], {"tool": TOOL, "agent": AGENT}) == (TOOL, AGENT)


def test_a_rung_with_nothing_on_it_says_so() -> None:
    order = ["memory", "tool", "search", "model", "agent"]
    assert build_ladder(order, {"tool": TOOL, "agent": AGENT}) == (
        Skip(fixer="memory", reason=MISSING),
        TOOL,
        Skip(fixer="search", reason=MISSING),
        Skip(fixer="model", reason=MISSING),
        AGENT,
    )


def test_what_is_not_in_the_order_is_not_on_the_ladder() -> None:
    assert build_ladder(["tool"], {"tool": TOOL, "agent": AGENT}) == (TOOL,)
    assert build_ladder([], {"tool": TOOL}) == ()


def test_a_person_is_no_rung() -> None:
    assert build_ladder(["tool", "human"], {"tool": TOOL}) == (TOOL,)
