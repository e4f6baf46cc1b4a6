"""Comments through `gh` and `tea`, stand-ins of which write down what they were called with."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from runtrue.escalation import Delivery
from runtrue.escalation.issue_comment import IssueCommentSender
from runtrue.loop import Notification
from tests.escalation.support import message

RECORDER = f"""#!{sys.executable}
import json, os, pathlib, sys
argv, code = sys.argv[1:], int(os.environ.get("EXIT", "0"))
body = sys.stdin.read()
if "--body-file" in argv:
    body = pathlib.Path(argv[argv.index("--body-file") + 1]).read_text()
called = {{"argv": argv, "body": body, "cwd": os.getcwd()}}
pathlib.Path(__file__ + ".called").write_text(json.dumps(called))
print("HTTP 401: Bad credentials" if code else "https://forge/1", file=sys.stderr)
sys.exit(code)
"""


class Forge:
    """A project, and a PATH with some programs on it."""

    def __init__(self, directory: Path) -> None:
        self.project = directory
        self.programs = directory / "bin"
        self.programs.mkdir()
        (self.programs / "git").symlink_to(_which("git"))

    def install(self, *names: str, script: str = RECORDER) -> None:
        for name in names:
            (self.programs / name).write_text(script)
            (self.programs / name).chmod(0o755)

    def send(
        self, settings: Notification, template: str | None = None, **environment: str
    ) -> Delivery:
        sender = IssueCommentSender(settings, {"PATH": str(self.programs), **environment})
        return asyncio.run(sender.send(message(self.project, template)))

    def called(self, name: str) -> dict[str, object] | None:
        file = self.programs / f"{name}.called"
        if not file.exists():
            return None
        called: dict[str, object] = json.loads(file.read_text())
        return called

    @property
    def comment(self) -> Path:
        return self.project / "reports" / "comment.md"

    def remote(self, url: str) -> None:
        for command in (["init", "-q"], ["remote", "add", "origin", url]):
            subprocess.run(["git", *command], cwd=self.project, check=True)


def _which(name: str) -> Path:
    return next(p for d in os.environ["PATH"].split(os.pathsep) if (p := Path(d, name)).exists())


@pytest.fixture
def forge(tmp_path: Path) -> Forge:
    return Forge(tmp_path)


def make(**settings: object) -> Notification:
    return Notification(channel="issue_comment", timeout=20, **settings)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("settings", "argv"),
    [
        ({"issue": 7}, ["issue", "comment", "7"]),
        ({"pull_request": 8}, ["pr", "comment", "8"]),
        ({"issue": 7, "repository": "me/shop"}, ["issue", "comment", "7", "--repo", "me/shop"]),
    ],
)
def test_gh_is_given_the_report_as_a_file(
    settings: dict[str, object], argv: list[str], forge: Forge
) -> None:
    forge.install("gh")
    delivery = forge.send(make(**settings))
    assert delivery == Delivery(delivered=True, detail="posted with gh")
    called = forge.called("gh")
    assert called is not None
    assert called["argv"] == [*argv, "--body-file", str(forge.comment)]
    assert called["cwd"] == str(forge.project)
    assert "# Escalation: max attempts reached" in str(called["body"])
    assert "## Stack traces" in str(called["body"])


@pytest.mark.parametrize(
    ("settings", "argv"),
    [
        ({"issue": 7}, ["comment", "7"]),
        ({"pull_request": 8}, ["comment", "8"]),
        (
            {"issue": 7, "repository": "git.example.org/me/shop"},
            ["comment", "--repo", "me/shop", "7"],
        ),
    ],
)
def test_tea_is_given_the_report_on_its_standard_input(
    settings: dict[str, object], argv: list[str], forge: Forge
) -> None:
    forge.install("tea")
    delivery = forge.send(make(**settings))
    assert delivery == Delivery(delivered=True, detail="posted with tea")
    called = forge.called("tea")
    assert called is not None
    assert called["argv"] == argv
    assert called["body"] == forge.comment.read_text()


@pytest.mark.parametrize(
    ("remote", "repository", "used"),
    [
        ("git@github.com:me/shop.git", None, "gh"),
        ("https://github.com/me/shop", None, "gh"),
        ("ssh://git@ssh.github.com:443/me/shop", None, "gh"),
        ("https://me.ghe.com/me/shop", None, "gh"),
        ("https://git.example.org/me/shop.git", None, "tea"),
        ("git@codeberg.org:me/shop.git", None, "tea"),
        ("https://notgithub.com/me/shop", None, "tea"),
        ("../elsewhere", None, "gh"),
        ("https://github.com/me/shop", "git.example.org/me/shop", "tea"),
        ("https://git.example.org/me/shop", "github.com/me/shop", "gh"),
        ("https://git.example.org/me/shop", "me/shop", "gh"),
        (None, None, "gh"),
    ],
)
def test_of_two_programs_the_one_that_fits_the_host_is_used(
    remote: str | None, repository: str | None, used: str, forge: Forge
) -> None:
    forge.install("gh", "tea")
    if remote:
        forge.remote(remote)
    assert forge.send(make(issue=1, repository=repository)).delivered
    other = {"gh": "tea", "tea": "gh"}[used]
    assert forge.called(used)
    assert forge.called(other) is None


def test_tea_does_not_post_to_github(forge: Forge) -> None:
    forge.install("tea")
    forge.remote("https://github.com/me/shop")
    delivery = forge.send(make(issue=1))
    assert not delivery.delivered
    assert "no program on PATH can post it (tried: gh)" in delivery.detail
    assert forge.called("tea") is None


@pytest.mark.parametrize(
    ("settings", "programs", "why"),
    [
        ({"issue": 7}, (), "no program on PATH can post it (tried: gh, tea)"),
        ({}, ("gh", "tea"), "set issue or pull_request in [escalation.notification]"),
    ],
)
def test_what_cannot_be_posted_is_ready_in_a_file(
    settings: dict[str, object], programs: tuple[str, ...], why: str, forge: Forge
) -> None:
    forge.install(*programs)
    delivery = forge.send(make(**settings))
    assert not delivery.delivered
    assert why in delivery.detail
    assert str(forge.comment) in delivery.detail
    assert forge.comment.read_text().startswith("# Escalation")


@pytest.mark.parametrize("program", ["gh", "tea"])
def test_a_program_that_fails_leaves_the_command_that_posts_it(program: str, forge: Forge) -> None:
    forge.install(program)
    delivery = forge.send(make(issue=7), EXIT="4")
    assert not delivery.delivered
    assert f"{program} exited with code 4: HTTP 401: Bad credentials" in delivery.detail
    command = delivery.detail.partition("to post it: ")[2]
    assert shlex.split(command)[0] == program
    # The command is one that works as it stands.
    (forge.programs / f"{program}.called").unlink()
    environment = {"PATH": str(forge.programs)}
    subprocess.run(["/bin/sh", "-c", command], cwd=forge.project, env=environment, check=True)
    called = forge.called(program)
    assert called is not None
    assert called["body"] == forge.comment.read_text()


@pytest.mark.parametrize(
    ("script", "timeout", "why"),
    [
        (f"#!{sys.executable}\nimport time\ntime.sleep(60)\n", 0.5, "did not finish within 0.5 s"),
        ("#!/no/such/interpreter\n", 20, "gh cannot be run: No such file or directory"),
    ],
    ids=["hangs", "broken"],
)
def test_a_program_that_hangs_or_is_broken_is_given_up(
    script: str, timeout: float, why: str, forge: Forge
) -> None:
    forge.install("gh", script=script)
    delivery = forge.send(Notification(channel="issue_comment", issue=1, timeout=timeout))
    assert not delivery.delivered
    assert why in delivery.detail
    assert forge.comment.is_file()


def test_the_users_wording_is_the_comment(forge: Forge) -> None:
    forge.install("gh")
    forge.send(make(issue=1), "$condition: $action, see $path")
    called = forge.called("gh")
    assert called is not None
    path = forge.project / "reports" / "max_attempts_reached-2-1.md"
    assert called["body"] == f"max_attempts_reached: human_review, see {path}"
