"""The Stop hook of Claude Code: holds the agent back while its change is not ready."""

from __future__ import annotations

import hashlib
import os
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import msgspec

from runtrue.atomic_file import private_file
from runtrue.cli.console import echo
from runtrue.cli.judge import GateOptions, Obstructed, change_of, judge, judging_config, plan
from runtrue.cli.project import find_project
from runtrue.cli.verdict import ignoring_closed_pipes, print_let_go, print_verdict
from runtrue.code import CodeReport, CodeRequest, Kind, Stop, lets_go, signs_of
from runtrue.errors import RuntrueError, UsageError
from runtrue.flow import Journal
from runtrue.home import Home

#: What the hook's exit codes mean to Claude Code: stderr goes to the model, or to the person.
_HOLD, _COMPLAIN = 2, 1


class StopEvent(msgspec.Struct, frozen=True):
    """The JSON that Claude Code gives a Stop hook on stdin, as far as it matters here."""

    session_id: str = ""
    #: The agent has been held back already, and worked on because of that.
    stop_hook_active: bool = False
    cwd: str = "."

    @property
    def project(self) -> Path:
        """The directory that the session was started in, if the agent is still below it."""
        here = Path(self.cwd).resolve()
        root = os.environ.get("CLAUDE_PROJECT_DIR")
        return Path(root) if root and here.is_relative_to(Path(root).resolve()) else here


def answer_stop(path: Path | None, asked: GateOptions) -> int:
    """Judge the change of an agent that wants to stop; the exit code for Claude Code.

    Findings hold it back, and so does a change that keeps the gate from judging it. Anything else
    is reported to the person: an agent that cannot do anything about it would never stop.
    """
    try:
        event = _read()
        project = find_project(path or event.project)
        stop = Stop(session=event.session_id, again=event.stop_hook_active)
        home = Home.find(project)
        change = change_of(project, asked)
        try:
            request = plan(project, judging_config(project, change, asked), asked, change)
        except Obstructed as error:
            return _obstruct(error, home, project, stop)
        if isinstance(request, str):
            return 0
        request = replace(request, stop=stop)
        with Journal(home.journal) as journal:
            earlier = _earlier_findings(journal, request) if stop.again else []
            report = judge(journal, home, request, silent=True)
    except RuntrueError as error:
        with ignoring_closed_pipes():
            echo(f"runtrue gate: {error}", err=True)
        return _COMPLAIN
    if report.ready:
        return 0
    found = signs_of(report.findings)
    if stop.again and lets_go(found, earlier):
        with ignoring_closed_pipes():
            print_let_go(report)
        return 0
    with ignoring_closed_pipes():
        print_verdict(report)
    return _HOLD


def _obstruct(error: Obstructed, home: Home, project: Path, stop: Stop) -> int:
    """Hold the agent back, unless it got the same message before, or too many.

    No run records the messages, since none could begin; they are in a file of the session.
    """
    name = hashlib.sha256(f"{project}\0{stop.session}".encode()).hexdigest()[:32]
    file = home.path / "stops" / f"{name}.json"
    earlier: list[str] = []
    if stop.again:
        with suppress(OSError, msgspec.DecodeError):
            earlier = msgspec.json.decode(file.read_bytes(), type=list[str])
    sentence = str(error)
    with ignoring_closed_pipes():
        echo(f"runtrue gate: {sentence}", err=True)
    if lets_go(frozenset({sentence}), [frozenset({one}) for one in earlier]):
        return _COMPLAIN
    try:
        private_file(file)
        file.write_bytes(msgspec.json.encode([*earlier, sentence]))
    except OSError:
        # What cannot be kept could hold it back for ever.
        return _COMPLAIN if stop.again else _HOLD
    return _HOLD


def _read() -> StopEvent:
    try:
        return msgspec.json.decode(sys.stdin.buffer.read(), type=StopEvent)
    except msgspec.DecodeError as error:
        raise UsageError(
            f"Claude Code's JSON for a Stop hook is wanted on stdin: {error}"
        ) from error


def _earlier_findings(journal: Journal, request: CodeRequest) -> list[frozenset[str]]:
    """Return the findings each time the agent was held back since it last stopped by itself.

    They are those of the gates of this session, newest first.
    """
    earlier: list[frozenset[str]] = []
    session = request.stop.session if request.stop else None
    for run in journal.runs(kind=Kind.GATE, title=request.project):
        before = run.input.get("stop")
        if not before or before["session"] != session or run.result is None:
            continue
        earlier.append(signs_of(run.result_as(CodeReport).findings))
        if not before["again"]:
            break
    return earlier
