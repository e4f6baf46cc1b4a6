"""Options of unittest's discovery, as pytest says the same."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

_VALUED = {
    **dict.fromkeys(("-s", "--start-directory"), "start"),
    **dict.fromkeys(("-p", "--pattern"), "pattern"),
    **dict.fromkeys(("-t", "--top-level-directory"), "top"),
    "-k": "filter",
}
_IGNORED = frozenset(
    {"-v", "-q", "-f", "-c", "-b", "--verbose", "--quiet", "--failfast", "--catch", "--buffer"}
)
#: What pytest collects, and what unittest does, where nothing else is said.
_BY_PYTEST = ("test_*.py", "*_test.py")
_BY_UNITTEST = "test*.py"


def pytest_arguments(arguments: Sequence[str], directory: Path) -> list[str] | None:
    """Return the arguments with which pytest runs what unittest discovers; None if none do."""
    rest = [word for word in arguments if word not in _IGNORED]
    if rest[:1] == ["discover"]:
        rest = rest[1:]
    elif rest and all(word.endswith(".py") for word in rest):
        return rest
    elif rest:
        return None  # modules and classes by name
    given: dict[str, str] = {}
    places = iter(("start", "pattern", "top"))
    while rest:
        name, is_joined, value = rest.pop(0).partition("=")
        if name in _VALUED and (is_joined or rest):
            given[_VALUED[name]] = value if is_joined else rest.pop(0)
        elif name.startswith("-"):
            return None
        elif key := next(places, None):
            given[key] = name
    start, pattern = given.get("start", "."), given.get("pattern", _BY_UNITTEST)
    files = [file for file in (directory / start).rglob("*.py") if fnmatchcase(file.name, pattern)]
    if not files or "filter" in given or any(map(_builds_its_suite, files)):
        return None
    usual = all(any(fnmatchcase(file.name, one) for one in _BY_PYTEST) for file in files)
    return [
        *(() if usual else ("-o", f"python_files={pattern}")),
        *(() if start == "." else (start,)),
    ]


def _builds_its_suite(file: Path) -> bool:
    """True if a module says itself which tests it has: pytest does not ask it."""
    return "def load_tests" in file.read_text(encoding="utf-8", errors="replace")
