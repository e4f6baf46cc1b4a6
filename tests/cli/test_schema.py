"""Reports: what `--json` prints fits the published schemas, and those know every key of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from runtrue.cli.schema import report_schemas
from tests.cli.conftest import MENDS_TAX, WITH_BUG, Machine, MakeProject, write
from tests.cli.plans import HAS_TWO, NEEDS_A_FIX, Plans

SCHEMAS = report_schemas()
WORKFLOW = """
    name: greet
    nodes:
      - {id: a, type: shell, params: {command: "echo hi"}}
      - {id: b, type: shell, params: {command: "exit 4"}}
    edges: [{from: a, to: b}]
"""


def _problems(report: dict[str, Any], name: str) -> list[str]:
    schema = SCHEMAS[name]
    strict = {
        key: {**one, "additionalProperties": False} if "properties" in one else one
        for key, one in schema["$defs"].items()
    }
    validator = Draft202012Validator({**schema, "$defs": strict})
    return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(report)]


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
def test_a_schema_is_one(schema: dict[str, Any]) -> None:
    Draft202012Validator.check_schema(schema)


def _of_code(machine: Machine, make_project: MakeProject) -> Iterator[dict[str, Any]]:
    project = make_project(WITH_BUG)
    yield machine.runtrue("fix", "--json", "--max-attempts", "1", cwd=project).json
    yield machine.runtrue("fix", "--json", "--agent", MENDS_TAX, cwd=project).json
    yield machine.runtrue("runs", "show", "--json", cwd=project).json
    task = ("the rate is 19 %", "--path", "tax.py", "--type", "bug_fix")
    yield machine.runtrue("code", *task, "--json", "--agent", MENDS_TAX, cwd=project).json
    write(project, {"shop.py": "def total(prices):\n    return 0\n"})
    yield machine.runtrue("gate", "--json", cwd=project).json


def _of_tasks(machine: Machine, make_project: MakeProject) -> Iterator[dict[str, Any]]:
    yield machine.runtrue("do", "run `echo hello`", "--save", "hello", "--json").json
    yield machine.runtrue("do", "run `exit 3`", "--json").json
    yield machine.runtrue("runs", "show", "--json").json


def _of_workflows(machine: Machine, make_project: MakeProject) -> Iterator[dict[str, Any]]:
    write(machine.home, {"greet.yaml": WORKFLOW})
    yield machine.runtrue("run", "greet.yaml", "--json").json
    yield machine.runtrue("runs", "show", "--json").json


def _of_plans(machine: Machine, make_project: MakeProject) -> Iterator[dict[str, Any]]:
    plans = Plans.at(machine, make_project)
    command = plans.script(NEEDS_A_FIX)
    yield plans.use(plans.file(command, HAS_TWO), "--agent", command).json
    for name in ("execute", "status", "explain", "apply", "status"):
        yield plans.run(name, "--json").json


@pytest.mark.parametrize(
    ("name", "reports"),
    [
        ("CodeReport", _of_code),
        ("TaskReport", _of_tasks),
        ("WorkflowReport", _of_workflows),
        ("PlanReport", _of_plans),
    ],
)
def test_what_is_printed_fits_the_schema(
    machine: Machine, make_project: MakeProject, name: str, reports: Any
) -> None:
    for report in reports(machine, make_project):
        assert report["run_id"], report
        assert _problems(report, name) == []
