"""A project as a developer has it: a git repository with its environment beside the source.

`python -m benchmarks.real.project --to FOLDER ITEM…` leaves projects with their bug there, and the
upstream fix beside each as a patch.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.real.hunks import hunks_between, pick, revert, source_of
from benchmarks.real.manifest import Item, load
from benchmarks.real.registry import SetUpError, cache, make_environment, pip, run, unpacked

#: What a project's own .gitignore would name; packages from a registry mostly have none.
IGNORED = "\n".join(
    (
        *(".venv/", "node_modules/", "*.egg-info/", "__pycache__/", ".pytest_cache/", "build/"),
        *(".nyc_output/", "coverage/", ".tap/", ".hypothesis/"),
    )
)
READY = ".git/environment-is-ready"
_TEST = re.compile(
    r"(^|/)(tests?|testing|spec|__tests__)/|(^|/)(test_[^/]*|[^/]*_test|tests?|conftest)\.py$"
    r"|[.-](test|spec)\.[cm]?[jt]s$|^tests?\.[cm]?js$",
)


def is_test(path: str) -> bool:
    """True if a file of a package is one of its tests, by its name."""
    return _TEST.search(path) is not None


def build(item: Item, folder: Path) -> None:
    """Make the project of version N with its environment, unless it is there; the fix included."""
    if (folder / READY).exists():
        reset(folder)
        return
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    shutil.copytree(unpacked(item.language, item.package, item.version), folder, symlinks=True)
    if item.language == "python":
        install_python(item, folder, "--no-deps", *item.install)
    else:
        install_node(folder, item.before)
    commit_all(folder)
    (folder / READY).touch()


def install_python(item: Item, folder: Path, *packages: str) -> None:
    """Make the project's environment, with these packages and the project itself.

    What `pip install -e` writes for a project without compiled parts is written here: calling the
    project's build backend would take longer than all the rest.
    """
    environment = folder / ".venv"
    template = _environment_with(packages)
    shutil.copytree(template, environment, symlinks=True)
    for program in (environment / "bin").iterdir():
        if program.is_file() and not program.is_symlink():
            text = program.read_bytes().replace(str(template).encode(), str(environment).encode())
            program.write_bytes(text)
    name = re.sub(r"[^\w.]+", "_", item.package)
    site = next(environment.glob("lib/python*/site-packages"))
    source = folder / "src" if (folder / "src").is_dir() else folder
    (site / f"__editable__.{name}-{item.version}.pth").write_text(f"{source}\n")
    metadata = site / f"{name}-{item.version}.dist-info"
    metadata.mkdir(exist_ok=True)  # another package may need it
    shutil.copy(folder / "PKG-INFO", metadata / "METADATA")
    (metadata / "INSTALLER").write_text("pip\n")
    (metadata / "RECORD").write_text("")


def _environment_with(packages: Sequence[str]) -> Path:
    """Return an environment with these packages, to copy from: many projects need the same."""
    name = hashlib.sha256("\n".join(sorted(packages)).encode()).hexdigest()[:16]
    folder = cache() / "environments" / name
    if not (folder / ".ready").exists():
        shutil.rmtree(folder, ignore_errors=True)
        make_environment(folder)
        run([*pip(folder / "bin" / "python"), "install", *packages], None)
        (folder / ".ready").touch()
    return folder


def install_node(folder: Path, before: str) -> None:
    """Install what package.json names, as of a day."""
    quiet = ["--no-audit", "--no-fund", "--ignore-scripts", "--legacy-peer-deps", "--no-save"]
    dated = [f"--before={before}"] if before else []
    run(["npm", "install", "--no-package-lock", *quiet, *dated], folder)


def commit_all(folder: Path) -> None:
    """Make the folder a git repository with all that is there and not ignored."""
    git(folder, "init", "-q", "-b", "main")
    (folder / ".git" / "info").mkdir(exist_ok=True)
    (folder / ".git" / "info" / "exclude").write_text(IGNORED + "\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "as published", "--allow-empty")
    git(folder, "tag", "-f", "published")


def reset(folder: Path) -> None:
    """Put every file back to what was published; the environment stays."""
    git(folder, "checkout", "-q", "-f", "-B", "main", "published")
    git(folder, "clean", "-q", "-f", "-d")


def plant(item: Item, folder: Path) -> None:
    """Put the bug in, and commit it."""
    file = folder / item.file
    file.write_bytes(broken(item, source_of(file)).encode())
    git(folder, "commit", "-q", "-a", "-m", "as before the fix")


def broken(item: Item, published: str) -> str:
    """Return the item's file with the bug."""
    before = unpacked(item.language, item.package, item.previous) / item.file
    hunks = hunks_between(item.file, source_of(before), published)
    return revert(published, pick(hunks, item.hunks))


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=bench", "-c", "user.email=bench@localhost")
    settings = (*identity, "-c", "commit.gpgsign=false", "-c", "core.autocrlf=false")
    done = subprocess.run(
        ["git", *settings, *arguments], cwd=folder, check=True, capture_output=True
    )
    return done.stdout.decode("utf-8", "replace")


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.real.project", description=__doc__)
    parser.add_argument("items", nargs="*", metavar="ITEM", help="all, if none is named")
    parser.add_argument("--to", type=Path, required=True, metavar="FOLDER")
    arguments = parser.parse_args()
    for item in load():
        if arguments.items and item.id not in arguments.items:
            continue
        folder = arguments.to / item.id
        try:
            build(item, folder)
            plant(item, folder)
        except (SetUpError, LookupError, OSError) as error:
            print(f"{item.id}: {error}", file=sys.stderr)
            continue
        patch = git(folder, "diff", "main", "published")
        (arguments.to / f"{item.id}.UPSTREAM.patch").write_bytes(patch.encode())
        print(folder, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
