"""When the machine refuses: the journal says so in one sentence, and loses nothing it holds."""

from __future__ import annotations

import json
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from runtrue.errors import HostError, JournalError
from runtrue.flow import Journal, UnknownEvent
from tests.flow.child import ROOT
from tests.flow.nodes import new_claim


def _assert_one_sentence(message: str, path: Path, reason: str) -> None:
    damaged = message.startswith(f"the journal {path} is damaged: ")
    assert damaged or message.startswith(f"the journal {path} cannot be ")
    assert reason in message
    assert ("move it away" if damaged else "RUNTRUE_HOME") in message
    assert "\n" not in message


def test_a_journal_error_is_an_error_of_the_host() -> None:
    assert issubclass(JournalError, HostError)


# -- opening ------------------------------------------------------------------------------------


def test_a_directory_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    path = tmp_path / "file" / "journal.db"
    with pytest.raises(JournalError) as error:
        Journal(path)
    _assert_one_sentence(str(error.value), path, "exists")


def test_a_path_that_is_a_directory(tmp_path: Path) -> None:
    with pytest.raises(JournalError) as error:
        Journal(tmp_path)
    _assert_one_sentence(str(error.value), tmp_path, "unable to open database file")


def test_a_file_that_is_not_a_database_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    content = b"Dear diary, " * 1000
    path.write_bytes(content)
    with pytest.raises(JournalError) as error:
        Journal(path)
    _assert_one_sentence(str(error.value), path, "file is not a database")
    assert path.read_bytes() == content


def test_a_database_of_something_else_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE runs (kilometres REAL)")
    db.close()
    with pytest.raises(JournalError) as error:
        Journal(path)
    _assert_one_sentence(str(error.value), path, "table runs already exists")


def test_a_file_cut_off_in_the_middle(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    with Journal(path) as journal:
        for _ in range(50):
            journal.create("test", "long " * 100, {})
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 3 + 100)
    with pytest.raises(JournalError) as error, Journal(path) as journal:
        journal.runs()
    _assert_one_sentence(str(error.value), path, "malformed")


# -- permissions --------------------------------------------------------------------------------

#: Opens the journal as somebody whom the file's permissions bind, as they do not bind root.
AS_NOBODY = """
import json, os, sys
from pathlib import Path
from runtrue.errors import JournalError
from runtrue.flow import Journal
from tests.flow.nodes import new_claim

if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
try:
    with Journal(Path(sys.argv[1])) as journal:
        journal.create("test", "refused", {})
except JournalError as error:
    print(json.dumps(str(error)))
"""


