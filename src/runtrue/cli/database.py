"""`runtrue database`: the PostgreSQL database that many machines share."""

from __future__ import annotations

from importlib.util import find_spec

import click

from runtrue.cli import options
from runtrue.cli.console import echo
from runtrue.cli.show import print_json
from runtrue.errors import UsageError
from runtrue.flow import MIGRATIONS, PostgresDatabase
from runtrue.home import DATABASE, shared_database

_FAILED = 1


@click.group()
def database() -> None:
    """Check and migrate the PostgreSQL database that many machines share.

    RUNTRUE_DATABASE names it, or [database] url in your own ~/.runtrue/runtrue.toml. The password
    comes from PGPASSWORD or ~/.pgpass, and TLS is set as for any PostgreSQL program, by PGSSLMODE
    or ?sslmode=verify-full. Without it, runs are in a file of this machine.
    """


@database.command()
@options.as_json
def migrate(as_json: bool) -> int:
    """Bring the tables up to date; safe to run anywhere, at any time, even several at once."""
    opened = PostgresDatabase(_url(), migrate=False)
    try:
        before = opened.version()
        with opened.explained("migrated"):
            opened.migrate()
        after = opened.version()
        _migrate_engine(opened)
    finally:
        opened.close()
    if as_json:
        print_json({"database": opened.name, "before": before, "version": after})
    else:
        change = "is up to date" if before == after else f"migrated from {before}"
        echo(f"{opened.name}: schema {after}, {change}")
    return 0


@database.command()
@options.as_json
def check(as_json: bool) -> int:
    """Check that the database answers and its tables are up to date; change nothing.

    Exit codes: 0 ready, 1 not ready, 2 no database is set.
    """
    opened = PostgresDatabase(_url(), migrate=False)
    try:
        with opened.explained("read"):
            version, server = opened.version(), opened.server
    finally:
        opened.close()
    is_ready = version == len(MIGRATIONS)
    if as_json:
        facts = {"database": opened.name, "server": server, "version": version}
        print_json({**facts, "needed": len(MIGRATIONS), "ready": is_ready})
        return 0 if is_ready else _FAILED
    echo(f"{opened.name}: {server}, schema {version}")
    if version < len(MIGRATIONS):
        needed = len(MIGRATIONS)
        echo(f"not ready: this runtrue needs schema {needed}; run `runtrue database migrate`")
    elif not is_ready:
        echo(f"not ready: this runtrue knows schema {len(MIGRATIONS)}; upgrade runtrue here")
    return 0 if is_ready else _FAILED


def _migrate_engine(opened: PostgresDatabase) -> None:
    """Make the tables of the queues too, where this machine can."""
    if find_spec("dbos") is not None:
        from runtrue.scale import migrate_engine

        migrate_engine(opened)


def _url() -> str:
    url = shared_database()
    if url is None:
        raise UsageError(
            f"no database is set: set {DATABASE} to postgresql://USER@HOST:PORT/DATABASE, "
            "or [database] url in ~/.runtrue/runtrue.toml"
        )
    return url
