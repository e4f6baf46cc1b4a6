"""What settings load: the project's files that configuration of a check names.

Settings are read as data, by a table of the keys that load; nothing of the project is run.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from configparser import ConfigParser
from configparser import Error as ConfigParserError
from pathlib import PurePosixPath
from typing import Any

from runtrue.sandbox.baseline_files import BaselineFiles
from runtrue.sandbox.judge_names import JAVASCRIPT

#: Keys of settings, in small letters and without dashes, whose values are loaded or run.
_LOADING = frozenset(
    {
        *("extend", "extends", "plugin", "plugins", "preset", "presets", "transform", "transforms"),
        *("reporter", "reporters", "require", "import", "loader", "loaders", "config", "file"),
        *("setup", "setupfiles", "setupfilesafterenv", "globalsetup", "globalteardown", "before"),
        *("environment", "runner", "testrunner", "testsequencer", "resolver", "snapshotresolver"),
        *("snapshotserializers", "watchplugins", "moduleloader", "testenvironment", "after"),
        *("dependencyextractor", "testresultsprocessor", "prettierpath", "rulesdir", "helpers"),
        *("loadplugins", "inithook", "localplugins", "configfile", "rcfile", "envfiles", "envfile"),
        *("dotenv", "nodearguments", "execargv", "nodeoption", "nodeoptions", "pytest11"),
        *("addopts", "processor", "supportfile", "parser", "modulenamemapper", "alias"),
        *("projects", "workspace", "references", "includes", "taskfile", "pathgroups"),
        *("djangosettingsmodule", "djangoconfiguration", "scriptshell", "yarnpath", "snapshotenv"),
        *("flake8:localplugins", "extension", "report", "customreporters", "hooks", "loadfile"),
        # Of cargo.
        *("rustc", "rustdoc", "rustcwrapper", "rustcworkspacewrapper", "linker", "build"),
    }
)
#: Keys of single files, that mean something else in others.
_LOADING_IN = {
    ".pre-commit-config.yaml": frozenset({"entry"}),
    "lefthook.yml": frozenset({"run"}),
    "lefthook.yaml": frozenset({"run"}),
}
#: Keys that name directories whose files are read as declarations, or as rules.
_DIRECTORIES = frozenset({"mypypath", "stubpath", "typeroots", "rulesdir", "typeshedpath"})
#: Keys that lead to the program as well: only what is there for tests counts.
_MAPPING = frozenset({"modulenamemapper", "alias"})
#: Keys of settings that are a program which lead to what is built.
_BUILT = re.compile(r"\b(?:entry|input|entryPoints|main|outfile|outDir)\b[^\n]*")
#: Tables of pyproject.toml that make a distribution, and load nothing into a check.
_NOT_TOOLS = frozenset({"poetry", "setuptools", "hatch", "pdm", "flit", "runtrue", "commitizen"})
#: Tables of package.json that configure checks.
_PACKAGE_TABLES = (
    *("jest", "mocha", "ava", "tap", "nyc", "c8", "babel", "eslintConfig", "prettier", "xo"),
    *("vitest", "stylelint", "lint-staged", "wireit", "nx"),
)
_ASSIGNED = re.compile(r"""["']?([\w-]+)["']?\s*[:=]\s*(?=[\[{"'`(])""")
_COMMENT = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', re.S)
QUOTED = re.compile(r"""["'`]([^"'`\n]{1,300})["'`]""")
#: A path of the project's own, as JavaScript writes it.
_OWN_PATH = re.compile(
    r"""["'`](\.{1,2}/[^"'`\n]{1,300})["'`]|(?:resolve|join|URL)\(\s*(?:[\w.]+\s*,\s*)?["'`]([^"'`\n]{1,300})"""
)
_ELEMENT = re.compile(r">\s*([^<>\s]{1,300})\s*<")
#: What is read by a tool, and is no program.
_NO_CODE = frozenset({".xml", ".gradle", ".kts", ".properties", ".toml", ".yml", ".yaml", ".json"})


def loaded_by(file: str, files: BaselineFiles) -> Iterator[str]:
    """Yield the project's files that a file of settings has loaded."""
    path, text = PurePosixPath(file), files.text(file)
    if path.suffix[1:] in JAVASCRIPT:
        words = _words_in_program(text)
    elif path.suffix == ".py":
        words = iter(())
    elif path.suffix in (".xml", ".gradle", ".kts"):
        yield from _named_in_build(file, text, files)
        return
    else:
        settings = _parsed(file, text)
        yield from _declarations(settings, file, files)
        if path.name == "Cargo.toml":
            yield from _cargo_tests(settings, file, files)
        words = _loading_words(settings, _LOADING | _LOADING_IN.get(path.name, frozenset()))
    for word in words:
        for part in (word, *re.findall(r"(?<=-p )[\w.]+|[\w./-]+", word)):
            if found := resolved(part, file, files):
                yield found


def resolved(word: str, near: str, files: BaselineFiles) -> str | None:
    """Return the file that a word of a setting names, as a path or as a module."""
    path = word.split(":", maxsplit=1)[0] if "/" not in word else word
    if found := files.script(word, near) or files.script(path, near):
        return found
    return files.any_module(path) if re.fullmatch(r"[A-Za-z_][\w.]*", path) else None


def _named_in_build(file: str, text: str, files: BaselineFiles) -> Iterator[str]:
    words = _ELEMENT.findall(text) if file.endswith(".xml") else QUOTED.findall(text)
    for word in words:
        found = files.script(re.sub(r"^\$\{[\w.]+\}/", "", word), file)
        if found and PurePosixPath(found).suffix in _NO_CODE:
            yield found


def _declarations(settings: Any, near: str, files: BaselineFiles) -> Iterator[str]:
    for word in _loading_words(settings, _DIRECTORIES):
        for part in re.findall(r"[\w./-]+", word):
            yield from files.below(part, near)


def _cargo_tests(settings: Any, near: str, files: BaselineFiles) -> Iterator[str]:
    """Yield the tests that a package names, and the packages that only its tests use."""
    match settings:
        case [dict() as package, *_]:
            pass
        case _:
            return
    for kind in ("test", "bench"):
        for entry in package.get(kind, ()):
            if isinstance(entry, dict) and (found := files.script(str(entry.get("path")), near)):
                yield found
    used = {str(one.get("path")) for one in _tables(package.get("dependencies"))}
    for one in _tables(package.get("dev-dependencies")):
        if (path := str(one.get("path", ""))) and path not in used:
            yield from files.below(path, near)


def _tables(table: Any) -> list[dict[str, Any]]:
    inner = table.values() if isinstance(table, dict) else ()
    return [one for one in inner if isinstance(one, dict)]


def _words_in_program(text: str) -> Iterator[str]:
    """Yield the quoted words behind the keys that load, in settings that are a program."""
    for found in _ASSIGNED.finditer(text):
        if _plain(found[1]) in _LOADING:
            words = QUOTED.findall(_value(text[found.end() : found.end() + 4_000]))
            yield from _mapped(found[1], words)
    if "setup" in text.lower():
        # They may be put together elsewhere.
        for pair in _OWN_PATH.findall(_BUILT.sub("", text)):
            yield from filter(None, pair)


def _mapped(key: str, words: list[str]) -> list[str]:
    return [w for w in words if is_support(w)] if _plain(key) in _MAPPING else words


def _value(text: str) -> str:
    """Return the beginning of a text up to where its first bracket, or line, is closed."""
    if text[:1] in "\"'`":
        return text.split("\n", 1)[0].split(",", 1)[0]
    depth = 0
    for index, char in enumerate(text):
        depth += (char in "[{(") - (char in "]})")
        if depth <= 0:
            return text[: index + 1]
    return text


def _plain(key: str) -> str:
    return re.sub(r"[-_]", "", key).lower()


def _parsed(file: str, text: str) -> Any:
    name = PurePosixPath(file).name
    try:
        if name.endswith(".toml"):
            table = tomllib.loads(text)
            tools = table.get("tool", {}) if name == "pyproject.toml" else table
            entries = table.get("project", {}).get("entry-points", {}).get("pytest11", {})
            return [{k: v for k, v in tools.items() if k not in _NOT_TOOLS}, {"plugins": entries}]
        if name == "package.json":
            package = json.loads(text)
            return [package.get(table) for table in _PACKAGE_TABLES]
        if name.endswith((".json", ".json5", ".jsonc")) or text.lstrip()[:1] == "{":
            bare = _COMMENT.sub(lambda found: found[1] or "", text)
            return json.loads(re.sub(r",(\s*[\]}])", r"\1", bare))
        if name.endswith((".yml", ".yaml")) or name in (".taprc", ".eslintrc"):
            import yaml

            return yaml.safe_load(text)
        parser = ConfigParser(interpolation=None, strict=False)
        # Some, such as .npmrc, have no sections.
        parser.read_string(text if re.search(r"^\[", text, re.M) else f"[settings]\n{text}")
        return {name: dict(parser[name]) for name in parser.sections()}
    except (ValueError, AttributeError, ConfigParserError, RecursionError):
        return None
    except Exception as error:
        if type(error).__module__.startswith("yaml"):
            return None
        raise


def _loading_words(value: Any, keys: frozenset[str], *, is_loading: bool = False) -> Iterator[str]:
    match value:
        case str() if is_loading:
            yield from (value, *value.split())
        case list():
            for inner in value:
                yield from _loading_words(inner, keys, is_loading=is_loading)
        case dict():
            for key, inner in value.items():
                loads = is_loading or _plain(str(key)) in keys
                yield from _mapped(str(key), [*_loading_words(inner, keys, is_loading=loads)])


#: Names of modules that are there for tests.
_SUPPORT = re.compile(
    r"(?:^|[_.-])(?:tests?|testing|test_?(?:utils?|kit|helpers?|support|lib|case|base)|helpers?"
    r"|fixtures?|factories|mocks?|fakes?|stubs?|doubles|golden|harness|assert(?:ions?|ing|s)?"
    r"|matchers?|expect(?:ations?|ing|s)?|verif(?:y|ier|ying)|compar(?:e|ing|ison|ator)s?"
    r"|check(?:s|ers?|ing)?|setup|support)(?:[_.-]|$)",
    re.I,
)
_SUPPORT_DIRECTORY = re.compile(
    r"tests?|testing|test[_-]?(?:utils?|helpers?|support)|mocks?|fakes?"
)


def is_support(file: str) -> bool:
    """True if a file is there for tests, by its name or its directory."""
    directories = PurePosixPath(file).parts[:-1]
    return _SUPPORT.search(module_stem(file)) is not None or any(
        _SUPPORT_DIRECTORY.fullmatch(part) for part in directories
    )


def module_stem(file: str) -> str:
    """Return the name of a module, which is that of its directory for an index."""
    path = PurePosixPath(file)
    return path.parent.name or path.stem if path.stem in ("__init__", "index", "mod") else path.stem
