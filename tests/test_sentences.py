"""What users read is plain English, without words that a native engineer trips over."""

from __future__ import annotations

import re

import pytest

from tests.sentences import Sentence, sentences

#: A word or phrase, and what to write instead.
BETTER = {
    r"\bmend(s|ed|ing)?\b": "fix",
    r"\banew\b": "again",
    r"\bwhoever\b": "anyone who",
    r"\bbreach(es|ed)?\b": "refuse, or the rule by name",
    r"\b(seal|scrub)(s|ed|bed)?\b": "redact",
    r"\bin vain\b": "without success",
    r"\bthereof\b": "of it",
    r", so that (nothing|nobody|it|the|there|what)\b": "so …",
    r"\btakes? (these|none of these) findings on\b": "could not fix N findings",
    r"\bof the kind\b": "is a … run, or of kind …",
    r"\b(came|comes|come) to (its|an?|no) (end|result)\b": "finished, result",
    r"\bwhat (it|he|she|they) (came|comes?) to\b": "its result",
    r"\bthere are: ": "available: ",
    r"(?<!there )\bis no (URL|index|path|JSON|API|receipt|plan|number|time|name|id)\b": "is not a",
    r"\bin no git repository\b": "not in a git repository",
    r"\bbeing driven\b|\bdrives? (it|the run)\b": "running, runs it",
    r"\bis heard\b|\bwas heard\b": "counts",
    r"\bREV and HEAD part\b": "merge base",
    r"\bhas not got\b": "does not have",
    r"\bput back\b|\bputs back\b": "restore",
    r"\bcannot go on\b|\bcould not go on\b": "cannot continue",
    r"\bare to be\b|\bis to be\b|\bis to say\b": "will be, or the imperative",
    r"\bso many (of each kind|days)\b|\bonly such (runs|plans)\b": "N, by its name",
    r"\bis remembered yet\b|\bis not remembered\b": "memory",
    r"\bunjudged\b": "not checked",
    r"\bwithout a word\b": "without a message",
    r"\breport that can be read\b": "readable report",
    r"\boutside of (the|it|its|any|your)\b": "outside",
    r"\bexcludes? (each|one an)other\b": "cannot be used with, cannot be combined",
    r"\bas seen from\b": "relative to",
    r"\bcannot be had\b": "not available",
    r"\blets? go of\b": "release",
    r"\bis nothing that can be\b": "is not something runtrue can",
    r"\ba (plan|run) that is at work\b": "in progress, running",
    r"\bat times of the clock\b": "on a schedule",
}


@pytest.fixture(scope="module")
def listed() -> list[Sentence]:
    return list(sentences())


def test_the_list_has_help_errors_progress_and_questions(listed: list[Sentence]) -> None:
    texts = [sentence.text for sentence in listed]
    for known in (
        "Apply the result to the project when it passes.",  # an option
        "Make failing checks pass; the result is a diff to apply. Without --check",  # a command
        "interrupted; nothing is lost. Continue with",  # progress
        "Trust this as it is now?",  # a question
        "there is no run {} in {}",  # an error
    ):
        assert any(text.startswith(known) for text in texts), known
    assert len(texts) > 2000


@pytest.mark.parametrize("pattern", BETTER)
def test_no_sentence_has_a_word_that_has_a_better_one(pattern: str, listed: list[Sentence]) -> None:
    found = [str(one) for one in listed if re.search(pattern, one.text)]
    assert not found, f"write {BETTER[pattern]!r} instead:\n" + "\n".join(found)
