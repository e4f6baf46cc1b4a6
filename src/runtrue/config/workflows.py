"""`[workflows]`: what addresses workflows may reach besides those that anybody can reach."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowsConfig:
    """`[workflows]`. It is heard in the user's own file only: a project must not open doors."""

    #: This machine itself. RUNTRUE_ALLOW_LOOPBACK overrides it.
    allow_loopback: bool = False
    #: Addresses, networks and names, with a port or without. RUNTRUE_ALLOW_PRIVATE overrides it.
    allow_private: tuple[str, ...] = ()
