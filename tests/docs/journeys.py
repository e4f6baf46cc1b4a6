"""The main path of a command, found by profiling a real run, and its drawing.

A run's *milestones* are the moments at which something happens that lasts or leaves the process: a
step is recorded, a run parks for a person, a node of a flow is executed, a workflow is generated,
the next action is decided, an edit is let in, a program is started, a request is sent. The *main
path* is every function of runtrue that is on the stack at a milestone, from the command on. What
builds data, reads configuration or shows progress has no milestone below it, so it is no part of
the path; neither is what prints the report once the run has stopped. The path ends at the journal,
at the operating system or at the network: the modules in ENDS are where it ends.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from html import escape
from io import StringIO
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

import runtrue
from runtrue.cli.main import cli
from tests.plan.driving import make_project
from tests.workflow.nodes.scripted_server import ScriptedServer, response

from .pages import DOCS

PACKAGE = Path(runtrue.__file__).parent
_PREFIX = f"{PACKAGE}{os.sep}"

ENDS = {"flow/journal.py", "process.py"}
_MILESTONES = {
    ("flow/journal.py", "Journal.record"),
    ("flow/journal.py", "Journal.park"),
    ("loop/decide.py", "decide"),
    ("loop/edit.py", "guard_edit"),
    ("process.py", "run"),
}
#: Methods of the seams that do a node's or a generator's work, whichever class has them.
_SEAMS = {"exec", "generate"}
_DISPATCHER = ("flow/dispatch.py", "LocalDispatcher.run")


def _file(code: CodeType) -> str | None:
    name = code.co_filename
    return name.removeprefix(_PREFIX) if name.startswith(_PREFIX) else None


def _is_milestone(code: CodeType) -> bool:
    file = _file(code)
    if file is None:
        return "/httpx2/" in code.co_filename and code.co_qualname == "AsyncClient.send"
    return code.co_name in _SEAMS or (file, code.co_qualname) in _MILESTONES


@dataclass
class Stop:
    """A file on the main path: the file that leads to it, and its functions that are passed."""

    parent: str | None
    functions: list[str] = field(default_factory=list)

    @property
    def public(self) -> list[str]:
        """The functions that others may call."""
        parts = ((name, name.split(".")) for name in self.functions)
        return [name for name, all_of in parts if not any(one[0] in "_<" for one in all_of)]


class MainPath:
    """Collects the main path while a command is run."""

    def __init__(self) -> None:
        #: By file, in the order in which the run first passes them.
        self.stops: dict[str, Stop] = {}

    @contextmanager
    def collected(self) -> Iterator[None]:
        threading.setprofile(self._profile)
        sys.setprofile(self._profile)
        try:
            yield
        finally:
            sys.setprofile(None)
            threading.setprofile(None)

    def _profile(self, frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and _is_milestone(frame.f_code):
            self._pass(frame)

    def _pass(self, frame: FrameType | None) -> None:
        stack: list[tuple[str, str]] = []
        while frame is not None:
            file = _file(frame.f_code)
            if file is not None:
                stack.append((file, frame.f_code.co_qualname))
            frame = frame.f_back
        stack.reverse()
        is_main = threading.current_thread() is threading.main_thread()
        if is_main and _DISPATCHER not in stack:
            return  # after the run: its report is replayed from the journal
        chain: list[str] = []
        for file, function in stack:
            if file in ENDS:
                break
            stop = self.stops.setdefault(file, Stop(chain[-1] if chain else None))
            if function not in stop.functions:
                stop.functions.append(function)
            if file not in chain:
                # A helper that another file led to first is passed through here.
                if not chain or stop.parent == chain[-1]:
                    chain.append(file)
            elif not file.startswith("flow/"):
                # The kernel calls back: what it calls is below the file that asked it to.
                del chain[chain.index(file) + 1 :]


# -- one small, real run of each command --------------------------------------------------------


def _runtrue(*words: str) -> None:
    with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as err:
        code = cli.main(list(words), standalone_mode=False, prog_name="runtrue")
    assert not code, f"{out.getvalue()}\n{err.getvalue()}"


def _fix(path: MainPath, directory: Path) -> None:
    make_project(directory, {"shop.py": "total = 1 - 2\n", "check.sh": "grep -q '1 + 2' shop.py\n"})
    with path.collected():
        _runtrue(
            *("fix", ".", "--check", "sh check.sh", "--apply"),
            *("--agent", "sed -i 's/-/+/' shop.py"),
        )
    assert (directory / "shop.py").read_text() == "total = 1 + 2\n"


def _do(path: MainPath, directory: Path) -> None:
    user = response('{"login": "ada"}', "Content-Type: application/json")
    with ScriptedServer(user) as server, path.collected():
        _runtrue("do", f"fetch {server.url}/user and extract login")


_PLAN = """
instruction: say yes
strategy:
  steps:
    - {id: s1, description: write, actor: command, command: "echo yes >state.txt"}
