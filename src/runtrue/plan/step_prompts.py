"""Prompts: for steps and strategies, from the files beside this."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from functools import cache
from importlib import resources
from pathlib import Path, PurePosixPath
from string import Template

from runtrue.fixers import (
    Lead,
    Redact,
    bounds_text,
    findings_text,
    leads_of,
    own_file,
    sentence,
    show_files,
    sources_below,
)
from runtrue.loop import Workplace, matches
from runtrue.models import fence
from runtrue.plan.seams import StepTask, StrategyTask
from runtrue.plan.strategy import Strategy
from runtrue.plan.strategy_data import strategy_data

#: How much a prompt has room for: names of files, steps, and characters.
_MOST_NAMES, _MOST_STEPS, _MOST_NEEDED = 300, 100, 50
_STRATEGY, _FILES = 12_000, 60_000
#: What may be the path of a file in prose.
_PATH = re.compile(r"[\w./-]*\w\.\w+")


def step_prompt(task: StepTask, redact: Redact) -> str:
    """Return the prompt for a step."""
    rules = bounds_text(task.bounds)
    return fill(
        "step",
        instruction=_quoted(task.instruction),
        steps=_steps(task.strategy, task.step.id),
        id=task.step.id,
        description=_quoted(task.step.description),
        bounds=f"{rules}\n" if rules else "",
        findings=findings_text(task.findings, redact) or "Nothing.",
        guidance=_guidance(task.guidance),
    )


def step_files(task: StepTask, workplace: Workplace) -> str:
    """The files that matter for a step: named in words, in its bounds, or by findings."""
    listed = sources_below(workplace.root)
    words = (task.step.description, *task.guidance, task.instruction)
    also = [*_mentioned(words, workplace), *(task.bounds.paths or ())]
    paths = [path for path in task.bounds.paths or () if path.strip("/*.")]
    also += [file for file in listed if any(matches(file, path) for path in paths)]
    leads = leads_of(task.findings, workplace, also)
    # Where nothing leads anywhere, whatever there is has to do.
    return show_files(leads or map(Lead, listed), workplace.root, budget=_FILES) or "None yet."


def strategy_prompt(
    task: StrategyTask, workplace: Workplace, actors: Iterable[str], redact: Redact
) -> str:
    """Return the prompt for making a strategy, or revising one, with paths from the project."""
    project = workplace.directory
    words = (*task.guidance, task.instruction)
    also = [*task.needed, *_mentioned(words, workplace)]
    return fill(
        "strategy",
        instruction=_quoted(task.instruction),
        validations="\n".join(f"- {sentence(one)}" for one in task.validations) or "Nothing.",
        actors="\n".join(f"  - {actor}" for actor in actors),
        guidance=_guidance(task.guidance),
        revision=_revision(task, redact),
        names=file_names(project),
        files=show_files(
            _inside(leads_of(task.findings, workplace, also), workplace)
            or map(Lead, sources_below(project)),
            project,
            budget=_FILES,
        )
        or "None yet.",
    )


def file_names(directory: Path) -> str:
    """The names of the files of code below a directory, as far as there is room."""
    names = sources_below(directory)
    more = [f"and {len(names) - _MOST_NAMES} more"] if len(names) > _MOST_NAMES else []
    listed = "\n".join([*names[:_MOST_NAMES], *more])
    return fence(listed, limit=len(listed)) if listed else "None yet."


def fill(name: str, **values: str) -> str:
    """The prompt of that name with its blanks filled in; what is filled in is taken as it is."""
    return Template(_prompt(name)).substitute(values).rstrip()


@cache
def _prompt(name: str) -> str:
    return resources.files("runtrue.plan").joinpath(f"prompts/{name}.md").read_text("utf-8")


def _revision(task: StrategyTask, redact: Redact) -> str:
    if task.strategy is None or task.subtree is None:
        return ""
    data = json.dumps(strategy_data(task.strategy), indent=1, ensure_ascii=False)
    revision = fill(
        "revision",
        strategy=fence(data, limit=_STRATEGY),
        id=task.subtree.id,
        findings=findings_text(task.findings, redact) or "Nothing is known.",
        needed=_few(task.needed),
    )
    return f"\n{revision}\n"


def _inside(leads: Iterable[Lead], workplace: Workplace) -> list[Lead]:
    """Return those of some files that lie in the project's directory, as seen from there."""
    project = PurePosixPath(workplace.directory.relative_to(workplace.root).as_posix())
    return [
        Lead(PurePosixPath(lead.file).relative_to(project).as_posix(), lead.lines)
        for lead in leads
        if PurePosixPath(lead.file).is_relative_to(project)
    ]


def _mentioned(texts: Iterable[str], workplace: Workplace) -> list[str]:
    """The files of the project that are named in prose."""
    words = dict.fromkeys(word for text in texts for word in _PATH.findall(text))
    return [file for word in words if (file := own_file(word, workplace))]


def _steps(strategy: Strategy, own: str) -> str:
    lines = [
        f"{'  ' * depth}- `{step.id}`{' (yours)' * (step.id == own)}: {sentence(step.description)}"
        for depth, step in strategy.all_steps()
    ]
    more = [f"- and {len(lines) - _MOST_STEPS} more"] if len(lines) > _MOST_STEPS else []
    return "\n".join([*lines[:_MOST_STEPS], *more])


def _guidance(said: Iterable[str]) -> str:
    return "\n".join(said) or "None."


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}" for line in text.strip().splitlines())


def _few(files: Sequence[str]) -> str:
    more = f" and {len(files) - _MOST_NEEDED} more" if len(files) > _MOST_NEEDED else ""
    return ", ".join(f"`{file}`" for file in files[:_MOST_NEEDED]) + more if files else "none."
