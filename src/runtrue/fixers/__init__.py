"""Fixers: what proposes a new candidate from findings, as a ladder, cheapest first."""

from runtrue.fixers.agent import AgentFixer, run_agent, write_prompt
from runtrue.fixers.context import sendable
from runtrue.fixers.editor import Edited, ModelEditor, sentence
from runtrue.fixers.ladder import build_ladder
from runtrue.fixers.memory import MemoryFixer, fix_ids, in_vain, language_of_finding
from runtrue.fixers.model import ModelFixer
from runtrue.fixers.sources import (
    Lead,
    imported_by,
    module_of,
    own_file,
    read_text,
    show_files,
    sources_below,
)
from runtrue.fixers.tool import ToolFixer, mending_command

__all__ = [
    "AgentFixer",
    "Edited",
    "Lead",
    "MemoryFixer",
    "ModelEditor",
    "ModelFixer",
    "ToolFixer",
    "build_ladder",
    "fix_ids",
    "imported_by",
    "in_vain",
    "language_of_finding",
    "mending_command",
    "module_of",
    "own_file",
    "read_text",
    "run_agent",
    "sendable",
    "sentence",
    "show_files",
    "sources_below",
    "write_prompt",
]
