"""`runtrue config`: what applies, and the schemas of files that people write."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import jsonschema
import pytest
import yaml

from runtrue.cli.file_schemas import FILE_SCHEMAS
from tests.cli.conftest import Machine, MakeProject
from tests.docs.pages import Block, all_blocks


@pytest.fixture(scope="module")
def schemas() -> dict[str, dict[str, Any]]:
    from runtrue.cli.file_schemas import file_schema

    return {name: file_schema(name) for name in FILE_SCHEMAS}


@pytest.mark.parametrize("name", FILE_SCHEMAS)
def test_a_schema_is_printed_and_valid(name: str, machine: Machine) -> None:
    schema = json.loads(machine.runtrue("config", "schema", name).out)
    jsonschema.Draft202012Validator.check_schema(schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"nonsense": 1}, schema)


def _name(block: Block) -> str:
    if block.language == "toml":
        return "user" if block.text.startswith("[database]") else "runtrue.toml"
    return "plan" if "instruction:" in block.text else "workflow"


@pytest.mark.parametrize("block", [*all_blocks("toml"), *all_blocks("yaml")], ids=str)
def test_schemas_accept_every_example_of_the_docs(
    block: Block, schemas: dict[str, dict[str, Any]]
) -> None:
    if block.language == "toml":
        data = tomllib.loads(block.text)
        data = data.get("tool", {}).get("runtrue", data)
    else:
        data = yaml.safe_load(block.text)
    jsonschema.validate(data, schemas[_name(block)])


def test_show_names_the_file_and_the_settings(machine: Machine, make_project: MakeProject) -> None:
    toml = '[checks.tests]\ncommand = "pytest -q"\n'
    project = make_project({"runtrue.toml": toml, "below/a.py": ""})
    done = machine.runtrue("config", "show", cwd=project / "below")
    assert done.code == 0
    assert done.out.startswith(f"# {project / 'runtrue.toml'}\n")
    assert "policy.max_attempts = 3" in done.out
    document = machine.runtrue("config", "show", "--json", cwd=project).json
    assert document["file"] == str(project / "runtrue.toml")
    assert document["config"]["checks"]["tests"]["command"] == "pytest -q"
