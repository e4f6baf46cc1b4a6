"""The table of all attacks, for the documentation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import ModuleType

from tests.cli import test_effects
from tests.isolation import (
    test_files,
    test_git,
    test_judge,
    test_judge_closure,
    test_judge_of_others,
    test_requests,
    test_secrets,
    test_self_running,
    test_trust,
    test_what_people_see,
    test_workflow_files,
)
from tests.isolation.attack import LEVELS
from tests.isolation.attacks import GROUPS, NEED_NAMESPACES


def table() -> str:
    """What is attempted, and at which levels it is stopped."""
    return "\n" + "\n".join([*_of_levels(), *_of_all()]) + "\n"


def _of_levels() -> Iterator[str]:
    for group in GROUPS:
        yield f"### {group.title}\n"
        yield from _rows(["Attempted", *(f"`{level}`" for level in LEVELS)])
        for attack in group.attacks:
            kept = ("stopped" if level in attack.promised else "not promised" for level in LEVELS)
            mark = " (1)" if attack.name in NEED_NAMESPACES else ""
            yield f"| {attack.name}{mark} | {' | '.join(kept)} |"
        yield ""


def _of_all() -> Iterator[str]:
    """What is seen to outside of where commands run, whatever the level is."""
    judge = [*test_judge.SILENT, *test_judge.SEEN]
    others = [*test_judge_of_others.ATTACKS, *test_judge_of_others.FORGERIES]
    spellings = [f"the key of a home, by {name}" for name in test_workflow_files.SPELLINGS]
    data = [
        f"a file outside of the directory, named by {name}" for name in test_workflow_files.DATA
    ]
    yield from _listed("Files of workflows", "A plan does not read or change", [*spellings, *data])
    effects = list(test_effects.ATTACKS)
    yield from _listed("Effects of plans", "Does not happen unless a person agrees", effects)
    yield from _listed("The judge", "A wrong candidate does not pass by", [*judge, *others])
    cheats = test_judge_closure.CHEATS
    yield from _listed("What judges", "A fixer does not pass by changing", cheats)
    hidden = test_what_people_see.HIDDEN
    yield from _listed("What people see", "No text from outside deceives by", hidden)
    for title, module in {
        "What runs by itself": test_self_running,
        "What leaves a sandbox": test_files,
        "What git runs": test_git,
        "Requests of workflows": test_requests,
        "Secrets in what is kept": test_secrets,
        "Files that a clone or another user left": test_trust,
    }.items():
        yield from _listed(title, "At every level", _sentences(module))


def _listed(title: str, head: str, names: Iterable[str]) -> Iterator[str]:
    yield f"### {title}\n"
    yield from _rows([head])
    for name in dict.fromkeys(names):
        yield f"| {name} |"
    yield ""


def _rows(head: list[str]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{' --- |' * len(head)}"


def _sentences(module: ModuleType) -> Iterator[str]:
    """The tests of a module, whose names are sentences."""
    for name, value in vars(module).items():
        if name.startswith("test_") and getattr(value, "__module__", "") == module.__name__:
            yield name.removeprefix("test_").replace("_", " ")
