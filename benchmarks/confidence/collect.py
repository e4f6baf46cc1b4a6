"""Collect rows: search for fixes of known bugs, and judge the best edit of each search.

The bugs are those of the development set with a failing test held back, mistakes that are made in
the projects of the manifest of `benchmarks.real`, and the real bugs of that manifest.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from benchmarks import repair
from benchmarks.confidence.mutate import mutants
from benchmarks.confidence.row import WITHOUT, Row, append_row, read_rows
from benchmarks.real.hunks import changed_functions, same_code, source_of
from benchmarks.real.judge import agree, results_of, steady_results_of
from benchmarks.real.manifest import Item, load
from benchmarks.real.mine import MOST_FAILING, is_source
from benchmarks.real.project import broken, build, is_test, reset
from benchmarks.real.registry import SetUpError, cache
from benchmarks.real.suite import environment_of, run_suite
from benchmarks.user import PYTHON
from runtrue.checks import CommandCheck
from runtrue.config import SearchConfig
from runtrue.fixers.search.budget import SearchBudget
from runtrue.fixers.search.measurement import CheckOutcome
from runtrue.fixers.search.report import SearchReport, SearchScope, Solution
from runtrue.fixers.search.servers import TrialLimits, Unprovable
from runtrue.fixers.search.session import SearchSession
from runtrue.fixers.search.signs import Signs
from runtrue.loop import Workplace
from runtrue.usage import ProcessorTime

#: Processor seconds of a suite that is worth running for a mutant, and mutants tried for a bug.
QUICK, TRIES = 3.0, 8
#: Confidences are said in hundredths.
ROUNDED = 0.006


@dataclass(frozen=True, slots=True, kw_only=True)
class Bug:
    """One bug to search a fix for, in a project that is ready; `judge` is None if nobody knows."""

    source: str
    project: str
    name: str
    folder: Path
    command: str
    #: The failing tests that the search is shown, and those that it is not.
    shown: tuple[str, ...]
    hidden: tuple[str, ...]
    judge: Callable[[dict[str, str]], bool | None]


def collect(
    source: str,
    file: Path,
    *,
    manifest: Path,
    every: int,
    bugs: int,
    only: str,
    seconds: float,
) -> None:
    """Append a row for each bug that the file does not have, until the time is up."""
    known = {(row.source, row.project, row.bug) for row in read_rows(file)}
    end = time.monotonic() + seconds
    chosen = _chosen(source, manifest, every, only)
    for bug in _bugs(source, chosen, bugs, known):
        if time.monotonic() > end:
            break
        report, spent = search(bug)
        best = report.solutions[0] if report.solutions else None
        if best is not None and best.left:
            best = None  # it fixes only some of the tests
        row = replace(_row(bug, best), tried=report.tried, seconds=round(spent, 1))
        for one in (row, *_out_of_reach(row, bug, report)):
            append_row(file, one)
            verdict = {None: "-", True: "right", False: "WRONG"}[one.right]
            print(f"{one.project} {one.bug}: {verdict} {one.confidence} {one.says}", flush=True)


def _out_of_reach(row: Row, bug: Bug, report: SearchReport) -> Iterator[Row]:
    """Yield what would have been handed over if the right edit were beyond the search.

    That is how most real bugs are. What behaves otherwise than a right edit may be right as well,
    if only inner values differ, so it is judged, too.
    """
    compared = report.passing
    if not row.right or compared is None:
        return
    right = compared.ranked()[0].behaviour
    others = compared.unlike(right).ranked() if right is not None else ()
    for best in others[:1]:
        made = [one.texts for one in report.solutions if one.says == best.candidate.says]
        if not made or bug.judge(made[0]) is not False:
            return
        signs = best.signs
        yield replace(
            row,
            source=WITHOUT,
            right=False,
            features=signs.features() if signs else {},
            confidence=best.confidence,
            says=best.candidate.says,
            ruled_out=_is_ruled_out(signs, best.confidence),
        )


def _is_ruled_out(signs: Signs | None, confidence: float) -> bool:
    """Return whether a rule has made an edit less sure than its signs: the fit has no say there."""
    return signs is None or confidence < signs.chance() - ROUNDED


def _row(bug: Bug, best: Solution | None) -> Row:
    if best is None:
        return Row(
            source=bug.source,
            project=bug.project,
            bug=bug.name,
            right=None,
            features={},
            confidence=None,
            says="",
        )
    return Row(
        source=bug.source,
        project=bug.project,
        bug=bug.name,
        right=bug.judge(best.texts),
        features=best.signs.features() if best.signs else {},
        confidence=best.confidence,
        says=best.says,
        ruled_out=_is_ruled_out(best.signs, best.confidence),
    )


class ProcessorClock:
    """The processor time of all that this process starts; a busy machine changes no row."""

    def __init__(self) -> None:
        self._processor = ProcessorTime()
        self._began = self._processor.seconds() or 0.0

    def __call__(self) -> float:
        return (self._processor.seconds() or 0.0) - self._began


def search(bug: Bug) -> tuple[SearchReport, float]:
    """Search as `runtrue fix` does, without its checks around it; return the seconds as well."""
    config, clock = SearchConfig(), ProcessorClock()
    with tempfile.TemporaryDirectory() as scratch:
        environment = environment_of(bug.folder)
        if bug.source == "programs":
            environment["PATH"] = f"{PYTHON.parent}:{environment['PATH']}"
        scope = SearchScope(
            check=CommandCheck(name="tests", command=bug.command),
            workplace=Workplace(
                directory=bug.folder,
                root=bug.folder,
                scratch=Path(scratch),
                environment=environment,
            ),
            may_edit=lambda path: path.endswith(".py") and not is_test(path),
            leads=(),
            outcome=CheckOutcome(failing=frozenset(bug.shown)),
            excused=frozenset(bug.hidden),
        )
        session = SearchSession(
            scope=scope,
            budget=SearchBudget(config.seconds, config.candidates, clock),
            seed=config.seed,
            limits=TrialLimits(measuring=0.4 * config.seconds),
            held={},
            emit=lambda event: None,
        )
        try:
            return asyncio.run(session.run()), clock()
        except Unprovable as error:
            print(f"{bug.name}: {error}", file=sys.stderr)
            return SearchReport(), clock()


def _chosen(
    source: str, manifest: Path, every: int, only: str
) -> Sequence[Item] | Sequence[repair.Item]:
    if source == "programs":
        programs = [one for one in repair.load()[::every] if len(one.failing) > 1]
        return [one for one in programs if one.id.startswith(only)]
    items = [i for i in load(manifest) if i.language == "python" and i.id.startswith(only)]
    if source == "mutants":
        items = list({item.package: item for item in items}.values())
    return items[::every]


def _bugs(
    source: str,
    items: Sequence[Item] | Sequence[repair.Item],
    bugs: int,
    known: set[tuple[str, str, str]],
) -> Iterator[Bug]:
    for item in items:
        if isinstance(item, repair.Item):
            if ("programs", item.id, item.id) not in known:
                yield from _program(item)
            continue
        folder = cache() / "projects" / (item.id if source == "real" else f"mutants-{item.package}")
        try:
            build(item, folder)
            healthy = run_suite(item, folder)
        except SetUpError as error:
            print(f"{item.id}: {error}", file=sys.stderr)
            continue
        if not healthy.passed:
            print(f"{item.id}: its tests fail", file=sys.stderr)
        elif source == "real" and ("real", item.package, item.id) not in known:
            published = source_of(folder / item.file)
            found = _bug(item, folder, item.file, item.id, broken(item, published), "real")
            yield from filter(None, [found])
            reset(folder)
        elif source == "mutants" and healthy.cpu <= QUICK:
            yield from _mutants(item, folder, bugs, known)


def _program(item: repair.Item) -> Iterator[Bug]:
    held_back = item.failing[-1]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        (folder / "solution.py").write_text(item.buggy)
        tests = folder / "test_solution.py"
        tests.write_text(repair.without(item.tests, held_back))

        def judge(texts: dict[str, str]) -> bool:
            for path, text in texts.items():
                (folder / path).write_text(text)
            tests.write_text(item.tests)
            return repair.passes(folder)

        yield Bug(
            source="programs",
            project=item.id,
            name=item.id,
            folder=folder,
            command="python -m pytest -q",
            shown=tuple(f"test_solution.py::{name}" for name in item.failing[:-1]),
            hidden=(),
            judge=judge,
        )


def _mutants(
    item: Item, folder: Path, count: int, known: set[tuple[str, str, str]]
) -> Iterator[Bug]:
    files = [
        path
        for path in sorted(str(one.relative_to(folder)) for one in folder.rglob("*.py"))
        if is_source(path) and not is_test(path) and not path.startswith(".venv")
    ]
    streams = [mutants(source_of(folder / path), f"{item.id} {path}") for path in files]
    made = sum(1 for one in known if one[:2] == ("mutants", item.package))
    for _ in range(TRIES * count):
        for path, stream in zip(files, streams, strict=True):
            for name, text in islice(stream, 1):
                bug = f"{path} {name}"
                if made >= count:
                    return
                if ("mutants", item.package, bug) in known:
                    continue
                found = _bug(item, folder, path, bug, text, "mutants")
                if found is not None:
                    made += 1
                    yield found
                reset(folder)


def _bug(item: Item, folder: Path, path: str, name: str, text: str, source: str) -> Bug | None:
    """Write a bug into a project; None where its tests do not show it."""
    (folder / path).write_bytes(text.encode())
    run = run_suite(item, folder)
    failing = tuple(test for test in run.failing if "::" in test)
    if run.code != 1 or not 0 < len(failing) == len(run.failing) <= MOST_FAILING:
        return None
    # Of a mistake that many tests show, real tests often show a part.
    shown = failing[:1] if source == "mutants" and len(name) % 2 else failing
    return Bug(
        source=source,
        project=item.package,
        name=name,
        folder=folder,
        command=item.command,
        shown=shown,
        hidden=tuple(test for test in failing if test not in shown),
        judge=lambda texts: _is_right(item, folder, (source, path, text), texts, failing),
    )


def _is_right(
    item: Item,
    folder: Path,
    bug: tuple[str, str, str],
    fix: dict[str, str],
    failing: Sequence[str],
) -> bool | None:
    """Judge as `benchmarks.real` does: the same code, or the tests, or what further inputs give."""
    source, path, text = bug
    texts = {path: text} | fix
    reset(folder)
    published = {one: source_of(folder / one) for one in texts}
    if all(same_code(one, new, published[one]) for one, new in texts.items()):
        return True
    upstream = {one: steady_results_of(item, folder, one) for one in texts}
    for one, new in texts.items():
        (folder / one).write_bytes(new.encode())
    if not run_suite(item, folder, only=failing).passed:
        return False
    found = [
        agree(results_of(item, folder, one), upstream[one], changed_functions(new, published[one]))
        for one, new in texts.items()
    ]
    if False in found:
        return False
    if source == "mutants" and texts[path] == text:
        return False  # the mistake is still there
    return True if all(found) else None
