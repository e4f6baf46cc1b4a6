"""Program repair without a model: what `runtrue fix` mends of small buggy programs, and how fast.

The items are not part of this repository: they are looked for in the folder that
`RUNTRUE_REPAIR_BENCH` names, or else in `../shared/bench`. Each item is a project of two files. The
tool runs on it as a user would run it, then the original tests are put back and they alone decide.
"""

from __future__ import annotations

import ast
import json
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.measure import Row, Table, Target
from benchmarks.user import PYTHON

FOLDER = Path(__file__).parent.parent.parent / "shared" / "bench"
ITEMS = "code-repair-dev.jsonl"
#: What the tool may take for an item, and what the tests may take that judge it, in seconds.
TOOL_LIMIT, TEST_LIMIT = 60.0, 30.0
CHECK = "python -m pytest -q -x"
JUDGE = [str(PYTHON), "-B", "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"]

SYNTAX, OTHERS = "syntax", "logic and reference"


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One buggy program, its tests, and the names of those that fail."""

    id: str
    category: str
    symptom: str
    buggy: str
    tests: str
    failing: tuple[str, ...]

    @property
    def group(self) -> str:
        return SYNTAX if self.symptom == "syntax" else OTHERS


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of one item. `held_back` is the test that the tool was not shown, if any.

    `plausible`: the tests that the tool was shown pass; `fixed`: all tests of the item do. A patch
    that the tool only proposes, and waits for a person to agree to, is applied first.
    """

    id: str
    category: str
    symptom: str
    group: str
    held_back: str | None
    plausible: bool
    fixed: bool
    #: The tool says that it passed, or proposes a patch that it is not sure of.
    claimed: bool
    proposed: bool
    confidence: float | None
    regressed: bool
    seconds: float
    timed_out: bool
    #: What the tool says its `search` fixer did.
    search: list[Any]
    program: str


def run(
    *,
    every: int = 1,
    jobs: int = 1,
    only: str | None = None,
    held_back: bool = True,
    speed: bool = True,
    outcomes: Path | None = None,
    language: str | None = None,
) -> tuple[Table, ...]:
    """Each `every`-th item whose id or symptom begins with `only`, `jobs` at a time.

    The items run again with a test held back unless told not to, and the outcomes are written to
    a file, one JSON object on each line.
    """
    fix: Callable[[Item, str | None], Outcome] = repair
    source = ITEMS
    items: Sequence[Item] = []
    if language in ("javascript", "typescript"):
        from benchmarks import repair_javascript

        items, fix = repair_javascript.load(), repair_javascript.repair
        source = "javascript-programs.toml"
    else:
        items = load()
    items = items[::every]
    if only is not None:
        items = [item for item in items if item.id.startswith(only) or item.symptom == only]
    if not items:
        raise FileNotFoundError(f"no item begins with {only!r}")
    withheld = [item for item in items if len(item.failing) > 1] if held_back else []
    with outcomes.open("w") if outcomes is not None else nullcontext() as sink:

        def tell(outcome: Outcome) -> None:
            if sink is not None:
                sink.write(json.dumps(asdict(outcome), ensure_ascii=False) + "\n")
                sink.flush()

        whole = repair_all([(item, None) for item in items], jobs, tell, fix)
        blind = repair_all([(item, item.failing[-1]) for item in withheld], jobs, tell, fix)
    tables = [fixed_table(whole, jobs, source), parts_table(whole)]
    if blind:
        tables += [held_back_table(blind), confidence_table(blind)]
    if language in ("javascript", "typescript"):
        tables.append(speed_table(whole))
    elif speed:
        from benchmarks import candidates

        tables += candidates.run()
    return tuple(tables)


def load() -> list[Item]:
    path = Path(os.environ.get("RUNTRUE_REPAIR_BENCH") or FOLDER) / ITEMS
    if not path.is_file():
        raise FileNotFoundError(
            f"there is no {ITEMS} in {path.parent}; name its folder by RUNTRUE_REPAIR_BENCH"
        )
    documents = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return [
        Item(
            **{name: one[name] for name in ("id", "category", "symptom", "buggy", "tests")},
            failing=tuple(one["failing"]),
        )
        for one in documents
    ]


# -- one item --------------------------------------------------------------------------------------


def repair_all(
    tasks: Sequence[tuple[Item, str | None]],
    jobs: int,
    tell: Callable[[Outcome], None],
    fix: Callable[[Item, str | None], Outcome],
) -> list[Outcome]:
    found: list[Outcome] = []
    with ThreadPoolExecutor(jobs) as pool:
        for outcome in pool.map(lambda task: fix(*task), tasks):
            found.append(outcome)
            tell(outcome)
            done = sum(one.fixed for one in found)
            mark = "fixed" if outcome.fixed else "plausible" if outcome.plausible else "-"
            print(
                f"{outcome.id:32} {mark:10} {outcome.seconds:6.1f} s  {done} of {len(found)}",
                flush=True,
            )
    return found


