"""A package outside of this one, written from docs/plugins.md, is installed and works."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Machine, MakeProject

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "plugin"
CONFIG = """
[checks.links]
command = "checklinks docs"

[fixers]
order = ["memory", "tool", "links", "search"]
"""
FILES = {
    "docs/index.md": "# Shop\n\nSee [the prices](prices.md).\n",
    "docs/guide/prices.md": "# Prices\n",
    "runtrue.toml": CONFIG,
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the example is installed."""
    target = tmp_path_factory.mktemp("site")
    options = ("--no-deps", "--no-build-isolation", "--no-index", "--quiet", "--target", target)
    subprocess.run([sys.executable, "-m", "pip", "install", *options, EXAMPLE], check=True)
    return target


@pytest.fixture
def with_plugin(machine: Machine, site: Path) -> Machine:
    machine.env["PYTHONPATH"] = str(site)
    machine.env["PATH"] = f"{site / 'bin'}:{machine.env['PATH']}"
    return machine


def test_its_reader_and_fixer_repair_what_its_check_finds(
    with_plugin: Machine, make_project: MakeProject
) -> None:
    project = make_project(FILES)
    done = with_plugin.runtrue("fix", "--check", "links", "--json", cwd=project, fork=False)
    assert (done.code, done.json["status"]) == (0, "passed"), done.said
    first = done.json["attempts"][0]
    (finding,) = first["findings"]
    assert (finding["category"], finding["location"]["line"]) == ("dead_link", 3)
    assert "+See [the prices](guide/prices.md)." in done.json["diff"]


def test_its_node_runs_in_a_workflow(with_plugin: Machine, tmp_path: Path) -> None:
    shown = with_plugin.runtrue("node", "show", "slug", fork=False)
    assert "Make a name for a URL out of a text." in shown.out
    workflow = tmp_path / "name.yaml"
    workflow.write_text("nodes: [{id: a, type: slug, params: {text: Hello World}}]\n")
    done = with_plugin.runtrue("run", workflow, "--json", fork=False)
    assert done.json["result"]["slug"] == "hello-world"


def test_without_it_the_fixer_is_refused_with_what_there_is(
    machine: Machine, make_project: MakeProject
) -> None:
    done = machine.runtrue("fix", cwd=make_project(FILES))
    assert done.code == 2
    assert "there is no fixer 'links'" in done.err
    assert "memory, tool, search" in done.err


@pytest.mark.parametrize("name", ["reader.py", "fixer.py", "node.py", "pyproject.toml"])
def test_the_page_shows_the_package_as_it_is(name: str) -> None:
    (file,) = EXAMPLE.rglob(name)
    assert file.read_text().strip() in (ROOT / "docs" / "plugins.md").read_text()
