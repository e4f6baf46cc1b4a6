"""Fixers keep nothing about a run: made again before each call, they propose the same."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from runtrue.checks import CommandCheck
from runtrue.config import AgentConfig, SearchConfig
from runtrue.fixers import (
    AgentFixer,
    AutofixCommands,
    CommandFixer,
    MemoryFixer,
    ModelFixer,
    SearchFixer,
    ToolFixer,
)
from runtrue.flow import Run
from runtrue.loop import (
    Finding,
    Fixer,
    FixTask,
    History,
    Policy,
    Proposal,
    RepairState,
    Workplace,
    Workshop,
    repair,
)
from runtrue.memory import DebugMemory
from runtrue.sandbox import GitSandbox
from tests.fixers.test_memory import learn
from tests.fixers.test_model import answer
from tests.models.openai_server import OpenAIServer, openai_server

__all__ = ["openai_server"]

TESTS = CommandCheck(name="tests", command="python -m pytest -q -p no:cacheprovider test_calc.py")
OTHER = CommandCheck(name="other", command="python -m pytest -q -p no:cacheprovider test_other.py")
CHEAP = CommandCheck(name="tests", command="grep -q '[*]' calc.py")
FILES = {
    "calc.py": "def scale(number):\n    return number - 2\n",
    "test_calc.py": "from calc import scale\n\n\ndef test_it():\n    assert scale(2) == 4\n",
    # As the program is, this passes: it is what a wrong edit breaks.
    "test_other.py": (
        "from calc import scale\n\n\ndef test_other():\n    assert scale(3) in (1, 6)\n"
    ),
}
SEARCH = SearchConfig(seconds=60, candidates=60)
USELESS = "echo '# no' >>calc.py"


@dataclass
class Rung:
    """A rung that makes its fixer before each call, and notes what that proposes."""

    make: Callable[[], Fixer]
    proposals: list[Proposal] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.make().name

    @property
    def trusted(self) -> bool:
        return self.make().trusted

    @property
    def repeatable(self) -> bool:
        return self.make().repeatable

    @property
    def side_effect(self) -> bool:
        return self.make().side_effect

    def unavailable(self) -> str | None:
        return self.make().unavailable()

    def accepts(self, finding: Finding) -> bool:
        return self.make().accepts(finding)

    async def propose(self, task: FixTask, workplace: Workplace) -> Proposal:
        proposal = await self.make().propose(task, workplace)
        self.proposals.append(proposal)
        return proposal


def _repaired(
    directory: Path, make: Callable[[], Fixer], *others: Fixer, checks: tuple[CommandCheck, ...]
) -> tuple[History, list[Proposal]]:
    """Repair the program with a fixer, and those above it: all that happened, what it proposed."""
    project = directory / "project"
    project.mkdir(parents=True)
    for name, text in FILES.items():
        (project / name).write_text(text)
    sandbox = GitSandbox(directory / "sandbox", project, kind="copy")
    rung = Rung(make)
    workshop = Workshop(
        sandbox=sandbox,
        checks=checks,
        ladder=(rung, *others),
        policy=Policy(max_attempts=3, abort_on_regression=False, flaky_reruns=0),
    )
    state = RepairState(candidate=sandbox.open(), redo=USELESS)
    asyncio.run(Run().execute(lambda run: repair(run, workshop, state)))
    return state.history, rung.proposals


def _facts(proposal: Proposal) -> tuple[object, ...]:
    if proposal.trace is None:
        return proposal.description, proposal.failure, proposal.texts
    # Not how many edits a search has tried, of which the last few depend on the time.
    strategy = proposal.analysis and proposal.analysis.fix_strategy
    return strategy, proposal.texts, proposal.trace.get("offered"), proposal.trace.get("deferred")


def _proposed(
    directory: Path,
    make: Callable[[], Fixer],
    *others: Fixer,
    checks: tuple[CommandCheck, ...] = (CHEAP,),
) -> list[Proposal]:
    """What a fixer proposes, which is the same of one object and of another for each call."""
    kept = make()
    before, of_one = _repaired(directory / "kept", lambda: kept, *others, checks=checks)
    after, of_many = _repaired(directory / "afresh", make, *others, checks=checks)
    assert [*map(_facts, of_one)] == [*map(_facts, of_many)]
    assert [a.candidate for a in before.attempts] == [a.candidate for a in after.attempts]
    assert len(of_many) > 1
    return of_many


def test_a_search_offers_its_next_best_where_the_first_was_not_enough(tmp_path: Path) -> None:
    proposals = _proposed(tmp_path, lambda: SearchFixer((TESTS,), SEARCH), checks=(TESTS, OTHER))
    offered = [next(iter(one.texts.values())) for one in proposals if one.texts]
    assert len(offered) == len(set(offered)) > 1


def test_a_search_leaves_what_is_unsure_to_others_once(tmp_path: Path) -> None:
    unsure = replace(SEARCH, confidence=1.0)
    agent = AgentFixer(AgentConfig(command=USELESS))
    left, offered, *_ = _proposed(
        tmp_path, lambda: SearchFixer((TESTS,), unsure, stronger=True), agent, checks=(TESTS,)
    )
    assert not left.texts
    assert "none is sure" in left.description
    assert offered.texts


def test_a_tool(tmp_path: Path) -> None:
    _proposed(tmp_path, lambda: ToolFixer(AutofixCommands(commands={"tests": USELESS})))


def test_an_agent(tmp_path: Path) -> None:
    _proposed(tmp_path, lambda: AgentFixer(AgentConfig(command=USELESS)))


def test_a_command(tmp_path: Path) -> None:
    _proposed(tmp_path, lambda: CommandFixer(timeout=60))


def test_a_model(tmp_path: Path, openai_server: OpenAIServer) -> None:
    wrong = {"path": "calc.py", "old": "number - 2", "new": "number - 2  # no"}
    right = {"path": "calc.py", "old": "number - 2", "new": "number * 2"}
    openai_server.script(*[answer(wrong), answer(right)] * 2)
    _proposed(tmp_path, lambda: ModelFixer("openai:gpt-4o", openai_server.environment))


def test_a_memory(tmp_path: Path) -> None:
    history, _ = _repaired(
        tmp_path / "first", lambda: ToolFixer(AutofixCommands(commands={})), checks=(TESTS,)
    )
    finding = history.latest.blocking[0]
    with DebugMemory(tmp_path / "home") as memory:
        for better in ("number * 2", "number + 2"):
            text = FILES["calc.py"].replace("number - 2", better)
            learn(memory, finding, FILES, {"calc.py": text})
        _proposed(tmp_path, lambda: MemoryFixer(memory), checks=(TESTS, OTHER))
