"""Generation: code, and then tests for it, written by a language model or a coding agent.

What is made is only a candidate: whether it is any good, the checks find out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any, Protocol

from runtrue.checks import Framework, Language, language_of
from runtrue.code.suites import new_test_path, test_files_for
from runtrue.config import AgentConfig, ModelConfig
from runtrue.fixers import (
    Edited,
    Lead,
    ModelEditor,
    imported_by,
    own_file,
    read_text,
    run_agent,
    sendable,
    sentence,
    show_files,
    sources_below,
)
from runtrue.loop import Workplace
from runtrue.models import Usage, fence
from runtrue.sandbox import is_judge, is_test

#: A path after an @, which is not that of a mail address.
_MENTION = re.compile(r"(?<![\w@./-])@([\w~.][\w./-]*)")
#: What a mention that names no directory must end in: `@dataclass` and `@pytest.fixture` are none.
_DOCUMENTS = frozenset(
    {
        *(".md", ".rst", ".txt", ".adoc", ".html", ".feature", ".csv", ".sql"),
        *(".json", ".yaml", ".yml", ".toml", ".xml", ".proto", ".graphql"),
    }
)
#: Characters of one document and of a manifest, and how many names of files a prompt has room for.
_DOCUMENT, _MANIFEST, _ORIGINAL = 12_000, 3_000, 12_000
_MOST_NAMES, _MOST_LESSONS = 200, 4_000
_MANIFESTS = {
    Language.PYTHON: ("pyproject.toml",),
    Language.GO: ("go.mod",),
    Language.RUST: ("Cargo.toml",),
    Language.JAVA: ("pom.xml", "build.gradle", "build.gradle.kts"),
    **dict.fromkeys((Language.JAVASCRIPT, Language.TYPESCRIPT), ("package.json", "tsconfig.json")),
}
#: Kinds that are not written but seen when the tests are run.
_UNWRITTEN = frozenset({"existing_tests_pass"})
_PROPERTIES: dict[str, Any] = {
    "description": {"type": "string", "description": "what you wrote, in a sentence or two"}
}


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationTask:
    """What is to be written. Paths are relative to the directory of the workplace."""

    requirement: str
    path: str
    code_type: str
    language: Language = Language.OTHER
    framework: Framework = Framework.OTHER
    #: The command that runs the tests.
    command: str | None = None
    #: Test files: those that exist are to be kept, the others are where tests are to be written.
    tests: tuple[str, ...] = ()
    #: The kinds of tests that are required.
    kinds: tuple[str, ...] = ()
    #: The code at `path` as it was before any of it was written, for those who write the tests.
    original: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Generated:
    """What a generator says it did. Whether it changed anything is seen from the files.

    `failure` is set when the generator itself failed: its program broke, the model gave no answer.
    """

    description: str
    failure: str | None = None
    #: False if asking again cannot help.
    transient: bool = True
    #: The seconds after which it may be asked again, where somebody named them.
    retry_after: float | None = None
    usage: Usage | None = None


class Generator(Protocol):
    """Writes files into a workplace. `lessons` are what failed here before, in sentences."""

    @property
    def name(self) -> str:
        """Who it is, for the record."""
        ...

    async def generate_code(
        self, task: GenerationTask, workplace: Workplace, lessons: Sequence[str] = ()
    ) -> Generated:
        """Write the code, and no tests."""
        ...

    async def generate_tests(
        self, task: GenerationTask, workplace: Workplace, lessons: Sequence[str] = ()
    ) -> Generated:
        """Write tests for the code that is there now, in new files."""
        ...


class ModelGenerator:
    """A language model; `environment` holds its key and endpoint. Opened when first asked.

    `redact` takes out of the prompts what must not be in them.
    """

    def __init__(
        self,
        model: str,
        environment: Mapping[str, str],
        *,
        timeout: float = 300,
        redact: Callable[[str], str] | None = None,
        config: ModelConfig | None = None,
    ) -> None:
        self.name = model
        self._editor = ModelEditor(
            model, environment, timeout=timeout, redact=redact, config=config
        )

    async def generate_code(
        self, task: GenerationTask, workplace: Workplace, lessons: Sequence[str] = ()
    ) -> Generated:
        """Ask for the code, with what it is to fit into."""
        prompt = prompt_for_code(task, workplace, lessons)
        return await self._write(prompt, task, workplace, _no_judge)

    async def generate_tests(
        self, task: GenerationTask, workplace: Workplace, lessons: Sequence[str] = ()
    ) -> Generated:
        """Ask for tests, with the code that they are to test."""
        prompt = prompt_for_tests(task, workplace, lessons)
        refuse = _only_new_tests(task, workplace.directory)
        return await self._write(prompt, task, workplace, refuse)

    async def _write(
        self,
        prompt: str,
        task: GenerationTask,
        workplace: Workplace,
        refuse: Callable[[str], str | None],
    ) -> Generated:
        files = show_files(_leads(task, workplace.directory), workplace.directory)
        edited = await self._editor.edit(
            _fill("model", task=prompt, files=files or "None yet."),
            _PROPERTIES,
            root=workplace.directory,
            environment=workplace.environment,
            refuse=refuse,
        )
        return Generated(
            description=_description(edited),
            failure=edited.failure,
            transient=edited.transient,
            retry_after=edited.retry_after,
            usage=edited.usage,
        )


def program_of(command: str) -> str:
    """Return the name of the program that an agent's command runs."""
    words = command.split(maxsplit=1)
    return Path(words[0]).name if words else "agent"