validations:
  - {name: says, command: "grep -q yes state.txt"}
"""


def _plan_execute(path: MainPath, directory: Path) -> None:
    make_project(directory, {"state.txt": "no\n"})
    file = directory.parent / "plan.yaml"
    file.write_text(_PLAN)
    _runtrue("plan", "use", str(file))
    with path.collected():
        _runtrue("plan", "execute")


JOURNEYS: dict[str, Callable[[MainPath, Path], None]] = {
    "fix": _fix,
    "do": _do,
    "plan execute": _plan_execute,
}


def main_path(journey: str) -> dict[str, Stop]:
    """Run a command on something small, and return the files that the run passes."""
    path = MainPath()
    with ExitStack() as stack:
        root = Path(stack.enter_context(tempfile.TemporaryDirectory())).resolve()
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        for name in ("RUNTRUE_MODEL", "RUNTRUE_ISOLATION"):
            patch.delenv(name, raising=False)
        patch.setenv("RUNTRUE_HOME", str(root / "home"))
        patch.setenv("RUNTRUE_ALLOW_LOOPBACK", "1")
        project = root / "project"
        project.mkdir()
        patch.chdir(project)
        JOURNEYS[journey](path, project)
    return path.stops


# -- the drawing ---------------------------------------------------------------------------------

_COLOURS = {
    "cli": "#cfe3ff",
    "flow": "#e2e2e2",
    "loop": "#ffe3b8",
    "code": "#cdeccd",
    "plan": "#cdeccd",
    "planner": "#cdeccd",
}
_OTHER_COLOUR = "#f0d5f0"
_ROW, _BOX, _INDENT, _WIDTH = 34, 26, 24, 780


def drawing_of(journey: str) -> Path:
    """The file with the drawing of a journey."""
    return DOCS / "journeys" / f"{journey.replace(' ', '-')}.svg"


def draw(journey: str, stops: dict[str, Stop]) -> str:
    """Draw the files of a journey as a tree: each below the one that calls it."""
    lines, boxes = [], []
    rows: dict[str | None, int] = {name: row for row, name in enumerate(stops)}
    depths: dict[str | None, int] = {None: -1}
    for (file, stop), row in zip(stops.items(), rows.values(), strict=True):
        depth = depths[file] = depths[stop.parent] + 1
        x, y = 8 + depth * _INDENT, 8 + row * _ROW
        if stop.parent is not None:
            start = 8 + rows[stop.parent] * _ROW + _BOX
            lines.append(f'<path d="M{x - 12} {start}V{y + _BOX // 2}H{x}"/>')
        package = file.partition("/")[0]
        shown = ", ".join(dict.fromkeys(name.rpartition(".")[2] for name in stop.public))
        boxes.append(
            f'<rect x="{x}" y="{y}" width="{_WIDTH - x - 8}" height="{_BOX}" rx="4" '
            f'fill="{_COLOURS.get(package, _OTHER_COLOUR)}"/>'
            f'<text x="{x + 10}" y="{y + 18}"><tspan font-weight="bold">{escape(file)}</tspan>'
            f'<tspan dx="12" fill="#444">{escape(shown)}</tspan></text>'
        )
    height = 16 + len(stops) * _ROW
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" '
            f'role="img" font-family="ui-monospace, monospace" font-size="13">',
            f"<title>The main path of runtrue {escape(journey)}</title>",
            '<g fill="none" stroke="#888" stroke-width="1.5">',
            *lines,
            '</g><g fill="#111">',
            *boxes,
            "</g></svg>\n",
        ]
    )


def main() -> None:
    for journey in JOURNEYS:
        stops = main_path(journey)
        file = drawing_of(journey)
        file.parent.mkdir(exist_ok=True)
        file.write_text(draw(journey, stops), encoding="utf-8")
        print(f"{file.relative_to(DOCS.parent)}: drawn, {len(stops)} files")


if __name__ == "__main__":
    main()
