from __future__ import annotations

from tests.models.openai_server import openai_server

__all__ = ["openai_server"]
