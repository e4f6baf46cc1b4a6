"""The one way to git: it answers, and starts nothing that a configuration or an attribute names.

A repository's configuration may come with an archive, a candidate may write attributes, and both
name programs: filters, text conversions, hooks, helpers. None of them is run on our behalf.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from runtrue.errors import SandboxError

#: A directory that looks like a repository is none unless we say so.
_EXPLICIT = {"safe.bareRepository": "explicit"}
_SETTINGS = {
    **_EXPLICIT,
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "core.untrackedCache": "false",
    "core.pager": "cat",
    "core.sshCommand": "false",
    "core.gitProxy": "",
    "credential.helper": "",
    "protocol.allow": "never",
    "uploadpack.packObjectsHook": "",
    "commit.gpgSign": "false",
    "log.showSignature": "false",
    "gpg.program": "false",
    "diff.external": "",
    "gc.auto": "0",
    "maintenance.auto": "false",
    # A repository within another has settings of its own.
    "submodule.recurse": "false",
    "diff.ignoreSubmodules": "all",
    "status.submoduleSummary": "false",
    "advice.addEmbeddedRepo": "false",
    "core.quotePath": "false",
    # That line ends would be changed is nothing to refuse a snapshot for.
    "core.safecrlf": "false",
}
if sys.platform == "linux":
    # Names that are git's own on other systems are kept, and then refused with a finding: a
    # candidate must not end a run by a name.
    _SETTINGS |= {"core.protectNTFS": "false", "core.protectHFS": "false"}

#: What names of drivers are set to, so that the driver does nothing: files count as their bytes.
_DRIVERS = {
    re.compile(r"filter\..*\.(clean|smudge|process)", re.DOTALL): "",
    re.compile(r"filter\..*\.required", re.DOTALL): "false",
    re.compile(r"diff\..*\.textconv", re.DOTALL): "cat",
    re.compile(r"(diff|hook)\..*\.command", re.DOTALL): "true",
    re.compile(r"merge\..*\.driver", re.DOTALL): "false",
    re.compile(r"credential\..*\.helper", re.DOTALL): "",
}
#: Commands that read no file of a working tree, and so run no driver.
_DRIVERLESS = frozenset(
    {
        *("cat-file", "check-ignore", "commit-tree", "diff-tree", "for-each-ref", "init"),
        *("ls-files", "ls-tree", "merge-base", "symbolic-ref", "update-ref", "write-tree"),
    }
)
#: Commands that run nothing, and answer with settings: ours must not be among them.
_ASKING = frozenset({"config", "remote", "rev-parse"})
_COMPARING = ("--no-ext-diff", "--no-textconv", "--ignore-submodules=all")

#: Variables of the user's by which git finds repositories and settings. All others are those of a
#: hook or an outer git, and about another repository or index than ours.
_KEPT = re.compile(
    r"GIT_(CONFIG_(GLOBAL|SYSTEM|NOSYSTEM|COUNT|KEY_\d+|VALUE_\d+)"
    r"|CEILING_DIRECTORIES|DISCOVERY_ACROSS_FILESYSTEM)"
)
_IDENTITY = {
    f"GIT_{role}_{part}": value
    for role in ("AUTHOR", "COMMITTER")
    for part, value in (("NAME", "runtrue"), ("EMAIL", "runtrue@localhost"))
}
_VARIABLES = {
    **_IDENTITY,
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    # A missing object is missing: no remote is asked, by whatever protocol.
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    **dict.fromkeys(("GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "GIT_ASKPASS", "SSH_ASKPASS"), "false"),
    "GIT_PAGER": "cat",
    "LC_ALL": "C",
}
#: For a repository of our own: nobody else's settings matter.
OURS = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_COUNT": "0"}

_FOREIGN = re.compile(r"dubious ownership in repository at '(.+)'|unsafe repository \('(.+)'")


class ForeignRepository(SandboxError):
    """A repository belongs to another user, so that git refuses to use its settings."""


def run_git(
    *args: str, cwd: Path, env: Mapping[str, str] | None = None, stdin: str | None = None
) -> str:
    """Run git and return its output; raise SandboxError with its complaint.

    With the variables `OURS` in `env`, the repository is one of our own.
    """
    at = next((at for at, arg in enumerate(args) if not arg.startswith("-")), len(args) - 1)
    verb = args[at]
    variables = {
        **{n: v for n, v in os.environ.items() if not n.startswith("GIT_") or _KEPT.fullmatch(n)},
        **_VARIABLES,
        **(env or {}),
    }
    settings = dict(_EXPLICIT if verb in _ASKING else _SETTINGS)
    if verb not in _DRIVERLESS | _ASKING and not OURS.items() <= variables.items():
        settings |= _without_drivers(cwd, variables)
    if verb == "diff":
        args = (*args[: at + 1], *_COMPARING, *args[at + 1 :])
    words = (word for key, value in settings.items() for word in ("-c", f"{key}={value}"))
    return _run(("--no-pager", *words, *args), verb, cwd, variables, stdin)


def configured(
    cwd: Path, env: Mapping[str, str] | None = None
) -> Iterator[tuple[str, str, str | None]]:
    """Yield the key, value and file, if any, of each setting that git has in a directory."""
    try:
        fields = run_git("config", "--list", "-z", "--show-origin", cwd=cwd, env=env).split("\0")
    except ForeignRepository:
        raise
    except SandboxError:
        return
    for origin, setting in zip(fields[::2], fields[1::2], strict=False):
        kind, _, file = origin.partition(":")
        key, _, value = setting.partition("\n")
        yield key, value, file if kind == "file" else None


def _without_drivers(cwd: Path, variables: Mapping[str, str]) -> dict[str, str]:
    """Return settings by which no driver that is configured runs a program."""
    found = {}
    for key, _, _ in configured(cwd, variables):
        for pattern, value in _DRIVERS.items():
            if pattern.fullmatch(key):
                if "=" in key:
                    raise SandboxError(
                        f"git's setting {key!r} in {cwd} has = in its name, so it cannot be "
                        "switched off: rename it"
                    )
                found[key] = value
    return found


def _run(
    args: tuple[str, ...], verb: str, cwd: Path, variables: Mapping[str, str], stdin: str | None
) -> str:
    try:
        done = subprocess.run(
            ["git", *args],
            cwd=cwd,
            env=variables,
            input=None if stdin is None else stdin.encode("utf-8", "surrogateescape"),
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            check=False,
        )
    except OSError as error:
        if not cwd.is_dir():
            raise SandboxError(f"the directory {cwd} is gone") from error
        raise SandboxError(
            f"git cannot be run ({error.strerror}); runtrue keeps candidates with it: install git"
        ) from error
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip()
        if foreign := _FOREIGN.search(said):
            place = foreign[1] or foreign[2]
            raise ForeignRepository(
                f"git refuses the repository {place}, which belongs to another user; if you trust "
                f"all that it can run, allow it: git config --global --add safe.directory {place}"
            )
        lines = said.splitlines() or ["no message"]
        # Advice may follow what went wrong.
        complaint = next((x for x in lines if x.startswith(("fatal: ", "error: "))), lines[-1])
        raise SandboxError(f"git {verb} failed in {cwd}: {complaint}")
    return done.stdout.decode("utf-8", "surrogateescape")
