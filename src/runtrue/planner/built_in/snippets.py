"""Snippets: the constant code of `python` nodes. What a task says is data to it."""

from __future__ import annotations

_ROWS = """\
import csv, io, json
if isinstance(data, str):
    try:
        data = json.loads(data)
    except ValueError:
        first = data.partition("\\n")[0]
        delimiter = max(",;\\t|", key=first.count)
        data = list(csv.DictReader(io.StringIO(data, newline=""), delimiter=delimiter))
if isinstance(data, dict):
    lists = [value for value in data.values() if isinstance(value, list)]
    if len(lists) != 1:
        raise ValueError(f"there are {len(lists)} lists in it, and not one: {', '.join(data)}")
    data = lists[0]
if not isinstance(data, list):
    raise ValueError("it holds no list and no table")
def pick(row, name):
    if not isinstance(row, dict):
        raise LookupError(f"an entry is not an object, so it has no {name!r}")
    if name in row:
        return row[name]
    fold = lambda text: "".join(c for c in str(text).casefold() if c.isalnum())
    alike = [key for key in row if fold(key) == fold(name)]
    if len(alike) != 1:
        there = ", ".join(map(str, row))
        raise LookupError(f"there is no {name!r}; available there: {there}")
    return row[alike[0]]
def number(value):
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value
    text = str(value).strip()
    try:
        return int(text)
    except ValueError:
        return float(text)
"""

#: How many entries there are: of a list, of the one list in an object, or the number itself.
LENGTH = """\
if isinstance(data, dict):
    lists = [value for value in data.values() if isinstance(value, list)]
    data = lists[0] if len(lists) == 1 else data
if isinstance(data, (int, float)) and not isinstance(data, bool):
    return data
if not isinstance(data, (list, dict)):
    raise TypeError("it is neither a number nor a list")
return len(data)
"""
EACH = f"{_ROWS}return [pick(row, name) for row in data]\n"
ROWS = f"{_ROWS}return data\n"
COUNT_ROWS = f"{_ROWS}return len(data)\n"
COLUMNS = f"{_ROWS}return [{{name: pick(row, name) for name in names}} for row in data]\n"
FIRST_ROWS = f"{_ROWS}return data[:count] if count >= 0 else data[count:]\n"
SORT_ROWS = f"""{_ROWS}\
values = [pick(row, name) for row in data]
try:
    keys = [number(value) for value in values]
except ValueError:
    keys = [str(value).casefold() for value in values]
order = sorted(range(len(data)), key=keys.__getitem__, reverse=descending)
return [data[at] for at in order]
"""
WHERE = f"""{_ROWS}\
def holds(found):
    if how == "contains":
        return str(value).casefold() in str(found).casefold()
    try:
        left, right = number(found), number(value)
    except ValueError:
        spell = lambda one: one if isinstance(one, str) else json.dumps(one)
        left, right = spell(found), spell(value)
    if how in ("<", ">", "<=", ">=") and isinstance(left, str):
        raise ValueError(f"{{found!r}} and {{value!r}} are not both numbers")
    return {{
        "=": left == right, "!=": left != right,
        "<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right,
    }}[how]
return [row for row in data if holds(pick(row, name)) == keep]
"""
AGGREGATE = f"""{_ROWS}\
numbers = [number(pick(row, name)) for row in data if pick(row, name) not in ("", None)]
if how == "sum":
    return sum(numbers)
if not numbers:
    raise ValueError(f"there is no number in {{name!r}}")
return {{"min": min, "max": max, "average": lambda n: sum(n) / len(n)}}[how](numbers)
"""
LINES = {
    "count": "return len(text.splitlines())\n",
    "words": "return len(text.split())\n",
    "characters": "return len(text)\n",
    "first": "return '\\n'.join(text.splitlines()[:count])\n",
    "last": "return '\\n'.join(text.splitlines()[-count:])\n",
    "sort": "return '\\n'.join(sorted(text.splitlines(), reverse=descending))\n",
    "unique": "return '\\n'.join(dict.fromkeys(text.splitlines()))\n",
    "reverse": "return '\\n'.join(text.splitlines()[::-1])\n",
    "containing": "return '\\n'.join(line for line in text.splitlines() if part in line)\n",
    "lacking": "return '\\n'.join(line for line in text.splitlines() if part not in line)\n",
    "upper": "return text.upper()\n",
    "lower": "return text.lower()\n",
}
#: A table as CSV: the columns are those of all rows, in the order they appear in.
CSV = """\
import csv, io, json
if isinstance(data, str):
    data = json.loads(data)
rows = data if isinstance(data, list) else [data]
rows = [row if isinstance(row, dict) else {"value": row} for row in rows]
names = list(dict.fromkeys(name for row in rows for name in row))
out = io.StringIO()
writer = csv.DictWriter(out, names, lineterminator="\\n")
writer.writeheader()
plain = lambda value: json.dumps(value) if isinstance(value, (dict, list)) else value
writer.writerows({name: plain(value) for name, value in row.items()} for row in rows)
return out.getvalue()
"""
#: What a server sent as CSV: that of data, and text that is no data as it is.
RESPONSE_CSV = f"""\
if isinstance(data, str) and not data.lstrip().startswith(("[", "{{")):
    return data
{CSV}"""

_OWN = frozenset(
    {
        *(LENGTH, EACH, ROWS, COUNT_ROWS, COLUMNS, FIRST_ROWS, SORT_ROWS, WHERE, AGGREGATE),
        *(CSV, RESPONSE_CSV, *LINES.values()),
    }
)


def is_own_code(code: str) -> bool:
    """True for the code in this module, which no generator wrote."""
    return code in _OWN
