"""`runtrue do` with default settings and no model, in a subprocess, against a real HTTP API."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import Machine
from tests.cli.test_bad_input import one_sentence
from tests.cli.test_resume import wait_until_nothing_runs
from tests.cli.test_terminal import Terminal
from tests.planner.api import TORVALDS, Api, Asked, Reply, api_fixture
from tests.planner.support import use_time_server

__all__ = ["api_fixture"]

USER = "GET /users/torvalds"


@pytest.fixture
def task(api: Api) -> str:
    """The example of the seed."""
    url = api.on(USER, TORVALDS)
    return f"fetch {url} and extract username and biography"


# -- the loop, end to end -----------------------------------------------------------------------


def test_a_wrong_guess_is_mended_saved_and_run_again_deterministically(
    machine: Machine, api: Api, task: str
) -> None:
    done = machine.runtrue("do", task, "--save", "fetch-user", "--json")
    assert done.code == 0, done.said
    report = done.json
    assert report["status"] == "passed"
    assert report["result"] == {"username": "torvalds", "biography": "I wrote a kernel, once."}
    assert report["saved"] == "fetch-user"
    assert report["findings"] == []
    first, second = report["attempts"]
    assert (first["passed"], second["passed"]) == (False, True)
    assert first["findings"][0]["attempted"] == ["$.username", "$.biography"]
    assert [change["after"] for change in second["changes"]] == ["$.login", "$.bio"]
    assert second["fix"]["fixer"] == "fields"
    assert api.count(USER) == 1, "only the extraction was wrong: the answer is read again"

    again = machine.runtrue("run", "fetch-user", "--json")
    assert again.json["result"] == report["result"]
    assert api.count(USER) == 2
    api.on("GET /users/gvanrossum", {**TORVALDS, "login": "gvanrossum", "bio": None})
    other = machine.runtrue("run", "fetch-user", "user=gvanrossum", "--json")
    assert other.json["result"] == {"username": "gvanrossum", "biography": None}


def test_a_saved_workflow_is_never_mended(machine: Machine, api: Api, task: str) -> None:
    machine.runtrue("do", task, "--save", "fetch-user")
    api.on(USER, {"user_name": "torvalds"})
    failed = machine.runtrue("run", "fetch-user")
    assert failed.code == 1
    assert "$.login" in failed.err


def test_what_was_learned_is_used_before_the_first_guess(
    machine: Machine, api: Api, task: str
) -> None:
    machine.runtrue("do", task)
    api.on("GET /users/gvanrossum", {**TORVALDS, "login": "gvanrossum"})
    other = task.replace("torvalds", "gvanrossum")
    report = machine.runtrue("do", other, "--json").json
    assert report["status"] == "passed"
    assert len(report["attempts"]) == 1
    assert report["result"]["username"] == "gvanrossum"


def test_a_task_that_a_saved_workflow_does_is_done_by_it(
    machine: Machine, api: Api, task: str
) -> None:
    machine.runtrue("do", task, "--save", "fetch-user")
    report = machine.runtrue("do", "run fetch-user with user=torvalds", "--json").json
    assert report["status"] == "passed"
    assert (report["found"], report["name"]) == (True, "fetch-user")
    assert report["result"]["username"] == "torvalds"


def test_a_bare_sentence_is_a_task(machine: Machine, api: Api, task: str) -> None:
    done = machine.runtrue(task, "--json")
    assert done.code == 0, done.said
    assert done.json["kind"] == "do"


def test_the_result_goes_to_stdout_and_the_story_to_stderr(
    machine: Machine, api: Api, task: str
) -> None:
    done = machine.runtrue("do", task)
    assert json.loads(done.out) == {"username": "torvalds", "biography": TORVALDS["bio"]}
    story = done.err
    parts = [
        "planned:",
        "running (1 of",
        "$.username",
        "$.login",
        "running again",
        "passed",
        "keep it:",
    ]
    places = [story.find(part) for part in parts]
    assert places == sorted(places), story
    assert -1 not in places, story


def test_what_happened_can_be_looked_at_later(machine: Machine, api: Api, task: str) -> None:
    machine.runtrue("do", task)
    passed = machine.runtrue("runs", "show")
    assert passed.code == 0
    assert "changed by fields: fetch: extract.username  $.username → $.login" in passed.out
    assert '"username": "torvalds"' in passed.out
    machine.runtrue("do", task.replace("biography", "shoe size"))
    failed = machine.runtrue("runs", "show")
    assert failed.code == 0
    assert "$.shoe_size" in failed.said
    assert machine.runtrue("runs", "show", "--json").json["status"] == "waiting"


def test_what_was_made_can_be_saved_afterwards(machine: Machine, api: Api, task: str) -> None:
    machine.runtrue("do", task)
    run_id = machine.runtrue("runs", "list", "--json").json["runs"][0]["run_id"]
    saved = machine.runtrue("save", "--run", run_id, "--name", "later")
    assert saved.code == 0, saved.said
    assert machine.runtrue("run", "later", "--json").json["result"]["username"] == "torvalds"


@pytest.mark.parametrize(("answer", "saved"), [("\n", True), ("y\n", True), ("n\n", False)])
def test_on_a_terminal_saving_is_offered_with_yes_for_a_default(
    machine: Machine, api: Api, task: str, answer: str, saved: bool
) -> None:
    terminal = Terminal(machine, "do", task, cwd=machine.home)
    terminal.read_until("[Y/n]")
    terminal.type(answer)
    assert terminal.end() == 0
    workflows = machine.runtrue("list", "--json").json["workflows"]
    assert bool(workflows) is saved
    assert ("run it again: runtrue run" in terminal.screen) is saved
    assert ("keep it: runtrue save" in terminal.screen) is not saved


# -- no double firing ---------------------------------------------------------------------------


def test_a_post_is_sent_once_although_the_rest_is_planned_from_its_answer(
    machine: Machine, api: Api
) -> None:
    url = api.on("POST /orders", {"order": {"id": 7, "state": "open"}, "login": "ada"})
    task = f'post {{"item": "book"}} to {url} and extract username and status'
    report = machine.runtrue("do", task, "--json").json
    assert report["status"] == "passed", report
    assert report["result"] == {"username": "ada", "status": "open"}
    assert api.count("POST /orders") == 1
    assert api.asked[0].body == {"item": "book"}


def test_after_a_kill_nothing_is_sent_twice(machine: Machine, api: Api, tmp_path: Path) -> None:
    url = api.on("POST /orders", {"number": 7})
    fifo = tmp_path / "running"
    os.mkfifo(fifo)
    hold = f"if mkdir {tmp_path}/first 2>/dev/null; then echo $$ > {fifo}; sleep 1000; fi; echo ok"
    task = f'post {{"item": "book"}} to {url} and extract number, then run `{hold}`'
    program = subprocess.Popen(
        machine.argv("do", task, "--save", "order"),
        cwd=machine.home,
        env=machine.env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    assert fifo.read_text()
    os.kill(program.pid, signal.SIGKILL)
    program.wait()
    wait_until_nothing_runs(machine)
    refused = machine.runtrue("runs", "resume")
    assert refused.code == 1
    assert "--force" in one_sentence(refused)
    done = machine.runtrue("runs", "resume", "--force", "--json")
    assert done.json["status"] == "passed", done.said
    assert api.count("POST /orders") == 1
    assert done.json["saved"] == "order", "what was asked for is done by whoever ends the run"


def test_what_was_sent_before_a_failure_is_told(machine: Machine, api: Api) -> None:
    url = api.on("POST /orders", {"number": 7})
    done = machine.runtrue("do", f"post item=book to {url} and extract shoe size")
    assert done.code == 3
    assert "already done: post; is not done again" in done.err


# -- other targets ------------------------------------------------------------------------------


def test_a_tool_is_found_by_its_words_and_its_argument_is_made_out(machine: Machine) -> None:
    use_time_server(machine.home / ".runtrue")
    report = machine.runtrue("do", "ask the time server for the time in Tokyo", "--json").json
    assert report["status"] == "passed", report
    assert "Asia/Tokyo" in json.dumps(report["result"])


def test_the_output_of_a_command_is_saved(machine: Machine) -> None:
    done = machine.runtrue("do", "run `echo hello` and save the output to hello.txt")
    assert done.code == 0, done.said
    assert (machine.home / "hello.txt").read_text().strip() == "hello"


def test_fields_are_saved_as_json(machine: Machine, api: Api, task: str) -> None:
    done = machine.runtrue("do", f"{task}, save as out.json")
    assert done.code == 0, done.said
    saved = json.loads((machine.home / "out.json").read_text())
    assert saved == {"username": "torvalds", "biography": TORVALDS["bio"]}


# -- what cannot be done ------------------------------------------------------------------------


def test_what_needs_a_model_is_told_with_how_to_set_one(machine: Machine) -> None:
    done = machine.runtrue("do", "summarise the news of today")
    assert done.code == 1
    assert "RUNTRUE_MODEL" in done.err


def test_what_is_missing_is_told_and_not_invented(machine: Machine, api: Api) -> None:
    done = machine.runtrue("do", f"fetch {api.url('/users/')}{{user}} and extract login", "--json")
    assert done.code == 1
    assert [missing["name"] for missing in done.json["missing"]] == ["user"]
    assert api.asked == []


def test_what_is_not_in_the_answer_is_told_with_candidates_and_not_chosen(
    machine: Machine, api: Api
) -> None:
    url = api.on(USER, TORVALDS)
    done = machine.runtrue("do", f"fetch {url} and extract shoe size")
    assert done.code == 3
    assert "shoe_size" in done.err
    report = machine.runtrue("do", f"fetch {url} and extract shoe size", "--json").json
    assert report["status"] == "waiting"
    (doubt,) = report["candidates"]
    assert doubt["attempted"] == "$.shoe_size"


def test_credentials_that_are_refused_are_told_and_not_retried(machine: Machine, api: Api) -> None:
    url = api.on("GET /private", {"message": "Requires authentication"}, status=401)
    done = machine.runtrue("do", f"fetch {url} and extract name", "--json")
    assert done.code == 1
    assert [finding["fault"] for finding in done.json["findings"]] == ["credentials"]
    assert api.count("GET /private") == 1


def test_a_variable_that_is_not_set_is_noted(machine: Machine, api: Api) -> None:
    url = api.on(USER, TORVALDS)
    task = f"fetch {url} with token from $NO_SUCH_TOKEN and extract login"
    report = machine.runtrue("do", task, "--json").json
    assert report["notes"] == ["the environment variable NO_SUCH_TOKEN is not set"]
    assert [finding["fault"] for finding in report["findings"]] == ["credentials"]
    assert "note: the environment variable" in machine.runtrue("do", task).err
    assert api.asked == []


def test_fixes_end_after_three_and_what_remains_is_told(machine: Machine, api: Api) -> None:
    """An API whose field is called otherwise each time it is asked can never be satisfied."""
    names = iter(["user_name", "userName", "login_name", "username2", "usr"])

    def moving(asked: Asked) -> Reply:
        return Reply({next(names): "ada", "n": len(api.asked)})

    url = api.on(USER, moving)
    done = machine.runtrue("do", f"fetch {url} and extract username", "--json")
    report = done.json
    assert report["runtime_attempts"] <= 3
    assert len(report["attempts"]) <= 4


def test_a_name_that_is_taken_is_refused_before_anything_is_run(
    machine: Machine, api: Api, task: str
) -> None:
    machine.runtrue("do", task, "--save", "mine")
    asked = len(api.asked)
    done = machine.runtrue("do", task, "--save", "mine")
    assert done.code == 2
    assert "--force" in one_sentence(done)
    assert len(api.asked) == asked
    assert machine.runtrue("do", task, "--save", "mine", "--force").code == 0


def test_a_result_is_not_lost_because_saving_fails(machine: Machine, api: Api, task: str) -> None:
    home = machine.home / ".runtrue"
    home.mkdir()
    (home / "workflows").symlink_to(machine.home / "unplugged" / "disk")
    done = machine.runtrue("do", task, "--save", "mine", "--json")
    assert done.code == 1
    assert done.json["status"] == "passed"
    assert done.json["result"]["username"] == "torvalds"
    assert (done.json["saved"], "cannot save" in done.json["save_error"]) == (None, True)
    plain = machine.runtrue("do", task, "--save", "mine")
    assert json.loads(plain.out)["username"] == "torvalds"
    assert "keep it: runtrue save --run" in plain.err


def test_what_servers_say_cannot_command_the_terminal(machine: Machine, api: Api) -> None:
    url = api.on(USER, {"note": "\x1b[2J\x1b]0;owned\x07"})
    terminal = Terminal(machine, "do", f"fetch {url} and extract note", cwd=machine.home)
    terminal.read_until("[Y/n]")
    terminal.type("n\n")
    terminal.end()
    assert "\x1b[2J" not in terminal.screen
    assert "\\x1b[2J" in terminal.screen


def test_secrets_of_a_task_are_not_saved_and_not_shown(machine: Machine, api: Api) -> None:
    url = api.on(USER, TORVALDS)
    task = f"fetch {url}?api_key=hunter22 and extract login"
    done = machine.runtrue("do", task, "--save", "mine")
    assert done.code == 0, done.said
    assert "api_key=…" in done.err
    assert "hunter22" not in done.err.partition("planned:")[2]
    saved = (machine.home / ".runtrue" / "workflows" / "mine.json").read_text()
    assert "hunter22" not in saved


@pytest.mark.parametrize("task", ["", "   "])
def test_no_task_is_one_clear_sentence(machine: Machine, task: str) -> None:
    done = machine.runtrue("do", task)
    assert done.code == 2
    assert "say what is to be done" in one_sentence(done)
