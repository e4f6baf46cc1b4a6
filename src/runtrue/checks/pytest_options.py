"""Options of pytest: which a check keeps, and which it leaves out and why."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from runtrue.checks.interpreter import Interpreter
from runtrue.checks.locations import files_below
from runtrue.settings_file import lenient_text, read_settings, subtable

#: Options that only show or store something, or stop early, or need a person: never kept.
_SHOWS = re.compile(
    r"-[vqlx]+|--(verbose|quiet|showlocals|exitfirst|no-header|no-summary|full-trace|sugar"
    r"|force-sugar|lf|last-failed|ff|failed-first|nf|new-first|sw|stepwise|sw-skip|stepwise-skip"
    r"|pdb|trace|cache-clear|setup-show|self-contained-html|instafail|emoji|json-report)"
)
_SHOWS_VALUE = re.compile(
    r"-r|--(tb|color|durations|durations-min|maxfail|junitxml|junit-xml|junit-prefix|html|css"
    r"|report-log|resultlog|result-log|basetemp|show-capture|code-highlight|verbosity|pastebin"
    r"|json-report-file|last-failed-no-failures|lfnf|cache-show|nunit-xml|test-run-title)"
)
#: pytest's own options that are kept, with and without a value.
_OWN = re.compile(
    r"-s|--(doctest-modules|doctest-ignore-import-errors|doctest-continue-on-failure|strict"
    r"|strict-markers|strict-config|pyargs|runxfail|noconftest|keep-duplicates"
    r"|collect-in-virtualenv|continue-on-collection-errors|disable-warnings"
    r"|disable-pytest-warnings|no-showlocals)"
)
_OWN_VALUE = re.compile(
    r"-[kmcoWp]|--(config-file|override-ini|pythonwarnings|import-mode|ignore|ignore-glob"
    r"|deselect|rootdir|confcutdir|capture|assert|doctest-glob|doctest-report|log-[\w-]+"
    r"|junit[\w-]*)"
)
#: Options that measure coverage or run a linter: no part of running tests.
_MEASURES = re.compile(
    r"--(cov|cov-append|cov-branch|no-cov|no-cov-on-fail|cov-reset|flake8|black|isort|pylint"
    r"|pep8|pycodestyle|pydocstyle|ruff|ruff-format|mypy|mypy-ignore-missing-imports|codeblocks"
    r"|check-links|vulture|bandit|flakes)"
)
_MEASURES_VALUE = re.compile(
    r"--(cov-report|cov-config|cov-fail-under|cov-context|pylint-[\w-]+|mypy-config-file)"
)
#: Options of plugins: the module of the plugin, those without and those with a value.
_PLUGINS = (
    (
        "xdist",
        r"-f|--looponfail",
        r"-n|--(numprocesses|dist|tx|maxprocesses|max-worker-restart|maxschedchunk|px|rsyncdir)",
    ),
    ("pytest_timeout", "", r"--(timeout|timeout[_-]method|session-timeout)"),
    ("pytest_rerunfailures", "", r"--(reruns|reruns-delay|only-rerun|rerun-except)"),
    (
        "pytest_benchmark",
        r"--benchmark-(skip|only|disable|enable|quiet|verbose|disable-gc|autosave)",
        r"--benchmark-[\w-]+",
    ),
    ("pytest_mypy_plugins", r"--mypy-(same-process|only-local-stub)", r"--mypy-[\w-]+"),
    ("pytest_asyncio", "", r"--asyncio-mode"),
    (
        "pytest_django",
        r"--(reuse-db|create-db|nomigrations|no-migrations|migrations|fail-on-template-vars)",
        r"--(ds|dc)",
    ),
    ("random_order", r"--random-order", r"--random-order-[\w-]+"),
    ("pytest_randomly", r"--randomly-dont-[\w-]+", r"--randomly-seed"),
    ("hypothesis", r"--hypothesis-(show-statistics|explain)", r"--hypothesis-[\w-]+"),
    ("syrupy", r"--snapshot-[\w-]+", ""),
    ("pytest_socket", r"--(disable|enable)-socket|--allow-unix-socket", r"--allow-hosts"),
    ("pytest_forked", r"--(forked|boxed)", ""),
    ("pytest_doctestplus", r"--doctest-(plus|rst|only|ufunc|plus-atol)", r"--text-file-format"),
    ("pytest_remotedata", r"--remote-data", ""),
    ("pytest_mpl", r"--mpl", r"--mpl-[\w-]+"),
    ("pytest_repeat", "", r"--(count|repeat-scope)"),
    ("typeguard", "", r"--typeguard-packages"),
    ("pytest_subtests", r"--no-subtests-[\w-]+", ""),
    ("pytest_httpbin", "", r"--httpbin-[\w-]+"),
)
#: Modules that an option's name after `-p` stands for.
_SHORT_NAMES = {"xdist": "xdist", "randomly": "pytest_randomly", "cov": "pytest_cov"}
_CONFIGURED = {
    **dict.fromkeys(("pytest.toml", ".pytest.toml"), ("pytest",)),
    **dict.fromkeys(("pytest.ini", ".pytest.ini"), ("pytest",)),
    "pyproject.toml": ("tool", "pytest", "ini_options"),
    "tox.ini": ("pytest",),
    "setup.cfg": ("tool:pytest",),
}


@dataclass(frozen=True, slots=True)
class Option:
    """One option with its value as it was written, or a path, and why it is left out."""

    words: tuple[str, ...]
    left_out: str | None = None

    @property
    def is_path(self) -> bool:
        """True if it is no option at all."""
        return not self.words[0].startswith("-")


class PytestOptions:
    """What is known of options in a directory, whose tests an interpreter runs."""

    def __init__(self, directory: Path, interpreter: Interpreter) -> None:
        self._directory = directory
        self._interpreter = interpreter

    def kept(self, words: Sequence[str]) -> Iterator[Option]:
        """Yield the options of a command line without those that only show something."""
        for option in self._read(words):
            if not _is_beside_tests(option.words[0]):
                yield option

    def addopts(self) -> tuple[str, tuple[str, ...]] | None:
        """Return configured options without those of missing plugins, and these; None if all work.

        pytest refuses to start with an option that it does not know.
        """
        words = self._configured()
        options = [*self._read(words)]
        missing = [option for option in options if option.left_out or self._needs_coverage(option)]
        if not missing:
            return None
        rest = [word for option in options if option not in missing for word in option.words]
        return shlex.join(rest), tuple(option.words[0] for option in missing)

    def _needs_coverage(self, option: Option) -> bool:
        return option.words[0].startswith("--cov") and self._interpreter.lacks("pytest_cov")

    def _configured(self) -> list[str]:
        for file, keys in _CONFIGURED.items():
            table = subtable(read_settings(self._directory / file), *keys)
            if not table and not (
                file.endswith("pytest.ini") and (self._directory / file).exists()
            ):
                continue
            given = table.get("addopts", [])
            try:
                return shlex.split(given) if isinstance(given, str) else [*map(str, given)]
            except (TypeError, ValueError):
                return []
        return []

    def _read(self, words: Sequence[str]) -> Iterator[Option]:
        rest = list(words)
        while rest:
            word = rest.pop(0)
            if word == "--":
                yield from (Option((path,)) for path in rest)
                return
            name, is_joined, _ = word.partition("=")
            takes_value, why = self._known(word, name, rest)
            if not word.startswith("-") or word == "-":
                yield Option((word,))
            elif takes_value and not is_joined and rest and word == name and not _glued(word):
                value = rest.pop(0)
                if name == "-p":
                    why = self._why_no_plugin(value)
                yield Option((word, value), why)
            else:
                yield Option((word,), self._why_no_plugin(word[2:].strip()) if _is_p(word) else why)

    def _known(self, word: str, name: str, rest: Sequence[str]) -> tuple[bool, str | None]:
        """Return whether an option takes a value, and why it is left out, if it is."""
        if not word.startswith("-"):
            return False, None
        short = word[:2] if _glued(word) else name
        if any(pattern.fullmatch(name) for pattern in (_SHOWS, _OWN, _MEASURES)):
            return False, None
        if any(p.fullmatch(short) for p in (_SHOWS_VALUE, _OWN_VALUE, _MEASURES_VALUE)):
            return True, None
        for module, without, valued in _PLUGINS:
            is_flag = re.fullmatch(without, short) is not None
            if is_flag or re.fullmatch(valued, short):
                is_missing = self._interpreter.lacks(module)
                return not is_flag, f"{module} is not installed" if is_missing else None
        has_value = bool(rest) and not rest[0].startswith("-") and not self._is_there(rest[0])
        return has_value, None if self._is_own(name) else "neither pytest nor the project has it"

    def _why_no_plugin(self, name: str) -> str | None:
        """Return why a plugin that is named with `-p` cannot be loaded, if that is known."""
        if name.startswith("no:"):
            return None
        module = _SHORT_NAMES.get(name, name)
        path = module.replace(".", "/")
        places = (f"{place}{path}{end}" for place in ("", "src/") for end in ("", ".py"))
        is_own = any(map(self._is_there, places))
        names = (module, f"pytest_{module}", f"_pytest.{module}")
        is_missing = all(map(self._interpreter.lacks, names))
        return f"{name} is not installed" if is_missing and not is_own else None

    def _is_own(self, option: str) -> bool:
        """True if a module of the project's adds an option."""
        for file in files_below(self._directory):
            text = lenient_text(file) if file.suffix == ".py" else ""
            if "addoption" in text and (f'"{option}"' in text or f"'{option}'" in text):
                return True
        return False

    def _is_there(self, path: str) -> bool:
        return (self._directory / path.partition("::")[0]).exists()


def _glued(word: str) -> bool:
    """True for a short option with its value: `-n4`, `-rfE`, `-k'not slow'`."""
    return re.match(r"-[rnkmcoWp].", word) is not None and not word.startswith("--")


def _is_p(word: str) -> bool:
    return _glued(word) and word.startswith("-p")


def _is_beside_tests(word: str) -> bool:
    """True for an option that shows, stores or measures, or stops early."""
    name = word.partition("=")[0]
    short = word[:2] if _glued(word) else name
    patterns = (_SHOWS, _SHOWS_VALUE, _MEASURES, _MEASURES_VALUE)
    return _SHOWS.fullmatch(name) is not None or any(one.fullmatch(short) for one in patterns)
