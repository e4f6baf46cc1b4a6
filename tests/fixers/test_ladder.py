"""The ladder has its rungs in the configured order."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtrue.config import RUNGS, AgentConfig, SearchConfig
from runtrue.fixers import AutofixCommands, FixerSettings, make_ladder
from runtrue.memory import DebugMemory, Project


def _settings(
    directory: Path, *order: str, model: str | None = None, agent: str | None = None
) -> FixerSettings:
    return FixerSettings(
        order=order,
        memory=DebugMemory(directory),
        project=Project.at(directory),
        judges=(),
        autofix=AutofixCommands(commands={}),
        tests=(),
        search=SearchConfig(),
        model=model,
        agent=AgentConfig(command=agent),
        redact=str,
    )


@pytest.mark.parametrize(
    "order", [(), ("tool",), ("agent", "tool"), ("tool", "agent"), (*RUNGS[:-1], "command")]
)
def test_the_ladder_has_the_configured_rungs_in_their_order(
    tmp_path: Path, order: tuple[str, ...]
) -> None:
    assert tuple(fixer.name for fixer in make_ladder(_settings(tmp_path, *order))) == order


def test_a_person_is_no_rung(tmp_path: Path) -> None:
    assert [fixer.name for fixer in make_ladder(_settings(tmp_path, "tool", "human"))] == ["tool"]


@pytest.mark.parametrize(
    ("order", "model", "agent", "has"),
    [
        (("search", "model"), "openai:some", None, True),
        (("search", "agent"), None, "some-agent", True),
        (("search", "model", "agent"), None, None, False),
        (("search",), "openai:some", "some-agent", False),
    ],
)
def test_a_search_knows_whether_a_stronger_fixer_can_be_asked(
    tmp_path: Path, order: tuple[str, ...], model: str | None, agent: str | None, has: bool
) -> None:
    assert _settings(tmp_path, *order, model=model, agent=agent).has_stronger is has
