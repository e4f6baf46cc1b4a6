"""Notifications: through which channel people hear of an escalation, and how. People set these."""

from __future__ import annotations

from dataclasses import dataclass
from string import Template
from typing import Annotated, Literal

from msgspec import Meta

#: What a template may name.
PLACEHOLDERS = ("condition", "action", "title", "run_id", "why", "answer", "path", "report")


@dataclass(frozen=True, slots=True, kw_only=True)
class Notification:
    """One channel with its settings. Secrets are never among them, only the variables' names."""

    channel: Literal["cli", "issue_comment", "slack", "email"] = "cli"
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

    def __post_init__(self) -> None:
        template = Template(self.template or "")
        if not template.is_valid():
            raise ValueError("a lone $ in the template; write $$ for the sign itself")
        unknown = [name for name in template.get_identifiers() if name not in PLACEHOLDERS]
        if unknown:
            known = ", ".join(f"${name}" for name in PLACEHOLDERS)
            raise ValueError(f"the template names ${unknown[0]}; it may name: {known}")
