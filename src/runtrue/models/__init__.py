"""The one door to language models: ask a question, get text or data that fits a schema.

Begin at `open_model`. The library behind it is imported when a model is opened, never before.
"""

from runtrue.models.answer import ModelAnswer, Usage
from runtrue.models.errors import (
    BadCredentials,
    BadOutput,
    ModelError,
    ModelUnavailable,
    NoAnswer,
    RequestRejected,
)
from runtrue.models.fence import fence
from runtrue.models.model import Model, open_model
from runtrue.models.providers import model_name

__all__ = [
    "BadCredentials",
    "BadOutput",
    "Model",
    "ModelAnswer",
    "ModelError",
    "ModelUnavailable",
    "NoAnswer",
    "RequestRejected",
    "Usage",
    "fence",
    "model_name",
    "open_model",
]
