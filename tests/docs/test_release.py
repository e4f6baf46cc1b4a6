"""What is published: a wheel and a source archive that hold what they must, installed elsewhere."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
import yaml

from runtrue import __version__

from .pages import DOCS, ROOT, region
from .sessions import SESSIONS, commands_of, normalised, play


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", str(target)],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    return target


def test_the_wheel_has_the_package_and_nothing_else(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert {name.partition("/")[0] for name in names} == {
        "runtrue",
        f"runtrue-{__version__}.dist-info",
    }
    for needed in ("py.typed", "workflow/schema.json", "fields/vectors.bin"):
        assert f"runtrue/{needed}" in names


def test_the_source_archive_can_be_built_and_tested(built: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", "mkdocs.yml"} <= names
    assert {"src/runtrue/__init__.py", "tests/docs/cast.py", "docs/tutorial.md"} <= names


@pytest.fixture(scope="module")
def installed(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel, as `uvx` or `pipx` make it.

    What it depends on is taken from this environment.
    """
    (wheel,) = built.glob("*.whl")
    venv = tmp_path_factory.mktemp("installed") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    (site,) = venv.glob("lib/python*/site-packages")
    (pip,) = (ROOT / "scripts" / "vendor").glob("pip-*.whl")
    install = [str(pip / "pip"), "install", "--no-deps", "--no-index", "--quiet", str(wheel)]
    subprocess.run([str(venv / "bin" / "python"), *install], check=True)
    others = [path for path in sys.path if path.endswith("site-packages")]
    # Without the editable installation of this checkout, which a path configuration file adds.
    (site / "others.py").write_text(f"import sys; sys.path += {others!r}\n")
    (site / "others.pth").write_text("import others\n")
    return venv


def test_the_wheel_runs_in_an_environment_of_its_own(installed: Path, tmp_path: Path) -> None:
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}

    def run(*words: str) -> str:
        done = subprocess.run(
            [str(installed / "bin" / "runtrue"), *words],
            cwd=tmp_path,
            env=env,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    assert run("--version") == f"runtrue {__version__}\n"
    assert "Prove code:" in run("--help")
    assert '"title": "Plan file"' in run("config", "schema", "plan")
    where = "import runtrue; print(runtrue.__file__)"
    found = subprocess.run(
        [str(installed / "bin" / "python"), "-c", where],
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )
    assert str(installed) in found.stdout


@pytest.mark.parametrize("part", ["fix", "gate", "workflow"])
def test_the_tutorial_runs_as_printed_from_the_wheel(
    part: str, installed: Path, tmp_path: Path
) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "runtrue").symlink_to(installed / "bin" / "runtrue")
    session = SESSIONS[f"tutorial-{part}"]
    shown = region((DOCS / "tutorial.md").read_text(encoding="utf-8"), f"tutorial-{part}")
    printed = f"```console\n{play(session, commands_of(shown), programs=programs)}```\n"
    assert normalised(printed) == normalised(shown)


def test_what_is_not_tagged_is_not_released() -> None:
    done = subprocess.run(
        [ROOT / "scripts" / "release"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    reasons = (f"HEAD has no tag v{__version__}", "commit or remove what is not committed")
    assert any(reason in done.stderr for reason in reasons), done.stderr


def test_the_services_of_the_compose_file_run_commands_that_there_are() -> None:
    services = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]
    own = {name: service for name, service in services.items() if name != "database"}
    assert own.keys() == {"migrate", "worker"}
    for name, service in own.items():
        argv = [sys.executable, "-m", "runtrue", *service["command"], "--help"]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (name, done.stderr)
        assert service["environment"]["RUNTRUE_DATABASE"].startswith("postgresql://")
        assert service["image"] == services["migrate"]["image"]
    assert "ARG EXTRAS" in (ROOT / "Containerfile").read_text()
