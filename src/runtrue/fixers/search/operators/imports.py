"""Imports: a module that is not imported, or the wrong one for a name."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import lru_cache
from importlib import import_module
from pathlib import PurePosixPath

from runtrue.fixers.search.edit import Edit, Splice
from runtrue.fixers.search.operators.clues import closest, raised
from runtrue.fixers.search.operators.facts import program_facts
from runtrue.fixers.search.operators.layout import is_docstring, is_known, undefined
from runtrue.fixers.search.operators.likeness import likeness
from runtrue.fixers.search.operators.nodes import walk
from runtrue.fixers.search.operators.seam import EditSite, Ways, edits
from runtrue.fixers.search.program import Program

#: Modules that are harmless to import, the more used ones first: of two that have a name, it is
#: taken from the first.
_MODULES = (
    *("typing", "collections", "math", "functools", "itertools", "datetime", "dataclasses"),
    *("pathlib", "re", "json", "os", "random", "abc", "enum", "contextlib", "heapq", "bisect"),
    *("string", "copy", "time", "operator", "decimal", "fractions", "statistics"),
    *("collections.abc", "asyncio", "threading", "queue", "logging", "sys", "io", "csv", "uuid"),
    *("hashlib", "base64", "secrets", "shutil", "tempfile", "subprocess", "textwrap", "traceback"),
    *("types", "inspect", "urllib.parse", "http", "html", "struct", "socket", "sqlite3"),
    *("argparse", "warnings", "calendar", "zoneinfo", "concurrent.futures", "os.path", "glob"),
    *("fnmatch", "pprint", "pickle", "weakref", "numbers", "cmath", "array", "unittest"),
    *("unittest.mock", "difflib", "shlex", "locale", "platform", "signal", "zlib", "gzip"),
    *("configparser", "hmac", "ipaddress"),
)
#: What people call the modules that they rename.
_RENAMED = {
    "np": "numpy",
    "pd": "pandas",
    "plt": "matplotlib.pyplot",
    "dt": "datetime",
    "mp": "multiprocessing",
    "ET": "xml.etree.ElementTree",
    "tk": "tkinter",
    "nn": "torch.nn",
    "tf": "tensorflow",
    "sns": "seaborn",
}
_MOST = 4
#: How much a module has to be like another that is taken to be misspelt.
_A_SLIP = 0.75


@edits("import")
def add_import(site: EditSite, node: ast.Name) -> Ways:
    """An import for a name that nothing binds."""
    program = site.program
    if node.id not in undefined(program):
        return
    if is_known(program, node):
        return
    yield from _from_own(site, node)
    parent = site.parent
    owned = parent.attr if isinstance(parent, ast.Attribute) else None
    for n, line in enumerate(_import_lines(node.id, owned)):
        place = place_of_imports(program)
        yield program.edit(
            "import", node, f"`{line}`", Splice(place, place, line + "\n"), unlikely=1.0 + n / 2
        )


def _from_own(site: EditSite, node: ast.Name) -> Iterator[Edit]:
    """A name, or a module, of the project itself, written as the file has its other imports."""
    program = site.program
    imports = [one for one in program.tree.body if isinstance(one, ast.ImportFrom)]
    place = place_of_imports(program)
    for other in site.others:
        path = PurePosixPath(other.file)
        beside = path.parent == PurePosixPath(program.file).parent
        relative = beside and any(one.level for one in imports)
        dotted = ".".join(path.with_suffix("").parts[path.parts[0] == "src" :])
        if node.id in other.names_in(other.tree):
            line = f"from {f'.{path.stem}' if relative else dotted} import {node.id}"
            same = [one for one in imports if _is_from_file(program, one, path)]
            if same and not program.source(same[-1]).endswith(")"):
                end = program.span(same[-1])[1]
                yield program.edit("import", node, f"`{line}`", Splice(end, end, f", {node.id}"))
                continue
        elif node.id == path.stem:
            home = dotted.rpartition(".")[0]
            whole = "." if relative else home
            line = f"from {whole} import {node.id}" if whole else f"import {node.id}"
        else:
            continue
        yield program.edit("import", node, f"`{line}`", Splice(place, place, line + "\n"))


def _is_from_file(program: Program, node: ast.ImportFrom, path: PurePosixPath) -> bool:
    inside = tuple((node.module or "").split(".")) if node.module else ()
    if node.level:
        folders = PurePosixPath(program.file).parts[: -node.level]
        return (*folders, *inside) == path.with_suffix("").parts
    return bool(inside) and path.with_suffix("").parts[-len(inside) :] == inside


def from_where(site: EditSite) -> Iterator[Edit]:
    """A name taken from a module that has it; `import x` for `from x import x`, and back."""
    node, program = site.node, site.program
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        yield from _through(site, node, node.value)
    if isinstance(node, ast.ImportFrom) and node.module and not node.level:
        yield from _from(site, node, node.module)
    if isinstance(node, ast.Import) and len(node.names) == 1 and node.names[0].asname is None:
        name = node.names[0].name
        if "." not in name and name in _public_names(name):
            yield program.replace("import", node, f"from {name} import {name}", unlikely=1.5)
        for n, near in enumerate(_similar_modules(site, name)):
            if _attributes_read(program, name) <= _public_names(near):
                yield program.replace("import", node, f"import {near} as {name}", unlikely=2 + n)
    if (
        isinstance(node, ast.Name)
        and isinstance(node.ctx, ast.Load)
        and _is_imported(program, node.id)
        and node.id in _public_names(node.id)
        and not isinstance(program.parents[node], ast.Attribute)
    ):
        yield program.replace("import", node, f"{node.id}.{node.id}", unlikely=1.2)


def _from(site: EditSite, node: ast.ImportFrom, module: str) -> Iterator[Edit]:
    program = site.program
    if module == node.names[0].name and len(node.names) == 1:
        yield program.replace("import", node, f"import {module}", unlikely=1.5)
    own = set(_public_names(module))
    wrong = [one for one in node.names if own and one.name not in own and one.name != "*"]
    for n, near in enumerate(_similar_modules(site, module)):
        if all(one.name in _public_names(near) for one in node.names):
            start = program.span(node)[0] + len("from ")
            at = Splice(start, start + len(module), near)
            yield program.edit("import", node, f"from `{near}`", at, unlikely=1.0 + n / 4)
    if not wrong or not program.alone(node):
        return
    rest = [one for one in node.names if one not in wrong]
    lines = [f"from {module} import {_listed(rest)}"] if rest else []
    found = []
    for one in wrong:
        homes = _modules_by_name().get(one.name, [])
        alike = closest(one.name, tuple(sorted(own)), 1) if own else ()
        if homes:
            found.append(f"from {homes[0]} import {_listed([one])}")
        elif alike:
            found.append(f"from {module} import {alike[0]} as {one.asname or one.name}")
    if len(found) == len(wrong):
        indent = program.indent_of(node.lineno)
        yield program.replace("import", node, f"\n{indent}".join([*lines, *found]))


def _listed(names: list[ast.alias]) -> str:
    return ", ".join(f"{one.name} as {one.asname}" if one.asname else one.name for one in names)


def _through(site: EditSite, node: ast.Attribute, owner: ast.Name) -> Iterator[Edit]:
    """`datetime.now()` below `import datetime`; `datetime.datetime` below `from …`."""
    program = site.program
    module = owner.id
    imported, taken = _is_imported(program, module), _is_taken(program, module)
    names = _public_names(module)
    if imported and names and node.attr not in names:
        if module in names:
            yield program.replace("import", node.value, f"{module}.{module}")
        for n, home in enumerate(_modules_by_name().get(node.attr, [])[:2]):
            place = place_of_imports(program)
            line = f"import {home}\n"
            yield program.edit(
                "import",
                node,
                f"`{node.attr}` from `{home}`",
                Splice(place, place, line),
                Splice(*program.span(node.value), home),
                unlikely=1.5 + n,
            )
        for n, near in enumerate(closest(node.attr, tuple(sorted(names)), 4)):
            yield program.replace("import", node, f"{module}.{near}", unlikely=1.2 + n / 2)
    if taken and node.attr in names and any(raised(site, "AttributeError")):
        yield program.replace("import", node, node.attr)
    if imported and node.attr == module:
        yield program.replace("import", node, module, unlikely=3.0)


def _is_imported(program: Program, name: str) -> bool:
    return name in _imported_modules(program)


@lru_cache(maxsize=64)
def _imported_modules(program: Program) -> frozenset[str]:
    """Return the modules that are imported under their own name."""
    imports = walk(program.tree, ast.Import)
    return frozenset(a.name for one in imports for a in one.names if a.asname is None)


@lru_cache(maxsize=4096)
def _is_taken(program: Program, name: str) -> bool:
    return any(
        isinstance(one, ast.ImportFrom)
        and one.module == name
        and any(alias.name == name for alias in one.names)
        for one in ast.walk(program.tree)
    )


def _import_lines(name: str, owned: str | None) -> list[str]:
    lines = []
    if name in _RENAMED:
        lines.append(f"import {_RENAMED[name]} as {name}")
    if name in sys.stdlib_module_names and not name.startswith("_"):
        if owned is None or owned in _public_names(name) or not _public_names(name):
            lines.append(f"import {name}")
        if owned is not None and name in _public_names(name):
            lines.append(f"from {name} import {name}")
    lines += [f"from {home} import {name}" for home in _modules_by_name().get(name, [])[:2]]
    return list(dict.fromkeys(lines))[:_MOST]


def place_of_imports(program: Program) -> int:
    """Return the offset for a new import: behind the docstring and `__future__`."""
    body = program.tree.body
    last = None
    for n, one in enumerate(body):
        if (is_docstring(one) and n == 0) or (
            isinstance(one, ast.ImportFrom) and (one.module == "__future__")
        ):
            last = one
        else:
            break
    if last is not None and program.alone(last) and last.end_lineno is not None:
        place = program.line_span(last)[1]
        return place if program.text[:place].endswith("\n") else program.begin
    return program.begin if last is None else program.span(last)[0]


def _similar_modules(site: EditSite, module: str) -> tuple[str, ...]:
    """Return modules that a missing one may be a misspelling of.

    One that is merely not installed is like none of ours, and no edit of a program helps with it.
    """
    missed = (one.name for one in site.failures if one.exception == "ModuleNotFoundError")
    if not any(name and f"{module}.".startswith(f"{name}.") for name in missed):
        return ()
    near = closest(module, _MODULES, 4)
    return tuple(one for one in near if likeness(module, one) >= _A_SLIP)


def _attributes_read(program: Program, name: str) -> frozenset[str]:
    return frozenset(program_facts(program).attributes.get(name, ()))


@lru_cache(maxsize=256)
def _public_names(module: str) -> frozenset[str]:
    """The public names of a module of the standard library; none for any other."""
    if module not in _MODULES:
        return frozenset()
    try:
        return frozenset(n for n in dir(import_module(module)) if not n.startswith("_"))
    except ImportError:  # pragma: no cover - a Python built without it
        return frozenset()


@lru_cache(maxsize=1)
def _modules_by_name() -> dict[str, list[str]]:
    """The modules of the standard library that have a name as their own, by that name."""
    found: dict[str, list[str]] = {}
    for module in _MODULES:
        try:
            content = import_module(module)
        except ImportError:  # pragma: no cover - a Python built without it
            continue
        public = set(getattr(content, "__all__", ()))
        for name in sorted(public or vars(content)):
            if name.startswith("_"):
                continue
            value = getattr(content, name, None)
            if name in public or getattr(value, "__module__", None) == module:
                found.setdefault(name, []).append(module)
    return found
