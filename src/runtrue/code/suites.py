"""Suites: where the tests of a source file are, where new ones belong, and what runs them.

All paths are relative to the project. Whether a file is a test at all, `runtrue.sandbox.is_test`
says.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import tomllib
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path, PurePosixPath

from runtrue.checks import Framework, Language, detect_checks, framework_of, language_of
from runtrue.fixers import module_of, read_text, sources_below
from runtrue.sandbox import is_test

_SCRIPTS = (Language.JAVASCRIPT, Language.TYPESCRIPT)
#: Directories that hold sources, and are left out where their tests are mirrored.
_SOURCE_ROOTS = frozenset({"src", "lib", "app", "source"})
_TEST_ROOTS = ("tests", "test", "spec")
#: The test's own part of its name, in all languages.
_AFFIX = re.compile(r"^[Tt]est[_-]|[_-]test$|\.(?:test|spec)$|(?<=[a-z0-9])(?:Tests?|IT)$|^Test")
_SPECIFIER = re.compile(
    r"""(?:\bfrom|\bimport|\brequire\s*\(|\bimport\s*\(|\bmock\s*\()\s*['"]([^'"\n]+)['"]"""
)
_SCRIPT_END = re.compile(r"\.[cm]?[jt]sx?$")
_GO_NAMES = re.compile(r"^(?:func (?:\([^)]*\) )?|type |var |const )([A-Za-z]\w*)", re.MULTILINE)
_RUNNERS = {"vitest": "vitest run", "jest": "jest", "mocha": "mocha"}
_FRAMEWORKS = {
    Language.PYTHON: (Framework.PYTEST,),
    Language.GO: (Framework.GO_TEST,),
    Language.RUST: (Framework.CARGO_TEST,),
    Language.JAVA: (Framework.JUNIT,),
    **dict.fromkeys(_SCRIPTS, (Framework.JEST, Framework.VITEST, Framework.MOCHA, Framework.OTHER)),
}


def test_files_for(
    project: Path, path: str, language: Language, framework: Framework
) -> tuple[str, ...]:
    """The tests that a source file has: those named after it first, then those that use it."""
    language = _language(language, framework)
    listed = sources_below(project)
    tests = [file for file in listed if _is_suite(file, language) and file != path]
    named = _named_after(path, tests, listed)
    using = [file for file in tests if file not in named and _uses(project, file, path, language)]
    return (*named, *using)


def new_test_path(project: Path, path: str, language: Language, framework: Framework) -> str:
    """Return where a new test file for a source file belongs; no file has that name yet."""
    language = _language(language, framework)
    listed = sources_below(project)
    tests = [file for file in listed if _is_suite(file, language)]
    places = [PurePosixPath(file).parent for file in _named_after(path, tests, listed) or tests]
    directory = _directory(project, PurePosixPath(path), places, language, framework)
    # Two modules of one name in directories that are no packages cannot be imported together.
    is_flat = language is Language.PYTHON and not (project / directory / "__init__.py").is_file()
    taken = {PurePosixPath(file).name for file in tests} if is_flat else set()
    names = (_file_name(PurePosixPath(path), number, tests, language) for number in count(1))
    return next(
        file
        for name in names
        if name not in taken and not (project / (file := (directory / name).as_posix())).exists()
    )


def default_command(language: Language, project: Path) -> str | None:
    """The command that runs tests in a project, which may have none yet; None if none is known."""
    wanted = _FRAMEWORKS.get(language, ())
    for detected in detect_checks(project):
        command, name = detected.check.command, detected.check.name
        is_here = detected.check.directory == "."
        if is_here and framework_of(command, project) in wanted and name not in ("mypy", "ruff"):
            return command
    if language in _SCRIPTS:
        return _script_command(language, project)
    commands = {Language.GO: "go test ./...", Language.RUST: "cargo test"}
    if language is Language.PYTHON:
        return f"{_python(project)} -m pytest -q"
    return commands.get(language)


def _script_command(language: Language, project: Path) -> str | None:
    for name, command in _RUNNERS.items():
        if (project / "node_modules" / name).is_dir():
            return f"npx --no-install {command}"
    return "node --test" if language is Language.JAVASCRIPT else None


def _python(project: Path) -> str:
    places = [str(project / name / "bin") for name in (".venv", "venv")]
    path = os.pathsep.join([*places, os.environ.get("PATH", os.defpath)])
    return "python" if shutil.which("python", path=path) else "python3"


# -- which tests a file has ---------------------------------------------------------------------


def _language(language: Language, framework: Framework) -> Language:
    """The language of the tests: a script without a name for it may have its tests in any."""
    if language is not Language.OTHER:
        return language
    return next((own for own, all_of in _FRAMEWORKS.items() if framework in all_of[:3]), language)


def _is_suite(file: str, language: Language) -> bool:
    own = language_of(file)
    is_kin = own is language or (own in _SCRIPTS and language in _SCRIPTS)
    if not is_kin or not is_test(file):
        return False
    # What lies beside Python's tests is imported by them, unless pytest would collect it.
    return language is not Language.PYTHON or _AFFIX.search(PurePosixPath(file).stem) is not None


def _named_after(path: str, tests: list[str], listed: Sequence[str]) -> list[str]:
    """The tests that bear a source's name."""
    names = {PurePosixPath(path).stem.lower(), module_of(path).lower()}
    rivals = [
        file
        for file in listed
        if file != path and not is_test(file) and PurePosixPath(file).stem.lower() in names
    ]
    named = [file for file in tests if _AFFIX.sub("", PurePosixPath(file).stem).lower() in names]
    # Where several sources have that name, the tests nearest to this one are its own.
    return [file for file in named if not rivals or _is_nearest(file, path, rivals)]


def _is_nearest(test: str, path: str, rivals: list[str]) -> bool:
    def shared(other: str) -> int:
        return len(set(PurePosixPath(other).parent.parts) & set(PurePosixPath(test).parent.parts))

    return shared(path) >= max(map(shared, rivals))


def _uses(project: Path, test: str, path: str, language: Language) -> bool:
    text = read_text(project / test) or ""
    if language is Language.PYTHON:
        return _uses_python(project, test, text, path)
    if language in _SCRIPTS:
        return any(_leads_to(specifier, test, path) for specifier in _SPECIFIER.findall(text))
    if language is Language.GO:
        return _uses_go(project, test, text, path)
    if language is Language.RUST:
        return _uses_rust(project, text, path)
    words = set(re.findall(r"\w+", text))
    return PurePosixPath(path).stem in words if language is Language.JAVA else path in text


def _uses_python(project: Path, test: str, text: str, path: str) -> bool:
    modules = set(_modules(project, PurePosixPath(path)))
    if not modules.isdisjoint(_imports(text, PurePosixPath(test))):
        return True
    dotted = [module for module in modules if "." in module]
    return path in text or any(re.search(rf"\b{re.escape(m)}\b", text) for m in dotted)


def _modules(project: Path, path: PurePosixPath) -> Iterator[str]:
    """The names that a Python file can be imported by: from each place that is no package."""
    parts = [*path.parent.parts, *([] if path.stem == "__init__" else [path.stem])]
    for start in range(len(parts)):
        yield ".".join(parts[start:])
        if (project.joinpath(*parts[: start + 1]) / "__init__.py").is_file():
            return


def _imports(text: str, test: PurePosixPath) -> Iterator[str]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            up = list(test.parts[: max(len(test.parts) - node.level, 0)] if node.level else ())
            base = ".".join([*up, *([node.module] if node.module else [])])
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)


def _leads_to(specifier: str, test: str, path: str) -> bool:
    """True if what a script imports is the file: by its place, or by an alias for one above it."""
    wanted = _SCRIPT_END.sub("", path)
    ends = {wanted, wanted.removesuffix("/index")}
    if specifier.startswith("."):
        place = os.path.normpath(PurePosixPath(test).parent / _SCRIPT_END.sub("", specifier))
        return PurePosixPath(place).as_posix() in ends
    tail = PurePosixPath(_SCRIPT_END.sub("", specifier)).parts[-2:]
    return len(tail) == 2 and any(PurePosixPath(end).parts[-2:] == tail for end in ends)


def _uses_go(project: Path, test: str, text: str, path: str) -> bool:
    if PurePosixPath(test).parent != PurePosixPath(path).parent:
        return False
    names = set(_GO_NAMES.findall(read_text(project / path) or ""))
    return not names.isdisjoint(re.findall(r"\w+", text))


def _uses_rust(project: Path, text: str, path: str) -> bool:
    used = " ".join(re.findall(r"^\s*(?:pub )?use ([^;]+);", text, re.MULTILINE))
    name = _crate_name(project, path) if PurePosixPath(path).stem == "lib" else module_of(path)
    return name in re.findall(r"\w+", used)


def _crate_name(project: Path, path: str) -> str:
    manifest = project / _crate(project, PurePosixPath(path)) / "Cargo.toml"
    try:
        package = tomllib.loads(manifest.read_text(encoding="utf-8")).get("package", {})
        return str(package.get("name", "")).replace("-", "_")
    except (OSError, ValueError, AttributeError):
        return ""


# -- where a new test belongs -------------------------------------------------------------------


def _directory(
    project: Path,
    path: PurePosixPath,
    places: list[PurePosixPath],
    language: Language,
    framework: Framework,
) -> PurePosixPath:
    if language is Language.GO:
        return path.parent
    if language is Language.RUST:
        return _crate(project, path) / "tests"
    if language is Language.JAVA and "main" in path.parts:
        at = path.parts.index("main")
        return PurePosixPath(*path.parts[:at], "test", *path.parts[at + 1 : -1])
    if places:
        return _mirrored(path, places)
    return _first_place(project, path, language, framework)


def _crate(project: Path, path: PurePosixPath) -> PurePosixPath:
    own = (place for place in path.parents if (project / place / "Cargo.toml").is_file())
    return next(own, PurePosixPath())


def _mirrored(path: PurePosixPath, places: list[PurePosixPath]) -> PurePosixPath:
    """The place of tests that is most like that of the source: beside it, or under its name."""
    if path.parent in places:
        return path.parent
    if path.parent / "__tests__" in places:
        return path.parent / "__tests__"
    inner = [part for part in path.parent.parts if part not in _SOURCE_ROOTS]

    def likeness(place: PurePosixPath) -> tuple[int, int]:
        tail = 0
        while (
            tail < min(len(inner), len(place.parts)) and inner[-1 - tail] == place.parts[-1 - tail]
        ):
            tail += 1
        return tail, -len(place.parts)

    best = max(places, key=likeness)
    if likeness(best)[0] or not best.parts or set(best.parts) & set(_TEST_ROOTS):
        return best
    # Tests lie beside what they test here, each in its own directory.
    return path.parent / "__tests__" if best.name == "__tests__" else path.parent


def _first_place(
    project: Path, path: PurePosixPath, language: Language, framework: Framework
) -> PurePosixPath:
    """Return where the first test of a project goes."""
    if language in _SCRIPTS and framework is Framework.MOCHA:
        return PurePosixPath("test")
    if language in _SCRIPTS and (project / path.parent / "__tests__").is_dir():
        return path.parent / "__tests__"
    for root in _TEST_ROOTS:
        if (project / root).is_dir():
            return PurePosixPath(root)
    if language in (*_SCRIPTS, Language.JAVA):
        return path.parent
    # A module at the top can be imported from beside it, whichever way pytest is called.
    is_top = language is Language.PYTHON and path.parent == PurePosixPath()
    return PurePosixPath() if is_top else PurePosixPath("tests")


def _file_name(path: PurePosixPath, number: int, tests: list[str], language: Language) -> str:
    """The first, second, … name that a test file of a source file could have."""
    more = "" if number == 1 else f"_{number}"
    stem = path.stem if language in _SCRIPTS else module_of(str(path))
    if language is Language.PYTHON:
        ends = sum(PurePosixPath(file).stem.endswith("_test") for file in tests)
        return f"{stem}{more}_test.py" if ends * 2 > len(tests) else f"test_{stem}{more}.py"
    if language in _SCRIPTS:
        specs = sum(".spec." in PurePosixPath(file).name for file in tests)
        return f"{stem}{more}.{'spec' if specs * 2 > len(tests) else 'test'}{path.suffix}"
    if language is Language.JAVA:
        return f"{stem}{more.removeprefix('_')}Test.java"
    if language is Language.RUST:
        name = f"{stem}{more}.rs"
        # `tests/setup.rs` and its like would be taken for what prepares tests.
        return name if is_test(f"tests/{name}") else f"test_{name}"
    return f"{stem}{more}_test{path.suffix}"
