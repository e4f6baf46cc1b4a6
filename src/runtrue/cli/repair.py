"""What all runs that repair have in common here: how attempts and fixes are told and shown."""

from __future__ import annotations

from typing import Any

import click

from runtrue.cli.progress import Narrator
from runtrue.cli.show import counted, finding_line

_MOST_FINDINGS = 20

#: What led to the end of a run, or to a question, in words.
WHY = {
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


def print_findings(report: dict[str, Any]) -> None:
    """What is left to be mended, and what may help with it."""
    findings = report["findings"]
    for finding in findings[:_MOST_FINDINGS]:
        click.echo(finding_line(finding))
        if finding["fault"] != "candidate":
            for line in (finding["sample"] or "").strip().splitlines()[-3:]:
                click.echo(f"    {line}")
            if finding["available"]:
                names = ", ".join(finding["available"])
                is_bound = finding["fault"] == "strategy"
                click.echo(
                    f"    allowed is: {names}" if is_bound else f"    did you mean: {names}?"
                )
    more = len(findings) - _MOST_FINDINGS
    if more > 0:
        click.echo(f"… and {more} more (runtrue runs show {report['run_id']} --json)")


def print_fix(fix: dict[str, Any]) -> None:
    """What each fixer did, and why others did nothing."""
    for part in fix["parts"]:
        files = ", ".join(part["files"]) or "nothing"
        failed = f"; failed itself: {part['failure']}" if part["failure"] else ""
        restored = f"; put back: {', '.join(part['restored'])}" if part["restored"] else ""
        click.echo(f"  fix by {part['fixer']}: changed {files}{restored}{failed}")
        if part["trace"]:
            click.echo(f"    {part['description']}")
    for skip in fix["skipped"]:
        click.echo(f"  {skip['fixer']} skipped: {skip['reason']}")


def print_verdict(name: str, verdict: dict[str, Any]) -> None:
    """What a check said."""
    word = "passed" if verdict["passed"] else "failed"
    cases = ", ".join(f"{count} {outcome}" for outcome, count in verdict["cases"].items())
    facts = ", ".join(filter(None, [cases, f"{verdict['seconds']:.1f} s"]))
    click.echo(f"  {name}: {word} ({facts})")
    for finding in verdict["findings"][:_MOST_FINDINGS]:
        click.echo(f"    {finding_line(finding, with_source=False)}")


def _amount(data: dict[str, Any]) -> str:
    """How much of a check failed: of its cases, where it has several, else its findings."""
    if data["cases"] > 1 and data["failed_cases"]:
        return f"{data['failed_cases']} of {data['cases']}"
    return counted(data["findings"], "finding")


class RepairNarrator(Narrator):
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

    def _on_searching(self, data: dict[str, Any], node: str) -> None:
        passing = f", {data['passing']} of them pass; first {data['best']}" if data["best"] else ""
        tried = counted(data["tried"], "edit")
        self.display.still(f"search: {tried} tried ({data['rate']}/s){passing}")

    def _on_fixer_finished(self, data: dict[str, Any], node: str) -> None:
        if data["failure"]:
            text, style = f"failed itself: {data['failure']}", "red"
        elif data["outside"]:
            needed = ", ".join(data["outside"])
            text, style = f"not kept: it changed {needed}, outside of the bounds", "yellow"
        elif data["files"]:
            text, style = f"changed {', '.join(data['files'])}", "cyan"
        else:
            text, style = data["tried"] or "changed nothing", "yellow"
        if data["restored"]:
            text += f"; its edits to {', '.join(data['restored'])} were undone"
        self.display.line(f"fix by {data['fixer']}: {text}", style)
        if data["tried"] and data["files"]:
            self.display.line(f"  {data['tried']}", "dim")
