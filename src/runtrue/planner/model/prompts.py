"""Prompts: the files beside this module, filled in."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources

_BLANK = re.compile(r"\{\{(\w+)\}\}")


def prompt(name: str, **values: str) -> str:
    """The prompt of that name with its blanks filled in; what is filled in is taken as it is."""
    return _BLANK.sub(lambda blank: values[blank[1]], _text(name)).rstrip()


def quoted(task: str) -> str:
    """The user's words, so that nothing else can be taken for them."""
    return "\n".join(f"> {line}" for line in task.splitlines())


@cache
def _text(name: str) -> str:
    return resources.files(__package__).joinpath(f"prompts/{name}.md").read_text("utf-8")
