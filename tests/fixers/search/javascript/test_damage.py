"""JavaScript that does not parse: the program that was meant is among the first repairs."""

from __future__ import annotations

from itertools import islice

import pytest

from runtrue.fixers.search.edit import splice
from runtrue.fixers.search.javascript.damage import repairs
from runtrue.fixers.search.javascript.syntax_tree import parse

PROGRAM = """\
const LIMIT = 10;

function total(items, skip = []) {
  let sum = 0;
  for (const item of items) {
    if (skip.includes(item.name) || item.price < 0) {
      continue;
    } else {
      sum += item.price;
    }
  }
  return sum >= LIMIT ? [sum, 'large'] : [sum, `small ${sum}`];
}

const names = (items) => items.map((item) => item.name);

module.exports = { total, names };
"""
#: What is written by mistake, and what is meant.
SLIPS = (
    ("const item of", "cosnt item of"),
    ("function total", "funtion total"),
    ("return sum", "retrun sum"),
    ("for (", "fro ("),
    ("else {", "otherwise {"),
    ("continue;\n    }", "continue;\n    "),
    ("(const item of items) {", "(const item of items {"),
    ("(const item of items) {", "(const item of items] {"),
    ("(const item of items) {", "(const item of items) ("),
    ("skip = []", "skip = [)"),
    ("items.map(", "items.map{"),
    ("let sum = 0", "let sum == 0"),
    ("sum >= LIMIT", "sum > = LIMIT"),
    (") || item", ") or item"),
    ("=> items", "-> items"),
    ("[sum, 'large'] :", "[sum, 'large' :"),
    ("[sum, 'large']", "[sum 'large']"),
    ("'large'", "'large"),
    ("${sum}`", "${sum}"),
    ("{ total, names }", "{ total, names )"),
    ("item.name);", "item.name));"),
)


@pytest.mark.parametrize(("meant", "written"), SLIPS)
def test_the_meant_program_is_among_the_first_repairs(meant: str, written: str) -> None:
    damaged = PROGRAM.replace(meant, written, 1)
    assert damaged != PROGRAM
    assert parse("a.js", damaged).root_node.has_error
    found = islice(repairs("a.js", damaged, limit=80, seconds=60), 8)
    programs = ["".join(splice(damaged, edit.splices).split()) for edit in found]
    assert "".join(PROGRAM.split()) in programs


def test_a_file_that_parses_needs_no_repair() -> None:
    assert not [*repairs("a.js", PROGRAM, limit=80, seconds=60)]
