"""Where candidates live (a git worktree, a copy, or the user's own tree) and what commands see."""

from runtrue.sandbox.base import TreeSandbox
from runtrue.sandbox.changes import changes_since, content_at, fork_point, head_of, resolve
from runtrue.sandbox.environment import allowed, hidden, search_path
from runtrue.sandbox.isolation import Isolation, Level, git_places, missing, unavailable
from runtrue.sandbox.judges import is_judge, is_test, judges_of_command
from runtrue.sandbox.leaving import RefusedFiles, is_git, outside
from runtrue.sandbox.none import UsersTree
from runtrue.sandbox.repository import repository_of
from runtrue.sandbox.sandbox import GitSandbox

__all__ = [
    "GitSandbox",
    "Isolation",
    "Level",
    "RefusedFiles",
    "TreeSandbox",
    "UsersTree",
    "allowed",
    "changes_since",
    "content_at",
    "fork_point",
    "git_places",
    "head_of",
    "hidden",
    "is_git",
    "is_judge",
    "is_test",
    "judges_of_command",
    "missing",
    "outside",
    "repository_of",
    "resolve",
    "search_path",
    "unavailable",
]
