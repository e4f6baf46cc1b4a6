"""Was a fix right? The published tests decide first, then what upstream does on further inputs."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Collection
from pathlib import Path
from typing import Literal

from benchmarks.real.hunks import changed_functions, same_code
from benchmarks.real.manifest import Item
from benchmarks.real.project import git, is_test
from benchmarks.real.suite import run_suite

#: `right`: the tests pass and it does what upstream does; `plausible`: the tests pass, and nothing
#: more is known; `wrong`: a published test fails, or it does another thing than upstream.
Judgement = Literal["right", "plausible", "wrong"]
#: Fewer calls than this are no evidence.
ENOUGH = 5


def judge(item: Item, project: Path) -> Judgement:
    """Judge the project's files as they are now; its tests are put back to what was published."""
    changed = git(project, "diff", "--name-only", "published").split("\n")
    for path in filter(is_test, changed):
        git(project, "checkout", "-q", "published", "--", path)
    differing = [path for path in changed if path and not is_test(path)]
    if all(_same_as_published(project, path) for path in differing):
        return "right"
    if not run_suite(item, project).passed:
        return "wrong"
    if item.language != "python":
        return "plausible"
    found: list[bool | None] = []
    for path in differing:
        ours = results_of(item, project, path)
        git(project, "stash", "-q")
        git(project, "checkout", "-q", "published")
        upstream = steady_results_of(item, project, path)
        git(project, "checkout", "-q", "main")
        git(project, "stash", "pop", "-q")
        published = git(project, "show", f"published:{path}")
        changed_in = changed_functions((project / path).read_text("utf-8"), published)
        found.append(agree(ours, upstream, changed_in))
    if False in found:
        return "wrong"
    return "right" if found and all(found) else "plausible"


def _same_as_published(project: Path, path: str) -> bool:
    file = project / path
    try:
        published = git(project, "show", f"published:{path}")
    except Exception:  # a file that upstream does not have
        return False
    return file.is_file() and same_code(path, file.read_text("utf-8"), published)


def agree(ours: dict[str, str], upstream: dict[str, str], changed: Collection[str]) -> bool | None:
    """True if all common calls give the same; None where too few of them say anything.

    Evidence is a call of a function that differs from upstream's and that gives something or
    changes its arguments. What raises upstream is left out: any way to refuse a senseless input is
    as good as another. What a private function leaves in its arguments is its own business, as long
    as the others give the same.
    """
    common = [
        call
        for call, result in upstream.items()
        if call in ours and not result.startswith("raises ")
    ]
    if any(_seen(call, ours[call]) != _seen(call, upstream[call]) for call in common):
        return False
    evidence = [
        call
        for call in common
        if call.partition("(")[0] in changed
        and upstream[call] != f"None leaves {call[call.index('(') :]}"
    ]
    return True if len(evidence) >= ENOUGH else None


def _seen(call: str, result: str) -> str:
    """Return what others can see of a call's result."""
    name = call.partition("(")[0].rpartition(".")[2]
    is_private = name.startswith("_") and not name.endswith("__")
    return result.partition(" leaves ")[0] if is_private else result


def steady_results_of(item: Item, project: Path, path: str) -> dict[str, str]:
    """Return `results_of` for the calls that give the same twice: others prove nothing."""
    first, second = (results_of(item, project, path) for _ in range(2))
    return {call: gives for call, gives in first.items() if second.get(call) == gives}


def results_of(item: Item, project: Path, path: str) -> dict[str, str]:
    """Return what the functions of a file give while the tests run, and on varied inputs."""
    with tempfile.TemporaryDirectory() as name:
        output = Path(name, "results.json")
        variables = {
            "PYTHONPATH": str(Path(__file__).parent / "plugin"),
            "PROBE_FILE": str(project / path),
            "PROBE_OUTPUT": str(output),
            "PYTHONHASHSEED": "0",
        }
        run_suite(item, project, "-p", "probe", variables=variables)
        found: dict[str, str] = json.loads(output.read_text()) if output.exists() else {}
        return found
