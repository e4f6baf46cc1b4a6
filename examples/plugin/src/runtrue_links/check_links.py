"""`checklinks [DIRECTORY]`: prints a line of JSON for each link whose target is missing."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

LINK = re.compile(r"\]\((?P<target>[^)#:\s]+)\)")


def dead_links(directory: Path) -> Iterator[dict[str, object]]:
    """Yield where each dead link is, and where it leads to."""
    for page in sorted(directory.rglob("*.md")):
        for number, line in enumerate(page.read_text().splitlines(), 1):
            for link in LINK.finditer(line):
                if not (page.parent / link["target"]).exists():
                    yield {"file": str(page), "line": number, "target": link["target"]}


def main() -> int:
    """Print the dead links; exit with 1 if there are any."""
    found = list(dead_links(Path(*sys.argv[1:2])))
    for one in found:
        print(json.dumps(one))
    return 1 if found else 0
