"""Fixers propose a new candidate from findings. They form a ladder, cheapest first."""

from runtrue.fixers.agent import AgentFixer, run_agent, write_prompt
from runtrue.fixers.autofix import AutofixCommands, autofix_command, run_autofix
from runtrue.fixers.command import CommandFixer, command_variables, run_command
from runtrue.fixers.context import Hide, bounds_text, findings_text, sendable
from runtrue.fixers.editor import Edited, ModelEditor, sentence
from runtrue.fixers.ladder import FixerSettings, make_ladder
from runtrue.fixers.memory import MemoryFixer, failed_fixes, fix_ids, language_of_finding
from runtrue.fixers.model import ModelFixer
from runtrue.fixers.remember_fix import remember_fix
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
from runtrue.fixers.tool import ToolFixer

__all__ = [
    "AgentFixer",
    "AutofixCommands",
    "CommandFixer",
    "Edited",
    "FixerSettings",
    "Hide",
    "Lead",
    "MemoryFixer",
    "ModelEditor",
    "ModelFixer",
    "SearchFixer",
    "Searching",
    "ToolFixer",
    "autofix_command",
    "bounds_text",
    "command_variables",
    "failed_fixes",
    "findings_text",
    "fix_ids",
    "imported_by",
    "language_of_finding",
    "leads_of",
    "make_ladder",
    "module_of",
    "own_file",
    "read_text",
    "remember_fix",
    "run_agent",
    "run_autofix",
    "run_command",
    "sendable",
    "sentence",
    "show_files",
    "sources_below",
    "write_prompt",
]
