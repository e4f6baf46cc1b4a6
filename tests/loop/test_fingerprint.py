"""Fingerprints: the same for the same failure, whatever varies without meaning anything."""

from __future__ import annotations

import string
import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtrue.loop import fingerprint, normalise

NAMES = st.text(string.ascii_letters + "_.-+@", min_size=1, max_size=12)
PATHS = st.lists(NAMES, min_size=1, max_size=6).map(lambda names: "/" + "/".join(names))
WORDS = st.lists(
    st.text(string.ascii_lowercase, min_size=2, max_size=8).filter(
        lambda word: word not in {"line", "lines", "column", "columns", "col", "pid", "port", "id"}
    ),
    min_size=1,
    max_size=5,
).map(" ".join)
NUMBERS = st.integers(0, 2**48)
ZONES = st.sampled_from([UTC, None, timezone(timedelta(hours=-3)), timezone(timedelta(hours=5.5))])
TIMES = st.builds(datetime.replace, st.datetimes(), tzinfo=ZONES)
DURATIONS = st.builds(
    "{}{}{}".format,
    st.floats(0, 1e6, allow_nan=False).map(lambda n: f"{n:.3f}") | st.integers(0, 10**6).map(str),
    st.sampled_from(["", " "]),
    st.sampled_from(["s", "ms", "us", "µs", "ns", "sec", "secs", "second", "seconds", "minutes"]),
)


def _same(one: str, other: str) -> bool:
    return fingerprint("E", one, None) == fingerprint("E", other, None)


@given(NUMBERS, NUMBERS)
def test_stable_under_other_addresses(one: int, other: int) -> None:
    assert _same(f"<Foo object at {one:#x}> is gone", f"<Foo object at {other:#x}> is gone")
    assert _same(f"<Foo at {one:#018X}>", f"<Foo at {other:#018X}>")


@given(st.integers(1, 10**6), st.integers(1, 10**6))
def test_stable_under_other_line_and_column_numbers(one: int, other: int) -> None:
    for form in (
        "a.py:{}: no",
        "a.py:{}:{}: no",
        'File "a.py", line {}, in f',
        "lines {}",
        "Column {}",
        "line={}",
    ):
        assert _same(form.format(one, one), form.format(other, other)), form


@given(PATHS, PATHS, NAMES)
def test_stable_under_another_place_of_the_project(one: str, other: str, name: str) -> None:
    assert _same(f"cannot read {one}/{name}", f"cannot read {other}/{name}")
    assert _same(f"in '{one}/{name}'.", f"in '{other}/{name}'.")


@given(PATHS, NAMES)
def test_stable_under_another_kind_of_path(path: str, name: str) -> None:
    windows = "C:" + path.replace("/", "\\") + "\\" + name
    assert _same(f"'{windows}'", f"'{path}/{name}'")


@given(PATHS, st.lists(NAMES, min_size=2, max_size=2).map(" ".join), NAMES)
def test_stable_under_a_place_with_spaces_in_it(path: str, spaced: str, name: str) -> None:
    assert _same(f"in '{path}/{spaced}/{name}'", f"in '{path}/{name}'")


@given(DURATIONS, DURATIONS)
def test_stable_under_other_timings(one: str, other: str) -> None:
    assert _same(f"took {one} in all", f"took {other} in all")
    assert _same(f"(after {one})", f"(after {other})")


@given(st.uuids(), st.uuids())
def test_stable_under_other_uuids(one: UUID, other: UUID) -> None:
    assert _same(f"request {one} failed", f"request {str(other).upper()} failed")


HEX = st.binary(min_size=6, max_size=32).map(bytes.hex)


@given(HEX, HEX)
def test_stable_under_other_long_ids(one: str, other: str) -> None:
    assert _same(f"object {one} is missing", f"object {other} is missing")


@given(st.integers(10**4, 10**30), st.integers(10**4, 10**30))
def test_stable_under_other_long_numbers(one: int, other: int) -> None:
    assert _same(f"record {one} is missing", f"record {other} is missing")


@given(TIMES, TIMES)
def test_stable_under_other_iso_times(one: datetime, other: datetime) -> None:
    assert _same(f"at {one.isoformat()} it broke", f"at {other.isoformat()} it broke")
    assert _same(f"at {one.isoformat(' ')} it", f"at {other.isoformat(' ')} it")
    assert _same(f"[{one:%H:%M:%S}] it broke", f"[{other:%H:%M:%S.%f}] it broke")
    assert _same(f"on {one.date()}", f"on {other.date()}")


