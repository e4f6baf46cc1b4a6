"""Scope: what a configuration means to a project further down in its repository."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from runtrue.config.plans import ValidationConfig
from runtrue.config.sections import CheckConfig, Config


def seen_from(config: Config, place: Path, project: Path) -> Config:
    """Return the configuration of a directory as it holds for a project below that.

    Checks that run in the project are its own. Where there is none, it has those of the whole.
    """

    def directory(name: str) -> str:
        return Path(os.path.relpath(place / name, project)).as_posix()

    def moved(check: CheckConfig) -> CheckConfig:
        judges = tuple(directory(pattern) for pattern in check.judges)
        return replace(check, directory=directory(check.directory), judges=judges)

    def moved_validation(validation: ValidationConfig) -> ValidationConfig:
        # What it watches is named as seen from the whole: it is run after every step.
        judges = tuple(directory(pattern) for pattern in validation.judges)
        where = directory(validation.directory)
        return replace(validation, directory=where, judges=judges, watches=None)

    checks = {name: moved(check) for name, check in config.checks.items()}
    own = {name: check for name, check in checks.items() if not _is_outside(check.directory)}
    validations = {
        name: moved_validation(validation) for name, validation in config.plans.validations.items()
    }
    plans = replace(config.plans, validations=validations)
    return replace(config, checks=own or checks, plans=plans)


def _is_outside(directory: str) -> bool:
    return Path(directory).parts[:1] == ("..",)
