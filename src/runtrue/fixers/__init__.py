"""Fixers: what proposes a new candidate from findings, as a ladder, cheapest first."""

from runtrue.fixers.agent import AgentFixer, run_agent, write_prompt
from runtrue.fixers.command import CommandFixer, run_command, tell_command
from runtrue.fixers.context import Hide, bounds_text, findings_text, sendable
from runtrue.fixers.editor import Edited, ModelEditor, sentence
from runtrue.fixers.keeping import keep_fix
from runtrue.fixers.ladder import FixerSettings, make_ladder
from runtrue.fixers.memory import MemoryFixer, fix_ids, in_vain, language_of_finding
from runtrue.fixers.mending import Mending
from runtrue.fixers.model import ModelFixer
from runtrue.fixers.search import SearchFixer, Searching
from runtrue.fixers.sources import (
    Lead,
    imported_by,
    leads_of,
    module_of,
    own_file,
    read_text,
    show_files,
    sources_below,
)
from runtrue.fixers.tool import ToolFixer, mend, mending_command

__all__ = [
    "AgentFixer",
    "CommandFixer",
    "Edited",
    "FixerSettings",
    "Hide",
    "Lead",
    "MemoryFixer",
    "Mending",
    "ModelEditor",
    "ModelFixer",
    "SearchFixer",
    "Searching",
    "ToolFixer",
    "bounds_text",
    "findings_text",
    "fix_ids",
    "imported_by",
    "in_vain",
    "keep_fix",
    "language_of_finding",
    "leads_of",
    "make_ladder",
    "mend",
    "mending_command",
    "module_of",
    "own_file",
    "read_text",
    "run_agent",
    "run_command",
    "sendable",
    "sentence",
    "show_files",
    "sources_below",
    "tell_command",
    "write_prompt",
]
