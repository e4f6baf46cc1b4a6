"""Notifications: through which channel people hear of an escalation, and how. People set these."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from string import Template
from typing import Annotated, Literal

from msgspec import Meta

#: What a template may name.
PLACEHOLDERS = ("condition", "action", "title", "run_id", "why", "answer", "path", "report")


#: The channels that runtrue has; others come with plugins.
CHANNELS = ("cli", "issue_comment", "slack", "email")


@dataclass(frozen=True, slots=True, kw_only=True)
class Notification:
    """One channel with its settings. Secrets are never among them, only the variables' names."""

    #: None: `issue_comment` where an issue or pull request is known, else `cli`.
    channel: str | None = None
    #: The message, with `$why` and the like; each channel has one of its own.
    template: str | None = None
    #: Seconds until a receiver that does not answer is given up.
    timeout: Annotated[float, Meta(gt=0, le=600)] = 30.0

    #: The issue, or else the pull request, to comment on, and where: `[HOST/]OWNER/NAME`.
    issue: Annotated[int, Meta(ge=1)] | None = None
    pull_request: Annotated[int, Meta(ge=1)] | None = None
    repository: Annotated[str, Meta(pattern=r"^([\w.:-]+/)?[\w.-]+/[\w.-]+$")] | None = None

    #: The variable that holds the URL of Slack's incoming webhook.
    slack_url_env: Annotated[str, Meta(min_length=1)] = "RUNTRUE_SLACK_WEBHOOK"

    smtp_host: str | None = None
    smtp_port: Annotated[int, Meta(ge=1, le=65_535)] = 587
    #: `tls` is from the first byte on, as on port 465.
    smtp_encryption: Literal["starttls", "tls", "none"] = "starttls"
    smtp_user: str | None = None
    #: The variable that holds the password of `smtp_user`.
    smtp_password_env: Annotated[str, Meta(min_length=1)] = "RUNTRUE_SMTP_PASSWORD"  # noqa: S105 - its name
    email_from: str | None = None
    email_to: tuple[str, ...] = ()

    def resolved(self, environment: Mapping[str, str]) -> Notification:
        """Return the same with its channel, and with the pull request that CI is about."""
        if self.channel is not None:
            return self
        if self.issue or self.pull_request:
            return replace(self, channel="issue_comment")
        # As GitHub, Gitea and Forgejo name it where a pull request is built.
        found = re.fullmatch(r"refs/pull/(\d+)/\w+", environment.get("GITHUB_REF", ""))
        if found is None:
            return replace(self, channel="cli")
        return replace(self, channel="issue_comment", pull_request=int(found[1]))

    def __post_init__(self) -> None:
        template = Template(self.template or "")
        if not template.is_valid():
            raise ValueError("a lone $ in the template; write $$ for a literal $")
        unknown = [name for name in template.get_identifiers() if name not in PLACEHOLDERS]
        if unknown:
            known = ", ".join(f"${name}" for name in PLACEHOLDERS)
            raise ValueError(f"the template names ${unknown[0]}; it may name: {known}")
