"""Sessions for a clean room: each has its own environment, made from the pinned requirements.

Day to day, scripts/test and scripts/check do the same in .venv and are faster.
"""

import nox

nox.needs_version = ">=2024.4"
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.reuse_existing_virtualenvs = True
# A machine need not have every Python we support: use those it has, and fetch none.
nox.options.error_on_missing_interpreters = False
nox.options.download_python = "never"

PYTHONS = ["3.11", "3.12", "3.13"]


def install(session: nox.Session, requirements: str = "dev") -> None:
    session.install("--require-hashes", "-r", f"requirements/{requirements}.txt")
    session.install("--no-deps", "--no-build-isolation", "-e", ".")


def install_servers(session: nox.Session) -> None:
    """The servers that tests talk to, which the scripts install for all."""
    session.run("scripts/setup", external=True)
    session.run("scripts/setup-servers", external=True)


@nox.session
def lint(session: nox.Session) -> None:
    """Format and lint."""
    install(session)
    session.run("ruff", "format", "--check")
    session.run("ruff", "check")


@nox.session
def typecheck(session: nox.Session) -> None:
    """Check types."""
    install(session)
    session.run("mypy")


@nox.session(python=PYTHONS)
def unit_tests(session: nox.Session) -> None:
    """Run the tests; arguments go to pytest."""
    install(session)
    install_servers(session)
    session.run("pytest", "-n", "auto", *session.posargs)


@nox.session
def docs(session: nox.Session) -> None:
    """Build the documentation; a warning is an error."""
    install(session)
    session.run(
        *("mkdocs", "build", "--strict", "--site-dir", session.create_tmp()),
        env={"NO_MKDOCS_2_WARNING": "1"},
    )


@nox.session
def coverage_report(session: nox.Session) -> None:
    """Run the tests and fail if too little of runtrue was run, its processes included."""
    install(session)
    install_servers(session)
    session.run("coverage", "erase")
    session.run("coverage", "run", "-m", "pytest", "-n", "auto", *session.posargs)
    session.run("coverage", "combine", "--quiet")
    session.run("coverage", "report")


@nox.session(default=False)
def benchmark(session: nox.Session) -> None:
    """Run the named benchmarks; without a name, list them."""
    install(session, "bench")
    session.run("python", "-m", "benchmarks", *session.posargs)
