from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

# How long an example takes says more about the machine than about the code.
settings.register_profile("runtrue", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("runtrue")


@pytest.fixture(scope="session", autouse=True)
def loopback_is_allowed() -> Iterator[None]:
    """The servers of tests are on loopback, which workflows may reach only if a user says so."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RUNTRUE_ALLOW_LOOPBACK", "1")
        yield


@pytest.fixture(scope="session", autouse=True)
def commands_may_write_where_tests_look(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[None]:
    """Agents and checks of tests leave there what tests look at; how they are confined is told by
    the tests of isolation."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RUNTRUE_ISOLATION_WRITE", str(tmp_path_factory.getbasetemp()))
        yield
