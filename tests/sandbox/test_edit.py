"""Hostile edits, by everyone who can edit a candidate: the same rules give the same answer.

Each edit is a shell command that really runs in the sandbox, as a coding agent (the fixer, the
actor of a plan's step, the generator of code) or as a person; or texts, where an editor leaves the
writing to runtrue.
"""

from __future__ import annotations

import asyncio
import shlex
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from runtrue.checks import CommandCheck
from runtrue.code.task import CodeTask
from runtrue.code.write import CodeWriter, WriteInputs
from runtrue.config import AgentConfig
from runtrue.errors import GeneratorFailed
from runtrue.fixers import AgentFixer
from runtrue.loop import (
    PERSON,
    Bounds,
    CodeType,
    Finding,
    Fixer,
    FixTask,
    History,
    Policy,
    Proposal,
    Workplace,
    Workshop,
    guard_edit,
    readable,
)
from runtrue.loop.fix_candidate import FixInputs, climb_ladder
from runtrue.loop.hand_over import persons_fix
from runtrue.memory import DebugMemory
from runtrue.plan.context import PlanContext
from runtrue.plan.execute_step import ActInputs, act
from runtrue.plan.strategy import Strategy
from runtrue.redaction import Redactor
from runtrue.sandbox import GitSandbox, RefusedFiles
from tests.loop.make import finding
from tests.plan.requests import make_request, make_step
from tests.sandbox.support import make_repository, make_sandbox

FILES: dict[str, str | bytes] = {
    "shop/total.py": "def total(prices):\n    return sum(prices)\n",
    "shop/old.py": "OLD = True\n",
    "other.py": "OTHER = 1\n",
    "tests/test_total.py": "def test_total():\n    assert True\n",
}
BOUNDS = Bounds(paths=("shop", "tests"), max_files=3, max_lines=500, deletes=False)
SECRET = "correct-horse-battery-staple"  # noqa: S105 - nobody's
REDACTOR = Redactor({"API_TOKEN": SECRET})
#: How each rule is known by what is said of it.
SAID = {
    "secret": "wrote the value of API_TOKEN into a file: it is a secret",
    "deletion": "which needs approval",
    "bounds": "the strategy",
}


@dataclass(frozen=True)
class Answer:
    """What an edit led to: the files that changed, those that were restored, the broken rule."""

    files: tuple[str, ...] = ()
    restored: tuple[str, ...] = ()
    refused: str | None = None


@dataclass(frozen=True)
class Hostile:
    """An edit and its answers: within bounds, without bounds, and for a person.

    Where one is None, it is the one before it.
    """

    command: str
    bounded: Answer
    unbounded: Answer | None = None
    person: Answer | None = None
    texts: dict[str, str] | None = None
    #: A file that must not leave the sandbox, whoever made it.
    stays: str | None = None


JUDGE_AND_CODE = ("shop/total.py", "tests/test_total.py")
HUGE = "x = 1\n" * 200_000

