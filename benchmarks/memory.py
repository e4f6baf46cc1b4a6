"""The debug memory, small and large: looking up a fix by fingerprint, finding similar failures.

In the large one every failure says something else, which is the worst case for the search: as a
rule many failures share what they say.
"""

from __future__ import annotations

import hashlib
import random
import sqlite3
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from benchmarks.measure import Row, Table, Target
from runtrue.loop import Fault, Finding, cause_of
from runtrue.memory import DebugMemory
from runtrue.memory.shapes import words_of
from runtrue.memory.template import dump_template, stored_diff
from runtrue.redaction import Redactor

SMALL, LARGE = 1_000, 1_000_000
LOOKUPS, SEARCHES = 2_000, 400
CHUNK = 100_000

SAID = {
    "AssertionError": "assert {} == {} + where {} = {}({})",
    "AttributeError": "'{}' object has no attribute '{}' while {} was read",
    "ImportError": "cannot import name '{}' from '{}.{}'",
    "IndexError": "list index out of range in {} of {} at {}",
    "KeyError": "'{}' is not among the keys of {} in {}",
    "NameError": "name '{}' is not defined. Did you mean: '{}' or '{}'?",
    "TypeError": "{}() missing 1 required positional argument: '{}' after '{}'",
    "ValueError": "invalid literal for {} with {}: '{}'",
}
TYPES = list(SAID.items())
DIFF = """--- a/{file}.py
+++ b/{file}.py
@@ -1,3 +1,3 @@
 def {name}({argument}):
-    return {argument} - {number}
+    return {argument} + {number}
"""


def run() -> tuple[Table, ...]:
    with tempfile.TemporaryDirectory(prefix="runtrue-bench-") as folder:
        spent = {}
        for count in (SMALL, LARGE):
            begin = time.monotonic()
            fill(Path(folder, str(count)), count)
            spent[count] = time.monotonic() - begin
        with (
            DebugMemory(Path(folder, str(SMALL))) as small,
            DebugMemory(Path(folder, str(LARGE))) as large,
        ):
            tables = look_up(small, large), search(small, large)
            assert small.trouble is large.trouble is None
    note = f"filled with {LARGE:,} failures and as many fixes in {spent[LARGE]:.0f} s"
    first, second = tables
    return Table(first.title, first.unit, first.rows, (note,)), second


# -- measuring -------------------------------------------------------------------------------------


def look_up(small: DebugMemory, large: DebugMemory) -> Table:
    samples: dict[int, list[float]] = {SMALL: [], LARGE: []}
    pick = random.Random(1)  # noqa: S311  # not a secret
    wanted = {
        count: [finger(pick.randrange(count), "failure") for _ in range(LOOKUPS)]
        for count in samples
    }
    for n in range(LOOKUPS):
        for count, memory in ((SMALL, small), (LARGE, large)):
            fingerprint = wanted[count][n]
            samples[count].append(timed(lambda m=memory, f=fingerprint: len(m.lookup(f)) == 1))  # type: ignore[misc]
    few, many = (statistics.median(samples[count]) for count in (SMALL, LARGE))
    few_rows, many_rows = f"{SMALL:,} fixes", f"{LARGE:,} fixes"
    return Table(
        title="memory: looking up a fix by fingerprint, median",
        unit="ms",
        rows=(
            Row(few_rows, few, quartiles(samples[SMALL]), "1 ms", few, Target("≤", 1)),
            Row(many_rows, many, quartiles(samples[LARGE]), "1 ms", many, Target("≤", 1)),
            Row(many_rows, many, quartiles(samples[LARGE]), few_rows, many / few, Target("≤", 3)),
        ),
    )


def search(small: DebugMemory, large: DebugMemory) -> Table:
    rows = []
    pick = random.Random(2)  # noqa: S311  # not a secret
    found = {}
    for count, memory in ((SMALL, small), (LARGE, large)):
        samples = []
        right = 0
        for _ in range(SEARCHES):
            category, message = said(pick.randrange(count))
            changed = finding(category, altered(message, pick))
            begin = time.perf_counter()
            hits = memory.similar_to(changed)
            samples.append(1e3 * (time.perf_counter() - begin))
            right += any(message == hit.failure.message for hit in hits)
        p95 = statistics.quantiles(samples, n=20)[-1]
        found[count] = right / SEARCHES
        target = Target("≤", 1) if count == LARGE else None
        name = f"{count:,} different failures"
        rows.append(Row(name, p95, quartiles(samples), "50 ms", p95 / 50, target))
    shares = ", ".join(f"{100 * share:.0f} % of {count:,}" for count, share in found.items())
    return Table(
        title="memory: searching similar failures, 95th percentile",
        unit="ms",
        rows=tuple(rows),
        notes=(f"with a word changed, the failure meant is among the five found: {shares}",),
    )


