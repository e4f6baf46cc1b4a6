"""Sandboxes: where candidates live, as a worktree, a copy or in the user's tree; isolation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtrue._lazy import lazy_exports

if TYPE_CHECKING:
    from runtrue.sandbox.apply_rules import RefusedFiles, is_git, leads_outside
    from runtrue.sandbox.base import TreeSandbox
    from runtrue.sandbox.baseline_files import BaselineFiles
    from runtrue.sandbox.branch import (
        Branch,
        changed_since_head,
        current_branch,
        is_branch_name,
        place_of_branch,
        stage_as_committed,
        tip_of,
    )
    from runtrue.sandbox.checkout import (
        SentProject,
        add_candidates,
        checkout_in,
        demand_object_name,
        make_checkout,
        pack_candidates,
    )
    from runtrue.sandbox.environment import allowed, search_path, secret_variables
    from runtrue.sandbox.git import remove
    from runtrue.sandbox.git_command import ForeignRepository, run_git
    from runtrue.sandbox.isolation import (
        Isolation,
        IsolationRecord,
        Level,
        git_paths,
        missing,
        unavailable,
        weaknesses,
    )
    from runtrue.sandbox.judges import JudgeSearch, is_judge, is_test
    from runtrue.sandbox.merge import MergeConflict
    from runtrue.sandbox.none import UsersTree
    from runtrue.sandbox.patch_hunks import PatchFile, PatchHunk, patch_of, split_patch
    from runtrue.sandbox.repository import (
        ask_staged,
        can_be_worktree,
        changes_since,
        content_at,
        export_tree,
        fork_point,
        head_of,
        origin_of,
        repository_of,
        resolve,
    )
    from runtrue.sandbox.sandbox import GitSandbox
    from runtrue.sandbox.self_runners import SelfRunning, find_self_running

__all__ = lazy_exports(__name__)