EDITS = {
    "edits_a_judge": Hostile(
        "echo '# 1' | tee -a shop/total.py tests/test_total.py",
        bounded=Answer(files=("shop/total.py",), restored=("tests/test_total.py",)),
        person=Answer(files=JUDGE_AND_CODE),
        texts={"shop/total.py": "total = sum\n", "tests/test_total.py": ""},
    ),
    "writes_a_known_secret": Hostile(
        f"echo 'TOKEN = \"{SECRET}\"' >> shop/total.py",
        bounded=Answer(refused="secret"),
        person=Answer(files=("shop/total.py",)),
        texts={"shop/total.py": f'TOKEN = "{SECRET}"\n'},
    ),
    "goes_out_of_bounds": Hostile(
        "echo 'OTHER = 2' | tee other.py shop/total.py",
        bounded=Answer(refused="bounds"),
        unbounded=Answer(files=("other.py", "shop/total.py")),
        texts={"other.py": "OTHER = 2\n", "shop/total.py": "total = sum\n"},
    ),
    "creates_a_link_out_of_the_tree": Hostile(
        "ln -s /etc/passwd shop/users.txt",
        bounded=Answer(files=("shop/users.txt",)),
        stays="shop/users.txt",
    ),
    "touches_git": Hostile(
        # Some of it is refused already while it runs.
        "mkdir -p shop/.git; echo evil | tee .git/hooks/post-commit shop/.git/config || true",
        bounded=Answer(),
    ),
    "deletes_a_file": Hostile(
        "rm shop/old.py",
        bounded=Answer(refused="deletion"),
        unbounded=Answer(files=("shop/old.py",)),
    ),
    "writes_a_binary": Hostile(
        r"printf '\000\377\000\n' > shop/data.bin",
        bounded=Answer(files=("shop/data.bin",)),
        texts={"shop/data.bin": "\0\udcff\0\n"},
    ),
    "writes_a_huge_file": Hostile(
        "yes 'x = 1' | head -n 200000 > shop/huge.py",
        bounded=Answer(refused="bounds"),
        unbounded=Answer(files=("shop/huge.py",)),
        texts={"shop/huge.py": HUGE},
    ),
    "writes_an_unreadable_file_and_name": Hostile(
        r"""f="shop/$(printf 'na\377me').py"; echo 'x = 1' > "$f"; chmod 000 "$f" """,
        bounded=Answer(files=("shop/na\ufffdme.py",)),
    ),
    "changes_nothing": Hostile("true", bounded=Answer(), texts={}),
}


# -- those who edit -----------------------------------------------------------------------------


class TextFixer(AgentFixer):
    """Leaves the writing to the cycle, and scribbles over files that are then rolled back."""

    def __init__(self, texts: dict[str, str]) -> None:
        super().__init__(AgentConfig(command="unused"))
        self._texts = texts

    async def propose(self, task: FixTask, workplace: Workplace) -> Proposal:
        (workplace.root / "other.py").write_text("tried something\n")
        return Proposal(description="", texts=self._texts)


def _climb(sandbox: GitSandbox, fixer: Fixer) -> Answer:
    workshop = Workshop(
        sandbox=sandbox, checks=(), ladder=(fixer,), policy=Policy(), redact=REDACTOR
    )
    found: tuple[Finding, ...] = (finding(),)
    inputs = FixInputs(sandbox.base, found, History(), None, bounds=BOUNDS, origin=sandbox.base)
    fix = asyncio.run(climb_ladder(workshop, inputs))
    (part,) = fix.parts
    assert bool(part.files) == (fix.candidate != fix.base)
    refused = _rule(part.failure)
    if part.outside:
        refused = "deletion" if part.outside == part.deleted else "bounds"
    return Answer(part.files, part.restored, refused)


def fixer_with_texts(sandbox: GitSandbox, edit: Hostile) -> Answer:
    assert edit.texts is not None
    return _climb(sandbox, TextFixer(edit.texts))


def fixer_with_files(sandbox: GitSandbox, edit: Hostile) -> Answer:
    return _climb(sandbox, AgentFixer(_agent(edit)))


def plan_step(sandbox: GitSandbox, edit: Hostile) -> Answer:
    unused: Any = None
    request = make_request(agent=_agent(edit))
    memory = DebugMemory(sandbox.top.parent / "memory")
    context = PlanContext("run", request, unused, sandbox, memory, REDACTOR)
    step = make_step()
    inputs = ActInputs(
        candidate=sandbox.base,
        base=sandbox.base,
        step=step,
        bounds=BOUNDS,
        strategy=Strategy(steps=(step,)),
        findings=(),
        guidance=(),
        approved=(),
        left=60.0,
    )
    done = asyncio.run(act(context, inputs))
    assert bool(done.result.files) == (done.candidate != sandbox.base)
    return Answer(done.result.files, done.result.restored, _rule(done.result.refused))


