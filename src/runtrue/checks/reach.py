"""Reach: find the test runner that a command runs in the end, and where options for it go.

`npm test` runs jest if the script of that name in package.json does, and takes its options after
`--`; `cd web && npx mocha` runs mocha. A tool that cannot be given options (something
else follows it in a script) is not reached.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from runtrue.checks.line import Word, argv_of, commands_of, is_shell
from runtrue.settings_file import read_settings, subtable

#: Programs that run the program named after them.
_LAUNCHERS = frozenset(
    {
        *("env", "cross-env", "cross-env-shell", "exec", "command", "nice", "time", "xvfb-run"),
        *("npx", "bunx", "node", "nyc", "c8", "dotenv"),
    }
)
#: Options of theirs that have a value of their own.
_VALUED = frozenset({"-p", "--package", "-r", "--require", "--import"})
_JAVASCRIPT = {
    **{"jest": "jest", "vitest": "vitest", "mocha": "mocha", "_mocha": "mocha"},
    **{"ava": "ava", "tap": "tap", "tape": "tape"},
}
#: Programs that run node's own test runner if they are given `--test`.
_NODES = frozenset({"node", "tsx"})
_JAVA_BUILDERS = frozenset({"mvn", "mvnw", "mvnd", "gradle", "gradlew"})
_JAVA_GOALS = frozenset({"test", "verify", "package", "install", "check", "build"})
_CONSOLE_CLASS = "org.junit.platform.console.ConsoleLauncher"
_CONSOLE_JAR = "junit-platform-console"
#: Scripts that call scripts: further down than this is a circle.
_DEPTH = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """A tool within a line: options for it go in at `at`, after so many times `--`."""

    line: str
    tool: str
    at: int
    dashes: int = 0
    #: The arguments that the line itself gives the tool.
    words: tuple[str, ...] = ()
    #: Its name there, and the programs that start it.
    program: str = ""
    launchers: tuple[str, ...] = ()
    #: The directory in which it runs.
    directory: Path | None = None

    def argv(self, *options: str) -> tuple[str, ...]:
        """Return the line with further options for the tool, as an argument list."""
        added = "".join(f" {shlex.quote(word)}" for word in (*["--"] * self.dashes, *options))
        line = f"{self.line[: self.at]}{added if options else ''}{self.line[self.at :]}"
        return argv_of(line, shell=is_shell(self.line))


def reach_of(line: str, directory: Path | None, depth: int = 0) -> Reach | None:
    """Return the first test runner that a line runs in `directory`, if any."""
    for words in commands_of(line):
        if len(words) > 1 and words[0].text == "cd" and directory:
            directory = directory / words[1].text
            continue
        found = _reach(line, words, directory, depth)
        if found:
            return found
    return None


def _reach(line: str, words: Sequence[Word], directory: Path | None, depth: int) -> Reach | None:
    if (test := _node_test(words)) is not None:
        return Reach(
            line=line,
            tool="node_test",
            at=test.end,
            words=tuple(word.text for word in words),
            program="node",
            directory=directory,
        )
    given, words = words, _without_launchers(words)
    if not words:
        return None
    first, rest = words[0], words[1:]
    end = words[-1].end
    if first.name in ("npm", "yarn", "pnpm", "bun"):
        return _through_manager(line, words, directory, depth)
    reach = Reach(
        line=line,
        tool="",
        at=end,
        words=tuple(word.text for word in rest),
        program=first.text,
        launchers=tuple(word.name for word in given[: len(given) - len(words)]),
        directory=directory,
    )
    if first.name in _JAVASCRIPT:
        bar = next((word.start - 1 for word in rest if word.text == "--"), end)
        return replace(reach, tool=_JAVASCRIPT[first.name], at=bar)
    if first.name in ("go", "cargo"):
        test = next((word for word in rest if word.text in ("test", "t")), None)
        # What comes before it may be options, but no other command.
        is_first = test and all(w.text.startswith(("-", "+")) for w in rest[: rest.index(test)])
        return replace(reach, tool=f"{first.name}_test", at=test.end) if test and is_first else None
    if first.name in _JAVA_BUILDERS:
        goals = {word.text.rpartition(":")[2] for word in rest}
        return replace(reach, tool="junit") if goals & _JAVA_GOALS else None
    if first.name == "java" and any(_is_console(word) for word in rest):
        return replace(reach, tool="junit")
    return None


def _node_test(words: Sequence[Word]) -> Word | None:
    """Return the option that makes node run tests, if a command has it."""
    at = next((index for index, word in enumerate(words) if word.name in _NODES), len(words))
    return next((word for word in words[at + 1 :] if word.text == "--test"), None)


def scripts_of(directory: Path) -> dict[str, str]:
    """Return the scripts of the package.json in a directory."""
    scripts = subtable(read_settings(directory / "package.json"), "scripts")
    return {name: line for name, line in scripts.items() if isinstance(line, str)}


def _is_console(word: Word) -> bool:
    return word.text == _CONSOLE_CLASS or word.name.startswith(_CONSOLE_JAR)


def _without_launchers(words: Sequence[Word]) -> Sequence[Word]:
    while words:
        name = words[0].name
        if name == "timeout":
            words = _without_options(words[1:])[1:]
        elif name in _LAUNCHERS:
            words = _without_options(words[1:])
        elif "=" in words[0].text.partition("/")[0]:
            words = words[1:]
        else:
            return words
    return ()


def _without_options(words: Sequence[Word]) -> Sequence[Word]:
    while words and words[0].text.startswith("-"):
        words = words[2:] if words[0].text in _VALUED else words[1:]
    return words


def _through_manager(
    line: str, words: Sequence[Word], directory: Path | None, depth: int
) -> Reach | None:
    """Follow a script of package.json, or an installed program, that a package manager runs."""
    manager = words[0].name
    rest = _without_options(words[1:])
    if not rest or depth >= _DEPTH:
        return None
    verb, arguments = rest[0].text, rest[1:]
    has_bar = any(word.text == "--" for word in arguments)
    # npm takes for itself what is not behind `--`; the others pass it on as it is.
    dashes = 1 if manager == "npm" and not has_bar else 0
    if verb in ("exec", "x", "dlx"):
        inner = _reach(line, _without_options(arguments), directory, depth + 1)
        return replace(inner, dashes=inner.dashes + dashes, at=words[-1].end) if inner else None
    if manager == "bun" and verb == "test":
        return None  # its own runner, not the script of that name
    is_run = verb in ("run", "run-script")
    if is_run and not arguments:
        return None
    name = arguments[0].text if is_run else {"t": "test", "tst": "test"}.get(verb, verb)
    script = scripts_of(directory).get(name) if directory else None
    if script is None:
        own = manager in ("yarn", "pnpm") and not is_run
        return _reach(line, rest, directory, depth + 1) if own else None
    last = [*commands_of(script)][-1:]
    inner = _reach(script, last[0], directory, depth + 1) if last else None
    if inner is None or (inner.at != last[0][-1].end and inner.tool in _JAVASCRIPT):
        return None
    return replace(inner, line=line, at=words[-1].end, dashes=dashes + inner.dashes)
