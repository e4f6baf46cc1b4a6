"""Families: functions and methods that are taken for one another, and what types offer."""

from __future__ import annotations

import importlib
from collections import Counter, OrderedDict, defaultdict, deque
from functools import cache

#: What gives a part, and what gives all of it.
PART_OF = {"seconds": "total_seconds()", "microseconds": "total_seconds()"}
#: Each row is a family: any of it may have been meant where another is written.
FAMILIES = (
    "min max",
    "any all",
    "sorted reversed list",
    "sum max min len",
    "floor ceil round trunc int",
    "int float str",
    "list tuple set",
    "ord chr",
    "map filter",
    "zip enumerate",
    "range enumerate",
    "divmod pow",
    "sqrt isqrt",
    "log log2 log10",
    "sin cos tan",
    "and_ or_ xor",
    "add sub mul floordiv truediv mod",
    "lt le gt ge eq ne",
    "itemgetter attrgetter",
    "gcd lcm",
    "append extend appendleft add insert",
    "append remove pop",
    "add remove discard",
    "pop popleft",
    "pop remove",
    "appendleft extendleft",
    "update add",
    "keys values items",
    "get pop setdefault",
    "startswith endswith",
    "strip lstrip rstrip",
    "removeprefix removesuffix",
    "find rfind index rindex",
    "find count",
    "split rsplit splitlines",
    "partition rpartition",
    "lower upper title capitalize swapcase casefold",
    "ljust rjust center zfill",
    "isdigit isalpha isalnum isnumeric isdecimal",
    "islower isupper",
    "isspace isalnum",
    "union intersection difference symmetric_difference",
    "issubset issuperset isdisjoint",
    "heappush heappop heappushpop heapreplace heapify",
    "nlargest nsmallest",
    "bisect_left bisect_right bisect insort insort_left insort_right",
    "permutations combinations product combinations_with_replacement",
    "reverse sort",
    "read readline readlines",
    "write writelines",
    "dumps dump",
    "loads load",
    "encode decode",
    "match search fullmatch",
    "findall finditer",
    "sub subn",
    "mean median mode",
    "append push",
    "debug info warning error",
    "days seconds",
    "setattr getattr hasattr",
    "isinstance issubclass",
    "encode dumps",
    "lower strip",
    "wait wait_for gather",
    "get get_nowait",
    "put put_nowait",
    "staticmethod classmethod",
    "post put patch get delete",
    "exists is_file is_dir",
    "basename dirname",
    "defaultdict dict Counter OrderedDict",
)

#: Builtins that take one thing or several and give something: what a call may have been meant for.
COMMON = ("len", "max", "min", "sum", "abs", "int", "str", "list", "set", "sorted", "tuple", "dict")

_TYPES = (list, dict, set, str, deque, Counter, defaultdict, OrderedDict, tuple)
# Loading one of these has no effect beyond itself.
_MODULES = (
    *("bisect", "collections", "copy", "datetime", "functools", "heapq", "itertools", "json"),
    *("math", "operator", "os", "os.path", "pathlib", "random", "re", "statistics", "string"),
    "time",
)


@cache
def siblings(name: str) -> dict[str, float]:
    """Return the other names of a name's families, with how unlikely each is."""
    found: dict[str, float] = {}
    for family in FAMILIES:
        names = family.split()
        if name in names:
            for other in names:
                if other != name:
                    near = abs(names.index(name) - names.index(other))
                    found.setdefault(other, 1.0 + 0.4 * (near - 1))
    return found


@cache
def methods() -> tuple[str, ...]:
    """The methods of the types that most programs are made of."""
    return tuple(
        dict.fromkeys(name for one in _TYPES for name in dir(one) if not name.startswith("_"))
    )


@cache
def offered(module: str) -> tuple[str, ...]:
    """The public names of a module of the standard library; of others, none."""
    if module not in _MODULES:
        return ()
    return tuple(n for n in dir(importlib.import_module(module)) if not n.startswith("_"))
