"""Mutants: small edits of lines that tests run, to find tests that notice none of them.

First, edits of the given lines are tried on all wanted tests: one that makes an assertion of a test
fail clears it. What is left is then looked at by itself. A test is blamed only if it notices none
of the edits that change what its own calls into the project return, without a new exception.
"""

from __future__ import annotations

import ast
import asyncio
import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from runtrue.checks import CommandCheck
from runtrue.fixers.search.edit import Edit
from runtrue.fixers.search.evidence import Baseline, MeasuredTest
from runtrue.fixers.search.forked_prover import Prover
from runtrue.fixers.search.operators import OPERATORS, EditSite
from runtrue.fixers.search.program import Program
from runtrue.fixers.search.servers import Unprovable
from runtrue.fixers.search.trial import End
from runtrue.loop import Workplace

#: A test that notices none of so many edits that matter to it is reported; more are not tried.
_LEAST, _PLENTY = 3, 12
#: Edits that are tried at most; tests that are looked at by themselves.
_MOST, _SUSPECTS = 40, 5
#: How many times longer the first run of the tests may take than trying edits.
_FIRST_RUN = 6
#: Calls of a test that are made again.
_CALLS = 12
#: What a failed assertion raises, with pytest and with unittest.
_ASSERTIONS = frozenset({"AssertionError", "Failed"})
#: Kinds of edits that change a value or a decision, the most telling first; others come later.
_TELLING = ("comparison", "arithmetic", "boolean", "negation", "constant", "off_by_one", "delete")
_SITES = (ast.expr, ast.stmt)

