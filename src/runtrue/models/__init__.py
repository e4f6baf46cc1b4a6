"""The one door to language models: ask a question, get text or data that fits a schema.

Begin at `open_model`. The library behind it is imported when a model is opened, never before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtrue._lazy import lazy_exports

if TYPE_CHECKING:
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
    from runtrue.models.model import Model, has_known_price, open_model
    from runtrue.models.patient import PatientModel
    from runtrue.models.providers import Endpoint, Provider, model_name

__all__ = lazy_exports(__name__)
