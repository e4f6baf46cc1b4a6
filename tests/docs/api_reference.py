"""The Python API as a page: what programs and plugins import, with signatures and docstrings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

import runtrue
import runtrue.testing
from runtrue import errors
from runtrue.checks import Reader, Reading
from runtrue.escalation import Sender
from runtrue.loop import Fixer, Gate
from runtrue.models import Provider
from runtrue.secrets import SecretStore
from runtrue.workflow import WorkflowNode

#: Where plugins begin: what they derive from or have all of.
FOR_PLUGINS = (Reader, Reading, Fixer, Gate, WorkflowNode, Sender, SecretStore, Provider)
_WIDTH = 88


def api_reference() -> str:
    """Return the page below its introduction."""
    functions = [name for name in runtrue.__all__ if f"{name}_async" in runtrue.__all__]
    parts = [
        "## Functions\n",
        *(_described(getattr(runtrue, name), f"runtrue.{name}") for name in functions),
        "### runtrue.RunHandle\n\n" + _class(runtrue.RunHandle),
        "## For tests of plugins\n",
        *(
            _described(getattr(runtrue.testing, name), f"runtrue.testing.{name}")
            for name in runtrue.testing.__all__
        ),
        "## For plugins\n",
        *(_described(one, f"{_package(one)}.{one.__name__}") for one in FOR_PLUGINS),
        f"## Errors\n\n```text\n{_tree(errors.RuntrueError)}```\n",
    ]
    return "\n" + "\n".join(parts) + "\n"


def _package(one: type) -> str:
    """Return the package that exports a class, which is what others import from."""
    return ".".join(one.__module__.split(".")[:2])


def _described(one: Any, name: str) -> str:
    heading = f"### {name}\n\n"
    if inspect.isclass(one):
        return heading + _class(one)
    if callable(one):
        return heading + _signature(name.rpartition(".")[2], one) + _doc(one)
    return heading + f"`{re.sub(r'[a-z_]+[.]', '', str(one))}`\n"


def _class(one: type) -> str:
    is_protocol = getattr(one, "_is_protocol", False)
    given = "" if is_protocol else _signature(one.__name__, one)
    methods = "".join(_methods(one))
    return given + _doc(one) + methods


def _methods(one: type) -> Iterator[str]:
    for name, member in vars(one).items():
        doc = inspect.getdoc(member) or ""
        is_own = not name.startswith("_") and doc and doc != inspect.getdoc(Any)
        if isinstance(member, property) and is_own:
            yield f"\n- `{name}`: {_first(doc)}"
        elif (inspect.isfunction(member) or isinstance(member, classmethod)) and is_own:
            function = member.__func__ if isinstance(member, classmethod) else member
            yield f"\n- `{name}{_parameters(function)}`: {_first(doc)}"
    yield "\n"


def _first(doc: str) -> str:
    return " ".join(doc.partition("\n\n")[0].split())


def _parameters(function: Any) -> str:
    text = str(inspect.signature(function)).replace("'", "")
    return re.sub(r" = <[^>]*>", " = …", text).replace("(self, ", "(").replace("(self)", "()")


def _signature(name: str, one: Any) -> str:
    signature = inspect.signature(one)
    given = list(signature.parameters.values())
    # Where the star is, and what is typed: annotations are strings.
    first = next((n for n, each in enumerate(given) if each.kind is each.KEYWORD_ONLY), None)
    parts = [_typed(str(each)) for each in given]
    if first is not None:
        parts.insert(first, "*")
    is_class = inspect.isclass(one) or signature.return_annotation is inspect.Signature.empty
    end = "" if is_class else f" -> {signature.return_annotation}"
    line = f"{name}({', '.join(parts)}){end}"
    if len(line) > _WIDTH:
        line = f"{name}(\n" + "".join(f"    {part},\n" for part in parts) + f"){end}"
    return f"```text\n{line}\n```\n\n"


def _typed(parameter: str) -> str:
    parameter = re.sub(r": '(.*?)'( =|$)", r": \1\2", parameter)
    # What has no text that anyone could type.
    return re.sub(r" = (<.*>|\w+\(.*\))$", " = …", parameter)


def _doc(one: Any) -> str:
    doc = inspect.getdoc(one) or ""
    # An indented example is a block of code, which the page of examples has.
    return re.sub(r"\n\n(    .*(\n|$))+", "\n", doc).strip() + "\n"


def _tree(error: type[Exception], depth: int = 0) -> str:
    doc = _first(inspect.getdoc(error) or "")
    below: list[type] = sorted(error.__subclasses__(), key=str)
    below = [each for each in below if each.__module__ == errors.__name__]
    lines = [f"{'    ' * depth}{error.__name__}: {doc}\n"]
    return "".join([*lines, *(_tree(each, depth + 1) for each in below)])
