"""CI files: what jobs run at GitHub, GitLab, CircleCI, Travis and Azure, without any service."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from runtrue.checks.recipes.recipe import (
    UNKNOWN,
    Group,
    Recipe,
    by_test_name,
    joined_lines,
    substitute,
)
from runtrue.documents import Document, DocumentError, Pointer, read_document
from runtrue.settings_file import subtable

_EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}")
#: Conditions under which a step runs in an ordinary run on Linux.
_ALWAYS = re.compile(r"(\$\{\{)?\s*(always|success|!\s*cancelled)\(\)\s*(\}\})?")
_WORKSPACES = ("github.workspace", "runner.workspace")
#: Keys of .gitlab-ci.yml that are no jobs.
_NO_JOBS = frozenset(
    {
        *("stages", "variables", "image", "services", "cache", "include", "default", "workflow"),
        *("before_script", "after_script", "pages"),
    }
)


def recipes_of_ci(project: Path) -> Iterator[Group]:
    """Yield what each job runs: those of workflows and jobs named after tests first."""
    folder = project / ".github" / "workflows"
    files = {file.name: file for end in ("*.yml", "*.yaml") for file in sorted(folder.glob(end))}
    stems = {name.rpartition(".")[0].lower(): name for name in files}
    first = [stems[stem] for stem in by_test_name(stems)]
    for name in dict.fromkeys([*first, *files]):
        if document := _read(files[name]):
            yield from _of_github(document, f".github/workflows/{name}")
    if document := _read(project / ".gitlab-ci.yml"):
        yield from _of_gitlab(document)
    for name, groups_of in _HOSTED.items():
        if document := _read(project / name):
            yield from groups_of(document, name)


def _read(file: Path) -> Document | None:
    try:
        found = read_document(file) if file.is_file() else None
    except DocumentError:
        return None
    return found if found and isinstance(found.data, dict) else None


# -- GitHub -------------------------------------------------------------------------------------


def _of_github(document: Document, file: str) -> Iterator[Group]:
    data = document.data
    jobs = subtable(data, "jobs")
    for name in dict.fromkeys([*by_test_name(jobs), *jobs]):
        job = subtable(jobs, name)
        # A service is a container: there is none here.
        if not job or job.get("services") or job.get("container"):
            continue
        matrix = _first_values(subtable(job, "strategy", "matrix"))
        env = {**subtable(data, "env"), **subtable(job, "env")}
        directory = _directory(job, _directory(data, "."))
        steps = job.get("steps")
        yield tuple(
            _step_recipe(step, env, directory, matrix, _where(document, file, name, number))
            for number, step in enumerate(steps if isinstance(steps, list) else [])
            if isinstance(step, dict) and isinstance(step.get("run"), str) and _is_run(step)
        )


def _where(document: Document, file: str, job: str, number: int) -> str:
    pointer: Pointer = ("jobs", job, "steps", number, "run")
    return f"{file}:{document.line(pointer)} job {job}"


def _directory(part: Mapping[str, Any], otherwise: str) -> str:
    named = subtable(part, "defaults", "run").get("working-directory", otherwise)
    return named if isinstance(named, str) else UNKNOWN


def _is_run(step: Mapping[str, Any]) -> bool:
    condition = step.get("if", "always()")
    shell = step.get("shell", "bash")
    return (condition is True or _ALWAYS.fullmatch(str(condition)) is not None) and str(
        shell
    ).startswith(("bash", "sh"))


def _first_values(matrix: Mapping[str, Any]) -> dict[str, str]:
    """Return the first value of each axis: what an ordinary run has."""
    values = {
        name: axis[0]
        for name, axis in matrix.items()
        if isinstance(axis, list) and axis and name not in ("include", "exclude")
    }
    return {name: str(value) for name, value in values.items() if not isinstance(value, list)}


def _step_recipe(
    step: Mapping[str, Any],
    env: Mapping[str, Any],
    directory: str,
    matrix: Mapping[str, str],
    where: str,
) -> Recipe:
    variables = {**env, **subtable(step, "env")}
    known = {
        str(name): value
        for name, raw in variables.items()
        if (value := _resolved(_as_text(raw), matrix, {})) != UNKNOWN or not _is_secret(raw)
    }
    inside = step.get("working-directory", directory)
    return Recipe(
        line="\n".join(joined_lines(_resolved(step["run"], matrix, known))),
        where=where,
        env=known,
        directory=_resolved(inside, matrix, known) if isinstance(inside, str) else UNKNOWN,
    )


def _as_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else "" if value is None else str(value)


def _is_secret(value: Any) -> bool:
    """True for what nobody but the project's CI has, so that tests go without."""
    return isinstance(value, str) and re.search(r"\b(secrets|github|steps)\.", value) is not None


def _resolved(text: str, matrix: Mapping[str, str], env: Mapping[str, str]) -> str:
    def value(match: re.Match[str]) -> str:
        name = match[1]
        if name in _WORKSPACES:
            return "."
        part, _, key = name.partition(".")
        found = {"matrix": matrix, "env": env}.get(part, {}).get(key)
        return UNKNOWN if found is None else found

    return substitute(text, _EXPRESSION, value)


# -- GitLab -------------------------------------------------------------------------------------


