"""The interpreter of a Python project, and what can be imported in it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from runtrue.sandbox import allowed, search_path
from runtrue.trust import why_not_own

_ENVIRONMENTS = (".venv", "venv")


@dataclass(frozen=True, slots=True)
class Interpreter:
    """How a command names the interpreter, and the program that this is."""

    name: str
    program: str | None
    project: Path

    def has(self, module: str) -> bool:
        """True if a module is known to be importable."""
        places = _places(self.program, self.project)
        return places is not None and _is_in(places, module)

    def lacks(self, module: str) -> bool:
        """True if a module is known not to be importable."""
        places = _places(self.program, self.project)
        return places is not None and not _is_in(places, module)


def interpreter_of(project: Path, directory: Path) -> Interpreter:
    """Return the interpreter for commands that run in a directory of a project.

    The environment of a directory below is named by its path: only the project's comes first on
    the PATH of commands.
    """
    if directory != project:
        for name in _ENVIRONMENTS:
            program = directory / name / "bin" / "python"
            if program.exists():
                return Interpreter(f"{name}/bin/python", str(program), project)
    path = search_path(project, os.environ.get("PATH", os.defpath))
    # Debian has only `python3`. What is last on the path is runtrue's, for want of any other.
    users = path.rpartition(os.pathsep)[0]
    is_python = shutil.which("python", path=users) or not shutil.which("python3", path=users)
    name = "python" if is_python else "python3"
    return Interpreter(name, shutil.which(name, path=path), project)


def _is_in(places: tuple[Path, ...], module: str) -> bool:
    path = module.replace(".", "/")
    return any(
        (place / f"{path}.py").is_file()
        or (place / path).is_dir()
        or any(True for _ in place.glob(f"{path}.*.so"))
        for place in places
    )


@lru_cache(maxsize=8)
def _places(program: str | None, project: Path) -> tuple[Path, ...] | None:
    """Return where an interpreter looks for installed modules; None if that is not known.

    One in a virtual environment, or in the project, may have come with it, and is never run.
    """
    if program is None:
        return None
    environment = Path(program).parent.parent
    if (environment / "pyvenv.cfg").is_file():
        return tuple(_site_packages(environment, project))
    return _asked(program, project)


def _site_packages(environment: Path, project: Path) -> Iterator[Path]:
    for place in sorted(environment.glob("lib*/python*/site-packages")):
        yield place
        for file in sorted(place.glob("*.pth")):
            for line in file.read_text(errors="replace").splitlines():
                if line.strip() and not line.startswith(("#", "import ", "import\t")):
                    yield place / line.strip()
    try:
        settings = (environment / "pyvenv.cfg").read_text(errors="replace")
    except OSError:
        return
    values = {
        key.strip(): value.strip()
        for key, is_set, value in (line.partition("=") for line in settings.splitlines())
        if is_set
    }
    if values.get("include-system-site-packages") == "true" and (base := values.get("home")):
        yield from _asked(str(Path(base, "python3")), project) or ()


def _asked(program: str, project: Path) -> tuple[Path, ...] | None:
    """Return the import paths of an interpreter of this machine; None if it does not say."""
    if _came_along(Path(program), project) or why_not_own(Path(program)) is not None:
        return None
    try:
        done = subprocess.run(
            [program, "-c", "import json, sys; print(json.dumps(sys.path))"],
            cwd="/",
            env=allowed(os.environ),
            capture_output=True,
            text=True,
            timeout=20,
            check=True,
        )
        return tuple(Path(place) for place in json.loads(done.stdout) if place)
    except (OSError, subprocess.SubprocessError, ValueError):
        return None


def _came_along(program: Path, project: Path) -> bool:
    """Return whether a program is, or leads to, a file of the project or of its repository."""
    above = (project, *project.parents)
    top = next((place for place in above if (place / ".git").exists()), project).resolve()
    return any(place.is_relative_to(top) for place in (program.absolute(), program.resolve()))
