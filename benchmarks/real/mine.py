"""Find items for the manifest: `python -m benchmarks.real.mine [--language L] NAME…`.

For each package, newer versions first: download it and the version before, and take each small hunk
of the source back. Where the tests of the newer version pass with the hunk and fail without it, the
same way twice, an entry for the manifest is printed. Everything is kept in the cache, so that an
interrupted search goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, replace
from datetime import UTC, datetime
from functools import cache as cache_results
from itertools import islice, pairwise
from pathlib import Path

from benchmarks.real.hunks import Hunk, changes_code, groups, revert, source_of
from benchmarks.real.manifest import HELD_OUT, LANGUAGES, Item, Language, as_toml
from benchmarks.real.project import READY, commit_all, install_node, install_python, is_test, reset
from benchmarks.real.registry import (
    SetUpError,
    cache,
    pip,
    run,
    unpacked,
    versions,
)
from benchmarks.real.suite import SuiteRun, run_suite

#: No source of the package, whatever the language.
_NO_SOURCE = re.compile(
    r"(^|/)(tests?|testing|spec|__tests__|docs?|doc|examples?|benchmarks?|bench|dist|build|"
    r"node_modules|scripts|tools|tasks|vendor|_vendor|fixtures|coverage)/"
    r"|(^|/)(setup|conftest|noxfile|tasks|_?version|__about__|__version__|_version_info)\.py$"
    r"|(^|/)(test_[^/]*|[^/]*_test|tests?)\.py$|[.-](test|spec|min|d|config)\.[cm]?[jt]s$"
    r"|(^|/)(test|tests|gulpfile|gruntfile|rollup[^/]*|webpack[^/]*|karma[^/]*)\.[cm]?js$",
    re.IGNORECASE,
)
_EXTRAS = ("test", "tests", "testing")
_MISSING = re.compile(r"No module named '([\w.]+)'")
#: A change that fails more tests than this is no small bug.
MOST_FAILING = 25
#: What pytest exits with where it finds no test.
NOTHING_COLLECTED = 5
#: Hunks and groups of a pair of versions that are tried, the smallest first.
MOST_TRIED = 30


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.real.mine", description=__doc__)
    parser.add_argument("names", nargs="+", metavar="NAME")
    parser.add_argument("--language", choices=LANGUAGES[:2], default="python")
    parser.add_argument("--pairs", type=int, default=3, metavar="N", help="pairs of versions each")
    parser.add_argument("--look-back", type=int, default=8, metavar="N", help="versions looked at")
    parser.add_argument("--items", type=int, default=3, metavar="N", help="items of each package")
    parser.add_argument(
        "--hunks", type=int, default=40, metavar="N", help="leave out releases with more of them"
    )
    parser.add_argument("--slowest", type=float, default=15.0, metavar="SECONDS", help="of a suite")
    parser.add_argument("--seconds", type=float, metavar="N", help="stop after so long")
    parser.add_argument("--fetch", action="store_true", help="only download and install")
    arguments = parser.parse_args()
    end = time.monotonic() + (arguments.seconds or 1e9)
    for name in arguments.names:
        if name in HELD_OUT:
            say(f"{name}: held out")
            continue
        found = 0
        try:
            for item in islice(
                pairs_of(arguments.language, name, arguments.look_back, arguments.hunks),
                arguments.pairs,
            ):
                if found >= arguments.items or time.monotonic() > end:
                    break
                if arguments.fetch:
                    prepare(item)
                    continue
                wanted = arguments.items - found
                for one in mine(item, wanted, arguments.slowest, end):
                    found += 1
                    print(as_toml(one), flush=True)
        except SetUpError as error:
            say(f"{name}: {error}")
        if time.monotonic() > end:
            say("out of time: run it again to go on")
            return 3
    return 0


def pairs_of(language: Language, package: str, look_back: int, hunks: int) -> Iterator[Item]:
    """Yield a stub of an item for each pair of versions with few hunks and a changed test."""
    listed = _seen_versions(language, package)[: look_back + 1]
    for version, previous in pairwise(listed):
        stub = Item(
            id=f"{package}-{version}",
            language=language,
            package=package,
            version=version,
            previous=previous,
            file="",
            hunks=(),
            lines=0,
            command="python -m pytest -q" if language == "python" else "npm test",
        )
        try:
            fixes, tests_changed = changes(stub)
        except SetUpError as error:
            say(f"{stub.id}: {error}")
            return
        say(f"{stub.id}: {len(fixes)} hunks and groups, tests changed: {tests_changed}")
        if tests_changed and 0 < len(fixes) <= hunks:
            yield stub


def _seen_versions(language: Language, package: str) -> list[str]:
    """Return the versions as they were when this package was first looked at."""
    note = cache() / "versions" / f"{language}-{package.replace('/', '+')}.json"
    if not note.exists():
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text(json.dumps(versions(language, package)))
    return list(json.loads(note.read_text()))


@cache_results
def changes(item: Item) -> tuple[list[tuple[Hunk, ...]], bool]:
    """Return what may be fixes between the two versions, and whether a test changed, too."""
    new, old = (unpacked(item.language, item.package, v) for v in (item.version, item.previous))
    endings = (".py",) if item.language == "python" else (".js", ".cjs", ".mjs", ".ts")
    fixes: list[tuple[Hunk, ...]] = []
    tests_changed = False
    for file in sorted(new.rglob("*")):
        path = str(file.relative_to(new))
        before = old / path
        if file.suffix not in endings or not file.is_file() or ".egg-info" in path:
            continue
        try:
            after_text = source_of(file)
            before_text = source_of(before) if before.is_file() else ""
        except (UnicodeDecodeError, OSError):
            continue
        if after_text == before_text:
            continue
        if is_test(path):
            tests_changed = True
        elif before_text and len(after_text) < 400_000 and is_source(path):
            fixes += groups(path, before_text, after_text)
    return fixes, tests_changed


def is_source(path: str) -> bool:
    """True if a file may be a part of what a package does, by its name."""
    return _NO_SOURCE.search(path) is None


def prepare(item: Item) -> Item | None:
    """Make the project with an environment in which its tests pass; None where they do not."""
    folder = workplace(item)
    note = folder.with_name(folder.name + ".json")
    if note.exists():
        saved = json.loads(note.read_text())
        if saved is None:
            return None
        return replace(
            item, install=tuple(saved["install"]), before=saved["before"], command=saved["command"]
        )
    try:
        found = _prepare(item, folder)
    except SetUpError as error:
        say(f"{item.id}: {error}")
        found = None
    note.write_text(json.dumps(None if found is None else asdict(found)))
    return found


def _prepare(item: Item, folder: Path) -> Item:
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    shutil.copytree(unpacked(item.language, item.package, item.version), folder, symlinks=True)
    if item.language == "python":
        item = _prepare_python(item, folder)
    else:
        item = replace(item, before=today(), command=node_command(folder))
        install_node(folder, item.before)
    commit_all(folder)
    (folder / READY).touch()
    say(f"{item.id}: installed")
    return item


def _prepare_python(item: Item, folder: Path) -> Item:
    python = folder / ".venv" / "bin" / "python"
    if not (folder / "PKG-INFO").is_file():
        raise SetUpError("no PKG-INFO in the sdist")
    install_python(item, folder, "pytest", *requirements((folder / "PKG-INFO").read_text("utf-8")))
    tried: set[str] = set()
    while len(tried) < 5:
        seen = run_suite(item, folder, "--collect-only", "--tb=line", limit=120)
        alone = folder / "tests.py"
        if seen.code == NOTHING_COLLECTED and alone.is_file() and not item.command.endswith(".py"):
            item = replace(item, command=f"{item.command} {alone.name}")
            continue
        missing = {name.split(".")[0] for name in _MISSING.findall(seen.output)}
        new = sorted(missing - tried - HELD_OUT)
        if seen.code == 0 or not new:
            break
        tried |= set(new)
        run([*pip(python), "install", *new], None)
    return replace(item, install=installed(folder / ".venv", item.package))


def installed(environment: Path, but: str) -> tuple[str, ...]:
    """Return name==version of what is in an environment, without one package."""
    found = []
    for metadata in sorted(environment.glob("lib/python*/site-packages/*.dist-info")):
        name, _, version = metadata.name.removesuffix(".dist-info").rpartition("-")
        if re.sub(r"[-_.]+", "-", name).lower() != re.sub(r"[-_.]+", "-", but).lower():
            found.append(f"{name}=={version}")
    return tuple(found)


def requirements(metadata: str) -> list[str]:
    """Return what a package's metadata asks for, with the extras that are for its tests."""
    found = []
    for line in re.findall(r"^Requires-Dist: (.*)$", metadata, re.MULTILINE):
        what, _, marker = line.partition(";")
        extra = re.search(r"""extra\s*==\s*['"]([^'"]+)['"]""", marker)
        if extra is None:
            found.append(line)
        elif extra[1].lower() in _EXTRAS:
            found.append(what.strip())
    return found


