"""Driving real plans in this process: a project, a plan file, a journal, and answers."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from runtrue.config import find_config
from runtrue.flow import Event, Journal, LocalDispatcher, Question, RunRow
from runtrue.home import Home
from runtrue.plan import plan_use, prepare_plan, start_plan


def make_project(directory: Path, files: Mapping[str, str], *, git: bool = True) -> Path:
    """A project of these files, as a repository with one commit unless told not."""
    for name, text in files.items():
        file = directory / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(dedent(text))
    if git:
        own = ["-c", "user.name=ada", "-c", "user.email=ada@example.org"]
        for words in (["init", "-q"], ["add", "-A"], [*own, "commit", "-q", "-m", "first"]):
            subprocess.run(["git", *words], cwd=directory, check=True)
    return directory


@dataclass
class Driven:
    """One plan, driven from question to question."""

    project: Path
    home: Home
    journal: Journal
    run_id: str = ""
    events: list[Event] = field(default_factory=list)

    def use(self, plan: str, **options: Any) -> RunRow:
        """Make a plan of a plan file's text, and drive it to its first question or its end."""
        file = self.home.path.parent / "plan.yaml"
        file.write_text(dedent(plan))
        request = plan_use(self.project, find_config(self.project).written, str(file), **options)
        self.run_id = start_plan(self.journal, request)
        return self.drive()

    def drive(self) -> RunRow:
        """Drive it on."""
        dispatcher = LocalDispatcher(
            self.journal, lambda run: prepare_plan(run, self.home), [self.events.append]
        )
        return asyncio.run(dispatcher.run(self.run_id))

    def say(self, answer: Any) -> RunRow:
        """Answer what it asks, and drive it on."""
        self.journal.answer(self.run_id, answer)
        return self.drive()

    def execute(self) -> RunRow:
        """Have a queued plan executed."""
        assert self.question.question == {"begin": True}
        return self.say("go")

    @property
    def question(self) -> Question:
        question = self.journal.open_question(self.run_id)
        assert question is not None
        return question

    @property
    def asked(self) -> Any:
        """What it asks, as data."""
        return self.question.question

    @property
    def sandbox(self) -> Path:
        return self.home.sandbox(self.run_id) / "tree"

    def told(self, kind: str) -> list[dict[str, Any]]:
        """What the events of a kind tell."""
        return [event.payload for event in self.events if event.kind == kind]


@pytest.fixture
def driven(tmp_path: Path) -> Any:
    """Makes a plan's surroundings: `driven({"a.txt": "no"})`."""
    with Journal(tmp_path / "home" / "journal.db") as journal:

        def make(files: Mapping[str, str], *, git: bool = True) -> Driven:
            project = tmp_path / "project"
            project.mkdir()
            return Driven(make_project(project, files, git=git), Home(tmp_path / "home"), journal)

        yield make
