"""What holds for every test: signals, a time limit, `--fast`, and where servers and files are."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
from collections.abc import Generator, Iterator
from types import FrameType
from typing import NoReturn

import pytest
from hypothesis import HealthCheck, settings

from tests.postgres.fixtures import _database, database_url, postgres
from tests.workflow.mcp.support import MODULES

__all__ = ["_database", "database_url", "postgres"]

# How long an example takes says more about the machine than about the code.
settings.register_profile("runtrue", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("runtrue")

#: Far more than the longest test takes on a busy machine.
LIMIT_SECONDS = 600

#: What a program starts another by.
_STARTS = [
    (subprocess.Popen, "_execute_child"),
    *((os, name) for name in ("fork", "forkpty", "posix_spawn", "posix_spawnp", "system")),
]
_WHY_NOT_FAST = "starts a program: run scripts/test without --fast"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--fast",
        action="store_true",
        help="skip each test that is marked as slow, and each at the first program that it starts",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "slow: takes seconds, though it starts no program")
    _let_children_be_interrupted()
    if config.getoption("--fast"):
        # What a test had opened when it was skipped is nobody's fault.
        for warning in ("ResourceWarning", "pytest.PytestUnraisableExceptionWarning"):
            config.addinivalue_line("filterwarnings", f"ignore::{warning}")
        config.pluginmanager.register(_Fast(), "fast")


def _let_children_be_interrupted() -> None:
    """Give programs that tests start the usual signals.

    A shell lets what it starts in the background ignore SIGINT, as nohup does with SIGHUP, and
    programs pass that on to those that they start. A handler is not passed on.
    """
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda *_: None)


class _Fast:
    """Skips tests at the first program that they start.

    So nobody has to keep a list of them: what is left are those that run in this process.
    """

    _started = False

    def _skip(self, *args: object, **options: object) -> NoReturn:
        self._started = True
        # Others may be waiting for the program, and must not do so for long.
        signal.setitimer(signal.ITIMER_REAL, 1, 1)
        pytest.skip(_WHY_NOT_FAST)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self._started = False
        with pytest.MonkeyPatch.context() as patch:
            for owner, name in _STARTS:
                patch.setattr(owner, name, self._skip)
            try:
                return (yield)
            finally:
                if self._started:
                    # Tasks that were never awaited are reported now, not within another test.
                    gc.collect(1)

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        if item.get_closest_marker("slow"):
            pytest.skip("slow: run scripts/test without --fast")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(self, call: pytest.CallInfo[None]) -> None:
        if self._started:
            # The code under test may have made something else of the exception, or gone on.
            call.excinfo = None if call.when == "teardown" else self._skipped
            signal.setitimer(signal.ITIMER_REAL, LIMIT_SECONDS)

    @property
    def _skipped(self) -> pytest.ExceptionInfo[BaseException]:
        with pytest.raises(pytest.skip.Exception) as skipped:
            pytest.skip(_WHY_NOT_FAST)
        return skipped


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Let no test wait for ever."""

    def time_is_up(number: int, frame: FrameType | None) -> None:
        pytest.fail(f"still running after {LIMIT_SECONDS} s")

    before = signal.signal(signal.SIGALRM, time_is_up)
    signal.setitimer(signal.ITIMER_REAL, LIMIT_SECONDS)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="session")
def npm_servers(pytestconfig: pytest.Config) -> None:
    """The MCP servers from npm, which `scripts/test --fast` does not install."""
    if not (MODULES / "server-everything").is_dir():
        why = "the npm servers are not installed: run scripts/setup-servers"
        (pytest.skip if pytestconfig.getoption("--fast") else pytest.fail)(why)


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
