"""`python -m runtrue` is the `runtrue` command."""

import sys

# Started so, Python looks for modules in the current directory first, where a project may have put
# a `secrets.py` or a `keyring.py` of its own. With -I or -P it does not.
if not sys.flags.safe_path:
    del sys.path[0]

from runtrue.cli import main

main()
