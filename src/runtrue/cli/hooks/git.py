"""Git: a script among the repository's hooks, as `pre-commit` and as `pre-merge-commit`."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

from runtrue.cli.hooks.hook_change import HookChange, own_program, read, write
from runtrue.errors import SandboxError, UsageError
from runtrue.sandbox import ForeignRepository, run_git

#: Git runs the second one in place of the first where a merge has no conflicts.
_NAMES = ("pre-commit", "pre-merge-commit")
_MARK = "# runtrue gate, by `runtrue gate --install git`; --uninstall removes it."
_SCRIPT = """\
#!/bin/sh
{mark}
if [ -x {program} ]; then
    exec {words} gate --hook git -- {project}
fi
exec runtrue gate --hook git -- {project}
"""
#: Any script that was made so, whatever the paths in it; earlier ones had no `--`.
_OURS = re.compile(
    re.escape(_SCRIPT)
    .replace(re.escape("-- {project}"), "(?:-- )?(.+)")
    .replace(re.escape("{mark}"), re.escape(_MARK))
    .replace(re.escape("{program}"), ".+")
    .replace(re.escape("{words}"), ".+")
)


class Git:
    """The hooks that git runs before a commit or a merge is made; what they refuse is not made."""

    def install(self, project: Path) -> HookChange:
        """Write the hooks, unless there are others."""
        directory, top = _place(project)
        program = own_program()
        # Git runs it at the top, in whichever working tree.
        own = project.relative_to(top).as_posix()
        text = _SCRIPT.format(
            mark=_MARK,
            program=shlex.quote(program[0]),
            words=shlex.join(program),
            project=shlex.quote(own),
        )
        files = [directory / name for name in _NAMES]
        for file in files:
            _refuse_foreign(file, own, top, program)
        missing = [file for file in files if read(file) != text]
        if not missing:
            return HookChange(False, f"{files[0]} is already the hook")
        for file in missing:
            write(file, text, mode=0o755)
        return HookChange(
            True,
            f"wrote {' and '.join(map(str, missing))}: git commits and merges when `runtrue gate` "
            "passes (`--no-verify` skips it); undo with "
            "`runtrue hooks uninstall git`",
        )

    def installed(self, project: Path) -> Path | None:
        """Return the script that git runs before a commit, if it is ours and for this project."""
        directory, top = _place(project)
        file = directory / _NAMES[0]
        own = project.relative_to(top).as_posix()
        return file if _guarded(read(file) or "") == own else None

    def remove(self, project: Path) -> HookChange:
        """Remove the hooks, if they are ours and nobody has edited them."""
        directory, top = _place(project)
        own = project.relative_to(top).as_posix()
        said: list[str] = []
        ours: list[Path] = []
        for file in (directory / name for name in _NAMES):
            there = read(file)
            if there is None or _MARK not in there:
                said.append(f"{file} is not runtrue's, or not there")
            elif not _OURS.fullmatch(there):
                raise UsageError(
                    f"{file} was edited since it was installed and was not changed; take out of "
                    "it the lines with `runtrue gate`"
                )
            elif (other := _guarded(there)) != own:
                said.append(f"{file} is the hook of another project, {other}, and stays")
            else:
                ours.append(file)
        for file in ours:
            file.unlink()
        if not ours:
            return HookChange(False, said[0])
        return HookChange(True, f"removed {' and '.join(map(str, ours))}")


def _refuse_foreign(file: Path, own: str, top: Path, program: list[str]) -> None:
    """Refuse to overwrite a hook of somebody else's, or of another project."""
    there = read(file)
    if there is not None and not _OURS.fullmatch(there):
        command = shlex.join([*program, "gate", "--hook", "git"])
        raise UsageError(
            f"{file} is a hook from another tool and was not changed; add this line to it: "
            f"{command} || exit 1 (or, where it is pre-commit's, use "
            "`runtrue hooks install pre-commit`)"
        )
    if there is not None and (other := _guarded(there)) != own:
        raise UsageError(
            f"{file} is the hook of another project, {other}, and git runs only one; use "
            f"`runtrue hooks install pre-commit` for both, or remove that one first with "
            f"`runtrue hooks uninstall git {shlex.quote(str(top / other))}`"
        )


def _guarded(script: str) -> str:
    """The project that a script of ours is for, as seen from the top."""
    found = _OURS.fullmatch(script)
    return shlex.split(found[1])[0] if found else ""


def _place(project: Path) -> tuple[Path, Path]:
    """The directory of the hooks, and the top of the working tree."""
    top = _git(project, "rev-parse", "--show-toplevel")
    if top is None:
        raise UsageError(f"{project} is not in a git repository, which a git hook needs")
    scope = _git(project, "config", "--show-scope", "--get", "core.hooksPath")
    if scope and scope.split()[0] not in ("local", "worktree"):
        raise UsageError(
            "core.hooksPath is set for more than this repository, where the hook would act on all "
            f"of them ({scope.split(None, 1)[-1]}); set it for this one first, with "
            "`git config core.hooksPath .git/hooks`"
        )
    # Asked at the top: that is what a relative core.hooksPath is relative to.
    hooks = _git(Path(top), "rev-parse", "--git-path", "hooks") or ""
    return (Path(top) / hooks).resolve(), Path(top).resolve()


def _git(project: Path, *args: str) -> str | None:
    """Return what git prints; None where it fails."""
    try:
        return run_git(*args, cwd=project).rstrip("\n")
    except ForeignRepository:
        raise
    except SandboxError:
        if shutil.which("git") is None:
            raise
        return None
