"""Where candidates live (a git worktree or a copy) and what commands on them get to see."""

from runtrue.sandbox.environment import allowed, search_path
from runtrue.sandbox.judges import is_judge, judges_of_command
from runtrue.sandbox.sandbox import GitSandbox, repository_of

__all__ = ["GitSandbox", "allowed", "is_judge", "judges_of_command", "repository_of", "search_path"]
