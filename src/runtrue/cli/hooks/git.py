"""Git: a `pre-commit` script among the repository's hooks."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

from runtrue.cli.hooks.arranged import Arranged, own_program, read, write
from runtrue.errors import HostError, UsageError

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
    """The hook that git runs before a commit is made; what it refuses is not committed."""

    def install(self, project: Path) -> Arranged:
        """Write the hook, unless there is another one."""
        file, top = _place(project)
        program = own_program()
        # Git runs it at the top, in whichever working tree.
        own = project.relative_to(top).as_posix()
        text = _SCRIPT.format(
            mark=_MARK,
            program=shlex.quote(program[0]),
            words=shlex.join(program),
            project=shlex.quote(own),
        )
        there = read(file)
        if there == text:
            return Arranged(False, f"{file} is the hook already")
        if there is not None and not _OURS.fullmatch(there):
            command = shlex.join([*program, "gate", "--hook", "git"])
            raise UsageError(
                f"{file} is a hook of somebody else's, so it is left alone; add this line to it: "
                f"{command} || exit 1 (or, where it is pre-commit's, use --install pre-commit)"
            )
        if there is not None and (other := _guarded(there)) != own:
            raise UsageError(
                f"{file} is the hook of another project, {other}, and git has but one; use "
                f"--install pre-commit for both, or take that one back first with "
                f"`runtrue gate --uninstall git -- {shlex.quote(str(top / other))}`"
            )
        write(file, text, mode=0o755)
        return Arranged(
            True,
            f"wrote {file}: git commits when `runtrue gate` lets it (`git commit --no-verify` goes "
            "around it); take it back with `runtrue gate --uninstall git`",
        )

    def remove(self, project: Path) -> Arranged:
        """Remove the hook, if it is ours and nobody has edited it."""
        file, top = _place(project)
        there = read(file)
        if there is None or _MARK not in there:
            return Arranged(False, f"{file} is not runtrue's, or not there")
        if not _OURS.fullmatch(there):
            raise UsageError(
                f"{file} was edited since it was installed, so it is left alone; take out of it "
                "the lines with `runtrue gate`"
            )
        other = _guarded(there)
        if other != project.relative_to(top).as_posix():
            return Arranged(False, f"{file} is the hook of another project, {other}, and stays")
        file.unlink()
        return Arranged(True, f"removed {file}")


def _guarded(script: str) -> str:
    """The project that a script of ours is for, as seen from the top."""
    found = _OURS.fullmatch(script)
    return shlex.split(found[1])[0] if found else ""


def _place(project: Path) -> tuple[Path, Path]:
    """The hook's file, and the top of the working tree."""
    top = _git(project, "rev-parse", "--show-toplevel")
    if top is None:
        raise UsageError(f"{project} is in no git repository, which is where the hook would go")
    scope = _git(project, "config", "--show-scope", "--get", "core.hooksPath")
    if scope and scope.split()[0] not in ("local", "worktree"):
        raise UsageError(
            "core.hooksPath is set for more than this repository, where the hook would act on all "
            f"of them ({scope.split(None, 1)[-1]}); set it for this one first, with "
            "`git config core.hooksPath .git/hooks`"
        )
    # Asked at the top: that is what a relative core.hooksPath is relative to.
    hooks = _git(Path(top), "rev-parse", "--git-path", "hooks") or ""
    return (Path(top) / hooks).resolve() / "pre-commit", Path(top).resolve()


def _git(project: Path, *args: str) -> str | None:
    """Return what git prints, with the user's settings; None where it fails."""
    try:
        done = subprocess.run(
            ["git", *args], cwd=project, capture_output=True, text=True, check=False
        )
    except OSError as error:
        raise HostError(f"git cannot be run ({error.strerror}); install git") from error
    return done.stdout.rstrip("\n") if done.returncode == 0 else None
