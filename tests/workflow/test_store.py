"""Saved workflows are found by name, saved whole or not at all, and never outside their folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from runtrue.errors import HostError, UsageError
from runtrue.home import Home
from runtrue.workflow.store import (
    MAX_NAME,
    BadName,
    SavedTwice,
    UnknownWorkflow,
    WorkflowStore,
    propose_name,
)

WEATHER: dict[str, Any] = {
    "description": "Tells the weather — für alle",
    "inputs": {"city": {"type": "string"}},
    "nodes": [{"id": "b", "params": {"n": 1.0, "none": None}}, {"id": "a"}],
}

GOOD_NAMES = ["a", "7", "weather", "get-weather_2.1", "a.", "confirm", "x" * MAX_NAME]
#: A name that is refused, and what is proposed in its place.
BAD_NAMES = [
    ("", "workflow"),
    ("Weather Report", "weather-report"),
    ("Größe & Maß", "grosse-mass"),
    ("天気", "workflow"),
    ("-x", "x"),
    (".hidden", "hidden"),
    ("a..b", "a.b"),
    ("..", "workflow"),
    ("../x", "x"),
    ("a/b", "a-b"),
    ("/etc/passwd", "etc-passwd"),
    ("..\\x", "x"),
    ("C:x", "c-x"),
    ("a\0b", "a-b"),
    ("a\n", "a"),
    ("con", "my-con"),
    ("nul.v2", "my-nul.v2"),
    ("lpt1", "my-lpt1"),
    ("weather.json", "weather"),
    ("weather.yml.yaml", "weather"),
    ("x" * (MAX_NAME + 1), "x" * 61),
]


@pytest.fixture
def store(tmp_path: Path) -> WorkflowStore:
    return WorkflowStore(Home(tmp_path / "home"))


@pytest.fixture
def folder(store: WorkflowStore) -> Path:
    store.directory.mkdir(parents=True)
    return store.directory


def names(store: WorkflowStore) -> list[str]:
    return [saved.name for saved in store.list()]


@pytest.mark.parametrize("name", GOOD_NAMES)
def test_what_is_saved_is_loaded_as_it_was(store: WorkflowStore, name: str) -> None:
    path = store.save(name, WEATHER)
    assert path == store.directory / f"{name}.json"
    assert path.read_text() == json.dumps(WEATHER, indent=2, ensure_ascii=False) + "\n"
    assert repr(store.load(name).data) == repr(WEATHER)
    assert store.load(name).name == str(path)
    assert store.find(name) == path
    assert names(store) == [name]
    assert [file.name for file in store.directory.iterdir()] == [path.name], "nothing is left over"


@pytest.mark.parametrize(("name", "proposed"), BAD_NAMES)
def test_a_bad_name_is_refused_everywhere_and_a_good_one_proposed(
    store: WorkflowStore, name: str, proposed: str
) -> None:
    assert propose_name(name) == proposed
    for use in (store.load, store.find, store.delete, lambda name: store.save(name, WEATHER)):
        with pytest.raises(BadName, match="cannot be the name of a workflow") as caught:
            use(name)
        assert str(caught.value).endswith(f"; {proposed!r} can")
    assert not store.directory.exists(), "nothing is made for a bad name"


@settings(deadline=None)
@given(st.text() | st.text(alphabet="aconulpt1.-_ ", max_size=90))
@example("x" * 52 + ".json.yml" + "x" * 9)
@example("x" * 56 + ".json" + "x" * 9)
@example("con." + "x" * 70)
@example("com1-" + "." * 80)
def test_every_proposed_name_is_good(text: str) -> None:
    store = WorkflowStore(Home(Path("/nowhere")))
    assert store.find(propose_name(text)) is None


def test_a_good_name_is_proposed_as_it_is() -> None:
    assert [propose_name(name) for name in GOOD_NAMES] == GOOD_NAMES


def test_nothing_is_overwritten_unasked(store: WorkflowStore) -> None:
    path = store.save("weather", WEATHER)
    with pytest.raises(SavedTwice, match=f"already saved as {path}"):
        store.save("weather", {"nodes": []})
    assert store.load("weather").data == WEATHER
    assert store.save("weather", {"nodes": []}, replace=True) == path
    assert store.load("weather").data == {"nodes": []}
    assert store.save("new", WEATHER, replace=True).name == "new.json"


@pytest.mark.parametrize("suffix", [".yaml", ".yml"])
def test_a_file_placed_by_hand_is_found(store: WorkflowStore, folder: Path, suffix: str) -> None:
    placed = folder / f"weather{suffix}"
    placed.write_text("description: by hand\nnodes: []  # none yet\n")
    assert store.find("weather") == placed
    assert store.load("weather").data["description"] == "by hand"
    assert [saved.description for saved in store.list()] == ["by hand"]
    with pytest.raises(SavedTwice, match="already saved"):
        store.save("weather", WEATHER)
    with pytest.raises(SavedTwice, match=f"added by hand as {placed}"):
        store.save("weather", WEATHER, replace=True)
    assert store.delete("weather") == placed
    assert names(store) == []


def test_a_name_in_two_formats_is_an_error_that_says_so(store: WorkflowStore, folder: Path) -> None:
    store.save("weather", WEATHER)
    (folder / "weather.yml").write_text("nodes: []")
    expected = "'weather' exists twice: remove one of weather.json and weather.yml"
    for use in (
        store.load,
        store.find,
        store.delete,
        lambda name: store.save(name, WEATHER, replace=True),
    ):
        with pytest.raises(SavedTwice, match=expected):
            use("weather")
    assert [saved.problem is not None and expected in saved.problem for saved in store.list()] == [
        True,
        True,
    ]


def test_an_unknown_name_is_told_with_what_there_is(store: WorkflowStore) -> None:
    with pytest.raises(UnknownWorkflow, match=r"no workflow 'x': none is saved in "):
        store.load("x")
    assert store.find("x") is None
    for number in range(12):
        store.save(f"w{number:02}", WEATHER)
    store.save("a-weather", WEATHER)
    with pytest.raises(UnknownWorkflow) as caught:
        store.load("a-wether")
    assert str(caught.value) == (
        "no workflow 'a-wether' is saved (did you mean 'a-weather'?); available: a-weather, "
        "w00, w01, w02, w03, w04, w05, w06, w07, w08 and 3 more"
    )
    with pytest.raises(UnknownWorkflow, match="no workflow 'zzzz' is saved; available: a-weather"):
        store.delete("zzzz")


def test_the_list_survives_broken_files(store: WorkflowStore, folder: Path) -> None:
    before = datetime.now(UTC)
    store.save("good", WEATHER)
    store.save("odd", {"description": 7, "inputs": [], "nodes": []})
    (folder / "broken.json").write_text('{"nodes": [}')
    (folder / "list.yaml").write_text("- a\n")
    (folder / "My Flow.json").write_text("{}")
    (folder / "folder.json").mkdir()
    (folder / "nowhere.json").symlink_to("gone.json")
    (folder / "round.json").symlink_to("round.json")
    (folder / "out.json").symlink_to("/etc/hostname")
    (folder / "notes.txt").write_text("not a workflow")
    (folder / ".hidden.json").write_text("{}")
    entries = {saved.name: saved for saved in store.list()}
    assert list(entries) == sorted(entries)
    good = entries.pop("good")
    assert (good.description, good.inputs) == (WEATHER["description"], WEATHER["inputs"])
    assert good.path == folder / "good.json"
    assert abs((good.saved_at - before).total_seconds()) < 60
    assert good.problem is None
    odd = entries.pop("odd")
    assert (odd.description, odd.inputs, odd.problem) == ("", {}, None)
    assert {name: saved.problem or "" for name, saved in entries.items()} == {
        "My Flow": Containing("'my-flow' can"),
        "broken": Containing("broken.json:1:12: is not valid JSON"),
        "folder": Containing("is a directory"),
        "list": Containing("is not a workflow, which is an object"),
        "nowhere": Containing("there is no such file"),
        "out": Containing("leads out of"),
        "round": Containing("round.json: "),
    }


class Containing(str):
    """Equal to every text that contains it."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str) and str(self) in other

    __hash__ = str.__hash__


