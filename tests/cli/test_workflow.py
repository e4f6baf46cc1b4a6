"""`runtrue workflow`: versions, and a saved workflow that is healed after its server changed."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Machine, write
from tests.cli.test_bad_input import one_sentence
from tests.planner.api import Api, api_fixture

__all__ = ["api_fixture"]

USER = "GET /users/ada"


def _flow(url: str, field: str = "login") -> str:
    return json.dumps(
        {
            "description": "the login of a user",
            "nodes": [
                {
                    "id": "fetch",
                    "type": "http",
                    "params": {"url": url, "extract": {"login": f"$.{field}"}},
                }
            ],
            "outputs": {"login": {"source": "${fetch.extracted.login}"}},
        }
    )


@pytest.fixture
def saved(machine: Machine, api: Api) -> Machine:
    url = api.on(USER, {"login": "ada", "name": "Ada Lovelace", "id": 7})
    write(machine.home, {"flow.json": _flow(url)})
    done = machine.runtrue("workflow", "save", "flow.json", "--name", "user")
    assert done.code == 0, done.said
    return machine


def test_a_field_renamed_on_the_server_is_healed_after_a_yes_and_rolled_back(
    saved: Machine, api: Api
) -> None:
    healthy = saved.runtrue("heal", "user")
    assert (healthy.code, healthy.out) == (0, "user: it passes; nothing to heal\n")
    api.on(USER, {"user_login": "ada", "name": "Ada Lovelace", "id": 7})
    failed = saved.runtrue("run", "user")
    assert failed.code == 1
    assert "user_login" in failed.said, "a run says what is there"
    assert saved.runtrue("workflow", "history", "user", "--json").json["versions"][0]["number"] == 1

    before = api.count(USER)
    proposed = saved.runtrue("workflow", "heal", "user", "--json")
    assert (proposed.code, proposed.json["status"]) == (3, "waiting")
    assert "+        login: $.user_login" in proposed.json["diff"]
    assert proposed.json["result"] == {"login": "ada"}
    assert api.count(USER) == before + 1, "the proof reads the answer that was there"
    assert saved.runtrue("run", "user").code == 1, "nothing is saved without a yes"

    healed = saved.runtrue("workflow", "heal", "user", "--yes")
    assert healed.code == 0, healed.said
    assert saved.runtrue("run", "user", "--json").json["result"] == {"login": "ada"}
    versions = saved.runtrue("workflow", "history", "user", "--json").json["versions"]
    assert [one["number"] for one in versions] == [2, 1]
    assert "healed: " in versions[0]["note"]
    assert "-        login: $.login" in saved.runtrue("workflow", "diff", "user").out

    back = saved.runtrue("workflow", "rollback", "user", "1")
    assert "user is as in version 1 again (now version 3)" in back.out
    assert saved.runtrue("run", "user").code == 1


def test_heal_says_what_it_would_change_before_it_runs_anything(machine: Machine, api: Api) -> None:
    api.on("POST /things", {"id": 1})
    url = api.on("GET /things", {})
    flow = {"nodes": [{"id": "a", "type": "http", "params": {"url": url, "method": "POST"}}]}
    write(machine.home, {"flow.json": json.dumps(flow)})
    machine.runtrue("workflow", "save", "flow.json", "--name", "thing")
    asked = machine.runtrue("heal", "thing")
    assert asked.code == 3
    assert "running it would send POST" in asked.err
    assert api.count("POST /things") == 0
    assert machine.runtrue("heal", "thing", "--yes").code == 0


def test_heal_offers_nothing_where_it_is_not_sure(saved: Machine, api: Api) -> None:
    api.on(USER, {"a": 1, "b": 2})
    failed = saved.runtrue("heal", "user", "--yes")
    assert failed.code == 1
    assert len(saved.runtrue("workflow", "history", "user", "--json").json["versions"]) == 1


def test_a_change_by_hand_is_a_version_and_a_missing_one_is_named(saved: Machine) -> None:
    file = saved.home / ".runtrue" / "workflows" / "user.json"
    file.write_text(file.read_text().replace("$.login", "$.name"))
    notes = [
        one["note"]
        for one in saved.runtrue("workflow", "history", "user", "--json").json["versions"]
    ]
    assert notes == ["changed by hand", "saved"]
    missing = saved.runtrue("workflow", "rollback", "user", "9")
    assert missing.code == 2
    assert "'user' has no version 9; available: 1, 2" in one_sentence(missing)
    nothing = saved.runtrue("workflow", "history", "nobody")
    assert nothing.code == 2
    assert "no workflow 'nobody' is saved" in one_sentence(nothing)


def test_a_workflow_is_edited_as_yaml_and_checked_before_it_is_saved(
    saved: Machine, tmp_path: Path
) -> None:
    editor = tmp_path / "editor.py"
    editor.write_text(
        "import sys, pathlib\n"
        "file = pathlib.Path(sys.argv[-1])\n"
        "file.write_text(file.read_text().replace(*sys.argv[1:3]))\n"
    )
    use = f"{sys.executable} {editor}"
    done = saved.runtrue("workflow", "edit", "user", env={"EDITOR": f"{use} $.login $.name"})
    assert done.code == 0, done.said
    assert saved.runtrue("run", "user", "--json").json["result"] == {"login": "Ada Lovelace"}
    broken = saved.runtrue("workflow", "edit", "user", env={"EDITOR": f"{use} http htpt"})
    assert broken.code == 2
    assert "user.edited.yaml" in broken.err
    assert saved.runtrue("run", "user").code == 0
    exported = saved.runtrue("workflow", "export", "user")
    write(saved.home, {"copy.yaml": exported.out})
    assert saved.runtrue("run", "copy.yaml", "--json").json["result"] == {"login": "Ada Lovelace"}


def test_a_pflow_file_is_refused_by_the_name_of_its_format(machine: Machine) -> None:
    write(machine.home, {"report.pflow.md": "# Report\n\n## Steps\n"})
    refused = machine.runtrue("run", "report.pflow.md")
    assert refused.code == 2
    assert "pflow's Markdown format (.pflow.md)" in one_sentence(refused)


def test_older_names_work_and_are_not_in_the_help(saved: Machine) -> None:
    helped = saved.runtrue("--help").out
    assert "\n  workflow " in helped
    assert "\n  delete " not in helped
    assert "user" in saved.runtrue("list").out
    assert saved.runtrue("delete", "user").code == 0
    restored = saved.runtrue("workflow", "rollback", "user", "1")
    assert restored.code == 0, restored.said
