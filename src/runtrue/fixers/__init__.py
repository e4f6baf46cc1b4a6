"""Fixers propose a new candidate from findings. They form a ladder, cheapest first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtrue._lazy import lazy_exports

if TYPE_CHECKING:
    from runtrue.fixers.agent import AgentFixer, ask_version, run_agent, write_prompt
    from runtrue.fixers.autofix import AutofixCommands, autofix_command, run_autofix
    from runtrue.fixers.command import CommandFixer, command_variables, run_command
    from runtrue.fixers.context import Redact, bounds_text, findings_text, sendable
    from runtrue.fixers.editor import Edited, ModelEditor, sentence
    from runtrue.fixers.ladder import FixerSettings, make_ladder
    from runtrue.fixers.memory import MemoryFixer, failed_fixes, fix_ids, language_of_finding
    from runtrue.fixers.model import ModelFixer
    from runtrue.fixers.remember_fix import remember_fix
    from runtrue.fixers.search import MutantReport, SearchFixer, Searching, try_mutants
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

__all__ = lazy_exports(__name__)
