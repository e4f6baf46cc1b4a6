"""Where candidates live (a git worktree or a copy) and what commands on them get to see."""

from runtrue.sandbox.changes import changes_since, content_at, fork_point, head_of, resolve
from runtrue.sandbox.environment import allowed, search_path
from runtrue.sandbox.judges import is_judge, is_test, judges_of_command
from runtrue.sandbox.sandbox import GitSandbox, repository_of

__all__ = [
    "GitSandbox",
    "allowed",
    "changes_since",
    "content_at",
    "fork_point",
    "head_of",
    "is_judge",
    "is_test",
    "judges_of_command",
    "repository_of",
    "resolve",
    "search_path",
]
