"""Idioms of the public workflow files of the seeds' origin mean here what their authors meant."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

from runtrue.home import Home
from runtrue.workflow import Registry, WorkflowResult, run_workflow


@pytest.fixture
def run(tmp_path: Path) -> Any:
    registry = Registry(Home(tmp_path / "home"), tmp_path)

    def run(ir: dict[str, Any], **params: Any) -> WorkflowResult:
        result = run_workflow(ir, params, registry=registry)
        assert result.error is None, result.error
        return result

    return run


def shell(name: str, command: str, **more: Any) -> dict[str, Any]:
    batch = {"batch": more.pop("batch")} if "batch" in more else {}
    return {"id": name, "type": "shell", "params": {"command": command, **more}, **batch}


@pytest.mark.parametrize(
    "command",
    [
        'given=\'${tag}\'\nif [ -n "$given" ]; then echo "$given"; else echo none; fi',
        'echo "${tag}"',
        "echo '${tag}' | tr -d '\\n'",
        "echo ${tag}",
        "for t in $(echo '${tag}'); do printf '%s ' $t; done",
        'x=$(printf "%s" "${tag}"); echo "$x"',
    ],
)
def test_authors_quote_references_in_commands_as_they_like(run: Any, command: str) -> None:
    result = run(
        {"inputs": {"tag": {"type": "string"}}, "nodes": [shell("a", command)]}, tag="v1.2"
    )
    assert result.outputs["stdout"].strip() == "v1.2"


def test_paths_go_into_json_that_a_command_printed(run: Any) -> None:
    nodes = [
        shell("latest", """printf '{"tag": {"name": "%s"}}' v3"""),
        shell("use", "echo '${latest.stdout.tag.name}'"),
    ]
    assert run({"nodes": nodes}).outputs["stdout"] == "v3"


def test_objects_with_references_go_to_stdin_as_json(run: Any) -> None:
    nodes = [
        shell("a", "echo one"),
        shell("b", "cat", stdin={"first": "${a.stdout}", "all": ["${a.exit_code}"]}),
    ]
    assert run({"nodes": nodes}).outputs["stdout"] == '{"first":"one","all":[0]}'


def test_batches_take_the_list_that_a_command_printed_and_know_their_index(run: Any) -> None:
    nodes = [
        shell("list", """echo '[{"name": "ann", "score": 85}, {"name": "bob", "score": 92}]'"""),
        shell(
            "each",
            'echo "${user.name} (${__index__}): ${user.score}"',
            batch={"items": "${list.stdout}", "as": "user"},
        ),
        shell(
            "again",
            'echo "${item.label}: ${each.results[${__index__}].stdout}"',
            batch={"items": [{"label": "first"}, {"label": "second"}], "parallel": True},
        ),
    ]
    again = run({"nodes": nodes, "edges": edges("list", "each", "again")}).outputs
    assert [one["stdout"] for one in again["results"]] == [
        "first: ann (0): 85",
        "second: bob (1): 92",
    ]
    assert (again["count"], again["success_count"], again["errors"]) == (2, 2, None)
    assert again["results"][0]["item"] == {"label": "first"}


def test_outputs_may_be_text_with_inputs_in_it(run: Any, tmp_path: Path) -> None:
    ir = {
        "inputs": {"folder": {"type": "string", "required": True, "description": "where"}},
        "nodes": [
            shell("make", 'mkdir -p "${folder}/images" && echo made'),
            {
                "id": "save",
                "type": "write-file",
                "params": {"file_path": "${folder}/a.md", "content": "${make.stdout}"},
            },
        ],
        "edges": edges("make", "save"),
        "outputs": {"path": {"source": "${folder}/a.md", "description": "the file"}},
    }
    folder = tmp_path / "out put"
    assert run(ir, folder=str(folder)).outputs == {"path": f"{folder}/a.md"}
    assert (folder / "a.md").read_text() == "made"
    assert (folder / "images").is_dir()


def test_workflows_within_workflows_are_found_from_their_file(run: Any, tmp_path: Path) -> None:
    (tmp_path / "inner.json").write_text(
        """{"ir_version": "0.1.0", "inputs": {"text": {}, "mode": {"default": "lower"}},
        "nodes": [{"id": "n", "type": "shell", "params": {"command": "echo ${mode} ${text}"}}],
        "outputs": {"normal": {"source": "${n.stdout}"}}}"""
    )
    node = {
        "id": "title",
        "type": "workflow",
        "params": {
            "workflow_ref": "./inner.json",
            "param_mapping": {"text": "${name}", "mode": "title"},
            "output_mapping": {"normal": "processed"},
            "storage_mode": "mapped",
        },
    }
    result = run({"inputs": {"name": {}}, "nodes": [node]}, name="A B")
    assert result.outputs == {"processed": "title A B"}


def test_a_failing_command_takes_its_error_edge_and_its_outputs_are_there(run: Any) -> None:
    ir = {
        "ir_version": "0.1.0",
        "nodes": [
            shell("risky", "echo why >&2; exit 3"),
            shell("handle", "echo ${risky.exit_code}"),
        ],
        "edges": [{"from": "risky", "to": "handle", "action": "error"}],
        "start_node": "risky",
    }
    assert run(ir).outputs["stdout"] == "3"


def edges(*ids: str) -> list[dict[str, str]]:
    return [{"from": a, "to": b} for a, b in itertools.pairwise(ids)]
