"""The environment of commands: an allow-list, so that no secret reaches a candidate by default."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from runtrue.errors import SandboxError
from runtrue.redaction import secrets_in
from runtrue.sandbox.git_command import run_git
from runtrue.sandbox.managed_environment import managed_environment

#: Not all that begins so: other machines' variables have been sent along under such names.
_CATEGORIES = (
    *("ALL", "ADDRESS", "COLLATE", "CTYPE", "IDENTIFICATION", "MEASUREMENT", "MESSAGES"),
    *("MONETARY", "NAME", "NUMERIC", "PAPER", "TELEPHONE", "TIME"),
)

ALLOWED = frozenset(
    {
        *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TEMP", "TMP", "TZ", "TERM"),
        *(f"LC_{category}" for category in _CATEGORIES),
        *("LANG", "LANGUAGE", "NO_COLOR", "CI", "SOURCE_DATE_EPOCH"),
        *("VIRTUAL_ENV", "CONDA_PREFIX", "PYENV_ROOT", "PYENV_VERSION", "PYTHONHASHSEED"),
        *("NODE_PATH", "GOPATH", "GOROOT", "GOCACHE", "CARGO_HOME", "RUSTUP_HOME", "JAVA_HOME"),
        *("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"),
        *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "SYSTEMROOT"),
    }
)

#: By which a directory chooses a version of Python.
_PYENV_VERSION = ".python-version"

# Prints what the interpreter would import from inside a directory because of an editable install.
_EDITABLE = """
import json, os, sys, sysconfig
places = list(sys.path)
for module in list(sys.modules.values()):
    mapping = getattr(module, "MAPPING", None)
    if getattr(module, "__name__", "").startswith("__editable__") and isinstance(mapping, dict):
        places += [os.path.dirname(place) for place in mapping.values()]
paths = sysconfig.get_paths()
kinds = ("stdlib", "platstdlib", "purelib", "platlib")
installed = tuple(os.path.join(os.path.realpath(paths[kind]), "") for kind in kinds)
places = [os.path.realpath(place) for place in places if place]
print(json.dumps([p for p in places if not os.path.join(p, "").startswith(installed)]))
"""


def allowed(environment: Mapping[str, str], extra: Iterable[str] = ()) -> dict[str, str]:
    """Return the variables that commands see; `extra` names more that the user allows."""
    wanted = ALLOWED | set(extra)
    return {name: value for name, value in environment.items() if name in wanted}


def own_environment(directory: Path, *, top: Path | None = None) -> Path | None:
    """Return the virtual environment of a project, if it has one; else one above it."""
    return next(_environments(directory, top), None)


def _environments(directory: Path, top: Path | None) -> Iterator[Path]:
    """Yield the virtual environments in a directory and above it, up to the repository's top."""
    above = [directory, *directory.parents]
    if top is None:
        top = next((place for place in above if (place / ".git").exists()), directory)
    for place in above:
        if place.is_relative_to(top):
            yield from (
                own for name in (".venv", "venv") if ((own := place / name) / "bin").is_dir()
            )


def search_path(
    directory: Path,
    path: str,
    behind_shims: str | None = None,
    *,
    top: Path | None = None,
    project: Path | None = None,
) -> str:
    """Return the PATH for commands in `directory`, which is the `project` or its copy.

    Its virtual environment comes first, then one above it, up to the top of its repository, else
    the one that poetry or pipenv keeps for it, then the programs behind shims; runtrue's come last,
    so that a check such as `python -m pytest` works where nothing else provides it.
    """
    places = [str(own / "bin") for own in _environments(directory, top)]
    if not places and (kept := managed_environment(project or directory)):
        places = [str(kept / "bin")]
    places += [behind_shims] if behind_shims else []
    return os.pathsep.join([*places, path, str(Path(sys.executable).parent)])


def find_behind_shims(directory: Path, environment: Mapping[str, str]) -> str | None:
    """Return the directory of the programs that pyenv's shims start; None without shims.

    A shim asks a dozen scripts each time, which takes several times as long as to start Python. A
    version that the project itself names is not followed: it is not to be trusted here.
    """
    found = shutil.which("python", path=environment.get("PATH", os.defpath))
    if found is None or Path(found).parent.name != "shims" or not _is_pyenvs(Path(found)):
        return None
    if any((place / _PYENV_VERSION).exists() for place in (directory, *directory.parents)):
        return None
    python = Path(_output_of(found, "import sys; print(sys.executable)", environment).strip())
    return str(python.parent) if python.is_file() else None


def _is_pyenvs(shim: Path) -> bool:
    try:
        return b"pyenv" in shim.read_bytes()
    except OSError:
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Imports:
    """The PYTHONPATH of the sandbox, and the import paths outside of the project."""

    path: str | None
    outside: tuple[str, ...]


