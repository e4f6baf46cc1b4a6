"""Home is where $RUNTRUE_HOME says, else in the project, else in the user's home."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtrue.errors import HostError
from runtrue.home import Home


@pytest.fixture(autouse=True)
def users_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("RUNTRUE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "users"))
    (tmp_path / "users").mkdir()
    return tmp_path / "users"


@pytest.fixture
def project(users_home: Path) -> Path:
    project = users_home / "work" / "project"
    project.mkdir(parents=True)
    return project


def test_it_is_in_the_users_home_by_default(users_home: Path, project: Path) -> None:
    home = Home.find(project)
    assert home.path == users_home / ".runtrue"
    assert not home.path.exists(), "nothing is made before it is needed"


def test_a_projects_own_comes_before_that(project: Path) -> None:
    (project / ".runtrue").mkdir()
    assert Home.find(project).path == project / ".runtrue"


def test_the_nearest_above_the_project_counts(project: Path) -> None:
    (project.parent / ".runtrue").mkdir()
    (project / "deep" / "er").mkdir(parents=True)
    assert Home.find(project / "deep" / "er").path == project.parent / ".runtrue"
    (project / ".runtrue").mkdir()
    assert Home.find(project / "deep" / "er").path == project / ".runtrue"


def test_the_users_own_is_not_taken_for_a_projects(users_home: Path, project: Path) -> None:
    (users_home / ".runtrue").mkdir()
    (users_home.parent / ".runtrue").mkdir()
    assert Home.find(users_home.parent / "elsewhere").path == users_home.parent / ".runtrue"
    assert Home.find(Path("/")).path == users_home / ".runtrue"


def test_a_file_of_that_name_is_none(users_home: Path, project: Path) -> None:
    (project / ".runtrue").touch()
    assert Home.find(project).path == users_home / ".runtrue"


def test_the_variable_comes_before_all(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / ".runtrue").mkdir()
    monkeypatch.setenv("RUNTRUE_HOME", str(tmp_path / "named"))
    assert Home.find(project).path == tmp_path / "named"


def test_the_variable_may_begin_with_a_tilde(
    users_home: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RUNTRUE_HOME", "~/named")
    assert Home.find(project).path == users_home / "named"


def test_the_variable_may_be_relative(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RUNTRUE_HOME", "named")
    assert Home.find(project).path == tmp_path / "named"


def test_an_empty_variable_is_none(
    users_home: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RUNTRUE_HOME", "")
    assert Home.find(project).path == users_home / ".runtrue"


def test_a_tilde_that_names_nobody_is_one_sentence(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RUNTRUE_HOME", "~there-is-no-such-user/x")
    with pytest.raises(HostError, match="RUNTRUE_HOME"):
        Home.find(project)


def test_what_is_kept_in_it(tmp_path: Path) -> None:
    home = Home(tmp_path)
    assert home.journal == tmp_path / "journal.db"
    assert home.sandbox("run-1") == tmp_path / "sandboxes" / "run-1"
    assert home.patch("run-1") == tmp_path / "patches" / "run-1.patch"
