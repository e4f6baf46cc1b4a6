"""Real bug fixes of published packages, as `runtrue fix` sees them.

An item is a version of a package whose source has one fix taken back: the hunks that the manifest
names, as they were in the version before. Packages come from their registries when the benchmark
runs, and nothing of them is in this repository. Each runs with default settings, without a model,
in a home of its own.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Iterable
from contextlib import nullcontext
from dataclasses import asdict, replace
from pathlib import Path

from benchmarks.measure import Table
from benchmarks.real.agents import cheats, writes
from benchmarks.real.hunks import hunks_between, pick, source_of
from benchmarks.real.judge import judge
from benchmarks.real.manifest import Item, load
from benchmarks.real.outcome import Outcome, Repair, print_outcomes, print_reasons, tables
from benchmarks.real.project import build, git, plant, reset
from benchmarks.real.registry import SetUpError, cache, unpacked
from benchmarks.real.suite import run_suite
from benchmarks.real.tool import ToolRun, run_tool

COLUMNS = ("repair", "accept", "cheat")
#: Of all items, those that run unless told otherwise; and of these, those that cheats are tried on.
QUICK, CHEATED = 4, 4


def run(
    *,
    every: int | None = None,
    only: str | None = None,
    language: str | None = None,
    columns: Collection[str] = COLUMNS,
    full: bool = False,
    outcomes: Path | None = None,
) -> tuple[Table, ...]:
    """Run each `every`-th item, one at a time.

    `full` is all items with all columns; otherwise cheats are tried on a part of them. Outcomes are
    written to a file, one JSON object on each line.
    """
    if unknown := set(columns) - set(COLUMNS):
        raise OSError(f"no column {min(unknown)!r}; there are: {', '.join(COLUMNS)}")
    items = [
        item
        for item in load()
        if (only is None or item.id.startswith(only)) and language in (None, item.language)
    ]
    step = every or (1 if full or only is not None else QUICK)
    items = items[::step]
    if not items:
        raise FileNotFoundError("no item of the manifest is chosen by these options")
    found = []
    with outcomes.open("w") if outcomes is not None else nullcontext() as sink:
        for n, item in enumerate(items):
            wanted = {c for c in columns if c != "cheat" or full or only or n % CHEATED == 0}
            print(f"{n + 1}/{len(items)} {item.id}", file=sys.stderr, flush=True)
            outcome = run_item(item, wanted)
            print_reasons(outcome)
            found.append(outcome)
            if sink is not None:
                sink.write(json.dumps(asdict(outcome), ensure_ascii=False) + "\n")
                sink.flush()
    print_outcomes(found)
    return tables(found)


def run_item(item: Item, columns: Collection[str]) -> Outcome:
    """Return what came of one item; that it could not be set up is an outcome, too."""
    project = cache() / "projects" / item.id
    try:
        build(item, project)
        healthy = run_suite(item, project)
        if not healthy.passed:
            raise SetUpError(f"the published tests fail: {healthy.output.strip()[-200:]}")
        plant(item, project)
    except (SetUpError, LookupError, OSError) as error:
        return Outcome(item=item, error=str(error))
    broken = run_suite(item, project)
    if broken.passed:
        return Outcome(item=item, error="the tests pass without the fix")
    bare = run_suite(item, project, only=broken.failing) if broken.failing else None
    outcome = Outcome(
        item=item,
        failing=len(broken.failing),
        suite_cpu=broken.cpu,
        failing_cpu=None if bare is None else bare.cpu,
    )
    columns_of = Columns(item, project, broken.failing)
    if "repair" in columns:
        outcome = replace(outcome, repair=columns_of.repair())
    if "accept" in columns:
        accepted = columns_of.accepts_upstream()
        outcome = replace(outcome, accepted=accepted, refusal=columns_of.said)
    if "cheat" in columns:
        outcome = replace(outcome, cheats=columns_of.cheats())
    return replace(outcome, found=columns_of.found)


class Columns:
    """Fills the columns of one item, each by a run of the tool on its broken project."""

    def __init__(self, item: Item, project: Path, failing: Iterable[str]) -> None:
        self.item = item
        self.project = project
        self.failing = list(failing)
        #: None before the first run of the tool.
        self.found: bool | None = None
        self.said = ""

    def repair(self) -> Repair:
        ran = self.run(None)
        changed = bool(git(self.project, "status", "--porcelain").strip())
        return Repair(
            status=ran.status,
            judgement=judge(self.item, self.project) if changed else None,
            confidence=ran.confidence,
            seconds=ran.seconds,
            cpu=ran.cpu,
            why=ran.why(),
        )

    def accepts_upstream(self) -> bool:
        """Hand in the published file; true if the run passes with all published tests."""
        published = git(self.project, "show", f"published:{self.item.file}")
        ran = self.run(writes({self.item.file: published}))
        self.said = ran.why()
        return ran.status == "passed" and judge(self.item, self.project) != "wrong"

    def cheats(self) -> dict[str, bool]:
        """Hand in each cheat; true for those that were refused."""
        reset(self.project)
        plant(self.item, self.project)
        old = unpacked(self.item.language, self.item.package, self.item.previous) / self.item.file
        published = git(self.project, "show", f"published:{self.item.file}")
        every = hunks_between(self.item.file, source_of(old), published)
        hunks = pick(every, self.item.hunks)
        refused = {}
        for name, program in cheats(self.item, self.project, hunks, self.failing).items():
            ran = self.run(program)
            refused[name] = ran.status != "passed"
        return refused

    def run(self, agent: str | None) -> ToolRun:
        """Run the tool on the broken project; with the tests named to it if it finds none."""
        reset(self.project)
        plant(self.item, self.project)
        ran = None
        if self.found is not False:
            ran = run_tool(self.project, agent=agent)
            self.found = self._collects_failing(ran)
        if ran is None or ran.found_no_check:
            ran = run_tool(self.project, agent=agent, check=self.item.command)
        return ran

    def _collects_failing(self, ran: ToolRun) -> bool:
        if self.item.language == "python":
            return bool(ran.failing_at_first() & set(self.failing))
        return ran.saw_code_fail()
