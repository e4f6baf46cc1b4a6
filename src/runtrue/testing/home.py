"""A home of runtrue's for one test."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from runtrue.home import Home


@contextmanager
def temporary_home() -> Iterator[Home]:
    """Give runtrue an empty home inside the `with`, without the user's `RUNTRUE_*` variables.

    It applies to this process and those that it starts. Everything is deleted at the end.
    """
    before = {name: value for name, value in os.environ.items() if name.startswith("RUNTRUE_")}
    with TemporaryDirectory(prefix="runtrue-home-") as directory:
        for name in before:
            del os.environ[name]
        os.environ["RUNTRUE_HOME"] = directory
        try:
            yield Home(Path(directory).resolve())
        finally:
            for name in [name for name in os.environ if name.startswith("RUNTRUE_")]:
                del os.environ[name]
            os.environ.update(before)
