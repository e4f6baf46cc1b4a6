"""Offers: the edits that a search has proposed in a run, read from the run's history."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from runtrue.fixers.search.report import Solution
from runtrue.loop import Example, History, Replacement, replaced

#: The fixer's name, on its rung and in the record.
NAME = "search"


@dataclass(frozen=True, slots=True)
class RecordedSearch:
    """A search of this run: the failing tests, the digests of the files it edited, its trace."""

    tests: frozenset[str]
    files: dict[str, str]
    trace: Mapping[str, Any]

    @classmethod
    def of(cls, trace: Mapping[str, Any]) -> RecordedSearch | None:
        """Return the search of a trace, if it says what was searched."""
        searched = trace.get("searched")
        if not searched:
            return None
        return cls(frozenset(searched["tests"]), dict(searched["files"]), trace)

    @property
    def found_nothing(self) -> bool:
        """True if no edit passed."""
        return not self.trace.get("solutions")

    def solutions(self, read: Callable[[str], str]) -> list[Solution]:
        """Return its solutions, made in the files as they are; none where it did not keep them."""
        found = []
        for one in self.trace.get("solutions", ()):
            edits = [Replacement(**edit) for edit in one.get("edits", ())]
            files = {edit.file for edit in edits}
            if not edits or not files <= self.files.keys():
                return []
            texts = {
                file: replaced(read(file), [edit for edit in edits if edit.file == file])
                for file in files
            }
            example = Example(**one["example"]) if one["example"] else None
            found.append(
                Solution(
                    texts=texts,
                    says=one["says"],
                    kinds=tuple(one["kinds"]),
                    confidence=one["confidence"],
                    doubt=one["doubt"],
                    alike=one["alike"],
                    left=tuple(one["left"]),
                    twins=tuple(one["twins"]),
                    example=example,
                )
            )
        return found

    def would_repeat(self, tests: Set[str], read: Callable[[str], str]) -> bool:
        """Return whether a search for these tests would find these files as they were."""
        is_same = all(text_digest(read(file)) == was for file, was in self.files.items())
        return tests == self.tests and is_same


@dataclass(slots=True)
class Offers:
    """The edits that this run's history shows as proposed, as digests of the files they make."""

    edits: set[str]
    #: True if an unsure edit was left to a stronger fixer.
    deferred: bool = False
    #: The searches of this run, the latest first.
    searches: tuple[RecordedSearch, ...] = ()

    @classmethod
    def of(cls, history: History) -> Offers:
        """Return what the search fixer has offered in a run, without what may be offered again."""
        traces = [trace for trace, _ in _traces(history)]
        # Once a person has allowed more, a search may find what it could not edit before.
        since = [trace for trace, is_earlier in _traces(history) if not is_earlier]
        return cls(
            edits={trace["offered"] for trace in traces if "offered" in trace},
            deferred=any(trace.get("deferred") for trace in traces),
            searches=tuple(filter(None, map(RecordedSearch.of, reversed(since)))),
        )


def _traces(history: History) -> Iterator[tuple[dict[str, Any], bool]]:
    """Yield the search fixer's traces, each with whether a person has allowed more since then."""
    last = next((answer for answer in reversed(history.answers) if answer.allowed), None)
    attempts, rejections = (last.attempts, last.rejections) if last else (0, 0)
    fixes = [(one.fix, at < attempts) for at, one in enumerate(history.attempts)]
    fixes += [(one.fix, at < rejections) for at, one in enumerate(history.rejections)]
    for fix, is_earlier in fixes:
        for part in fix.parts if fix else ():
            # Refused for the files it changes, an edit is new once a person has allowed more.
            if part.fixer == NAME and part.trace and not (part.outside and is_earlier):
                yield part.trace, is_earlier


def text_digest(text: str) -> str:
    """Return what a file is recognised by."""
    return sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


def digest_of(texts: Mapping[str, str]) -> str:
    """Return what an edit is recognised by: a digest of the files that it makes."""
    return sha256(json.dumps(sorted(texts.items())).encode()).hexdigest()
