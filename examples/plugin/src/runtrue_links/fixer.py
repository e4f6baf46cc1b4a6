"""Points a dead link to the only file of that name."""

from __future__ import annotations

import os
from pathlib import Path

from runtrue.loop import Finding, FixTask, Proposal, Workplace


class LinkFixer:
    """A rung of the ladder: `order = ["memory", "tool", "links", "search"]`."""

    name = "links"
    trusted = False
    repeatable = False
    side_effect = False

    def unavailable(self) -> str | None:
        """Return why it cannot be used, if it cannot."""
        return None

    def accepts(self, finding: Finding) -> bool:
        """Take on dead links, and nothing else."""
        return finding.category == "dead_link"

    async def propose(self, task: FixTask, workplace: Workplace) -> Proposal:
        """Edit the pages in the workplace."""
        fixed = sum(point(workplace.root, finding) for finding in task.findings)
        return Proposal(description=f"pointed {fixed} links to where their files are now")


def point(root: Path, finding: Finding) -> bool:
    """Point a dead link to the only file of its name; return whether there is one."""
    page, target = root / (finding.location.file or ""), finding.data["target"]
    places = list(root.rglob(Path(target).name))
    if len(places) == 1:
        there = os.path.relpath(places[0], page.parent)
        page.write_text(page.read_text().replace(f"]({target})", f"]({there})"))
    return len(places) == 1
