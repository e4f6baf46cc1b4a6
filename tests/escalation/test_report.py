"""A report holds exactly what its trigger lists, and nothing that was reported can harm."""

from __future__ import annotations

import itertools
import json
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtrue.errors import HostError
from runtrue.escalation import EscalationDetails, report_on, write_report
from runtrue.loop import Attempt, Condition, History, Item, Response
from runtrue.redaction import Redactor
from tests.escalation.support import (
    CODE,
    LAST,
    SECRET,
    TRACE,
    escalation,
    finding,
    history,
    report,
    subject,
    verdict,
)

TITLES = {
    Item.ORIGINAL_CODE: "## Original code",
    Item.ALL_TEST_RESULTS: "## All test results",
    Item.FAILURE_ANALYSES: "## Failure analyses",
    Item.FIX_ATTEMPTS: "## Fix attempts",
    Item.DEBUG_MEMORY_SUMMARY: "## Debug memory",
    Item.STACK_TRACES: "## Stack traces",
}
SUBSETS = [s for n in range(7) for s in itertools.combinations(Item, n)]


@pytest.mark.parametrize("items", SUBSETS, ids=lambda items: "+".join(items) or "none")
def test_a_report_holds_exactly_the_items_of_its_trigger(items: tuple[Item, ...]) -> None:
    made = report_on(escalation(items=items), history(), subject())
    assert made.sections == items
    assert set(made.to_dict()) & set(Item) == set(items)
    headings = [line for line in made.to_markdown().splitlines() if line in TITLES.values()]
    assert headings == [TITLES[item] for item in items]


@pytest.mark.parametrize("condition", list(Condition))
def test_every_condition_is_told_in_one_sentence(condition: Condition) -> None:
    last, expected = LAST[condition]
    made = report_on(escalation(condition, items=()), history(last), subject())
    assert made.why.endswith(expected)
    assert "\n" not in made.why
    text = made.to_markdown()
    assert made.why in text
    assert f"# Escalation: {condition.replace('_', ' ')}" in text
    assert f"- Condition: `{condition}`" in text


def test_a_loop_out_of_time_says_how_long_it_took() -> None:
    spent = escalation(Condition.TIMEOUT_EXCEEDED)
    assert "was reached after 0 s, in attempt 2." in report_on(spent, history(), subject()).why


def test_what_is_known_before_the_first_attempt_is_enough_for_a_report() -> None:
    made = report_on(escalation(), History(), subject())
    assert made.why == "The run escalated before the first attempt."
    assert "## All test results\n\nNone." in made.to_markdown()


@pytest.mark.parametrize(
    ("action", "told"),
    [
        (Response.HUMAN_REVIEW, '`runtrue runs resume 0198-run --answer "…"`'),
        (Response.SENIOR_AGENT, "A stronger fixer comes next; see"),
        (Response.ABORT_WITH_REPORT, "The run is over; see"),
        (Response.FLAG_AND_CONTINUE, "The run continues; see"),
    ],
)
def test_only_a_run_that_waits_asks_for_an_answer(action: Response, told: str) -> None:
    made = report_on(escalation(action=action), history(), subject())
    assert told in made.to_markdown()
    assert made.to_dict()["answer"] == made.answer
    assert ("--answer" in made.answer) is (action is Response.HUMAN_REVIEW)


