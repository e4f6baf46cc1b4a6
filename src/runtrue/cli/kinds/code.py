"""Runs of `runtrue fix`, `code` and `gate`: how they are prepared, narrated and shown."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Mapping
from typing import Any

import click

from runtrue.cli.progress import Display, Narrator
from runtrue.cli.show import counted, finding_line
from runtrue.code import prepare_run, report_of
from runtrue.flow import Journal, Question, RunRow, Segment, replay
from runtrue.home import Home

_MOST_FINDINGS = 20

_WHY = {
    "passed": "every required check passes",
    "allowed": "every required check passes, and a person accepts what else was found",
    "flagged": "every required check passes but for what the policy only flags",
    "regression": "the fix broke what worked before, and was rolled back",
    "not_the_candidate": "what failed is not the code: no change to it can mend this",
    "attempts_spent": "the attempts are used up",
    "time_spent": "the time is used up",
    "no_fixer": "no fixer can take these findings on",
    "fixer_failed": "the fixer itself keeps failing",
    "nothing_usable": "the fixer changed nothing",
    "skipped": "let through unjudged",
    "triggered": "what was found is not to be settled by the loop alone",
}
#: Checks that say something also when they pass.
_GATES = ("coverage", "test_kinds", "security")
_COLOURS = {"passed": "green", "waiting": "yellow", "running": "yellow"}


def prepare(run: RunRow, home: Home, secrets: Mapping[str, Any], *, force: bool) -> Segment:
    """The flow of a run. It is given no secrets."""
    return prepare_run(run, home)


def report(journal: Journal, home: Home, run: RunRow) -> dict[str, Any]:
    """The report of a run that is not over, out of its replayed steps."""
    segment = prepare_run(run, home)
    asyncio.run(replay(segment.flow, segment.shared, journal.load(run.id)))
    return {**report_of(segment.shared, run.state), "error": run.error}


def settle(run: RunRow, home: Home, report: dict[str, Any]) -> dict[str, Any]:
    """Nothing is left to do."""
    return report


def conclude(home: Home, report: dict[str, Any]) -> None:
    """Nothing is left to say."""


def print_report(report: dict[str, Any], *, asked: bool = False) -> None:
    """What a run came to: the diff, what remains, what was proven, what to do next."""
    if not asked and report["diff"] and report["status"] == "passed" and not report["applied"]:
        print_diff(report["diff"])
    if report["findings"]:
        _print_findings(report)
    status = report["status"]
    summary = _WHY.get(report["why"], report["why"]) if report["why"] else ""
    attempts = sum(not attempt["recheck"] for attempt in report["attempts"])
    spent = f"{counted(attempts, 'attempt')}, {report['seconds']:.1f} s"
    head = click.style(status, fg=_COLOURS.get(status, "red"), bold=True)
    click.echo(f"{head}: {summary} ({spent})" if summary else f"{head} ({spent})")
    told = (_reason, _regressions, _proof, _escalations, _memory, _absent_fixers, _next)
    for line in (line for tell in told for line in tell(report)):
        click.echo(f"  {line}")


def print_diff(diff: str) -> None:
    """A patch, coloured on a terminal."""
    colours = {"+": "green", "-": "red", "@": "cyan"}
    for line in diff.splitlines():
        is_header = line.startswith(("+++", "---", "diff ", "index "))
        click.secho(line, fg=None if is_header else colours.get(line[:1]), bold=is_header)


def print_question(run_id: str, question: Question | None) -> None:
    """What a waiting run wants, and how to answer."""
    asked = question.question if question else {}
    if asked.get("apply"):
        click.echo(f"  apply the diff: runtrue runs resume {run_id} --answer yes")
        return
    click.echo(f"  edit the candidate in {asked.get('sandbox')}, or think of advice, then:")
    click.echo(f"  runtrue runs resume {run_id} [--answer ADVICE]")
    if asked.get("acceptable"):
        click.echo(f"  or take it as it is: runtrue runs resume {run_id} --answer accept")


def print_offer(report: dict[str, Any], question: Question) -> None:
    """The diff that may be applied, and what the checks said of it."""
    print_diff(question.question["diff"])
    for line in _proof(report):
        click.echo(line)


def print_details(report: dict[str, Any]) -> None:
    """Every attempt with its fix and verdicts, and what was rejected in between."""
    for written in report.get("written", ()):
        what = written["skipped"] or f"changed {', '.join(written['files']) or 'nothing'}"
        click.echo(f"written by {written['by']}: {what}")
    for attempt in report["attempts"]:
        again = " (again)" if attempt["recheck"] else ""
        click.secho(f"attempt {attempt['number']} of {attempt['limit']}{again}", bold=True)
        if attempt["fix"]:
            _print_fix(attempt["fix"])
        for verdict in attempt["verdicts"]:
            _print_verdict(verdict)
        if attempt["analysis"]:
            click.echo(f"  cause: {attempt['analysis']['root_cause']}")
        for rejected in report["rejected"]:
            if rejected["after"] == attempt["number"]:
                click.echo(f"  not run: {rejected['reason'].replace('_', ' ')}")
                _print_fix(rejected["fix"])


def _print_findings(report: dict[str, Any]) -> None:
    findings = report["findings"]
    for finding in findings[:_MOST_FINDINGS]:
        click.echo(finding_line(finding))
        if finding["fault"] != "candidate":
            for line in (finding["sample"] or "").strip().splitlines()[-3:]:
                click.echo(f"    {line}")
            if finding["available"]:
                click.echo(f"    did you mean: {', '.join(finding['available'])}?")
    more = len(findings) - _MOST_FINDINGS
    if more > 0:
        click.echo(f"… and {more} more (runtrue runs show {report['run_id']} --json)")


def _print_fix(fix: dict[str, Any]) -> None:
    for part in fix["parts"]:
        files = ", ".join(part["files"]) or "nothing"
        failed = f"; failed itself: {part['failure']}" if part["failure"] else ""
        restored = f"; put back: {', '.join(part['restored'])}" if part["restored"] else ""
        click.echo(f"  fix by {part['fixer']}: changed {files}{restored}{failed}")
    for skip in fix["skipped"]:
        click.echo(f"  {skip['fixer']} skipped: {skip['reason']}")


def _print_verdict(verdict: dict[str, Any]) -> None:
    word = "passed" if verdict["passed"] else "failed"
    cases = ", ".join(f"{count} {outcome}" for outcome, count in verdict["cases"].items())
    facts = ", ".join(filter(None, [cases, f"{verdict['seconds']:.1f} s"]))
    click.echo(f"  {verdict['check']}: {word} ({facts})")
    for finding in verdict["findings"][:_MOST_FINDINGS]:
        click.echo(f"    {finding_line(finding, with_source=False)}")


def _reason(report: dict[str, Any]) -> list[str]:
    return [f"because: {report['skipped']}"] if report.get("skipped") else []


def _regressions(report: dict[str, Any]) -> list[str]:
    return [f"broken by the fix: {case}" for case in report["regressions"]]


def _proof(report: dict[str, Any]) -> list[str]:
    if report["why"] not in ("passed", "flagged", "allowed"):
        return []
    first, last = report["attempts"][0], report["attempts"][-1]
    lines = []
    for verdict in last["verdicts"]:
        before = next((v for v in first["verdicts"] if v["check"] == verdict["check"]), None)
        passed = verdict["cases"].get("passed", 0)
        tests = f", {passed} passed" if passed else ""
        if verdict["known"]:
            tests += f", {len(verdict['known'])} failed before and still"
        mended = len(before["findings"]) if before else 0
        change = f", {counted(mended, 'finding')} repaired" if mended else ""
        informational = verdict["mode"] == "informational"
        bad = "fails (informational)" if informational else f"fails ({report['why']})"
        word = "passes" if verdict["passed"] else bad
        said = f" ({verdict['output']})" if verdict["check"] in _GATES and verdict["output"] else ""
        lines.append(f"{verdict['check']} {word}{tests}{change if verdict['passed'] else ''}{said}")
    lines += [f"flaky: {case} failed and passed unchanged" for case in report["flaky"]]
    return lines


def _escalations(report: dict[str, Any]) -> list[str]:
    lines = [f"flagged: {flag.replace('_', ' ')}" for flag in report["flags"]]
    for notice in report["notices"]:
        told = "told" if notice["delivered"] else "could not be told"
        detail = f": {notice['detail']}" if notice["detail"] else ""
        lines.append(f"escalation report: {notice['report']}")
        if notice["channel"] != "cli":
            lines.append(f"{told} by {notice['channel'].replace('_', ' ')}{detail}")
    return lines


def _memory(report: dict[str, Any]) -> list[str]:
    memory = report["memory"] or {}
    if memory.get("trouble"):
        return [memory["trouble"]]
    reused = ", ".join(memory.get("reused", ()))
    return [f"mended from memory: {reused}"] if reused else []


def _absent_fixers(report: dict[str, Any]) -> list[str]:
    """Why nobody took the findings on: the reason of each fixer of the ladder."""
    if report["why"] != "no_fixer" or not report["rejected"]:
        return []
    fix = report["rejected"][-1]["fix"]
    tried = [f"{part['fixer']}: changed nothing" for part in fix["parts"]]
    return [*tried, *(f"{skip['fixer']}: {skip['reason']}" for skip in fix["skipped"])]


def _next(report: dict[str, Any]) -> list[str]:
    go_on = f"continue: runtrue runs resume {report['run_id']}"
    if report.get("error"):
        patch = [f"the patch: {report['patch']}"] if report["patch"] else []
        return [f"stopped by: {report['error']}", *patch, go_on]
    if report["status"] == "passed":
        if report["applied"]:
            return [f"applied to {report['project']}"]
        if not report["patch"]:
            return ["nothing had to be changed"]
        command = shlex.join(["git", "-C", report["patch_root"], "apply", report["patch"]])
        return [f"not applied; to apply: {command}"]
    lines = []
    if report["sandbox"]:
        lines.append(f"your files are as they were; the best candidate: {report['sandbox']}")
    if report["status"] == "running":
        # Somebody who is at work on it needs nobody to go on.
        return lines if report.get("driven") else [*lines, go_on]
    if report["status"] != "waiting":
        lines.append(f"every attempt: runtrue runs show {report['run_id']}")
    return lines


def _amount(data: dict[str, Any]) -> str:
    """How much of a check failed: of its cases, where it has several, else its findings."""
    if data["cases"] > 1 and data["failed_cases"]:
        return f"{data['failed_cases']} of {data['cases']}"
    return counted(data["findings"], "finding")


def narrate(display: Display) -> Narrator:
    """Tell of attempts, checks and fixes."""
    return FixNarrator(display)


class FixNarrator(Narrator):
    """Attempts, checks and fixes as they come."""

    _attempt = ""

    def _on_node_started(self, data: dict[str, Any], node: str) -> None:
        what = {"open": "making the sandbox", "settle": "settling", "apply": "applying"}
        if node in what:
            self.display.doing(what[node])

    def _on_attempt_started(self, data: dict[str, Any], node: str) -> None:
        self._attempt = f"attempt {data['number']} of {data['limit']}"
        self.display.line(self._attempt, "bold")

    def _on_check_started(self, data: dict[str, Any], node: str) -> None:
        self.display.doing(f"{self._attempt}: {data['check']}")

    def _on_check_finished(self, data: dict[str, Any], node: str) -> None:
        word, style = ("passed", "green") if data["passed"] else ("failed", "red")
        if not data["passed"] and data["mode"] == "informational":
            style = "yellow"
        facts = [] if data["passed"] else [_amount(data)]
        if data["mode"] == "informational":
            facts.append("informational")
        if data["flaky"]:
            facts.append(f"{len(data['flaky'])} flaky")
        if data["known"]:
            facts.append(f"{data['known']} known before")
        facts.append(f"{data['seconds']:.1f} s")
        self.display.line(f"  {data['check']}: {word} ({', '.join(facts)})", style)
        for finding in data["shown"]:
            self.display.line(f"    {finding_line(finding, with_source=False)}")
        more = data["findings"] - len(data["shown"])
        if more > 0:
            self.display.line(f"    … and {more} more", "dim")

    def _on_check_repeated(self, data: dict[str, Any], node: str) -> None:
        self.display.doing(f"{self._attempt}: {data['check']} once more, to see whether it stays")

    def _on_recalled(self, data: dict[str, Any], node: str) -> None:
        if data["lessons"]:
            self.display.line(f"recalled {counted(len(data['lessons']), 'lesson')}", "dim")

    def _on_before_started(self, data: dict[str, Any], node: str) -> None:
        self._attempt = "before"

    def _on_generation_started(self, data: dict[str, Any], node: str) -> None:
        self.display.doing(f"{data['by']} writes {data['what']}")

    def _on_generation_finished(self, data: dict[str, Any], node: str) -> None:
        text = f"wrote {', '.join(data['files']) or 'nothing'}"
        if data["restored"]:
            text += f"; its edits to {', '.join(data['restored'])} were undone"
        self.display.line(f"{data['what']}: {text}", "cyan")

    def _on_generation_failed(self, data: dict[str, Any], node: str) -> None:
        self.display.line(f"{data['what']}: failed: {data['failure']}", "red")

    def _on_backing_off(self, data: dict[str, Any], node: str) -> None:
        self.display.doing(f"waiting {data['seconds']:g} s")

    def _on_fixer_started(self, data: dict[str, Any], node: str) -> None:
        what = counted(data["findings"], "finding")
        self.display.doing(f"fixing {what}: {data['fixer']}")

    def _on_fixer_finished(self, data: dict[str, Any], node: str) -> None:
        if data["failure"]:
            text, style = f"failed itself: {data['failure']}", "red"
        elif data["files"]:
            text, style = f"changed {', '.join(data['files'])}", "cyan"
        else:
            text, style = "changed nothing", "yellow"
        if data["restored"]:
            text += f"; its edits to {', '.join(data['restored'])} were undone"
        self.display.line(f"fix by {data['fixer']}: {text}", style)
