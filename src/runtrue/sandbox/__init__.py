"""Sandboxes: where candidates live, as a worktree, a copy or in the user's tree; isolation."""

from runtrue.sandbox.apply_rules import RefusedFiles, is_git, leads_outside
from runtrue.sandbox.base import TreeSandbox
from runtrue.sandbox.environment import allowed, search_path, secret_variables
from runtrue.sandbox.isolation import (
    Isolation,
    IsolationRecord,
    Level,
    git_paths,
    missing,
    unavailable,
)
from runtrue.sandbox.judges import is_judge, is_test, judges_of_command
from runtrue.sandbox.none import UsersTree
from runtrue.sandbox.repository import (
    changes_since,
    content_at,
    fork_point,
    head_of,
    repository_of,
    resolve,
)
from runtrue.sandbox.sandbox import GitSandbox

__all__ = [
    "GitSandbox",
    "Isolation",
    "IsolationRecord",
    "Level",
    "RefusedFiles",
    "TreeSandbox",
    "UsersTree",
    "allowed",
    "changes_since",
    "content_at",
    "fork_point",
    "git_paths",
    "head_of",
    "is_git",
    "is_judge",
    "is_test",
    "judges_of_command",
    "leads_outside",
    "missing",
    "repository_of",
    "resolve",
    "search_path",
    "secret_variables",
    "unavailable",
]
