"""Agreement to applying files that run by themselves."""

from __future__ import annotations

from collections.abc import Sequence

from runtrue.cli.console import confirm, echo
from runtrue.cli.show import is_terminal
from runtrue.foreign_text import visible_name
from runtrue.sandbox import SelfRunning

#: The exit code of a command that waits for a person.
WAITS = 3


def agrees_to(files: Sequence[SelfRunning], *, as_json: bool) -> bool:
    """Name files that run by themselves, and ask; without a person to ask, it is a no."""
    if not files:
        return True
    for one in files:
        echo(f"runs automatically: {visible_name(one.file)}: {one.why}", err=True)
    if is_terminal() and not as_json:
        return confirm("Apply these files too?")
    echo("not applied: read the diff, then pass --allow-self-running", err=True)
    return False
