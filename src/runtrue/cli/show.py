"""Showing reports to people: plain text, coloured only on a terminal."""

from __future__ import annotations

import shlex
import sys
from typing import Any

import click

from runtrue.flow import Question

_MOST_FINDINGS = 20

_WHY = {
    "passed": "every required check passes",
    "regression": "the fix broke what worked before, and was rolled back",
    "not_the_candidate": "what failed is not the code: no change to it can mend this",
    "attempts_spent": "the attempts are used up",
    "time_spent": "the time is used up",
    "no_fixer": "no fixer can take these findings on",
    "fixer_failed": "the fixer itself keeps failing",
    "nothing_usable": "the fixer changed nothing",
}
_COLOURS = {"passed": "green", "waiting": "yellow", "running": "yellow"}


def print_report(report: dict[str, Any], *, with_diff: bool = True) -> None:
    """What a run came to: the diff, what remains, what was proven, what to do next."""
    if with_diff and report["diff"] and report["status"] == "passed" and not report["applied"]:
        print_diff(report["diff"])
    if report["findings"]:
        _print_findings(report)
    status = report["status"]
    summary = _WHY.get(report["why"], report["why"]) if report["why"] else ""
    attempts = sum(not attempt["recheck"] for attempt in report["attempts"])
    spent = f"{counted(attempts, 'attempt')}, {report['seconds']:.1f} s"
    head = click.style(status, fg=_COLOURS.get(status, "red"), bold=True)
    click.echo(f"{head}: {summary} ({spent})" if summary else f"{head} ({spent})")
    for line in (*_regressions(report), *_proof(report), *_absent_fixers(report), *_next(report)):
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


def print_attempts(report: dict[str, Any]) -> None:
    """Every attempt with its fix and verdicts, and what was rejected in between."""
    for attempt in report["attempts"]:
        again = " (again)" if attempt["recheck"] else ""
        click.secho(f"attempt {attempt['number']} of {report['max_attempts']}{again}", bold=True)
        if attempt["fix"]:
            _print_fix(attempt["fix"])
        for verdict in attempt["verdicts"]:
            _print_verdict(verdict)
        for rejected in report["rejected"]:
            if rejected["after"] == attempt["number"]:
                click.echo(f"  not run: {rejected['reason'].replace('_', ' ')}")
                _print_fix(rejected["fix"])


def counted(number: int, noun: str) -> str:
    """`1 finding`, `2 findings`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def finding_line(finding: dict[str, Any], *, with_source: bool = True) -> str:
    """A finding on one line: which check, where, what, says what."""
    location = finding["location"]
    places = [str(location[part]) for part in ("file", "line", "column") if location[part]]
    where = ":".join(places)
    symbol = location["symbol"] or ""
    named = f" [{symbol}]" if symbol and symbol != finding["source"] else ""
    message = finding["message"].strip().splitlines() or [""]
    source = f"{finding['source']}: " if with_source else ""
    place = f"{where} " if where else ""
    return f"{source}{place}{finding['category']} {message[0][:160]}{named}"


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


def _regressions(report: dict[str, Any]) -> list[str]:
    return [f"broken by the fix: {case}" for case in report["regressions"]]


def print_proof(report: dict[str, Any]) -> None:
    """What the checks said of the latest candidate."""
    for line in _proof(report):
        click.echo(line)


def _proof(report: dict[str, Any]) -> list[str]:
    if report["why"] != "passed":
        return []
    first, last = report["attempts"][0], report["attempts"][-1]
    lines = []
    for verdict in last["verdicts"]:
        before = next((v for v in first["verdicts"] if v["check"] == verdict["check"]), None)
        passed = verdict["cases"].get("passed", 0)
        tests = f", {passed} passed" if passed else ""
        mended = len(before["findings"]) if before else 0
        change = f", {counted(mended, 'finding')} repaired" if mended else ""
        word = "passes" if verdict["passed"] else "fails (informational)"
        lines.append(f"{verdict['check']} {word}{tests}{change if verdict['passed'] else ''}")
    return lines


def _absent_fixers(report: dict[str, Any]) -> list[str]:
    """Why nobody took the findings on: the reason of each fixer of the ladder."""
    if report["why"] != "no_fixer" or not report["rejected"]:
        return []
    fix = report["rejected"][-1]["fix"]
    tried = [f"{part['fixer']}: changed nothing" for part in fix["parts"]]
    return [*tried, *(f"{skip['fixer']}: {skip['reason']}" for skip in fix["skipped"])]


def _next(report: dict[str, Any]) -> list[str]:
    if report.get("error"):
        return [
            f"stopped by: {report['error']}",
            f"continue: runtrue runs resume {report['run_id']}",
        ]
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
    if report["status"] != "waiting":
        lines.append(f"every attempt: runtrue runs show {report['run_id']}")
    return lines


def is_terminal() -> bool:
    """Whether there is a person at both ends who can be asked."""
    return sys.stdin.isatty() and sys.stderr.isatty()
