"""Compare edits that pass by what they do on further inputs, and by how they were found."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from runtrue.fixers.search.budget import WAITING
from runtrue.fixers.search.doubts import (
    asks_nothing,
    copies_a_text,
    dodges,
    raises_by_accident,
    writes_none_out,
)
from runtrue.fixers.search.edit_search import Search
from runtrue.fixers.search.evidence import Failure
from runtrue.fixers.search.forked_prover import Prover
from runtrue.fixers.search.fresh_prover import FreshProver
from runtrue.fixers.search.program import Program
from runtrue.fixers.search.proposals import EditSet
from runtrue.fixers.search.rank import NOT_TRIED, Behaviour, PassingEdits, clumsiness
from runtrue.fixers.search.report import Stopped
from runtrue.fixers.search.signs import Discovery, changes_raising_line, writes_named_word

#: Candidates whose behaviour is compared, and on how many inputs.
_COMPARED, _INPUTS = 11, 80
#: The tests that reach the edited functions whose calls are recorded before those of others.
_NEAR = 60


async def compared(
    prover: Prover | FreshProver,
    found: Sequence[EditSet],
    search: Search,
    targets: Sequence[str],
    *,
    seed: int,
    seconds: float,
) -> PassingEdits:
    """Return the candidates of a search, with what they do on further inputs."""
    baseline = await prover.baseline()
    behaviours: list[Behaviour | None] = [None] * len(found)
    original, *known = await _behaviours(prover, found[:_COMPARED], search, targets, seed, seconds)
    behaviours[: len(known)] = known
    failures = [case.failure for case in baseline.failing if case.failure is not None]
    passing = {case.test for case in baseline.cases if case.passed}
    return PassingEdits(
        candidates=tuple(found),
        behaviours=tuple(behaviours),
        original=original,
        trusted=tuple(one.test in passing for one in prover.calls),
        clumsy=tuple(clumsiness(one.texts(search.base).values()) for one in found),
        texts=tuple("\0".join(one.texts(search.base).values()) for one in found),
        discoveries=tuple(
            discovery_of(one, search, failures, dodges=_dodges(one, search.base, failures))
            for one in found
        ),
        tests=len(baseline.cases),
        failing=len(targets),
        cut_off=search.tally.stopped in (Stopped.TIME, Stopped.CANDIDATES),
    )


def discovery_of(
    candidate: EditSet, search: Search, failures: Sequence[Failure], *, dodges: bool
) -> Discovery:
    """Return how a search found a candidate, and what it has to do with the failures."""
    return Discovery(
        before=search.place_of(candidate),
        refused=search.refused,
        guards=len(search.reach.tests(candidate)),
        witnesses=search.reach.witnesses(candidate),
        functions=search.functions,
        dodges=dodges,
        raised=changes_raising_line(candidate, failures),
        named=writes_named_word(candidate, search.base, failures),
    )


def _dodges(candidate: EditSet, base: dict[str, str], failures: Sequence[Failure]) -> bool:
    programs = {edit.file: Program(edit.file, base[edit.file]) for edit in candidate.edits}
    return any(
        asks_nothing(programs[edit.file], edit)
        or dodges(programs[edit.file], edit, failures)
        or raises_by_accident(programs[edit.file], edit, failures)
        or writes_none_out(programs[edit.file], edit, failures)
        or copies_a_text(programs[edit.file], edit, failures)
        for edit in candidate.edits
    )


async def _behaviours(
    prover: Prover | FreshProver,
    candidates: Sequence[EditSet],
    search: Search,
    targets: Sequence[str],
    seed: int,
    seconds: float,
) -> list[Behaviour | None]:
    """Return how the program and candidates behave; None where there was no time."""
    near = dict.fromkeys((*targets, *(t for c in candidates for t in search.reach.tests(c))))
    functions = search.reach.bodies(candidates)
    asked = [
        asyncio.ensure_future(
            prover.behave(
                texts,
                seed=seed,
                inputs=_INPUTS,
                near=list(near)[:_NEAR],
                functions=functions,
            )
        )
        for texts in ({}, {}, *(one.texts(search.base) for one in candidates))
    ]
    done, late = await asyncio.wait(asked, timeout=WAITING * seconds)
    for task in late:
        task.cancel()
    await asyncio.gather(*late, return_exceptions=True)
    original, again, *others = (task.result() if task in done else None for task in asked)
    both = enumerate(zip(original or (), again or (), strict=False))
    # On some inputs even the same program gives now this, now that.
    unsteady = {n for n, (first, second) in both if first != second}
    return [
        one and tuple(NOT_TRIED if n in unsteady else gives for n, gives in enumerate(one))
        for one in (original, *others)
    ]
