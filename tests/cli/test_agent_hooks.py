"""`runtrue hooks`: each agent's hook is installed, fired with the agent's own JSON, and removed.

The events in `agent_events` have the fields that each agent documents or sends; docs/agents.md says
where that was looked up.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from runtrue.cli.hooks import AGENT_HOSTS, HOOKS
from tests.cli.conftest import Done, Machine, MakeProject, content, write
from tests.cli.test_gate import READY, SHOP, WRONG

EVENTS = Path(__file__).parent / "agent_events"
#: Those that take JSON for an answer, with what holds them back.
HELD: dict[str, Any] = {
    "codex": lambda reason: {"decision": "block", "reason": reason},
    "copilot": lambda reason: {
        "decision": "block",
        "reason": reason,
        "hookSpecificOutput": {"hookEventName": "Stop", "decision": "block", "reason": reason},
    },
    "cursor": lambda reason: {"followup_message": reason},
    "gemini": lambda reason: {"decision": "deny", "reason": reason},
}
#: What Codex takes for an answer (`stop.command.output`), which refuses anything more.
CODEX_ANSWER = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "continue": {"type": "boolean"},
        "decision": {"enum": ["block"]},
        "reason": {"type": "string"},
        "stopReason": {"type": "string"},
        "suppressOutput": {"type": "boolean"},
        "systemMessage": {"type": "string"},
    },
}


def hooks(machine: Machine, *words: str, project: Path) -> Done:
    return machine.runtrue("hooks", *words, cwd=project)


def command_of(project: Path, host: str) -> str:
    """Return the command that the agent finds in its file."""
    row = AGENT_HOSTS[host]
    entry = json.loads((project / row.file).read_text())["hooks"][row.event][-1]
    handler = entry["hooks"][-1] if row.grouped else entry
    assert handler["type"] == "command"
    return str(handler["command"])


def fire(
    machine: Machine, project: Path, host: str, cwd: Path | None = None, **changed: Any
) -> Done:
    """Fire the installed hook as the agent does: through a shell, with its own JSON on stdin."""
    event = (EVENTS / f"{host}.json").read_text().replace("{project}", str(project))
    done = subprocess.run(
        ["sh", "-c", command_of(project, host)],
        cwd=cwd or project,
        env=machine.env,
        input=json.dumps({**json.loads(event), **changed}),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return Done(done.returncode, done.stdout, done.stderr)


def again(host: str) -> dict[str, Any]:
    """Return how the agent says that it was held back before; Copilot and OpenHands do not."""
    said = {"cursor": {"loop_count": 1}, "copilot": {}, "openhands": {}}
    return said.get(host, {"stop_hook_active": True})


def status_of(machine: Machine, project: Path, host: str) -> dict[str, Any]:
    found = hooks(machine, "status", "--json", project=project).json["hooks"]
    return next(one for one in found if one["host"] == host)


@pytest.mark.parametrize("host", HOOKS)
def test_installed_twice_is_installed_once_and_uninstalled_leaves_no_trace(
    host: str, machine: Machine, make_project: MakeProject
) -> None:
    project = make_project(SHOP)
    directories = {path for path in project.rglob("*") if path.is_dir()}
    before = content(project)
    done = hooks(machine, "install", host, project=project)
    assert done.code == 0, done.said
    assert f"runtrue hooks uninstall {host}" in done.out
    assert status_of(machine, project, host)["installed"]
    installed = content(project)
    again = hooks(machine, "install", host, "--json", project=project)
    assert (again.code, again.json["changed"]) == (0, False)
    assert content(project) == installed
    assert hooks(machine, "uninstall", host, project=project).code == 0
    assert not status_of(machine, project, host)["installed"]
    assert content(project) == before
    assert {path for path in project.rglob("*") if path.is_dir()} <= directories


@pytest.mark.parametrize("host", AGENT_HOSTS)
def test_an_agent_is_held_back_in_its_own_words_until_the_change_is_ready(
    host: str, machine: Machine, make_project: MakeProject
) -> None:
    project = make_project(SHOP)
    assert hooks(machine, "install", host, project=project).code == 0
    write(project, WRONG)
    held = fire(machine, project, host)
    if host in HELD:
        reason = held.json.get("reason") or held.json["followup_message"]
        assert (held.code, held.json) == (0, HELD[host](reason))
    else:
        reason = held.err
        assert (held.code, held.out) == (2, "")
    assert reason.startswith("runtrue gate: not ready: 1 finding.")
    assert "test_shop.py" in reason
    write(project, READY)
    let_go = fire(machine, project, host, **again(host))
    assert (let_go.code, let_go.err) == (0, "")
    assert let_go.out.strip() == ("{}" if host in HELD else "")
    counted = status_of(machine, project, host)
    assert (counted["fired"], counted["blocked"]) == (2, 1)


@pytest.mark.parametrize("host", AGENT_HOSTS)
def test_equal_findings_twice_let_the_agent_go_and_tell_the_person(
    host: str, machine: Machine, make_project: MakeProject
) -> None:
    project = make_project(SHOP)
    hooks(machine, "install", host, project=project)
    write(project, WRONG)
    fire(machine, project, host)
    let_go = fire(machine, project, host, **again(host))
    assert let_go.code == 0
    row = AGENT_HOSTS[host]
    said = let_go.json["systemMessage"] if row.shows_messages else let_go.err
    assert "the change is NOT ready; the agent was shown 1 finding" in said
    if host == "codex":
        jsonschema.validate(let_go.json, CODEX_ANSWER)


def test_codex_gets_nothing_that_its_schema_refuses(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project(SHOP)
    hooks(machine, "install", "codex", project=project)
    jsonschema.validate(fire(machine, project, "codex").json, CODEX_ANSWER)
    write(project, WRONG)
    jsonschema.validate(fire(machine, project, "codex").json, CODEX_ANSWER)


@pytest.mark.parametrize("status", ["aborted", "error"])
def test_an_agent_that_was_interrupted_is_not_sent_back_to_work(
    status: str, machine: Machine, make_project: MakeProject
) -> None:
    project = make_project(SHOP)
    hooks(machine, "install", "cursor", project=project)
    write(project, WRONG)
    done = fire(machine, project, "cursor", status=status)
    assert (done.code, done.said) == (0, "")


def test_copilot_reads_its_hook_at_the_top_for_a_project_below_it(
    machine: Machine, make_project: MakeProject
) -> None:
    top = make_project({f"shop/{name}": text for name, text in SHOP.items()})
    project = top / "shop"
    assert hooks(machine, "install", "copilot", project=project).code == 0
    write(project, WRONG)
    held = fire(machine, top, "copilot", cwd=top)
    assert held.json["decision"] == "block"
    assert hooks(machine, "uninstall", "copilot", project=project).code == 0
    assert not (top / ".github").exists()


def test_other_hooks_of_an_agent_stay(machine: Machine, make_project: MakeProject) -> None:
    project = make_project(SHOP)
    text = '{"version": 1, "hooks": {"stop": [{"command": "say done"}], "afterFileEdit": []}}\n'
    write(project, {".cursor/hooks.json": text})
    assert hooks(machine, "install", "cursor", project=project).code == 0
    stops = json.loads((project / ".cursor/hooks.json").read_text())["hooks"]["stop"]
    assert [one["command"].endswith("--hook cursor") for one in stops] == [False, True]
    assert hooks(machine, "uninstall", "cursor", project=project).code == 0
    assert (project / ".cursor/hooks.json").read_text() == text


def test_status_shows_a_hook_that_never_fires(machine: Machine, make_project: MakeProject) -> None:
    project = make_project(SHOP)
    nothing = hooks(machine, "status", project=project)
    assert "no hooks installed" in nothing.err
    hooks(machine, "install", "gemini", project=project)
    assert "never fired" in hooks(machine, "status", project=project).out
    write(project, WRONG)
    fire(machine, project, "gemini")
    shown = hooks(machine, "status", project=project).out
    assert "last fired" in shown
    assert "blocked 1" in shown
    doctor = machine.runtrue("doctor", cwd=project)
    assert "gemini: last fired" in doctor.out


def test_the_old_name_still_installs_and_says_the_new_one(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project(SHOP)
    done = machine.runtrue("gate", "--install", "codex", cwd=project)
    assert done.code == 0
    assert "`runtrue hooks install codex`" in done.err
    assert status_of(machine, project, "codex")["installed"]


def test_an_unknown_host_is_refused_with_those_that_there_are(
    machine: Machine, make_project: MakeProject
) -> None:
    done = hooks(machine, "install", "clippy", project=make_project(SHOP))
    assert done.code == 2
    assert "'claude-code'" in done.err