def node_command(folder: Path) -> str:
    scripts = json.loads((folder / "package.json").read_text("utf-8")).get("scripts", {})
    return "npm run -s tests-only" if "tests-only" in scripts else "npm test"


def today() -> str:
    return datetime.now(UTC).date().isoformat()


def mine(item: Item, wanted: int, slowest: float, end: float) -> Iterator[Item]:
    """Yield at most `wanted` items of one pair of versions."""
    prepared = prepare(item)
    if prepared is None or time.monotonic() > end:
        return
    folder = workplace(item)
    notes = folder.with_name(folder.name + ".tried.json")
    tried: dict[str, bool] = json.loads(notes.read_text()) if notes.exists() else {}
    reset(folder)
    if "" not in tried:
        healthy = run_suite(prepared, folder, limit=10 * slowest)
        tried[""] = healthy.passed and healthy.cpu <= slowest
        notes.write_text(json.dumps(tried))
        say(f"{item.id}: suite {'passes' if healthy.passed else 'FAILS'} {healthy.cpu:.1f} s")
        if not healthy.passed:
            say("    " + "\n    ".join(healthy.output.strip().splitlines()[-3:]))
    if not tried[""]:
        return
    taken: set[str] = set()
    smallest_first = sorted(changes(item)[0], key=lambda group: sum(hunk.lines for hunk in group))
    fixes = (g for g in smallest_first if changes_code(source_of(folder / g[0].path), g))
    for group in islice(fixes, MOST_TRIED):
        digests = tuple(hunk.digest for hunk in group)
        if len(taken) >= wanted or time.monotonic() > end:
            break
        if taken & set(digests):
            continue  # a part of it is an item already
        key = " ".join(digests)
        if key not in tried:
            tried[key] = is_fix(prepared, folder, group, slowest)
            notes.write_text(json.dumps(tried))
        if tried[key]:
            taken.add(digests[0])
            yield replace(
                prepared,
                id=f"{item.id}-{digests[0][:4]}",
                language="typescript" if group[0].path.endswith(".ts") else item.language,
                file=group[0].path,
                hunks=digests,
                lines=max(hunk.lines for hunk in group),
            )


def is_fix(item: Item, folder: Path, group: tuple[Hunk, ...], slowest: float) -> bool:
    """True if the tests fail without these hunks, the same way twice."""
    path = folder / group[0].path
    path.write_bytes(revert(source_of(path), group).encode())
    try:
        limit = 10 * slowest
        first = run_suite(item, folder, "-x", limit=limit)
        if first.passed:
            return False
        return _fails_alike(item, first, run_suite(item, folder, limit=limit))
    finally:
        reset(folder)


def _fails_alike(item: Item, first: SuiteRun, second: SuiteRun) -> bool:
    """True if the first failure of a run is also one of the next run, and few tests fail."""
    if item.language != "python":
        # Some runners exit with the number of tests that failed.
        return 0 < first.code == second.code <= MOST_FAILING
    if first.code != 1 or second.code != 1:
        return False  # with another code pytest could not collect the tests
    named = [name for name in second.failing if "::" in name]
    few = 0 < len(named) == len(second.failing) <= MOST_FAILING
    return few and bool(first.failing) and set(first.failing) <= set(named)


def workplace(item: Item) -> Path:
    return cache() / "mined" / f"{item.package.replace('/', '+')}-{item.version}"


def say(sentence: str) -> None:
    print(f"# {sentence}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
