"""The command line: one module per command, imported only when that command is run."""

from runtrue.cli.main import main

__all__ = ["main"]
