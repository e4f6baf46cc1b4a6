"""Session files: a run leaves what it learnt where the next one, of any loop, looks for it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtrue.loop import Analysis
from runtrue.memory import (
    DebugSession,
    SessionFailure,
    SessionFix,
    load_sessions,
    without_places,
    write_session,
)
from runtrue.memory.session import DIRECTORY
from runtrue.redaction import Redactor


def session(name: str = "s1", **more: object) -> DebugSession:
    return DebugSession(
        session_id=name,
        run_id="r1",
        project="/home/ada/shop",
        status="passed",
        started_at="2026-01-25T10:00:00Z",
        **more,  # type: ignore[arg-type]
    )


FULL = session(
    ended_at="2026-01-25T10:00:30Z",
    failures=(
        SessionFailure(
            attempt=1,
            fingerprint="f",
            error_type="TypeError",
            cause="type_mismatch",
            message="no",
            test="t.py::test_it",
            file="a.py",
            analysis=Analysis(root_cause="types", confidence=0.5, patterns_matched=("fix-1",)),
        ),
    ),
    fixes=(
        SessionFix(
            attempt=2, fixer="memory", description="fix-1", files=("a.py",), outcome="passed"
        ),
    ),
    learnings=("numbers come as text",),
)


def test_a_session_is_read_as_it_was_written(tmp_path: Path) -> None:
    written = write_session(tmp_path, FULL)
    assert (written.ref, written.trouble) == (".aiwg/ralph/debug-memory/s1.json", None)
    assert load_sessions(tmp_path) == (FULL,)
    document = json.loads((tmp_path / str(written.ref)).read_text())
    assert document["failures"][0]["analysis"]["patterns_matched"] == ["fix-1"]
    files = {path.name for path in (tmp_path / DIRECTORY).iterdir()}
    assert files == {"s1.json", ".gitignore"}


def test_each_iteration_of_a_loop_has_its_file_and_the_next_reads_all_before(
    tmp_path: Path,
) -> None:
    for number in (10, 2, 1, 2):
        written = write_session(tmp_path, session(f"s{number}", loop_id="loop-7", iteration=number))
        assert written.ref == f".aiwg/ralph/debug-memory/loop-7/iteration-{number:03d}.json"
    write_session(tmp_path, session("other", loop_id="loop-8", iteration=1))
    write_session(tmp_path, session("alone"))
    found = load_sessions(tmp_path, "loop-7")
    assert [one.session_id for one in found] == ["s1", "s2", "s10"]
    assert {one.session_id for one in load_sessions(tmp_path)} == {
        "s1",
        "s2",
        "s10",
        "other",
        "alone",
    }
    assert load_sessions(tmp_path, "loop-9") == ()


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"session_id": 1}', "\0\0", json.dumps({"session_id": "x"})]
)
def test_what_is_no_session_is_passed_over(tmp_path: Path, text: str) -> None:
    write_session(tmp_path, FULL)
    (tmp_path / ".aiwg/ralph/debug-memory/garbled.json").write_text(text)
    (tmp_path / ".aiwg/ralph/debug-memory/folder.json").mkdir()
    assert load_sessions(tmp_path) == (FULL,)


@given(st.text(st.characters()), st.text(st.characters()))
def test_any_loop_id_is_a_directory_of_its_own_within_the_project(
    tmp_path_factory: pytest.TempPathFactory, one: str, two: str
) -> None:
    project = tmp_path_factory.mktemp("project")
    refs = [write_session(project, session(loop_id=x, iteration=1)).ref for x in (one, two)]
    assert None not in refs
    for ref in refs:
        path = (project / str(ref)).resolve()
        assert path.is_file()
        assert path.parent.parent == project / ".aiwg/ralph/debug-memory"
    assert (refs[0] == refs[1]) is (one == two)
    assert len(load_sessions(project, one)) == 1


@pytest.mark.parametrize("name", ["../../x", "..", ".", "/etc/x", "a/b", "", "x" * 300])
def test_a_session_id_leads_nowhere_else(tmp_path: Path, name: str) -> None:
    ref = write_session(tmp_path, session(name)).ref
    assert ref is not None
    assert (tmp_path / ref).resolve().parent == tmp_path / ".aiwg/ralph/debug-memory"


def test_a_link_that_leads_out_of_the_project_is_not_followed(tmp_path: Path) -> None:
    project, elsewhere = tmp_path / "project", tmp_path / "elsewhere"
    project.mkdir()
    elsewhere.mkdir()
    (project / ".aiwg").symlink_to(elsewhere)
    written = write_session(project, FULL)
    assert written.ref is None
    assert written.trouble is not None
    assert "outside" in written.trouble
    assert not list(elsewhere.iterdir())


def test_nothing_is_read_from_outside_of_the_project(tmp_path: Path) -> None:
    project, elsewhere = tmp_path / "project", tmp_path / "elsewhere"
    project.mkdir()
    write_session(elsewhere, FULL)
    (project / ".aiwg").symlink_to(elsewhere / ".aiwg")
    assert load_sessions(elsewhere) == (FULL,)
    assert load_sessions(project) == ()


@pytest.mark.parametrize("link", [".aiwg", ".aiwg/ralph", ".aiwg/ralph/debug-memory"])
@pytest.mark.parametrize("target", ["../../not-there", "a-file", "circle"])
def test_a_link_at_any_depth_makes_nothing_elsewhere(
    tmp_path: Path, link: str, target: str
) -> None:
    project = tmp_path / "a" / "project"
    (project / link).parent.mkdir(parents=True)
    (project / link).symlink_to(project / link if target == "circle" else tmp_path / target)
    before = sorted(tmp_path.rglob("*"))
    assert write_session(project, FULL).trouble is not None
    assert sorted(tmp_path.rglob("*")) == before


def test_a_link_within_the_project_is_followed(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / ".aiwg").symlink_to(tmp_path / "notes")
    assert write_session(tmp_path, FULL).trouble is None
    assert load_sessions(tmp_path) == (FULL,)


def test_a_session_that_cannot_be_written_is_told_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / ".aiwg").write_text("a file")
    written = write_session(tmp_path, FULL)
    assert written.ref is None
    assert written.trouble is not None
    assert "cannot be written" in written.trouble


def test_no_secret_is_written(tmp_path: Path) -> None:
    key = "ghp_" + "a1" * 12
    ref = write_session(tmp_path, session(learnings=(f'token = "{key}"',))).ref
    assert key not in (tmp_path / str(ref)).read_text()
    assert load_sessions(tmp_path)[0].learnings == ('token = "[redacted]"',)


def test_no_value_of_the_environment_is_written(tmp_path: Path) -> None:
    full = session(learnings=("it was swordfish",))
    ref = write_session(tmp_path, full, Redactor({"PHRASE": "swordfish"})).ref
    assert "swordfish" not in (tmp_path / str(ref)).read_text()
    assert load_sessions(tmp_path)[0].learnings == ("it was [redacted: PHRASE]",)


def test_directories_of_this_machine_are_called_by_what_they_are() -> None:
    relative = without_places({"/srv/shop": ".", "/home/ada": "~"})
    told = relative("/srv/shop/a.py:3 in /srv/shop, /home/ada/x, /srv/shops/b.py, x/srv/shop/c")
    assert told == "a.py:3 in ., ~/x, /srv/shops/b.py, x/srv/shop/c"


def test_git_does_not_see_sessions_unless_somebody_wants_it(tmp_path: Path) -> None:
    write_session(tmp_path, session())
    ignored = tmp_path / DIRECTORY / ".gitignore"
    assert ignored.read_text().splitlines()[-1] == "*"
    ignored.write_text("")
    write_session(tmp_path, session())
    assert ignored.read_text() == ""
