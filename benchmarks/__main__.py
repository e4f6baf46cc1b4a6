"""`python -m benchmarks [NAME…] [--json FILE]`; without a name, lists the names."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import sqlite3
import sys
from pathlib import Path
from typing import Any

from benchmarks.measure import Table, as_data, missed, print_table

#: Every benchmark and what it measures; each is the module of that name.
BENCHMARKS = {
    "crashes": "runs killed at every write to their journal and resumed: nothing lost or doubled",
    "flow": "cost per step of a check/fix cycle, in memory and durable, beside other engines",
    "fields": "how well a missed field is found again, and how fast",
    "hosts": "real coding agents, installed from npm: held back by the gate, and let go",
    "isolation": "what each level of isolation adds to `true` and to 200 tests, beside none",
    "local_model": "the same tasks by a real local model, by none and by both (optional)",
    "memory": "looking up fixes and like failures, with a thousand and a million rows",
    "overhead": "the loop's own time around a test command, beside the bare command",
    "planner": "what runtime validation adds to the nodes' own time",
    "real": "real bug fixes of published packages: checks found, fixes accepted, cheats, repairs",
    "repair": "small buggy programs mended without a model, and the speed of trying a candidate",
    "revalidate": "the own time of a plan's fix-then-revalidate loop, for each retry",
    "scale": "runs on 1, 2 and 4 workers, beside plain DBOS steps, and under kills",
    "soak": "isolated commands by the thousand: nothing is left of them, and memory stays flat",
    "startup": "start-up of the command line, beside that of the bare interpreter",
    "tasks": "tasks as people type them, done rightly, wrongly or refused without a model",
    "ui": "pages of `runtrue ui`: 100,000 runs, and a run with 10,000 events",
    "workflow": "workflows: a chain of nodes, references, a batch of requests, start-up",
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks", description="Run the named benchmarks.")
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there, too")
    add_item_options(parser.add_argument_group("options of `repair` and `real`"))
    add_repair_options(parser.add_argument_group("options of `repair`"))
    add_real_options(parser.add_argument_group("options of `real`"))
    arguments = parser.parse_args()
    if not arguments.names:
        for name, what in BENCHMARKS.items():
            print(f"{name:<10} {what}")
        return 0
    if unknown := [name for name in arguments.names if name not in BENCHMARKS]:
        return refuse(f"there is no benchmark {unknown[0]!r}; there are: {', '.join(BENCHMARKS)}")

    names = list(dict.fromkeys(arguments.names))
    options_of = {
        "crashes": lambda given: {"every": given.every or 1},
        "repair": repair_options,
        "real": real_options,
    }
    document: dict[str, Any] = {"machine": machine(), "benchmarks": {}}
    try:
        if arguments.json is not None:
            arguments.json.touch()  # rather now than after two minutes
        misses = []
        for name in names:
            options = options_of[name](arguments) if name in options_of else {}
            module = importlib.import_module(f"benchmarks.{name}")
            found: Table | tuple[Table, ...] = module.run(**options)
            for table in found if isinstance(found, tuple) else (found,):
                print_table(table)
                misses += missed(table)
            document["benchmarks"][name] = (
                [as_data(table) for table in found] if isinstance(found, tuple) else as_data(found)
            )
        if arguments.json is not None:
            arguments.json.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
    except ModuleNotFoundError as error:
        return refuse(f"the package {error.name!r} is missing here; use scripts/bench")
    except OSError as error:
        return refuse(str(error))
    except KeyboardInterrupt:
        return 130
    for row in misses:
        print(f"missed: {row.contender}: {row.ratio:.2f} × {row.of}, target {row.target}")
    return 1 if misses else 0


def add_item_options(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--every", type=int, metavar="N", help="only each N-th item")
    group.add_argument("--only", metavar="ID", help="items whose id begins so, or of this symptom")
    group.add_argument("--outcomes", type=Path, metavar="FILE", help="write each outcome there")
    group.add_argument("--language", choices=("python", "javascript", "typescript"))


def add_repair_options(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--jobs", type=int, default=1, metavar="N", help="items at a time")
    group.add_argument(
        "--quick", action="store_true", help="hold no test back, and leave out the speed"
    )


def add_real_options(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--columns",
        default="repair,accept,cheat",
        metavar="LIST",
        help="which to fill: %(default)s",
    )
    group.add_argument("--full", action="store_true", help="all items, and all cheats on each")


def repair_options(arguments: argparse.Namespace) -> dict[str, Any]:
    return {
        "every": arguments.every or 1,
        "only": arguments.only,
        "jobs": arguments.jobs,
        "outcomes": arguments.outcomes,
        "held_back": not arguments.quick,
        "speed": not arguments.quick,
        "language": arguments.language,
    }


def real_options(arguments: argparse.Namespace) -> dict[str, Any]:
    return {
        "every": arguments.every,
        "only": arguments.only,
        "outcomes": arguments.outcomes,
        "language": arguments.language,
        "columns": arguments.columns.split(","),
        "full": arguments.full,
    }


def refuse(sentence: str) -> int:
    print(f"benchmarks: {sentence}", file=sys.stderr)
    return 2


def machine() -> dict[str, Any]:
    return {
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
    }


if __name__ == "__main__":
    sys.exit(main())
