"""`python -m benchmarks.confidence`: see the package."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.confidence import __doc__ as description
from benchmarks.confidence.fit import committed, report, write_weights
from benchmarks.confidence.row import ROWS, SOURCES, read_rows
from benchmarks.real.manifest import ITEMS


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.confidence", description=description)
    commands = parser.add_subparsers(dest="command", required=True)
    collecting = commands.add_parser("collect", help="search, and judge the best edit of each")
    collecting.add_argument("file", type=Path, help="rows are appended, those in it are left out")
    collecting.add_argument("--source", choices=SOURCES, required=True)
    collecting.add_argument(
        "--manifest", type=Path, default=ITEMS, metavar="FILE", help="as `mine` prints it"
    )
    collecting.add_argument("--every", type=int, default=1, metavar="N")
    collecting.add_argument("--bugs", type=int, default=6, metavar="N", help="mutants of a project")
    collecting.add_argument("--only", default="", metavar="ID", help="names that begin so")
    collecting.add_argument("--seconds", type=float, default=1e9, help="stop after so long")
    fitting = commands.add_parser("fit", help="fit the weights, and print how well they hold")
    fitting.add_argument("files", type=Path, nargs="*", default=[ROWS])
    fitting.add_argument(
        "--update", action="store_true", help="go on from the committed weights: for few rows"
    )
    fitting.add_argument("--write", action="store_true", help="write src/…/weights.py")
    arguments = parser.parse_args()
    if arguments.command == "collect":
        # It reads the weights that `fit` writes.
        from benchmarks.confidence.collect import collect

        collect(
            arguments.source,
            arguments.file,
            manifest=arguments.manifest,
            every=arguments.every,
            bugs=arguments.bugs,
            only=arguments.only,
            seconds=arguments.seconds,
        )
        return 0
    rows = [row for file in arguments.files for row in read_rows(file)]
    prior = committed() if arguments.update else None
    print(report(rows, prior))
    if arguments.write:
        write_weights(rows, prior)
    return 0


if __name__ == "__main__":
    sys.exit(main())
