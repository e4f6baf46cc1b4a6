"""Running something as a user who is not root, where root runs the tests.

What root has installed may lie where others cannot look, an interpreter in root's home say. So the
command gets a mount namespace of its own, in which those places, and nothing around them, can be
read by everybody.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NOBODY = 65534

#: $1 is a directory to hold places in, $2 the closed directories around them, $3 the places.
_SCRIPT = """
set -e
hold=$1 closed=$2 places=$3
shift 3
for place in $places; do mkdir -p "$hold$place"; mount --bind "$place" "$hold$place"; done
for place in $closed; do mount -t tmpfs -o mode=755,size=1m tmpfs "$place"; done
for place in $places; do mkdir -p "$place"; mount --bind "$hold$place" "$place"; done
exec setpriv --reuid "$0" --regid "$0" --clear-groups "$@"
"""


def as_nobody(argv: Sequence[str], made: Path) -> subprocess.CompletedProcess[str]:
    """Run a command as a user without any rights; `made` is a directory for what is needed."""
    hold = made / "hold"
    hold.mkdir()
    needed = {Path(sys.prefix), Path(sys.base_prefix), ROOT}
    places = {place for place in needed if any(_closed_around(place))}
    closed = {next(_closed_around(place)) for place in places}
    # Not below `made`, which others cannot look into either.
    with tempfile.TemporaryDirectory(prefix="rt-") as home:
        os.chown(home, NOBODY, NOBODY)
        lists = (" ".join(map(str, some)) for some in (closed, places))
        inner = ["sh", "-c", _SCRIPT, str(NOBODY), str(hold), *lists]
        return subprocess.run(
            ["unshare", "--mount", "--propagation", "private", *inner, *argv],
            cwd=ROOT,
            env={
                "HOME": home,
                "TMPDIR": home,
                "PATH": os.defpath,
                "PYTHONDONTWRITEBYTECODE": "1",
                **{name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ},
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )


def _closed_around(place: Path) -> Iterator[Path]:
    """The directories around a place that others cannot pass through, outermost first."""
    for directory in reversed(place.parents):
        if not directory.stat().st_mode & 0o001:
            yield directory
