"""`runtrue mcp serve` before the protocol's own conformance suite, and with a client from npm."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Machine, MakeProject
from tests.cli.test_mcp_serve import UNSURE, http_server
from tests.workflow.mcp.support import MODULES

SERVERS = MODULES.parent.parent
SUITE = MODULES / "conformance/dist/index.js"
#: That of `scripts/setup`: the suite needs a newer one than many machines have.
NODE = Path(sys.executable).with_name("node")
TOKEN = "s3cret"  # noqa: S105
#: What the suite asks of its own example server: tools and texts of these names.
_OF_THE_EXAMPLE = re.compile(
    r"(tool|prompt|resource) ['\"]?(test|json_schema)"
    r"|Not testable|Tool 'json_schema|Prerequisite failed|x-mcp-header|fixture"
)
#: What the server does not offer, and says so in its capabilities, by the scenarios about it.
_NOT_OFFERED = {
    "completion-complete": "completions",
    "logging-set-level": "logging",
    "tools-call-with-logging": "logging",
    "resources-subscribe": "resources.subscribe",
    "resources-unsubscribe": "resources.subscribe",
    "tasks-": "extensions.tasks",
    # Calls a tool of the example, and takes any other refusal for a missing state.
    "input-required-result-multi-round": "an example",
}
#: What must be green without a tool of the example.
_GREEN = {
    "2025-11-25": {
        "server-initialize",
        "ping",
        "tools-list",
        "resources-list",
        "prompts-list",
        "server-sse-multiple-streams",
        "dns-rebinding-protection",
        "server-session-lifecycle",
    },
    "2026-07-28": {
        "tools-list",
        "resources-list",
        "prompts-list",
        "caching",
        "http-header-validation",
        "dns-rebinding-protection",
        "server-sse-multiple-streams",
        "sep-2164-resource-not-found",
        "input-required-result-unsupported-methods",
        "input-required-result-validate-input",
        "input-required-result-missing-input-response",
        "input-required-result-ignore-extra-params",
    },
}


@pytest.mark.usefixtures("npm_servers")
@pytest.mark.parametrize("revision", sorted(_GREEN))
def test_whatever_the_suite_can_ask_of_this_server_is_green(
    revision: str, machine: Machine, tmp_path: Path
) -> None:
    root = tmp_path / "root"
    root.mkdir()
    results = tmp_path / "results"
    with http_server(machine, root, TOKEN) as port:
        suite = subprocess.run(
            [
                *(NODE, SUITE, "server", "--url", f"http://127.0.0.1:{port}/mcp"),
                *("--requirements", revision, "--output-dir", results, "--timeout", "120000"),
            ],
            env={
                **machine.env,
                "RUNTRUE_MCP_TOKEN": TOKEN,
                "NODE_OPTIONS": f"--require={SERVERS / 'with_token.cjs'}",
            },
            capture_output=True,
            text=True,
            check=False,
        )
    found = dict(_checks(results))
    assert _GREEN[revision] <= found.keys(), suite.stdout + suite.stderr
    failures = {
        (scenario, check["id"], str(check.get("errorMessage") or check.get("details")))
        for scenario, checks in found.items()
        for check in checks
        if check["status"] == "FAILURE"
    }
    unexpected = {
        (scenario, name, why)
        for scenario, name, why in failures
        if not _OF_THE_EXAMPLE.search(why) and not scenario.startswith(tuple(_NOT_OFFERED))
    }
    assert unexpected == set()
    assert not {scenario for scenario, *_ in failures} & _GREEN[revision]
    passed = [one for name in _GREEN[revision] for one in found[name] if one["status"] == "SUCCESS"]
    assert len(passed) > len(_GREEN[revision])


def _checks(results: Path) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    for file in results.glob("server-*/checks.json"):
        name = re.sub(r"-\d{4}-\d\d-\d\dT.*", "", file.parent.name).removeprefix("server-")
        yield name, json.loads(file.read_text())


@pytest.mark.usefixtures("npm_servers")
@pytest.mark.parametrize(("mode", "version"), [("auto", "2026-07-28"), ("legacy", "2025-11-25")])
def test_a_client_from_npm_drives_a_fix_to_its_question_and_an_answer(
    mode: str, version: str, make_project: MakeProject, tmp_path: Path
) -> None:
    machine = Machine(tmp_path)
    project = make_project(UNSURE)
    machine.runtrue("trust", "--yes", cwd=project)
    argv = machine.argv("mcp", "serve", "--root", project)
    client = subprocess.run(
        [NODE, SERVERS / "fix_client.mjs", mode, *argv],
        cwd=project,
        env=machine.env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert client.returncode == 0, client.stderr
    said = json.loads(client.stdout)
    (question,) = said["asked"]
    assert "+    return 0 if total" in question
    assert said["heard"], "no progress was reported"
    assert said["version"] == version
    assert (said["report"]["status"], said["report"]["applied"]) == ("passed", True)
    assert ">= 50" in (project / "shipping.py").read_text()
