"""Memory: what runs have proven, in one SQLite file, to be used before any guess.

`Memory` has the known names (what a name of an API turned out to be), by host and operation.
`DebugMemory` has the failures that code loops saw and the fixes that were verified, each with a
`FixTemplate` to make it again elsewhere. Sessions are also written beside the project.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtrue._lazy import lazy_exports

if TYPE_CHECKING:
    from runtrue.memory.debug import DebugMemory, digest_of
    from runtrue.memory.facts import (
        Counts,
        KnownFailure,
        Project,
        Rank,
        RankedFix,
        RememberedFix,
        Retention,
        SimilarFailure,
    )
    from runtrue.memory.match import TemplateMatch, find_matches, unique_match
    from runtrue.memory.memory import KnownName, Memory
    from runtrue.memory.scope import ANY, OperationScope, scope_of
    from runtrue.memory.session import (
        DebugSession,
        SessionFailure,
        SessionFile,
        SessionFix,
        load_sessions,
        session_path,
        without_places,
        write_session,
    )
    from runtrue.memory.shared import shared_log, sharing_request
    from runtrue.memory.template import FileTemplate, FixTemplate, template_of

__all__ = lazy_exports(__name__)
