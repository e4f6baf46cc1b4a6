"""Self-running files: those that start something as soon as they are in a user's tree.

A change to one is not proven by any check: it takes effect in an editor, a shell, in git, in an
agent or on a CI server, with all that the user may do. So it is named, and a person agrees to it.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import translate
from typing import Any

#: Patterns for names, or paths from any directory, by what runs them.
_TABLE = {
    "editors run it when you open the folder": (
        *(".vscode/*", "*.code-workspace", ".idea/*", ".fleet/*", ".zed/*", ".vs/*", ".nova/*"),
        *(".vimrc", ".nvimrc", ".nvim.lua", ".exrc", ".dir-locals.el", ".sublime-project"),
        *(".devcontainer/*", ".devcontainer.json", ".gitpod.yml", ".theia/*", "*.sublime-project"),
        *(".emacs", ".emacs.d/*", ".config/nvim/*", ".settings/*", ".run/*", ".openhands/*"),
        # Loaded by their extensions.
        *(".eslintrc.*js", "eslint.config.*", ".prettierrc.*js", "prettier.config.*"),
        *(".stylelintrc.*js", "stylelint.config.*"),
    ),
    "shells run it when you enter the folder, or when they start": (
        *(".envrc", ".autoenv", ".autoenv.zsh", ".in", ".bashrc", ".bash_profile", ".bash_login"),
        *(".profile", ".zshrc", ".zshenv", ".zprofile", ".bash_aliases", ".kshrc", "config.fish"),
        *(".zlogin", ".zlogout", ".bash_logout", ".inputrc", ".xinitrc", ".xprofile", ".xsession"),
        *(".tmux.conf", ".screenrc", ".xonshrc", ".direnv/*", ".rtx.toml", "shell.nix"),
        *("mise.toml", ".mise.toml", ".mise/*", ".tool-versions", "devbox.json", "flake.nix"),
    ),
    "coding agents follow it, or start programs from it": (
        *(
            ".mcp.json",
            "mcp.json",
            ".claude/*",
            ".cursor/*",
            ".codex/*",
            ".gemini/*",
            ".continue/*",
        ),
        *(".windsurf/*", ".aider.conf.yml", ".cursorrules", ".windsurfrules", ".clinerules*"),
        *("CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", "GEMINI.md", "copilot-instructions.md"),
        *(".cline/*", ".kilocode/*", ".opencode/*", ".crush.json", "crush.json", ".qwen/*"),
        *(".augment/*", ".trae/*", ".goosehints", ".agents/*"),
        *(".roo/*", ".kiro/*", ".amazonq/*", ".junie/*", "opencode.json*"),
    ),
    "git runs it": (
        *(".husky/*", ".githooks/*", ".git-hooks/*", ".hooks/*", "lefthook*.y*ml", ".lefthook/*"),
        *(".pre-commit-config.yaml", ".overcommit.yml", ".lintstagedrc*", ".gitconfig"),
    ),
    "a CI server runs it, with its secrets": (
        *(".github/workflows/*", ".github/actions/*", ".github/dependabot.yml", ".gitlab-ci.yml"),
        *(".gitlab/ci/*", ".circleci/*", ".travis.yml", "appveyor.yml", "azure-pipelines*.yml"),
        *("Jenkinsfile", ".drone.yml", ".woodpecker*", "bitbucket-pipelines.yml", ".buildkite/*"),
        *(
            ".cirrus.yml",
            ".forgejo/workflows/*",
            ".gitea/workflows/*",
            "renovate.json*",
            ".renovaterc*",
            "action.yml",
            "action.yaml",
        ),
        *("cloudbuild.y*ml", "buildspec.y*ml", "netlify.toml", "vercel.json", ".readthedocs.y*ml"),
    ),
    "a desktop or a service manager starts it": (
        *(".config/autostart/*", "*.desktop", ".config/systemd/*", "*.service", "*.timer"),
    ),
    "programs read it when they start and run what it names": (
        *(".gdbinit", ".lldbinit", ".pdbrc", ".Rprofile", ".irbrc", ".pryrc", ".sqliterc"),
        *(".psqlrc", ".ssh/*", ".hgrc", ".hg/hgrc", ".ripgreprc", ".curlrc", ".wgetrc"),
        *("ipython_config.py", ".ipython/*", "jupyter*_config.py", ".jupyter/*", ".bazelrc"),
        *("init.gradle*", ".docker/config.json", ".kube/config"),
    ),
    "Python runs it whenever it starts": ("*.pth", "sitecustomize.py", "usercustomize.py"),
    "installing the project runs it": ("setup.py", "binding.gyp", ".pnpmfile.cjs", "build.rs"),
    "package managers run the programs it names": (
        *(".npmrc", ".yarnrc", ".yarnrc.yml", ".yarn/releases/*", ".yarn/plugins/*"),
        *(".cargo/config*", ".mvn/*", "gradle/wrapper/*", "gradlew*", "mvnw*", "rust-toolchain*"),
    ),
}
_PATTERNS = [
    (re.compile("|".join(translate(f"*/{pattern}") for pattern in patterns)), why)
    for why, patterns in _TABLE.items()
]
#: Scripts that npm runs by itself.
_INSTALLS = frozenset(
    {"preinstall", "install", "postinstall", "preprepare", "prepare", "postprepare", "prepublish"}
)
_TEST_PLACES = frozenset({"tests", "test", "testing", "__tests__", "spec"})


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfRunning:
    """A changed file that runs by itself, and what runs it."""

    file: str
    why: str


def find_self_running(
    file: str, read: Callable[[], tuple[bytes | None, bytes | None]] | None = None
) -> SelfRunning | None:
    """Return what runs a changed file by itself; None if nothing does.

    `read` returns its content before and after, where that decides.
    """
    for pattern, why in _PATTERNS:
        if pattern.match(f"/{file}"):
            return SelfRunning(file=file, why=why)
    *places, name = file.split("/")
    if name == "conftest.py" and _TEST_PLACES.isdisjoint(places):
        return SelfRunning(file=file, why="pytest runs it when started in this directory or below")
    if read is not None and name in ("package.json", "pyproject.toml"):
        before, after = read()
        if _installing(name, before) != _installing(name, after):
            return SelfRunning(file=file, why="installing the project runs what it names")
    return None


def _installing(name: str, content: bytes | None) -> Any:
    """Return the part of a file that installing runs."""
    try:
        text = (content or b"").decode()
        if name == "pyproject.toml":
            return tomllib.loads(text).get("build-system")
        scripts = json.loads(text or "{}").get("scripts") or {}
        return {key: value for key, value in scripts.items() if key in _INSTALLS}
    except (ValueError, AttributeError, RecursionError):
        return content
