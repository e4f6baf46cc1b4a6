"""The files of a project, listed once and read as they are needed."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path, PurePosixPath

from runtrue.sandbox.git import INSTALLED, is_junk
from runtrue.sandbox.judge_names import JAVASCRIPT, is_judge_by_name

#: A repository larger than this is looked at up to here; a file that is longer is not read.
_MOST_FILES = 50_000
_LONGEST = 300_000
CODE = frozenset({".py", ".pyi", ".go", ".rs", ".java", ".kt", *(f".{end}" for end in JAVASCRIPT)})
_DATA = frozenset({".json", ".csv", ".tsv", ".txt", ".yaml", ".yml", ".xml", ".out", ".golden"})
_INDEXES = ("", *(f".{end}" for end in JAVASCRIPT), ".json", *(f"/index.{e}" for e in JAVASCRIPT))

_PYTHON = re.compile(
    r"^[ \t]*(?:from[ \t]+(\.*[\w.]*)[ \t]+import[ \t]+\(?([^#\n)]*)|import[ \t]+([^#\n]+))", re.M
)
_SCRIPT = re.compile(
    r"""(?:\bfrom\s*|\bimport\s*\(?\s*|\brequire(?:\.resolve)?\s*\(\s*)["'`]([^"'`\n]+)["'`]"""
)
#: A module that is named by a text.
_BY_TEXT = re.compile(r"""\b(?:import_module|__import__|importorskip)\(\s*["']([\w.]+)["']""")
_GO = re.compile(r'^\s*(?:import\s+)?(?:[\w.]+\s+)?"([\w./-]+/[\w./-]+)"', re.M)


class BaselineFiles:
    """The files below a directory, named from there; what is installed there is left out."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._texts: dict[str, str] = {}
        self._imports: dict[str, frozenset[str]] = {}

    @cached_property
    def names(self) -> frozenset[str]:
        """The names of all files."""
        return frozenset(self._walk())

    @cached_property
    def directories(self) -> frozenset[str]:
        """The directories that contain files."""
        return frozenset(
            str(parent) for name in self.names for parent in PurePosixPath(name).parents
        )

    @cached_property
    def judges(self) -> tuple[str, ...]:
        """The files that judge by their names."""
        return tuple(sorted(filter(is_judge_by_name, self.names)))

    def _walk(self) -> Iterator[str]:
        left = _MOST_FILES
        for place, directories, files in os.walk(self.directory):
            directories[:] = sorted(
                name
                for name in directories
                if name not in (".git", *INSTALLED) and not is_junk(name)
            )
            inside = Path(place).relative_to(self.directory).as_posix()
            for name in files:
                yield name if inside == "." else f"{inside}/{name}"
            left -= len(files)
            if left < 0:
                return

    def text(self, file: str) -> str:
        """Return the text of a file; nothing of one that is too long or is not text."""
        if file not in self._texts:
            path = self.directory / file
            try:
                is_short = path.stat().st_size <= _LONGEST
                text = path.read_text("utf-8", "replace") if is_short else ""
            except OSError:
                text = ""
            self._texts[file] = "" if "\0" in text else text
        return self._texts[file]

    def imports(self, file: str) -> frozenset[str]:
        """Return the project's own files that a file imports."""
        if file not in self._imports:
            self._imports[file] = self._find_imports(file)
        return self._imports[file]

    def _find_imports(self, file: str) -> frozenset[str]:
        text, suffix = self.text(file), PurePosixPath(file).suffix
        if suffix == ".py":
            return frozenset(self._python_imports(file, text))
        if suffix[1:] in JAVASCRIPT:
            return frozenset(filter(None, (self._required(n, file) for n in _SCRIPT.findall(text))))
        if suffix == ".go":
            return frozenset(self._go_imports(text))
        return frozenset()

    def _python_imports(self, file: str, text: str) -> Iterator[str]:
        for name in _BY_TEXT.findall(text):
            if found := self.module(name, file):
                yield found
        for whole, names, plain in _PYTHON.findall(text):
            if plain:
                modules = [word.split()[0] for word in plain.split(",") if word.split()]
            else:
                imported = [word.split()[0] for word in names.split(",") if word.split()]
                dot = "" if whole.endswith(".") or not whole else "."
                modules = [whole, *(f"{whole}{dot}{name}" for name in imported)]
            for module in modules:
                if found := self.module(module, file):
                    yield found

    def module(self, name: str, importer: str = "") -> str | None:
        """Return the file of a Python module, as a file of the project would import it."""
        dots = len(name) - len(name.lstrip("."))
        path = name[dots:].replace(".", "/")
        near = PurePosixPath(importer).parent
        if dots:
            roots = [near, *near.parents][dots - 1 : dots]
        else:
            roots = [PurePosixPath(), PurePosixPath("src"), near, *near.parents]
        for root in roots:
            for end in (".py", "/__init__.py"):
                file = (root / (f"{path}{end}" if path else "__init__.py")).as_posix()
                if file in self.names and file != importer:
                    return file
        return None

    def any_module(self, name: str) -> str | None:
        """Return the file of a Python module, wherever it is if it is the only one of its name."""
        path = name.replace(".", "/")
        ends = tuple(f"/{path}{end}" for end in (".py", "/__init__.py"))
        found = self.module(name)
        if found is None:
            every = [file for file in self.names if file.endswith(ends)]
            found = every[0] if len(every) == 1 else None
        return found

    def called(self, name: str) -> list[str]:
        """Return the files of data of a name, wherever they are."""
        return self._by_name.get(name, [])

    @cached_property
    def _by_name(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for file in self.names:
            path = PurePosixPath(file)
            if path.suffix in _DATA:
                found.setdefault(path.name, []).append(file)
        return found

    def below(self, place: str, near: str = "") -> list[str]:
        """Return the files in a directory, as seen from a file or the top."""
        for start in (posixpath.dirname(near), ""):
            path = posixpath.normpath(posixpath.join(start, place))
            if path in self.directories and path != ".":
                return [file for file in self.names if file.startswith(f"{path}/")]
        return []

    def _required(self, name: str, importer: str) -> str | None:
        """Return the file that a module of JavaScript loads, also by a name without a path."""
        if name[:1] == "." or not re.fullmatch(r"[\w-]+", name):
            return self.script(name, importer) if name[:1] == "." else None
        ends = tuple(f"/{name}{end}" for end in _INDEXES if end)
        every = [file for file in self.names if file.endswith(ends) and file != importer]
        return every[0] if len(every) == 1 else None

    def script(self, name: str, near: str = "") -> str | None:
        """Return the file that Node would load by a path, as seen from a file or the top."""
        name = re.sub(r"^(?:<rootDir>|\$\{?\w+\}?|file:)/?", "", name.split("?", maxsplit=1)[0])
        places = (posixpath.dirname(near), "")
        for place in places:
            path = posixpath.normpath(posixpath.join(place, name))
            stem = re.sub(r"\.[cm]?jsx?$", "", path)
            for base in dict.fromkeys((path, stem)):
                for end in _INDEXES:
                    if f"{base}{end}" in self.names:
                        return f"{base}{end}"
        return None

    def _go_imports(self, text: str) -> Iterator[str]:
        found = re.search(r"^module\s+(\S+)", self.text("go.mod"), re.M)
        for path in _GO.findall(text):
            if found and path.startswith(f"{found[1]}/"):
                place = path.removeprefix(f"{found[1]}/")
                yield from (
                    name
                    for name in self.names
                    if posixpath.dirname(name) == place and name.endswith(".go")
                )

    def mentioned(self, words: Iterable[str], judges: frozenset[str]) -> frozenset[str]:
        """Return those of some words that code which is no judge has in it."""
        wanted = frozenset(words)
        if not wanted:
            return wanted
        found: set[str] = set()
        pattern = re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, sorted(wanted)))})(?![\w-])")
        for name in self.names:
            if PurePosixPath(name).suffix in CODE and name not in judges:
                found.update(pattern.findall(self.text(name)))
            if found == wanted:
                break
        return frozenset(found)
