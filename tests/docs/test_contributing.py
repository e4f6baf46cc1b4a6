"""What contributors are told is there: files, scripts, hooks, and the place to start reading."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest
import yaml

import runtrue

from .pages import DOCS, ROOT

_PAGES = [
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    DOCS / "architecture.md",
    DOCS / "release.md",
]
#: In backquotes, below one of our directories.
_PATH = re.compile(r"`((?:src|tests|docs|scripts|requirements|\.github|\.ci)(?:/[\w.\-]+)*)")
_LINK = re.compile(r"\]\(([^)#\s]+)\)")


def _named(page: Path) -> set[str]:
    text = page.read_text(encoding="utf-8")
    links = {link for link in _LINK.findall(text) if "://" not in link}
    beside = {str((page.parent / link).resolve().relative_to(ROOT)) for link in links}
    return beside | {path for path in _PATH.findall(text) if "format-N" not in path}


@pytest.mark.parametrize("page", _PAGES, ids=lambda page: str(page.name))
def test_every_named_file_exists(page: Path) -> None:
    assert sorted(path for path in _named(page) if not (ROOT / path).exists()) == []


def test_the_map_names_files() -> None:
    assert len(_named(_PAGES[0])) > 40


def test_the_map_names_what_the_files_hold() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = re.findall(r"`(\w+)` of `(src/[\w/]+\.py)`", text) + re.findall(
        r"`(\w+)` in `(src/[\w/]+\.py)`", text
    )
    assert len(named) > 6
    for name, path in named:
        found = re.search(rf"^(class |def |)(async )?{name}\b", (ROOT / path).read_text(), re.M)
        assert found, f"{path} has no {name}"


def test_hooks_are_local_and_run_what_is_there() -> None:
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())
    assert {repo["repo"] for repo in config["repos"]} == {"local"}
    for hook in (hook for repo in config["repos"] for hook in repo["hooks"]):
        program = hook["entry"].split()[0]
        assert program == ".venv/bin/python" or (ROOT / program).is_file()


def test_the_changelog_begins_with_what_is_unreleased() -> None:
    headings = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert headings[0] == "Unreleased"
    assert runtrue.__version__ in headings


def test_the_package_names_a_real_place_to_start_reading() -> None:
    names = re.findall(r"`(runtrue(?:\.\w+)+)`", runtrue.__doc__ or "")
    assert len(names) >= 3
    for name in names:
        assert _is_there(name), name


def _is_there(dotted: str) -> bool:
    """True if a module of that name, or something in one, exists."""
    module, _, attribute = dotted.rpartition(".")
    try:
        return hasattr(importlib.import_module(module), attribute)
    except ModuleNotFoundError:
        return False
