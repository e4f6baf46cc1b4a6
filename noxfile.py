"""Sessions: `nox` runs all that a change must pass, in the environment that nox itself is in.

scripts/setup and its like (setup-servers, setup-runners, setup-isolation) make that environment;
nothing is installed here, so that every session begins at once, also offline. `nox -s pythons` is
the clean room: there each Python has an environment of its own, made from the pinned requirements.
"""

import sys

import nox

nox.needs_version = ">=2025.2"
nox.options.default_venv_backend = "none"
# A machine need not have every Python we support: use those it has, and fetch none.
nox.options.error_on_missing_interpreters = False
nox.options.download_python = "never"

PYTHONS = ["3.11", "3.12", "3.13", "3.14"]
#: What the fix-then-revalidate loop is made of; its own coverage is reported, too.
LOOP = "src/runtrue/plan/*,src/runtrue/loop/*"


def run(session: nox.Session, module: str, *args: str, **env: str) -> None:
    """Run a module of this environment, whatever lies on the path."""
    session.run(sys.executable, "-m", module, *args, env=env)


@nox.session
def lint(session: nox.Session) -> None:
    """Format and lint."""
    run(session, "ruff", "format", "--check")
    run(session, "ruff", "check")


@nox.session
def types(session: nox.Session) -> None:
    """Check types."""
    run(session, "mypy")


@nox.session
def docs(session: nox.Session) -> None:
    """Build the documentation; a warning is an error."""
    run(session, "zensical", "build", "--strict")


@nox.session
def behave(session: nox.Session) -> None:
    """Run the features; arguments go to behave."""
    run(session, "behave", "--format", "progress2", *(session.posargs or ["features"]))


@nox.session
def robot(session: nox.Session) -> None:
    """Run the Robot suites; arguments go to robot, and its log lies below .nox."""
    run(session, "robot", "--outputdir", session.create_tmp(), *(session.posargs or ["robot"]))


@nox.session
def tests(session: nox.Session) -> None:
    """Run the tests, the features and suites among them; arguments go to pytest."""
    run(session, "coverage", "erase")
    run(session, "coverage", "run", "-m", "pytest", "-n", "auto", *session.posargs)


@nox.session(requires=["tests"])
def coverage_report(session: nox.Session) -> None:
    """Fail if the tests have run too little of runtrue, its processes included."""
    run(session, "coverage", "combine", "--quiet")
    run(session, "coverage", "report", "--include", LOOP)
    run(session, "coverage", "report")


@nox.session(default=False)
def benchmark(session: nox.Session) -> None:
    """Run the benchmarks of ASV on what is checked out; arguments go to `asv run`."""
    session.run("scripts/setup", "bench", external=True)
    # Where ASV keeps what it knows of the machine.
    env = {"HOME": session.create_tmp()}
    asv = (".venv-bench/bin/python", "-m", "asv")
    session.run(*asv, "machine", "--yes", env=env, external=True)
    session.run(*asv, "run", "--python=same", *session.posargs, env=env, external=True)


@nox.session(python=PYTHONS, default=False, venv_backend="uv|virtualenv", reuse_venv=True)
def pythons(session: nox.Session) -> None:
    """Run the tests in a clean environment of each Python; arguments go to pytest."""
    session.install("--require-hashes", "-r", "requirements/dev.txt")
    session.install("--no-deps", "--no-build-isolation", "-e", ".")
    session.run("scripts/setup-servers", external=True)
    session.run("scripts/setup-runners", external=True)
    session.run("scripts/setup-isolation", external=True)
    session.run("pytest", "-n", "auto", *session.posargs)
