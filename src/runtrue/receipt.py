"""Receipts: the evidence that a tree passed its checks.

A receipt says which tree passed, under which commands, with which exit codes and reports. It goes
stale as soon as a file of the tree changes. On disk it is an in-toto statement with the predicate
for test results, so that other tools can read it.
"""

from __future__ import annotations

import hashlib
import os
import platform
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from runtrue import __version__
from runtrue.atomic_file import private_directory, write_atomically
from runtrue.errors import UsageError
from runtrue.home import Home
from runtrue.loop import JudgedBy, Mode, Verdict
from runtrue.sandbox import GitSandbox, IsolationRecord, UsersTree
from runtrue.typed_data import convert

_STATEMENT = "https://in-toto.io/Statement/v1"
_PREDICATE = "https://in-toto.io/attestation/test-result/v0.1"
#: The field of the predicate with what in-toto has no field for.
_OURS = "runtrue"
#: No receipt is as large: it lists checks, not tests.
_LARGEST = 10_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvenCheck:
    """A check that a receipt is about."""

    name: str
    #: What was run; empty for what runtrue itself measures, such as coverage.
    command: str
    mode: Mode
    passed: bool
    exit_code: int | None
    #: How many cases ended how, and the SHA-256 of which of them did.
    cases: dict[str, int]
    report: str
    #: How far a candidate could have forged the verdict.
    judged_by: JudgedBy | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What was proven, and of which tree."""

    run_id: str
    kind: str
    #: The name of the project's directory.
    project: str
    at: float
    #: Git's id of the tree that passed, and those of what is at its top, by name.
    tree: str
    entries: dict[str, str]
    #: The tree before the fix, and the SHA-256 of the diff from there; the same tree has no diff.
    base: str
    diff: str | None
    #: Of a gate: the commit that the change was judged against.
    against: str | None
    #: A hash of all that the run was asked to do.
    question: str
    checks: tuple[ProvenCheck, ...]
    #: What was not run, each with the reason.
    not_run: tuple[str, ...]
    versions: dict[str, str]
    isolation: IsolationRecord
    confidence: float | None = None

    def statement(self) -> dict[str, Any]:
        """Return the receipt as an in-toto statement."""
        return {
            "_type": _STATEMENT,
            "subject": [{"name": self.project, "digest": {"gitTree": self.tree}}],
            "predicateType": _PREDICATE,
            "predicate": {
                "result": "PASSED",
                "configuration": [
                    {"name": check.name, "digest": {"sha256": _sha256(check.command)}}
                    for check in self.checks
                ],
                _OURS: msgspec.to_builtins(self),
            },
        }

    def save(self, home: Home) -> Path:
        """Write the receipt to its file in the home, and return that."""
        file = home.receipt(self.run_id)
        private_directory(file.parent)
        text = msgspec.json.format(msgspec.json.encode(self.statement()), indent=2)
        write_atomically(file, text + b"\n")
        return file


def make_receipt(
    run_id: str,
    kind: str,
    sandbox: GitSandbox | UsersTree,
    candidate: str,
    verdicts: Iterable[Verdict],
    *,
    project: Path,
    commands: Mapping[str, str],
    not_run: Iterable[str] = (),
    question: str,
    isolation: IsolationRecord,
    against: str | None = None,
    confidence: float | None = None,
) -> Receipt:
    """Return the receipt of a candidate that passed; `commands` are the lines of its checks."""
    diff = sandbox.diff(candidate)
    return Receipt(
        run_id=run_id,
        kind=kind,
        project=project.name,
        at=time.time(),
        tree=candidate,
        entries=sandbox.top_entries(candidate),
        base=sandbox.base,
        diff=_sha256(diff) if diff else None,
        against=against,
        question=question,
        checks=tuple(_proven(verdict, commands) for verdict in verdicts),
        not_run=tuple(not_run),
        versions={
            "runtrue": __version__,
            "python": platform.python_version(),
            "system": f"{platform.system()} {platform.machine()}",
        },
        isolation=isolation,
        confidence=confidence,
    )


def read_receipt(file: Path) -> Receipt:
    """Return the receipt in a file. Raises UsageError if there is none in it."""
    try:
        if file.stat().st_size > _LARGEST:
            raise UsageError(f"{file} is too large to be a receipt")
        statement = msgspec.json.decode(file.read_bytes())
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from error
    except (msgspec.DecodeError, RecursionError) as error:
        raise UsageError(f"{file} is not a receipt: it is not JSON ({error})") from error
    return _from_statement(statement, file)


def _from_statement(statement: Any, file: Path) -> Receipt:
    try:
        if (statement["_type"], statement["predicateType"]) != (_STATEMENT, _PREDICATE):
            raise UsageError(f"{file} is not a receipt: it is a statement about something else")
        receipt = convert(statement["predicate"][_OURS], Receipt)
        subject = statement["subject"][0]["digest"]["gitTree"]
    except (KeyError, IndexError, TypeError, msgspec.ValidationError) as error:
        raise UsageError(f"{file} is not a receipt of runtrue: {error}") from error
    if subject != receipt.tree:
        raise UsageError(f"{file} contradicts itself: it names two trees")
    return receipt


def tree_now(
    home: Home, project: Path, *, kind: str | None = None, staged: str | None = None
) -> tuple[str, dict[str, str]]:
    """Return the id of a project's tree as it is, and the ids of what is at its top, by name."""
    place = home.sandbox(f"tree-{os.getpid()}")
    return GitSandbox(place, project, kind=kind, staged=staged).users_tree()


def hash_of(request: Any) -> str:
    """Return the hash of a request, for this version of runtrue."""
    encoded = msgspec.json.encode([__version__, request], order="sorted")
    return hashlib.sha256(encoded).hexdigest()


def _proven(verdict: Verdict, commands: Mapping[str, str]) -> ProvenCheck:
    cases = {case: str(o) for case, o in verdict.cases.items() if case != verdict.check}
    return ProvenCheck(
        name=verdict.check,
        command=commands.get(verdict.check, ""),
        mode=verdict.mode,
        passed=verdict.passed,
        exit_code=verdict.exit_code,
        cases=dict(sorted(Counter(cases.values()).items())),
        report=_sha256(msgspec.json.encode(cases, order="sorted").decode()),
        judged_by=verdict.judged_by,
    )


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()
