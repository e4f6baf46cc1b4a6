"""What stands on the pages: links lead somewhere, code runs, configuration is accepted."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from runtrue.config import allowed_addresses, find_config, users_database
from runtrue.home import Home
from runtrue.plan.plan_file import load_plan_file
from runtrue.workflow import Registry, load_workflow, validate_workflow

from .generate import SESSION_PARTS, Part, replayed
from .pages import DOCS, README, ROOT, Block, all_blocks, pages
from .sessions import normalised

_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_FENCED = re.compile(r"^(`{3,}).*?^\1", re.M | re.S)


def _prose(page: Path) -> str:
    return _FENCED.sub("", page.read_text())


def _anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ +(.+)$", _prose(page), re.M)
    plain = (re.sub(r"[^\w\s-]", "", heading).strip().lower() for heading in headings)
    return {re.sub(r"[\s-]+", "-", heading) for heading in plain}


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for link in _LINK.findall(_prose(page)):
        if link.startswith("https://"):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target.is_file(), link
        if anchor:
            assert anchor in _anchors(target), link
        if page != README:
            assert target.is_relative_to(DOCS), f"{link} leads out of the site"


def test_every_decision_is_in_the_index() -> None:
    index = (DOCS / "decisions" / "index.md").read_text()
    listed = [int(number) for number in re.findall(r"^\| \[(\d+)\]", index, re.M)]
    assert listed == sorted(listed)
    for page in (DOCS / "decisions").glob("[0-9]*.md"):
        number, title = re.findall(r"^# (\d+)\. (.+)$", page.read_text(), re.M)[0]
        assert f"| [{number}]({page.name}) | {title} |" in index
        assert int(number) == int(page.name[:4])
        sections = re.findall(r"^## (.+)$", page.read_text(), re.M)
        assert sections == ["Context", "Decision", "Consequences"]


@pytest.mark.parametrize("block", all_blocks("python"), ids=str)
def test_python_runs(block: Block, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", block.text],
        cwd=tmp_path,
        env={**os.environ, "RUNTRUE_HOME": str(tmp_path / "home")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    if promised := re.match(r"\s*It prints:\s*```text\n(.*?)```", block.after, re.S):
        assert done.stdout == promised[1]


class _AnyName(dict[str, object]):
    def __contains__(self, name: object) -> bool:
        return True


@pytest.mark.parametrize("block", all_blocks("toml"), ids=str)
def test_configuration_is_accepted(
    block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if block.text.startswith(("[workflows]", "[database]")):
        # A user's own, which no project may have.
        monkeypatch.setenv("RUNTRUE_HOME", str(tmp_path))
        (tmp_path / "runtrue.toml").write_text(block.text)
        assert allowed_addresses().entries or users_database(), "nothing was read"
        return
    if block.page.name == "plugins.md":
        # tests/cli/test_plugin_package.py has the plugins that these names are of.
        monkeypatch.setattr("runtrue.config.rules.find_plugins", lambda group: _AnyName())
    shared = "[tool.runtrue" in block.text
    (tmp_path / ("pyproject.toml" if shared else "runtrue.toml")).write_text(block.text)
    assert find_config(tmp_path).written != find_config(tmp_path / "nowhere").written


@pytest.mark.parametrize(
    "part", [part for part in SESSION_PARTS if part.page != README], ids=lambda part: part.name
)
def test_pages_show_what_the_program_says(part: Part) -> None:
    assert normalised(part.shown()) == normalised(replayed(part)), "run scripts/docs"


PLANS = [block for block in all_blocks("yaml") if "instruction:" in block.text]
WORKFLOWS = [block for block in all_blocks("yaml") if block not in PLANS]


@pytest.mark.parametrize("block", PLANS, ids=str)
def test_plans_are_valid(block: Block, tmp_path: Path) -> None:
    file = tmp_path / "plan.yaml"
    file.write_text(block.text)
    assert load_plan_file(file).instruction


@pytest.mark.parametrize("block", WORKFLOWS, ids=str)
def test_workflows_are_valid(block: Block, tmp_path: Path) -> None:
    file = tmp_path / "workflow.yaml"
    file.write_text(block.text)
    registry = Registry(Home(tmp_path), tmp_path)
    assert validate_workflow(load_workflow(file), registry=registry) == ()


@pytest.mark.parametrize("block", all_blocks("json"), ids=str)
def test_documents_are_valid(block: Block) -> None:
    assert json.loads(block.text)


def test_code_blocks_are_of_kinds_that_are_tested() -> None:
    known = {"python", "toml", "yaml", "json", "console", "sh", "text", "markdown"}
    languages = {
        match for page in pages() for match in re.findall(r"^```+(\w*)$", page.read_text(), re.M)
    }
    assert languages - {""} <= known
