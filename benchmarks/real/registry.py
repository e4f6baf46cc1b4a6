"""Packages from their registries, by name and version, kept in a cache outside of the repository.

Each is unpacked into a folder of its own, which is there as a whole or not at all: an interrupted
download leaves nothing behind that the next one would trust.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

from benchmarks.real.manifest import Language

#: What builds most sdists. pip asks for a package's metadata even where it only downloads.
BACKENDS = (
    *("setuptools<81", "wheel", "setuptools-scm", "hatchling", "hatch-vcs", "flit-core"),
    *("poetry-core", "pdm-backend", "pbr"),
)
PIP = next((Path(__file__).parent.parent.parent / "scripts" / "vendor").glob("pip-*.whl")) / "pip"
#: What a download or an installation may take, in seconds.
LIMIT = 600.0


class SetUpError(Exception):
    """A package could not be downloaded, unpacked or installed."""


def cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base, "runtrue-bench-real")


def versions(language: Language, package: str) -> list[str]:
    """Return the versions of a package without pre-releases, the newest first."""
    if language == "python":
        out = run([*pip(tools()), "-v", "index", "versions", package], None)
        found = re.search(r"^Available versions: (.*)$", out, re.MULTILINE)
        listed = found[1].split(", ") if found else []
    else:
        answer = json.loads(run(["npm", "view", package, "versions", "--json"], None))
        listed = list(reversed(answer if isinstance(answer, list) else [answer]))
    return [one for one in listed if re.fullmatch(r"v?[\d.]+", one)]


def unpacked(language: Language, package: str, version: str) -> Path:
    """Return the folder with a version's files, downloaded if need be."""
    kind = "pypi" if language == "python" else "npm"
    folder = cache() / kind / f"{package.replace('/', '+')}-{version}"
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as name:
        archive = _download(language, package, version, Path(name))
        content = Path(name, "content")
        _unpack(archive, content)
        inner = list(content.iterdir())
        tree = inner[0] if len(inner) == 1 and inner[0].is_dir() else content
        tree.rename(folder)
    return folder


def _download(language: Language, package: str, version: str, folder: Path) -> Path:
    if language == "python":
        command = ["download", "--no-deps", "--no-binary", package, "-d", str(folder)]
        what = f"{package}=={version}"
        try:
            run([*pip(tools()), *command, "--no-build-isolation", what], None)
        except SetUpError:
            run([*pip(tools()), *command, what], None)  # with the backend that it asks for
    else:
        where = ["--pack-destination", str(folder)]
        run(["npm", "pack", "--silent", f"{package}@{version}", *where], folder)
    archives = [file for file in folder.iterdir() if file.is_file()]
    if len(archives) != 1:
        raise SetUpError(f"{package} {version}: {len(archives)} archives instead of one")
    return archives[0]


def _unpack(archive: Path, folder: Path) -> None:
    try:
        if archive.suffix == ".zip":
            with zipfile.ZipFile(archive) as zipped:
                zipped.extractall(folder)  # noqa: S202  # it refuses to leave the folder
        else:
            with tarfile.open(archive) as packed:
                packed.extractall(folder, filter="data")
    except (tarfile.TarError, zipfile.BadZipFile, OSError) as error:
        raise SetUpError(f"{archive.name}: {error}") from None


def tools() -> Path:
    """Return the Python that downloads, with the usual build backends."""
    folder = cache() / "tools"
    python = folder / "bin" / "python"
    if not (folder / ".ready").exists():
        shutil.rmtree(folder, ignore_errors=True)
        make_environment(folder)
        run([*pip(python), "install", *BACKENDS], None)
        (folder / ".ready").touch()
    return python


def make_environment(folder: Path) -> None:
    base = getattr(sys, "_base_executable", sys.executable)
    run([base, "-m", "venv", "--without-pip", str(folder)], None)


def pip(python: Path) -> list[str]:
    """Return the command of a pip that works on this Python's environment."""
    return [sys.executable, str(PIP), "--python", str(python), "--disable-pip-version-check", "-q"]


def run(command: list[str], folder: Path | None, limit: float = LIMIT) -> str:
    """Return what a command prints; raises SetUpError with its last lines where it fails."""
    environment = {
        k: v for k, v in os.environ.items() if not k.startswith("PYTHON") and k != "VIRTUAL_ENV"
    }
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=limit,
            check=False,
        )
    except (subprocess.TimeoutExpired, OSError) as error:
        raise SetUpError(str(error)) from None
    if done.returncode != 0:
        last = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()][-3:]
        raise SetUpError(f"{' '.join(command[-3:])}: {' / '.join(last)[:300]}")
    return done.stdout
