"""The stop hook of a coding agent: holds the agent back while its change is not ready."""

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
from runtrue.cli.hooks import AgentHost, note_firing
from runtrue.cli.judge import GateOptions, Obstructed, change_of, judge, judging_config, plan
from runtrue.cli.project import find_project
from runtrue.cli.show import print_json
from runtrue.cli.verdict import ignoring_closed_pipes, not_ready_text, verdict_text
from runtrue.code import CodeReport, CodeRequest, Kind, Stop, lets_go, signs_of
from runtrue.errors import RuntrueError, UsageError
from runtrue.flow import Journal
from runtrue.home import Home
from runtrue.sandbox import repository_of
from runtrue.typed_data import decode_json

#: Exit codes: the agent works on with what is on stderr, or the person is shown it.
_HOLD, _COMPLAIN = 2, 1


class StopEvent(msgspec.Struct, frozen=True):
    """The JSON that agents give a stop hook on stdin, as far as it matters here.

    They agree on little: a session has one of three names, and that the agent was held back before
    is a flag, a count, or not said.
    """

    session_id: str = ""
    session_of_copilot: str = msgspec.field(default="", name="sessionId")
    conversation_id: str = ""
    #: The agent has been held back already, and worked on because of that.
    stop_hook_active: bool | None = None
    loop_count: int | None = None
    #: How the agent's turn ended, where that is said: `completed`, `aborted`, `error`.
    status: str | None = None
    cwd: str | None = None
    workspace_roots: tuple[str, ...] = ()

    @property
    def session(self) -> str:
        """The session that the agent is in."""
        return self.session_id or self.conversation_id or self.session_of_copilot

    @property
    def again(self) -> bool | None:
        """Whether the agent was held back before; None if it does not say."""
        if self.stop_hook_active is None and self.loop_count is not None:
            return self.loop_count > 0
        return self.stop_hook_active

    @property
    def project(self) -> Path:
        """The directory that the session was started in, if the agent is still below it."""
        here = Path(self.cwd or next(iter(self.workspace_roots), ".")).resolve()
        root = os.environ.get("CLAUDE_PROJECT_DIR")
        return Path(root) if root and here.is_relative_to(Path(root).resolve()) else here


def answer_stop(host: AgentHost, path: Path | None, asked: GateOptions) -> int:
    """Judge the change of an agent that wants to stop; return the exit code for the agent.

    Findings hold it back, and so does a change that keeps the gate from judging it. Anything else
    is reported to the person: an agent that cannot do anything about it would never stop.
    """
    try:
        event = _read(host)
        project = find_project(path or event.project)
        home = Home.find(project)
        if event.status not in (None, "completed"):
            # Interrupted or failed: there is nobody to work on.
            return 0
        if repository_of(project) is None:
            # A plugin's hook, which fires everywhere: none is installed without a repository.
            return _let_go(host)
        code = _judge(host, event, project, home, asked)
    except RuntrueError as error:
        with ignoring_closed_pipes():
            echo(f"runtrue gate: {error}", err=True)
        return _COMPLAIN
    note_firing(home, project, host.name, blocked=code == _HOLD)
    return 0 if code == _HOLD and host.hold else code


def _judge(host: AgentHost, event: StopEvent, project: Path, home: Home, asked: GateOptions) -> int:
    stop = Stop(session=event.session, again=bool(event.again))
    change = change_of(project, asked)
    try:
        request = plan(project, judging_config(project, change, asked), asked, change)
    except Obstructed as error:
        return _obstruct(host, error, home, project, stop)
    if isinstance(request, str):
        return _let_go(host)
    with Journal(home.journal) as journal:
        if event.again is None:
            stop = Stop(session=stop.session, again=_was_held(journal, request, stop.session))
        request = replace(request, stop=stop)
        earlier = _earlier_findings(journal, request) if stop.again else []
        report = judge(journal, home, request, silent=True)
    if report.ready:
        return _let_go(host)
    if stop.again and lets_go(signs_of(report.findings), earlier):
        return _let_go(host, not_ready_text(report))
    return _hold(host, verdict_text(report))


def _let_go(host: AgentHost, message: str | None = None) -> int:
    """Let the agent stop. A message is for the person, and reaches them where there is a way."""
    with ignoring_closed_pipes():
        if message is not None and not host.shows_messages:
            echo(message, err=True)
        elif message is not None:
            print_json({"systemMessage": message})
        elif host.hold is not None:
            # Some want JSON on stdout in any case.
            print_json({})
    return 0


def _hold(host: AgentHost, reason: str) -> int:
    """Have the agent work on. The exit code is the gate's own; JSON needs another."""
    with ignoring_closed_pipes():
        if host.hold is None:
            echo(reason, err=True)
        else:
            print_json(host.hold(reason))
    return _HOLD


def _obstruct(host: AgentHost, error: Obstructed, home: Home, project: Path, stop: Stop) -> int:
    """Hold the agent back, unless it got the same message before, or too many.

    No run records the messages, since none could begin; they are in a file of the session.
    """
    name = hashlib.sha256(f"{project}\0{stop.session}".encode()).hexdigest()[:32]
    file = home.path / "stops" / f"{name}.json"
    earlier: list[str] = []
    if stop.again:
        with suppress(OSError, msgspec.DecodeError):
            earlier = decode_json(file.read_bytes(), list[str])
    sentence = str(error)
    is_known = lets_go(frozenset({sentence}), [frozenset({one}) for one in earlier])
    try:
        private_file(file)
        file.write_bytes(msgspec.json.encode([*earlier, sentence]))
    except OSError:
        # What cannot be kept could hold it back forever.
        is_known = is_known or stop.again
    if not is_known:
        return _hold(host, f"runtrue gate: {sentence}")
    with ignoring_closed_pipes():
        echo(f"runtrue gate: {sentence}", err=True)
    return _COMPLAIN


def _read(host: AgentHost) -> StopEvent:
    try:
        return decode_json(sys.stdin.buffer.read(), StopEvent)
    except msgspec.DecodeError as error:
        raise UsageError(
            f"{host.title}'s JSON for a stop hook was expected on stdin: {error}"
        ) from error


def _was_held(journal: Journal, request: CodeRequest, session: str) -> bool:
    """Return whether the latest gate of this session held the agent back."""
    for run in journal.runs(kind=Kind.GATE, title=request.project):
        before = run.input.get("stop")
        if before and before["session"] == session and run.result is not None:
            return not run.result_as(CodeReport).ready
    return False


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