def repair(item: Item, held_back: str | None = None) -> Outcome:
    """Runs the tool on one item, and its original tests on what the tool has left."""
    seen = item.tests if held_back is None else without(item.tests, held_back)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        project, home = Path(name, "project"), Path(name, "home")
        project.mkdir()
        home.mkdir()
        program, tests = project / "solution.py", project / "test_solution.py"
        program.write_text(item.buggy)
        tests.write_text(seen)
        begin = time.perf_counter()
        report = run_tool(project, home)
        seconds = time.perf_counter() - begin
        proposed = take_proposal(project, report or {})
        left = program.read_text() if program.is_file() else ""
        tests.write_text(item.tests)  # the original tests decide
        fixed = passes(project)
        plausible = fixed
        if not fixed and held_back is not None:
            plausible = passes(project, [n for n in tests_of(item.tests) if n != held_back])
        passed_before = [n for n in tests_of(item.tests) if n not in item.failing]
        regressed = (
            not fixed
            and left != item.buggy
            and bool(passed_before)
            and not passes(project, passed_before)
        )
    return outcome_of(
        item, held_back, report, seconds, proposed, plausible, fixed, regressed, program=left
    )


def outcome_of(
    item: Item,
    held_back: str | None,
    report: dict[str, Any] | None,
    seconds: float,
    proposed: bool,
    plausible: bool,
    fixed: bool,
    regressed: bool,
    program: str,
) -> Outcome:
    """What came of an item, whose report is None if the tool did not end in time."""
    return Outcome(
        id=item.id,
        category=item.category,
        symptom=item.symptom,
        group=item.group,
        held_back=held_back,
        plausible=plausible,
        fixed=fixed,
        claimed=report is not None and report.get("status") == "passed",
        proposed=proposed,
        confidence=(report or {}).get("confidence"),
        regressed=regressed,
        seconds=seconds,
        timed_out=report is None,
        search=list(said_by_search(report)),
        program=program,
    )