def code_generation(sandbox: GitSandbox, edit: Hostile) -> Answer:
    task = CodeTask(requirement="total", path="shop/total.py", code_type=CodeType.REFACTOR)
    request = SimpleNamespace(
        generator="agent",
        agent=_agent(edit),
        task=task,
        tests=CommandCheck(name="tests", command="python -m pytest"),
        requirement=None,
        policy=Policy(transport_retries=0),
    )
    place = SimpleNamespace(request=request, sandbox=sandbox, redact=REDACTOR)
    writer = CodeWriter(cast(Any, place), WriteInputs(sandbox.base, (), ()))
    try:
        written = asyncio.run(writer.write())
    except GeneratorFailed as error:
        return Answer(refused=_rule(str(error)))
    assert bool(written.files) == (written.candidate != sandbox.base)
    return Answer(readable(written.files), written.restored)


def person(sandbox: GitSandbox, edit: Hostile) -> Answer:
    subprocess.run(["sh", "-c", edit.command], cwd=sandbox.directory, check=True)
    workshop = Workshop(sandbox=sandbox, checks=(), ladder=(), policy=Policy(), redact=REDACTOR)
    (part,) = persons_fix(workshop, sandbox.base).parts
    return Answer(part.files, part.restored, _rule(part.failure))


def _agent(edit: Hostile) -> AgentConfig:
    return AgentConfig(command=f"sh -c {shlex.quote(edit.command)}", timeout=60)


def _rule(said: str | None) -> str | None:
    if said is None:
        return None
    return next((rule for rule, words in SAID.items() if words in said), said)


# -- the answers --------------------------------------------------------------------------------

EDITORS: dict[Callable[[GitSandbox, Hostile], Answer], str] = {
    fixer_with_texts: "bounded",
    fixer_with_files: "bounded",
    plan_step: "bounded",
    code_generation: "unbounded",
    person: "person",
}


@pytest.mark.parametrize(
    ("rule", "editor"),
    [
        pytest.param(rule, editor, id=f"{rule}-{editor.__name__}")
        for rule, edit in EDITS.items()
        for editor in EDITORS
        if editor is not fixer_with_texts or edit.texts is not None
    ],
)
def test_the_same_rules_give_every_editor_the_same_answer(
    rule: str, editor: Callable[[GitSandbox, Hostile], Answer], tmp_path: Path
) -> None:
    edit = EDITS[rule]
    sandbox = make_sandbox(make_repository(tmp_path / "project", FILES))
    base = sandbox.open()
    unbounded = edit.unbounded or edit.bounded
    answers = {
        "bounded": edit.bounded,
        "unbounded": unbounded,
        "person": edit.person or unbounded,
    }
    answer = editor(sandbox, edit)
    assert answer == answers[EDITORS[editor]]
    candidate = sandbox.snapshot()
    assert readable(sandbox.changed(base, candidate)) == answer.files
    if edit.stays:
        with pytest.raises(RefusedFiles, match=edit.stays):
            sandbox.demand_leaving(candidate)


def test_texts_are_not_written_through_a_link_that_leads_out(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "rc").write_text("mine\n")
    project = make_repository(tmp_path / "project", {"app.py": "x = 1\n", "sub/a.py": "y = 1\n"})
    (project / "sub" / "in.py").symlink_to("../app.py")
    (project / "out").symlink_to(outside)
    (project / "rc").symlink_to(outside / "rc")
    sandbox = GitSandbox(tmp_path / "runs" / "one", project)
    base = sandbox.open()
    for file in ("out/rc", "out/new", "rc", "sub/../../outside/rc"):
        edit = guard_edit(sandbox, base, PERSON, texts={"app.py": "x = 2\n", file: "evil\n"})
        assert edit.candidate == base
        assert "leads out of the project" in str(edit.reason)
    assert [path.name for path in outside.iterdir()] == ["rc"]
    assert (outside / "rc").read_text() == "mine\n"
    edit = guard_edit(sandbox, base, PERSON, texts={"sub/in.py": "x = 2\n"})
    assert edit.edited == ("app.py",)
