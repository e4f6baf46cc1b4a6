"""Recipes: the command lines that a project's own files run for its tests.

Each module reads one sort of file, and runs nothing. What such a line becomes as a check,
`runtrue.checks.own_command` decides.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from runtrue.checks.recipes.ci import recipes_of_ci
from runtrue.checks.recipes.make import recipes_of_just, recipes_of_make
from runtrue.checks.recipes.nox import recipes_of_nox
from runtrue.checks.recipes.recipe import UNKNOWN, Group, Recipe
from runtrue.checks.recipes.scripts import recipes_of_scripts
from runtrue.checks.recipes.tox import recipes_of_tox

__all__ = ["UNKNOWN", "Group", "Recipe", "recipes_of"]

#: What is made to run tests comes before what also builds, and that before what runs elsewhere.
_SOURCES = (
    recipes_of_tox,
    recipes_of_nox,
    recipes_of_scripts,
    recipes_of_make,
    recipes_of_just,
    recipes_of_ci,
)


def recipes_of(directory: Path) -> Iterator[Group]:
    """Yield what the files of a directory run, those first that count before others."""
    for source in _SOURCES:
        yield from source(directory)
