"""Progress where there is no terminal: plain lines, and a word about what takes long."""

from __future__ import annotations

import threading

import pytest

from runtrue.cli.progress import _Lines


def test_what_takes_long_is_named_until_it_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    twice = threading.Event()

    def echo(text: str, err: bool, nl: bool) -> None:
        said.append(text)
        if len(said) == 2:
            twice.set()

    monkeypatch.setattr("click.echo", echo)
    display = _Lines(patience=0.01)
    display.doing("attempt 1 of 3: pytest")
    assert twice.wait(30)
    display.line("  pytest: passed")
    assert said[0].startswith("  attempt 1 of 3: pytest: still running after")
    assert any(text.startswith("  pytest: passed") for text in said)