Lines = Mapping[str, frozenset[int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleTest:
    """A test that passes under edits which change what it calls: they are described here."""

    test: str
    edits: tuple[str, ...]


@dataclass(slots=True, kw_only=True)
class MutantReport:
    """What came of trying edits on some tests; `unknown` says why that is not known of all.

    `tests` is how many of them run one of the lines, `noticing` those that noticed an edit.
    """

    tests: int = 0
    tried: int = 0
    noticing: set[str] = field(default_factory=set)
    idle: list[IdleTest] = field(default_factory=list)
    unknown: str | None = None


async def try_mutants(
    check: CommandCheck,
    alone: Callable[[str], CommandCheck],
    workplace: Workplace,
    lines: Lines,
    is_wanted: Callable[[str], bool],
    seconds: float,
) -> MutantReport:
    """Edit some lines, given by file, and see which of the wanted tests notice.

    `check` runs them, and `alone` returns the check that runs a single one. The time is that for
    trying edits: the first run of the unchanged tests may take some times as long.
    """
    report = MutantReport()
    try:
        async with asyncio.timeout(_FIRST_RUN * seconds), Prover.open(check, workplace) as prover:
            baseline = await prover.baseline()
            limit = asyncio.timeout(seconds)
            async with limit:
                suspects = await _clear(prover, baseline, workplace, lines, is_wanted, report)
        left = (limit.when() or 0.0) - asyncio.get_running_loop().time()
        async with asyncio.timeout(left):
            for test in suspects[:_SUSPECTS]:
                await _look_closer(alone(test), workplace, lines, report)
        if len(suspects) > _SUSPECTS:
            report.unknown = f"{len(suspects) - _SUSPECTS} tests were not looked at"
    except TimeoutError:
        report.unknown = f"the time was up after {seconds:g} s"
    except Unprovable as error:
        report.unknown = str(error)
    return report


async def _clear(
    prover: Prover,
    baseline: Baseline,
    workplace: Workplace,
    lines: Lines,
    is_wanted: Callable[[str], bool],
    report: MutantReport,
) -> list[str]:
    """Return the wanted tests that run some of the lines and notice no edit of them."""
    wanted = {case.test: case for case in _steady(baseline) if is_wanted(case.test)}
    reached = {test: one for test, case in wanted.items() if (one := _run_by(case, lines))}
    report.tests = len(reached)
    programs = _programs(workplace, {file for one in reached.values() for file in one})
    for edit in _edits(programs, _union(reached.values())):
        left = [
            test
            for test, own in reached.items()
            if test not in report.noticing and edit.line in own.get(edit.file, ())
        ]
        report.tried += bool(left)
        await _clear_by(edit, left, prover, programs, report)
        if report.noticing.issuperset(reached) or report.tried == _MOST:
            break
    return [test for test in reached if test not in report.noticing]


async def _clear_by(
    edit: Edit,
    left: list[str],
    prover: Prover,
    programs: Mapping[str, Program],
    report: MutantReport,
) -> None:
    """Clear the tests with an assertion that fails under an edit, one after the other."""
    texts = {edit.file: edit.applied(programs[edit.file].text)}
    while left:
        trial = await prover.prove(texts, only=left)
        if trial.end is End.PASSED or trial.killer not in left:
            return
        if trial.end is End.FAILED and trial.detail in _ASSERTIONS:
            report.noticing.add(trial.killer)
        left.remove(trial.killer)


async def _look_closer(
    check: CommandCheck, workplace: Workplace, lines: Lines, report: MutantReport
) -> None:
    """Blame a test if it notices none of the edits that change what its own calls return."""
    async with Prover.open(check, workplace) as prover:
        baseline = await prover.baseline()
        original = await prover.behave({}, seed=0, inputs=_CALLS)
        cases = _steady(baseline)
        if original is None or len(cases) != 1:
            return
        (case,) = cases
        own = _run_by(case, lines)
        programs = _programs(workplace, own)
        passed: list[str] = []
        for edit in itertools.islice(_edits(programs, own), _MOST):
            texts = {edit.file: edit.applied(programs[edit.file].text)}
            results = await prover.behave(texts, seed=0, inputs=_CALLS)
            if results is None or not _differs_quietly(original, results):
                continue
            trial = await prover.prove(texts)
            if trial.end is not End.PASSED:
                report.noticing.add(case.test)
                return
            passed.append(f"{edit.says} in {edit.file}:{edit.line}")
            if len(passed) == _PLENTY:
                break
        if len(passed) >= _LEAST:
            report.idle.append(IdleTest(test=case.test, edits=tuple(passed)))


def _differs_quietly(original: Sequence[str], results: Sequence[str]) -> bool:
    """True if a call returns something else, and none raises or hangs that did not before."""
    pairs = list(zip(original, results, strict=False))
    if len(original) != len(results) or "not tried" in results:
        return False
    return original != results and not any(
        old != new and new.startswith(("raises ", "does not end")) for old, new in pairs
    )


def _steady(baseline: Baseline) -> list[MeasuredTest]:
    return [case for case in baseline.cases if case.passed and case.test not in baseline.unsteady]


def _run_by(case: MeasuredTest, lines: Lines) -> dict[str, frozenset[int]]:
    """Return those of some lines that a test runs."""
    ran = case.lines or {}
    own = {file: lines[file] & ran.get(file, frozenset()) for file in lines}
    return {file: some for file, some in own.items() if some}


def _union(some: Iterable[Lines]) -> dict[str, frozenset[int]]:
    joined: defaultdict[str, frozenset[int]] = defaultdict(frozenset)
    for one in some:
        for file, lines in one.items():
            joined[file] |= lines
    return dict(joined)


def _programs(workplace: Workplace, files: Iterable[str]) -> dict[str, Program]:
    programs: dict[str, Program] = {}
    for file in sorted(files):
        with suppress(OSError, ValueError, SyntaxError, RecursionError):
            text = (workplace.root / file).read_bytes().decode()
            programs[file] = Program(file, text)
    return programs


def _edits(programs: Mapping[str, Program], lines: Lines) -> Iterator[Edit]:
    """Yield edits of some lines, by turns of the lines, the most telling of each first."""
    sites: defaultdict[tuple[str, int], list[ast.AST]] = defaultdict(list)
    for file, program in programs.items():
        for node in ast.walk(program.tree):
            if isinstance(node, _SITES) and node.lineno in lines.get(file, ()):
                sites[file, node.lineno].append(node)
    turns = [_edits_of_line(programs[file], line, nodes) for (file, line), nodes in sites.items()]
    seen: set[str] = set()
    for edit in _by_turns(turns):
        with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
            shape = ast.dump(ast.parse(edit.applied(programs[edit.file].text)))
            if shape not in seen and shape != ast.dump(programs[edit.file].tree):
                seen.add(shape)
                yield edit


def _edits_of_line(program: Program, line: int, nodes: Sequence[ast.AST]) -> Iterator[Edit]:
    """Yield the edits of a line; they are made when the first is asked for."""
    sites = [
        EditSite(program=program, node=node)
        for node in nodes
        # It may be a docstring, or a message that nobody reads.
        if not (isinstance(node, ast.Constant) and isinstance(node.value, str))
    ]
    edits = (edit for site in sites for operator in OPERATORS for edit in operator(site))
    yield from sorted((edit for edit in edits if edit.line == line), key=_rank)


def _rank(edit: Edit) -> int:
    return _TELLING.index(edit.kind) if edit.kind in _TELLING else len(_TELLING)


def _by_turns(some: list[Iterator[Edit]]) -> Iterator[Edit]:
    while some:
        for one in list(some):
            edit = next(one, None)
            if edit is None:
                some.remove(one)
            else:
                yield edit
