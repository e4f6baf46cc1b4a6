"""What the tests of validations need: a sandbox with a change in it, and what is said of it."""

from __future__ import annotations

import asyncio
import uuid
from pathlib import Path

from runtrue.loop import Check, Finding, Verdict
from runtrue.plan.plan import PlanRequest, Validation
from runtrue.plan.validation import checks_of
from runtrue.sandbox import GitSandbox, TreeSandbox
from tests.plan.requests import make_request
from tests.sandbox.support import make_repository, write_files


class Bench:
    """A project with its sandbox, in which validations are run on a candidate."""

    def __init__(
        self,
        directory: Path,
        files: dict[str, str | bytes],
        *,
        part: str = ".",
        kind: type[TreeSandbox] = GitSandbox,
    ) -> None:
        self.project = make_repository(directory / "project", files) / part
        # Its name marks its processes.
        home = directory / "home" / f"run-{uuid.uuid4().hex}"
        self.sandbox = kind(home, self.project)
        self.sandbox.open()

    def change(self, files: dict[str, str | bytes]) -> None:
        """Make the candidate differ from what the user has; files are as seen from the root."""
        write_files(self.sandbox.directory, files)

    def request(self, *validations: Validation) -> PlanRequest:
        return make_request(project=str(self.project), validations=validations)

    def checks(self, *validations: Validation) -> tuple[Check, ...]:
        return checks_of(self.request(*validations), self.sandbox)

    def run(self, *validations: Validation) -> list[Verdict]:
        """What the validations say, one after the other, as a loop runs them."""
        return asyncio.run(self._run(self.checks(*validations)))

    async def _run(self, checks: tuple[Check, ...]) -> list[Verdict]:
        return [await check.run(self.sandbox.workplace()) for check in checks]

    def verdict(self, validation: Validation) -> Verdict:
        (verdict,) = self.run(validation)
        assert (verdict.check, verdict.mode) == (validation.name, validation.mode)
        return verdict

    def finding(self, validation: Validation) -> Finding:
        verdict = self.verdict(validation)
        assert not verdict.passed
        (finding,) = verdict.findings
        assert finding.source == validation.name
        return finding
