"""Plans take a no: what a person undoes, corrects, waives or adds, on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Done, Machine, MakeProject

FILES = {"handler.py": "tax = 0\n", "model.py": "RATE = 0.5\n"}


class Desk:
    """A project with plans on it, under default settings."""

    def __init__(self, root: Path, make_project: MakeProject) -> None:
        self.machine = Machine(root)
        self.project = make_project(FILES)

    def use(self, *steps: dict[str, Any], profile: str = "cautious", **keys: Any) -> Any:
        plan = {"instruction": "x", "strategy": {"steps": list(steps)}, **keys}
        path = self.project.parent / "plan.json"
        path.write_text(json.dumps(plan))
        done = self.run("new", path, "--profile", profile, "--json")
        assert done.code in (0, 3), done.said
        return done.json

    def run(self, *words: str | Path) -> Done:
        return self.machine.runtrue("plan", *words, cwd=self.project)


@pytest.fixture
def desk(tmp_path: Path, make_project: MakeProject) -> Desk:
    return Desk(tmp_path, make_project)


def step(command: str, **more: Any) -> dict[str, Any]:
    return {"description": "do it", "command": command, **more}


def check(name: str, command: str, mode: str = "required") -> dict[str, str]:
    return {"name": name, "command": command, "mode": mode}


PASSES = check("passes", "true")


def text_of(report: Any, file: str = "notes.txt") -> str | None:
    path = Path(report["sandbox"], file)
    return path.read_text() if path.exists() else None


def test_no_to_a_complete_plan_undoes_its_last_step_and_asks_what_to_do_instead(
    desk: Desk,
) -> None:
    first = desk.use(
        step("echo one >> notes.txt"), step("echo two >> notes.txt"), validations=[PASSES]
    )
    assert (first["state"], text_of(first)) == ("complete", "one\ntwo\n")
    no = desk.run("answer", first["run_id"], "no", "--json")
    assert (no.code, no.json["state"], no.json["why"]) == (3, "waiting", "declined"), no.said
    assert text_of(no.json) == "one\n"
    assert [s["state"] for s in no.json["plan"]["steps"]] == ["done", "undone"]
    refused = desk.run("answer", first["run_id"], "write three")
    assert refused.code == 2
    assert "runtrue plan correct s2 --command COMMAND" in refused.err
    done = desk.run("correct", "s2", "--command", "echo three >> notes.txt", "--json")
    assert (done.code, done.json["state"]) == (0, "complete"), done.said
    assert text_of(done.json) == "one\nthree\n"
    assert [deed["undone"] for deed in done.json["plan"]["deeds"]] == [False, True, False]
    assert desk.run("apply").code == 0
    assert (desk.project / "notes.txt").read_text() == "one\nthree\n"


def test_no_to_a_waiting_plan_undoes_the_step_and_does_not_repeat_it(desk: Desk) -> None:
    never = check("never", "grep -q three notes.txt")
    waiting = desk.use(step("echo one >> notes.txt"), validations=[never])
    assert (waiting["state"], text_of(waiting)) == ("waiting", "one\n")
    no = desk.run("answer", waiting["run_id"], "no", "--json")
    assert (no.code, text_of(no.json)) == (3, None), no.said
    assert len(no.json["plan"]["deeds"]) == 1
    skipped = desk.run("correct", "s1", "--skip", "not needed", "--json")
    assert skipped.json["plan"]["steps"][0]["state"] == "skipped"


def test_a_step_never_runs_on_its_own_result(desk: Desk) -> None:
    never = check("never", "grep -q three notes.txt")
    waiting = desk.use(step("echo one >> notes.txt"), validations=[never])
    again = desk.run("answer", waiting["run_id"], "try it again", "--json")
    assert again.code == 3, again.said
    assert text_of(again.json) == "one\n"
    allowed = desk.run("correct", "s1", "--allow", "model.py", "--json")
    assert text_of(allowed.json) == "one\n"
    assert text_of(desk.run("correct", "s1", "--description", "other", "--json").json) == "one\n"


def test_a_wrong_validation_is_corrected_without_doing_the_step_again(desk: Desk) -> None:
    wrong = check("says", "grep -q one note.txt")
    waiting = desk.use(step("echo one >> notes.txt"), validations=[wrong])
    assert waiting["state"] == "waiting"
    done = desk.run("correct", "says", "--command", "grep -q one notes.txt", "--json")
    assert (done.code, done.json["state"]) == (0, "complete"), done.said
    assert text_of(done.json) == "one\n"
    assert len(done.json["plan"]["deeds"]) == 1
    assert done.json["plan"]["amendments"][0]["what"] == [
        "validation says: command: grep -q one notes.txt"
    ]


@pytest.mark.parametrize("options", [("--waive", "not agreed on yet"), ("--mode", "informational")])
def test_a_person_waives_a_validation_or_makes_it_informational(
    options: tuple[str, str], desk: Desk
) -> None:
    waiting = desk.use(step("echo one > notes.txt"), validations=[PASSES, check("never", "false")])
    assert waiting["state"] == "waiting"
    done = desk.run("correct", "never", *options, "--json")
    assert (done.code, done.json["state"]) == (0, "complete"), done.said
    waived = {"never": options[1]} if options[0] == "--waive" else {}
    assert done.json["plan"]["waived"] == waived
    if waived:
        assert "waived: not agreed on yet" in desk.run("status").out


def test_rollback_goes_to_a_checkpoint_and_waits_for_execute(desk: Desk) -> None:
    steps = [step(f"echo {word} >> notes.txt") for word in ("one", "two", "three")]
    first = desk.use(*steps, validations=[PASSES])
    back = desk.run("rollback", "--to", "s1", "--json")
    assert (back.code, back.json["state"]) == (0, "queued"), back.said
    assert text_of(back.json) == "one\n"
    assert [s["state"] for s in back.json["plan"]["steps"]] == ["done", "pending", "pending"]
    done = desk.run("execute", first["run_id"], "--json")
    assert text_of(done.json) == "one\ntwo\nthree\n"
    back = desk.run("rollback", "--before", "s1", "--json")
    assert text_of(back.json) is None
    unknown = desk.run("rollback", "--to", "s9")
    assert (unknown.code, "steps: s1, s2, s3" in unknown.err) == (2, True), unknown.said


def test_guidance_to_a_complete_plan_is_one_more_step_for_those_who_read(desk: Desk) -> None:
    agent = desk.project.parent / "agent.sh"
    agent.write_text("#!/bin/sh\ncat > /dev/null\necho said >> notes.txt\n")
    agent.chmod(0o755)
    (desk.project / "runtrue.toml").write_text(f'[fixers.agent]\ncommand = "{agent}"\n')
    first = desk.use(step("echo one > notes.txt"), validations=[PASSES])
    more = desk.run("answer", first["run_id"], "say it as well", "--json")
    assert (more.code, more.json["state"]) == (0, "complete"), more.said
    assert text_of(more.json) == "one\nsaid\n"
    assert [s["description"] for s in more.json["plan"]["steps"]] == ["do it", "say it as well"]


def test_a_plan_that_is_at_work_takes_it_up_before_its_next_step(desk: Desk) -> None:
    fifo = desk.project.parent / "fifo"
    first = desk.use(
        step(f"echo one > notes.txt; cat {fifo} > /dev/null"),
        step("echo wrong >> notes.txt"),
        validations=[PASSES],
        profile="supervised",
    )
    import os
    import subprocess

    os.mkfifo(fifo)
    working = subprocess.Popen(
        desk.machine.argv("plan", "execute", "--json"),
        cwd=desk.project,
        env=desk.machine.env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with fifo.open("w"):  # opens when the step reads it
        noted = desk.run("correct", "s2", "--command", "echo right >> notes.txt")
        assert noted.code == 0, noted.said
        assert "will read this before its next step" in noted.err
    out, err = working.communicate(timeout=60)
    assert working.returncode == 0, err
    assert text_of(json.loads(out)) == "one\nright\n"
    assert first["state"] == "queued"


def test_older_names_of_commands_keep_working_and_say_the_new_one(desk: Desk) -> None:
    desk.use(step("echo one > notes.txt"), validations=[PASSES])
    used = desk.run("use", desk.project.parent / "plan.json", "--json")
    assert used.err.startswith("runtrue: `runtrue plan use` is now `runtrue plan new`\n")
    told = desk.run("prompt", used.json["run_id"], "no", "--json")
    assert "`runtrue plan prompt` is now `runtrue plan answer`\n" in told.err
    assert "no step of plan" in told.err  # it is queued: there is nothing to undo
    listed = desk.run("--help").out
    assert "  new " in listed
    assert "  use " not in listed