@given(st.integers(1, 99999), st.integers(1, 99999))
def test_stable_under_other_process_and_port_numbers(one: int, other: int) -> None:
    for form in ("pid {}", "pid={}", "port: {}", "fd {}", "id #{}"):
        assert _same(form.format(one), form.format(other)), form


def test_stable_under_colour_and_white_space() -> None:
    assert _same("\x1b[1;31mFAILED\x1b[0m  a\n\tb ", "FAILED a b")


@given(st.integers(1, 999), st.integers(1, 999))
def test_a_symbol_is_normalised_like_the_message(one: int, other: int) -> None:
    assert fingerprint("E", "m", f"test_a[file.py:{one}]") == fingerprint(
        "E", "m", f"test_a[file.py:{other}]"
    )


@given(WORDS, WORDS)
def test_different_for_different_messages(one: str, other: str) -> None:
    assert _same(one, other) is (one == other)


@given(NAMES, NAMES)
def test_different_for_different_rules_and_exception_types(one: str, other: str) -> None:
    assert (fingerprint(one, "m") == fingerprint(other, "m")) is (one == other)


@given(WORDS, WORDS)
def test_different_for_different_symbols(one: str, other: str) -> None:
    assert (fingerprint("E", "m", one) == fingerprint("E", "m", other)) is (one == other)


def test_what_belongs_to_one_part_is_not_mistaken_for_another() -> None:
    parts = [("a", "b", None), ("ab", "", None), ("", "ab", None), ("a", "", "b"), ("", "a", "b")]
    assert len({fingerprint(*part) for part in parts}) == len(parts)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("expected 3, got 4", "expected 3, got 5"),
        ("KeyError: 'name'", "KeyError: 'login'"),
        ("assert add(1, 2) == 4", "assert add(1, 2) == 5"),
        ("cannot read /src/a.py", "cannot read /src/b.py"),
        ("undefined name `os`", "undefined name `sys`"),
        ("status 404", "status 500"),
    ],
)
def test_small_numbers_and_names_say_what_failed_and_stay(one: str, other: str) -> None:
    assert not _same(one, other)


def test_a_fingerprint_is_sixteen_hexadecimal_digits_and_never_changes() -> None:
    # Memories are found by it: a change here forgets what was learned.
    assert fingerprint("KeyError", "'name'", "test_a") == "8abb431985aaafdf"


@given(st.text(), st.text(), st.none() | st.text())
def test_any_text_has_a_fingerprint(category: str, message: str, symbol: str | None) -> None:
    value = fingerprint(category, message, symbol)
    assert len(value) == 16
    assert int(value, 16) >= 0
    assert value == fingerprint(category, message, symbol)


@given(st.text())
def test_normalising_leaves_no_white_space_but_single_spaces_inside(text: str) -> None:
    normal = normalise(text)
    assert normal == " ".join(normal.split())


HOSTILE = [
    "/",
    "1",
    "a",
    " ",
    "a/",
    "/a",
    "/ ",
    "1:",
    "0x",
    "-",
    ".",
    "2024-01-",
    "line ",
    "/a b",
    "/ b",
    "\\ b",
    "'/",
    '"/a',
]


@pytest.mark.parametrize("piece", HOSTILE)
def test_long_hostile_text_is_no_catastrophe(piece: str) -> None:
    code = (
        "import sys; from runtrue.loop import fingerprint\n"
        "piece = sys.argv[1]\n"
        "fingerprint('E', piece * (100_000 // len(piece)))"
    )
    # Takes a fraction of a second; anything that backtracks would take hours.
    subprocess.run([sys.executable, "-c", code, piece], check=True, timeout=60)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("GET http://host/v1/users failed", "GET http://host/v2/users failed"),
        ("/srv/x.txt read and/or written", "/srv/x.txt deleted and/or written"),
        ("assert 1/2 == x", "assert 12 == x"),
    ],
)
def test_a_slash_does_not_make_a_path(one: str, other: str) -> None:
    assert not _same(one, other)


@pytest.mark.parametrize(
    "place",
    ["/srv/2024-01-02", "/srv/5s", "/builds/6f1c2c5e-0000-4000-8000-000000000000", "/home/0x1f"],
)
def test_a_directory_that_looks_like_a_time_or_an_id_is_a_directory(place: str) -> None:
    assert _same(f"cannot read {place}/a.py", "cannot read /home/me/a.py")


def test_bytes_that_are_no_text_do_no_harm() -> None:
    assert fingerprint("E\udce9", "caf\udce9") != fingerprint("E", "caf")
