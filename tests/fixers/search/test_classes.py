"""Methods know their object, their parent and how they are called."""

from __future__ import annotations

import pytest

from tests.fixers.search.trying import offers

SHELF = "class Shelf:\n    def __init__(self):\n        self.books = []\n\n"
TABLE = {
    "an attribute without self": (
        "self",
        SHELF + "    def size(self):\n        return len(books)\n",
        SHELF + "    def size(self):\n        return len(self.books)\n",
    ),
    "an assignment without self": (
        "self",
        SHELF + "    def clear(self):\n        books = []\n",
        SHELF + "    def clear(self):\n        self.books = []\n",
    ),
    "a method called as a function": (
        "self",
        SHELF + "    def size(self):\n        return 1\n\n"
        "    def full(self):\n        return size() > 9\n",
        SHELF + "    def size(self):\n        return 1\n\n"
        "    def full(self):\n        return self.size() > 9\n",
    ),
    "a local that hangs on self": (
        "self",
        "class A:\n    def f(self, x):\n        y = x\n        return self.y\n",
        "class A:\n    def f(self, x):\n        y = x\n        return y\n",
    ),
    "a method without self": (
        "self",
        SHELF + "    def add(book):\n        self.books.append(book)\n",
        SHELF + "    def add(self, book):\n        self.books.append(book)\n",
    ),
    "a method without any parameter": (
        "self",
        SHELF + "    def clear():\n        self.books.clear()\n",
        SHELF + "    def clear(self):\n        self.books.clear()\n",
    ),
    "a method that needs no object": (
        "decorate",
        "class A:\n    def twice(x):\n        return 2 * x\n",
        "class A:\n    @staticmethod\n    def twice(x):\n        return 2 * x\n",
    ),
    "a property that was forgotten": (
        "decorate",
        "class A:\n    def size(self):\n        return 1\n",
        "class A:\n    @property\n    def size(self):\n        return 1\n",
    ),
    "a property that should be called": (
        "decorate",
        "class A:\n    @property\n    def size(self):\n        return 1\n",
        "class A:\n    def size(self):\n        return 1\n",
    ),
    "a parent that was not told": (
        "super",
        "class A:\n    def __init__(self, name):\n        self.name = name\n\n\nclass B(A):\n"
        "    def __init__(self, name, age):\n        self.age = age\n",
        "class A:\n    def __init__(self, name):\n        self.name = name\n\n\nclass B(A):\n"
        "    def __init__(self, name, age):\n"
        "        super().__init__(name)\n        self.age = age\n",
    ),
    "an own default for each object": (
        "default",
        "from dataclasses import dataclass\n\n\n@dataclass\nclass A:\n    x: list = []\n",
        "from dataclasses import dataclass, field\n\n\n@dataclass\nclass A:\n"
        "    x: list = field(default_factory=list)\n",
    ),
    "an own default that holds something": (
        "default",
        "import dataclasses\n\n\n@dataclasses.dataclass\nclass A:\n    x: dict = {1: 2}\n",
        "import dataclasses\n\n\n@dataclasses.dataclass\nclass A:\n"
        "    x: dict = dataclasses.field(default_factory=lambda: {1: 2})\n",
    ),
}


@pytest.mark.parametrize("rule", TABLE)
def test_a_class_holds_together(rule: str) -> None:
    kind, before, after = TABLE[rule]
    offers(kind, before, after)
