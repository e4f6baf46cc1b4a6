"""Field repair without a model: which of the names that are really there was meant.

A workflow guesses where a value sits in a response, and the path is missing. What is there is
ranked by names, synonyms, the shape of values and the user's words; where nothing is convincing,
no confidence reaches SURE.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtrue._lazy import lazy_exports

if TYPE_CHECKING:
    from runtrue.fields.rank import SURE, Ranked, rank_names, rank_paths

__all__ = lazy_exports(__name__)
