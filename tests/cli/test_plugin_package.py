"""A package outside of this one, written from docs/plugins.md, is installed and works."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Machine, MakeProject

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "plugin"
SURROUNDINGS = ROOT / "examples" / "plugin-surroundings"
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
    """Where the examples are installed."""
    target = tmp_path_factory.mktemp("site")
    options = ("--no-deps", "--no-build-isolation", "--no-index", "--quiet", "--target", target)
    packages = (EXAMPLE, SURROUNDINGS)
    subprocess.run([sys.executable, "-m", "pip", "install", *options, *packages], check=True)
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


def test_its_gate_holds_back_a_change_that_is_too_large(
    with_plugin: Machine, make_project: MakeProject
) -> None:
    project = make_project(
        {
            "runtrue.toml": """
                [checks.tests]
                command = "python -m pytest -q"
                [gate]
                plugins = ["size"]
                tests_can_fail = "off"
            """,
            "shop.py": "PRICES = []\n",
            "test_shop.py": "import shop\n\n\ndef test_prices():\n    assert not shop.PRICES\n",
        }
    )
    many = "".join(f"PRICES.append({n})\n" for n in range(300))
    (project / "shop.py").write_text(f"PRICES = []\n{many}")
    test = "import shop\n\n\ndef test_prices():\n    assert len(shop.PRICES) == 300\n"
    (project / "test_shop.py").write_text(test)
    done = with_plugin.runtrue("gate", "--json", cwd=project, fork=False)
    assert done.code == 2, done.said
    assert "too_large" in {one["category"] for one in done.json["findings"]}


def test_its_channel_gets_what_a_run_could_not_do(
    with_plugin: Machine, make_project: MakeProject, tmp_path: Path
) -> None:
    project = make_project(
        {
            "runtrue.toml": """
                [checks.never]
                command = "false"
                [fixers]
                order = ["tool"]
                [policy]
                max_attempts = 1
                [[escalation.triggers]]
                condition = "max_attempts_reached"
                action = "abort_with_report"
                [escalation.notification]
                channel = "logbook"
            """
        }
    )
    logbook = tmp_path / "logbook.txt"
    environment = {"LOGBOOK": str(logbook)}
    # Only where the plugin is installed can its channel be agreed to.
    assert with_plugin.runtrue("trust", "--yes", cwd=project, fork=False).code == 0
    done = with_plugin.runtrue("fix", "--json", cwd=project, env=environment, fork=False)
    assert done.json["run_id"] in logbook.read_text(), done.said


def test_its_store_has_the_secret_and_its_model_is_asked(
    with_plugin: Machine, make_project: MakeProject, tmp_path: Path
) -> None:
    kept = tmp_path / "secrets"
    kept.mkdir()
    (kept / "API_TOKEN").write_text("abc-123-secret\n")
    project = make_project({"runtrue.toml": '[secrets]\nstores = ["directory"]\n'})
    environment = {"SECRETS_DIRECTORY": str(kept)}
    done = with_plugin.runtrue("secret", "list", cwd=project, env=environment, fork=False)
    assert "API_TOKEN" in done.out
    assert "directory" in done.out
    assert "abc-123" not in done.said
    program = tmp_path / "answers"
    edits = '{"edits": [{"path": "hello.txt", "old": "bad", "new": "good"}]}'
    program.write_text(f"#!/bin/sh\ncat >/dev/null\necho '{edits}'\n")
    program.chmod(0o755)
    files = {"hello.txt": "bad\n", "runtrue.toml": "checks.a.command = 'grep good hello.txt'\n"}
    broken = make_project(files, name="broken")
    asking = {"RUNTRUE_MODEL": f"script:{program}"}
    done = with_plugin.runtrue("fix", "--json", cwd=broken, env=asking, fork=False)
    assert done.json["status"] == "passed", done.said


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ('[gate]\nplugins = ["siz"]', "there is no gate 'siz' (did you mean 'size'?)"),
        ('[secrets]\nstores = ["vault"]', "there is no store 'vault'"),
        ('[escalation.notification]\nchannel = "pager"', "there is no channel 'pager'"),
    ],
)
def test_a_name_that_no_plugin_has_is_refused_with_what_there_is(
    with_plugin: Machine, make_project: MakeProject, table: str, said: str
) -> None:
    project = make_project({"runtrue.toml": table + "\n"})
    done = with_plugin.runtrue("config", "show", cwd=project, fork=False)
    assert done.code == 2
    assert said in done.err


@pytest.mark.parametrize(
    "file",
    [
        file.relative_to(EXAMPLE.parent).as_posix()
        for package in (EXAMPLE, SURROUNDINGS)
        for file in (package / "pyproject.toml", *sorted(package.rglob("*.py")))
        if file.stem not in ("__init__", "check_links")
    ],
)
def test_the_page_shows_the_packages_as_they_are(file: str) -> None:
    shown = (ROOT / "docs" / "plugins.md").read_text()
    assert (EXAMPLE.parent / file).read_text().strip() in shown