def test_all_of_a_run_is_told() -> None:
    made = report()
    data = made.to_dict()
    assert data["original_code"] == {"shop.py": CODE}
    assert [(r["attempt"], r["check"], r["totals"]["total"]) for r in data["all_test_results"]] == [
        (1, "pytest", 3),
        (2, "pytest", 2),
    ]
    assert data["all_test_results"][0]["totals"] == {
        "total": 3,
        "passed": 2,
        "failed": 1,
        "errors": 0,
        "skipped": 0,
        "duration_ms": 250.0,
    }
    assert [(a["attempt"], a["by"], a["root_cause"]) for a in data["failure_analyses"]] == [
        (1, "runtrue", "a value is wrong"),
        (1, "model", "max is not sum"),
    ]
    assert data["failure_analyses"][0]["patterns_matched"] == ["fix-12"]
    ran, rejected = data["fix_attempts"]
    assert (ran["ran_as"], ran["outcome"], ran["added"], ran["removed"]) == (2, "failed", 2, 1)
    assert ran["parts"][0]["files"] == ["shop.py"]
    assert ran["parts"][0]["restored"] == ["test_shop.py"]
    assert (rejected["ran_as"], rejected["outcome"]) == (None, "rejected: fixer_failed")
    assert rejected["parts"][0]["failure"] == "exited with code 3"
    assert data["debug_memory_summary"] == "seen twice: max where sum was meant"
    assert [(t["attempt"], t["text"]) for t in data["stack_traces"]] == [
        (1, TRACE),
        (2, "the second trace"),
    ]
    text = made.to_markdown()
    assert "| 1 | `pytest` | failed (required) | 3 | 2 | 1 | 0 | 0 | 250 |" in text
    assert "### Attempt 1, according to `model`, 90% sure" in text
    assert "### After attempt 1: run as attempt 2, failed (+2/-1 lines)" in text
    assert "### After attempt 2: rejected: fixer failed (+0/-0 lines)" in text
    assert "Its edits to `test_shop.py` were undone" in text


def test_a_failure_that_stayed_the_same_has_one_trace() -> None:
    made = report_on(escalation(), history(finding()), subject())
    assert [trace.attempt for trace in made.stack_traces or ()] == [1]


def test_a_runners_own_stack_trace_goes_before_its_output() -> None:
    last = finding("other", trace="printed", data={"stack_trace": "at total (shop.js:2:1)"})
    made = report_on(escalation(), history(last), subject())
    assert [trace.text for trace in made.stack_traces or ()][-1] == "at total (shop.js:2:1)"


def test_long_traces_are_trimmed_head_and_tail() -> None:
    last = finding("other", trace="begin" + "x" * 100_000 + "end")
    made = report_on(escalation(), history(last), subject())
    text = (made.stack_traces or ())[-1].text
    assert text.startswith("begin")
    assert text.endswith("end")
    assert len(text) < 7_000


def test_of_many_traces_people_are_shown_some() -> None:
    many = tuple(finding(f"m{n}", symbol=f"t::{n}", trace=f"trace {n}") for n in range(25))
    attempt = Attempt(number=1, candidate="c1", verdicts=(verdict(*many),))
    made = report_on(escalation(), History(attempts=(attempt,)), subject())
    assert len(made.to_dict()["stack_traces"]) == 25
    text = made.to_markdown()
    assert "trace 19" in text
    assert "trace 20" not in text
    assert "And 5 more in the report's JSON." in text


def plain_lines(markdown: str) -> list[str]:
    """The lines outside of fences, by CommonMark's rule: as many ticks or more close one."""
    lines, fence = [], ""
    for line in markdown.splitlines():
        ticks = line[: len(line) - len(line.lstrip("`"))]
        if not fence:
            lines.append(line)
            fence = ticks if len(ticks) >= 3 and "`" not in line[len(ticks) :] else ""
        elif len(ticks) >= len(fence) and not line[len(ticks) :].strip():
            fence = ""
    assert not fence, "a fence was left open"
    return lines


@given(
    st.text(st.sampled_from("`~|<>#*_@\n \r\x1b[]m"), max_size=30).map(
        lambda text: f"{text}\n```\n# INJECTED\n```` {text} @everybody\n```"
    )
)
def test_nothing_reported_gets_out_of_its_fence(hostile: str) -> None:
    last = finding(hostile, category=hostile, symbol=hostile, trace=hostile)
    made = report_on(
        escalation(Condition.UNKNOWN_ERROR_TYPE),
        history(last),
        subject(title=hostile, original_code={"a.py": hostile}, debug_memory=hostile),
    )
    lines = plain_lines(made.to_markdown())
    assert not any(line.startswith("# INJECTED") for line in lines)
    assert [line for line in lines if line in TITLES.values()] == list(TITLES.values())


