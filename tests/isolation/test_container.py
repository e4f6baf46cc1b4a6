"""Containers: what an engine is asked to do, with a stand-in for it that does it on the machine."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from runtrue import process
from runtrue.config import IsolationConfig
from runtrue.errors import IsolationError
from runtrue.sandbox.isolation import Isolation, choose, level

#: It knows one image, and runs commands as they are; all that it is told is written down.
ENGINE = """#!/bin/sh
echo "$@" >>"$0.log"
case "$1 $2" in
    "info ") exit 0 ;;
    "image inspect") [ "$3" = known ] ;;
    "rm --force") exit 0 ;;
    "run "*)
        until [ "$1" = known ]; do shift; done
        shift
        exec "$@"
        ;;
    *) exit 125 ;;
esac
"""


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    program = tmp_path / "bin" / "podman"
    program.parent.mkdir()
    program.write_text(ENGINE)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    level.unavailable.cache_clear()
    yield program
    level.unavailable.cache_clear()


def test_a_command_is_run_in_the_image_with_nothing_but_its_places(
    engine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GREETING", "hello")
    sandbox, other = tmp_path / "sandbox", tmp_path / "other"
    sandbox.mkdir()
    other.mkdir()
    isolation = Isolation(IsolationConfig(level="podman", image="known"))
    ended = asyncio.run(
        process.run(
            ["sh", "-c", "echo $GREETING $DOCKER_CONFIG; exit 3"],
            cwd=sandbox,
            env={
                **{name: os.environ[name] for name in ("GREETING", "PATH")},
                **{"HOME": str(tmp_path), "DOCKER_CONFIG": "/of/a/project"},
            },
            timeout=60,
            confinement=isolation.box(write=(sandbox,), read=(other,)),
        )
    )
    assert (ended.exit_code, ended.stdout.text) == (3, "hello\n")
    *_, run, removed = Path(f"{engine}.log").read_text().splitlines()
    asked = run.split()
    name = asked[asked.index("--name") + 1]
    assert removed == f"rm --force {name}"
    for words in (
        *("--rm", "--read-only", "--cap-drop ALL", "--network none", "--pids-limit 1024"),
        *("--memory 4096m", "--security-opt no-new-privileges", f"--volume {sandbox}:{sandbox}"),
        *(f"--volume {other}:{other}:ro", "--env GREETING", f"--workdir {sandbox}"),
    ):
        assert f" {words} " in f" {run} "
    assert "--env PATH" not in run
    assert "hello" not in run, "what a variable holds is not for everybody who lists processes"
    assert " --env DOCKER_CONFIG=/of/a/project " in run, "and not for the engine's client to obey"


@pytest.mark.parametrize(
    ("image", "reason"),
    [(None, "no image is set"), ("other", "no image other here; get it with `podman pull")],
)
def test_without_the_image_that_is_said(engine: Path, image: str | None, reason: str) -> None:
    with pytest.raises(IsolationError, match=reason):
        choose(IsolationConfig(level="podman", image=image))


def test_without_an_engine_that_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    level.unavailable.cache_clear()
    with pytest.raises(IsolationError, match="there is no program `podman`"):
        choose(IsolationConfig(level="podman", image="known"))
    level.unavailable.cache_clear()


def test_hosts_cannot_be_allowed_there(engine: Path, tmp_path: Path) -> None:
    config = IsolationConfig(level="podman", image="known", network=("example.org:443",))
    with pytest.raises(IsolationError, match="network is not seen to by podman"):
        asyncio.run(
            process.run(
                ["true"],
                cwd=tmp_path,
                env=dict(os.environ),
                timeout=60,
                confinement=Isolation(config).box(),
            )
        )
