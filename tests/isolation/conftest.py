"""The command line for attacks that begin where a user does."""

from tests.cli.conftest import machine, make_project

__all__ = ["machine", "make_project"]
