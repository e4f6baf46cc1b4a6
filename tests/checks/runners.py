"""The real test runners: how each is called on its sample project, and what it needs."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

PROJECTS = Path(__file__).with_name("projects")
REPORTS = Path(__file__).with_name("reports")
NODE_MODULES = Path(__file__).parents[1] / "runners" / "node_modules"

#: Where Debian's package junit5 has it; its own list of jars leads to all the others.
CONSOLE = Path("/usr/share/java/junit-platform-console-standalone.jar")
_API = ":".join(f"/usr/share/java/{name}.jar" for name in ("junit-jupiter-api", "apiguardian-api"))
_SOURCES = "src/main/java/shop/Total.java src/test/java/shop/TotalTest.java"
#: Compiles and runs without a builder, which would want to download half of Maven's repository.
JUNIT_CONSOLE = (
    f"javac -d target/classes -cp {_API} {_SOURCES}"
    f" && java -jar {CONSOLE} -cp target/classes --scan-classpath --details none"
)


@dataclass(frozen=True)
class Runner:
    """A runner: how it is called, the programs it needs, the npm package if it is one."""

    command: str
    programs: tuple[str, ...] = ()
    package: str | None = None
    files: tuple[Path, ...] = ()

    @property
    def missing(self) -> str | None:
        """Why it cannot be run here."""
        for program in self.programs:
            if shutil.which(program) is None:
                return f"there is no {program} on PATH"
            if not _says_its_version(program):
                return f"{program} is on PATH and cannot say its version"
        for file in self.files:
            if not file.is_file():
                return f"there is no {file} (Debian: apt-get install junit5)"
        if self.package and not (NODE_MODULES / self.package).is_dir():
            return f"tests/runners has no {self.package}: run scripts/setup-runners"
        return None


@cache
def _says_its_version(program: str) -> bool:
    """True for a program that works: rustup's cargo may be there without a toolchain."""
    option = {"go": "version", "java": "-version", "javac": "-version"}.get(program, "--version")
    command = [program, option]
    env = {**os.environ, **environment()}
    done = subprocess.run(command, env=env, capture_output=True, timeout=60, check=False)
    return done.returncode == 0


RUNNERS = {
    "jest": Runner("npx --no-install jest", package="jest"),
    "vitest": Runner("npm test", package="vitest"),
    "mocha": Runner("npm test", package="mocha"),
    "go_test": Runner("go test ./...", ("go",)),
    "cargo_test": Runner("cargo test", ("cargo",)),
    "junit": Runner(JUNIT_CONSOLE, ("javac", "java"), files=(CONSOLE,)),
    "other": Runner("make test", ("make",)),
}
#: Recorded only: what Maven needs is not to be had without a network.
MAVEN = Runner("mvn -B test", ("mvn",))


def require(name: str) -> Runner:
    """A runner, or a skipped test that says what is missing."""
    runner = RUNNERS[name]
    if runner.missing:
        pytest.skip(runner.missing)
    return runner


def environment() -> dict[str, str]:
    """What the runners need of the user's, whose home is not that of the tests."""
    home = Path.home()
    places = {
        "RUSTUP_HOME": home / ".rustup",
        "CARGO_HOME": home / ".cargo",
        # Compiling Go's own library takes longer than all of these tests.
        "GOCACHE": home / ".cache" / "go-build",
    }
    found = {name: os.environ.get(name) or str(path) for name, path in places.items()}
    return {**found, "GOFLAGS": "-mod=mod", "GOTOOLCHAIN": "local"}


def copy_project(name: str, target: Path) -> None:
    """Make `target` the sample project of a runner, with the npm packages linked into it."""
    shutil.copytree(PROJECTS / name, target, dirs_exist_ok=True)
    if (target / "package.json").exists():
        (target / "node_modules").symlink_to(NODE_MODULES)
