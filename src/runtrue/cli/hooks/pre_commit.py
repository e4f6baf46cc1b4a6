"""pre-commit: a local hook in `.pre-commit-config.yaml`, at the top of the repository.

The file is edited as text, at the places that a YAML parser gives, so its comments and its
order stay; what comes out is parsed and compared before it is written.
"""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from runtrue.cli.hooks.hook_change import HookChange, only_here, read, shared_program, write
from runtrue.cli.project import must_be_in_repository
from runtrue.errors import UsageError

_ID = "runtrue-gate"
_NAME = ".pre-commit-config.yaml"
_ENTRY = """\
- repo: local
  hooks:
    - id: {id}
      name: runtrue gate
      entry: {entry}
      language: system
      pass_filenames: false
      always_run: true
"""


class PreCommit:
    """The hook that pre-commit runs, once for a whole commit."""

    def install(self, project: Path) -> HookChange:
        """Add the hook after those that are there."""
        file, own = _place(project)
        text = read(file)
        if any(True for _ in _ours(_parse(text or "", file), own)):
            return HookChange(False, f"{file} already has the hook")
        program = shared_program()
        # pre-commit runs it at the top.
        words = [*program, "gate", "--hook", "pre-commit", *(("--", own) if own != "." else ())]
        entry = _ENTRY.format(id=_ID, entry=_scalar(shlex.join(words)))
        new = _added(text or "", entry, file)
        _check(new, text or "", file, more=_parse(f"repos:\n{entry}", file)["repos"])
        write(file, new)
        return HookChange(
            True,
            f"added to {file}{only_here(program)}; `pre-commit install` has git call it, and "
            "`runtrue hooks uninstall pre-commit` undoes it",
        )

    def installed(self, project: Path) -> Path | None:
        """Return the configuration, if it has the hook."""
        file, own = _place(project)
        return file if any(True for _ in _ours(_parse(read(file) or "", file), own)) else None

    def remove(self, project: Path) -> HookChange:
        """Take the hook out."""
        file, own = _place(project)
        text = read(file)
        if text is None or not any(True for _ in _ours(_parse(text, file), own)):
            return HookChange(False, f"{file} has no such hook")
        new = text
        while any(True for _ in _ours(_parse(new, file), own)):
            new = _removed(new, file, own)
        if not new.strip():
            file.unlink()
        else:
            _parse(new, file)
            write(file, new)
        return HookChange(True, f"removed from {file}")


def _place(project: Path) -> tuple[Path, str]:
    """The configuration's file, and the project as seen from there."""
    top = must_be_in_repository(project).resolve()
    return top / _NAME, project.resolve().relative_to(top).as_posix()


def _scalar(text: str) -> str:
    """A text as YAML takes it for one."""
    import yaml

    return str(yaml.safe_dump(text, width=10_000)).removesuffix("\n...\n").strip()


def _parse(text: str, file: Path) -> dict[str, Any]:
    import yaml

    try:
        config = yaml.safe_load(text) or {}
    except yaml.YAMLError as error:
        said = " ".join(str(error).split())
        raise UsageError(
            f"{file} is not YAML ({said}), and was not changed; fix it first"
        ) from error
    repos = config.get("repos") if isinstance(config, dict) else 0
    if repos is not None and not isinstance(repos, list):
        raise UsageError(f'{file} was not changed: expected a list in "repos"')
    return config


def _ours(config: dict[str, Any], own: str) -> Iterator[tuple[int, int]]:
    """The place of a project's hook: the number of its repository, and its own in there."""
    for number, repo in enumerate(config.get("repos") or ()):
        hooks = repo.get("hooks") if isinstance(repo, dict) else None
        for at, hook in enumerate(hooks if isinstance(hooks, list) else ()):
            if isinstance(hook, dict) and hook.get("id") == _ID and _guarded(hook) == own:
                yield number, at


def _guarded(hook: dict[str, Any]) -> str:
    """The project that a hook of ours is for."""
    try:
        words = shlex.split(str(hook.get("entry", "")))
    except ValueError:
        return "."
    return words[-1] if words[-2:-1] == ["--"] else "."


def _check(new: str, old: str, file: Path, *, more: list[Any]) -> None:
    """Refuse what is not the old file and our hook after it."""
    before = _parse(old, file)
    wanted = {**before, "repos": [*(before.get("repos") or ()), *more]}
    if _parse(new, file) != wanted:
        raise _cannot(file)


def _cannot(file: Path) -> UsageError:
    entry = textwrap.indent(_ENTRY.format(id=_ID, entry="runtrue gate"), "  ")
    return UsageError(
        f"{file} has a layout that runtrue cannot edit safely and was not changed; "
        f"add this to its repos:\n{entry}".rstrip()
    )


# -- YAML as text -------------------------------------------------------------------------------


def _repos(text: str) -> Any:
    """The node of the list of repositories, if it is there and holds something."""
    import yaml

    root = yaml.compose(text, Loader=yaml.SafeLoader)
    for key, value in root.value if isinstance(root, yaml.MappingNode) else ():
        if key.value == "repos" and isinstance(value, yaml.SequenceNode):
            return value
    return None


def _added(text: str, entry: str, file: Path) -> str:
    lines = text.splitlines(keepends=True)
    repos = _repos(text)
    if repos is None:
        if _parse(text, file):
            # Without a list of repositories it is no configuration of pre-commit's.
            raise _cannot(file)
        between = "" if not text or text.endswith("\n") else "\n"
        return f"{text}{between}repos:\n{textwrap.indent(entry, '  ')}"
    if repos.flow_style or not repos.value:
        raise _cannot(file)
    indent = " " * repos.start_mark.column
    at = _last_line(repos) + 1
    while at < len(lines) and _belongs(lines[at], repos.start_mark.column):
        at += 1
    if lines[at - 1 : at] and not lines[at - 1].endswith("\n"):
        lines[at - 1] += "\n"
    lines[at:at] = [textwrap.indent(entry, indent)]
    return "".join(lines)


def _belongs(line: str, column: int) -> bool:
    """Return whether a line is a comment on the item before it, indented further than items."""
    stripped = line.lstrip(" ")
    return stripped.startswith("#") and len(line) - len(stripped) > column


def _last_line(node: Any) -> int:
    """The last line with something of a node on it."""
    import yaml

    if isinstance(node, yaml.ScalarNode) or node.flow_style or not node.value:
        mark = node.end_mark
        return int(
            mark.line - 1 if mark.column == 0 and mark.line > node.start_mark.line else mark.line
        )
    last = node.value[-1]
    return _last_line(last[1] if isinstance(last, tuple) else last)


def _removed(text: str, file: Path, own: str) -> str:
    number, at = next(_ours(_parse(text, file), own))
    lines = text.splitlines(keepends=True)
    repos = _repos(text)
    repo = repos.value[number]
    hooks = next(value for key, value in repo.value if key.value == "hooks")
    alone = len(hooks.value) == 1
    node = repo if alone else hooks.value[at]
    if (repos if alone else hooks).flow_style:
        raise UsageError(
            f"{file} has a layout that runtrue cannot edit safely and was not changed; "
            f"remove the hook {_ID} by hand"
        )
    first, last = node.start_mark.line, _last_line(node)
    if alone and len(repos.value) == 1:
        if text == f"repos:\n{''.join(lines[first : last + 1])}":
            return ""
        # A list of nothing must be said to be one.
        key = next(n for n in range(first, -1, -1) if lines[n].startswith("repos:"))
        lines[key] = lines[key].replace("repos:", "repos: []", 1)
    return "".join(lines[:first] + lines[last + 1 :])
