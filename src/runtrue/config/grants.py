"""Grants: what a project's configuration asks for beyond what runtrue gives any project by itself.

What only restricts needs nobody's agreement, nor do checks: they run in the box. What weakens the
box, widens it, starts a program outside of it or sends something away does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from runtrue.config.plans import PlansConfig
from runtrue.config.sections import Config, IsolationConfig
from runtrue.confinement import ResourceLimits
from runtrue.loop import DEFAULT_PROFILE, PROFILES, AutomationProfile, Notification

#: Every level, weakest first; a container is as strong as bubblewrap.
_STRENGTH = {"process": 0, "landlock": 1, "bubblewrap": 2, "docker": 2, "podman": 2}
#: The sections that are about the box.
_OF_THE_BOX = ("isolation", "sandbox")
_DEFAULT = IsolationConfig()
_LIMITS = ResourceLimits()
#: What a profile lets a plan do that the default one asks a person for.
_CAREFUL = ("require_sandbox", "approve_commands", "approve_network", "approve_deletes")


@dataclass(frozen=True, slots=True)
class _GrantRule:
    """A setting, the value that needs no agreement, and what another value means."""

    path: tuple[str, ...]
    #: Returns a value, or as much of it as needs no agreement.
    safe: Callable[[Any, Config], Any]
    words: str

    def value(self, config: Config) -> Any:
        value: Any = config
        for part in self.path:
            value = getattr(value, part)
        return value

    def item(self, config: Config) -> str:
        """Return the setting in plain words, as it is written."""
        table, key = ".".join(self.path[:-1]), self.path[-1]
        return f"{self.words}: [{table}] {key} = {_written(self.value(config))}"


def _nothing(value: Any, config: Config) -> Any:
    return () if isinstance(value, tuple) else None


def _strong_enough(value: str, config: Config) -> str:
    return value if _STRENGTH[value] >= _STRENGTH[_DEFAULT.minimum] else _DEFAULT.minimum


def _strongest_level(value: str | None, config: Config) -> str | None:
    return value if value == "bubblewrap" else None


def _lowered(value: ResourceLimits, config: Config) -> ResourceLimits:
    names = [one.name for one in fields(value)]
    return ResourceLimits(**{n: min(getattr(value, n), getattr(_LIMITS, n)) for n in names})


def _printed(value: Notification, config: Config) -> Notification:
    channel: Literal["cli"] | None = "cli" if value.channel == "cli" else None
    return Notification(channel=channel, template=value.template, timeout=value.timeout)


def _in_sandbox(value: str | None, config: Config) -> str | None:
    return None if value == "none" else value


def _careful_profile(value: str, config: Config) -> str:
    return value if _is_careful(config.plans.all_profiles()[value]) else DEFAULT_PROFILE


def _careful_profiles(value: Any, config: Config) -> Any:
    own = PlansConfig(profiles=value).all_profiles()
    return {name: one for name, one in value.items() if _is_careful(own[name])}


def _is_careful(profile: AutomationProfile) -> bool:
    default = PROFILES[DEFAULT_PROFILE]
    asks = all(getattr(profile, name) >= getattr(default, name) for name in _CAREFUL)
    return asks and profile.auto_apply <= default.auto_apply


_RULES = (
    _GrantRule(("isolation", "minimum"), _strong_enough, "weakens the isolation of commands"),
    _GrantRule(("isolation", "level"), _strongest_level, "chooses the isolation of commands"),
    _GrantRule(("isolation", "image"), _nothing, "runs commands in a container of this image"),
    _GrantRule(("isolation", "network"), _nothing, "lets commands connect to hosts"),
    _GrantRule(("isolation", "read"), _nothing, "lets commands read further files"),
    _GrantRule(("isolation", "write"), _nothing, "lets commands write further files"),
    _GrantRule(("isolation", "limits"), _lowered, "raises the limits of commands"),
    _GrantRule(("sandbox", "env"), _nothing, "gives commands variables of your environment"),
    _GrantRule(("fixers", "agent", "command"), _nothing, "runs a coding agent, with the network"),
    _GrantRule(
        ("fixers", "agent", "env"), _nothing, "gives the agent variables of your environment"
    ),
    _GrantRule(("fixers", "agent", "read"), _nothing, "lets the agent read further files"),
    _GrantRule(("fixers", "agent", "write"), _nothing, "lets the agent write further files"),
    _GrantRule(
        ("security", "command"), _nothing, "replaces the security scanner with this command"
    ),
    _GrantRule(
        ("model", "name"), _nothing, "sends code and tasks to a language model, with your key"
    ),
    _GrantRule(("model", "base_url"), _nothing, "sends code and tasks to this address"),
    _GrantRule(("model", "key_env"), _nothing, "sends the value of this variable to the model"),
    _GrantRule(("escalation", "notification"), _printed, "sends reports of runs to others"),
    _GrantRule(("plans", "sandbox"), _in_sandbox, "lets plans work on your own files"),
    _GrantRule(("plans", "profile"), _careful_profile, "lets plans do more without asking"),
    _GrantRule(("plans", "profiles"), _careful_profiles, "lets plans do more without asking"),
)


def grants_of(config: Config, sections: tuple[str, ...] | None = None) -> tuple[str, ...]:
    """Return what a configuration asks for that needs a person's agreement, each as a sentence.

    `sections` are the tables to look at; by default all of them.
    """
    return tuple(rule.item(config) for rule in _exceeding(config, sections))


def without_grants(config: Config) -> Config:
    """Return a configuration without all that needs a person's agreement."""
    return _without(config, None)


def raised(config: Config, level: str) -> tuple[Config, tuple[str, ...]]:
    """Return a configuration at no less than a level that the user asks for, and what that undoes.

    A level above what a project accepts also takes back what the project had opened in the box.
    """
    if _STRENGTH.get(level, -1) <= _STRENGTH[config.isolation.minimum]:
        return config, ()
    # Which image a container has says nothing of how strong its engine is.
    image = config.isolation.image
    minimum: Any = level if level in ("landlock", "bubblewrap") else "bubblewrap"
    isolation = replace(config.isolation, minimum=minimum, level=None, image=None)
    config = replace(config, isolation=isolation)
    undone = grants_of(config, _OF_THE_BOX)
    config = _without(config, _OF_THE_BOX)
    return replace(config, isolation=replace(config.isolation, image=image)), undone


def _exceeding(config: Config, sections: tuple[str, ...] | None) -> Iterator[_GrantRule]:
    for rule in _RULES:
        value = rule.value(config)
        is_asked = sections is None or rule.path[0] in sections
        if is_asked and value != rule.safe(value, config):
            yield rule


def _without(config: Config, sections: tuple[str, ...] | None) -> Config:
    for rule in _exceeding(config, sections):
        config = _replaced(config, rule.path, rule.safe(rule.value(config), config))
    return config


def _replaced(whole: Any, path: tuple[str, ...], value: Any) -> Any:
    name, *rest = path
    inner = _replaced(getattr(whole, name), tuple(rest), value) if rest else value
    return replace(whole, **{name: inner})


def _written(value: Any) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, tuple):
        return f"[{', '.join(map(_written, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(value)}}}"
    if hasattr(value, "__dataclass_fields__"):
        default = type(value)()
        values = {f.name: getattr(value, f.name) for f in fields(value)}
        given = {name: one for name, one in values.items() if one != getattr(default, name)}
        return f"{{{', '.join(f'{name} = {_written(one)}' for name, one in given.items())}}}"
    return str(value)
