"""cargo test: read compiler messages as JSON, and tests from the lines that libtest prints.

libtest's own JSON is not stable; its text is, and comes on the same stream as the compiler's JSON.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from runtrue.checks.case import CaseReader, CaseResult
from runtrue.checks.locations import locations_in, own_file, plain, relative
from runtrue.checks.reach import Reach
from runtrue.checks.reader import PreparedCommand, json_lines
from runtrue.loop import Finding, Location, Outcome, Workplace
from runtrue.process import Ended

#: A command that starts the tests, by itself or through the extension.
_CALLED = re.compile(r"\bcargo(?:\s+[-+]\S+)*\s+(?:llvm-cov\s+)?(?P<test>t|test)$")
_OUTCOMES = {"ok": Outcome.PASSED, "FAILED": Outcome.FAILED, "ignored": Outcome.SKIPPED}
#: The line before each test program, with its source and the program itself.
_RUNNING = re.compile(
    r"^ +Running (?:unittests )?(?P<source>\S+) \((?P<program>.+)\)$|^ +Doc-tests "
)
_TEST = re.compile(
    r"^test (?P<name>.+?)(?: - should panic)? \.\.\. (?P<outcome>ok|FAILED|ignored)(?:, .*)?$"
)
_OUTPUT = re.compile(r"^---- (?P<name>.+) stdout ----$")
#: Since Rust 1.73 the message follows on its own lines; before, it came first, in quotes.
_PANIC = re.compile(
    r"^thread '.*' (?:\(\d+\) )?panicked at "
    r"(?:'(?P<old>.*)', )?(?P<file>[^\s:]+):(?P<line>\d+):(?P<column>\d+):?\n?(?P<message>.*)",
    re.MULTILINE | re.DOTALL,
)
_BACKTRACE = re.compile(r"^(?:stack backtrace:|note: ).*", re.MULTILINE | re.DOTALL)
_COMPARED = re.compile(
    r"\bleft (?P<operator>\S+) right\b.*\n *left: (?P<left>.*)\n *right: (?P<right>.*)$",
    re.MULTILINE,
)
#: A doc test is named after its file and line.
_DOC = re.compile(r"^(?P<file>.+\.(?:rs|md)) - (?P<item>.*)\(line (?P<line>\d+)\)")


@dataclass(slots=True)
class _Program:
    """One test program: the outcomes of its tests, and the output of those that failed."""

    outcomes: dict[str, Outcome] = field(default_factory=dict)
    outputs: dict[str, str] = field(default_factory=dict)
    is_finished: bool = False


class CargoReader(CaseReader):
    """`cargo test`: a macro of the `assert` family fails a test, any other panic is an error."""

    title = "cargo test"
    coverage_report = "lcov.info"
    #: The PATH on which cargo's extensions are looked for.
    _path = ""

    def options(self, scratch: Path) -> tuple[str, ...]:
        """Run all test programs, and print the compiler's messages as data."""
        # Stopping after the first program that fails is what cargo does by itself; libtest cannot.
        wanted = (
            *([] if self.run_options.fail_fast else ["--no-fail-fast"]),
            "--message-format=json",
        )
        given = {word.partition("=")[0] for word in self.reach.words}
        return tuple(word for word in wanted if word.partition("=")[0] not in given)

    def prepare(
        self, argv: Sequence[str], environment: Mapping[str, str], scratch: Path
    ) -> PreparedCommand:
        """Turn off colours, and keep the lines that say which program is run."""
        home = environment.get("CARGO_HOME") or f"{environment.get('HOME', '')}/.cargo"
        self._path = f"{environment.get('PATH', '')}{os.pathsep}{home}/bin"
        if self.run_options.cover and not self.cannot_cover():
            self.reach = _through_llvm_cov(self.reach)
        call = super().prepare(argv, environment, scratch)
        variables = {"CARGO_TERM_COLOR": "never", "CARGO_TERM_QUIET": "false"}
        if self.run_options.verbose:
            variables["RUST_BACKTRACE"] = "1"
        return replace(call, environment={**call.environment, **variables})

    def cannot_cover(self) -> str | None:
        """Require the extension that measures, and a command that it can wrap."""
        if shutil.which("cargo-llvm-cov", path=self._path) is None:
            return "cargo's coverage needs cargo-llvm-cov: cargo install cargo-llvm-cov"
        if not _CALLED.search(self.reach.line[: self.reach.at]):
            return "cargo's coverage needs a command that names `cargo test` itself"
        return None

    def coverage_options(self, reports: Path) -> tuple[str, ...]:
        """Write no report yet: it would lose failing tests, or else the exit code."""
        return ("--no-report",)

    def covered_call(self, call: PreparedCommand, reports: Path) -> PreparedCommand:
        """Write the report after the tests, however they ended."""
        if self.cannot_cover():
            return call
        line = call.argv[-1] if self.is_shell else shlex.join(call.argv)
        toolchain = [word for word in self.reach.words[:1] if word.startswith("+")]
        output = f"--output-path={reports / self.coverage_report}"
        report = shlex.join(
            [self.reach.program, *toolchain, "llvm-cov", "report", "--lcov", output]
        )
        script = f'{line}\ncode=$?\n{report} >/dev/null 2>&1\nexit "$code"'
        return replace(call, argv=("/bin/sh", "-c", script))

    def cases(self, ended: Ended, workplace: Workplace) -> list[CaseResult] | None:
        """Return the tests of every program that ran."""
        programs = list(_programs(ended.stdout.text))
        if not programs and not _messages(ended.stdout.text):
            return None
        sources = list(_sources(ended, workplace))
        sources += [None] * (len(programs) - len(sources))
        return [
            self._case(name, outcome, program, source, workplace)
            for program, source in zip(programs, sources, strict=False)
            for name, outcome in program.outcomes.items()
        ]

    def outside(self, ended: Ended, workplace: Workplace) -> list[Finding]:
        """Return the compiler's errors, and programs that died."""
        found = []
        for message in _messages(ended.stdout.text):
            error = message["message"] if message["reason"] == "compiler-message" else {}
            if error.get("level") == "error" and (span := _primary(error)):
                file = own_file(span["file_name"], workplace) or span["file_name"]
                start = {"line": span["line_start"], "column": span["column_start"]}
                code = (error.get("code") or {}).get("code") or "build"
                sample = error.get("rendered") or ""
                found.append(self.at(Location(file=file, **start), code, error["message"], sample))
        # The same mistake is reported once for each target that it is compiled into.
        unique = {(f.category, f.message, f.location): f for f in found}
        if not all(program.is_finished for program in _programs(ended.stdout.text)):
            why = "a test program exited before its tests finished"
            died = self.finding("died", why, sample=ended.stderr.text[-2_000:])
            return [*unique.values(), died]
        return list(unique.values())

    def _case(
        self,
        name: str,
        outcome: Outcome,
        program: _Program,
        source: str | None,
        workplace: Workplace,
    ) -> CaseResult:
        doc = _DOC.match(name)
        file = (own_file(doc["file"], workplace) or doc["file"]) if doc else source
        # Its line is no part of the name: a fix further up would make it another test.
        test = f"{doc['item']}(doc test)" if doc else name
        full = f"{file}::{test}" if file else test
        if outcome is not Outcome.FAILED:
            return CaseResult(name=full, outcome=outcome)
        output = program.outputs.get(name, "").strip()
        default = Location(file=file, line=int(doc["line"]) if doc else None) if file else None
        panic = _PANIC.search(output)
        if panic is None:
            # A test that returned an error, or that should have panicked.
            return CaseResult(
                name=full,
                outcome=outcome,
                message=output or "failed",
                location=next(locations_in(output, workplace), default),
                stack=output,
            )
        message = panic["old"] or _BACKTRACE.sub("", panic["message"]).strip()
        line, column = int(panic["line"]), int(panic["column"])
        compared = _COMPARED.search(message)
        equated = compared if compared and compared["operator"] == "==" else None
        is_assertion = bool(compared) or _is_assertion(panic["file"], line, column, workplace)
        own = own_file(panic["file"], workplace)
        return CaseResult(
            name=full,
            outcome=Outcome.FAILED,
            category="assertion" if is_assertion else "panic",
            message=message,
            location=Location(file=own, line=line, column=column) if own and not doc else default,
            stack=output,
            # The two sides have no fixed roles; what is tested is by custom on the left.
            actual=equated["left"] if equated else None,
            expected=equated["right"] if equated else None,
        )


