"""The `issue_comment` channel: post with `gh` or `tea`, or leave a file that is ready to post."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from runtrue import process
from runtrue.atomic_file import write_atomically
from runtrue.checks import find_program, output_of
from runtrue.escalation.channel import TEMPLATES, Delivery, Message
from runtrue.loop import Notification
from runtrue.sandbox import origin_of

#: GitHub refuses longer ones.
_LIMIT = 65_000
_SAID = 300
_GITHUB = (".github.com", ".ghe.com")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Posting:
    """A command that posts the comment, and the file for its standard input."""

    argv: tuple[str, ...]
    reads: Path | None = None

    def __str__(self) -> str:
        line = shlex.join(self.argv)
        return f"{line} < {shlex.quote(str(self.reads))}" if self.reads else line


class IssueCommentSender:
    """Comments on one issue or pull request of the project's forge."""

    def __init__(self, notification: Notification, environment: Mapping[str, str]) -> None:
        self._settings = notification
        self._environment = dict(environment)

    async def send(self, message: Message) -> Delivery:
        """Write the comment's file, and post it if possible."""
        file = message.files.markdown.with_name("comment.md")
        text = message.text(TEMPLATES["issue_comment"], limit=_LIMIT)
        write_atomically(file, text.encode())
        project = Path(message.report.project)
        posting = await self._posting(project, file)
        if isinstance(posting, str):
            return Delivery.failed(f"{posting}; the comment is ready in {file}")
        try:
            ended = await process.run(
                posting.argv,
                cwd=project,
                env={**self._environment, "GH_PROMPT_DISABLED": "1"},
                timeout=self._settings.timeout,
                stdin=text.encode() if posting.reads else None,
            )
        except OSError as error:
            return _unposted(posting, f"cannot be run: {error.strerror}")
        if ended.timed_out:
            return _unposted(posting, f"did not finish within {self._settings.timeout:g} s")
        if ended.exit_code != 0:
            said = " ".join(output_of(ended).split())[:_SAID]
            return _unposted(posting, f"exited with code {ended.exit_code}: {said}".rstrip(": "))
        return Delivery(delivered=True, detail=f"posted with {Path(posting.argv[0]).name}")

    async def _posting(self, project: Path, file: Path) -> _Posting | str:
        """Return the command that posts the comment in `file`, or why there is none."""
        settings = self._settings
        number = settings.issue or settings.pull_request
        if number is None:
            return "set issue or pull_request in [escalation.notification] to have it posted"
        host = await self._host(project)
        path = self._environment.get("PATH", "")
        known = {name: find_program(name, path) for name in _programs(host)}
        program = next((name for name, found in known.items() if found), None)
        if program is None:
            return f"no program on PATH can post it (tried: {', '.join(known)})"
        where = settings.repository
        if program == "gh":
            kind = "issue" if settings.issue else "pr"
            repository = ("--repo", where) if where else ()
            body = ("--body-file", str(file))
            return _Posting(argv=("gh", kind, "comment", str(number), *repository, *body))
        # It knows its servers by its own logins: no host is passed to it.
        repository = ("--repo", "/".join(where.split("/")[-2:])) if where else ()
        return _Posting(argv=("tea", "comment", *repository, str(number)), reads=file)

    async def _host(self, project: Path) -> str | None:
        where = self._settings.repository
        if where:
            host, slash, _ = where.rpartition("/")[0].rpartition("/")
            return host if slash else None
        url = await asyncio.to_thread(origin_of, project) or ""
        if "://" in url:
            return urlsplit(url).hostname
        # As in `git@github.com:owner/name.git`.
        host, colon, _ = url.partition(":")
        return host.rpartition("@")[2] if colon and "/" not in host else None


def _programs(host: str | None) -> tuple[str, ...]:
    if host is None:
        return ("gh", "tea")
    if f".{host.lower()}".endswith(_GITHUB):
        return ("gh",)
    return ("tea", "gh")


def _unposted(posting: _Posting, why: str) -> Delivery:
    return Delivery.failed(f"{posting.argv[0]} {why}; to post it: {posting}")