def timed(work: Callable[[], bool]) -> float:
    begin = time.perf_counter()
    is_right = work()
    spent = 1e3 * (time.perf_counter() - begin)
    assert is_right
    return spent


def quartiles(samples: list[float]) -> tuple[float, float]:
    low, _, high = statistics.quantiles(samples, n=4)
    return low, high


# -- filling ---------------------------------------------------------------------------------------

SYLLABLES = ("ba", "cor", "de", "fin", "gal", "hop", "ish", "jo", "kem", "lu", "mar", "nox", "ost")
NAMES = [f"{a}{b}{c}_{d}" for a in SYLLABLES for b in SYLLABLES for c in SYLLABLES for d in "abcde"]
#: Names as they come: some are everywhere and most are rare, as in all that people write.
COMING = random.Random(0).choices(  # noqa: S311  # not a secret
    NAMES, weights=[1 / (n + 1) for n in range(len(NAMES))], k=1 << 16
)
STEPS = (7919, 104_729, 15_485_863, 32_452_843)


def said(number: int) -> tuple[str, str]:
    """The error type and the message of the failure of a number, always the same."""
    category, text = TYPES[number * 31 % len(TYPES)]
    names = [COMING[(number * step >> 3) % len(COMING)] for step in STEPS]
    # No two say the same.
    unlike = f"{NAMES[number % len(NAMES)]}{number // len(NAMES)}"
    return category, text.format(unlike, *names)


def finger(number: int, of: str) -> str:
    return hashlib.blake2b(f"{of}{number}".encode(), digest_size=8).hexdigest()


def altered(message: str, pick: random.Random) -> str:
    words = message.split(" ")
    words[pick.randrange(len(words))] = "elsewise"
    return " ".join(words)


def fill(home: Path, count: int) -> None:
    """Fill a memory by plain SQL, many times faster than by recording runs.

    The rows are as `record_failures` and `record_fix` write them; the indexes that are made from
    whole tables afterwards are the same ones.
    """
    with DebugMemory(home) as memory:
        memory.tried(0, "makes the file")
        path = memory.path
    diff = DIFF.format(file="shop", name="total", argument="net", number=1)
    learnt = stored_diff(diff, Redactor())
    assert learnt is not None
    assert learnt.template is not None
    template = dump_template(learnt.template)
    causes = {category: cause_of(finding(category, "")) for category in SAID}
    words: Counter[int] = Counter()
    db = sqlite3.connect(path, isolation_level=None)
    for setting in ("journal_mode = OFF", "synchronous = OFF", "cache_size = -800000"):
        db.execute(f"PRAGMA {setting}")
    db.execute("BEGIN EXCLUSIVE")
    indexes = db.execute(
        "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL"
    ).fetchall()
    for name, _ in indexes:
        db.execute(f"DROP INDEX {name}")
    for start in range(0, count, CHUNK):
        shapes, holds, failures, fixes = [], [], [], []
        for n in range(start, min(start + CHUNK, count)):
            category, message = said(n)
            fingerprint = finger(n, "failure")
            kind = (finger(n, "shape"), category, causes[category])
            mine = words_of(category, message)
            words.update(mine)
            holds += [(word, n + 1) for word in mine]
            shapes.append((n + 1, *kind, message))
            project = (f"p{n % 50}", f"/home/ada/p{n % 50}", float(n), float(n))
            where = (f"src/part{n % 997}.py", f"tests/test_part{n % 997}.py::test_{n}")
            failures.append((n + 1, fingerprint, n + 1, *where, *project))
            fixes.append((fingerprint, *kind, template, f"{n:x}", *project))
        holds.sort()
        db.executemany("INSERT INTO shapes VALUES (?, ?, ?, ?, ?)", shapes)
        db.executemany("INSERT INTO shape_words VALUES (?, ?)", holds)
        db.executemany(
            "INSERT INTO failures (id, fingerprint, shape, file, test, project, path, first_seen, "
            "last_seen, language, seen, last_run) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'python', 1, 'r')",
            failures,
        )
        db.executemany(
            "INSERT INTO fixes (fingerprint, shape, error_type, cause, template, template_key, "
            "project, path, first_seen, last_seen, language, diff, fixer, tried, passed) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'python', 'a diff', 'agent', 1, 1)",
            fixes,
        )
    db.executemany("INSERT INTO words VALUES (?, ?)", sorted(words.items()))
    for _, sql in indexes:
        db.execute(sql)
    db.execute("COMMIT")
    db.close()


def finding(category: str, message: str) -> Finding:
    return Finding(source="tests", category=category, message=message, fault=Fault.CANDIDATE)