def run_tool(project: Path, home: Path, check: str | None = CHECK) -> dict[str, Any] | None:
    """The tool's JSON document; None when it did not end in time. Without a check it finds some."""
    environment = {
        **{k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "RUNTRUE"))},
        "PATH": f"{PYTHON.parent}{os.pathsep}{os.environ['PATH']}",
        # A home of its own: what was learned from one item must not help with the next.
        "HOME": str(home),
    }
    command = [str(PYTHON.with_name("runtrue")), "fix", str(project)]
    command += ["--check", check] if check else []
    try:
        done = subprocess.run(
            [*command, "--apply", "--json"],
            cwd=home,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=TOOL_LIMIT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None
    try:
        report: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        report = {"status": f"exit code {done.returncode} without a report"}
    return report


def take_proposal(project: Path, report: dict[str, Any]) -> bool:
    """Applies the patch that the tool waits for a person to agree to, if there is one."""
    if report.get("status") != "waiting" or not report.get("patch"):
        return False
    command = ["git", "apply", str(report["patch"])]
    return subprocess.run(command, cwd=project, check=False).returncode == 0


def passes(project: Path, names: Iterable[str] | None = None) -> bool:
    which = [] if names is None else [f"test_solution.py::{name}" for name in names]
    return succeeds([*JUDGE, *which], project)


def succeeds(command: list[str], project: Path) -> bool:
    try:
        done = subprocess.run(
            command,
            cwd=project,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=TEST_LIMIT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def tests_of(source: str) -> list[str]:
    return [
        node.name
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test")
    ]


def without(source: str, test: str) -> str:
    """The tests, one function taken out of them."""
    lines = source.splitlines(keepends=True)
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef) and node.name == test:
            del lines[node.lineno - 1 : node.end_lineno]
    return "".join(lines)


def said_by_search(report: Any) -> Iterable[Any]:
    """Whatever a document holds that is of the fixer `search`, however deep."""
    if isinstance(report, dict):
        if report.get("fixer") == "search":
            yield report
        else:
            for name, value in report.items():
                yield from [value] if name == "search" else said_by_search(value)
    elif isinstance(report, list):
        for value in report:
            yield from said_by_search(value)


# -- tables ----------------------------------------------------------------------------------------


def speed_table(outcomes: list[Outcome]) -> Table:
    """Candidates per second, as the traces say, beside one run of the check in a fresh process."""
    rows = []
    for category in sorted({outcome.category for outcome in outcomes}):
        part = [one for one in outcomes if one.category == category]
        rates = [trace["rate"] for one in part for trace in traces_of(one.search) if trace["rate"]]
        if rates:
            rate = statistics.median(rates)
            low, *_, high = statistics.quantiles([*rates, *rates], n=4)
            rows.append(Row(f"{category} ({len(rates)} searches)", rate, (low, high)))
    return Table(title="repair: candidates per second", unit="1/s", rows=tuple(rows))


def traces_of(document: Any) -> Iterable[dict[str, Any]]:
    """The traces of searches that a document holds, however deep."""
    if isinstance(document, dict):
        if "rate" in document and "candidates" in document:
            yield document
        for value in document.values():
            yield from traces_of(value)
    elif isinstance(document, list):
        for value in document:
            yield from traces_of(value)


def fixed_table(outcomes: list[Outcome], jobs: int, source: str) -> Table:
    rows = [
        share("fixed", outcomes),
        share("fixed, and passed by itself", outcomes, of=lambda o: o.fixed and o.claimed),
        share("fixed, and proposed to a person", outcomes, of=lambda o: o.fixed and o.proposed),
    ]
    for group, target in ((OTHERS, 75.0), (SYNTAX, 80.0)):
        rows.append(share(f"fixed: {group}", [o for o in outcomes if o.group == group], target))
    seconds = [o.seconds for o in outcomes]
    tenths = (
        statistics.quantiles(seconds, n=10, method="inclusive") if len(seconds) > 1 else seconds * 9
    )
    rows += [
        figure("median of the tool's seconds", statistics.median(seconds), "1 s", 3.0),
        figure("90th percentile of them", tenths[8], "1 s", 20.0),
        figure("claimed, and the tests fail", count(o.claimed and not o.fixed for o in outcomes)),
        figure("proposed, and the tests fail", count(o.proposed and not o.fixed for o in outcomes)),
        figure("a test that passed fails now", count(o.regressed for o in outcomes)),
        figure("did not end in time", count(o.timed_out for o in outcomes)),
    ]
    return Table(
        title="repair: small programs with one bug, by `runtrue fix`",
        unit="%, s or items",
        rows=tuple(row for row in rows if row is not None),
        notes=(
            f"{len(outcomes)} items, {jobs} at a time; {source}",
            f"the tool's seconds are those of the whole command, at most {TOOL_LIMIT:g}; each item "
            "has a home of its own, so nothing is remembered",
        ),
    )


def parts_table(outcomes: list[Outcome]) -> Table:
    rows = []
    for kind in ("symptom", "category"):
        for name in sorted({getattr(o, kind) for o in outcomes}):
            part = [o for o in outcomes if getattr(o, kind) == name]
            seconds = statistics.median(o.seconds for o in part)
            rows.append(share(f"{kind} {name} ({len(part)}; median {seconds:.1f} s)", part))
    return Table(
        title="repair: fixed, by symptom and by category",
        unit="%",
        rows=tuple(row for row in rows if row is not None),
    )


def held_back_table(outcomes: list[Outcome]) -> Table:
    plausible = [o for o in outcomes if o.plausible]
    rows = [
        share("the tests it was shown pass", outcomes, of=lambda o: o.plausible),
        share("of these: the one held back passes, too", plausible),
    ]
    rows += [
        share(f"of these, {group}", [o for o in plausible if o.group == group])
        for group in (OTHERS, SYNTAX)
    ]
    return Table(
        title="repair: one failing test held back",
        unit="%",
        rows=tuple(row for row in rows if row is not None),
        notes=(
            f"the {len(outcomes)} items with two or more failing tests, the last of which the "
            "tool was not shown",
        ),
    )


def confidence_table(outcomes: list[Outcome]) -> Table:
    """How often the test that was held back passes, by the confidence in the fix."""
    sure = [o for o in outcomes if o.plausible and o.confidence is not None]
    rows = []
    for low, high in ((0.9, 1.01), (0.7, 0.9), (0.5, 0.7), (0.3, 0.5), (0.0, 0.3)):
        part = [o for o in sure if low <= (o.confidence or 0.0) < high]
        name = f"confidence from {low:g}{f' to {high:g}' if high <= 1 else ''} ({len(part)})"
        rows.append(share(name, part, 95.0 if low == 0.9 else None))
    return Table(
        title="repair: the test held back passes, by confidence",
        unit="%",
        rows=tuple(row for row in rows if row is not None),
        notes=(f"the {len(sure)} fixes under which the tests that the tool was shown pass",),
    )


def share(
    name: str,
    outcomes: list[Outcome],
    target: float | None = None,
    of: Callable[[Outcome], bool] = lambda o: o.fixed,
) -> Row | None:
    """The percentage of those that are fixed, unless there are none."""
    if not outcomes:
        return None
    percent = 100 * count(map(of, outcomes)) / len(outcomes)
    limit = None if target is None else Target("≥", target)
    return Row(name, percent, (percent, percent), "1 %", percent, limit)


def figure(name: str, value: float, of: str = "1 item", limit: float = 0.0) -> Row:
    return Row(name, value, (value, value), of, value, Target("≤", limit))


def count(true: Iterable[bool]) -> int:
    return sum(true)