def _as_nobody(path: Path) -> str:
    ended = subprocess.run(
        [sys.executable, "-c", AS_NOBODY, str(path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return str(json.loads(ended.stdout))


@pytest.fixture
def public_directory() -> Iterator[Path]:
    """A directory that every user of the machine can reach, as pytest's own are not."""
    directory = Path(tempfile.mkdtemp())
    directory.chmod(0o755)
    yield directory
    directory.chmod(0o755)
    shutil.rmtree(directory)


def test_a_directory_that_cannot_be_written(public_directory: Path) -> None:
    public_directory.chmod(0o555)
    path = public_directory / "journal.db"
    _assert_one_sentence(_as_nobody(path), path, "Permission denied")
    assert not path.exists()


def test_a_directory_that_may_not_be_made(public_directory: Path) -> None:
    public_directory.chmod(0o555)
    path = public_directory / "sub" / "journal.db"
    _assert_one_sentence(_as_nobody(path), path, "Permission denied")


def test_a_file_that_may_only_be_read_is_left_as_it_is(public_directory: Path) -> None:
    path = public_directory / "journal.db"
    with Journal(path) as journal:
        run_id = journal.create("test", "kept", {})
    path.chmod(0o444)
    public_directory.chmod(0o777)
    _assert_one_sentence(_as_nobody(path), path, "attempt to write a readonly database")
    path.chmod(stat.S_IRUSR | stat.S_IWUSR)
    with Journal(path) as journal:
        assert [run.id for run in journal.runs()] == [run_id]


# -- a full disk --------------------------------------------------------------------------------

#: Fills what room there is, then makes room, and tells what happened.
FILL = """
import json, os, sys
from pathlib import Path
from runtrue.errors import JournalError
from runtrue.flow import Journal, RunState, UnknownEvent
from tests.flow.nodes import new_claim

{prepare}
path = directory / "journal.db"
journal = Journal(path)
claim = new_claim(journal)
recorded, errors, writes = 0, [], {{
    "record": lambda: journal.record(claim, recorded, "n", "h", b"1" * 3000, begun=False),
    "emit": lambda: journal.emit(claim, UnknownEvent(unknown="k", data={{"long": "x" * 30000}})),
    "begin": lambda: journal.begin(claim, recorded, "n" * 30000, "h"),
    "create": lambda: journal.create("test", "x" * 30000, {{}}),
    "ask": lambda: journal.ask(claim, 10**6, "x" * 30000),
    "finish": lambda: journal.finish(claim, RunState.PASSED, {{"long": "x" * 30000}}),
}}
try:
    while recorded < 10000:
        writes["record"]()
        recorded += 1
except JournalError as error:
    errors.append(("record", str(error)))
for name in ("emit", "begin", "create", "ask", "finish"):
    try:
        writes[name]()
    except JournalError as error:
        errors.append((name, str(error)))
kept = len(journal.load(claim.run_id))
{relieve}
writes["record"]()
recorded += 1
journal.finish(claim, RunState.PASSED, {{}})
with Journal(path) as again:
    state = again.find(claim.run_id).state
    after = [step.seq for step in again.load(claim.run_id)]
print(json.dumps([errors, kept, recorded, state, after == list(range(recorded))]))
"""

TINY_DISK = FILL.format(
    prepare="""
import subprocess
directory = Path(sys.argv[1])
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", directory], check=True)
ballast = directory / "ballast"
ballast.write_bytes(b"0" * 100_000)
""",
    relieve="ballast.unlink()",
)

#: Works everywhere, and gives another error than a full disk does.
FILE_LIMIT = FILL.format(
    prepare="""
import resource
directory = Path(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
""",
    relieve="resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)",
)


def _assert_nothing_lost(output: str, path: Path, reason: str) -> None:
    errors, kept, recorded, state, complete = json.loads(output)
    assert [name for name, _ in errors] == ["record", "emit", "begin", "create", "ask", "finish"]
    for _, message in errors:
        _assert_one_sentence(message, path, reason)
    assert kept == recorded - 1 > 5
    assert state == "passed"
    assert complete


def test_a_full_disk_stops_the_run_and_it_goes_on_when_there_is_room_again(tmp_path: Path) -> None:
    for unshare in (["unshare", "--mount"], ["unshare", "--mount", "--map-root-user"]):
        mount = ["mount", "-t", "tmpfs", "tmpfs", str(tmp_path)]
        try:
            if subprocess.run([*unshare, *mount], capture_output=True, check=False).returncode == 0:
                break
        except FileNotFoundError:
            pytest.skip("there is no `unshare` program to make a small disk with")
    else:
        pytest.skip("this machine does not let us mount a small disk to fill")
    ended = subprocess.run(
        [*unshare, sys.executable, "-c", TINY_DISK, str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    _assert_nothing_lost(ended.stdout, tmp_path / "journal.db", "database or disk is full")


def test_a_limit_on_the_size_of_files_stops_the_run_and_it_goes_on_without_it(
    tmp_path: Path,
) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", FILE_LIMIT, str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    _assert_nothing_lost(ended.stdout, tmp_path / "journal.db", "disk")


def test_a_disk_with_no_room_for_a_new_journal(tmp_path: Path) -> None:
    code = """
import json, resource, sys
from pathlib import Path
from runtrue.errors import JournalError
from runtrue.flow import Journal
resource.setrlimit(resource.RLIMIT_FSIZE, (6000, resource.RLIM_INFINITY))
try:
    Journal(Path(sys.argv[1]))
except JournalError as error:
    print(json.dumps(str(error)))
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
"""
    path = tmp_path / "journal.db"
    ended = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True
    )
    _assert_one_sentence(json.loads(ended.stdout), path, "disk")
    Journal(path).close()


# -- a file that is in use ----------------------------------------------------------------------


def test_an_error_in_the_middle_of_a_write_leaves_the_journal_usable(journal: Journal) -> None:
    claim = new_claim(journal)
    journal.record(claim, 0, "a", "h", b"1", begun=False)
    with pytest.raises(JournalError, match=r"UNIQUE constraint|duplicate key"):
        journal.record(claim, 0, "a", "h", b"2", begun=False)
    with pytest.raises(TypeError):
        journal.create("test", "cannot be encoded", {"x": object()})
    journal.emit(claim, UnknownEvent(unknown="still", origin="a"))
    assert [step.result for step in journal.load(claim.run_id)] == [b"1"]
    assert len(journal.runs()) == 1


def test_a_closed_journal_says_so_instead_of_pretending(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.db")
    journal.close()
    with pytest.raises(JournalError, match="closed"):
        journal.runs()


def test_opening_fails_without_leaving_the_file_open(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    path.write_bytes(b"no database" * 1000)
    with pytest.raises(JournalError):
        Journal(path)
    opened = [str(fd.readlink()) for fd in Path("/proc/self/fd").iterdir() if fd.is_symlink()]
    assert str(path) not in opened
