"""Confine the server of a project: it reaches what its entry declares, and no more."""

from __future__ import annotations

from pathlib import Path

from runtrue.confinement import Confinement
from runtrue.workflow.isolation import isolation_in
from runtrue.workflow.mcp.servers import StdioServer


def confinement_of(server: StdioServer) -> Confinement | None:
    """Return the box of a project's server; None for the user's own. Raises IsolationError.

    It sees the project, as commands do that the project has run, and cannot change it. Files to
    write and hosts to connect to are those that its entry names, besides those of `[isolation]`.
    """
    if server.origin == "user" or server.source is None:
        return None
    project = server.source.parent
    # A home directory as a whole stays private, and so does everything above it.
    seen = () if Path.home().is_relative_to(project.resolve()) else (project,)
    box = isolation_in(project).box(
        read=(*seen, *server.read), write=server.write, hidden=(project / ".runtrue",)
    )
    return box.also(network=server.network)
