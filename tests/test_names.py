"""Names and words: a module is a thing or an act, a class name exists once, and words are ours."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

import runtrue

PACKAGE = Path(runtrue.__file__).parent
MODULES = sorted(file for file in PACKAGE.rglob("*.py") if "__pycache__" not in file.parts)

#: Words that are not ours, and what we say instead.
NOT_OURS = {
    r"mend(s|ed|ing)?": "fix",
    r"anew": "again",
    r"whoever": "anyone who",
    r"told": "known, or reported",
    r"put(s)? right": "fix",
    r"heed(s|ed)?": "follow",
    r"goes round": "repeats",
    r"is to be had": "is available",
    r"deed(s)?": "result",
    r"(came|comes|come) to (?=an end|nothing|this|that)": "ends, or becomes",
}
#: Where such a word stays: names that `--json` promises, and words that users type.
STAYS = {
    "cli/plan_text.py": {"deeds", "told"},
    "fields/query.py": {"whoever"},
    "plan/make_report.py": {"deeds"},
    "plan/progress.py": {"told"},
    "plan/report.py": {"deeds"},
    "plan/revise.py": {"told"},
    "plan/strategize.py": {"told"},
    "web/run_view.py": {"deeds"},
}
#: Nouns that only look like gerunds.
NOUNS = {"encoding", "finding", "keyring"}

_WORD = re.compile(rf"\b({'|'.join(NOT_OURS)})\b", re.IGNORECASE)


def _name(file: Path) -> str:
    return file.relative_to(PACKAGE).as_posix()


def test_no_word_is_used_that_is_not_ours() -> None:
    found = [
        f"{_name(file)}:{number}: {match.group()!r}; see NOT_OURS for what to say instead"
        for file in MODULES
        for number, line in enumerate(file.read_text().splitlines(), 1)
        for match in _WORD.finditer(line)
        if match.group().lower() not in STAYS.get(_name(file), set())
    ]
    assert found == []


def test_what_stays_is_still_there() -> None:
    for name, words in STAYS.items():
        text = (PACKAGE / name).read_text()
        assert all(re.search(rf"\b{word}\b", text) for word in words), name


def test_a_module_is_named_by_a_noun_or_an_imperative_never_by_a_gerund() -> None:
    gerunds = [
        _name(file)
        for file in MODULES
        if (last := file.stem.rpartition("_")[2]).endswith("ing") and last not in NOUNS
    ]
    assert gerunds == []


def test_a_class_name_exists_once() -> None:
    where: defaultdict[str, list[str]] = defaultdict(list)
    for file in MODULES:
        for node in ast.parse(file.read_text()).body:
            if isinstance(node, ast.ClassDef):
                where[node.name].append(_name(file))
    assert {name: files for name, files in where.items() if len(files) > 1} == {}
