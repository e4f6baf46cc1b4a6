"""`python -m runtrue` is the `runtrue` command."""

from runtrue.cli import main

main()
