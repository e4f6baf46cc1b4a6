"""Hostile code, run as everything that runtrue runs is, does no harm at any level that says so."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from runtrue.sandbox.isolation import Level, unavailable
from runtrue.sandbox.isolation.box import View
from runtrue.sandbox.isolation.landlock import Cell
from tests.isolation.arena import Arena
from tests.isolation.attack import LEVELS, Attack
from tests.isolation.attacks import ATTACKS, NEED_NAMESPACES
from tests.isolation.attacks.files import FILES
from tests.isolation.attacks.network import NETWORK
from tests.isolation.attacks.secrets import SECRETS
from tests.isolation.ordinary import ROOT, as_nobody

#: What an ordinary user may do, or is kept from, by other means than root.
ORDINARY = " or ".join(
    (
        *("private", "passwords", "handles", "mounting", "capabilities", "devices", "settings"),
        *("setuid", "terminal", "bomb", "threads", "name", "lifting", "daemon", "signals"),
        *("tracing", "abstract", "variables", "keys", "server", "toml", "links-", "seeing"),
    )
)

#: What is not promised at a level is not tried there: it would succeed. The table lists it.
CASES = [
    pytest.param(attack, level, id=f"{attack.group}-{attack.name}-{level}")
    for attack in ATTACKS
    for level in LEVELS
    if level in attack.promised
]
#: Those of them that the rules of the kernel and its filter have to stop by themselves, where the
#: kernel gives users no namespaces.
ALONE = [
    attack
    for group in (FILES, NETWORK, SECRETS)
    for attack in group.attacks
    if Level.LANDLOCK in attack.promised
    and attack.name not in NEED_NAMESPACES
    # A process of its own, which would have namespaces.
    and "repaired" not in attack.name
]


@pytest.fixture
def arena(tmp_path: Path, level: Level) -> Iterator[Arena]:
    if reason := unavailable(level):
        pytest.skip(f"{level} is not available here: {reason}")
    made = Arena(tmp_path, level)
    yield made
    made.close()


@pytest.mark.parametrize(("attack", "level"), CASES)
def test_an_attack_does_no_harm(arena: Arena, attack: Attack) -> None:
    attack.body(arena)


@pytest.mark.parametrize("attack", ALONE, ids=lambda attack: attack.name)
@pytest.mark.parametrize("level", [Level.LANDLOCK])
def test_landlock_without_namespaces_keeps_what_it_says(
    arena: Arena, attack: Attack, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Cell.of

    def alone(level: str, view: View) -> Cell:
        return replace(made(level, view), namespaces=False)

    monkeypatch.setattr(Cell, "of", alone)
    attack.body(arena)


def test_every_attack_has_a_name_of_its_own_and_is_stopped_somewhere() -> None:
    names = [attack.name for attack in ATTACKS]
    assert len(names) == len(set(names)) >= 60
    assert set(names) >= NEED_NAMESPACES
    assert all(Level.BUBBLEWRAP in attack.promised for attack in ATTACKS)


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user runs all of it already")
def test_the_attacks_do_no_harm_to_an_ordinary_user_either(tmp_path: Path) -> None:
    """Some of each group, run by somebody who is not root."""
    done = as_nobody(
        [
            *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"),
            *(f"{ROOT}/tests/isolation/test_attacks.py", "-k", ORDINARY),
        ],
        tmp_path,
    )
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout
    assert "skipped" not in done.stdout
