"""The journal on PostgreSQL, where that is not SQLite: races, migrations, what can go wrong."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from runtrue.errors import FenceLost, JournalError
from runtrue.flow import MIGRATIONS, Journal, PostgresDatabase, RunState, UnknownEvent
from runtrue.flow.postgres import translated
from tests.flow.nodes import new_claim
from tests.postgres.server import Server

psycopg = pytest.importorskip("psycopg")


@pytest.fixture
def journal(database_url: str) -> Iterator[Journal]:
    with Journal(database_url) as journal:
        yield journal


@pytest.fixture
def empty(postgres: Server) -> Iterator[str]:
    url = postgres.new_database()
    yield url
    postgres.drop(url)


# -- races --------------------------------------------------------------------------------------


@pytest.mark.parametrize("write", ["record", "begin", "emit", "begin_part"])
def test_a_write_that_meets_a_takeover_waits_for_it_and_is_refused(
    journal: Journal, write: str
) -> None:
    """The taker has not committed yet when the write begins: the old fence still seems current."""
    lost = new_claim(journal)
    outcome: list[object] = []

    def late() -> None:
        with Journal(journal.location) as other:
            calls = {
                "record": lambda: other.record(lost, 0, "n", "h", b"1", begun=False),
                "begin": lambda: other.begin(lost, 0, "n", "h"),
                "emit": lambda: other.emit(lost, UnknownEvent(unknown="late", origin="n")),
                "begin_part": lambda: other.begin_part(lost, 0, "n[0]", "h"),
            }
            try:
                outcome.append(calls[write]())
            except FenceLost as error:
                outcome.append(error)

    thread = threading.Thread(target=late)
    with Journal(journal.location) as watch:
        with journal._transaction() as db:
            db.execute("UPDATE runs SET fence = fence + 1 WHERE id = ?", (lost.run_id,))
            thread.start()
            _wait_for_a_lock(watch)
        thread.join(60)
        assert isinstance(outcome[0], FenceLost), outcome
        assert watch.load(lost.run_id) == []
        assert list(watch.parts(lost.run_id)) == []
        assert watch.events(lost.run_id) == []


def _wait_for_a_lock(journal: Journal) -> None:
    """Return when a connection waits for a lock that another one has."""
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND "
    while not journal._db.execute(waiting + "wait_event_type = 'Lock'").fetchone()[0]:
        pass


def test_an_answer_that_meets_a_parking_run_is_never_lost(journal: Journal) -> None:
    claim = new_claim(journal)
    journal.ask(claim, 0, "why?")

    def answer() -> None:
        with Journal(journal.location) as other:
            other.answer(claim.run_id, "because")

    thread = threading.Thread(target=answer)
    with Journal(journal.location) as watch:
        with journal._transaction() as db:
            db.execute("UPDATE runs SET title = 'held' WHERE id = ?", (claim.run_id,))
            thread.start()
            _wait_for_a_lock(watch)
            assert not journal.park(claim, 0).answered
        thread.join(60)
        run = watch.find(claim.run_id)
        assert (run.state, run.owner) == (RunState.RUNNING, None)
        assert watch.questions(claim.run_id)[0].answer == "because"


# -- what only one of the databases says ----------------------------------------------------------


def test_the_character_nul_does_not_hide_what_a_report_holds(journal: Journal) -> None:
    claim = new_claim(journal)
    report = {"metrics": {"n": 1}, "diff": "a\x00b", "escaped": "\\u0000", "applied": True}
    journal.finish(claim, RunState.PASSED, report)
    assert journal.find(claim.run_id).result == report
    (row,) = journal.results("metrics")
    assert row.value == {"n": 1}
    assert [row.value for row in journal.results("escaped")] == ["\\u0000"]


def test_statements_are_translated_and_strings_in_them_left_alone() -> None:
    assert translated("SELECT ?, ':a', '?' WHERE x = :a AND y LIKE 'b%'") == (
        "SELECT %s, ':a', '?' WHERE x = %(a)s AND y LIKE 'b%%'"
    )


# -- migrations -----------------------------------------------------------------------------------


def test_processes_that_open_an_empty_database_at_once_all_find_it_ready(empty: str) -> None:
    code = "import sys; from runtrue.flow import Journal; Journal(sys.argv[1]).close()"
    opened = [subprocess.Popen([sys.executable, "-c", code, empty]) for _ in range(4)]
    assert [process.wait(120) for process in opened] == [0] * 4
    with psycopg.connect(empty) as db:
        rows = db.execute("SELECT version FROM runtrue.migrations ORDER BY 1").fetchall()
    assert [version for (version,) in rows] == list(range(1, len(MIGRATIONS) + 1))


def test_a_database_of_a_newer_runtrue_is_refused_in_one_sentence(empty: str) -> None:
    Journal(empty).close()
    newer = len(MIGRATIONS) + 1
    with psycopg.connect(empty) as db:
        db.execute("INSERT INTO runtrue.migrations VALUES (%s, now())", (newer,))
    expected = rf"newer runtrue \(schema {newer}, this one knows {len(MIGRATIONS)}\); upgrade"
    with pytest.raises(JournalError, match=expected):
        Journal(empty)


def test_a_migration_that_breaks_in_the_middle_leaves_nothing_of_itself(empty: str) -> None:
    with psycopg.connect(empty) as db:
        db.execute("CREATE SCHEMA runtrue")
        db.execute("CREATE TABLE runtrue.questions (somebody_elses TEXT)")
    with pytest.raises(JournalError, match='relation "questions" already exists'):
        Journal(empty)
    with psycopg.connect(empty) as db:
        assert db.execute("SELECT to_regclass('runtrue.runs')").fetchone() == (None,)


def test_a_role_that_may_only_use_the_tables_can_work_and_one_that_may_not_is_told(
    empty: str,
) -> None:
    user = "runtrue_user"
    with psycopg.connect(empty, autocommit=True) as db:
        db.execute(f"DROP ROLE IF EXISTS {user}")
        db.execute(f"CREATE ROLE {user} LOGIN")
    as_user = empty.replace("//postgres@", f"//{user}@")
    try:
        with pytest.raises(JournalError, match=r"permission denied .*runtrue database migrate"):
            Journal(as_user)
        Journal(empty).close()
        with psycopg.connect(empty, autocommit=True) as db:
            db.execute(f"GRANT USAGE ON SCHEMA runtrue TO {user}")
            tables = "ALL TABLES IN SCHEMA runtrue"
            db.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON {tables} TO {user}")
        with Journal(as_user) as journal:
            claim = new_claim(journal)
            journal.record(claim, 0, "n", "h", b"1", begun=False)
            journal.finish(claim, RunState.PASSED, {})
    finally:
        with psycopg.connect(empty, autocommit=True) as db:
            db.execute(f"DROP OWNED BY {user}")
            db.execute(f"DROP ROLE {user}")


# -- what can go wrong ----------------------------------------------------------------------------


def test_a_server_that_is_not_there_is_one_sentence_without_the_password() -> None:
    with pytest.raises(JournalError) as error:
        PostgresDatabase("postgresql://ada:geheim@127.0.0.1:1/work")
    message = str(error.value)
    assert message.startswith("the journal postgresql://ada@127.0.0.1:1/work cannot be opened: ")
    assert "geheim" not in message
    assert "\n" not in message


def test_a_connection_that_is_cut_is_one_sentence_and_another_journal_goes_on(
    journal: Journal,
) -> None:
    claim = new_claim(journal)
    (pid,) = journal._db.execute("SELECT pg_backend_pid()").fetchone()
    with Journal(journal.location) as other:
        other._db.execute("SELECT pg_terminate_backend(?)", (pid,))
        with pytest.raises(JournalError, match=r"cannot be written: .*runtrue runs resume"):
            journal.record(claim, 0, "n", "h", b"1", begun=False)
        again = new_claim(other, claim.run_id, force=True)
        other.record(again, 0, "n", "h", b"1", begun=False)


def test_without_psycopg_a_database_is_refused_with_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "psycopg.py").write_text("raise ModuleNotFoundError('no psycopg')")
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "from runtrue.errors import UsageError\n"
        "from runtrue.flow import Journal\n"
        "try:\n    Journal('postgresql://h/d')\n"
        "except UsageError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'runtrue[scale]'" in done.stdout


def test_many_processes_are_served_at_once(journal: Journal) -> None:
    """As many connections as a few machines have: each opens, writes and leaves."""
    with ExitStack() as stack:
        opened = [stack.enter_context(Journal(journal.location)) for _ in range(20)]
        made = [one.create("test", str(n), {}) for n, one in enumerate(opened)]
    assert {run.id for run in journal.runs(limit=None)} == set(made)
