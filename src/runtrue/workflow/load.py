"""Loading: a workflow from a file, or a saved one by its name."""

from __future__ import annotations

from pathlib import Path

from runtrue.documents import SUFFIXES, Document, read_document
from runtrue.errors import InvalidWorkflow, Problem
from runtrue.home import Home
from runtrue.workflow.ir import Workflow
from runtrue.workflow.node import kind_of
from runtrue.workflow.store import WorkflowStore


def load_workflow(source: str | Path, *, home: Home | None = None) -> Workflow:
    """Read a workflow from a file, or by the name it is saved under. It is not validated yet.

    A name with a suffix or a slash in it is a path, and so is one that a file has.
    """
    text = str(source)
    is_path = isinstance(source, Path) or "/" in text or text.endswith(SUFFIXES)
    if is_path or Path(text).is_file():
        return as_workflow(read_document(Path(source)), path=Path(source).absolute())
    return load_saved(text, home or Home.find(Path.cwd()))


def load_saved(name: str, home: Home) -> Workflow:
    """Read the workflow that is saved under a name, whatever files there are."""
    store = WorkflowStore(home)
    return as_workflow(store.load(name), name=name, path=store.find(name))


def as_workflow(document: Document, *, path: Path | None, name: str | None = None) -> Workflow:
    """Return a document as a workflow. Raises InvalidWorkflow if it is no object."""
    if not isinstance(document.data, dict):
        problem = f"a workflow is an object with `nodes`, and this is {kind_of(document.data)}"
        raise InvalidWorkflow(document.name, [Problem(pointer="", message=problem, line=1)])
    return Workflow(document.data, name=name or document.name, path=path, line=document.line)