def imports(
    project: Path,
    sandbox: Path,
    environment: Mapping[str, str],
    nested: Iterable[Path] = (),
) -> Imports:
    """Return paths that make Python import the candidate in place of the user's tree.

    An editable install, or the user's PYTHONPATH, may lead into the project; then it must lead into
    the sandbox, or the checks would run the wrong files. `nested` are the virtual environments in
    the project, which may be others than the one on the PATH.
    """
    mine = os.path.realpath(project)
    own = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    users = [os.path.realpath(place) for place in own if place]
    moved, outside = [], []
    found = _import_paths(environment, (mine, os.path.realpath(sandbox)))
    for own_environment in nested:
        found += [one for one in _editable_paths(own_environment) if _is_below(one, (mine,))]
    for place in dict.fromkeys([*users, *found]):
        inside = place == mine or place.startswith(mine + os.sep)
        if inside:
            moved.append(str(sandbox / Path(place).relative_to(mine)))
            continue
        outside.append(place)
        if place in users:
            moved.append(place)
    return Imports(path=os.pathsep.join(moved) or None, outside=tuple(outside))


def _import_paths(environment: Mapping[str, str], own: tuple[str, ...]) -> list[str]:
    """Return Python's import paths; an interpreter in the project, `own`, is never run."""
    for program in ("python", "python3"):
        found = shutil.which(program, path=environment.get("PATH", os.defpath))
        if found is None:
            continue
        place = os.path.realpath(Path(found).parent.parent)
        if _is_below(place, own) or _is_below(os.path.realpath(found), own):
            written = list(_editable_paths(Path(place)))
            # What came with the project may name any place of the user's.
            return [
                one
                for one in written
                if _is_below(one, own) or (_holds_modules(one) and not _is_tracked(Path(place)))
            ]
        try:
            return list(json.loads(_output_of(found, _EDITABLE, environment)))
        except ValueError:  # it prints something else as well
            continue
    return []


def _output_of(python: str, script: str, environment: Mapping[str, str]) -> str:
    try:
        done = subprocess.run(
            # From the root: where it is started must not count.
            [python, "-c", script],
            env=dict(environment),
            cwd="/",
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
    except (OSError, subprocess.SubprocessError, ValueError):
        return ""
    return done.stdout


def _is_below(place: str, places: Iterable[str]) -> bool:
    return any(place == other or place.startswith(other + os.sep) for other in places)


def _editable_paths(environment: Path) -> Iterator[str]:
    """Return the targets of a virtual environment's editable installs, in both styles."""
    for packages in environment.glob("lib*/python*/site-packages"):
        installed = os.path.realpath(packages)
        places = [
            packages / line.strip()
            for file in packages.glob("*.pth")
            for line in file.read_text(errors="replace").splitlines()
            if line.strip() and not line.startswith(("#", "import ", "import\t"))
        ]
        for file in packages.glob("__editable__*.py"):
            places += [Path(place).parent for place in _mapping(file.read_text(errors="replace"))]
        found = [os.path.realpath(place) for place in places if os.path.exists(place)]  # noqa: PTH110
        yield from (place for place in found if not _is_below(place, (installed,)))


def _holds_modules(place: str) -> bool:
    """True for a directory that Python code is imported from, except the home and those above."""
    home = os.path.realpath(Path.home())
    if _is_below(home, (place,)):
        return False
    found = Path(place)
    return any(next(found.glob(one), None) for one in ("*.py", "*/__init__.py", "*/*.py"))


def _mapping(finder: str) -> list[str]:
    """Return the paths in the dictionary of a finder of setuptools."""
    found = re.search(r"^MAPPING\b[^=\n]*= *(\{.*\})", finder, re.MULTILINE)
    try:
        return [str(place) for place in ast.literal_eval(found[1]).values()] if found else []
    except (ValueError, SyntaxError):
        return []


def _is_tracked(directory: Path) -> bool:
    try:
        return bool(run_git("ls-files", "--", str(directory), cwd=directory))
    except SandboxError:
        return False


def secret_variables(
    environment: Mapping[str, str], names: Iterable[str], own: Iterable[Mapping[str, str]]
) -> tuple[dict[str, str], ...]:
    """Return the variables whose values must not leak: those allowed by name, and those of `own`.

    And those that are secrets by their names, which others than commands may get.
    """
    passed_on = {name: environment[name] for name in names if name in environment}
    return secrets_in(environment), *map(_not_public, [passed_on, *own])


def _not_public(variables: Mapping[str, str]) -> dict[str, str]:
    # What all commands get to see anyway is no secret: the paths of half of all messages.
    public = allowed(variables)
    return {name: value for name, value in variables.items() if name not in public}
