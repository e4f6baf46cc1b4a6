"""`check`, `save`, `list`, `show`, `history` and `delete`: workflows at rest."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from tests.cli.conftest import Machine, content, write
from tests.cli.test_bad_input import one_sentence
from tests.cli.test_run import FAILS, GREET, INVALID

WEATHER = {
    "weather.yaml": """
        description: What the weather is like.
        inputs:
          city: {description: Where, type: string}
          days: {type: integer, default: 3}
          note: {required: false, stdin: true}
        nodes:
          - {id: ask, type: shell, purpose: Ask the sky, params: {command: "echo ${city}"}}
          - {id: each, type: shell, batch: {items: [1]}, params: {command: "true"}}
        outputs:
          sky: {description: In a word, source: ask.stdout}
    """
}


@pytest.fixture
def here(tmp_path: Path) -> Path:
    directory = tmp_path / "here"
    directory.mkdir()
    write(directory, WEATHER)
    return directory


@pytest.fixture
def saved(machine: Machine, here: Path) -> Path:
    """The folder of saved workflows, with one in it."""
    folder = machine.home / ".runtrue" / "workflows"
    document = json.dumps(yaml.safe_load((here / "weather.yaml").read_text()))
    write(folder, {"weather.json": document})
    return folder


class TestCheck:
    def test_a_good_workflow_has_no_problems_and_nothing_is_made(
        self, machine: Machine, here: Path
    ) -> None:
        done = machine.runtrue("workflow", "check", "weather.yaml", cwd=here)
        assert (done.code, done.said.splitlines()[0]) == (0, "weather.yaml: no problems")
        assert not (machine.home / ".runtrue").exists()

    def test_each_problem_has_its_place_and_what_was_available(
        self, machine: Machine, here: Path
    ) -> None:
        write(here, INVALID)
        done = machine.runtrue("workflow", "check", "invalid.yaml", cwd=here)
        assert (done.code, done.err) == (1, "")
        lines = done.out.splitlines()
        place = "invalid.yaml:4: /nodes/1/type: there is no node type 'htpp'"
        at = next(n for n, line in enumerate(lines) if line.startswith(place))
        assert lines[at + 1].startswith("    available: http, shell, python")
        assert lines[-1] == "invalid.yaml: 10 problems"

    def test_json_gives_them_as_findings(self, machine: Machine, here: Path) -> None:
        write(here, INVALID)
        done = machine.runtrue("workflow", "check", "invalid.yaml", "--json", cwd=here)
        assert (done.code, done.json["status"], done.json["run_id"]) == (1, "failed", None)
        first = done.json["findings"][0]
        assert (first["location"]["file"], first["location"]["line"]) == ("invalid.yaml", 4)
        assert first["pointer"] == "/nodes/1/type"
        assert "http" in first["available"]
        good = machine.runtrue("workflow", "check", "weather.yaml", "--json", cwd=here)
        assert (good.code, good.json["status"], good.json["findings"]) == (0, "passed", [])

    @pytest.mark.parametrize(
        ("text", "code", "said"),
        [
            ("", 2, "w.yaml: is empty"),
            ("nodes: {", 2, "w.yaml:1:9: is not valid YAML"),
            ("nodes: []\nnodes: []", 2, "w.yaml:2:1: "),
            ("- 1", 1, "w.yaml:1: the workflow: a workflow is an object"),
            ("nodes: []", 1, "w.yaml:1: /nodes: "),
            ("nodes: 5\nedges: x\ninputs: []", 1, "w.yaml: 3 problems"),
            ("nodes: [{id: a, type: [x]}]", 1, "w.yaml:1: /nodes/0/type: is a list and should be"),
            ("&a [*a]", 2, "w.yaml:1:"),
        ],
    )
    def test_whatever_the_file_holds(
        self, text: str, code: int, said: str, machine: Machine, here: Path
    ) -> None:
        (here / "w.yaml").write_text(text)
        done = machine.runtrue("workflow", "check", "w.yaml", cwd=here)
        assert done.code == code
        assert said in done.said


class TestStore:
    def test_a_saved_workflow_is_known_by_its_name_from_everywhere(
        self, machine: Machine, here: Path
    ) -> None:
        before = content(here)
        saved = machine.runtrue("workflow", "save", "weather.yaml", cwd=here)
        assert (saved.code, saved.out) == (
            0,
            "saved as weather; run it with `runtrue run weather`\n",
        )
        done = machine.runtrue("run", "weather", "city=Oslo")
        assert (done.code, done.out) == (0, "Oslo\n")
        assert machine.runtrue("workflow", "check", "weather").out.startswith(
            "weather: no problems\n"
        )
        assert machine.runtrue("workflow", "list").out == "weather  What the weather is like.\n"
        (entry,) = machine.runtrue("workflow", "list", "--json").json["workflows"]
        assert (entry["name"], entry["problem"]) == ("weather", None)
        assert list(entry["inputs"]) == ["city", "days", "note"]
        assert content(here) == before
        assert content(machine.home / ".runtrue" / "workflows").keys() == {"weather.json"}

    def test_a_name_is_taken_once_unless_forced(
        self, machine: Machine, here: Path, saved: Path
    ) -> None:
        before = content(saved)
        write(here, {"weather.yaml": GREET["greet.yaml"]})
        refused = machine.runtrue("workflow", "save", "weather.yaml", cwd=here)
        assert refused.code == 2
        assert "a workflow 'weather' is already saved" in one_sentence(refused)
        assert content(saved) == before
        forced = machine.runtrue("workflow", "save", "weather.yaml", "--force", "--json", cwd=here)
        assert (forced.code, forced.json["path"]) == (0, str(saved / "weather.json"))
        assert "times" in machine.runtrue("workflow", "show", "weather").out
        other = machine.runtrue(
            "workflow", "save", "weather.yaml", "--name", "my.greeting-2", cwd=here
        )
        assert other.out == "saved as my.greeting-2; run it with `runtrue run my.greeting-2`\n"

    def test_what_is_invalid_is_not_saved(self, machine: Machine, here: Path) -> None:
        write(here, INVALID)
        done = machine.runtrue("workflow", "save", "invalid.yaml", "--name", "x", cwd=here)
        assert (done.code, done.out) == (2, "")
        assert "invalid.yaml:4: /nodes/1/type" in done.err
        assert "no workflows in" in machine.runtrue("workflow", "list").out

    def test_deleted_it_is_gone_and_its_runs_are_kept(self, machine: Machine, saved: Path) -> None:
        assert machine.runtrue("run", "weather", "city=Rome").code == 0
        assert machine.runtrue("workflow", "delete", "weather").out == "deleted weather\n"
        assert content(saved) == {}
        again = machine.runtrue("workflow", "delete", "weather")
        assert again.code == 2
        assert "no workflow 'weather': none is saved in" in one_sentence(again)
        assert "passed" in machine.runtrue("history", "weather").out

    @pytest.mark.parametrize(
        "name",
        ["../victim", "..", ".", "", "a/../../victim", "/victim", "victim.json", "Victim", "nul"],
    )
    def test_no_name_leads_out_of_the_store(self, name: str, machine: Machine, saved: Path) -> None:
        victim = saved.parent / "victim.json"
        victim.write_text(json.dumps({"nodes": []}))
        before = content(saved.parent)
        deleted = machine.runtrue("workflow", "delete", "--", name)
        assert deleted.code == 2
        assert "cannot be the name of a workflow" in one_sentence(deleted)
        source = saved / "weather.json"
        kept = machine.runtrue("workflow", "save", source, "--force", "--name", name)
        assert kept.code == 2
        assert "cannot be the name of a workflow" in one_sentence(kept)
        assert content(saved.parent) == before

    def test_a_link_that_leads_out_is_not_followed(
        self, machine: Machine, here: Path, saved: Path
    ) -> None:
        (saved / "away.yaml").symlink_to(here / "weather.yaml")
        for command in (("run",), ("workflow", "show"), ("workflow", "check")):
            done = machine.runtrue(*command, "away")
            assert done.code == 2
            assert "is a link that leads out of" in one_sentence(done)

    def test_what_cannot_be_read_is_listed_with_its_problem_beside_the_others(
        self, machine: Machine, saved: Path
    ) -> None:
        (saved / "broken.json").write_text('{\n"nodes": ')
        (saved / "Bad Name.yaml").write_text("nodes: []")
        (saved / "notes.txt").write_text("not a workflow")
        done = machine.runtrue("workflow", "list")
        assert done.code == 0
        rows = [line.split("  ")[0] for line in done.out.splitlines()]
        assert [row.strip() for row in rows] == ["Bad Name", "broken", "weather"]
        assert "broken.json:2:10: is not valid JSON" in done.out
        by_name = {
            w["name"]: w for w in machine.runtrue("workflow", "list", "--json").json["workflows"]
        }
        assert by_name["weather"]["problem"] is None
        assert by_name["broken"]["problem"]
        assert "is not valid JSON" in one_sentence(machine.runtrue("run", "broken"))


class TestShow:
    def test_what_it_asks_for_does_and_gives(self, machine: Machine, here: Path) -> None:
        done = machine.runtrue("workflow", "show", "weather.yaml", cwd=here)
        assert (done.code, done.err) == (0, "")
        assert done.out.splitlines() == [
            "weather.yaml",
            "  What the weather is like.",
            "inputs",
            "  city (string): Where",
            "  days (integer, default 3)",
            "  note (optional, takes stdin)",
            "nodes",
            "  ask (shell): Ask the sky",
            "  each (shell for each item)",
            "outputs",
            "  sky: In a word",
            "would",
            "  run the command `echo ${city}` (known only during the run) (ask)",
            "  run the command `true` (each)",
        ]
        shown = machine.runtrue("workflow", "show", "weather.yaml", "--json", cwd=here).json
        assert shown["workflow"]["nodes"][0]["purpose"] == "Ask the sky"

    def test_an_invalid_one_is_told_as_everywhere(self, machine: Machine, here: Path) -> None:
        write(here, INVALID)
        done = machine.runtrue("workflow", "show", "invalid.yaml", cwd=here)
        assert (done.code, done.out) == (2, "")
        assert "invalid.yaml:4: /nodes/1/type" in done.err


class TestHistory:
    def test_the_runs_of_a_workflow_newest_first(self, machine: Machine, saved: Path) -> None:
        empty = machine.runtrue("history", "weather")
        assert (empty.code, empty.out) == (0, "weather has not been run yet\n")
        unknown = machine.runtrue("history", "whether")
        assert unknown.code == 2
        assert "did you mean 'weather'?" in unknown.err.splitlines()[-1]
        ids = [
            machine.runtrue("run", "weather", "city=x", "--json").json["run_id"] for _ in range(2)
        ]
        failing = {"fails": FAILS["fails.yaml"]}
        write(saved, {f"{name}.yaml": text for name, text in failing.items()})
        assert machine.runtrue("run", "fails").code == 1
        lines = machine.runtrue("history", "weather").out.splitlines()
        assert [line.split()[:2] for line in lines] == [[run, "passed"] for run in reversed(ids)]
        limited = machine.runtrue("history", "weather", "--limit", "1", "--json").json["runs"]
        assert [run["run_id"] for run in limited] == ids[-1:]
        (failed,) = machine.runtrue("history", "fails", "--json").json["runs"]
        assert failed["state"] == "failed"
        assert "exited with code 3: oops" in failed["error"]


@pytest.mark.parametrize(
    ("words", "proposed"),
    [
        ("run we", ["plain,weather", "plain,weather.yaml"]),
        ("delete wea", ["plain,weather", "plain,weather.yaml"]),
        ("run ../x", ["file,../x"]),
        ("node show read-", ["plain,read-file"]),
    ],
)
def test_names_are_completed(
    words: str, proposed: list[str], machine: Machine, here: Path, saved: Path
) -> None:
    env = {
        "_RUNTRUE_COMPLETE": "bash_complete",
        "COMP_WORDS": f"runtrue {words}",
        "COMP_CWORD": str(len(words.split())),
    }
    done = machine.runtrue(cwd=here, env=env)
    assert (done.code, done.out.split()) == (0, proposed)