def test_a_link_that_leads_out_is_refused(
    store: WorkflowStore, folder: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside.json"
    outside.write_text('{"nodes": []}')
    (folder / "out.json").symlink_to(outside)
    (folder / "up.json").symlink_to("../../outside.json")
    for name in ("out", "up"):
        for use in (store.load, store.find, lambda name: store.save(name, {}, replace=True)):
            with pytest.raises(UsageError, match=f"leads out of {folder}, to {outside}"):
                use(name)
        store.delete(name)
    assert outside.read_text() == '{"nodes": []}', "only the links are gone"


def test_a_link_inside_and_a_folder_that_is_a_link_are_fine(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "workflows").symlink_to(tmp_path / "elsewhere")
    store = WorkflowStore(Home(tmp_path / "home"))
    store.save("weather", WEATHER)
    (store.directory / "alias.json").symlink_to("weather.json")
    assert store.load("alias").data == WEATHER
    store.save("alias", {"nodes": []}, replace=True)
    assert store.load("weather").data == WEATHER, "the link was replaced, not what it led to"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], "'w' is not a workflow, which is an object with nodes"),
        ({"nodes": {1, 2}}, "the value at '/nodes' is of the type set"),
        ({1: []}, "it has the key 1, which is not text"),
        ({"a": ["x" * 1_000_000] * 11}, "'w' is too large: more than 10 MB"),
    ],
)
def test_what_could_not_be_loaded_again_is_not_saved(
    store: WorkflowStore, data: Any, message: str
) -> None:
    with pytest.raises(UsageError) as caught:
        store.save("w", data)
    assert message in str(caught.value)
    assert not store.directory.exists()