class AgentGenerator:
    """Any coding agent with a command line, called in the same way as the `agent` fixer."""

    def __init__(self, agent: AgentConfig, *, redact: Callable[[str], str] | None = None) -> None:
        self.name = program_of(agent.command or "")
        self._agent = agent
        self._redact = redact

    async def generate_code(
        self, task: GenerationTask, workplace: Workplace, lessons: Sequence[str] = ()
    ) -> Generated:
        """Have the agent write the code."""
        return await self._run(prompt_for_code(task, workplace, lessons), workplace)

    async def generate_tests(
        self, task: GenerationTask, workplace: Workplace, lessons: Sequence[str] = ()
    ) -> Generated:
        """Have the agent write the tests."""
        return await self._run(prompt_for_tests(task, workplace, lessons), workplace)

    async def _run(self, prompt: str, workplace: Workplace) -> Generated:
        asked = sendable(_fill("agent", task=prompt))
        proposal = await run_agent(self._agent, asked, workplace, redact=self._redact)
        return Generated(
            description=proposal.description,
            failure=proposal.failure,
            transient=proposal.transient,
        )


def mentions(requirement: str) -> tuple[str, ...]:
    """The paths that a requirement mentions with an @ before them, each once."""
    found = [match.rstrip("./-") for match in _MENTION.findall(requirement)]
    return tuple(dict.fromkeys(path for path in found if _is_path(path)))


def _is_path(text: str) -> bool:
    is_code = language_of(text) is not Language.OTHER
    return "/" in text or is_code or Path(text).suffix in _DOCUMENTS


# -- prompts ------------------------------------------------------------------------------------


def prompt_for_code(task: GenerationTask, workplace: Workplace, lessons: Sequence[str]) -> str:
    """Return the prompt for writing the code."""
    tests = (*task.tests, *_tests_of(task, workplace.directory))
    there = [file for file in dict.fromkeys(tests) if (workplace.directory / file).is_file()]
    return _fill(
        "code",
        **_shared(task, workplace, lessons),
        type=_fill(f"type-{task.code_type}"),
        tests=_listed(there) or "None yet.",
    )


def prompt_for_tests(task: GenerationTask, workplace: Workplace, lessons: Sequence[str]) -> str:
    """Return the prompt for writing the tests."""
    written = [kind for kind in task.kinds if kind not in _UNWRITTEN]
    original = "Not known." if task.original is None else fence(task.original, limit=_ORIGINAL)
    is_fix = task.code_type == "bug_fix"
    return _fill(
        "tests",
        **_shared(task, workplace, lessons),
        files=_listed(_wanted(task, workplace.directory), indent="  "),
        kinds=_listed(written) or "None in particular.",
        regression=_fill("regression", original=original) if is_fix else "",
    )


def _shared(task: GenerationTask, workplace: Workplace, lessons: Sequence[str]) -> dict[str, str]:
    return {
        "requirement": "\n".join(f"> {line}" for line in task.requirement.splitlines()),
        "path": task.path,
        "language": task.language,
        "framework": task.framework,
        "command": f"`{task.command}`" if task.command else "not known yet",
        "documents": _documents(task, workplace) or "None.",
        "lessons": fence("\n".join(f"- {x}" for x in lessons), limit=_MOST_LESSONS)
        if lessons
        else "None.",
    }


def _documents(task: GenerationTask, workplace: Workplace) -> str:
    """The requirements that are mentioned and can be read, and what the project says of itself."""
    here = replace(workplace, root=workplace.directory)
    sizes = {
        **dict.fromkeys(_MANIFESTS.get(task.language, ()), _MANIFEST),
        **dict.fromkeys(mentions(task.requirement), _DOCUMENT),
    }
    return "\n\n".join(
        f"### {name}\n{fence(text, limit=size)}"
        for name, size in sizes.items()
        if (file := own_file(name, here)) and (text := read_text(here.directory / file))
    )


def _leads(task: GenerationTask, project: Path) -> list[Lead]:
    """The files to be shown: the code, its tests, what it imports, what lies beside it."""
    listed = sources_below(project)
    tests = _tests_of(task, project)
    place = Path(task.path).parent
    files = [
        task.path,
        *task.tests,
        *tests,
        *(imported_by(task.path, project, listed) if task.path in listed else ()),
        *(file for file in listed if Path(file).parent == place),
    ]
    return [Lead(file) for file in dict.fromkeys(files)]


def _tests_of(task: GenerationTask, project: Path) -> tuple[str, ...]:
    return test_files_for(project, task.path, task.language, task.framework)


def _wanted(task: GenerationTask, project: Path) -> tuple[str, ...]:
    """The test files that are to be written."""
    new = tuple(file for file in task.tests if not (project / file).exists())
    return new or (new_test_path(project, task.path, task.language, task.framework),)


def _no_judge(file: str) -> str | None:
    return "this file judges the code; do not change it" if is_judge(file) else None


def _only_new_tests(task: GenerationTask, project: Path) -> Callable[[str], str | None]:
    wanted = _wanted(task, project)

    def refuse(file: str) -> str | None:
        if file in wanted or (is_test(file) and not (project / file).exists()):
            return None
        return f"only new test files are allowed, such as {', '.join(wanted)}"

    return refuse


def _description(edited: Edited) -> str:
    said = sentence(edited.said.get("description", ""))
    return (
        said if edited.problem is None else f"{edited.problem} ({said})" if said else edited.problem
    )


def _listed(names: Sequence[str], *, indent: str = "") -> str:
    more = [f"- and {len(names) - _MOST_NAMES} more"] if len(names) > _MOST_NAMES else []
    return "\n".join([*(f"{indent}- `{name}`" for name in names[:_MOST_NAMES]), *more])


def _fill(name: str, **values: str) -> str:
    return Template(_prompt(name)).substitute(values).rstrip()


@cache
def _prompt(name: str) -> str:
    return resources.files("runtrue.code").joinpath(f"prompts/{name}.md").read_text("utf-8")
