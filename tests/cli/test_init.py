"""`runtrue init`: what was found is written down, and gives the same checks."""

from __future__ import annotations

import json
import tomllib

import jsonschema
import pytest

from runtrue.checks import own_checks
from runtrue.config import load_config
from tests.cli import conftest
from tests.cli.conftest import Machine, MakeProject, content, write
from tests.cli.test_own_way import BY_TOX, PACKAGES

WRITTEN = """\
[checks.pytest]
# tox.ini:5 [testenv]
command = "python -m pytest -q --doctest-modules -m 'not network' tests tax.py"
[checks.pytest.env]
# set by tox.ini:5 [testenv]
SQLITE = "1"
"""
LINT_ONLY = {
    **conftest.LINT_ONLY,
    "pyproject.toml": """
        [tool.ruff.lint]
        select = ["F"]
        [tool.pytest.ini_options]
        testpaths = ["tests"]
    """,
}
ODD = {
    **PACKAGES,
    "pk gs/ö/setup.py": "",
    "pk gs/ö/tox.ini": '[testenv]\nsetenv =\n    A = "q" \\x\ncommands = pytest -k "a or \'b\'"\n',
    "package.json": '{"scripts": {"test": "jest --ci"}}',
}


def test_what_was_found_is_written_with_its_reason(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project(BY_TOX)
    done = machine.runtrue("init", cwd=project)
    assert done.code == 0, done.said
    assert WRITTEN in (project / "runtrue.toml").read_text()
    assert f"wrote {project}/runtrue.toml" in done.out
    again = machine.runtrue("init", cwd=project)
    assert again.code == 2
    assert "exists already; --force replaces it" in again.err


@pytest.mark.parametrize("files", [BY_TOX, LINT_ONLY, ODD])
def test_what_is_written_gives_the_same_checks(
    machine: Machine, make_project: MakeProject, files: dict[str, str]
) -> None:
    project = make_project(files, git=False)
    found = own_checks(project, load_config(project))
    assert machine.runtrue("init", cwd=project).code == 0
    config = load_config(project)
    assert len(config.checks) == len(found) > 0
    assert own_checks(project, config) == found


def test_the_schema_that_the_file_names_is_written_and_accepts_it(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project(BY_TOX)
    assert machine.runtrue("init", "--schema", cwd=project).code == 0
    text = (project / "runtrue.toml").read_text()
    directive, _, name = text.partition("\n")[0].partition(" ")
    assert directive == "#:schema"
    schema = json.loads((project / name).read_text())
    jsonschema.validate(tomllib.loads(text), schema)
    with pytest.raises(jsonschema.ValidationError, match="tests_can_fial"):
        jsonschema.validate({"gate": {"tests_can_fial": True}}, schema)


def test_it_can_only_be_printed(machine: Machine, make_project: MakeProject) -> None:
    project = make_project(BY_TOX)
    before = content(project)
    done = machine.runtrue("init", "--print", project)
    assert (done.code, WRITTEN in done.out) == (0, True)
    assert content(project) == before


def test_a_file_that_is_there_is_replaced_only_by_force(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project({**BY_TOX, "runtrue.toml": "[checks.old]\ncommand = 'true'\n"})
    done = machine.runtrue("init", "--json", project)
    assert (done.code, done.json["status"]) == (2, "failed")
    assert "old" in load_config(project).checks
    done = machine.runtrue("init", "--json", "--force", project)
    assert (done.code, done.json["written"]) == (0, True)
    (check,) = done.json["checks"]
    assert (check["env"], check["because"]) == ({"SQLITE": "1"}, "tox.ini:5 [testenv]")
    assert list(load_config(project).checks) == ["pytest"]


def test_settings_in_pyproject_are_not_replaced_by_chance(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project({**BY_TOX, "pyproject.toml": "[tool.runtrue.policy]\nmax_attempts = 2"})
    done = machine.runtrue("init", project)
    assert done.code == 2
    assert "has [tool.runtrue], which runtrue.toml would override" in done.err


def test_nothing_is_written_where_nothing_was_found(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project({"app.py": ""})
    done = machine.runtrue("init", "--json", project)
    assert (done.code, done.json["checks"], done.json["written"]) == (1, [], False)
    assert "[checks.tests]" in machine.runtrue("init", project).out
    assert not (project / "runtrue.toml").exists()


def test_a_person_can_correct_what_was_written(machine: Machine, make_project: MakeProject) -> None:
    project = make_project(LINT_ONLY)
    assert machine.runtrue("init", cwd=project).code == 0
    text = (project / "runtrue.toml").read_text().replace("ruff check .", "ruff check tests")
    write(project, {"runtrue.toml": text})
    done = machine.runtrue("fix", cwd=project)
    assert done.code == 0, done.said
    assert "-import os" not in done.out