def _through_llvm_cov(reach: Reach) -> Reach:
    called = _CALLED.search(reach.line[: reach.at])
    before = reach.line[: called.start("test")] if called else reach.line[: reach.at]
    begun = f"{before}llvm-cov test"
    return replace(reach, line=f"{begun}{reach.line[reach.at :]}", at=len(begun))


def _is_assertion(file: str, line: int, column: int, workplace: Workplace) -> bool:
    """True if a panic came out of an `assert` macro, whose name begins at the location."""
    try:
        text = (workplace.directory / file).read_text(encoding="utf-8", errors="replace")
        code = text.splitlines()[max(line, 1) - 1]
    except (OSError, IndexError):
        return False
    return code[max(column, 1) - 1 :].startswith(("assert", "debug_assert"))


def _programs(text: str) -> Iterator[_Program]:
    program: _Program | None = None
    reading: str | None = None
    in_outputs = False
    for line in plain(text).splitlines():
        if re.match(r"^running \d+ tests?$", line) and not reading:
            if program:
                yield program
            program, in_outputs = _Program(), False
        elif program is None:
            continue
        elif line.startswith("test result: "):
            program.is_finished = True
            yield program
            program, reading = None, None
        elif line == "failures:":
            # Once before what they printed, and once more before their names.
            in_outputs, reading = not in_outputs, None
        elif in_outputs and (output := _OUTPUT.match(line)):
            reading = output["name"]
            program.outputs[reading] = ""
        elif reading:
            program.outputs[reading] += f"{line}\n"
        elif not in_outputs and (test := _TEST.match(line)):
            program.outcomes[test["name"]] = _OUTCOMES[test["outcome"]]
    if program:
        yield program


def _sources(ended: Ended, workplace: Workplace) -> Iterator[str | None]:
    """Yield the main file of each test program, in the order in which they ran."""
    sources = {
        Path(message["executable"]).name: message["target"]["src_path"]
        for message in _messages(ended.stdout.text)
        if message["reason"] == "compiler-artifact" and message.get("executable")
    }
    for line in plain(ended.stderr.text).splitlines():
        running = _RUNNING.match(line)
        if running:
            program = Path(running["program"]).name if running["program"] else ""
            source = sources.get(program) or running["source"]
            yield relative(source, workplace) if source else None


def _messages(text: str) -> list[dict[str, Any]]:
    return [item for item in json_lines(text) if next(iter(item), "") == "reason"]


def _primary(message: dict[str, Any]) -> dict[str, Any] | None:
    spans: list[dict[str, Any]] = message.get("spans") or []
    return next((span for span in spans if span.get("is_primary")), None)
