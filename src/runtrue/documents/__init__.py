"""Documents that people write: YAML, JSON and TOML as data, with the line of every mistake.

`document` reads and writes them, `plain` limits what they may hold, `typed` turns data into
dataclasses, `rules` and `words` check and report what was written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtrue._lazy import lazy_exports

if TYPE_CHECKING:
    from runtrue.documents.document import (
        SUFFIXES,
        Document,
        DocumentError,
        Source,
        dump_document,
        parse_document,
        read_document,
    )
    from runtrue.documents.plain import MAX_BYTES, MAX_DEPTH, Pointer, find_flaw
    from runtrue.documents.rules import problem_of_command, problem_of_pattern
    from runtrue.documents.toml_text import read_toml
    from runtrue.documents.typed import KeyProblem, read_data
    from runtrue.documents.words import (
        closest,
        is_one_edit,
        suggestion,
        unknown_key,
    )

__all__ = lazy_exports(__name__)
