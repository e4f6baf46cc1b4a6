from __future__ import annotations

import pytest

from runtrue.models import open_model
from runtrue.planner.model import ModelWorkflowGenerator
from tests.models.openai_server import OpenAIServer, openai_server

__all__ = ["openai_server"]


@pytest.fixture
def generator(openai_server: OpenAIServer) -> ModelWorkflowGenerator:
    return ModelWorkflowGenerator(open_model("openai:gpt-4o", openai_server.environment))
