"""Case names: recognise a test whose name differs from run to run.

A parametrised test may carry an object's address, the time, a random number or a temporary path in
its name. What is stable in it is its file, its function and its position among the others.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from runtrue.loop.finding import Finding, Verdict
from runtrue.loop.fingerprint import normalise

#: A word with a digit in it: a number, a date, an id.
_NUMBERED = re.compile(r"[\w.:+-]*\d[\w.:+-]*")


def name_as_before(verdict: Verdict, known: Iterable[str]) -> Verdict:
    """`verdict` with each case that ran before under another name called by that first name."""
    names = same_cases(known, verdict.cases)
    if not names:
        return verdict
    return replace(
        verdict,
        cases={names.get(case, case): outcome for case, outcome in verdict.cases.items()},
        findings=tuple(_renamed(finding, names) for finding in verdict.findings),
    )


def same_cases(known: Iterable[str], cases: Iterable[str]) -> dict[str, str]:
    """Return the known name of each of `cases` that is known under another name.

    Names that are equal are the same case. Of the rest, those are that differ only in what varies
    from run to run, in their order; then, where there are as many as before, those of the same
    function.
    """
    before, now = dict.fromkeys(known), dict.fromkeys(cases)
    gone = [case for case in before if case not in now]
    new = [case for case in now if case not in before]
    found: dict[str, str] = {}
    for form, is_whole in ((_without_volatile, False), (_without_parameters, True)):
        old, other = _grouped(gone, form), _grouped(new, form)
        for key, names in other.items():
            if not is_whole or len(names) == len(old.get(key, ())):
                found.update(zip(names, old.get(key, ()), strict=False))
        known_now = set(found.values())
        gone = [case for case in gone if case not in known_now]
        new = [case for case in new if case not in found]
    return found


def _grouped(cases: Iterable[str], form: Callable[[str], str]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = defaultdict(list)
    for case in cases:
        groups[form(case)].append(case)
    return groups


def _without_volatile(case: str) -> str:
    """Return a name without addresses, times, ids, and the directories of absolute paths."""
    file, bar, test = _parts(case)
    return f"{file}{bar}{normalise(test)}"


def _without_parameters(case: str) -> str:
    """Return the function of a parametrised test; of another name, all but words with digits."""
    file, bar, test = _parts(case)
    function, bracket, _ = test.partition("[")
    if bracket and test.endswith("]"):
        return f"{file}{bar}{function}[]"
    return f"{file}{bar}{_NUMBERED.sub('<n>', test)}"


def _parts(case: str) -> tuple[str, str, str]:
    file, bar, test = case.partition("::")
    return (file, bar, test) if bar else ("", "", case)


def _renamed(finding: Finding, names: Mapping[str, str]) -> Finding:
    name = names.get(finding.location.symbol or "")
    return replace(finding, location=replace(finding.location, symbol=name)) if name else finding