def _of_gitlab(document: Document) -> Iterator[Group]:
    data = document.data
    jobs = {
        name: job
        for name, job in data.items()
        if isinstance(job, dict) and name not in _NO_JOBS and not str(name).startswith(".")
    }
    for name in dict.fromkeys([*by_test_name(jobs), *jobs]):
        job = jobs[name]
        if job.get("services") or data.get("services") or "extends" in job:
            continue
        env = {**subtable(data, "variables"), **subtable(job, "variables")}
        before = job.get("before_script", data.get("before_script"))
        lines = [*_lines(before), *_lines(job.get("script"))]
        yield (
            Recipe(
                line="\n".join(line for text in lines for line in joined_lines(text)),
                where=f".gitlab-ci.yml:{document.line((name, 'script'))} job {name}",
                env={key: _as_text(value) for key, value in env.items()},
            ),
        )


def _lines(script: Any) -> list[str]:
    lines = script if isinstance(script, list) else [script]
    return [line for line in lines if isinstance(line, str)]


# -- CircleCI, Travis, Azure --------------------------------------------------------------------


def _of_circle(document: Document, file: str) -> Iterator[Group]:
    jobs = subtable(document.data, "jobs")
    for name in dict.fromkeys([*by_test_name(jobs), *jobs]):
        job = subtable(jobs, name)
        images = job.get("docker")
        # Those after the first are services.
        if isinstance(images, list) and len(images) > 1:
            continue
        found = []
        for number, step in enumerate(_list(job.get("steps"))):
            run = step.get("run") if isinstance(step, dict) else None
            settings = {"command": run} if isinstance(run, str) else subtable(step, "run")
            variables = {**subtable(job, "environment"), **subtable(settings, "environment")}
            inside = settings.get("working_directory", job.get("working_directory", "."))
            if isinstance(settings.get("command"), str):
                line = document.line(("jobs", name, "steps", number, "run"))
                where = f"{file}:{line} job {name}"
                found.append(_plain_recipe(settings["command"], where, variables, inside))
        yield tuple(found)


def _of_travis(document: Document, file: str) -> Iterator[Group]:
    data = document.data
    if data.get("services"):
        return
    where = f"{file}:{document.line(('script',))} script"
    parts = [_lines(data.get(key)) for key in ("before_script", "script")]
    lines = [line for part in parts for line in part]
    yield tuple(_plain_recipe(line, where, _travis_variables(data), ".") for line in lines)


def _travis_variables(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the variables of all jobs: those of the matrix are of one each."""
    env = data.get("env")
    named = env.get("global") if isinstance(env, dict) else None
    pairs = [pair for text in _lines(named) for pair in text.split()]
    return {key: value for key, is_set, value in (pair.partition("=") for pair in pairs) if is_set}


def _of_azure(document: Document, file: str) -> Iterator[Group]:
    data = document.data
    stages = [stage for stage in _list(data.get("stages")) if isinstance(stage, dict)]
    jobs = [job for part in (data, *stages) for job in _list(part.get("jobs"))]
    for job in (data, *(job for job in jobs if isinstance(job, dict))):
        if job.get("services"):
            continue
        env = {**_azure_variables(data), **_azure_variables(job)}
        found = []
        for step in _list(job.get("steps")):
            script = step.get("script", step.get("bash")) if isinstance(step, dict) else None
            if isinstance(script, str) and "condition" not in step:
                inside = step.get("workingDirectory", ".")
                line = _azure_resolved(script, env)
                # Programs see each variable by its name in capitals.
                named = {name.upper().replace(".", "_"): value for name, value in env.items()}
                named |= subtable(step, "env")
                found.append(_plain_recipe(line, file, named, inside))
        yield tuple(found)


def _azure_variables(part: Mapping[str, Any]) -> dict[str, Any]:
    variables = part.get("variables")
    if isinstance(variables, dict):
        return dict(variables)
    pairs = [one for one in _list(variables) if isinstance(one, dict) and "name" in one]
    return {str(one["name"]): one.get("value") for one in pairs}


def _azure_resolved(script: str, variables: Mapping[str, Any]) -> str:
    def value(match: re.Match[str]) -> str:
        if match[1] in ("Build.SourcesDirectory", "System.DefaultWorkingDirectory"):
            return "."
        return _as_text(variables[match[1]]) if match[1] in variables else UNKNOWN

    return substitute(script, re.compile(r"\$\(([\w.]+)\)"), value)


def _plain_recipe(command: str, where: str, env: Mapping[str, Any], inside: Any) -> Recipe:
    """Return what a step runs, with the directory into which the repository is cloned as `.`."""
    line = "\n".join(joined_lines(_PARAMETER.sub(UNKNOWN, command)))
    place = inside if isinstance(inside, str) and not inside.startswith(("~", "/")) else "."
    known = {key: _as_text(value) for key, value in env.items() if not isinstance(value, dict)}
    return Recipe(line=line, where=where, env=known, directory=place)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


#: `<< parameters.x >>` and `${{ … }}`, which only the host knows.
_PARAMETER = re.compile(r"<<\s*[^<>]*\s*>>|\$\{\{.*?\}\}")
_HOSTED = {
    ".circleci/config.yml": _of_circle,
    ".travis.yml": _of_travis,
    "azure-pipelines.yml": _of_azure,
}
