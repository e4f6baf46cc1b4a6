"""Memory: what runs have proven, kept in one SQLite file, to be used before any guess.

`Memory` holds repairs (what a name of an API turned out to be), by host and operation.
`DebugMemory` holds the failures that code loops saw and the fixes that were verified, each with a
`Template` by which it can be made again elsewhere. Sessions are also written beside the project.
"""

from runtrue.memory.debug import DebugMemory
from runtrue.memory.facts import (
    Counts,
    Failure,
    Project,
    Rank,
    RankedFix,
    RememberedFix,
    Retention,
    SimilarFailure,
)
from runtrue.memory.memory import Memory, Repair
from runtrue.memory.places import Place, apply, the_one
from runtrue.memory.scope import ANY, Scope, scope_of
from runtrue.memory.session import (
    Session,
    SessionFailure,
    SessionFile,
    SessionFix,
    load_sessions,
    session_path,
    write_session,
)
from runtrue.memory.template import FileTemplate, Template, template_of

__all__ = [
    "ANY",
    "Counts",
    "DebugMemory",
    "Failure",
    "FileTemplate",
    "Memory",
    "Place",
    "Project",
    "Rank",
    "RankedFix",
    "RememberedFix",
    "Repair",
    "Retention",
    "Scope",
    "Session",
    "SessionFailure",
    "SessionFile",
    "SessionFix",
    "SimilarFailure",
    "Template",
    "apply",
    "load_sessions",
    "scope_of",
    "session_path",
    "template_of",
    "the_one",
    "write_session",
]
