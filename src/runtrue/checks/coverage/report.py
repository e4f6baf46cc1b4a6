"""Reports: which format one has, and what it says."""

from __future__ import annotations

from pathlib import Path

import msgspec

from runtrue.checks.coverage.cobertura_report import read_cobertura
from runtrue.checks.coverage.coveragepy_report import read_coveragepy
from runtrue.checks.coverage.facts import Coverage
from runtrue.checks.coverage.files import Collected
from runtrue.checks.coverage.go_profile import read_go_profile
from runtrue.checks.coverage.istanbul_report import read_istanbul
from runtrue.checks.coverage.jacoco_report import read_jacoco
from runtrue.checks.coverage.lcov_report import read_lcov
from runtrue.checks.coverage.xml import elements
from runtrue.loop import Workplace

#: What is larger is no report that anybody could have wanted.
_LARGEST = 512 * 1024 * 1024
#: By the root element.
_XML = {"coverage": read_cobertura, "report": read_jacoco}


def read_report(file: Path, workplace: Workplace, base: Path | None = None) -> Coverage | None:
    """What a report covers, whatever its name; None when there is none that can be read.

    Relative paths in it are seen from `base`, which is where the command ran unless it says so.
    """
    collected = Collected(workplace, base or workplace.directory)
    try:
        if file.stat().st_size > _LARGEST:
            return None
        _read(file.read_bytes(), collected)
    except (OSError, ValueError, LookupError, RecursionError, msgspec.MsgspecError):
        return None
    return collected.coverage


def _read(data: bytes, collected: Collected) -> None:
    data = data.removeprefix(b"\xef\xbb\xbf").lstrip()
    if data.startswith(b"{"):
        # Beside it Istanbul has nothing but files at its top, by their paths.
        is_coveragepy = "meta" in msgspec.json.decode(data, type=dict[str, msgspec.Raw])
        (read_coveragepy if is_coveragepy else read_istanbul)(data, collected)
    elif data.startswith(b"<"):
        found = elements(data)
        _XML[found[0].name](found, collected)
    elif data.startswith(b"mode: "):
        read_go_profile(data, collected)
    elif b"SF:" in data:
        read_lcov(data, collected)
    else:
        raise ValueError("it is of no known format")
