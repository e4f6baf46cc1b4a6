"""A process that opens a journal when it is told to, so that several can do so at once."""

import sys
from pathlib import Path

from runtrue.errors import JournalError
from runtrue.flow import Journal

if __name__ == "__main__":
    print("ready", flush=True)
    sys.stdin.readline()
    try:
        Journal(Path(sys.argv[1])).close()
    except JournalError as error:
        print(error, flush=True)
    else:
        print("opened", flush=True)