def test_a_home_that_cannot_be_used_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "workflows").write_text("in the way")
    store = WorkflowStore(Home(tmp_path))
    with pytest.raises(HostError, match=f"cannot save 'w': {tmp_path}/workflows is a file"):
        store.save("w", WEATHER)
    with pytest.raises(HostError, match=f"cannot list {tmp_path}/workflows: Not a directory"):
        store.list()
    below = WorkflowStore(Home(tmp_path / "workflows"))
    with pytest.raises(HostError, match=r"cannot save 'w' in .*: Not a directory"):
        below.save("w", WEATHER)


def test_a_directory_in_the_way_is_one_sentence(store: WorkflowStore, folder: Path) -> None:
    (folder / "w.json").mkdir()
    with pytest.raises(HostError, match=r"cannot save 'w' in .*: Is a directory"):
        store.save("w", WEATHER, replace=True)
    with pytest.raises(HostError, match=r"cannot delete .*w\.json: "):
        store.delete("w")
    assert [file.name for file in folder.iterdir()] == ["w.json"], "nothing is left over"


def test_a_file_system_without_hard_links_will_do(
    store: WorkflowStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    store.save("weather", WEATHER)
    assert store.load("weather").data == WEATHER
    with pytest.raises(SavedTwice):
        store.save("weather", {})


#: Saves its own version again and again as soon as it is told to, then says how often it could.
SAVER = """
import sys
from pathlib import Path
from runtrue.errors import UsageError
from runtrue.home import Home
from runtrue.workflow.store import WorkflowStore
store, who, replace = WorkflowStore(Home(Path(sys.argv[1]))), sys.argv[2], sys.argv[3] == "replace"
data = {"who": who, "nodes": [who * 1000] * 200}
print("ready", flush=True)
sys.stdin.readline()
saved = 0
for n in range(40):
    try:
        store.save("same" if replace else f"w{n}", data, replace=replace)
        saved += 1
    except UsageError:
        assert not replace
print(saved)
"""


def start_savers(store: WorkflowStore, how: str) -> list[subprocess.Popen[str]]:
    savers = [
        subprocess.Popen(
            [sys.executable, "-c", SAVER, store.directory.parent, who, how],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for who in "ab"
    ]
    for saver in savers:
        assert saver.stdout is not None
        assert saver.stdout.readline() == "ready\n"
    for saver in savers:
        assert saver.stdin is not None
        saver.stdin.write("go\n")
        saver.stdin.flush()
    return savers


def finish(saver: subprocess.Popen[str]) -> int:
    told, _ = saver.communicate(timeout=60)
    assert saver.returncode == 0
    return int(told)


def whole(data: dict[str, Any]) -> bool:
    return data["who"] in "ab" and data["nodes"] == [data["who"] * 1000] * 200


def test_processes_that_save_at_once_never_leave_a_torn_file(store: WorkflowStore) -> None:
    store.save("same", {"who": "a", "nodes": ["a" * 1000] * 200})
    savers = start_savers(store, "replace")
    reads = 0
    while any(saver.poll() is None for saver in savers):
        assert whole(store.load("same").data), "a reader sees one version or the other"
        reads += 1
    assert [finish(saver) for saver in savers] == [40, 40]
    assert reads > 0
    assert whole(store.load("same").data)
    assert names(store) == ["same"]


def test_of_processes_that_save_a_new_name_one_wins(store: WorkflowStore) -> None:
    savers = start_savers(store, "new")
    assert sum(finish(saver) for saver in savers) == 40
    assert len(store.list()) == 40
    assert all(whole(store.load(name).data) for name in names(store))
    assert len(list(store.directory.iterdir())) == 40, "nothing is left over"
