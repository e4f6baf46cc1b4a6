"""Offers: the edits that a search has proposed in a run, read from the run's history."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from runtrue.loop import History

#: The fixer's name, on its rung and in the record.
NAME = "search"


@dataclass(slots=True)
class Offers:
    """The edits that this run's history shows as proposed, as digests of the files they make."""

    edits: set[str]
    #: True if an unsure edit was left to a stronger fixer.
    deferred: bool = False

    @classmethod
    def of(cls, history: History) -> Offers:
        """Return what the search fixer has offered in a run, without what may be offered again."""
        traces = list(_traces(history))
        return cls(
            edits={trace["offered"] for trace in traces if "offered" in trace},
            deferred=any(trace.get("deferred") for trace in traces),
        )


def _traces(history: History) -> Iterator[dict[str, Any]]:
    last = next((answer for answer in reversed(history.answers) if answer.allowed), None)
    attempts, rejections = (last.attempts, last.rejections) if last else (0, 0)
    fixes = [(one.fix, at < attempts) for at, one in enumerate(history.attempts)]
    fixes += [(one.fix, at < rejections) for at, one in enumerate(history.rejections)]
    for fix, is_earlier in fixes:
        for part in fix.parts if fix else ():
            # Refused for the files it changes, an edit is new once a person has allowed more.
            if part.fixer == NAME and part.trace and not (part.outside and is_earlier):
                yield part.trace


def digest_of(texts: Mapping[str, str]) -> str:
    """Return what an edit is recognised by: a digest of the files that it makes."""
    return sha256(json.dumps(sorted(texts.items())).encode()).hexdigest()
