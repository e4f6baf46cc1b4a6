"""One example of each kind of edit: a mistake people make, and what is tried.

`docs/reference/edits.md` shows them, `test_examples.py` proves that each is proposed.
"""

from __future__ import annotations

from runtrue.fixers.search.evidence import Failure, Frame, Value

FILE = "shop.py"


def _raised(exception: str, message: str, line: int = 1, **given: object) -> Failure:
    frame = Frame(file=FILE, line=line, function="f")
    return Failure(test="test_it", exception=exception, message=message, frames=(frame,), **given)  # type: ignore[arg-type]


def _compared(expected: tuple[str, str], actual: tuple[str, str]) -> Failure:
    one, other = (Value(type=kind, repr=text) for kind, text in (expected, actual))
    return Failure(
        test="test_it", exception="AssertionError", expected=one, actual=other, operator="=="
    )


_DEF = "def f(a, b):\n    "
#: The text before and after the edit, by its kind; and what failed, where that leads to it.
EXAMPLES: dict[str, tuple[str, str] | tuple[str, str, Failure]] = {
    "comparison": ("ok = age < 18", "ok = age <= 18"),
    "boolean": ("ok = paid and sent", "ok = paid or sent"),
    "negation": ("ok = not empty", "ok = empty"),
    "sign": (
        "xs.sort(key=lambda x: (x.score, x.name))",
        "xs.sort(key=lambda x: (-x.score, x.name))",
    ),
    "arithmetic": ("rest = total + paid", "rest = total - paid"),
    "augmented": ("count += 1", "count -= 1"),
    "off_by_one": ("for i in range(n): pass", "for i in range(n + 1): pass"),
    "constant": ("LIMIT = 10", "LIMIT = 9"),
    "string": ('parts = line.split(", ")', 'parts = line.split(",")'),
    "interpolation": (f'{_DEF}return "{{a}} of {{b}}"', f'{_DEF}return f"{{a}} of {{b}}"'),
    "expected": ("RATE = 20", "RATE = 35", _compared(("int", "35"), ("int", "20"))),
    "variable": (f"{_DEF}return a * a", f"{_DEF}return a * b"),
    "undefined": ("total = 1\nprint(totl)", "total = 1\nprint(total)"),
    "attribute": (
        "class A:\n    def f(self, size):\n        self.size = size\n        return size",
        "class A:\n    def f(self, size):\n        self.size = size\n        return self.size",
    ),
    "key": (
        'age = row["Age"]',
        "age = row['age']",
        _raised("KeyError", "'Age'", key="'Age'", missing_from=Value(type="dict", keys=("'age'",))),
    ),
    "argument_swap": ("pay(amount, user)", "pay(user, amount)"),
    "operand_swap": ("rest = paid - total", "rest = total - paid"),
    "tuple_swap": ("low, high = high, low", "high, low = high, low"),
    "element": ("pair = (name, age, size)", "pair = (name, age)"),
    "index_swap": ("cell = grid[x][y]", "cell = grid[y][x]"),
    "sibling": ("best = min(scores)", "best = max(scores)"),
    "argument_drop": ("text = line.strip(sign)", "text = line.strip()"),
    "argument_add": ("xs.sort()", "xs.sort(reverse=True)"),
    "star": ("pairs = zip(rows)", "pairs = zip(*rows)"),
    "range": ("for i in range(n): pass", "for i in range(n - 1, -1, -1): pass"),
    "instead": ("def f(xs):\n    return biggest(xs, 1)", "def f(xs):\n    return xs[1]"),
    "unwrap": ("size = int(text)", "size = text"),
    "wrap": ("def f(xs: list):\n    return xs", "def f(xs: list):\n    return sorted(xs)"),
    "clamp": (f"{_DEF}return a - b", f"{_DEF}return max(0, a - b)"),
    "term_drop": ("last = size - 1", "last = size"),
    "term_add": (f"{_DEF}return a % b", f"{_DEF}return a % b * 2"),
    "round_up": ("pages = count // size", "pages = (count + size - 1) // size"),
    "pattern": ('import re\nre.match("<.+>", text)', 'import re\nre.match("<.+?>", text)'),
    "only_none": ("limit = given or usual", "limit = usual if given is None else given"),
    "scale": ("tax = price * percent", "tax = price * percent / 100"),
    "condition_drop": ("ok = paid and sent", "ok = paid"),
    "condition_add": ("if new:\n    top = due", "if new or top < due:\n    top = due"),
    "condition": ("if value:\n    show()", "if value is not None:\n    show()"),
    "chain": ("ok = 0 < age < 18", "ok = age < 18"),
    "grouping": ("mean = a + b / 2", "mean = (a + b) / 2"),
    "branch": ("x = a if ok else b", "x = b if ok else a"),
    "comprehension": ("xs = [x for x in ys if x > 0]", "xs = [x for x in ys]"),
    "slice": ("tail = line[:n]", "tail = line[n:]"),
    "index": ("last = xs[n]", "last = xs[-1]"),
    "subscript": (
        "def f(xs, i):\n    ys = xs[i] + 1\n    return xs",
        "def f(xs, i):\n    ys = xs[i] + 1\n    return xs[i]",
    ),
    "absent": ("total = add(a, b)", "total = a + b"),
    "annotation": ("def f(xs: lst): pass", "def f(xs: list): pass"),
    "arguments": (
        "def pay(user, sum): pass\npay(user=1, smu=2)",
        "def pay(user, sum): pass\npay(user=1, sum=2)",
        _raised("TypeError", "pay() got an unexpected keyword argument 'smu'", 2),
    ),
    "async": (
        "async def f(rows):\n    for row in rows:\n        show(row)",
        "async def f(rows):\n    async for row in rows:\n        show(row)",
    ),
    "augment": ("total = price", "total += price"),
    "await": (
        "async def get(): pass\nasync def f():\n    return get()",
        "async def get(): pass\nasync def f():\n    return await get()",
    ),
    "base_case": (
        "def f(n):\n    return n * f(n - 1)",
        "def f(n):\n    if n <= 1:\n        return 1\n    return n * f(n - 1)",
    ),
    "begin": ("def f():\n    n += 1", "def f():\n    n = 0\n    n += 1"),
    "borrow": (
        "def f(xs):\n    xs.sort()\n    n = len(xs)\n    print(n)",
        "def f(xs):\n    xs.sort()\n    n = len(xs)\n    xs.sort()\n    print(n)",
    ),
    "bind": (
        "for n in range(3):\n    later(lambda: n)",
        "for n in range(3):\n    later(lambda n=n: n)",
    ),
    "call": ("self.reset", "self.reset()"),
    "catch": (
        "try:\n    f()\nexcept KeyError:\n    g()",
        "try:\n    f()\nexcept (KeyError, ValueError):\n    g()",
        _raised("ValueError", "", 2),
    ),
    "cause": (
        "try:\n    f()\nexcept KeyError as e:\n    raise Refused(1)",
        "try:\n    f()\nexcept KeyError as e:\n    raise Refused(1) from e",
    ),
    "clause": ("if a:\n    f()\nif b:\n    g()", "if a:\n    f()\nelif b:\n    g()"),
    "convert": (
        "def f(xs):\n    return map(str, xs)",
        "def f(xs):\n    return list(map(str, xs))",
        _compared(("list", "['1']"), ("map", "<map>")),
    ),
    "copy": (
        "def f(xs):\n    ys = xs\n    ys.append(1)",
        "def f(xs):\n    ys = xs.copy()\n    ys.append(1)",
    ),
    "count_on": ("while i < n:\n    f(i)", "while i < n:\n    f(i)\n    i += 1"),
    "declare": ("n = 0\ndef f():\n    n = 1", "n = 0\ndef f():\n    global n\n    n = 1"),
    "decorate": (
        "class A:\n    def size(self):\n        return 1",
        "class A:\n    @property\n    def size(self):\n        return 1",
    ),
    "default": (
        "def add(x, xs=[]):\n    xs.append(x)",
        "def add(x, xs=None):\n    if xs is None:\n        xs = []\n    xs.append(x)",
    ),
    "delete": ("f()\nxs.clear()", "f()"),
    "else": ("if a:\n    f()\nelse:\n    g()", "if a:\n    f()\ng()"),
    "end_block": (
        "for x in xs:\n    if x:\n        f(x)",
        "for x in xs:\n    if x:\n        f(x)\n        break",
    ),
    "exit": (
        'if __name__ == "__main__":\n    main()',
        'if __name__ == "__main__":\n    raise SystemExit(main())',
    ),
    "finally": (
        "@contextmanager\ndef f():\n    yield\n    close()",
        "@contextmanager\ndef f():\n    try:\n        yield\n    finally:\n        close()",
    ),
    "flush": (
        "for x in xs:\n    if not x:\n        out.append(row)\n    row += x",
        "for x in xs:\n    if not x:\n        out.append(row)\n    row += x\n"
        "if row:\n    out.append(row)",
    ),
    "foreign": ("n = names.length", "n = len(names)"),
    "get": ("n = ages[name]", "n = ages.get(name)", _raised("KeyError", "'x'")),
    "guard": (
        "def f(a):\n    return a.b",
        "def f(a):\n    if a is None:\n        return None\n    return a.b",
        _raised("AttributeError", "'NoneType' object has no attribute 'b'", 2),
    ),
    "import": ("x = math.pi", "import math\nx = math.pi"),
    "in_place": ("xs = xs.sort()", "xs.sort()"),
    "jump": ("for x in xs:\n    break", "for x in xs:\n    continue"),
    "keep": ("sorted(rows)", "rows = sorted(rows)"),
    "keep_looking": (
        "def f(xs):\n    for x in xs:\n        return x > 0\n    return False",
        "def f(xs):\n    for x in xs:\n        if x > 0:\n            return True\n"
        "    return False",
    ),
    "loop": (
        "def f(rows):\n    print(row)",
        "def f(rows):\n    for row in rows:\n        print(row)",
    ),
    "missing_attribute": (
        "n = user.nmae",
        "n = user.name",
        _raised(
            *("AttributeError", "'User' object has no attribute 'nmae'"),
            attribute="nmae",
            missing_from=Value(type="User", attributes=("name",)),
        ),
    ),
    "move": ("xs.pop()\nn = len(xs)", "n = len(xs)\nxs.pop()"),
    "move_in": ("for x in xs:\n    f(x)\ng(x)", "for x in xs:\n    f(x)\n    g(x)"),
    "move_out": (
        "def f(xs):\n    for x in xs:\n        g(x)\n        return 1",
        "def f(xs):\n    for x in xs:\n        g(x)\n    return 1",
    ),
    "name": ("total = 1\nprint(ttoal)", "total = 1\nprint(total)"),
    "raise": ('if bad:\n    ValueError("bad")', 'if bad:\n    raise ValueError("bad")'),
    "reraise": (
        "try:\n    f()\nexcept OSError:\n    pass",
        "try:\n    f()\nexcept OSError:\n    raise",
    ),
    "result": (
        "def f(a):\n    return None",
        "def f(a):\n    return []",
        _compared(("list", "[]"), ("NoneType", "None")),
    ),
    "return": ("def f(a):\n    a + 1", "def f(a):\n    return a + 1"),
    "self": (
        "class A:\n    def twice(x):\n        return x * 2",
        "class A:\n    def twice(self, x):\n        return x * 2",
    ),
    "sibling_code": (
        "def f(a):\n    if a is None:\n        return 0\n    return a\ndef g(a):\n    return -a",
        "def f(a):\n    if a is None:\n        return 0\n    return a\n"
        "def g(a):\n    if a is None:\n        return 0\n    return -a",
    ),
    "sort": (
        "def f(xs):\n    for x in xs:\n        show(x)",
        "def f(xs):\n    xs.sort()\n    for x in xs:\n        show(x)",
    ),
    "super": (
        "class B(A):\n    def __init__(self):\n        self.x = 1",
        "class B(A):\n    def __init__(self):\n        super().__init__()\n        self.x = 1",
    ),
    "try": (
        "for x in xs:\n    f(x)",
        "for x in xs:\n    try:\n        f(x)\n    except ValueError:\n        continue",
        _raised("ValueError", "", 2),
    ),
    "uncomment": ("def f(a, b):\n    return a  # + b", "def f(a, b):\n    return a + b"),
    "unconditional": ("if ok:\n    f()", "f()"),
    "unread": (
        "def f(a, b):\n    top = a + b\n    return (a, b)",
        "def f(a, b):\n    top = a + b\n    return (a, b, top)",
    ),
    "update": (
        "def f(xs):\n    n = 0\n    for x in xs:\n        show(x)\n    return n",
        "def f(xs):\n    n = 0\n    for x in xs:\n        show(x)\n        n += 1\n    return n",
    ),
    "use": ("x = rows(0)", "x = rows[0]", _raised("TypeError", "'list' object is not callable")),
    "transform": (
        "def f(text):\n    return text",
        "def f(text):\n    return text.strip()",
        _compared(("str", "'tea'"), ("str", "' tea '")),
    ),
    "same_use": (
        "def f(name):\n    x = shown(name)\n    return name",
        "def f(name):\n    x = shown(name)\n    return shown(name)",
    ),
    "parallel": (
        "def f(d, n, month):\n    if month:\n        return (d.month - 1) % n\n"
        "    return d.day % n",
        "def f(d, n, month):\n    if month:\n        return (d.month - 1) % n\n"
        "    return (d.day - 1) % n",
    ),
    "other_call": (
        "def f():\n    start = time.time()\n    return clock() - start\n\ndef clock(): pass",
        "def f():\n    start = clock()\n    return clock() - start\n\ndef clock(): pass",
    ),
    "characters": (
        "ok = sign in '.,'",
        "ok = sign in '!.,'",
        _compared(("str", "'a'"), ("str", "'a!'")),
    ),
    "isinstance": ("ok = isinstance(x, list)", "ok = isinstance(x, (list, tuple))"),
    "case": (
        "def f(mode):\n    if mode == A:\n        return 1\n    else:\n        return mode == B",
        "def f(mode):\n    if mode == A:\n        return 1\n    elif mode == B:\n        pass\n"
        "    else:\n        return mode == B",
    ),
    "parameter": (
        "def f(a, encode=False):\n    return g(a, encode=True)",
        "def f(a, encode=False):\n    return g(a, encode=encode)",
    ),
    "refuse": (
        "def f(kind):\n    if kind == 1:\n        return 2\n",
        "def f(kind):\n    if kind == 1:\n        return 2\n"
        '    raise ValueError(f"invalid kind: {kind!r}")\n',
        Failure(test="test_it", exception="Failed", message="ValueError not raised"),
    ),
    "target": (
        "def f(a):\n    if a:\n        b = 1\n    else:\n        c = 2\n    return c",
        "def f(a):\n    if a:\n        c = 1\n    else:\n        c = 2\n    return c",
        _raised("UnboundLocalError", "cannot access local variable 'c'", 6, name="c"),
    ),
    "yield": (
        "def f(xs):\n    for x in xs:\n        return x",
        "def f(xs):\n    for x in xs:\n        yield x",
    ),
}