def test_what_a_terminal_would_obey_is_taken_out() -> None:
    last = finding("\x1b]0;owned\x07\x1b[31mred\x1b[0m\x07\u202egnp", trace=None)
    made = report_on(escalation(Condition.COVERAGE_THRESHOLD_UNMET), history(last), subject())
    text = json.dumps(made.to_dict(), ensure_ascii=False) + made.to_markdown()
    assert not {"\x1b", "\x07", "\u202e"} & set(text)


@pytest.mark.parametrize(
    "value",
    [SECRET, 'with "quotes" and \\', "one line of the key\nand one more of them", "grün-geheim"],
    ids=["plain", "quoted", "lines", "umlaut"],
)
def test_values_of_the_environment_are_not_in_a_report(value: str) -> None:
    spelled = [value, json.dumps(value), repr(value), f"\x1b[31m{value}\x1b[0m"]
    hostile = "\n".join(f"token={text}" for text in spelled)
    last = finding(hostile, symbol=f"t::{value}", trace=hostile)
    made = report_on(
        escalation(),
        history(last),
        subject(
            title=hostile,
            original_code={"a.py": hostile},
            debug_memory=hostile,
            redact=Redactor({"TOKEN": value, "DEBUG": "1", "EMPTY": ""}),
        ),
    )
    shown = made.to_markdown() + json.dumps(made.to_dict(), ensure_ascii=False)
    assert value not in shown
    assert json.dumps(value)[1:-1] not in shown
    assert "[redacted: TOKEN]" in shown
    # Short values are words that every report is full of.
    assert "[redacted: DEBUG]" not in shown


def test_what_looks_like_a_key_is_not_in_a_report() -> None:
    key = "sk-" + "a1B2c3D4e5F6g7H8"
    last = finding(f"refused {key}", trace=f"trace {key}")
    code = {"a.py": f'connect("{key}")\n'}
    made = report_on(escalation(), history(last), subject(title=key, original_code=code))
    shown = made.to_markdown() + json.dumps(made.to_dict())
    assert key not in shown
    assert 'connect("[redacted]")' in made.to_markdown()


def test_a_report_that_must_be_short_leaves_out_whole_sections() -> None:
    made = report(original_code={"shop.py": "x = 1\n" * 500})
    whole, short = made.to_markdown(), made.to_markdown(limit=3_000)
    assert len(whole) > 3_000 >= len(short)
    assert "Too long to show here" in short
    assert short.splitlines()[-1].endswith("original code.*")
    assert "## Stack traces" in short
    plain_lines(short)
    # What is always there stays, however short it must be.
    assert made.why in made.to_markdown(limit=1)


def test_both_files_are_written_whole_and_again_the_same(tmp_path: Path) -> None:
    made = report()
    files = write_report(tmp_path / "not" / "there", made)
    again = write_report(tmp_path / "not" / "there", made)
    assert files == again
    assert files.markdown.read_text() == made.to_markdown()
    assert json.loads(files.json.read_text()) == made.to_dict()
    assert sorted(p.name for p in files.markdown.parent.iterdir()) == [
        "max_attempts_reached-2-1.json",
        "max_attempts_reached-2-1.md",
    ]
    assert stat.S_IMODE(files.markdown.stat().st_mode) == 0o600


def test_a_report_that_cannot_be_written_is_an_error_and_leaves_no_pieces(tmp_path: Path) -> None:
    # A directory is where the file should be, which not even root can write over.
    (tmp_path / "max_attempts_reached-2-1.md").mkdir()
    with pytest.raises(HostError, match="report cannot be written"):
        write_report(tmp_path, report())
    assert not list(tmp_path.glob(".*"))


def test_reports_say_that_sections_are_empty() -> None:
    made: EscalationDetails = report(original_code={}, debug_memory="")
    text = made.to_markdown()
    assert "## Original code\n\nNone." in text
    assert "## Debug memory\n\nNone." in text
