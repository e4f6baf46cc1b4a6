"""The stand-in for a provider of `runtrue.testing`, as a fixture.

Any folder's conftest can have it: `from tests.models.openai_server import openai_server`.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from runtrue.testing import (
    KEY,
    HangUp,
    ModelServer,
    Raw,
    Refuse,
    Say,
    Script,
    Silence,
    Step,
)
from runtrue.testing import CallTool as Call
from runtrue.testing import ModelRequest as Request

OpenAIServer = ModelServer

__all__ = [
    "KEY",
    "Call",
    "HangUp",
    "OpenAIServer",
    "Raw",
    "Refuse",
    "Request",
    "Say",
    "Script",
    "Silence",
    "Step",
    "openai_server",
]


@pytest.fixture
def openai_server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server
