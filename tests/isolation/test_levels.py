"""Which level commands run at: the strongest there is, and never less than the minimum."""

from __future__ import annotations

from dataclasses import replace

import pytest

from runtrue.config import IsolationConfig
from runtrue.errors import IsolationError
from runtrue.sandbox.isolation import Isolation, IsolationRecord, Level, choose, level

CONFIG = IsolationConfig()


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> dict[Level, str | None]:
    """What cannot be had on a made-up machine, and why; nothing is tried."""
    reasons: dict[Level, str | None] = dict.fromkeys(Level)
    monkeypatch.setattr(level, "unavailable", lambda one, image=None: reasons[one])
    return reasons


def test_the_strongest_that_there_is_is_taken(machine: dict[Level, str | None]) -> None:
    assert choose(CONFIG) is Level.BUBBLEWRAP
    machine[Level.BUBBLEWRAP] = "there is no program `bwrap`"
    assert choose(CONFIG) is Level.LANDLOCK


def test_less_than_the_minimum_is_refused_with_the_reasons_and_the_remedy(
    machine: dict[Level, str | None],
) -> None:
    machine[Level.BUBBLEWRAP] = "there is no program `bwrap`"
    machine[Level.LANDLOCK] = "this kernel has no Landlock"
    with pytest.raises(IsolationError) as refused:
        choose(CONFIG)
    said = str(refused.value)
    assert "bubblewrap: there is no program `bwrap`; landlock: this kernel has no" in said
    assert "install bubblewrap" in said
    assert '[isolation] minimum = "process"' in said
    assert choose(replace(CONFIG, minimum="process")) is Level.PROCESS


def test_a_level_that_is_asked_for_is_taken_unless_it_is_too_weak(
    machine: dict[Level, str | None],
) -> None:
    assert choose(CONFIG, "landlock") is Level.LANDLOCK
    assert choose(replace(CONFIG, level="landlock")) is Level.LANDLOCK
    assert choose(replace(CONFIG, level="docker", image="python")) is Level.DOCKER
    with pytest.raises(IsolationError, match="process is weaker than the minimum, landlock"):
        choose(CONFIG, "process")
    with pytest.raises(IsolationError, match=r"no isolation 'jail'; available: process, landlock"):
        choose(CONFIG, "jail")
    machine[Level.LANDLOCK] = "this kernel has no Landlock"
    with pytest.raises(IsolationError, match="landlock is not available here: this kernel has no"):
        choose(CONFIG, "landlock")


def test_where_nothing_can_be_had_that_is_said(machine: dict[Level, str | None]) -> None:
    machine.update(dict.fromkeys(Level, "this is no Linux"))
    with pytest.raises(IsolationError, match="so nothing is run: use a Linux machine"):
        choose(CONFIG)


def test_the_level_is_settled_once_and_kept(machine: dict[Level, str | None]) -> None:
    settled = Isolation.of(CONFIG, {"RUNTRUE_ISOLATION": "landlock"})
    assert settled.record == IsolationRecord("landlock", ())
    machine[Level.LANDLOCK] = "this kernel has no Landlock"
    with pytest.raises(IsolationError, match="is not available here"):
        Isolation(settled.config).box()


def test_this_machine_has_what_the_test_command_installs() -> None:
    assert choose(CONFIG) is Level.BUBBLEWRAP
    assert level.unavailable(Level.LANDLOCK) is None
    assert level.unavailable(Level.PROCESS) is None
